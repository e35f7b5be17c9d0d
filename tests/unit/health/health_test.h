/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of health share: objects from YAML, one judgement. */
#ifndef TRUCE_TESTS_HEALTH_TEST_H
#define TRUCE_TESTS_HEALTH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/yaml.h"
#include "health/rules.h"

/* 2026-01-01T12:00:00Z */
#define NOON_MS INT64_C(1767268800000)

static inline const struct value *object_of(struct arena *a, const char *yaml) {
        const struct yaml_document *docs;
        struct err err = { 0 };
        size_t count;

        if (yaml_parse(str_from(yaml), a, &docs, &count, &err) < 0 || count != 1)
                fail_msg("%s: %s", yaml, err.msg);
        return docs[0].value;
}

static inline struct health judged(struct health_rules *r, const struct value *object, struct arena *a) {
        struct health_question q = { .object = object, .now_ms = NOON_MS };
        struct health h;

        health_judge(r, &q, a, &h);
        return h;
}

static inline void assert_str(struct str got, const char *want) {
        if (!str_eqc(got, want))
                fail_msg("got \"%.*s\", want \"%s\"", STR_FMT(got), want);
}

static inline void add_rule(struct health_rules *r, const char *group, const char *kind, const char *lua,
                            const char *file, uint32_t line) {
        struct health_source source = {
                .group = str_from(group),
                .kind = str_from(kind),
                .lua = { .text = str_from(lua), .name = str_from(file), .line = line },
        };
        struct err err = { 0 };

        if (health_rules_add(r, &source, &err) < 0)
                fail_msg("%s", err.msg);
}

#endif
