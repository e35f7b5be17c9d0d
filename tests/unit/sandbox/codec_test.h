/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of types, decode, default and patch share: an arena and a type table for each test, and files of
 * cases.
 */
#ifndef TRUCE_TEST_SANDBOX_CODEC_TEST_H
#define TRUCE_TEST_SANDBOX_CODEC_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/limits.h"
#include "sandbox/codec.h"

static struct arena *a;
static struct type_table *types;

static int codec_setup(void **state) {
        (void)state;
        a = arena_new(0);
        types = type_table_new();
        return 0;
}

static int codec_teardown(void **state) {
        (void)state;
        type_table_free(types);
        arena_free(a);
        return 0;
}

#define codec_test(f) cmocka_unit_test_setup_teardown(f, codec_setup, codec_teardown)

static inline const struct value *json(const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(str_from(text), a, &v, &err) < 0)
                fail_msg("%s: %s", text, err.msg);
        return v;
}

static inline const struct type *type_of(const char *api_version, const char *kind) {
        const struct type *t = type_table_find(types, str_from(api_version), str_from(kind));

        if (!t)
                fail_msg("no type for %s %s", api_version, kind);
        return t;
}

/* A file of tests/cases. */
static inline const struct value *read_cases(const char *name) {
        struct str path = arena_strf(a, "%s/tests/cases/%s", TRUCE_SOURCE_DIR, name);
        FILE *f = fopen(path.p, "r");
        char *text = malloc(4 * MIB);

        assert_non_null(f);
        assert_non_null(text);
        text[fread(text, 1, 4 * MIB - 1, f)] = '\0';
        fclose(f);
        const struct value *v = json(text);

        free(text);
        return v;
}

#define assert_json_equal(have, want_text)                                                                             \
        do {                                                                                                           \
                const struct value *want_ = json(want_text);                                                           \
                assert_string_equal(value_canonical(a, have).p, value_canonical(a, want_).p);                          \
        } while (0)

#endif
