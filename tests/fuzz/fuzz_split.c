/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream cut in any way gives the same pieces, and the pieces of a valid list are its items. The first byte of the
 * input seeds the chunk sizes, the second sets the limit of a piece; the rest is the stream.
 */
#include "fuzz.h"

#include "base/json.h"
#include "base/split.h"

/* Pieces are kept one after the other, each with its length before it. */
struct outcome {
        struct buf pieces;
        struct buf shell;
        size_t count;
        int r;
};

static int keep(void *ctx, struct str piece, struct err *err) {
        struct outcome *o = ctx;

        (void)err;
        buf_addf(&o->pieces, "%zu:", piece.n);
        buf_add(&o->pieces, piece);
        o->count++;
        return 0;
}

static struct outcome outcome_make(void) {
        return (struct outcome){ .pieces = buf_make(SIZE_MAX / 4), .shell = buf_make(SIZE_MAX / 4) };
}

static void outcome_done(struct outcome *o) {
        buf_done(&o->pieces);
        buf_done(&o->shell);
}

static bool same(const struct outcome *a, const struct outcome *b) {
        return a->r == b->r && a->count == b->count && str_eq(buf_str(&a->pieces), buf_str(&b->pieces)) &&
               str_eq(buf_str(&a->shell), buf_str(&b->shell));
}

/* 0 gives one chunk, anything else chunks of 1 to 16 bytes. */
static struct str next_chunk(struct str *rest, unsigned *seed) {
        size_t n = *seed ? *seed % 16 + 1 : rest->n;
        struct str chunk = str_sub(*rest, 0, n);

        if (*seed)
                *seed = *seed * 1103515245 + 12345;
        *rest = str_sub(*rest, n, rest->n);
        return chunk;
}

static void check_code(int r, const struct err *err) {
        HOLDS(r == 0 || r == ERR_PARSE || r == ERR_LIMIT);
        HOLDS(r == err->code);
}

static struct outcome split_as_list(struct str text, size_t max, unsigned seed) {
        struct outcome o = outcome_make();
        struct split_list *s = split_list_new(max, keep, &o);
        struct err err = { 0 };
        struct str shell;

        while (text.n && o.r == 0)
                o.r = split_list_feed(s, next_chunk(&text, &seed), &err);
        if (o.r == 0)
                o.r = split_list_end(s, &shell, &err);
        if (o.r == 0)
                buf_add(&o.shell, shell);
        check_code(o.r, &err);
        split_list_free(s);
        return o;
}

static struct outcome split_as_lines(struct str text, size_t max, unsigned seed) {
        struct split_lines s = split_lines_make(max);
        struct outcome o = outcome_make();
        struct err err = { 0 };

        while (text.n && o.r == 0)
                o.r = split_lines_feed(&s, next_chunk(&text, &seed), keep, &o, &err);
        check_code(o.r, &err);
        split_lines_done(&s);
        return o;
}

/* Valid JSON with a plain "items" is cut into exactly those items. */
static void check_items(struct str text) {
        struct arena *a = arena_new(0);
        const struct value *list, *items, *shell;

        if (json_parse(text, a, &list, NULL) < 0 || !value_is(list, VALUE_MAP) || str_find(text, '\\', 0) >= 0) {
                arena_free(a);
                return;
        }
        _cleanup_(outcome_done) struct outcome o = split_as_list(text, SIZE_MAX / 4, 0);
        HOLDS(o.r == 0);
        items = value_getc(list, "items");
        HOLDS(json_parse(buf_str(&o.shell), a, &shell, NULL) == 0);
        /* Of two "items" the last one wins as a value, while both are handed out. */
        if (value_is(items, VALUE_LIST))
                HOLDS(o.count >= value_count(items) && value_count(value_getc(shell, "items")) == 0);
        arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        if (n < 2)
                return 0;

        struct str text = { (const char *)data + 2, n - 2 };
        unsigned seed = data[0] + 1U;
        size_t max = data[1];
        _cleanup_(outcome_done) struct outcome list = split_as_list(text, max, 0);
        _cleanup_(outcome_done) struct outcome list_cut = split_as_list(text, max, seed);
        _cleanup_(outcome_done) struct outcome lines = split_as_lines(text, max, 0);
        _cleanup_(outcome_done) struct outcome lines_cut = split_as_lines(text, max, seed);

        HOLDS(same(&list, &list_cut));
        HOLDS(same(&lines, &lines_cut));
        check_items(text);
        return 0;
}
