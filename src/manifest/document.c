/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/document_impl.h"

#include <stdarg.h>

#include "base/json.h"
#include "base/limits.h"

#define BOM "\xef\xbb\xbf"
#define SKIP_MARKER "+argocd:skip-file-rendering"

static const char *const manifest_words[] = { "apiVersion:", "kind:", "metadata:" };

void problem_list_add(struct problem_list *l, struct manifest_problem p) {
        l->items = mem_grow(l->items, &l->cap, l->count + 1, sizeof(*l->items));
        l->items[l->count++] = p;
}

void object_list_add(struct object_list *l, const struct manifest_object *o) {
        l->items = mem_grow(l->items, &l->cap, l->count + 1, sizeof(*l->items));
        l->items[l->count++] = *o;
}

static PRINTF_LIKE(2, 0) struct str vformat(struct arena *a, const char *fmt, va_list ap) {
        _cleanup_(buf_done) struct buf b = buf_make(ERR_MSG_MAX_BYTES);

        buf_vaddf(&b, fmt, ap);
        return arena_str(a, buf_str(&b));
}

void making_error(struct making *m, enum err_code code, uint32_t line, const char *fmt, ...) {
        struct manifest_problem p = { .code = code, .line = line ? line : m->o.line, .object = m->title };
        va_list ap;

        va_start(ap, fmt);
        p.message = vformat(m->a, fmt, ap);
        va_end(ap);
        problem_list_add(&m->errors, p);
        m->bad = true;
}

void making_warning(struct making *m, uint32_t line, const char *fmt, ...) {
        struct manifest_problem p = { .line = line ? line : m->o.line, .object = m->title };
        va_list ap;

        va_start(ap, fmt);
        p.message = vformat(m->a, fmt, ap);
        va_end(ap);
        problem_list_add(&m->warnings, p);
}

/* One document, and the notes of its parser. */
struct source {
        const struct yaml_note *notes;
        size_t note_count;
        uint32_t line;
};

static void make_object(struct making *m, const struct value *v, const struct source *s) {
        m->o = (struct manifest_object){
                .line = v->line ? v->line : s->line,
                .duplicate_keys = s->notes,
                .duplicate_key_count = s->note_count,
        };
        m->title = (struct str){ 0 };
        m->bad = false;

        if (!value_is(v, VALUE_MAP)) {
                making_error(m, ERR_INVAL, 0, "the document is a %s, not an object", value_kind_name(v->kind));
                m->incomplete = true;
                return;
        }
        if (!check_key(m, v)) {
                m->incomplete = true;
                return;
        }
        m->title = manifest_title(&m->o, m->a);
        m->o.secret = m->o.group.n == 0 && str_eqc(m->o.kind, "Secret");
        check_object(m, v);
        m->o.value = clean_object(m, v);
        object_list_add(m->bad ? &m->refused : &m->objects, &m->o);
}

/* Lists. */

static bool is_absent(const struct value *v) {
        return !v || value_is(v, VALUE_NULL);
}

static bool is_list(const struct value *v) {
        const struct value *items = value_getc(v, "items");

        return str_ends(value_text(value_getc(v, "kind")), STR("List")) && items &&
               (value_is(items, VALUE_LIST) || value_is(items, VALUE_NULL)) && is_absent(value_getc(v, "spec")) &&
               is_absent(value_getc(v, "status"));
}

/* Items of a typed list need not say again what they are. */
static const struct value *with_type(struct making *m, const struct value *item, const struct value *list) {
        const struct value *kind = value_getc(list, "kind");
        struct str type = str_sub(kind->text, 0, kind->text.n - strlen("List"));

        if (!value_is(item, VALUE_MAP) || value_getc(item, "kind") || value_getc(item, "apiVersion") || type.n == 0)
                return item;
        item = value_with(m->a, item, STR("kind"), value_string(m->a, type, kind->line));
        return value_with(m->a, item, STR("apiVersion"), value_getc(list, "apiVersion"));
}

static void make_document(struct making *m, const struct value *v, const struct source *s, unsigned nesting) {
        const struct value *items = value_getc(v, "items");

        if (!is_list(v)) {
                make_object(m, v, s);
                return;
        }
        if (nesting >= MANIFEST_MAX_LIST_NESTING) {
                m->o = (struct manifest_object){ .line = v->line ? v->line : s->line };
                m->title = (struct str){ 0 };
                making_error(m, ERR_LIMIT, 0, "lists are nested more than %d deep", MANIFEST_MAX_LIST_NESTING);
                m->incomplete = true;
                return;
        }
        for (size_t i = 0; i < value_count(items); i++)
                make_document(m, with_type(m, items->list.items[i], v), s, nesting + 1);
}

/* Is it a manifest at all? */

static bool holds_all_words(struct str text) {
        for (size_t i = 0; i < ARRAY_LEN(manifest_words); i++)
                if (!str_contains(text, str_from(manifest_words[i])))
                        return false;
        return true;
}

/* Flow style and JSON have the words anywhere: broken text that names both is a manifest that was meant. */
static bool names_a_type(struct str text) {
        return str_contains(text, STR("apiVersion")) && str_contains(text, STR("kind"));
}

static bool line_begins_with_word(struct str text) {
        struct str line;

        while (str_next(&text, '\n', &line))
                for (size_t i = 0; i < ARRAY_LEN(manifest_words); i++)
                        if (str_starts(line, str_from(manifest_words[i])))
                                return true;
        return false;
}

/* Words cannot be looked for in UTF-16: such a file is taken to be meant. */
static bool is_utf16(struct str text) {
        return str_starts(text, STR("\xff\xfe")) || str_starts(text, STR("\xfe\xff"));
}

static bool has_content(const struct yaml_document *docs, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (docs[i].value)
                        return true;
        return false;
}

static bool has_type(const struct yaml_document *docs, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (value_getc(docs[i].value, "apiVersion") || value_getc(docs[i].value, "kind"))
                        return true;
        return false;
}

static bool is_irrelevant(struct str text, const struct yaml_document *docs, size_t count, int parse_result) {
        if (parse_result == 0)
                return has_content(docs, count) && !has_type(docs, count) && !holds_all_words(text);

        return parse_result == ERR_PARSE && !has_content(docs, count) && !line_begins_with_word(text) &&
               !names_a_type(text) && !is_utf16(text);
}

/* `line` counts unless the message names one. */
static void broken(struct making *m, const struct err *err, uint32_t line) {
        struct str message = str_from(err->msg);
        uint32_t named = yaml_take_line(&message);

        m->o = (struct manifest_object){ 0 };
        m->title = (struct str){ 0 };
        making_error(m, err->code, named ? named : line, "%.*s", STR_FMT(message));
        m->incomplete = true;
}

static bool parse_yaml(struct making *m, struct str text) {
        const struct yaml_document *docs = NULL;
        size_t count = 0;
        struct err err;
        int r = yaml_parse(text, m->a, &docs, &count, &err);

        if (is_irrelevant(text, docs, count, r))
                return false;
        for (size_t i = 0; i < count; i++) {
                struct source s = { docs[i].notes, docs[i].note_count, docs[i].line };

                if (docs[i].value)
                        make_document(m, docs[i].value, &s, 0);
        }
        if (r < 0)
                broken(m, &err, 0);
        return true;
}

/*
 * JSON's parser knows no lines. YAML's does, and reads nearly all JSON alike: where it gives the very same text back, its
 * tree is taken.
 */
static const struct value *with_lines(const struct value *v, struct str text, struct arena *a) {
        const struct yaml_document *docs;
        size_t count;

        if (yaml_parse(text, a, &docs, &count, NULL) < 0 || count != 1 || !docs[0].value)
                return v;
        return str_eq(value_canonical(a, docs[0].value), value_canonical(a, v)) ? docs[0].value : v;
}

/* "not JSON at byte N": the line in which that byte stands. */
static uint32_t line_of_byte(const char *message, struct str text) {
        static const char word[] = "at byte ";
        const char *at = strstr(message, word);
        struct str rest = str_from(at ? at + strlen(word) : NULL), digits;
        uint64_t byte;
        uint32_t line = 1;

        if (!str_next(&rest, ':', &digits) || !str_to_u64(digits, &byte))
                return 0;
        for (size_t i = 0; i < text.n && i < byte; i++)
                line += text.p[i] == '\n';
        return line;
}

/* A byte order mark is no JSON, but editors write it and kubectl passes over it: it reads such a file as YAML. */
static bool parse_json(struct making *m, struct str text) {
        const struct value *v;
        struct source s = { .line = 1 };
        struct err err;

        if (str_starts(text, STR(BOM)))
                text = str_sub(text, strlen(BOM), text.n);
        if (json_parse(text, m->a, &v, &err) < 0)
                broken(m, &err, line_of_byte(err.msg, text));
        else
                make_document(m, with_lines(v, text, m->a), &s, 0);
        return true;
}

static void *moved(struct arena *a, void *items, size_t count, size_t size) {
        void *copy = arena_alloc(a, count * size);

        if (count > 0)
                memcpy(copy, items, count * size);
        free(items);
        return copy;
}

static void making_end(struct making *m, struct manifest_parsed *ret) {
        *ret = (struct manifest_parsed){
                .objects = moved(m->a, m->objects.items, m->objects.count, sizeof(*m->objects.items)),
                .object_count = m->objects.count,
                .refused = moved(m->a, m->refused.items, m->refused.count, sizeof(*m->refused.items)),
                .refused_count = m->refused.count,
                .errors = moved(m->a, m->errors.items, m->errors.count, sizeof(*m->errors.items)),
                .error_count = m->errors.count,
                .warnings = moved(m->a, m->warnings.items, m->warnings.count, sizeof(*m->warnings.items)),
                .warning_count = m->warnings.count,
                .complete = !m->incomplete,
        };
}

void manifest_parse(struct str text, enum manifest_format format, struct arena *a, struct manifest_parsed *ret) {
        struct making m = { .a = a };
        bool relevant;

        if (str_contains(text, STR(SKIP_MARKER))) {
                *ret = (struct manifest_parsed){ .complete = true, .irrelevant = true };
                return;
        }
        relevant = format == MANIFEST_JSON ? parse_json(&m, text) : parse_yaml(&m, text);
        making_end(&m, ret);
        ret->irrelevant = !relevant;
}

void manifest_problem_print(const struct manifest_problem *p, struct buf *out) {
        if (p->file.n > 0)
                buf_add(out, p->file);
        if (p->line > 0)
                buf_addf(out, "%s%u", p->file.n ? ":" : "line ", p->line);
        if (p->file.n > 0 || p->line > 0)
                buf_addc(out, ": ");
        if (p->object.n > 0) {
                buf_add(out, p->object);
                buf_addc(out, ": ");
        }
        buf_add(out, p->message);
}
