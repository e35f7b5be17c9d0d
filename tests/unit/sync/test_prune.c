/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/prune.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct prune_limits defaults = { PRUNE_DEFAULT_MAX_COUNT, PRUNE_DEFAULT_MAX_PERCENT, false };

static struct inventory_entry *add(struct inventory *inv, const char *id) {
        return inventory_add(inv, str_from(id), STR("v1"));
}

static struct prune_candidate candidate(const struct inventory_entry *e) {
        return (struct prune_candidate){ .entry = e, .known = true, .exists = true };
}

static struct prune_input input(const struct prune_candidate *c, size_t count) {
        return (struct prune_input){ .candidates = c, .count = count, .inventory_objects = 100, .desired_objects = 95,
                                      .render_complete = true };
}

/* The verdict for one object that differs from an ordinary one by `change`. */
static enum prune_verdict verdict_of(struct prune_candidate change, unsigned flags, const char *uid) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        struct inventory_entry *e = add(inv, "apps/Deployment/shop/web");
        struct prune_plan plan;

        e->flags = flags;
        inventory_set_uid(e, str_from(uid));
        change.entry = e;
        struct prune_input in = input(&change, 1);
        assert_int_equal(prune_plan(&in, &defaults, &plan, NULL), 0);
        enum prune_verdict verdict = plan.steps[0].verdict;
        assert_int_equal(plan.deletions, verdict == PRUNE_DELETE);
        prune_plan_done(&plan);
        return verdict;
}

static void each_reason_to_stay_is_honoured(void **state) {
        struct prune_candidate ordinary = { .known = true, .exists = true, .live_uid = STR("u1") }, c;

        (void)state;
        assert_int_equal(verdict_of(ordinary, 0, "u1"), PRUNE_DELETE);
        assert_int_equal(verdict_of(ordinary, INVENTORY_PENDING, ""), PRUNE_DELETE);
        assert_int_equal(verdict_of(ordinary, INVENTORY_ADOPTED, "u1"), PRUNE_KEEP_ADOPTED);
        assert_int_equal(verdict_of(ordinary, INVENTORY_KEEP, "u1"), PRUNE_KEEP_PROTECTED);
        assert_int_equal(verdict_of(ordinary, INVENTORY_KEEP | INVENTORY_ALONG, "u1"), PRUNE_FORGET);
        c = ordinary, c.live_protected = true;
        assert_int_equal(verdict_of(c, 0, "u1"), PRUNE_KEEP_PROTECTED);
        c = ordinary, c.live_foreign = true;
        assert_int_equal(verdict_of(c, 0, "u1"), PRUNE_KEEP_FOREIGN);
        assert_int_equal(verdict_of(c, 0, "u2"), PRUNE_FORGET);
        assert_int_equal(verdict_of(c, INVENTORY_PENDING, ""), PRUNE_FORGET);
        assert_int_equal(verdict_of(c, INVENTORY_PENDING, "u1"), PRUNE_KEEP_FOREIGN);
        assert_int_equal(verdict_of(c, INVENTORY_PENDING | INVENTORY_ADOPTED, ""), PRUNE_FORGET);
        assert_int_equal(verdict_of(c, INVENTORY_ADOPTED, "u1"), PRUNE_KEEP_ADOPTED);
        c = ordinary, c.wanted = true;
        assert_int_equal(verdict_of(c, 0, "u1"), PRUNE_KEEP_WANTED);
        assert_int_equal(verdict_of(c, INVENTORY_ADOPTED, "u1"), PRUNE_KEEP_WANTED);
        c.live_foreign = c.handed_on = true;
        assert_int_equal(verdict_of(c, 0, "u1"), PRUNE_FORGET);
        c = ordinary, c.holds_wanted = true;
        assert_int_equal(verdict_of(c, 0, "u1"), PRUNE_KEEP_NAMESPACE);
        c = ordinary, c.excluded = c.namesake = true;
        assert_int_equal(verdict_of(c, 0, "u1"), PRUNE_KEEP_EXCLUDED);
        c = ordinary, c.namesake = true;
        assert_int_equal(verdict_of(c, 0, "u1"), PRUNE_KEEP_NAMESAKE);
        c = ordinary, c.known = false;
        assert_int_equal(verdict_of(c, INVENTORY_ADOPTED, "u1"), PRUNE_KEEP_UNSURE);
        c = ordinary, c.exists = false;
        assert_int_equal(verdict_of(c, INVENTORY_ADOPTED, "u1"), PRUNE_FORGET);
}

static void what_another_application_may_want_stays_while_it_cannot_be_read(void **state) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        struct prune_candidate c = candidate(add(inv, "/ConfigMap/shop/a"));
        struct prune_input in = input(&c, 1);
        struct prune_plan plan;
        struct err err = { 0 };

        (void)state;
        in.unread_by = STR("back");
        assert_int_equal(prune_plan(&in, &defaults, &plan, &err), ERR_DENIED);
        assert_non_null(strstr(err.msg, "application \"back\""));
        assert_non_null(strstr(err.msg, "1 object stays"));
        c.exists = false; /* nothing is to be deleted: there is nothing to wait for */
        assert_int_equal(prune_plan(&in, &defaults, &plan, &err), 0);
        prune_plan_done(&plan);
}

static void a_definition_stays_for_the_sake_of_its_objects(void **state) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        struct prune_candidate c = candidate(add(inv, "apiextensions.k8s.io/CustomResourceDefinition//widgets.example.io"));
        struct prune_input in = input(&c, 1);
        struct prune_plan plan;

        (void)state;
        c.holds_wanted = true;
        assert_int_equal(prune_plan(&in, &defaults, &plan, NULL), 0);
        assert_int_equal(plan.steps[0].verdict, PRUNE_KEEP_DEFINITION);
        prune_plan_done(&plan);
}

static void custom_resources_go_first_then_workloads_then_crds_then_namespaces(void **state) {
        static const char *const ids[] = {
                "/Namespace//shop", "apiextensions.k8s.io/CustomResourceDefinition//widgets.example.io",
                "/ServiceAccount/shop/operator", "apps/Deployment/shop/operator", "example.io/Widget/shop/w",
        };
        const char *const wanted[] = { ids[4], ids[3], ids[2], ids[1], ids[0] };
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        struct prune_candidate c[ARRAY_LEN(ids)];
        struct prune_plan plan;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
                c[i] = candidate(add(inv, ids[i]));
                c[i].rank = (int)i;
        }
        c[4].custom = true;
        struct prune_input in = input(c, ARRAY_LEN(ids));
        assert_int_equal(prune_plan(&in, &defaults, &plan, NULL), 0);
        for (size_t i = 0; i < ARRAY_LEN(ids); i++)
                assert_string_equal(plan.steps[i].entry->id, wanted[i]);
        assert_int_equal(plan.steps[0].stage, PRUNE_CUSTOM_RESOURCES);
        assert_int_equal(plan.steps[2].stage, PRUNE_ORDINARY);
        assert_int_equal(plan.steps[4].stage, PRUNE_NAMESPACES);
        prune_plan_done(&plan);
}

/* Plans to delete `count` of `inventory` objects; returns the code and, when refused, that the plan stays untouched. */
static int plan_deletions(size_t count, size_t inventory, const struct prune_limits *limits, bool complete,
                          size_t desired, struct err *err) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        _cleanup_(mem_freep) struct prune_candidate *c = mem_alloc(count * sizeof *c);
        struct prune_plan plan = { 0 };

        for (size_t i = 0; i < count; i++) {
                char id[64];

                snprintf(id, sizeof id, "/ConfigMap/ns/c%zu", i);
                c[i] = candidate(add(inv, id));
        }
        struct prune_input in = { .candidates = c, .count = count, .inventory_objects = inventory,
                                  .desired_objects = desired, .render_complete = complete };
        int r = prune_plan(&in, limits, &plan, err);
        assert_int_equal(plan.count, r < 0 ? 0 : count);
        prune_plan_done(&plan);
        return r;
}

static void the_budget_stops_what_is_large_in_count_and_share(void **state) {
        struct prune_limits none = { UINT_MAX, 0, false };
        struct err err;

        (void)state;
        assert_int_equal(plan_deletions(20, 20, &defaults, true, 1, NULL), 0);
        assert_int_equal(plan_deletions(25, 100, &defaults, true, 75, NULL), 0);
        assert_int_equal(plan_deletions(26, 100, &defaults, true, 74, &err), ERR_DENIED);
        assert_non_null(strstr(err.msg, "26 of 100 objects would go (limit 20 or 25 %)"));
        assert_non_null(strstr(err.msg, "--prune-limit 26"));
        assert_int_equal(plan_deletions(97, 112, &none, true, 15, NULL), 0);
}

static void a_failed_or_empty_render_prunes_nothing(void **state) {
        struct prune_limits empty_allowed = { UINT_MAX, 0, true };
        struct err err;

        (void)state;
        assert_int_equal(plan_deletions(1, 5, &defaults, false, 4, &err), ERR_DENIED);
        assert_non_null(strstr(err.msg, "could be read"));
        assert_int_equal(plan_deletions(5, 5, &defaults, true, 0, &err), ERR_DENIED);
        assert_non_null(strstr(err.msg, "empty"));
        assert_int_equal(plan_deletions(5, 5, &empty_allowed, true, 0, NULL), 0);
        assert_int_equal(plan_deletions(5, 5, &empty_allowed, false, 0, NULL), ERR_DENIED);
}

static void what_stands_in_for_the_newest_commit_prunes_nothing(void **state) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        struct prune_candidate c = candidate(add(inv, "/ConfigMap/ns/x"));
        struct prune_input in = { .candidates = &c, .count = 1, .inventory_objects = 100, .desired_objects = 95,
                                  .render_complete = true, .stands_in = true };
        struct prune_plan plan;
        struct err err;

        (void)state;
        assert_int_equal(prune_plan(&in, &defaults, &plan, &err), ERR_DENIED);
        assert_non_null(strstr(err.msg, "stands in"));
        c.exists = false;
        assert_int_equal(prune_plan(&in, &defaults, &plan, NULL), 0);
        prune_plan_done(&plan);
}

static void an_empty_source_among_others_prunes_nothing(void **state) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        struct prune_candidate c = candidate(add(inv, "/ConfigMap/ns/x"));
        struct prune_limits empty_allowed = { UINT_MAX, 0, true };
        struct prune_input in = input(&c, 1);
        struct prune_plan plan;
        struct err err;

        (void)state;
        in.empty_source = STR("infra");
        assert_int_equal(prune_plan(&in, &defaults, &plan, &err), ERR_DENIED);
        assert_non_null(strstr(err.msg, "source infra holds no objects"));
        assert_int_equal(prune_plan(&in, &empty_allowed, &plan, NULL), 0);
        prune_plan_done(&plan);
}

static void nothing_to_delete_is_never_refused(void **state) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        struct prune_candidate c = candidate(add(inv, "/ConfigMap/ns/x"));
        struct prune_plan plan;

        (void)state;
        c.exists = false;
        struct prune_input in = { .candidates = &c, .count = 1, .inventory_objects = 1 };
        assert_int_equal(prune_plan(&in, &defaults, &plan, NULL), 0);
        assert_int_equal(plan.steps[0].verdict, PRUNE_FORGET);
        prune_plan_done(&plan);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_reason_to_stay_is_honoured),
                cmocka_unit_test(what_another_application_may_want_stays_while_it_cannot_be_read),
                cmocka_unit_test(a_definition_stays_for_the_sake_of_its_objects),
                cmocka_unit_test(custom_resources_go_first_then_workloads_then_crds_then_namespaces),
                cmocka_unit_test(the_budget_stops_what_is_large_in_count_and_share),
                cmocka_unit_test(a_failed_or_empty_render_prunes_nothing),
                cmocka_unit_test(an_empty_source_among_others_prunes_nothing),
                cmocka_unit_test(what_stands_in_for_the_newest_commit_prunes_nothing),
                cmocka_unit_test(nothing_to_delete_is_never_refused),
        };

        return cmocka_run_group_tests_name("prune", tests, NULL, NULL);
}
