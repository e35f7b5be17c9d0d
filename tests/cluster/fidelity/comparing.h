/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the comparison: two answers in, what differs out, as one text. Bodies have ' for ". */
#ifndef TRUCE_FIDELITY_COMPARING_H
#define TRUCE_FIDELITY_COMPARING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "answers.h"
#include "base/json.h"

#define UID_A "aaaaaaaa-0000-4000-8000-000000000001"
#define UID_B "bbbbbbbb-0000-4000-8000-000000000002"
#define UID_C "cccccccc-0000-4000-8000-000000000003"
#define UID_D "dddddddd-0000-4000-8000-000000000004"

struct comparing {
        struct arena *a;
        struct pairs *pairs;
        struct differences found; /* by the last comparison */
};

static inline int comparing_setup(void **state) {
        struct comparing *c = mem_zalloc(sizeof *c);

        c->a = arena_new(0);
        c->pairs = pairs_new();
        pairs_step(c->pairs, 1);
        *state = c;
        return 0;
}

static inline int comparing_teardown(void **state) {
        struct comparing *c = *state;

        pairs_free(c->pairs);
        arena_free(c->a);
        free(c);
        return 0;
}

static inline struct str with_quotes(struct comparing *c, const char *text) {
        struct str copy = arena_str(c->a, str_from(text));

        for (size_t i = 0; i < copy.n; i++)
                if (copy.p[i] == '\'')
                        ((char *)copy.p)[i] = '"';
        return copy;
}

/* Lines may end in strings. */
static inline const struct value *json_of(struct comparing *c, const char *text) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);
        const struct value *v = NULL;

        for (; *text; text++)
                if (*text == '\n')
                        buf_addc(&out, "\\n");
                else
                        buf_addch(&out, *text);
        assert_int_equal(json_parse(with_quotes(c, out.p), c->a, &v, NULL), 0);
        return v;
}

/* "PLACE: REAL, SANDBOX; …", and "~" for another order. */
static inline const char *told(struct comparing *c) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        for (size_t i = 0; i < c->found.count && i < MAX_DIFFERENCES; i++) {
                const struct difference *d = &c->found.list[i];

                buf_addf(&out, "%s%.*s: %.*s, %.*s", i ? "; " : "", STR_FMT(d->place), STR_FMT(d->real),
                         STR_FMT(d->sandbox));
        }
        if (c->found.reordered)
                buf_addch(&out, '~');
        return arena_str(c->a, buf_str(&out)).p;
}

static inline const char *bodies(struct comparing *c, const char *real, const char *sandbox) {
        c->found = (struct differences){ 0 };
        compare_bodies(c->pairs, "", json_of(c, real), json_of(c, sandbox), c->a, &c->found);
        return told(c);
}

#define assert_same(c, real, sandbox)            assert_string_equal(bodies(c, real, sandbox), "")
#define assert_differs(c, real, sandbox, wanted) assert_string_equal(bodies(c, real, sandbox), wanted)
#define assert_reordered(c, real, sandbox)       assert_string_equal(bodies(c, real, sandbox), "~")

#define CASE(name) cmocka_unit_test_setup_teardown(name, comparing_setup, comparing_teardown)

#endif
