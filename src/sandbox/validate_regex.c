/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Thompson automaton: the pattern becomes a program of ranges, jumps and forks, and all threads go through the text
 * side by side. Texts and patterns are read as UTF-8 code points.
 */
#include "sandbox/validate_regex.h"

#include <string.h>

#include "base/buf.h"
#include "sandbox/validate_regex_impl.h"

struct parser {
        struct str s;
        size_t at;
        bool unknown; /* something we do not know */
        bool fold, dot_all, lines;
        struct step *steps;
        size_t count;
        struct arena *a;
};

#define SET_MAX_RANGES 128
struct set {
        struct range items[SET_MAX_RANGES];
        size_t count;
        bool negated;
};

static size_t emit(struct parser *p, struct step step) {
        if (p->count >= REGEX_MAX_NODES) {
                p->unknown = true;
                return p->count - 1;
        }
        p->steps[p->count] = step;
        return p->count++;
}

static bool more(const struct parser *p) {
        return p->at < p->s.n && !p->unknown;
}

static bool next_is(struct parser *p, const char *text) {
        size_t n = strlen(text);

        if (p->at + n > p->s.n || memcmp(p->s.p + p->at, text, n) != 0)
                return false;
        p->at += n;
        return true;
}

/* --- sets --- */

static void set_add(struct parser *p, struct set *set, uint32_t from, uint32_t to) {
        if (set->count == SET_MAX_RANGES)
                p->unknown = true;
        else
                set->items[set->count++] = (struct range){ from, to };
}

static void set_add_folded(struct parser *p, struct set *set, uint32_t from, uint32_t to) {
        set_add(p, set, from, to);
        if (!p->fold)
                return;
        for (uint32_t ch = from; ch <= to && ch < 128; ch++) {
                if (ch >= 'a' && ch <= 'z')
                        set_add(p, set, ch - 32, ch - 32);
                if (ch >= 'A' && ch <= 'Z')
                        set_add(p, set, ch + 32, ch + 32);
        }
}

/* "a-zA-Z": pairs of first and last. */
static void set_add_pairs(struct parser *p, struct set *set, const char *pairs) {
        for (; *pairs; pairs += 2)
                set_add_folded(p, set, (unsigned char)pairs[0], (unsigned char)pairs[1]);
}

/* Everything outside the pairs, which are ordered. */
static void set_add_others(struct parser *p, struct set *set, const char *pairs) {
        uint32_t from = 0;

        for (; *pairs; pairs += 2) {
                if ((unsigned char)pairs[0] > from)
                        set_add(p, set, from, (unsigned char)pairs[0] - 1u);
                from = (unsigned char)pairs[1] + 1u;
        }
        set_add(p, set, from, 0x10ffff);
}

static bool set_add_class(struct parser *p, struct set *set, char letter) {
        static const struct {
                char letter;
                const char *pairs;
        } classes[] = { { 'd', "09" }, { 'w', "09AZ__az" }, { 's', "\t\n\f\r  " } };

        for (size_t i = 0; i < 3; i++) {
                if (letter == classes[i].letter)
                        set_add_pairs(p, set, classes[i].pairs);
                else if (letter == classes[i].letter - 32)
                        set_add_others(p, set, classes[i].pairs);
                else
                        continue;
                return true;
        }
        return false;
}

static uint32_t hex_escape(struct parser *p) {
        uint32_t n = 0;
        bool braced = next_is(p, "{");

        for (size_t digits = 0; more(p) && (braced || digits < 2); digits++) {
                char ch = p->s.p[p->at];
                int digit = ch >= '0' && ch <= '9'                 ? ch - '0'
                            : (ch | 32) >= 'a' && (ch | 32) <= 'f' ? (ch | 32) - 'a' + 10
                                                                   : -1;

                if (digit < 0)
                        break;
                n = n * 16 + (uint32_t)digit;
                p->at++;
        }
        if (braced && !next_is(p, "}"))
                p->unknown = true;
        return n;
}

/* The code point an escape stands for; what we do not know ends the parse. */
static uint32_t escaped(struct parser *p) {
        static const char from[] = "nrtfva", to[] = "\n\r\t\f\v\a";
        uint32_t ch = more(p) ? regex_decode(p->s, &p->at) : 0;
        const char *known = ch && ch < 128 ? strchr(from, (int)ch) : NULL;

        if (known)
                return (unsigned char)to[known - from];
        if (ch == 'x')
                return hex_escape(p);
        if ((ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || !ch)
                p->unknown = true;
        return ch;
}

static bool posix_class(struct parser *p, struct set *set) {
        static const struct {
                const char *name, *pairs;
        } classes[] = { { "[:alnum:]", "09AZaz" },  { "[:alpha:]", "AZaz" },    { "[:digit:]", "09" },
                        { "[:lower:]", "az" },      { "[:upper:]", "AZ" },      { "[:space:]", "\t\r  " },
                        { "[:xdigit:]", "09AFaf" }, { "[:word:]", "09AZ__az" }, { "[:punct:]", "!/:@[`{~" } };

        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
                if (next_is(p, classes[i].name)) {
                        set_add_pairs(p, set, classes[i].pairs);
                        return true;
                }
        return false;
}

static void parse_set_item(struct parser *p, struct set *set) {
        uint32_t from, to;

        if (p->s.p[p->at] == '[' && posix_class(p, set))
                return;
        if (next_is(p, "\\")) {
                if (more(p) && set_add_class(p, set, p->s.p[p->at])) {
                        p->at++;
                        return;
                }
                from = escaped(p);
        } else
                from = regex_decode(p->s, &p->at);
        to = from;
        if (p->at + 1 < p->s.n && p->s.p[p->at] == '-' && p->s.p[p->at + 1] != ']') {
                p->at++;
                to = next_is(p, "\\") ? escaped(p) : regex_decode(p->s, &p->at);
        }
        set_add_folded(p, set, from, to);
}

static void emit_set(struct parser *p, const struct set *set) {
        struct range *ranges = arena_alloc(p->a, set->count * sizeof *ranges + 1);

        if (set->count)
                memcpy(ranges, set->items, set->count * sizeof *ranges);
        emit(p, (struct step){ .op = OP_SET, .ranges = ranges, .range_count = set->count, .negated = set->negated });
}

static void parse_set(struct parser *p) {
        struct set set = { .count = 0 };
        bool first = true;

        set.negated = next_is(p, "^");
        while (more(p) && (first || p->s.p[p->at] != ']')) {
                first = false;
                parse_set_item(p, &set);
        }
        if (!next_is(p, "]"))
                p->unknown = true;
        emit_set(p, &set);
}

/* --- the grammar --- */

static void parse_choice(struct parser *p);

static void emit_char(struct parser *p, uint32_t ch) {
        struct set set = { .count = 0 };

        set_add_folded(p, &set, ch, ch);
        emit_set(p, &set);
}

static void emit_assertion(struct parser *p, char assertion) {
        emit(p, (struct step){ .op = OP_ASSERT, .assertion = assertion });
}

static void parse_flags(struct parser *p) {
        for (; more(p) && p->s.p[p->at] != ':' && p->s.p[p->at] != ')'; p->at++)
                switch (p->s.p[p->at]) {
                case 'i':
                        p->fold = true;
                        break;
                case 's':
                        p->dot_all = true;
                        break;
                case 'm':
                        p->lines = true;
                        break;
                default:
                        p->unknown = true;
                }
}

static void parse_group(struct parser *p) {
        bool fold = p->fold, dot_all = p->dot_all, lines = p->lines;

        if (next_is(p, "?P<") || next_is(p, "?<")) {
                ptrdiff_t end = str_find(p->s, '>', p->at);

                p->unknown = p->unknown || end < 0;
                p->at = end < 0 ? p->s.n : (size_t)end + 1;
        } else if (next_is(p, "?")) {
                parse_flags(p);
                if (next_is(p, ")"))
                        return; /* flags for the rest */
                next_is(p, ":");
        }
        parse_choice(p);
        if (!next_is(p, ")"))
                p->unknown = true;
        p->fold = fold;
        p->dot_all = dot_all;
        p->lines = lines;
}

static void parse_escape(struct parser *p) {
        struct set set = { .count = 0 };
        char ch = more(p) ? p->s.p[p->at] : '\0';

        if (ch && strchr("bBAz", ch)) {
                p->at++;
                emit_assertion(p, ch);
        } else if (ch && set_add_class(p, &set, ch)) {
                p->at++;
                emit_set(p, &set);
        } else
                emit_char(p, escaped(p));
}

static void parse_atom(struct parser *p) {
        uint32_t ch = regex_decode(p->s, &p->at);
        struct set any = { .items = { { '\n', '\n' } }, .count = p->dot_all ? 0 : 1, .negated = true };

        if (ch == '(')
                parse_group(p);
        else if (ch == '[')
                parse_set(p);
        else if (ch == '.')
                emit_set(p, &any);
        else if (ch == '^')
                emit_assertion(p, p->lines ? '^' : 'A');
        else if (ch == '$')
                emit_assertion(p, p->lines ? '$' : 'z');
        else if (ch == '\\')
                parse_escape(p);
        else if (ch == '*' || ch == '+' || ch == '?')
                p->unknown = true;
        else
                emit_char(p, ch);
}

/* {n}, {n,}, {n,m}; false: it is text. */
static bool parse_count(struct parser *p, unsigned *ret_min, unsigned *ret_max) {
        ptrdiff_t end = str_find(p->s, '}', p->at);
        struct str inner = end < 0 ? STR("") : str_sub(p->s, p->at + 1, (size_t)end);
        ptrdiff_t comma = str_find(inner, ',', 0);
        uint64_t min = 0, max = UINT32_MAX;

        if (!str_to_u64(comma < 0 ? inner : str_sub(inner, 0, (size_t)comma), &min))
                return false;
        if (comma < 0)
                max = min;
        else if ((size_t)comma + 1 < inner.n && !str_to_u64(str_sub(inner, (size_t)comma + 1, inner.n), &max))
                return false;
        p->at = (size_t)end + 1;
        *ret_min = (unsigned)min;
        *ret_max = (unsigned)max;
        return true;
}

/* Copies steps [from, to) to the end, with jumps moved along. */
static void repeat_steps(struct parser *p, size_t from, size_t to) {
        size_t shift = p->count - from;

        for (size_t i = from; i < to; i++) {
                struct step step = p->steps[i];

                step.to += shift;
                step.or_to += shift;
                emit(p, step);
        }
}

static void make_room(struct parser *p, size_t at) {
        emit(p, (struct step){ .op = OP_JUMP });
        memmove(p->steps + at + 1, p->steps + at, (p->count - at - 1) * sizeof *p->steps);
        for (size_t i = at + 1; i < p->count; i++) {
                p->steps[i].to++;
                p->steps[i].or_to++;
        }
}

/* The part from `start` to here, `min` to `max` times. A part is kept aside as the pattern for its copies. */
static void repeat(struct parser *p, size_t start, unsigned min, unsigned max) {
        size_t length = p->count - start, end = p->count;

        if (min > 1000 || (max != UINT32_MAX && max > 1000)) {
                p->unknown = true;
                return;
        }
        for (unsigned i = 1; i < min && !p->unknown; i++)
                repeat_steps(p, start, end);
        if (max == UINT32_MAX) {
                size_t last = p->count - length;

                if (min == 0) {
                        make_room(p, start);
                        emit(p, (struct step){ .op = OP_JUMP, .to = start });
                        p->steps[start] = (struct step){ .op = OP_FORK, .to = start + 1, .or_to = p->count };
                } else
                        emit(p, (struct step){ .op = OP_FORK, .to = last, .or_to = p->count + 1 });
                return;
        }
        for (unsigned i = min > 1 ? min : 1; i < max && !p->unknown; i++) {
                size_t fork = emit(p, (struct step){ .op = OP_FORK });

                repeat_steps(p, start, end);
                p->steps[fork] = (struct step){ .op = OP_FORK, .to = fork + 1, .or_to = p->count };
        }
        if (min == 0 && max == 0)
                p->count = start;
        else if (min == 0) {
                make_room(p, start);
                p->steps[start] = (struct step){ .op = OP_FORK, .to = start + 1, .or_to = p->count };
        }
}

static void parse_piece(struct parser *p) {
        size_t start = p->count;
        unsigned min = 1, max = 1;

        parse_atom(p);
        while (more(p)) {
                if (next_is(p, "*"))
                        min = 0, max = UINT32_MAX;
                else if (next_is(p, "+"))
                        min = 1, max = UINT32_MAX;
                else if (next_is(p, "?"))
                        min = 0, max = 1;
                else if (p->s.p[p->at] != '{' || !parse_count(p, &min, &max))
                        return;
                next_is(p, "?"); /* lazy: the same texts match */
                if (p->count > start)
                        repeat(p, start, min, max);
        }
}

static void parse_choice(struct parser *p) {
        size_t start = p->count;

        while (more(p) && p->s.p[p->at] != ')') {
                size_t jump;

                if (!next_is(p, "|")) {
                        parse_piece(p);
                        continue;
                }
                make_room(p, start);
                jump = emit(p, (struct step){ .op = OP_JUMP });
                p->steps[start] = (struct step){ .op = OP_FORK, .to = start + 1, .or_to = p->count };
                parse_choice(p);
                p->steps[jump].to = p->count;
                return;
        }
}

enum regex_verdict regex_match(struct str pattern, struct str text, struct arena *a) {
        _cleanup_(mem_freep) struct step *steps = mem_alloc((REGEX_MAX_NODES + 1) * sizeof *steps);
        struct parser p = { .s = pattern, .steps = steps, .a = a };

        parse_choice(&p);
        if (p.unknown || p.at < pattern.n)
                return REGEX_UNKNOWN;
        emit(&p, (struct step){ .op = OP_MATCH });
        return regex_run(steps, p.count, text, a) ? REGEX_MATCHES : REGEX_DIFFERS;
}
