/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define APPLICATION(name)                                                                                              \
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " name "}\n"                            \
        "spec: {source: {repoURL: \"https://git.example/x.git\", path: .}, destination: {namespace: shop}}\n"
#define BROKEN "kind: [broken\n"

static char folder[64];
static struct session session;
static struct loop *loop;
static struct reload *reload;
static char config_flag[] = "--config";
static char *args[] = { config_flag, folder };
static const struct option_group none = { "Run", NULL, 0, NULL };

/* What was told last, and how often something was. */
static unsigned told, good;
static char said[ERR_MSG_MAX_BYTES];
static char first_app[64];
static size_t apps;

static void on_changed(void *ctx, struct session *fresh, const struct err *err) {
        (void)ctx;
        told++;
        if (err) {
                snprintf(said, sizeof said, "%s", err->msg);
                return;
        }
        good++;
        apps = fresh->config->app_count;
        snprintf(first_app, sizeof first_app, "%.*s", STR_FMT(fresh->config->apps[0].name));
        session_close(fresh);
}

static const char *file(const char *name) {
        static char path[256];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        return path;
}

static void put(const char *name, const char *text) {
        FILE *f = fopen(file(name), "w");

        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

static void looks(unsigned count) {
        loop_run_for(loop, (int64_t)count * RELOAD_LOOK_MS + 1);
}

static int setup(void **state) {
        struct err err;

        (void)state;
        snprintf(folder, sizeof folder, "/tmp/truce-reload.XXXXXX");
        assert_non_null(mkdtemp(folder));
        put("a.yaml", APPLICATION("a"));
        session = (struct session){ 0 };
        assert_int_equal(session_configure(&session, "run", 2, args, &none, &err), 0);
        loop = loop_new_virtual(1, 1000000);
        told = good = 0;
        said[0] = first_app[0] = 0;
        reload = NULL;
        return 0;
}

static int teardown(void **state) {
        static const char *const names[] = { "a.yaml", "b.yaml", "..data/a.yaml", "one/a.yaml", "two/a.yaml" };

        (void)state;
        reload_free(reload);
        loop_free(loop);
        session_close(&session);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                unlink(file(names[i]));
        unlink(file("..data"));
        rmdir(file("one"));
        rmdir(file("two"));
        rmdir(folder);
        return 0;
}

static void begin(void) {
        reload = reload_new(&session, NULL, loop, on_changed, NULL);
        assert_non_null(reload);
}

static void what_stays_is_not_told(void **state) {
        (void)state;
        begin();
        looks(5);
        assert_int_equal(told, 0);
}

static void a_change_is_read_once_when_two_looks_agree(void **state) {
        (void)state;
        begin();
        put("a.yaml", APPLICATION("other"));
        looks(1);
        assert_int_equal(told, 0);
        looks(1);
        assert_int_equal(good, 1);
        assert_string_equal(first_app, "other");
        looks(5);
        assert_int_equal(told, 1);
}

static void what_is_being_written_is_left_until_it_rests(void **state) {
        static const char *const parts[] = { BROKEN, BROKEN BROKEN, BROKEN BROKEN BROKEN, APPLICATION("whole") };

        (void)state;
        begin();
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                put("a.yaml", parts[i]);
                looks(1);
                assert_int_equal(told, 0);
        }
        looks(1);
        assert_int_equal(good, 1);
        assert_int_equal(told, 1);
        assert_string_equal(first_app, "whole");
}

/* A connection may take its time, and the documents change meanwhile. */
static void a_change_before_the_first_look_is_noticed(void **state) {
        (void)state;
        put("a.yaml", APPLICATION("early"));
        begin();
        looks(2);
        assert_int_equal(good, 1);
        assert_string_equal(first_app, "early");
}

static void a_bad_one_is_told_once_with_its_first_error_and_a_good_one_after_it_counts(void **state) {
        (void)state;
        begin();
        put("b.yaml", APPLICATION("b") "  bogus: 1\n");
        looks(5);
        assert_int_equal(told, 1);
        assert_int_equal(good, 0);
        assert_non_null(strstr(said, "b.yaml:"));
        put("b.yaml", APPLICATION("b"));
        looks(5);
        assert_int_equal(told, 2);
        assert_int_equal(good, 1);
        assert_int_equal(apps, 2);
}

static void what_is_taken_away_and_put_back_is_read_again(void **state) {
        char from[256], away[300];

        (void)state;
        begin();
        snprintf(from, sizeof from, "%s", file("a.yaml"));
        snprintf(away, sizeof away, "%s.away", from);
        assert_int_equal(rename(from, away), 0);
        looks(3);
        assert_int_equal(told, 1);
        assert_int_equal(good, 0);
        assert_int_equal(rename(away, from), 0);
        looks(3);
        assert_int_equal(good, 1);
        assert_string_equal(first_app, "a");
}

static void who_may_read_them_counts_as_a_change(void **state) {
        (void)state;
        begin();
        assert_int_equal(chmod(file("a.yaml"), 0600), 0);
        looks(3);
        assert_int_equal(good, 1);
}

/* As a mounted ConfigMap does it: files are links through a link, which is swapped. */
static void a_swapped_link_is_a_change(void **state) {
        (void)state;
        unlink(file("a.yaml"));
        mkdir(file("one"), 0700);
        mkdir(file("two"), 0700);
        put("one/a.yaml", APPLICATION("one"));
        put("two/a.yaml", APPLICATION("two"));
        assert_int_equal(symlink("one", file("..data")), 0);
        assert_int_equal(symlink("..data/a.yaml", file("a.yaml")), 0);
        begin();
        looks(2);
        assert_string_equal(first_app, "one");
        unlink(file("..data"));
        assert_int_equal(symlink("two", file("..data")), 0);
        looks(2);
        assert_string_equal(first_app, "two");
        assert_int_equal(told, 2);
}

static void asked_for_a_look_it_looks_at_once(void **state) {
        (void)state;
        begin();
        looks(1);
        put("a.yaml", APPLICATION("asked"));
        for (unsigned i = 0; i < 2; i++) {
                reload_now(reload);
                loop_run_for(loop, 10);
        }
        assert_string_equal(first_app, "asked");
        reload_now(NULL);
}

/* The look is on a pool thread then. */
static void free_it(void *ctx) {
        (void)ctx;
        reload_free(TAKE_PTR(reload));
}

static void one_that_is_freed_says_nothing_of_a_look_that_is_under_way(void **state) {
        struct loop_timer *t = loop_timer_new(loop, free_it, NULL);

        (void)state;
        begin();
        put("a.yaml", APPLICATION("late"));
        looks(1);
        loop_timer_start(t, RELOAD_LOOK_MS - 1); /* beside the look, which reads this time */
        looks(3);
        loop_timer_free(t);
        assert_null(reload);
        assert_int_equal(told, 0);
}

static void without_documents_there_is_nothing_to_look_at(void **state) {
        struct session flags = { 0 };

        (void)state;
        assert_null(reload_new(&flags, NULL, loop, on_changed, NULL));
        reload_free(NULL);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(what_stays_is_not_told),
                CASE(a_change_is_read_once_when_two_looks_agree),
                CASE(what_is_being_written_is_left_until_it_rests),
                CASE(a_change_before_the_first_look_is_noticed),
                CASE(a_bad_one_is_told_once_with_its_first_error_and_a_good_one_after_it_counts),
                CASE(what_is_taken_away_and_put_back_is_read_again),
                CASE(who_may_read_them_counts_as_a_change),
                CASE(a_swapped_link_is_a_change),
                CASE(asked_for_a_look_it_looks_at_once),
                CASE(one_that_is_freed_says_nothing_of_a_look_that_is_under_way),
                CASE(without_documents_there_is_nothing_to_look_at),
        };

        return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
