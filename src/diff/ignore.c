/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/ignore.h"

#include "base/map.h"
#include "own/path_read.h"

struct gathering {
        const struct ignore_input *in;
        struct arena *a;
        struct map *seen; /* spelling of a path → its place in `paths` + 1, as a pointer */
        struct ignored_path *paths;
        size_t count, room, left_out;
        size_t *found;
        const char **advice;
};

/* --- what may be ignored ---------------------------------------------------------------------------------------- */

/* Without these an object is not the one that Git names. */
static bool is_identity(struct field_path p) {
        static const char *const names[] = { "apiVersion", "kind", "metadata" };
        static const char *const in_metadata[] = { "name", "namespace" };

        if (p.count == 0)
                return true;
        for (size_t i = 0; p.count == 1 && i < ARRAY_LEN(names); i++)
                if (str_eqc(p.elements[0].name, names[i]))
                        return true;
        for (size_t i = 0; p.count == 2 && i < ARRAY_LEN(in_metadata); i++)
                if (str_eqc(p.elements[0].name, "metadata") && str_eqc(p.elements[1].name, in_metadata[i]))
                        return true;
        return false;
}

/* Never compared to begin with. */
static bool is_status(struct field_path p) {
        return p.count && str_eqc(p.elements[0].name, "status");
}

/* --- from a place in one object to a path ------------------------------------------------------------------------- */

struct place {
        const struct value *value;
        const struct schema *type;
        struct field_path path;
};

/* manifest/ makes `data` of a Secret's `stringData`; the API server never stores it. */
static struct str field_name(const struct gathering *g, const struct place *at, struct str name) {
        const struct value *git = g->in->desired;

        if (at->path.count == 0 && str_eqc(name, "stringData") && str_eqc(value_text(value_getc(git, "kind")), "Secret") &&
            str_eqc(value_text(value_getc(git, "apiVersion")), "v1"))
                return STR("data");
        return name;
}

static bool go_to_field(const struct gathering *g, struct place *at, struct str name) {
        const struct value *next;

        name = field_name(g, at, name);
        next = value_get(at->value, name);
        if (!next)
                return false;
        *at = (struct place){ next, schema_field(at->type, name), field_path_join(g->a, at->path, path_field(name)) };
        return true;
}

static bool go_to_item(const struct gathering *g, struct place *at, int64_t index) {
        int64_t count = (int64_t)at->value->list.count;
        struct path_element e;

        index += index < 0 ? count : 0;
        if (index < 0 || index >= count)
                return false;
        const struct value *item = at->value->list.items[index];
        /* Its key means the first item that carries it: in a list that nobody checked that may be another one. */
        if (!path_item_element(item, at->type, g->a, &e) || path_item_find(at->value, &e, at->type, NULL) != item)
                e = (struct path_element){ .kind = PATH_INDEX, .index = index };
        *at = (struct place){ item, schema_item(at->type), field_path_join(g->a, at->path, e) };
        return true;
}

static bool go_by_token(const struct gathering *g, struct place *at, struct str token) {
        int64_t index;

        if (value_is(at->value, VALUE_MAP))
                return go_to_field(g, at, token);
        return value_is(at->value, VALUE_LIST) && !(token.n > 1 && token.p[0] == '0') && str_to_i64(token, &index) &&
               index >= 0 && go_to_item(g, at, index);
}

static bool go_by_step(const struct gathering *g, struct place *at, const struct value *step) {
        if (value_is(step, VALUE_STRING))
                return value_is(at->value, VALUE_MAP) && go_to_field(g, at, step->text);
        return value_is(step, VALUE_INT) && value_is(at->value, VALUE_LIST) && go_to_item(g, at, step->i64);
}

/* --- a list that is ignored whole ---------------------------------------------------------------------------------- */

/* What tells the item of a list from others: its keys, or without them its name. */
static bool item_name(const struct gathering *g, const struct value *item, const struct schema *list, struct path_element *ret) {
        static const char *const names[] = { "name", "key" };

        if (path_item_element(item, list, g->a, ret))
                return true;
        for (size_t i = 0; value_is(item, VALUE_MAP) && i < ARRAY_LEN(names); i++) {
                const struct value *name = value_getc(item, names[i]);
                struct value_map_builder key = { 0 };

                if (!value_is(name, VALUE_STRING))
                        continue;
                value_map_add(&key, str_from(names[i]), name, 0);
                *ret = (struct path_element){ .kind = PATH_KEY, .value = value_map_end(&key, g->a, 0) };
                return true;
        }
        return false;
}

/* Is all of it as Git says? What the live one has beside that are defaults. */
static bool is_as_git_says(const struct value *live, const struct value *git) {
        bool same = live && live->kind == git->kind;

        if (same && git->kind == VALUE_MAP) {
                for (size_t i = 0; same && i < git->map.count; i++)
                        same = is_as_git_says(value_get(live, git->map.members[i].key), git->map.members[i].value);
                return same;
        }
        if (same && git->kind == VALUE_LIST) {
                same = live->list.count == git->list.count;
                for (size_t i = 0; same && i < git->list.count; i++)
                        same = is_as_git_says(live->list.items[i], git->list.items[i]);
                return same;
        }
        return same && value_equal(live, git);
}

/* The first item that is none of Git's: most likely the one that is meant. */
static const struct value *odd_item(const struct value *live, const struct value *git) {
        for (size_t i = 0; i < live->list.count; i++) {
                bool same = false;

                for (size_t k = 0; k < git->list.count && !same; k++)
                        same = is_as_git_says(live->list.items[i], git->list.items[k]);
                if (!same)
                        return live->list.items[i];
        }
        return NULL;
}

static void add_condition(const struct value *key, struct buf *out) {
        for (size_t i = 0; i < key->map.count; i++) {
                buf_addf(out, "%s.%.*s == ", i ? " and " : "", STR_FMT(key->map.members[i].key));
                value_print(key->map.members[i].value, out);
        }
}

/* The path as jq has it. */
static void add_jq(struct field_path p, struct buf *out) {
        for (size_t i = 0; i < p.count; i++) {
                const struct path_element *e = &p.elements[i];

                if (i && p.elements[i - 1].kind != PATH_FIELD)
                        buf_addc(out, " | ");
                if (e->kind == PATH_FIELD) {
                        buf_addch(out, '.');
                        if (str_find(e->name, '.', 0) < 0 && str_find(e->name, '/', 0) < 0 && str_find(e->name, '-', 0) < 0)
                                buf_add(out, e->name);
                        else
                                value_print_string(e->name, out);
                        continue;
                }
                buf_addc(out, "[] | select(");
                if (e->kind == PATH_KEY)
                        add_condition(e->value, out);
                else if (buf_addc(out, ". == "), true)
                        value_print(e->value, out);
                buf_addch(out, ')');
        }
}

/* A rule that names a list whose items can be told apart freezes all of them, also those that it is not about. */
static void advise(struct gathering *g, size_t rule, const struct place *at) {
        _cleanup_(buf_done) struct buf narrow = buf_make(FIELD_PATH_MAX_BYTES * 4);
        const struct value *git = field_path_find(g->in->desired, at->path, g->in->type);
        const struct value *live = field_path_find(g->in->live, at->path, g->in->type);
        const struct ignore_rule *r = &g->in->rules[rule];
        struct path_element e;

        if (g->advice[rule] || !value_is(git, VALUE_LIST) || !value_is(live, VALUE_LIST) || !git->list.count)
                return;
        const struct value *odd = odd_item(live, git);
        if (!odd || !item_name(g, odd, at->type, &e))
                return;
        struct field_path item = field_path_join(g->a, at->path, e);
        if (r->pattern_count)
                field_path_spell(item, &narrow);
        else
                add_jq(item, &narrow);
        g->advice[rule] = arena_strf(g->a, "this ignore rule freezes the whole list %.*s; one item of it is %s: ['%.*s']",
                                     STR_FMT(field_path_text(g->a, at->path)), r->pattern_count ? "paths" : "jqPathExpressions",
                                     STR_FMT(buf_str(&narrow))).p;
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

static struct str spelling(const struct gathering *g, struct field_path p) {
        _cleanup_(buf_done) struct buf b = buf_make(FIELD_PATH_MAX_BYTES * 16);

        for (size_t i = 0; i < p.count; i++) {
                path_element_spell(&p.elements[i], &b);
                buf_addch(&b, '\n');
        }
        return arena_str(g->a, buf_str(&b));
}

static struct ignored_path *new_slot(struct gathering *g) {
        if (g->count == g->room) {
                struct ignored_path *grown = arena_zalloc(g->a, (g->room ? 2 * g->room : 16) * sizeof *grown);

                if (g->count)
                        memcpy(grown, g->paths, g->count * sizeof *grown);
                g->paths = grown;
                g->room = g->room ? 2 * g->room : 16;
        }
        return &g->paths[g->count++];
}

static struct ignored_path *slot_for(struct gathering *g, struct field_path p) {
        struct str key = spelling(g, p);
        size_t known = (size_t)map_find(g->seen, key);

        if (known)
                return &g->paths[known - 1];
        if (g->count >= IGNORE_MAX_PATHS) {
                g->left_out++;
                return NULL;
        }
        struct ignored_path *slot = new_slot(g);
        slot->path = p;
        map_set(g->seen, key, (void *)g->count);
        return slot;
}

static bool is_in_git(const struct gathering *g, struct field_path p) {
        const struct value *v = g->in->desired;

        for (size_t i = 0; v && i < p.count; i++)
                v = value_get(v, p.elements[i].name);
        return v != NULL;
}

static bool is_kept(const struct gathering *g, struct field_path p) {
        for (size_t i = 0; i < g->in->kept_count; i++)
                if (field_path_covers(g->in->kept[i], p) && is_in_git(g, g->in->kept[i]))
                        return true;
        return false;
}

static bool holds_kept(const struct gathering *g, struct field_path p) {
        for (size_t i = 0; i < g->in->kept_count; i++)
                if (field_path_covers(p, g->in->kept[i]) && is_in_git(g, g->in->kept[i]))
                        return true;
        return false;
}

static void found(struct gathering *g, size_t rule, const struct place *at, bool live);

static void members_found(struct gathering *g, size_t rule, const struct place *at, bool live) {
        for (size_t i = 0; value_is(at->value, VALUE_MAP) && i < at->value->map.count; i++) {
                struct place member = *at;

                go_to_field(g, &member, at->value->map.members[i].key);
                found(g, rule, &member, live);
        }
}

static void found(struct gathering *g, size_t rule, const struct place *at, bool live) {
        const struct ignore_rule *r = &g->in->rules[rule];
        struct ignored_path *slot;

        if (is_identity(at->path) || is_kept(g, at->path))
                return;
        if (holds_kept(g, at->path)) {
                members_found(g, rule, at, live);
                return;
        }
        g->found[rule]++;
        slot = is_status(at->path) ? NULL : slot_for(g, at->path);
        if (!slot)
                return;
        advise(g, rule, at);
        slot->in_git |= !live;
        slot->in_live |= live;
        if (!slot->rule || (r->at_sync && !slot->at_sync)) {
                slot->rule = r->name;
                slot->place = r->place;
                slot->at_sync = r->at_sync;
        }
}

static struct place root_of(const struct gathering *g, bool live) {
        return (struct place){ .value = live ? g->in->live : g->in->desired, .type = g->in->type };
}

static void by_pointer(struct gathering *g, size_t rule, struct pointer p, bool live) {
        struct place at = root_of(g, live);
        size_t i = 0;

        while (at.value && i < p.count && go_by_token(g, &at, p.tokens[i]))
                i++;
        if (at.value && i == p.count)
                found(g, rule, &at, live);
}

static void by_finding(struct gathering *g, size_t rule, const struct value *paths, bool live) {
        for (size_t i = 0; value_is(paths, VALUE_LIST) && i < paths->list.count; i++) {
                const struct value *steps = paths->list.items[i];
                struct place at = root_of(g, live);
                size_t k = 0;

                while (at.value && k < value_count(steps) && go_by_step(g, &at, steps->list.items[k]))
                        k++;
                if (at.value && k == value_count(steps))
                        found(g, rule, &at, live);
        }
}

/* `stringData` of a Secret is its data. */
static struct field_path as_stored(const struct gathering *g, struct field_path p) {
        struct place root = { 0 };
        struct field_path stored = { 0 };

        if (!p.count || p.elements[0].kind != PATH_FIELD)
                return p;
        for (size_t i = 0; i < p.count; i++) {
                struct path_element e = p.elements[i];

                if (i == 0)
                        e.name = field_name(g, &root, e.name);
                stored = field_path_join(g->a, stored, e);
        }
        return stored;
}

static void by_pattern(struct gathering *g, size_t rule, struct field_path pattern, bool live) {
        struct place root = root_of(g, live);
        struct path_list list = { 0 };

        if (root.value)
                field_pattern_find(as_stored(g, pattern), root.value, root.type, g->a, &list);
        for (size_t i = 0; i < list.count; i++)
                found(g, rule, &(struct place){ field_path_find(root.value, list.paths[i], root.type),
                                                field_path_type(root.type, list.paths[i]), list.paths[i] }, live);
}

static const struct ignore_finding *by_rule(struct gathering *g, size_t rule, const struct ignore_finding *finding) {
        const struct ignore_rule *r = &g->in->rules[rule];

        for (size_t i = 0; i < r->pointer_count; i++) {
                by_pointer(g, rule, r->pointers[i], false);
                by_pointer(g, rule, r->pointers[i], true);
        }
        for (size_t i = 0; i < r->pattern_count; i++) {
                by_pattern(g, rule, r->patterns[i], false);
                by_pattern(g, rule, r->patterns[i], true);
        }
        for (size_t i = 0; i < r->program_count; i++, finding++) {
                by_finding(g, rule, finding->in_git, false);
                by_finding(g, rule, finding->in_live, true);
        }
        return finding;
}

/* --- lists and maps of one piece -------------------------------------------------------------------------------------- */

/* Both objects without what is ignored. */
struct remainder {
        const struct value *git, *live;
};

static struct remainder remainder_of(const struct gathering *g) {
        struct path_list of_git = { 0 }, of_live = { 0 };

        for (size_t i = 0; i < g->count; i++) {
                const struct ignored_path *p = &g->paths[i];

                if (p->in_git || !field_path_has_index(p->path))
                        path_list_add(&of_git, g->a, p->path);
                if (p->in_live || !field_path_has_index(p->path))
                        path_list_add(&of_live, g->a, p->path);
        }
        return (struct remainder){ field_paths_prune(g->a, g->in->desired, of_git.paths, of_git.count, g->in->type),
                                   field_paths_prune(g->a, g->in->live, of_live.paths, of_live.count, g->in->type) };
}

/* What the path is within, and has one owner as a whole; empty: nothing has. */
static struct field_path piece_around(const struct gathering *g, struct field_path p) {
        for (size_t n = 1; n < p.count; n++) {
                struct field_path above = { p.elements, n };
                const struct value *v = field_path_find(g->in->live, above, g->in->type);

                if (v && schema_is_atomic(field_path_type(g->in->type, above), v))
                        return above;
        }
        return (struct field_path){ 0 };
}

static bool is_nothing(const struct value *v) {
        return !v || ((value_is(v, VALUE_MAP) || value_is(v, VALUE_LIST)) && value_count(v) == 0);
}

static bool stand_alike(const struct gathering *g, const struct value *git, const struct value *live, struct field_path p) {
        const struct value *x = field_path_find(git, p, g->in->type), *y = field_path_find(live, p, g->in->type);

        return x && y ? value_equal(x, y) : is_nothing(x) && is_nothing(y);
}

/*
 * Who puts an item into a list that is one piece to the API server owns the list from then on. Where the rest of it is as Git
 * says, nobody has changed what is Git's: the list may differ as a whole then.
 */
static void widen(struct gathering *g) {
        struct remainder rest = { 0 };
        size_t count = g->count;

        for (size_t i = 0; g->in->live && i < count; i++) {
                struct ignored_path narrow = g->paths[i];
                struct field_path piece = piece_around(g, narrow.path);

                if (!piece.count || stand_alike(g, g->in->desired, g->in->live, piece))
                        continue;
                if (!rest.live)
                        rest = remainder_of(g);
                struct ignored_path *slot = stand_alike(g, rest.git, rest.live, piece) ? slot_for(g, piece) : NULL;
                if (slot && !slot->rule)
                        *slot = (struct ignored_path){ .path = piece, .in_git = true, .in_live = true, .rule = narrow.rule,
                                                       .place = narrow.place };
        }
}

struct ignore_result ignore_paths(const struct ignore_input *in, struct arena *a) {
        struct gathering g = {
                .in = in,
                .a = a,
                .seen = map_new(NULL),
                .found = arena_zalloc(a, (in->rule_count + 1) * sizeof *g.found),
                .advice = arena_zalloc(a, (in->rule_count + 1) * sizeof *g.advice),
        };
        const struct ignore_finding *finding = in->findings;

        for (size_t r = 0; r < in->rule_count; r++)
                finding = by_rule(&g, r, finding);
        widen(&g);
        map_free(g.seen);
        return (struct ignore_result){ g.paths, g.count, g.left_out, g.found, g.advice };
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

int ignore_path_read(struct str text, struct arena *a, struct field_path *ret_path, struct err *err) {
        int r = field_path_read(text, a, ret_path, err);

        if (r < 0)
                return r;
        if (field_path_has_index(*ret_path))
                return err_set(err, ERR_INVAL, "path \"%.*s\": list items go by their keys, not by their places: "
                               "[name=\"api\"]", STR_FMT(text));
        if (is_identity(*ret_path))
                return err_set(err, ERR_INVAL, "path \"%.*s\" names what makes an object that object; it cannot be ignored",
                               STR_FMT(text));
        return 0;
}

/* The end of the path that begins at `from`: a comma or a line's end that stands in no brackets. */
static size_t path_end(struct str text, size_t from) {
        bool quoted = false, bracketed = false;
        size_t i = from;

        for (; i < text.n; i++) {
                char c = text.p[i];

                if (c == '\n' || (c == ',' && !bracketed))
                        break;
                if (quoted && c == '\\')
                        i++;
                else if (c == '"' && bracketed)
                        quoted = !quoted;
                else if ((c == '[' || c == ']') && !quoted)
                        bracketed = c == '[';
        }
        return i < text.n ? i : text.n;
}

int ignore_paths_read(struct str text, struct arena *a, const struct field_path **ret_paths, size_t *ret_count,
                      struct err *err) {
        struct field_path *paths = arena_alloc(a, (IGNORE_MAX_LISTED + 1) * sizeof *paths);
        size_t count = 0;

        for (size_t from = 0; from < text.n;) {
                size_t to = path_end(text, from);
                struct str one = str_trim(str_sub(text, from, to));

                from = to + 1;
                if (!one.n)
                        continue;
                if (count == IGNORE_MAX_LISTED)
                        return err_set(err, ERR_LIMIT, "it holds more than %d paths", IGNORE_MAX_LISTED);
                int r = ignore_path_read(one, a, &paths[count++], err);
                if (r < 0)
                        return r;
        }
        *ret_paths = paths;
        *ret_count = count;
        return 0;
}

int ignore_pointer_read(struct str text, struct arena *a, struct pointer *ret_pointer, struct err *err) {
        struct field_path p = { 0 };
        int r;

        if (text.n && text.p[0] == '.')
                return err_set(err, ERR_INVAL, "\"%.*s\" is no JSON pointer, which begins with / and has / between names; with "
                               "dots it is a jqPathExpression", STR_FMT(text));
        r = pointer_parse(text, a, ret_pointer, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ret_pointer->count && i < 3; i++)
                p = field_path_join(a, p, path_field(ret_pointer->tokens[i]));
        if (is_identity(p))
                return err_set(err, ERR_INVAL, "JSON pointer \"%.*s\" names what makes an object that object; it cannot be ignored",
                               STR_FMT(text));
        return 0;
}
