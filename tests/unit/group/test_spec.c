/* SPDX-License-Identifier: Apache-2.0 */
/* What data cases of reading a spec cannot say: hostile values, lengths, ownership. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "arena_test.h"
#include "base/json.h"
#include "base/limits.h"
#include "group/spec.h"

static const struct value *parsed(const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(str_from(text), a, &v, &err) < 0)
                fail_msg("%s", err.msg);
        return v;
}

static void what_is_no_object_is_refused(void **state) {
        static const char *const texts[] = { "null", "7", "[]", "{}", "{\"metadata\":[],\"spec\":7}" };
        struct group_problems problems;
        struct group_spec s;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                assert_int_equal(group_spec_read(parsed(texts[i]), a, &s, &problems), ERR_INVAL);
                assert_int_equal(problems.count, 2);
                assert_int_equal(s.replicas, 1);
                assert_int_equal(s.now.size, 1);
                assert_int_equal(s.now.leader->kind, VALUE_MAP);
        }
        assert_int_equal(group_spec_read(NULL, a, &s, &problems), ERR_INVAL);
}

static void a_long_value_is_cut_where_it_is_shown(void **state) {
        char text[1000] = "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"startupPolicy\":\"";
        size_t n = strlen(text);
        struct group_problems problems;
        struct group_spec s;

        (void)state;
        for (size_t i = 0; i < 200; i++, n += 2)
                memcpy(text + n, "é", 2);
        memcpy(text + n, "\"}}", 4);
        group_spec_read(parsed(text), a, &s, &problems);
        assert_true(str_starts(problems.items[0].text, STR("Unsupported value: \"éé")));
        assert_true(str_is_utf8(problems.items[0].text));
        assert_true(str_contains(problems.items[0].text, STR("…: supported values: ")));
        assert_true(problems.items[0].text.n < 200);
}

static void each_unknown_field_is_told_however_many(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(64 * KIB);
        struct group_problems problems;
        struct group_spec s;

        (void)state;
        buf_addc(&text,
                 "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"leaderWorkerTemplate\":{\"workerTemplate\":{\"spec\":{"
                 "\"containers\":[{}]}}}");
        for (int i = 0; i < 1000; i++)
                buf_addf(&text, ",\"x%04d\":1", i);
        buf_addc(&text, "}}");
        assert_int_equal(group_spec_read(parsed(text.p), a, &s, &problems), ERR_INVAL);
        assert_int_equal(problems.count, 1000);
        for (size_t i = 0; i < problems.count; i++) {
                assert_int_equal(problems.items[i].kind, GROUP_UNSUPPORTED);
                assert_true(str_eq(problems.items[i].path, arena_strf(a, "spec.x%04zu", i)));
        }
}

/* The object of so many claims. */
static const struct value *with_claims(int count) {
        _cleanup_(buf_done) struct buf text = buf_make(64 * KIB);

        buf_addc(&text,
                 "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"leaderWorkerTemplate\":{\"workerTemplate\":{\"spec\":{"
                 "\"containers\":[{}]}},\"volumeClaimTemplates\":[");
        for (int i = 0; i < count; i++)
                buf_addf(&text, "%s{\"metadata\":{\"name\":\"c%d\"},\"spec\":{}}", i ? "," : "", i);
        buf_addc(&text, "]}}}");
        return parsed(text.p);
}

static void a_pod_has_so_many_claims_and_no_more(void **state) {
        struct group_problems problems;
        struct group_spec s;

        (void)state;
        assert_int_equal(group_spec_read(with_claims(GROUP_MAX_CLAIMS), a, &s, &problems), 0);
        assert_int_equal(value_count(s.now.claims), GROUP_MAX_CLAIMS);
        assert_int_equal(group_spec_read(with_claims(GROUP_MAX_CLAIMS + 1), a, &s, &problems), ERR_INVAL);
        assert_true(str_eqc(problems.items[0].path, "spec.leaderWorkerTemplate.volumeClaimTemplates"));
        assert_true(str_eqc(problems.items[0].text, "Too many: 257: must have at most 256 items"));
        assert_null(s.now.claims);
}

static void nothing_of_it_borrows_from_the_object(void **state) {
        struct arena *other = arena_new(0);
        const struct value *object = NULL;
        struct group_problems problems;
        struct group_spec s;

        (void)state;
        assert_int_equal(json_parse(STR("{\"metadata\":{\"name\":\"demo\",\"namespace\":\"shop\",\"uid\":\"u\","
                                        "\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"},\"annotations\":{"
                                        "\"leaderworkerset.sigs.k8s.io/exclusive-topology\":\"rack\","
                                        "\"truce.dev/reset-restarts\":\"x\"}},\"spec\":{\"leaderWorkerTemplate\":{"
                                        "\"workerTemplate\":{\"spec\":{\"containers\":[{}]}}}}}"),
                                    other, &object, NULL),
                         0);
        assert_int_equal(group_spec_read(object, a, &s, &problems), 0);
        arena_free(other);
        assert_true(str_eqc(s.name, "demo") && str_eqc(s.ns, "shop") && str_eqc(s.uid, "u"));
        assert_true(str_eqc(s.resource_version, "7") && str_eqc(s.exclusive_topology, "rack"));
        assert_true(str_eqc(s.options.budget_reset, "x"));
        assert_true(str_eqc(value_canonical(a, s.labels), "{\"a\":\"b\"}"));
}

static void what_is_remembered_of_an_annotation_is_short(void **state) {
        static const char text[] = "{\"metadata\":{\"name\":\"demo\",\"namespace\":\"shop\",\"annotations\":{"
                                   "\"truce.dev/reset-restarts\":\"%0*d\"}},\"spec\":{\"leaderWorkerTemplate\":{"
                                   "\"workerTemplate\":{\"spec\":{\"containers\":[{}]}}}}}";
        const struct value *object = NULL;
        struct group_problems problems;
        struct group_spec s;

        (void)state;
        assert_int_equal(json_parse(arena_strf(a, text, 256, 0), a, &object, NULL), 0);
        assert_int_equal(group_spec_read(object, a, &s, &problems), 0);
        assert_int_equal(s.options.budget_reset.n, 256);
        assert_int_equal(json_parse(arena_strf(a, text, 257, 0), a, &object, NULL), 0);
        assert_int_equal(group_spec_read(object, a, &s, &problems), ERR_INVAL);
        assert_int_equal(problems.count, 1);
        assert_true(str_eqc(problems.items[0].path, "metadata.annotations[truce.dev/reset-restarts]"));
        assert_true(str_ends(problems.items[0].text, STR("must have 256 bytes at most")));
        assert_int_equal(s.options.budget_reset.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_no_object_is_refused),
                cmocka_unit_test(a_long_value_is_cut_where_it_is_shown),
                cmocka_unit_test(each_unknown_field_is_told_however_many),
                cmocka_unit_test(a_pod_has_so_many_claims_and_no_more),
                cmocka_unit_test(nothing_of_it_borrows_from_the_object),
                cmocka_unit_test(what_is_remembered_of_an_annotation_is_short),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
