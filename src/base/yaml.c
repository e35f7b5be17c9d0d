/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events become values as they arrive; no second tree exists. Three things need memory beyond the value:
 *
 *  - anchors: a table of name → node for the document at hand. An alias shares the anchored value, for values are
 *    immutable; its size is counted as if it were written out, since that is what printing it would cost.
 *  - members and items of the open maps and lists: one stack for all of them.
 *  - flaws. The Go library decodes into Go maps first and finds only afterwards that something has no JSON form (.nan,
 *    a null key). What a later duplicate key replaced is gone by then. So a flaw takes the place of the value, and only
 *    one that is still in the finished document fails it.
 *
 * A merge (`<<`) puts the other map's members in as if they stood there: what follows wins, what precedes loses.
 */
#include "base/yaml.h"

#include <math.h>
#include <yaml.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/yaml_impl.h"

/* The Go library's guard against alias bombs; the figures are its own. */
#define ALIAS_FREE_NODES 100
#define ALIAS_FREE_TOTAL 1000
#define ALIAS_RATIO_HIGH 0.99
#define ALIAS_RATIO_LOW 0.10
#define ALIAS_RANGE_FIRST 400000.0
#define ALIAS_RANGE_LAST 4000000.0

/* A flaw is a DECIMAL whose text is no number but one of these. */
static const struct str flaw_number = STR("has no JSON form: a number that is not finite");
static const struct str flaw_key = STR("has no JSON form: a key that is null or too large");

enum form {
        FORM_SCALAR,
        FORM_LIST,
        FORM_MAP,
};

struct node {
        enum form form;
        bool open; /* an anchor whose node is not complete yet */
        struct yaml_typed typed;
        const struct value *value;
        uint32_t size;   /* nodes in it, aliases expanded, as the Go library counts them */
        uint32_t height; /* lists and maps from here down */
};

struct entry {
        struct value_member member; /* of a list item only the value */
        bool merged;
};

struct reader {
        yaml_parser_t yaml;
        struct str text;
        size_t fed;
        struct arena *a;
        struct arena *scratch; /* anchors; lives as long as the reader */
        struct map *anchors;   /* name → struct node, of this document */
        struct entry *entries;
        size_t entry_count, entry_cap;
        struct yaml_note *notes;
        size_t note_count, note_cap;
        struct yaml_document *docs;
        size_t doc_count, doc_cap;
        size_t doc_nodes, doc_alias_nodes, file_nodes;
        unsigned flow; /* flow collections ([…] and {…}) that are open */
        bool flawed;   /* this document holds or held a flaw */
        struct err *err;
};

static int fault(struct reader *r, enum err_code code, uint32_t line, const char *fmt, ...) PRINTF_LIKE(4, 5);

static int fault(struct reader *r, enum err_code code, uint32_t line, const char *fmt, ...) {
        char msg[512];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(msg, sizeof msg, fmt, ap);
        va_end(ap);
        return line ? err_set(r->err, code, "line %u: %s", line, msg) : err_set(r->err, code, "%s", msg);
}

#ifdef __clang_analyzer__
#define fault(r, code, line, ...) err_is((fault)(r, code, line, __VA_ARGS__), code) /* as err_set() */
#endif

static uint32_t line_of(yaml_mark_t mark) {
        return (uint32_t)mark.line + 1;
}

static struct str bytes_of(const yaml_char_t *c) {
        return str_from((const char *)c);
}

/* One line at a time: what is wrong on a later line must not hide the documents before it. */
static int feed_line(void *ctx, unsigned char *out, size_t size, size_t *ret_n) {
        struct reader *r = ctx;
        ptrdiff_t newline = str_find(r->text, '\n', r->fed);
        struct str line = str_sub(r->text, r->fed, newline < 0 ? r->text.n : (size_t)newline + 1);

        if (line.n > size)
                line.n = size;
        if (line.n)
                memcpy(out, line.p, line.n);
        r->fed += line.n;
        *ret_n = line.n;
        return 1;
}

/* Bytes that are no text are reported by offset; the scanner's own mark is somewhere before. */
static uint32_t line_of_offset(const struct reader *r, size_t offset) {
        size_t unit = r->yaml.encoding == YAML_UTF16LE_ENCODING || r->yaml.encoding == YAML_UTF16BE_ENCODING ? 2 : 1;
        uint32_t line = 1;

        for (ptrdiff_t at = 0; (at = str_find(r->text, '\n', (size_t)at)) >= 0 && (size_t)at < offset; at++) {
                size_t other_half = (size_t)at ^ 1;

                line += unit == 1 || (other_half < r->text.n && r->text.p[other_half] == '\0');
        }
        return line;
}

static int syntax_fault(struct reader *r) {
        const yaml_parser_t *y = &r->yaml;
        const char *problem = y->problem ? y->problem : "unknown problem";

        if (y->error == YAML_READER_ERROR)
                return fault(r, ERR_PARSE, line_of_offset(r, y->problem_offset), "%s", problem);
        if (y->error == YAML_MEMORY_ERROR)
                return fault(r, ERR_INTERNAL, 0, "out of memory");
        if (y->context)
                return fault(r, ERR_PARSE, line_of(y->problem_mark), "%s, %s", y->context, problem);
        return fault(r, ERR_PARSE, line_of(y->problem_mark), "%s", problem);
}

static void event_done(yaml_event_t *event) {
        yaml_event_delete(event);
}

static int next_event(struct reader *r, yaml_event_t *ret_event) {
        if (!yaml_parser_parse(&r->yaml, ret_event))
                return syntax_fault(r);
        return 0;
}

static double allowed_alias_ratio(double nodes) {
        if (nodes <= ALIAS_RANGE_FIRST)
                return ALIAS_RATIO_HIGH;
        if (nodes >= ALIAS_RANGE_LAST)
                return ALIAS_RATIO_LOW;
        return ALIAS_RATIO_HIGH - (ALIAS_RATIO_HIGH - ALIAS_RATIO_LOW) * ((nodes - ALIAS_RANGE_FIRST) /
                                                                          (ALIAS_RANGE_LAST - ALIAS_RANGE_FIRST));
}

/* Accounts for `own` nodes that are written here and `aliased` that an alias stands for. */
static int count_nodes(struct reader *r, uint32_t own, uint32_t aliased, uint32_t line) {
        r->doc_nodes += own + aliased;
        r->doc_alias_nodes += aliased;
        r->file_nodes += own + aliased;
        if (r->file_nodes > YAML_MAX_NODES)
                return fault(r, ERR_LIMIT, line, "more than %d nodes, aliases expanded", YAML_MAX_NODES);
        if (r->doc_alias_nodes > ALIAS_FREE_NODES && r->doc_nodes > ALIAS_FREE_TOTAL &&
            (double)r->doc_alias_nodes / (double)r->doc_nodes > allowed_alias_ratio((double)r->doc_nodes))
                return fault(r, ERR_LIMIT, line, "document contains excessive aliasing");
        return 0;
}

static const struct value *flaw(struct reader *r, struct str why, uint32_t line) {
        struct value *v = arena_zalloc(r->a, sizeof *v);

        *v = (struct value){ .kind = VALUE_DECIMAL, .line = line, .text = why };
        r->flawed = true;
        return v;
}

static bool is_flaw(const struct value *v, struct str why) {
        return v->kind == VALUE_DECIMAL && v->text.p == why.p;
}

/* The first flaw that is still in the document, or NULL. */
static const struct value *find_flaw(const struct value *v) {
        const struct value *found = NULL;

        if (is_flaw(v, flaw_number) || is_flaw(v, flaw_key))
                return v;
        for (size_t i = 0; v->kind == VALUE_LIST && !found && i < v->list.count; i++)
                found = find_flaw(v->list.items[i]);
        for (size_t i = 0; v->kind == VALUE_MAP && !found && i < v->map.count; i++)
                found = find_flaw(v->map.members[i].value);
        return found;
}

static const struct value *text_value(struct reader *r, struct str text, uint32_t line, enum value_layout layout) {
        struct value *v = arena_alloc(r->a, sizeof *v);

        *v = (struct value){ .kind = VALUE_STRING, .layout = layout, .line = line, .text = arena_str(r->a, text) };
        return v;
}

static const struct value *scalar_value(struct reader *r, const struct yaml_typed *typed, uint32_t line,
                                        enum value_layout layout) {
        switch (typed->type) {
        case YAML_BOOL:
                return value_bool(r->a, typed->boolean, line);
        case YAML_INT:
                return value_int(r->a, typed->i64, line);
        case YAML_UINT:
                return value_uint(r->a, typed->u64, line);
        case YAML_FLOAT:
                if (!isfinite(typed->real))
                        return flaw(r, flaw_number, line);
                return value_number(r->a, yaml_float_text(typed->real, r->a), line);
        case YAML_TEXT:
        case YAML_TIMESTAMP:
                return text_value(r, typed->text, line, layout);
        default: {
                struct value *null = arena_zalloc(r->a, sizeof *null);

                *null = (struct value){ .kind = VALUE_NULL, .line = line };
                return null;
        }
        }
}

static struct node *open_anchor(struct reader *r, const yaml_char_t *name) {
        if (!name)
                return NULL;

        struct node *anchor = arena_zalloc(r->scratch, sizeof *anchor);
        anchor->open = true;
        if (!r->anchors)
                r->anchors = map_new(NULL);
        map_set(r->anchors, bytes_of(name), anchor);
        return anchor;
}

static void close_anchor(struct node *anchor, const struct node *node) {
        if (anchor)
                *anchor = *node;
}

static struct str scalar_text(const yaml_event_t *event) {
        return (struct str){ (const char *)event->data.scalar.value, event->data.scalar.length };
}

static int type_scalar(struct reader *r, const yaml_event_t *event, struct yaml_typed *ret_typed) {
        struct str text = scalar_text(event);
        uint32_t line = line_of(event->start_mark);
        int e;

        if (text.n > YAML_MAX_SCALAR_BYTES)
                return fault(r, ERR_LIMIT, line, "a scalar is larger than %d bytes", YAML_MAX_SCALAR_BYTES);
        /* libyaml has learned to read it, the Go library has not: such a file would fail everywhere else. */
        if (r->flow && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && str_find(text, '?', 0) >= 0)
                return fault(r, ERR_PARSE, line, "a ? between [] or {} needs quotes");
        e = yaml_type(text, bytes_of(event->data.scalar.tag), event->data.scalar.plain_implicit, r->a, ret_typed,
                      r->err);
        return e < 0 ? err_wrap(r->err, e, "line %u", line) : 0;
}

static enum value_layout layout_of(const yaml_event_t *event) {
        if (event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE)
                return VALUE_BLOCK;
        return event->end_mark.line > event->start_mark.line || str_find(scalar_text(event), '\n', 0) >= 0 ? VALUE_FOLDED
                                                                                                          : VALUE_IN_PLACE;
}

static int read_scalar(struct reader *r, const yaml_event_t *event, struct node *ret_node) {
        struct node *anchor = open_anchor(r, event->data.scalar.anchor);
        struct node node = { .form = FORM_SCALAR, .size = 1 };
        uint32_t line = line_of(event->start_mark);
        int e = type_scalar(r, event, &node.typed);

        if (e == 0)
                e = count_nodes(r, 1, 0, line);
        if (e < 0)
                return e;

        node.value = scalar_value(r, &node.typed, line, layout_of(event));
        /* The event's bytes go with the event. */
        if (node.value->kind == VALUE_STRING)
                node.typed.text = node.value->text;
        close_anchor(anchor, &node);
        *ret_node = node;
        return 0;
}

/* `depth` is the number of lists and maps around the alias. */
static int read_alias(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *ret_node) {
        struct str name = bytes_of(event->data.alias.anchor);
        const struct node *anchor = r->anchors ? map_find(r->anchors, name) : NULL;
        uint32_t line = line_of(event->start_mark);
        int e;

        if (!anchor)
                return fault(r, ERR_PARSE, line, "an alias that no anchor defines (text that begins with \"*\" needs quotes)");
        if (anchor->open)
                return fault(r, ERR_PARSE, line, "anchor '%.*s' value contains itself", STR_FMT(name));
        if (depth + anchor->height > YAML_MAX_DEPTH)
                return fault(r, ERR_LIMIT, line, "nests deeper than %d, aliases expanded", YAML_MAX_DEPTH);
        e = count_nodes(r, 1, anchor->size, line);
        if (e < 0)
                return e;

        *ret_node = *anchor;
        ret_node->size++;
        return 0;
}

static void push_entry(struct reader *r, struct value_member member, bool merged) {
        r->entries = mem_grow(r->entries, &r->entry_cap, r->entry_count + 1, sizeof *r->entries);
        r->entries[r->entry_count++] = (struct entry){ member, merged };
}

static int read_node(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *ret_node);

/* Counts a list or map that begins and checks its depth. */
static int enter(struct reader *r, const yaml_event_t *event, unsigned depth) {
        uint32_t line = line_of(event->start_mark);

        if (depth >= YAML_MAX_DEPTH)
                return fault(r, ERR_LIMIT, line, "nests deeper than %d", YAML_MAX_DEPTH);
        return count_nodes(r, 1, 0, line);
}

static void add_child(struct node *node, const struct node *child) {
        node->size += child->size;
        if (node->height < child->height + 1)
                node->height = child->height + 1;
}

/* Reads items up to the end of the list; each one becomes an entry. */
static int read_items(struct reader *r, unsigned depth, struct node *node) {
        for (;;) {
                _cleanup_(event_done) yaml_event_t event = { 0 };
                struct node item;
                int e = next_event(r, &event);

                if (e < 0 || event.type == YAML_SEQUENCE_END_EVENT)
                        return e;
                e = read_node(r, &event, depth + 1, &item);
                if (e < 0)
                        return e;
                push_entry(r, (struct value_member){ .value = item.value }, false);
                add_child(node, &item);
        }
}

static const struct value *list_of_entries(struct reader *r, size_t base, uint32_t line) {
        size_t n = r->entry_count - base;
        const struct value **items = arena_alloc(r->a, n * sizeof *items);
        struct value *list = arena_zalloc(r->a, sizeof *list);

        for (size_t i = 0; i < n; i++)
                items[i] = r->entries[base + i].member.value;
        *list = (struct value){ .kind = VALUE_LIST, .line = line };
        list->list.items = items;
        list->list.count = n;
        r->entry_count = base;
        return list;
}

static int read_list(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *ret_node) {
        struct node *anchor = open_anchor(r, event->data.sequence_start.anchor);
        struct node node = { .form = FORM_LIST, .size = 1, .height = 1 };
        size_t base = r->entry_count;
        unsigned flow = event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
        int e = enter(r, event, depth);

        r->flow += flow;
        if (e == 0)
                e = read_items(r, depth, &node);
        if (e < 0)
                return e;

        r->flow -= flow;
        node.value = list_of_entries(r, base, line_of(event->start_mark));
        close_anchor(anchor, &node);
        *ret_node = node;
        return 0;
}

static bool is_merge_key(const yaml_event_t *event) {
        if (event->type != YAML_SCALAR_EVENT || !str_eqc(scalar_text(event), "<<"))
                return false;
        return event->data.scalar.plain_implicit || yaml_tag_is(bytes_of(event->data.scalar.tag), "merge");
}

/* False when the value is no map. A map with a flaw makes a flaw of whatever it is merged into. */
static bool merge_map(struct reader *r, const struct value *map, const struct value **flawed) {
        if (is_flaw(map, flaw_key))
                *flawed = map;
        else if (map->kind != VALUE_MAP)
                return false;

        for (size_t i = 0; map->kind == VALUE_MAP && i < map->map.count; i++)
                push_entry(r, map->map.members[i], true);
        return true;
}

/* Earlier maps of a list take precedence, so they go in last. */
static bool merge_list(struct reader *r, const struct value *list, const struct value **flawed) {
        for (size_t i = list->list.count; i > 0; i--) {
                if (!merge_map(r, list->list.items[i - 1], flawed))
                        return false;
        }
        return true;
}

static int read_merge(struct reader *r, unsigned depth, struct node *map, const struct value **flawed) {
        _cleanup_(event_done) yaml_event_t event = { 0 };
        struct node from;
        bool merged;
        int e = next_event(r, &event);

        if (e >= 0)
                e = read_node(r, &event, depth + 1, &from);
        if (e < 0)
                return e;

        /* A list must stand here itself; an alias may only name a map. */
        if (event.type == YAML_SEQUENCE_START_EVENT)
                merged = merge_list(r, from.value, flawed);
        else
                merged = from.form == FORM_MAP && merge_map(r, from.value, flawed);
        if (!merged)
                return fault(r, ERR_PARSE, line_of(event.start_mark),
                             "map merge requires map or sequence of maps as the value");
        add_child(map, &from);
        return 0;
}

/* Reads a key into `member`; *flawed is set when it is one that JSON cannot have. */
static int read_key(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *map,
                    struct value_member *member, const struct value **flawed) {
        uint32_t line = line_of(event->start_mark);
        struct node key;
        int e = read_node(r, event, depth + 1, &key);

        if (e < 0)
                return e;
        if (key.form != FORM_SCALAR)
                return fault(r, ERR_PARSE, line, "a map or list is no key");
        if (!yaml_key(&key.typed, r->a, &member->key))
                *flawed = flaw(r, flaw_key, line);
        member->line = line;
        add_child(map, &key);
        return 0;
}

static int read_member(struct reader *r, const yaml_event_t *key_event, unsigned depth, struct node *map,
                       const struct value **flawed) {
        _cleanup_(event_done) yaml_event_t event = { 0 };
        struct value_member member = { 0 };
        struct node value;
        int e = read_key(r, key_event, depth, map, &member, flawed);

        if (e >= 0)
                e = next_event(r, &event);
        if (e >= 0)
                e = read_node(r, &event, depth + 1, &value);
        if (e < 0)
                return e;
        member.value = value.value;
        push_entry(r, member, false);
        add_child(map, &value);
        return 0;
}

/* Reads members up to the end of the map. */
static int read_members(struct reader *r, unsigned depth, struct node *map, const struct value **flawed) {
        for (;;) {
                _cleanup_(event_done) yaml_event_t event = { 0 };
                int e = next_event(r, &event);

                if (e < 0 || event.type == YAML_MAPPING_END_EVENT)
                        return e;
                if (is_merge_key(&event))
                        e = read_merge(r, depth, map, flawed);
                else
                        e = read_member(r, &event, depth, map, flawed);
                if (e < 0)
                        return e;
        }
}

static int entry_order(const void *a, const void *b) {
        const struct entry *x = a, *y = b;
        int order = str_cmp(x->member.key, y->member.key);

        return order ? order : (x->member.line > y->member.line) - (x->member.line < y->member.line);
}

/* Notes each key that is written more than once. Sorts the entries: the map is built already. */
static void note_duplicates(struct reader *r, size_t base) {
        const struct entry *previous = NULL;

        qsort(r->entries + base, r->entry_count - base, sizeof *r->entries, entry_order);
        for (size_t i = base; i < r->entry_count; i++) {
                const struct entry *entry = &r->entries[i];

                if (entry->merged)
                        continue;
                if (previous && str_eq(previous->member.key, entry->member.key)) {
                        r->notes = mem_grow(r->notes, &r->note_cap, r->note_count + 1, sizeof *r->notes);
                        r->notes[r->note_count++] = (struct yaml_note){
                                entry->member.key, previous->member.line, entry->member.line,
                        };
                }
                previous = entry;
        }
}

static const struct value *map_of_entries(struct reader *r, size_t base, uint32_t line) {
        size_t n = r->entry_count - base;
        struct value_member *members = arena_alloc(r->a, n * sizeof *members);

        for (size_t i = 0; i < n; i++)
                members[i] = r->entries[base + i].member;

        const struct value *map = value_map_of(r->a, members, n, line);
        if (map->map.count < n)
                note_duplicates(r, base);
        r->entry_count = base;
        return map;
}

static int read_map(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *ret_node) {
        struct node *anchor = open_anchor(r, event->data.mapping_start.anchor);
        struct node node = { .form = FORM_MAP, .size = 1, .height = 1 };
        const struct value *flawed = NULL;
        size_t base = r->entry_count;
        unsigned flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
        int e = enter(r, event, depth);

        r->flow += flow;
        if (e == 0)
                e = read_members(r, depth, &node, &flawed);
        if (e < 0)
                return e;

        r->flow -= flow;
        node.value = map_of_entries(r, base, line_of(event->start_mark));
        if (flawed)
                node.value = flawed;
        close_anchor(anchor, &node);
        *ret_node = node;
        return 0;
}

static int read_node(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *ret_node) {
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return read_scalar(r, event, ret_node);
        case YAML_ALIAS_EVENT:
                return read_alias(r, event, depth, ret_node);
        case YAML_SEQUENCE_START_EVENT:
                return read_list(r, event, depth, ret_node);
        case YAML_MAPPING_START_EVENT:
                return read_map(r, event, depth, ret_node);
        default:
                return fault(r, ERR_INTERNAL, line_of(event->start_mark), "unexpected event %d", (int)event->type);
        }
}

/* Nothing at all between two document markers, as opposed to a written null. */
static bool is_nothing(const yaml_event_t *root) {
        return root->type == YAML_SCALAR_EVENT && root->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
               root->data.scalar.length == 0 && !root->data.scalar.tag && !root->data.scalar.anchor;
}

static void begin_document(struct reader *r) {
        map_free(r->anchors);
        r->anchors = NULL;
        r->doc_nodes = 1; /* the Go library counts the document itself */
        r->doc_alias_nodes = 0;
        r->note_count = 0;
        r->flawed = false;
}

static int add_document(struct reader *r, const struct value *value, uint32_t line) {
        struct yaml_note *notes = NULL;

        if (r->doc_count == YAML_MAX_DOCUMENTS)
                return fault(r, ERR_LIMIT, line, "more than %d documents", YAML_MAX_DOCUMENTS);
        if (r->note_count) {
                notes = arena_alloc(r->a, r->note_count * sizeof *notes);
                memcpy(notes, r->notes, r->note_count * sizeof *notes);
        }
        r->docs = mem_grow(r->docs, &r->doc_cap, r->doc_count + 1, sizeof *r->docs);
        r->docs[r->doc_count++] = (struct yaml_document){ value, line, notes, r->note_count };
        return 0;
}

static int read_root(struct reader *r, uint32_t line) {
        _cleanup_(event_done) yaml_event_t root = { 0 }, end = { 0 };
        const struct value *flawed;
        struct node node;
        int e = next_event(r, &root);

        if (e >= 0)
                e = read_node(r, &root, 0, &node);
        if (e >= 0)
                e = next_event(r, &end);
        if (e < 0)
                return e;
        flawed = r->flawed ? find_flaw(node.value) : NULL;
        if (flawed)
                return fault(r, ERR_PARSE, flawed->line, "%.*s", STR_FMT(flawed->text));
        return add_document(r, is_nothing(&root) ? NULL : node.value, line);
}

static int read_document(struct reader *r, const yaml_event_t *start) {
        const yaml_version_directive_t *version = start->data.document_start.version_directive;
        uint32_t line = line_of(start->start_mark);

        /* libyaml knows 1.2 as well, the Go library does not. */
        if (version && (version->major != 1 || version->minor != 1))
                return fault(r, ERR_PARSE, line, "found incompatible YAML document");
        begin_document(r);
        return read_root(r, line);
}

static int read_stream(struct reader *r) {
        for (;;) {
                _cleanup_(event_done) yaml_event_t event = { 0 };
                int e = next_event(r, &event);

                if (e == 0 && event.type == YAML_DOCUMENT_START_EVENT)
                        e = read_document(r, &event);
                if (e < 0 || event.type == YAML_STREAM_END_EVENT)
                        return e;
        }
}

static int reader_init(struct reader *r, struct str text, struct arena *a, struct err *err) {
        *r = (struct reader){ .text = text, .a = a, .err = err };
        if (!yaml_parser_initialize(&r->yaml))
                return fault(r, ERR_INTERNAL, 0, "out of memory");
        yaml_parser_set_input(&r->yaml, feed_line, r);
        r->scratch = arena_new(0);
        return 0;
}

static void reader_done(struct reader *r) {
        yaml_parser_delete(&r->yaml);
        arena_free(r->scratch);
        map_free(r->anchors);
        free(r->entries);
        free(r->notes);
        free(r->docs);
}

int yaml_parse(struct str text, struct arena *a, const struct yaml_document **ret_docs, size_t *ret_count,
               struct err *err) {
        struct yaml_document *docs;
        struct reader r;
        int e;

        *ret_docs = NULL;
        *ret_count = 0;
        if (text.n > YAML_MAX_DOCUMENT_BYTES)
                return err_set(err, ERR_LIMIT, "YAML is larger than %d bytes", YAML_MAX_DOCUMENT_BYTES);
        e = reader_init(&r, text, a, err);
        if (e < 0)
                return e;

        e = read_stream(&r);
        docs = arena_alloc(a, r.doc_count * sizeof *docs);
        if (r.doc_count)
                memcpy(docs, r.docs, r.doc_count * sizeof *docs);
        *ret_docs = docs;
        *ret_count = r.doc_count;
        reader_done(&r);
        return e;
}

uint32_t yaml_take_line(struct str *message) {
        ptrdiff_t colon = str_find(*message, ':', 0);
        uint64_t line;

        if (!str_starts(*message, STR("line ")) || colon < 0 ||
            !str_to_u64(str_sub(*message, 5, (size_t)colon), &line) || line > UINT32_MAX)
                return 0;
        *message = str_trim(str_sub(*message, (size_t)colon + 1, message->n));
        return (uint32_t)line;
}
