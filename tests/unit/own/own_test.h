/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of own/: objects from text in which ' stands for ". */
#ifndef TRUCE_TEST_OWN_H
#define TRUCE_TEST_OWN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/limits.h"
#include "own/fieldset.h"
#include "own/managed.h"

#define UNUSED __attribute__((unused))

static inline UNUSED struct str quoted(struct arena *a, const char *text) {
        struct str s = arena_str(a, str_from(text));

        for (size_t i = 0; i < s.n; i++)
                if (s.p[i] == '\'')
                        ((char *)s.p)[i] = '"';
        return s;
}

static inline UNUSED const struct value *json(struct arena *a, const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(quoted(a, text), a, &v, &err) < 0)
                fail_msg("%s in %s", err.msg, text);
        return v;
}

static inline UNUSED const struct fieldset *set(struct arena *a, const char *text) {
        const struct fieldset *s = NULL;
        struct err err = { 0 };

        if (fieldset_parse(json(a, text), a, &s, &err) < 0)
                fail_msg("%s in %s", err.msg, text);
        return s;
}

static inline UNUSED struct managed owners_of(struct arena *a, const struct value *object) {
        struct managed m = { 0 };

        assert_int_equal(managed_parse(object, a, &m, NULL), 0);
        return m;
}

static inline UNUSED struct field_path dotted(struct arena *a, const char *text) {
        struct field_path p = { 0 };

        assert_int_equal(field_path_from_dotted(str_from(text), a, &p, NULL), 0);
        return p;
}

#define assert_text(got, want)                                                                                         \
        do {                                                                                                           \
                struct str _got = (got);                                                                               \
                if (!str_eqc(_got, (want)))                                                                            \
                        fail_msg("got %.*s, want %s", STR_FMT(_got), (want));                                          \
        } while (0)

#endif
