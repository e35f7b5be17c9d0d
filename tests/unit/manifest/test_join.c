/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/limits.h"
#include "manifest/bind.h"

#define CONFIGMAP(name) "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " name "}\n"

static struct manifest_set *set;
static struct err err;

static struct manifest_set *rendered(const char *file, const char *text) {
        const struct manifest_file in = { str_from(file), str_from(text) };
        const struct manifest_source source = { .path = STR("."), .default_namespace = STR("shop") };
        struct manifest_set *ret;

        assert_int_equal(manifest_render_files(&in, 1, &source, &ret, &err), 0);
        return ret;
}

static void join(const struct manifest_part *parts, size_t count) {
        manifest_set_free(set);
        set = NULL;
        if (manifest_join(parts, count, STR("shop"), &set, &err) < 0)
                fail_msg("%s", err.msg);
}

static int teardown(void **state) {
        (void)state;
        manifest_set_free(set);
        set = NULL;
        return 0;
}

static void assert_text(struct str text, const char *expected) {
        if (!str_eqc(text, expected))
                fail_msg("\"%.*s\" is not \"%s\"", STR_FMT(text), expected);
}

static void files_have_their_source_in_front(void **state) {
        struct manifest_part parts[] = { { rendered("a.yaml", CONFIGMAP("a")), STR("infra") },
                                         { rendered("a.yaml", CONFIGMAP("b")), STR("shop") } };

        (void)state;
        join(parts, 2);
        assert_int_equal(set->object_count, 2);
        assert_text(set->objects[0].file, "infra:a.yaml");
        assert_text(set->objects[1].file, "shop:a.yaml");
        assert_true(set->complete);
        assert_int_equal(set->file_count, 2);
        assert_int_equal(set->warning_count + set->error_count, 0);
}

static void a_single_set_is_given_back(void **state) {
        struct manifest_part part = { rendered("a.yaml", CONFIGMAP("a")), STR("") };

        (void)state;
        join(&part, 1);
        assert_ptr_equal(set, part.set);
        assert_text(set->objects->file, "a.yaml");
}

static void the_last_source_that_has_an_object_counts(void **state) {
        struct manifest_part parts[] = { { rendered("a.yaml", CONFIGMAP("x") "data: {k: '1'}\n"), STR("one") },
                                         { rendered("b.yaml", CONFIGMAP("x, namespace: shop") "data: {k: '2'}\n"), STR("two") },
                                         { rendered("c.yaml", "---\n" CONFIGMAP("x") "data: {k: '3'}\n"), STR("three") } };

        (void)state;
        join(parts, 3);
        assert_int_equal(set->object_count, 1);
        assert_int_equal(set->error_count, 0);
        assert_text(value_text(value_path(set->objects->value, "data", "k", NULL)), "3");
        assert_int_equal(set->warning_count, 2);
        assert_text(set->warnings[0].file, "three:c.yaml");
        assert_int_equal(set->warnings[0].line, 2);
        assert_text(set->warnings[0].object, "ConfigMap x");
        assert_text(set->warnings[0].message, "an earlier source has it, too, at one:a.yaml:1: the later one counts");
        assert_text(set->warnings[1].message, "an earlier source has it, too, at two:b.yaml:1: the later one counts");
}

/* What one source has twice is refused, whoever else has it. */
static void duplicates_in_a_source_stay_refused(void **state) {
        struct manifest_part last[] = { { rendered("a.yaml", CONFIGMAP("x")), STR("one") },
                                        { rendered("b.yaml", CONFIGMAP("x") "---\n" CONFIGMAP("x")), STR("two") } };

        (void)state;
        join(last, 2);
        assert_int_equal(set->object_count, 0);
        assert_int_equal(set->refused_count, 1);
        assert_text(set->refused->file, "two:b.yaml");
        assert_int_equal(set->error_count, 1);

        struct manifest_part first[] = { { rendered("b.yaml", CONFIGMAP("x") "---\n" CONFIGMAP("x")), STR("one") },
                                         { rendered("a.yaml", CONFIGMAP("x")), STR("two") } };
        join(first, 2);
        assert_int_equal(set->object_count, 1);
        assert_int_equal(set->refused_count, 0);
        assert_text(set->objects->file, "two:a.yaml");
}

static void a_document_that_cannot_be_read_makes_all_incomplete(void **state) {
        struct manifest_part parts[] = { { rendered("a.yaml", CONFIGMAP("a")), STR("one") },
                                         { rendered("b.yaml", "kind: ConfigMap\n"), STR("two") } };

        (void)state;
        join(parts, 2);
        assert_false(set->complete);
        assert_text(set->errors->file, "two:b.yaml");
}

static void an_empty_source_is_named(void **state) {
        struct manifest_part parts[] = { { rendered("a.yaml", CONFIGMAP("a")), STR("one") },
                                         { rendered("README.md", "nothing"), STR("two") } };

        (void)state;
        join(parts, 2);
        assert_text(set->empty_part, "two");
        assert_true(set->complete);
}

static enum manifest_scope scope(void *ctx, struct str group, struct str version, struct str kind) {
        (void)ctx;
        (void)group;
        (void)version;
        return str_eqc(kind, "Namespace") ? MANIFEST_SCOPE_CLUSTER : MANIFEST_SCOPE_NAMESPACED;
}

/* That a cluster-scoped object has no namespace is known to nobody before it is bound. */
static void duplicates_that_show_when_bound_are_no_error_either(void **state) {
        static const char text[] = "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {from: %s}%s}\n";
        char one[256], two[256];

        (void)state;
        snprintf(one, sizeof one, text, "one", ", namespace: somewhere");
        snprintf(two, sizeof two, text, "two", "");
        struct manifest_part parts[] = { { rendered("a.yaml", one), STR("one") }, { rendered("b.yaml", two), STR("two") } };
        struct manifest_binding b = { .scope = scope };

        join(parts, 2);
        assert_int_equal(set->object_count, 2);
        struct manifest_bound *bound = manifest_bind(set, &b);
        assert_int_equal(bound->object_count, 1);
        assert_int_equal(bound->error_count, 0);
        assert_text(bound->objects->file, "two:b.yaml");
        manifest_bound_free(bound);
}

static void what_is_made_along_gives_way_to_git_and_has_no_marks(void **state) {
        static const char text[] = "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"web\"}}";
        struct tracking tracking = { .installation = STR("truce"), .app = STR("shop") };
        struct manifest_binding b = { .scope = scope, .default_namespace = STR("shop"), .tracking = &tracking };
        struct manifest_part parts[2] = { { NULL, STR("") }, { rendered("a.yaml", CONFIGMAP("a")), STR("") } };

        (void)state;
        assert_int_equal(manifest_make_along(str_from(text), STR("app.yaml"), 7, &parts[0].set, &err), 0);
        join(parts, 2);
        struct manifest_bound *bound = manifest_bind(set, &b);
        assert_int_equal(bound->object_count, 2);
        assert_text(bound->objects[0].canonical, text);
        assert_text(bound->objects[0].file, "app.yaml");
        assert_int_equal(bound->objects[0].line, 7);
        assert_true(bound->objects[0].along && !bound->objects[1].along);
        assert_non_null(strstr(bound->objects[1].canonical.p, "tracking-id"));
        manifest_bound_free(bound);

        assert_int_equal(manifest_make_along(str_from(text), STR("app.yaml"), 7, &parts[0].set, &err), 0);
        parts[1].set = rendered("ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n");
        join(parts, 2);
        assert_int_equal(set->object_count, 1);
        assert_false(set->objects->along);
        assert_text(set->warnings->message, "the application says what it is, too, at app.yaml:7: what Git has counts");

        /* An Application of the cluster has no line. */
        assert_int_equal(manifest_make_along(str_from(text), STR("Application argocd/web"), 0, &parts[0].set, &err), 0);
        parts[1].set = rendered("ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n");
        join(parts, 2);
        assert_text(set->warnings->message, "the application says what it is, too, at Application argocd/web: what Git has counts");
        assert_int_equal(manifest_make_along(STR("{\"kind\":\"x\"}"), STR("app.yaml"), 7, &parts[0].set, &err), ERR_INVAL);
}

static void all_sources_together_have_a_limit(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(64 * MIB);
        struct manifest_part parts[2] = { { NULL, STR("one") }, { NULL, STR("two") } };

        (void)state;
        for (size_t i = 0; i < MANIFEST_MAX_OBJECTS; i++)
                buf_addf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: o%zu}\n", i);
        parts[0].set = rendered("a.yaml", text.p);
        parts[1].set = rendered("b.yaml", CONFIGMAP("o1"));
        join(parts, 2);
        parts[0].set = rendered("a.yaml", text.p);
        parts[1].set = rendered("b.yaml", CONFIGMAP("other"));
        manifest_set_free(set);
        set = NULL;
        assert_int_equal(manifest_join(parts, 2, STR("shop"), &set, &err), ERR_LIMIT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(files_have_their_source_in_front, teardown),
                cmocka_unit_test_teardown(a_single_set_is_given_back, teardown),
                cmocka_unit_test_teardown(the_last_source_that_has_an_object_counts, teardown),
                cmocka_unit_test_teardown(duplicates_in_a_source_stay_refused, teardown),
                cmocka_unit_test_teardown(a_document_that_cannot_be_read_makes_all_incomplete, teardown),
                cmocka_unit_test_teardown(an_empty_source_is_named, teardown),
                cmocka_unit_test_teardown(duplicates_that_show_when_bound_are_no_error_either, teardown),
                cmocka_unit_test_teardown(what_is_made_along_gives_way_to_git_and_has_no_marks, teardown),
                cmocka_unit_test_teardown(all_sources_together_have_a_limit, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
