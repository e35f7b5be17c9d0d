/* SPDX-License-Identifier: Apache-2.0 */
/* Values as lines: scalars on one, small trees in flow form, others as YAML, multi-line strings as line diffs. */
#include "diff/align.h"
#include "diff/print_impl.h"
#include "diff/text.h"

#include "base/limits.h"
#include "base/yaml.h"

#define LINE_COLUMNS  (DIFF_PRINT_COLUMNS - 6)
#define FLOW_COLUMNS  60
#define LABEL_COLUMNS 24

static void add_line(struct shown *s, char sign, struct str escaped) {
        s->lines = mem_grow(s->lines, &s->cap, s->count + 1, sizeof *s->lines);
        s->lines[s->count++] = (struct shown_line){ sign, arena_str(s->arena, escaped) };
}

static void add_cut(struct shown *s, char sign, struct str raw) {
        _cleanup_(buf_done) struct buf b = buf_make(SIZE_MAX);

        text_add_cut(&b, raw, LINE_COLUMNS);
        add_line(s, sign, buf_str(&b));
}

static void add_rest(struct shown *s, char sign, size_t count) {
        _cleanup_(buf_done) struct buf b = buf_make(64);

        buf_addf(&b, "… %zu more line%s", count, count == 1 ? "" : "s");
        add_line(s, sign, buf_str(&b));
}

void shown_done(struct shown *s) {
        free(s->lines);
        s->lines = NULL;
        s->count = s->cap = 0;
}

bool shown_is_block(const struct shown *s) {
        size_t minus = 0, plus = 0;

        for (size_t i = 0; i < s->count; i++) {
                minus += s->lines[i].sign == '-';
                plus += s->lines[i].sign == '+';
        }
        return minus > 1 || plus > 1 || minus + plus < s->count;
}

/* Would a reader take the plain text for something else than this string? */
static bool needs_quotes(struct str s, bool in_flow) {
        size_t digits = 0;

        if (s.n == 0 || str_trim(s).n != s.n || str_eqc(s, "true") || str_eqc(s, "false") || str_eqc(s, "null"))
                return true;
        for (size_t i = 0; in_flow && i < s.n; i++)
                if (strchr(",{}[]\"", s.p[i]) || (s.p[i] == ':' && (i + 1 == s.n || s.p[i + 1] == ' ')))
                        return true;
        while (digits < s.n && s.p[digits] && strchr("0123456789+-.eE", s.p[digits]))
                digits++;
        return digits == s.n;
}

/* A scalar's text, not escaped yet. */
static void scalar_raw(const struct value *v, bool in_flow, struct buf *out) {
        if (v->kind == VALUE_STRING && !needs_quotes(v->text, in_flow))
                buf_add(out, v->text);
        else
                value_print(v, out);
}

static bool is_tree(const struct value *v) {
        return v->kind == VALUE_MAP || v->kind == VALUE_LIST;
}

/* `{name: LOG, value: info}`. Stops soon after the buffer's small maximum is passed. */
static void flow_raw(const struct value *v, struct buf *out) {
        bool map = v->kind == VALUE_MAP;

        if (!is_tree(v)) {
                scalar_raw(v, true, out);
                return;
        }
        buf_addch(out, map ? '{' : '[');
        for (size_t i = 0; i < value_count(v) && !out->overflow; i++) {
                buf_addc(out, i ? ", " : "");
                if (map) {
                        buf_add(out, v->map.members[i].key);
                        buf_addc(out, ": ");
                }
                flow_raw(map ? v->map.members[i].value : v->list.items[i], out);
        }
        buf_addch(out, map ? '}' : ']');
}

static bool is_multi_line(const struct value *v) {
        return v && str_find(value_text(v), '\n', 0) >= 0;
}

static size_t line_count(struct str text) {
        size_t count = !str_ends(text, STR("\n"));

        for (size_t i = 0; i < text.n; i++)
                count += text.p[i] == '\n';
        return count;
}

void print_value_short(const struct value *v, size_t max, struct buf *out) {
        _cleanup_(buf_done) struct buf b = buf_make(4 * KIB);

        if (is_multi_line(v)) {
                buf_addf(out, "(%zu lines)", line_count(v->text));
                return;
        }
        if (!is_tree(v)) {
                b.max = SIZE_MAX;
                scalar_raw(v, false, &b);
                text_add_cut(out, buf_str(&b), max);
                return;
        }
        flow_raw(v, &b);
        if (!b.overflow && text_columns(buf_str(&b)) <= max)
                text_add_cut(out, buf_str(&b), max);
        else
                buf_addf(out, "(%zu %s)", value_count(v), v->kind == VALUE_MAP ? "members" : "items");
}

/* Lines of a text; a final newline ends the last one and begins none. */
struct lines {
        struct str *at;
        size_t count;
        bool closed; /* ends in a newline */
};

static struct lines split_lines(struct str text, struct arena *a) {
        struct lines l = { .closed = str_ends(text, STR("\n")) };

        l.at = arena_alloc(a, line_count(text) * sizeof *l.at);
        for (struct str rest = text, part; str_next(&rest, '\n', &part);)
                l.at[l.count++] = part;
        return l;
}

static void add_lines(struct shown *s, char sign, struct str text) {
        struct lines l = split_lines(text, s->arena);

        for (size_t i = 0; i < l.count && i < DIFF_PRINT_LINES; i++)
                add_cut(s, sign, l.at[i]);
        if (l.count > DIFF_PRINT_LINES)
                add_rest(s, sign, l.count - DIFF_PRINT_LINES);
}

static void add_tree(struct shown *s, char sign, const struct value *v) {
        _cleanup_(buf_done) struct buf b = buf_make(FLOW_COLUMNS * 4);

        flow_raw(v, &b);
        if (!b.overflow && text_columns(buf_str(&b)) <= FLOW_COLUMNS) {
                add_cut(s, sign, buf_str(&b));
                return;
        }
        buf_clear(&b);
        b.max = KUBE_MAX_OBJECT_BYTES;
        yaml_print(v, &b);
        add_lines(s, sign, buf_str(&b));
}

static void add_value(struct shown *s, char sign, const struct value *v) {
        _cleanup_(buf_done) struct buf b = buf_make(SIZE_MAX);

        if (is_tree(v)) {
                add_tree(s, sign, v);
        } else if (is_multi_line(v)) {
                add_lines(s, sign, v->text);
        } else {
                scalar_raw(v, false, &b);
                add_cut(s, sign, buf_str(&b));
        }
}

/* Two scalars: types are told apart ("6" and 6), and long texts are shown where they differ. */
static void add_scalar_pair(struct shown *s, const struct value *before, const struct value *after) {
        _cleanup_(buf_done) struct buf x = buf_make(SIZE_MAX), y = buf_make(SIZE_MAX), line = buf_make(SIZE_MAX);
        size_t at = 0;

        scalar_raw(before, before->kind != after->kind, &x);
        scalar_raw(after, before->kind != after->kind, &y);
        while (at < x.n && at < y.n && x.p[at] == y.p[at])
                at++;
        text_add_window(&line, buf_str(&x), at, LINE_COLUMNS);
        add_line(s, '-', buf_str(&line));
        buf_clear(&line);
        text_add_window(&line, buf_str(&y), at, LINE_COLUMNS);
        add_line(s, '+', buf_str(&line));
}

struct texts {
        struct lines before, after;
};

static bool lines_equal(const void *ctx, size_t i, size_t j) {
        const struct texts *t = ctx;

        return str_eq(t->before.at[i], t->after.at[j]);
}

/* The whole edit script; `sign` ' ' is a line both sides have. */
static struct shown_line *edit_script(const struct texts *t, struct arena *a, size_t *ret_count) {
        size_t n = t->before.count, m = t->after.count, count = 0;
        const size_t *to = align(n, m, lines_equal, t, a);
        struct shown_line *script = arena_alloc(a, (n + m) * sizeof *script);

        for (size_t i = 0, j = 0; i < n || j < m;) {
                if (i < n && to[i] == ALIGN_NONE)
                        script[count++] = (struct shown_line){ '-', t->before.at[i++] };
                else if (i == n || j < to[i])
                        script[count++] = (struct shown_line){ '+', t->after.at[j++] };
                else
                        script[count++] = (struct shown_line){ ' ', t->before.at[i] }, i++, j++;
        }
        *ret_count = count;
        return script;
}

/* Is the line, or one near it, a change? */
static bool is_near_change(const struct shown_line *script, size_t count, size_t at) {
        size_t from = at < DIFF_PRINT_CONTEXT ? 0 : at - DIFF_PRINT_CONTEXT;

        for (size_t i = from; i < count && i <= at + DIFF_PRINT_CONTEXT; i++)
                if (script[i].sign != ' ')
                        return true;
        return false;
}

static void add_gap(struct shown *s, size_t *hidden) {
        _cleanup_(buf_done) struct buf b = buf_make(64);

        if (*hidden == 0)
                return;
        buf_addf(&b, "… %zu line%s", *hidden, *hidden == 1 ? "" : "s");
        add_line(s, ' ', buf_str(&b));
        *hidden = 0;
}

static void add_line_diff(struct shown *s, struct str before, struct str after) {
        struct texts t = { split_lines(before, s->arena), split_lines(after, s->arena) };
        size_t count, shown = 0, hidden = 0, left = 0;
        struct shown_line *script = edit_script(&t, s->arena, &count);

        for (size_t i = 0; i < count; i++) {
                if (shown >= 2 * DIFF_PRINT_LINES) {
                        left += script[i].sign != ' ';
                } else if (is_near_change(script, count, i)) {
                        add_gap(s, &hidden);
                        add_cut(s, script[i].sign, script[i].text);
                        shown++;
                } else {
                        hidden++;
                }
        }
        if (left)
                add_rest(s, ' ', left);
        if (t.before.closed != t.after.closed)
                add_line(s, t.after.closed ? '+' : '-', STR("(newline at the end)"));
}

static void add_label(const struct value *item, struct buf *out) {
        const struct value *name = value_getc(item, "name");

        print_value_short(name ? name : item, LABEL_COLUMNS, out);
}

static void add_order(struct shown *s, char sign, const struct value *list) {
        _cleanup_(buf_done) struct buf b = buf_make(SIZE_MAX), cut = buf_make(SIZE_MAX);

        for (size_t i = 0; i < list->list.count; i++) {
                buf_addc(&b, i ? ", " : "");
                add_label(list->list.items[i], &b);
        }
        text_add_cut(&cut, buf_str(&b), LINE_COLUMNS);
        add_line(s, sign, buf_str(&cut));
}

/* Of a new object what its name does not say already. */
static const struct value *body_of(const struct value *object, struct arena *a) {
        const struct value *metadata = value_getc(object, "metadata");

        metadata = value_with(a, value_with(a, metadata, STR("name"), NULL), STR("namespace"), NULL);
        object = value_with(a, value_with(a, object, STR("apiVersion"), NULL), STR("kind"), NULL);
        return value_with(a, object, STR("metadata"), value_count(metadata) ? metadata : NULL);
}

static void add_new_object(struct shown *s, const struct diff_entry *e) {
        const struct value *body = body_of(e->git ? e->git : e->after, s->arena);

        if (value_count(body))
                add_value(s, '+', body);
}

void shown_entry(struct shown *s, const struct diff_entry *e) {
        const struct value *before = e->before, *after = e->after;

        if (e->path.count == 0 && !(before && after)) {
                if (after)
                        add_new_object(s, e);
        } else if (e->kind == DIFF_REORDERED) {
                add_order(s, '-', before);
                add_order(s, '+', after);
        } else if (before && after && (is_multi_line(before) || is_multi_line(after)) && before->kind == after->kind) {
                add_line_diff(s, before->text, after->text);
        } else if (before && after && !is_tree(before) && !is_tree(after)) {
                add_scalar_pair(s, before, after);
        } else {
                if (before)
                        add_value(s, '-', before);
                /* Of a new sub-tree Git's words, without the defaults that came with it. */
                if (after)
                        add_value(s, '+', !before && e->git && is_tree(after) ? e->git : after);
        }
}
