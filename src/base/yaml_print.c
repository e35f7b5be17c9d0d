/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints block style: maps and lists by indentation, text plain where nobody can misread it, as a literal block where
 * it has lines, in double quotes otherwise.
 */
#include "base/yaml.h"

#include "base/yaml_impl.h"

#define INDENT 2
/* A key longer than libyaml's 1,024 characters needs the "? key" form; bytes are at least as many. */
#define SIMPLE_KEY_MAX_BYTES 1000

static void print_node(const struct value *v, unsigned depth, struct buf *out);

static void print_indent(unsigned depth, struct buf *out) {
        for (unsigned i = 0; i < depth * INDENT; i++)
                buf_addch(out, ' ');
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Would a reader of any age take it for a number, a date or base 60, though the Go library may not? */
static bool looks_numeric(struct str s) {
        unsigned points = 0;

        for (size_t i = 0; i < s.n; i++) {
                points += s.p[i] == '.';
                if (!is_digit(s.p[i]) && str_find(STR("+-.:_, eExXoObBtTzZ"), s.p[i], 0) < 0)
                        return false;
        }
        /* Two points are a version or an address. */
        return points < 2 && s.n > 0 && (is_digit(s.p[0]) || str_find(STR("+-."), s.p[0], 0) >= 0);
}

static bool is_string_to_yaml(struct str s) {
        struct arena *a = arena_new(0);
        struct yaml_typed typed = { 0 };

        yaml_type(s, (struct str){ 0 }, true, a, &typed, NULL);
        arena_free(a);
        return typed.type == YAML_TEXT;
}

/* Characters that mean nothing to YAML wherever they stand; ':' and ' ' with care for what follows. */
static bool is_plain(struct str s) {
        if (s.n == 0 || !(is_letter(s.p[0]) || is_digit(s.p[0]) || s.p[0] == '/' || s.p[0] == '_' || s.p[0] == '.'))
                return false;
        for (size_t i = 0; i < s.n; i++) {
                char c = s.p[i], next = i + 1 < s.n ? s.p[i + 1] : '\0';

                if (is_letter(c) || is_digit(c) || str_find(STR("-_./@+=()"), c, 0) >= 0)
                        continue;
                if ((c != ':' && c != ' ' && c != ',') || next == '\0' || (c == ':' && next == ' '))
                        return false;
        }
        return !looks_numeric(s) && !str_starts(s, STR("...")) && is_string_to_yaml(s);
}

/* The code point at the start of valid UTF-8 and its length. */
static uint32_t next_point(struct str s, size_t *ret_n) {
        unsigned char lead = (unsigned char)s.p[0];
        size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        uint32_t point = n == 1 ? lead : lead & (0x7fU >> n);

        for (size_t i = 1; i < n && i < s.n; i++)
                point = point << 6 | ((unsigned char)s.p[i] & 0x3f);
        *ret_n = n < s.n ? n : s.n;
        return point;
}

/* Turns the reading direction, or is not seen: no control character for YAML, but for who reads it. */
static bool is_hidden(uint32_t point) {
        static const uint32_t ranges[][2] = {
                { 0xad, 0xad },     { 0x61c, 0x61c },   { 0x180e, 0x180e }, { 0x200b, 0x200f },   { 0x2028, 0x202e },
                { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
        };

        for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
                if (point >= ranges[i][0] && point <= ranges[i][1])
                        return true;
        return false;
}

/* May it stand in a YAML file as it is, and on one line? */
static bool is_printable(uint32_t point) {
        if (is_hidden(point))
                return false;
        return (point >= 0x20 && point < 0x7f) || (point >= 0xa0 && point < 0xd800) ||
               (point >= 0xe000 && point < 0xfffe) || point >= 0x10000;
}

static void print_escaped(uint32_t point, struct buf *out) {
        switch (point) {
        case '\n':
                buf_addc(out, "\\n");
                return;
        case '\t':
                buf_addc(out, "\\t");
                return;
        case '\r':
                buf_addc(out, "\\r");
                return;
        default:
                buf_addf(out, point > 0xffff ? "\\U%08x" : "\\u%04x", point);
        }
}

static void print_quoted(struct str s, struct buf *out) {
        buf_addch(out, '"');
        while (s.n) {
                size_t n;
                uint32_t point = next_point(s, &n);

                if (point == '"' || point == '\\')
                        buf_addf(out, "\\%c", (char)point);
                else if (is_printable(point))
                        buf_add(out, str_sub(s, 0, n));
                else
                        print_escaped(point, out);
                s = str_sub(s, n, s.n);
        }
        buf_addch(out, '"');
}

/* A line of a literal block: printable, and no blank at either end that an editor or the indentation could eat. */
static bool is_block_line(struct str line) {
        if (line.n && (line.p[0] == '\t' || line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t'))
                return false;
        while (line.n) {
                size_t n;
                uint32_t point = next_point(line, &n);

                if (!is_printable(point) && point != '\t')
                        return false;
                line = str_sub(line, n, line.n);
        }
        return true;
}

static bool is_block(struct str s) {
        struct str line, rest = s;

        if (str_find(s, '\n', 0) <= 0 || s.p[0] == ' ')
                return false;
        while (str_next(&rest, '\n', &line)) {
                if (!is_block_line(line))
                        return false;
        }
        return true;
}

static void print_block(struct str s, unsigned depth, struct buf *out) {
        bool one_break = str_ends(s, STR("\n")) && !str_ends(s, STR("\n\n"));
        struct str line;

        buf_addc(out, one_break ? "|" : str_ends(s, STR("\n")) ? "|+" : "|-");
        while (str_next(&s, '\n', &line)) {
                buf_addch(out, '\n');
                if (line.n)
                        print_indent(depth, out);
                buf_add(out, line);
        }
        buf_addch(out, '\n');
}

static void print_text(struct str s, unsigned depth, struct buf *out) {
        if (is_block(s)) {
                print_block(s, depth, out);
                return;
        }
        if (is_plain(s))
                buf_add(out, s);
        else
                print_quoted(s, out);
        buf_addch(out, '\n');
}

static void print_key(struct str key, unsigned depth, struct buf *out) {
        size_t before = out->n;

        if (is_plain(key))
                buf_add(out, key);
        else
                print_quoted(key, out);
        if (out->n - before <= SIMPLE_KEY_MAX_BYTES) {
                buf_addch(out, ':');
                return;
        }
        buf_truncate(out, before);
        buf_addc(out, "? ");
        print_quoted(key, out);
        buf_addch(out, '\n');
        print_indent(depth, out);
        buf_addch(out, ':');
}

static bool is_nested(const struct value *v) {
        return value_count(v) > 0;
}

/* The first member or item stands where the cursor is, the others below it. */
static void print_map(const struct value *v, unsigned depth, struct buf *out) {
        for (size_t i = 0; i < v->map.count; i++) {
                const struct value *member = v->map.members[i].value;
                unsigned below = depth + 1;

                if (i)
                        print_indent(depth, out);
                print_key(v->map.members[i].key, depth, out);
                buf_addch(out, is_nested(member) ? '\n' : ' ');
                /* Items of a list stand under their key, as kubectl prints them. */
                if (is_nested(member) && member->kind == VALUE_LIST)
                        below = depth;
                if (is_nested(member))
                        print_indent(below, out);
                print_node(member, below, out);
        }
}

static void print_list(const struct value *v, unsigned depth, struct buf *out) {
        for (size_t i = 0; i < v->list.count; i++) {
                if (i)
                        print_indent(depth, out);
                buf_addc(out, "- ");
                print_node(v->list.items[i], depth + 1, out);
        }
}

static void print_node(const struct value *v, unsigned depth, struct buf *out) {
        if (v->kind == VALUE_STRING) {
                print_text(v->text, depth, out);
        } else if (v->kind == VALUE_DECIMAL && str_eqc(v->text, "-0")) {
                /* YAML takes -0 for an integer, which has no sign. */
                buf_addc(out, "-0.0\n");
        } else if (!is_nested(v)) {
                value_print(v, out);
                buf_addch(out, '\n');
        } else if (v->kind == VALUE_MAP) {
                print_map(v, depth, out);
        } else {
                print_list(v, depth, out);
        }
}

void yaml_print(const struct value *v, struct buf *out) {
        /* A block at the root has no indentation of its own to stand in. */
        print_node(v, v->kind == VALUE_STRING ? 1 : 0, out);
}
