/* SPDX-License-Identifier: Apache-2.0 */
/* Do the jq programs of a configuration compile? A real worker says so: this program itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agent/jq.h"
#include "config_test.h"

#define WITH_PROGRAMS(...) APP "  ignoreDifferences:\n  - {kind: ConfigMap, jqPathExpressions: [" __VA_ARGS__ "]}\n"
#define OTHER "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: other, namespace: argocd}\nspec:\n" SOURCE \
        DESTINATION "  ignoreDifferences:\n  - {kind: Secret, jqPathExpressions: [.data]}\n"
#define CM "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n" \
        "  resource.customizations.ignoreDifferences.all: |\n    jqPathExpressions:\n    - "

static void check(struct fixture *f) {
        if (config_check_programs(f->c, &f->err) < 0)
                fail_msg("%s", f->err.msg);
}

static void programs_that_compile_are_content(void **state) {
        struct fixture *f = *state;

        must_load(f, WITH_PROGRAMS("'.data.a', '.data[]?'") OTHER CM ".metadata.labels\n");
        assert_true(config_has_programs(f->c));
        check(f);
        assert_string_equal(problems(f), "");
        assert_int_equal(f->c->app_count, 2);
}

static void one_that_does_not_compile_refuses_its_application_alone(void **state) {
        struct fixture *f = *state;

        must_load(f, WITH_PROGRAMS("'.data.a', '.data[', 'nofunction(1)'") OTHER);
        check(f);
        assert_int_equal(f->c->app_count, 1);
        assert_str(f->c->apps[0].name, "other");
        assert_int_equal(f->c->refused_count, 1);
        assert_int_equal(f->c->problem_count, 2);
        assert_int_equal(f->c->problems[0].severity, CONFIG_REFUSED);
        assert_str(f->c->problems[0].app, "argocd/shop");
        assert_str(f->c->problems[0].place.file, "apps.yaml");
        assert_int_equal(f->c->problems[0].place.line, 13);
        assert_non_null(strstr(f->c->problems[0].message.p, "jqPathExpressions: this jq expression does not compile"));
        assert_non_null(strstr(f->c->problems[1].message.p, "nofunction/1 is not defined"));
}

static void one_of_the_system_s_is_an_error(void **state) {
        struct fixture *f = *state;

        must_load(f, APP CM ".metadata.labels |\n");
        check(f);
        assert_int_equal(f->c->app_count, 1);
        assert_int_equal(f->c->problem_count, 1);
        assert_int_equal(f->c->problems[0].severity, CONFIG_ERROR);
        assert_int_equal(f->c->problems[0].place.line, 19);
        assert_int_equal(f->c->problems[0].app.n, 0);
}

/* No object is asked about: what fails on one, or on all, is another matter. */
static void only_whether_they_compile_is_asked(void **state) {
        struct fixture *f = *state;

        must_load(f, WITH_PROGRAMS("'error(\"no\")', 'range(1e12)', 'def f: f; f'"));
        check(f);
        assert_string_equal(problems(f), "");
        assert_int_equal(f->c->app_count, 1);
}

static void without_programs_nothing_is_started(void **state) {
        struct fixture *f = *state;

        must_load(f, APP);
        assert_false(config_has_programs(f->c));
        check(f);
        assert_int_equal(f->c->app_count, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                TEST(programs_that_compile_are_content),
                TEST(one_that_does_not_compile_refuses_its_application_alone),
                TEST(one_of_the_system_s_is_an_error),
                TEST(only_whether_they_compile_is_asked),
                TEST(without_programs_nothing_is_started),
        };

        if (argc == 2 && strcmp(argv[1], JQ_WORKER_VERB) == 0)
                return jq_worker_main();
        return cmocka_run_group_tests_name("config_programs", tests, NULL, NULL);
}
