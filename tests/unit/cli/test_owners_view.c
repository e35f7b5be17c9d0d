/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/owners_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"

static struct arena *a;
static struct buf out;

static int setup(void **state) {
        (void)state;
        a = arena_new(0);
        out = buf_make(65536);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        arena_free(a);
        buf_done(&out);
        return 0;
}

static const char *path(const char *text, size_t columns) {
        struct field_path p;

        assert_int_equal(field_path_read(str_from(text), a, &p, NULL), 0);
        buf_clear(&out);
        owners_view_path(p, columns, &out);
        return out.p;
}

#define IMAGE ".spec.template.spec.containers[name=\"web\"].image"

static void a_long_path_loses_its_middle(void **state) {
        (void)state;
        assert_string_equal(path(IMAGE, 60), "spec.template.spec.containers[web].image");
        assert_string_equal(path(IMAGE, 36), "spec.template…containers[web].image");
        assert_string_equal(path(IMAGE, 30), "spec.template…image");
        assert_string_equal(path(".metadata.annotations[\"example.com/long-name\"]", 30), "metadata.annotations[example.…");
}

static const char *owner(const struct explain_row *r) {
        buf_clear(&out);
        owners_view_owner(r, &out);
        return out.p;
}

static void owners_are_called_by_what_they_are(void **state) {
        const struct managed_entry edit = { .manager = STR("kubectl-edit") },
                                   scale = { .manager = STR("kube-controller-manager"), .subresource = STR("scale") },
                                   evil = { .manager = STR("x\033[31m") };

        (void)state;
        assert_string_equal(owner(&(struct explain_row){ .owner = &edit, .class = POLICY_PERSON, .owner_count = 1 }),
                            "kubectl-edit (a person)");
        assert_string_equal(owner(&(struct explain_row){ .owner = &scale, .class = POLICY_SCALER, .owner_count = 1 }),
                            "kube-controller-manager (scale)");
        assert_string_equal(owner(&(struct explain_row){ .in_words = STR("HorizontalPodAutoscaler shop/web") }), "HPA shop/web (scale)");
        assert_string_equal(owner(&(struct explain_row){ .owner = &edit, .class = POLICY_PERSON, .owner_count = 3 }),
                            "kubectl-edit (a person) +2");
        assert_string_equal(owner(&(struct explain_row){ .fate = EXPLAIN_NOBODYS }), "nobody (default)");
        assert_string_equal(owner(&(struct explain_row){ .fate = EXPLAIN_NOBODYS, .origin = EXPLAIN_ADMISSION }),
                            "nobody (admission)");
        assert_string_equal(owner(&(struct explain_row){ .owner = &evil, .class = POLICY_UNKNOWN, .owner_count = 1 }), "x\\x1b[31m");
}

static void each_fate_has_a_word(void **state) {
        (void)state;
        assert_string_equal(owners_view_fate(&(struct explain_row){ .fate = EXPLAIN_ENFORCED }), "enforces");
        assert_string_equal(owners_view_fate(&(struct explain_row){ .fate = EXPLAIN_TAKEN, .class = POLICY_PERSON }), "takes back");
        assert_string_equal(owners_view_fate(&(struct explain_row){ .fate = EXPLAIN_TAKEN, .class = POLICY_CLIENT }), "takes");
        assert_string_equal(owners_view_fate(&(struct explain_row){ .fate = EXPLAIN_NOTED, .note = DECIDE_REPORTED }), "reports");
        for (int f = EXPLAIN_ENFORCED; f <= EXPLAIN_OFF; f++)
                assert_non_null(owners_view_fate(&(struct explain_row){ .fate = (enum explain_fate)f }));
}

static const char *by(const struct app_explanation *x, const struct explain_row *r) {
        buf_clear(&out);
        owners_view_by(x, r, &out);
        return out.p;
}

static void what_decides_is_named_with_its_place(void **state) {
        const struct desired d = { .file = STR("web.yaml"), .line = 4 };
        const struct app_explanation x = { .desired = &d };

        (void)state;
        assert_string_equal(by(&x, &(struct explain_row){ .fate = EXPLAIN_ENFORCED, .rule = "" }), "web.yaml:4");
        assert_string_equal(by(&x, &(struct explain_row){ .fate = EXPLAIN_NOTED, .rule = "a rule" }), "built-in: a rule");
        assert_string_equal(by(&x, &(struct explain_row){ .fate = EXPLAIN_NOTED, .rule = "mine", .place = "a.yaml:3" }), "mine (a.yaml:3)");
        assert_string_equal(by(&x, &(struct explain_row){ .fate = EXPLAIN_NOTED, .rule = "a.yaml:3", .place = "a.yaml:3" }), "a.yaml:3");
        assert_string_equal(by(&x, &(struct explain_row){ .fate = EXPLAIN_NOBODYS, .rule = "" }), "–");
}

static void the_age_is_that_of_the_owners_entry(void **state) {
        const struct managed_entry e = { .manager = STR("m"), .time = STR("1970-01-01T00:00:10Z") };

        (void)state;
        owners_view_since(&(struct explain_row){ .owner = &e }, 190000, &out);
        assert_string_equal(out.p, "3 m");
        buf_clear(&out);
        owners_view_since(&(struct explain_row){ 0 }, 190000, &out);
        assert_string_equal(out.p, "–");
}

/* A scaler's number beside Git's: both are told, once; a path that is Git's own, or that Git lacks, is no seed. */
static void gits_seed_stands_beside_the_scalers_number(void **state) {
        const struct value *git, *live;
        const struct desired d = { .file = STR("demo.yaml"), .line = 4 };
        struct explain_row rows[3] = { { .rule = "" }, { .in_words = STR("HorizontalPodAutoscaler shop/demo"), .rule = "" } };

        (void)state;
        assert_int_equal(json_parse(STR("{\"spec\":{\"replicas\":2}}"), a, &git, NULL), 0);
        assert_int_equal(json_parse(STR("{\"spec\":{\"replicas\":5}}"), a, &live, NULL), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(field_path_read(STR(".spec.replicas"), a, &rows[i].path, NULL), 0);
        rows[0].in_git = rows[1].in_git = true;
        rows[2] = (struct explain_row){ .path = rows[1].path, .in_words = STR("HorizontalPodAutoscaler shop/x"), .rule = "" };
        const struct app_explanation x = { .desired = &d, .in = { .desired = git, .live = live }, .paths = { .rows = rows, .count = 3 } };
        owners_view_seed(&(struct owners_view){ .object = &x }, &out);
        assert_string_equal(out.p, "spec.replicas: Git's 2 (demo.yaml:4) is the seed of a new object; HPA shop/demo (scale) says 5\n");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_long_path_loses_its_middle),
                CASE(owners_are_called_by_what_they_are),
                CASE(each_fate_has_a_word),
                CASE(what_decides_is_named_with_its_place),
                CASE(the_age_is_that_of_the_owners_entry),
                CASE(gits_seed_stands_beside_the_scalers_number),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
