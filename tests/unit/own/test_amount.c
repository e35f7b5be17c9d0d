/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities and durations that mean the same. Right values are apimachinery's and Go's rules. */
#include "own_test.h"

#include "own/amount.h"

static bool same(const char *x, const char *y, bool (*equal)(const struct value *a, const struct value *b)) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *p = json(a, x), *q = json(a, y);
        bool is = equal(p, q);

        assert_int_equal(is, equal(q, p));
        return is;
}

static void quantities_are_the_same_however_they_are_spelt(void **state) {
        static const char *const alike[][2] = {
                { "'1000m'", "'1'" },       { "1", "'1'" },          { "0.1", "'100m'" },     { "'1024Mi'", "'1Gi'" },
                { "'1Gi'", "1073741824" },  { "'1e3'", "'1k'" },     { "'1E3'", "'1000'" },   { "'1.5Gi'", "'1536Mi'" },
                { "'+1'", "1" },            { "'-0'", "'0'" },       { "'.5'", "'500m'" },    { "'1.'", "1" },
                { "'0Mi'", "'0'" },         { "'1E'", "'1000P'" },   { "'1Ei'", "'1024Pi'" }, { "'100n'", "'0.1u'" },
                { "'0.500'", "'500m'" },    { "' 1'", "1" },         { "'1e-3'", "'1m'" },    { "'007'", "7" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(alike); i++)
                if (!same(alike[i][0], alike[i][1], quantity_equal))
                        fail_msg("%s is not %s", alike[i][0], alike[i][1]);
}

static void other_quantities_are_others_and_what_is_none_is_never_the_same(void **state) {
        static const char *const apart[][2] = {
                { "'1G'", "'1Gi'" },   { "'1'", "'-1'" },    { "'1m'", "'1M'" },     { "'1'", "'1.0000000000000000001'" },
                { "'1'", "true" },     { "'one'", "'one'" }, { "''", "''" },         { "'1 Gi'", "'1Gi'" },
                { "'1gi'", "'1Gi'" },  { "'1K'", "'1K'" },   { "'e3'", "'e3'" },     { "'.'", "'0'" },
                { "'1e101'", "'1e101'" }, { "['1']", "'1'" }, { "null", "'0'" },     { "'--1'", "'-1'" },
                { "'1e'", "'1'" },     { "'1e+'", "'1'" },   { "'1e--3'", "'1m'" },  { "'0x10'", "16" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(apart); i++)
                if (same(apart[i][0], apart[i][1], quantity_equal))
                        fail_msg("%s is %s", apart[i][0], apart[i][1]);
}

/* Exact or not at all: 38 digits fit, and what does not is nobody's equal. */
static void more_digits_than_can_be_held_are_not_compared(void **state) {
        static const char most[] = "'34028236692093846346337460743176821145'", beyond[] = "'3402823669209384634633746074317682114550000'";

        (void)state;
        assert_true(same(most, most, quantity_equal));
        assert_false(same(beyond, beyond, quantity_equal));
        assert_true(same("'1000000000000000000000000Ki'", "'1024000000000000000000000000'", quantity_equal));
        assert_false(same("'10000000000000000000000000000000000000Ei'", "'10000000000000000000000000000000000000Ei'", quantity_equal));
}

static void durations_are_the_same_however_they_are_spelt(void **state) {
        static const char *const alike[][2] = {
                { "'60s'", "'1m0s'" }, { "'90m'", "'1h30m0s'" }, { "'1.5h'", "'1h30m'" }, { "'0'", "'0s'" },
                { "'1000ms'", "'1s'" }, { "'1us'", "'1µs'" },    { "'1000ns'", "'1μs'" }, { "'-60s'", "'-1m'" },
                { "'+1s'", "'1s'" },   { "'-0'", "'0s'" },       { "'.5s'", "'500ms'" },
        };
        static const char *const apart[][2] = {
                { "'60s'", "'61s'" },    { "'60'", "'60'" },   { "'1d'", "'1d'" },   { "''", "''" },   { "60", "60" },
                { "'-1s'", "'1s'" },     { "'1s '", "'1s'" },  { "'s'", "'0s'" },    { "'1s0'", "'1s'" }, { "'1 s'", "'1s'" },
                { "'0.1ns'", "'0.1ns'" }, { "'9223372036854775808ns'", "'9223372036854775808ns'" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(alike); i++)
                if (!same(alike[i][0], alike[i][1], duration_equal))
                        fail_msg("%s is not %s", alike[i][0], alike[i][1]);
        for (size_t i = 0; i < ARRAY_LEN(apart); i++)
                if (same(apart[i][0], apart[i][1], duration_equal))
                        fail_msg("%s is %s", apart[i][0], apart[i][1]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(quantities_are_the_same_however_they_are_spelt),
                cmocka_unit_test(other_quantities_are_others_and_what_is_none_is_never_the_same),
                cmocka_unit_test(more_digits_than_can_be_held_are_not_compared),
                cmocka_unit_test(durations_are_the_same_however_they_are_spelt),
        };

        return cmocka_run_group_tests_name("amount", tests, NULL, NULL);
}
