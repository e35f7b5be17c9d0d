/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/test_find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct arena *a;
static char root[] = "/tmp/truce-find-XXXXXX";

static void file(const char *path) {
        struct str full = arena_strf(a, "%s/%s", root, path);
        char *slash = (char *)full.p + strlen(root);
        FILE *f;

        while ((slash = strchr(slash + 1, '/'))) {
                *slash = '\0';
                mkdir(full.p, 0700);
                *slash = '/';
        }
        f = fopen(full.p, "we");
        assert_non_null(f);
        fclose(f);
}

static void find(const char *folder, struct test_found *f) {
        *f = (struct test_found){ .arena = a };
        assert_int_equal(test_find(f, arena_strf(a, "%s/%s", root, folder), NULL), 0);
}

static void is(const struct test_folder *f, const char *group, const char *kind, bool has_script, bool has_suite) {
        assert_string_equal(arena_str(a, f->group).p, group);
        assert_string_equal(arena_str(a, f->kind).p, kind);
        assert_int_equal(f->has_script, has_script);
        assert_int_equal(f->has_suite, has_suite);
}

static void folders_name_group_and_kind(void **state) {
        struct test_found f;

        (void)state;
        file("names/apps/Deployment/health.lua");
        file("names/keda.sh/ScaledObject/health_test.yaml");
        file("names/_.example.io/_/health.lua");
        file("names/gateway.example.io/_Route/health.lua");
        file("names/Pod/health.lua");
        find("names/", &f);
        assert_int_equal(f.folder_count, 5);
        is(&f.folders[0], "", "Pod", true, false);
        is(&f.folders[1], "*.example.io", "*", true, false);
        is(&f.folders[2], "apps", "Deployment", true, false);
        is(&f.folders[3], "gateway.example.io", "*Route", true, false);
        is(&f.folders[4], "keda.sh", "ScaledObject", false, true);
        test_found_done(&f);
        find("names/apps", &f);
        is(&f.folders[0], "apps", "Deployment", true, false);
        test_found_done(&f);
}

/* The core group's kinds lie in the top folder itself. */
static void the_top_folder_is_no_group(void **state) {
        struct test_found f;

        (void)state;
        file("tmp.Ab3/Pod/health.lua");
        find("tmp.Ab3", &f);
        is(&f.folders[0], "", "Pod", true, false);
        test_found_done(&f);
        file("rules.d/Pod/health.lua");
        file("rules.d/keda.sh/ScaledObject/health.lua");
        find("rules.d", &f);
        is(&f.folders[0], "", "Pod", true, false);
        is(&f.folders[1], "keda.sh", "ScaledObject", true, false);
        test_found_done(&f);
        find("rules.d/keda.sh", &f);
        is(&f.folders[0], "keda.sh", "ScaledObject", true, false);
        test_found_done(&f);
}

static void a_folder_is_named_by_where_it_really_is(void **state) {
        struct test_found f = { .arena = a };

        (void)state;
        file("here/keda.sh/ScaledObject/health.lua");
        assert_int_equal(chdir(arena_strf(a, "%s/here/keda.sh/ScaledObject", root).p), 0);
        assert_int_equal(test_find(&f, STR("."), NULL), 0);
        is(&f.folders[0], "keda.sh", "ScaledObject", true, false);
        assert_int_equal(chdir("/"), 0);
        test_found_done(&f);
}

static void what_belongs_to_a_case_is_none_of_its_own(void **state) {
        struct test_found f;

        (void)state;
        file("own/a.io/Kind/health.lua");
        file("own/a.io/Kind/testdata/expected.yaml");
        file("own/a.io/Kind/actions/action_test.yaml");
        file("own/a.io/Kind/actions/data/expected.yaml");
        file("own/case/expected.yaml");
        file("own/case/below/desired.yaml");
        file("own/.hidden/desired.yaml");
        assert_int_equal(symlink(arena_strf(a, "%s/own/case", root).p, arena_strf(a, "%s/own/link", root).p), 0);
        find("own", &f);
        assert_int_equal(f.folder_count, 1);
        assert_int_equal(f.case_count, 1);
        assert_true(str_ends(f.cases[0], STR("own/case")));
        assert_int_equal(f.action_suites, 1);
        test_found_done(&f);
        /* Those that are named are looked into. */
        find("own/a.io/Kind/testdata", &f);
        assert_int_equal(f.case_count, 1);
        test_found_done(&f);
}

static void depth_has_an_end(void **state) {
        struct test_found f = { .arena = a };
        struct str path = STR("deep");
        struct err err;

        (void)state;
        for (int i = 0; i < TEST_MAX_DEPTH; i++)
                path = arena_strf(a, "%s/d", path.p);
        file(arena_strf(a, "%s/desired.yaml", path.p).p);
        find("deep", &f);
        assert_int_equal(f.case_count, 1);
        test_found_done(&f);
        file(arena_strf(a, "%s/d/x", arena_strf(a, "deep/other%s", path.p + 4).p).p);
        f = (struct test_found){ .arena = a };
        assert_int_equal(test_find(&f, arena_strf(a, "%s/deep", root), &err), ERR_LIMIT);
        test_found_done(&f);
}

static int begin(void **state) {
        (void)state;
        a = arena_new(0);
        return mkdtemp(root) ? 0 : -1;
}

static int end(void **state) {
        struct str command = arena_strf(a, "%s", root);
        pid_t pid = fork();

        (void)state;
        if (pid == 0) {
                execlp("rm", "rm", "-rf", command.p, (char *)NULL);
                _exit(1);
        }
        arena_free(a);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(folders_name_group_and_kind),
                cmocka_unit_test(the_top_folder_is_no_group),
                cmocka_unit_test(a_folder_is_named_by_where_it_really_is),
                cmocka_unit_test(what_belongs_to_a_case_is_none_of_its_own),
                cmocka_unit_test(depth_has_an_end),
        };

        return cmocka_run_group_tests(tests, begin, end);
}
