/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "compare_impl.h"

/* --- times --- */

/* "2026-01-01T00:00:05Z" → seconds, or -1. Fractions of a second are nobody's but the client's. */
static int64_t time_of(struct str s) {
        static const size_t from[] = { 0, 5, 8, 11, 14, 17 }, to[] = { 4, 7, 10, 13, 16, 19 };
        int64_t n[6];

        if (s.n != 20 || s.p[10] != 'T' || s.p[19] != 'Z')
                return -1;
        for (size_t i = 0; i < 6; i++)
                if (!str_to_i64(str_sub(s, from[i], to[i]), &n[i]))
                        return -1;
        return timegm(&(struct tm){ .tm_year = (int)n[0] - 1900,
                                    .tm_mon = (int)n[1] - 1,
                                    .tm_mday = (int)n[2],
                                    .tm_hour = (int)n[3],
                                    .tm_min = (int)n[4],
                                    .tm_sec = (int)n[5] });
}

bool texts_same_time(struct str real, struct str sandbox) {
        int64_t r = time_of(real), s = time_of(sandbox);

        return r >= 0 && s >= 0 && r - s <= 1 && s - r <= 1;
}

static int64_t age_of(struct str s) {
        int64_t seconds;

        return str_ends(s, STR("s")) && str_to_i64(str_sub(s, 0, s.n - 1), &seconds) ? seconds : -1;
}

bool texts_same_age(struct str real, struct str sandbox) {
        int64_t r = age_of(real), s = age_of(sandbox);

        return r >= 0 && s >= 0 && r - s <= 1 && s - r <= 1;
}

/* --- order --- */

int texts_order(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* A text of several: what is before them, and they. */
struct several {
        struct str before, *parts;
        size_t count;
};

static struct several split(struct arena *a, struct str before, struct str rest, struct str separator) {
        struct several s = { .before = before, .parts = arena_alloc(a, (rest.n + 1) * sizeof *s.parts) };
        size_t from = 0;

        for (size_t i = 0; i < rest.n; i++)
                if (str_starts(str_sub(rest, i, rest.n), separator)) {
                        s.parts[s.count++] = str_sub(rest, from, i);
                        from = i + separator.n;
                }
        s.parts[s.count++] = str_sub(rest, from, rest.n);
        qsort(s.parts, s.count, sizeof *s.parts, texts_order);
        return s;
}

/* The items of "BEFORE: [ONE, TWO]", of which each may be of several lines. */
static struct several items_of(struct arena *a, struct str text) {
        static const struct str opening = { ": [", 3 };
        size_t at = 0;

        while (at < text.n && !str_starts(str_sub(text, at, text.n), opening))
                at++;
        if (at < text.n && str_ends(text, STR("]")))
                return split(a, str_sub(text, 0, at), str_sub(text, at + opening.n, text.n - 1), STR(", "));
        return split(a, text, (struct str){ 0 }, STR("\n"));
}

static struct several lines_of(struct arena *a, struct str text) {
        return split(a, (struct str){ 0 }, text, STR("\n"));
}

static bool same_parts(struct several r, struct several s) {
        if (!str_eq(r.before, s.before) || r.count != s.count)
                return false;
        for (size_t i = 0; i < r.count; i++)
                if (!str_eq(r.parts[i], s.parts[i]))
                        return false;
        return true;
}

bool texts_reordered(struct arena *a, struct str real, struct str sandbox) {
        return real.n == sandbox.n && (same_parts(lines_of(a, real), lines_of(a, sandbox)) ||
                                       same_parts(items_of(a, real), items_of(a, sandbox)));
}

/* The place of the next '[' behind `finalizers":`, however often that is quoted; the text's end when there is none. */
static size_t next_finalizers(struct str text, size_t from) {
        static const struct str name = { "finalizers", 10 };

        for (size_t i = from; i < text.n; i++) {
                size_t end = i + name.n;

                if (!str_starts(str_sub(text, i, text.n), name))
                        continue;
                while (end < text.n && (text.p[end] == '\\' || text.p[end] == '"' || text.p[end] == ':'))
                        end++;
                if (end < text.n && text.p[end] == '[')
                        return end;
        }
        return text.n;
}

struct str texts_with_sorted_finalizers(struct arena *a, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(text.n + 1);
        size_t from = 0, begin;

        while ((begin = next_finalizers(text, from)) < text.n) {
                ptrdiff_t end = str_find(text, ']', begin);
                struct several s;

                if (end < 0)
                        break;
                s = split(a, (struct str){ 0 }, str_sub(text, begin + 1, (size_t)end), STR(","));
                buf_add(&out, str_sub(text, from, begin + 1));
                for (size_t i = 0; i < s.count; i++)
                        buf_addf(&out, "%s%.*s", i ? "," : "", STR_FMT(s.parts[i]));
                from = (size_t)end;
        }
        buf_add(&out, str_sub(text, from, text.n));
        return arena_str(a, buf_str(&out));
}

/* --- refusals of fields that nobody declared --- */

static const struct str undeclared = { ": field not declared in schema", 30 };

/* "…): errors:\n  .a: TEXT\n  .b: TEXT" or "…): .a: TEXT": what is before the findings, and them. */
struct findings {
        struct str before, lines;
};

static bool read_findings(struct str text, struct findings *ret) {
        ptrdiff_t end = str_find(text, ')', 0);

        while (end >= 0 && !str_starts(str_sub(text, (size_t)end, text.n), STR("): ")))
                end = str_find(text, ')', (size_t)end + 1);
        if (end < 0 || !str_contains(text, undeclared))
                return false;
        ret->before = str_sub(text, 0, (size_t)end);
        ret->lines = str_sub(text, (size_t)end + 3, text.n);
        if (str_starts(ret->lines, STR("errors:\n")))
                ret->lines = str_sub(ret->lines, 8, ret->lines.n);
        return true;
}

/*
 * Go looks at a map's members in any order, and at no more of them once it met one that is not declared. Such a finding
 * among `lines` excuses that this one, from the same map, is missing.
 */
static bool is_excused(struct str finding, struct str lines) {
        struct str line;

        while (str_next(&lines, '\n', &line)) {
                size_t parent;

                line = str_trim(line);
                if (str_eq(line, finding))
                        return true;
                if (!str_ends(line, undeclared))
                        continue;
                for (parent = line.n - undeclared.n; parent > 0 && line.p[parent - 1] != '.';)
                        parent--;
                if (parent && str_starts(finding, str_sub(line, 0, parent)))
                        return true;
        }
        return false;
}

static bool are_excused(struct str findings, struct str lines) {
        struct str line;

        while (str_next(&findings, '\n', &line))
                if (str_trim(line).n && !is_excused(str_trim(line), lines))
                        return false;
        return true;
}

bool texts_same_undeclared(struct str real, struct str sandbox) {
        struct findings r, s;

        return read_findings(real, &r) && read_findings(sandbox, &s) && str_eq(r.before, s.before) &&
               are_excused(r.lines, s.lines) && are_excused(s.lines, r.lines);
}
