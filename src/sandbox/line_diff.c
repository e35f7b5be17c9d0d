/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/line_diff.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/map.h"

#define CONTEXT       3
#define POPULAR_LINES 200 /* of a text that is long enough to have popular lines */
#define DIFF_MAX      (64 * MIB)

struct lines {
        struct str *text;
        size_t *number; /* equal lines of both texts have the same */
        size_t count;
};

struct match {
        size_t a, b, size;
};

/* Two texts, the matches found, and for each line of b the next one that is equal. */
struct diff {
        struct lines a, b;
        size_t *first, *next;       /* by number; by index in b: 1 + the next index, 0 at the end */
        size_t *lengths, *previous; /* of runs that end at a line of b: index + 1 */
        struct match *matches;
        size_t match_count;
};

/* One line of the diff's plan: a[a1..a2) becomes b[b1..b2). */
struct op {
        bool equal;
        size_t a1, a2, b1, b2;
};

static struct lines split(struct str text, struct map *numbers, struct arena *a) {
        struct lines l = { 0 };
        size_t n = 1;

        for (size_t i = 0; i < text.n; i++)
                n += text.p[i] == '\n';
        l.text = arena_alloc(a, n * sizeof *l.text);
        l.number = arena_alloc(a, n * sizeof *l.number);
        for (size_t from = 0; l.count < n; l.count++) {
                ptrdiff_t end = str_find(text, '\n', from);
                struct str line = str_sub(text, from, end < 0 ? text.n : (size_t)end);
                uintptr_t number = (uintptr_t)map_find(numbers, line);

                if (!number) {
                        number = map_count(numbers) + 1;
                        map_set(numbers, line, (void *)number);
                }
                l.text[l.count] = line;
                l.number[l.count] = number;
                from += line.n + 1;
        }
        return l;
}

static void link_lines(struct diff *d, size_t numbers, struct arena *a) {
        size_t *counts = arena_zalloc(a, (numbers + 1) * sizeof *counts);

        d->first = arena_zalloc(a, (numbers + 1) * sizeof *d->first);
        d->next = arena_zalloc(a, (d->b.count + 1) * sizeof *d->next);
        for (size_t j = d->b.count; j-- > 0;) {
                size_t number = d->b.number[j];

                d->next[j] = d->first[number];
                d->first[number] = j + 1;
                counts[number]++;
        }
        for (size_t n = 0; n <= numbers && d->b.count >= POPULAR_LINES; n++)
                if (counts[n] > d->b.count / 100 + 1)
                        d->first[n] = 0;
}

/* Runs that end at line i of a: their lengths by end in b. */
static void extend_runs(struct diff *d, size_t i, const struct match *in_b, struct match *best) {
        for (size_t j = d->first[d->a.number[i]]; j; j = d->next[j - 1]) {
                size_t k;

                if (j - 1 < in_b->a || j - 1 >= in_b->b)
                        continue;
                k = d->lengths[j] = d->previous[j - 1] + 1;
                if (k > best->size)
                        *best = (struct match){ i + 1 - k, j - k, k };
        }
}

static void forget_runs(const struct diff *d, size_t i, size_t *lengths) {
        for (size_t j = d->first[d->a.number[i]]; j; j = d->next[j - 1])
                lengths[j] = 0;
}

/* The longest run in a[a1..a2) and b[b1..b2). */
static struct match longest(struct diff *d, size_t a1, size_t a2, size_t b1, size_t b2) {
        struct match best = { a1, b1, 0 };

        for (size_t i = a1; i < a2; i++) {
                size_t *swap = d->previous;

                extend_runs(d, i, &(struct match){ b1, b2, 0 }, &best);
                if (i > a1)
                        forget_runs(d, i - 1, d->previous);
                d->previous = d->lengths;
                d->lengths = swap;
        }
        if (a2 > a1)
                forget_runs(d, a2 - 1, d->previous);
        while (best.a > a1 && best.b > b1 && d->a.number[best.a - 1] == d->b.number[best.b - 1]) {
                best.a--;
                best.b--;
                best.size++;
        }
        while (best.a + best.size < a2 && best.b + best.size < b2 &&
               d->a.number[best.a + best.size] == d->b.number[best.b + best.size])
                best.size++;
        return best;
}

static void find_matches(struct diff *d, size_t a1, size_t a2, size_t b1, size_t b2) {
        struct match m = longest(d, a1, a2, b1, b2);

        if (!m.size)
                return;
        if (a1 < m.a && b1 < m.b)
                find_matches(d, a1, m.a, b1, m.b);
        d->matches[d->match_count++] = m;
        if (m.a + m.size < a2 && m.b + m.size < b2)
                find_matches(d, m.a + m.size, a2, m.b + m.size, b2);
}

/* Neighbours become one; the last one is empty, at the ends. */
static void join_matches(struct diff *d) {
        size_t n = 0;

        for (size_t i = 0; i < d->match_count; i++) {
                struct match *last = n ? &d->matches[n - 1] : NULL, m = d->matches[i];

                if (last && last->a + last->size == m.a && last->b + last->size == m.b)
                        last->size += m.size;
                else
                        d->matches[n++] = m;
        }
        d->matches[n++] = (struct match){ d->a.count, d->b.count, 0 };
        d->match_count = n;
}

static size_t plan(const struct diff *d, struct op *ops) {
        size_t n = 0, a = 0, b = 0;

        for (size_t i = 0; i < d->match_count; i++) {
                const struct match *m = &d->matches[i];

                if (a < m->a || b < m->b)
                        ops[n++] = (struct op){ false, a, m->a, b, m->b };
                if (m->size)
                        ops[n++] = (struct op){ true, m->a, m->a + m->size, m->b, m->b + m->size };
                a = m->a + m->size;
                b = m->b + m->size;
        }
        return n;
}

/* ---- printing ---- */

static void add_range(struct buf *out, size_t from, size_t to) {
        if (to - from == 1)
                buf_addf(out, "%zu", from + 1);
        else
                buf_addf(out, "%zu,%zu", to == from ? from : from + 1, to - from);
}

static void add_lines(struct buf *out, char mark, const struct lines *l, size_t from, size_t to) {
        for (size_t i = from; i < to; i++)
                buf_addf(out, "%c%.*s\n", mark, STR_FMT(l->text[i]));
}

static void add_hunk(struct buf *out, const struct diff *d, const struct op *ops, size_t count) {
        buf_addc(out, "@@ -");
        add_range(out, ops[0].a1, ops[count - 1].a2);
        buf_addc(out, " +");
        add_range(out, ops[0].b1, ops[count - 1].b2);
        buf_addc(out, " @@\n");
        for (size_t i = 0; i < count; i++) {
                if (ops[i].equal) {
                        add_lines(out, ' ', &d->a, ops[i].a1, ops[i].a2);
                        continue;
                }
                add_lines(out, '-', &d->a, ops[i].a1, ops[i].a2);
                add_lines(out, '+', &d->b, ops[i].b1, ops[i].b2);
        }
}

static struct op tail_of(struct op o) {
        size_t n = o.a2 - o.a1 > CONTEXT ? CONTEXT : o.a2 - o.a1;

        return (struct op){ true, o.a2 - n, o.a2, o.b2 - n, o.b2 };
}

static struct op head_of(struct op o) {
        size_t n = o.a2 - o.a1 > CONTEXT ? CONTEXT : o.a2 - o.a1;

        return (struct op){ true, o.a1, o.a1 + n, o.b1, o.b1 + n };
}

static void add_hunks(struct buf *out, const struct diff *d, struct op *ops, size_t count) {
        size_t from = 0;

        if (ops[0].equal)
                ops[0] = tail_of(ops[0]);
        if (ops[count - 1].equal)
                ops[count - 1] = head_of(ops[count - 1]);
        for (size_t i = 0; i < count; i++) {
                struct op whole = ops[i];

                if (!whole.equal || whole.a2 - whole.a1 <= 2 * CONTEXT)
                        continue;
                ops[i] = head_of(whole);
                add_hunk(out, d, ops + from, i + 1 - from);
                ops[i] = tail_of(whole);
                from = i;
        }
        add_hunk(out, d, ops + from, count - from);
}

struct str line_diff(struct str before, struct str after, struct arena *a) {
        struct map *numbers = map_new(NULL);
        struct buf out = buf_make(DIFF_MAX);
        struct diff d = { .a = split(before, numbers, a), .b = split(after, numbers, a) };
        struct op *ops = arena_alloc(a, 2 * (d.a.count + 1) * sizeof *ops);
        struct str text;

        link_lines(&d, map_count(numbers), a);
        map_free(numbers);
        d.lengths = arena_zalloc(a, (d.b.count + 1) * sizeof *d.lengths);
        d.previous = arena_zalloc(a, (d.b.count + 1) * sizeof *d.previous);
        d.matches = arena_alloc(a, (d.a.count + 1) * sizeof *d.matches);
        find_matches(&d, 0, d.a.count, 0, d.b.count);
        join_matches(&d);
        if (!str_eq(before, after))
                add_hunks(&out, &d, ops, plan(&d, ops));
        text = arena_str(a, buf_str(&out));
        buf_done(&out);
        return text;
}
