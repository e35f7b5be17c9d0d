/* SPDX-License-Identifier: Apache-2.0 */
/* Revisions: the cases of tests/cases/group/revision, and reading them back from ControllerRevisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arena_test.h"
#include "base/json.h"
#include "group/revision.h"
#include "spec_cases.h"

#define CASES    TRUCE_SOURCE_DIR "/tests/cases/group/revision"
#define AT_LEAST 14

static struct group_template template_of(const struct value *spec) {
        struct group_problems problems = { 0 };
        struct group_template t;

        group_template_read(spec, a, &t, &problems);
        if (problems.count)
                fail_msg("%.*s: %.*s", STR_FMT(problems.items[0].path), STR_FMT(problems.items[0].text));
        assert_int_equal(t.hash.n, GROUP_HASH_BYTES);
        return t;
}

static void is_golden(const struct value *doc, const char *key, struct str is, struct str name) {
        const struct value *golden = value_getc(doc, key);

        if (golden && !str_eq(value_text(golden), is))
                fail_msg("%.*s: %s is %.*s", STR_FMT(name), key, STR_FMT(is));
}

static void compare(const struct group_template *t, const struct value *specs, bool same, struct str name) {
        for (size_t i = 0; i < value_count(specs); i++) {
                struct group_template o = template_of(specs->list.items[i]);

                if (group_template_equal(t, &o) != same || str_eq(t->hash, o.hash) != same)
                        fail_msg("%.*s: %s %zu: %.*s", STR_FMT(name), same ? "same" : "other", i,
                                 STR_FMT(value_canonical(a, o.payload)));
        }
}

static void each_revision_is_as_its_case_says(void **state) {
        struct spec_cases cases = spec_cases_load(CASES, a);

        (void)state;
        for (size_t i = 0; i < cases.count; i++) {
                const struct value *doc = cases.items[i];
                struct str name = value_text(value_getc(doc, "name"));
                struct group_template t = template_of(value_getc(doc, "spec"));

                is_golden(doc, "payload", value_canonical(a, t.payload), name);
                is_golden(doc, "hash", t.hash, name);
                compare(&t, value_getc(doc, "same"), true, name);
                compare(&t, value_getc(doc, "other"), false, name);
        }
        print_message("%zu cases\n", cases.count);
        assert_true(cases.count >= AT_LEAST);
}

static const struct value *parsed(const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(str_from(text), a, &v, &err) < 0)
                fail_msg("%s", err.msg);
        return v;
}

static const struct value *revision_of(const struct value *data) {
        return value_with(a, parsed("{\"metadata\":{\"name\":\"demo-x-1\"}}"), STR("data"), data);
}

static void what_is_stored_is_read_back_the_same(void **state) {
        struct spec_cases cases = spec_cases_load(CASES, a);

        (void)state;
        for (size_t i = 0; i < cases.count; i++) {
                struct group_template t = template_of(value_getc(cases.items[i], "spec")), again;

                assert_int_equal(group_revision_read(revision_of(t.payload), a, &again, NULL), 0);
                assert_true(group_template_equal(&t, &again));
                assert_true(str_eq(t.hash, again.hash));
                assert_true(value_equal(t.leader, again.leader) && value_equal(t.worker, again.worker));
                assert_true(value_equal(t.claims, again.claims));
                assert_int_equal(t.size, again.size);
                assert_int_equal(t.restart, again.restart);
                assert_int_equal(t.subgroups, again.subgroups);
                assert_int_equal(t.subgroup_size, again.subgroup_size);
                assert_int_equal(t.subdomain, again.subdomain);
                assert_int_equal(t.delete_claims_when_deleted, again.delete_claims_when_deleted);
                assert_int_equal(t.delete_claims_when_scaled, again.delete_claims_when_scaled);
        }
}

static void a_revision_of_an_older_serialisation_is_equal(void **state) {
        struct group_template now = template_of(
                parsed("{\"networkConfig\":{\"subdomainPolicy\":\"Shared\"},\"leaderWorkerTemplate\":{\"size\":2,"
                       "\"restartPolicy\":\"RecreateGroupOnPodRestart\",\"workerTemplate\":{\"spec\":{\"containers\":[{"
                       "\"name\":\"main\",\"image\":\"busybox\"}]}}}}"));
        struct group_template old;

        (void)state;
        assert_int_equal(
                group_revision_read(
                        parsed("{\"data\":{\"spec\":{\"networkConfig\":null,\"leaderWorkerTemplate\":{\"$patch\":"
                               "\"replace\",\"size\":2,\"restartPolicy\":\"RecreateGroupOnPodRestart\","
                               "\"workerTemplate\":{"
                               "\"metadata\":{\"creationTimestamp\":null},\"spec\":{\"containers\":[{\"name\":\"main\","
                               "\"image\":\"busybox\",\"resources\":{}}]}}}}}}"),
                        a, &old, NULL),
                0);
        assert_true(group_template_equal(&now, &old));
}

static void a_directive_on_the_network_is_passed_over(void **state) {
        struct group_template t;

        (void)state;
        assert_int_equal(
                group_revision_read(
                        parsed("{\"data\":{\"spec\":{\"networkConfig\":{\"$patch\":\"replace\",\"subdomainPolicy\":"
                               "\"UniquePerReplica\"},\"leaderWorkerTemplate\":{\"$patch\":\"replace\","
                               "\"workerTemplate\":{"
                               "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}}}}"),
                        a, &t, NULL),
                0);
        assert_int_equal(t.subdomain, GROUP_SUBDOMAIN_UNIQUE);
}

static void its_label_is_its_hash(void **state) {
        struct group_template t;

        (void)state;
        assert_int_equal(group_revision_read(
                                 parsed("{\"metadata\":{\"labels\":{\"leaderworkerset.sigs.k8s.io/"
                                        "template-revision-hash\":\"5f\"}},"
                                        "\"data\":{\"spec\":{\"leaderWorkerTemplate\":{\"workerTemplate\":{\"spec\":{"
                                        "\"containers\":[{\"name\":\"main\"}]}}}}}}"),
                                 a, &t, NULL),
                         0);
        assert_true(str_eqc(t.hash, "5f"));
}

static void is_no_revision(const char *text, const char *message) {
        struct group_template t = { .size = 77 };
        struct err err = { 0 };

        assert_int_equal(group_revision_read(parsed(text), a, &t, &err), ERR_PARSE);
        assert_string_equal(err.msg, message);
        assert_int_equal(t.size, 77);
}

static void what_is_no_revision_says_why(void **state) {
        (void)state;
        is_no_revision("{}", "data.spec is no map");
        is_no_revision("{\"data\":\"x\"}", "data.spec is no map");
        is_no_revision("{\"data\":{\"spec\":{}}}", "data.spec.leaderWorkerTemplate: Required value");
        is_no_revision(
                "{\"data\":{\"spec\":{\"leaderWorkerTemplate\":{\"inPlace\":true,\"workerTemplate\":{\"spec\":{"
                "\"containers\":[{}]}}}}}}",
                "data.spec.leaderWorkerTemplate.inPlace: truce does not know this field, and so not what it asks "
                "for: remove it");
}

static void nothing_of_it_borrows_from_the_spec(void **state) {
        struct arena *other = arena_new(0);
        struct group_problems problems = { 0 };
        const struct value *spec = NULL;
        struct group_template t;

        (void)state;
        assert_int_equal(json_parse(STR("{\"leaderWorkerTemplate\":{\"workerTemplate\":{\"spec\":{\"containers\":[{"
                                        "\"name\":\"main\"}]}}}}"),
                                    other, &spec, NULL),
                         0);
        assert_int_equal(group_template_read(spec, a, &t, &problems), 0);
        arena_free(other);
        assert_true(str_eqc(value_canonical(a, t.leader), "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_revision_is_as_its_case_says),
                cmocka_unit_test(what_is_stored_is_read_back_the_same),
                cmocka_unit_test(a_revision_of_an_older_serialisation_is_equal),
                cmocka_unit_test(a_directive_on_the_network_is_passed_over),
                cmocka_unit_test(its_label_is_its_hash),
                cmocka_unit_test(what_is_no_revision_says_why),
                cmocka_unit_test(nothing_of_it_borrows_from_the_spec),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
