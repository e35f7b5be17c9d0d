/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/selector.h"

#include "sandbox/validate_impl.h"

/* ---- the scanner ---- */

enum token {
        TOKEN_END,
        TOKEN_ERROR,
        TOKEN_WORD,
        TOKEN_IN,
        TOKEN_NOT_IN,
        TOKEN_NOT,
        TOKEN_EQUALS,
        TOKEN_DOUBLE_EQUALS,
        TOKEN_NOT_EQUALS,
        TOKEN_ABOVE,
        TOKEN_BELOW,
        TOKEN_COMMA,
        TOKEN_OPEN,
        TOKEN_CLOSE,
};

static const struct {
        const char *text;
        enum token token;
} words[] = {
        { ")", TOKEN_CLOSE },       { ",", TOKEN_COMMA },      { "!", TOKEN_NOT },   { "==", TOKEN_DOUBLE_EQUALS },
        { "=", TOKEN_EQUALS },      { ">", TOKEN_ABOVE },      { "<", TOKEN_BELOW }, { "in", TOKEN_IN },
        { "!=", TOKEN_NOT_EQUALS }, { "notin", TOKEN_NOT_IN }, { "(", TOKEN_OPEN },
};

struct scanner {
        struct str rest;
        struct arena *a;
        enum token token; /* the one ahead */
        struct str text;
};

static bool is_special(char c) {
        return c && strchr("=!(),><", c);
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static enum token word_token(struct str text) {
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (str_eqc(text, words[i].text))
                        return words[i].token;
        return TOKEN_ERROR;
}

/* The longest run of special characters that is a token, where each step of it must be one. */
static size_t special_length(struct str s, enum token *ret_token) {
        size_t n = 0, best = 0;

        *ret_token = TOKEN_ERROR;
        while (n < s.n && is_special(s.p[n])) {
                enum token t = word_token(str_sub(s, 0, n + 1));

                if (t == TOKEN_ERROR && best)
                        break;
                n++;
                if (t != TOKEN_ERROR) {
                        best = n;
                        *ret_token = t;
                }
        }
        return best ? best : n;
}

static void scan(struct scanner *s) {
        size_t n = 0;

        while (s->rest.n && is_blank(s->rest.p[0]))
                s->rest = str_sub(s->rest, 1, s->rest.n);
        if (s->rest.n == 0) {
                s->token = TOKEN_END;
                s->text = STR("");
                return;
        }
        if (is_special(s->rest.p[0])) {
                n = special_length(s->rest, &s->token);
        } else {
                while (n < s->rest.n && !is_special(s->rest.p[n]) && !is_blank(s->rest.p[n]))
                        n++;
                s->token = word_token(str_sub(s->rest, 0, n));
                if (s->token == TOKEN_ERROR)
                        s->token = TOKEN_WORD;
        }
        s->text = str_sub(s->rest, 0, n);
        if (s->token == TOKEN_ERROR)
                s->text = arena_strf(s->a, "error expected: keyword found '%.*s'", STR_FMT(s->text));
        s->rest = str_sub(s->rest, n, s->rest.n);
}

/* Where a value is expected "in" and "notin" are ordinary words. */
static enum token value_token(const struct scanner *s) {
        return s->token == TOKEN_IN || s->token == TOKEN_NOT_IN ? TOKEN_WORD : s->token;
}

static int unexpected(const struct scanner *s, const char *expected, struct err *err) {
        return err_set(err, ERR_INVAL, "found '%.*s', expected: %s", STR_FMT(s->text), expected);
}

/* ---- labels ---- */

struct string_set {
        struct str *items;
        size_t count, cap;
};

static void set_add(struct string_set *set, struct str s) {
        size_t i = 0;

        while (i < set->count && str_cmp(set->items[i], s) < 0)
                i++;
        if (i < set->count && str_eq(set->items[i], s))
                return;
        set->items = mem_grow(set->items, &set->cap, set->count + 1, sizeof *set->items);
        memmove(set->items + i + 1, set->items + i, (set->count - i) * sizeof *set->items);
        set->items[i] = s;
        set->count++;
}

static int parse_identifiers(struct scanner *s, struct string_set *set, struct err *err) {
        for (;;) {
                enum token t = value_token(s);

                if (t == TOKEN_WORD) {
                        set_add(set, s->text);
                        scan(s);
                        if (value_token(s) == TOKEN_CLOSE)
                                return 0;
                        if (value_token(s) != TOKEN_COMMA)
                                return unexpected(s, "',' or ')'", err);
                } else if (t == TOKEN_COMMA) {
                        scan(s);
                        if (set->count == 0 || value_token(s) == TOKEN_CLOSE || value_token(s) == TOKEN_COMMA)
                                set_add(set, STR(""));
                        if (value_token(s) == TOKEN_CLOSE)
                                return 0;
                } else {
                        return unexpected(s, "',', or identifier", err);
                }
        }
}

static int parse_values(struct scanner *s, struct string_set *set, struct err *err) {
        if (value_token(s) != TOKEN_OPEN)
                return err_set(err, ERR_INVAL, "found '%.*s' expected: '('", STR_FMT(s->text));
        scan(s);
        if (value_token(s) == TOKEN_CLOSE) {
                set_add(set, STR(""));
        } else if (value_token(s) == TOKEN_WORD || value_token(s) == TOKEN_COMMA) {
                int r = parse_identifiers(s, set, err);
                if (r < 0)
                        return r;
        } else {
                return unexpected(s, "',', ')' or identifier", err);
        }
        scan(s);
        return 0;
}

static int parse_exact(struct scanner *s, struct string_set *set, struct err *err) {
        enum token t = value_token(s);

        if (t == TOKEN_END || t == TOKEN_COMMA) {
                set_add(set, STR(""));
                return 0;
        }
        if (t != TOKEN_WORD)
                return unexpected(s, "identifier", err);
        set_add(set, s->text);
        scan(s);
        return 0;
}

static int parse_operator(struct scanner *s, enum selector_op *ret_op, bool *ret_list, struct err *err) {
        static const struct {
                enum token token;
                enum selector_op op;
                bool list;
        } operators[] = {
                { TOKEN_IN, SELECT_IN, true },
                { TOKEN_NOT_IN, SELECT_NOT_IN, true },
                { TOKEN_EQUALS, SELECT_IN, false },
                { TOKEN_DOUBLE_EQUALS, SELECT_IN, false },
                { TOKEN_NOT_EQUALS, SELECT_NOT_IN, false },
                { TOKEN_ABOVE, SELECT_ABOVE, false },
                { TOKEN_BELOW, SELECT_BELOW, false },
        };

        for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
                if (operators[i].token != s->token)
                        continue;
                *ret_op = operators[i].op;
                *ret_list = operators[i].list;
                scan(s);
                return 0;
        }
        return unexpected(s, "in, notin, =, ==, !=, gt, lt", err);
}

static int check_values(const struct label_requirement *q, struct arena *a, struct err *err) {
        for (size_t i = 0; i < q->count; i++) {
                int64_t number;

                if ((q->op == SELECT_ABOVE || q->op == SELECT_BELOW) && !str_to_i64(q->values[i], &number))
                        return err_set(err, ERR_INVAL,
                                       "values[%zu]: Invalid value: \"%.*s\": for 'Gt', 'Lt' operators, the value must "
                                       "be an integer",
                                       i, STR_FMT(q->values[i]));
                struct text_faults faults = text_faults(TEXT_LABEL_VALUE, q->values[i], a);
                if (faults.count)
                        return err_set(err, ERR_INVAL, "values[%zu][%.*s]: Invalid value: \"%.*s\": %.*s", i,
                                       STR_FMT(q->key), STR_FMT(q->values[i]), STR_FMT(text_joined(&faults, "; ", a)));
        }
        return 0;
}

static int parse_requirement(struct scanner *s, struct label_requirement *ret, struct err *err) {
        struct label_requirement q = { .op = SELECT_EXISTS };
        struct string_set set = { 0 };
        bool is_list;

        if (value_token(s) == TOKEN_NOT) {
                q.op = SELECT_MISSING;
                scan(s);
        }
        if (value_token(s) != TOKEN_WORD)
                return unexpected(s, "identifier", err);
        q.key = s->text;
        scan(s);
        struct text_faults faults = text_faults(TEXT_LABEL_KEY, q.key, s->a);
        if (faults.count)
                return err_set(err, ERR_INVAL, "<nil>: Invalid value: \"%.*s\": %.*s", STR_FMT(q.key),
                               STR_FMT(text_joined(&faults, "; ", s->a)));
        *ret = q;
        if (q.op == SELECT_MISSING || value_token(s) == TOKEN_END || value_token(s) == TOKEN_COMMA)
                return 0;
        int r = parse_operator(s, &q.op, &is_list, err);
        if (r < 0)
                return r;
        r = is_list ? parse_values(s, &set, err) : parse_exact(s, &set, err);
        struct str *values = arena_alloc(s->a, set.count * sizeof *values);
        if (set.count)
                memcpy(values, set.items, set.count * sizeof *values);
        free(set.items);
        q.values = values;
        q.count = set.count;
        *ret = q;
        return r < 0 ? r : check_values(&q, s->a, err);
}

static int parse_all(struct scanner *s, struct label_requirement **items, size_t *count, struct err *err) {
        size_t cap = 0;

        scan(s);
        while (value_token(s) != TOKEN_END) {
                struct label_requirement q;

                if (value_token(s) != TOKEN_WORD && value_token(s) != TOKEN_NOT)
                        return unexpected(s, "!, identifier, or 'end of string'", err);
                int r = parse_requirement(s, &q, err);
                if (r < 0)
                        return err_wrap(err, r, "unable to parse requirement");
                *items = mem_grow(*items, &cap, *count + 1, sizeof **items);
                (*items)[(*count)++] = q;
                if (value_token(s) == TOKEN_END)
                        return 0;
                if (value_token(s) != TOKEN_COMMA)
                        return unexpected(s, "',' or 'end of string'", err);
                scan(s);
                if (value_token(s) != TOKEN_WORD && value_token(s) != TOKEN_NOT)
                        return unexpected(s, "identifier after ','", err);
        }
        return 0;
}

int select_parse_labels(struct str text, struct arena *a, struct selector *ret, struct err *err) {
        _cleanup_(mem_freep) struct label_requirement *items = NULL;
        struct scanner s = { .rest = text, .a = a };
        size_t count = 0;
        int r = parse_all(&s, &items, &count, err);

        if (r < 0)
                return r;
        struct label_requirement *copy = arena_alloc(a, count * sizeof *copy);
        if (count)
                memcpy(copy, items, count * sizeof *copy);
        ret->labels = copy;
        ret->label_count = count;
        return 0;
}

static bool in_values(const struct label_requirement *q, struct str value) {
        for (size_t i = 0; i < q->count; i++)
                if (str_eq(q->values[i], value))
                        return true;
        return false;
}

static bool label_matches(const struct label_requirement *q, const struct value *labels) {
        const struct value *label = value_get(labels, q->key);
        int64_t have, wanted;

        switch (q->op) {
        case SELECT_IN:
                return label && in_values(q, value_text(label));
        case SELECT_NOT_IN:
                return !label || !in_values(q, value_text(label));
        case SELECT_EXISTS:
                return label;
        case SELECT_MISSING:
                return !label;
        default:
                return label && q->count == 1 && str_to_i64(value_text(label), &have) &&
                       str_to_i64(q->values[0], &wanted) && (q->op == SELECT_ABOVE ? have > wanted : have < wanted);
        }
}

/* ---- both ---- */

bool select_matches(const struct selector *s, const struct value *object) {
        const struct value *labels = s->label_count ? value_path(object, "metadata", "labels", NULL) : NULL;

        for (size_t i = 0; i < s->label_count; i++)
                if (!label_matches(&s->labels[i], labels))
                        return false;
        for (size_t i = 0; i < s->field_count; i++)
                if (!select_field_matches(&s->fields[i], object))
                        return false;
        return true;
}

struct str select_name(const struct selector *s) {
        for (size_t i = 0; i < s->field_count; i++)
                if (!s->fields[i].differs && str_eqc(s->fields[i].field, "metadata.name"))
                        return s->fields[i].value;
        return (struct str){ 0 };
}

struct selector select_dup(const struct selector *s, struct arena *a) {
        struct label_requirement *labels = arena_alloc(a, s->label_count * sizeof *labels);
        struct field_requirement *fields = arena_alloc(a, s->field_count * sizeof *fields);

        for (size_t i = 0; i < s->label_count; i++) {
                struct str *values = arena_alloc(a, s->labels[i].count * sizeof *values);

                for (size_t k = 0; k < s->labels[i].count; k++)
                        values[k] = arena_str(a, s->labels[i].values[k]);
                labels[i] = s->labels[i];
                labels[i].key = arena_str(a, s->labels[i].key);
                labels[i].values = values;
        }
        for (size_t i = 0; i < s->field_count; i++)
                fields[i] = (struct field_requirement){ arena_str(a, s->fields[i].field),
                                                        arena_str(a, s->fields[i].value), s->fields[i].differs };
        return (struct selector){ labels, s->label_count, fields, s->field_count };
}
