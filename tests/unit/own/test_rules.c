/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of configuration in decisions. */
#include "decide_test.h"

static const struct value *git(const char *spec) {
        return json(a, arena_strf(a, "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','namespace':"
                                     "'shop'},'spec':{%s}}", spec).p);
}

#define ENTRY(manager, op, sub, fields)                                                                                \
        "{'manager':'" manager "','operation':'" op "','subresource':'" sub                                            \
        "','apiVersion':'apps/v1','fieldsV1':{'f:spec':{" fields "}}}"
#define OURS(fields) ENTRY("truce", "Apply", "", fields)
#define KEEPER(fields) ENTRY("truce-keeper", "Update", "", fields)
#define OTHER(fields) ENTRY("region-operator", "Update", "", fields)

static const struct value *live(const char *spec, const char *entries) {
        return json(a, arena_strf(a, "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','namespace':"
                                     "'shop','uid':'u1','resourceVersion':'9','managedFields':[%s]},'spec':{%s}}",
                                  entries, spec).p);
}

/* A rule with its path as it would be written; one a test, or in a row. */
static const struct policy *rules(struct policy_rule *list, const char *const *paths, size_t count) {
        struct policy *p = arena_zalloc(a, sizeof *p);
        struct policy_rule *copy = arena_zalloc(a, count * sizeof *copy);

        for (size_t i = 0; i < count; i++) {
                struct field_path *path = arena_zalloc(a, sizeof *path);

                copy[i] = list[i];
                if (!copy[i].name)
                        copy[i].name = "agent.yaml:7";
                copy[i].place = "agent.yaml:7";
                if (!paths[i])
                        continue;
                assert_int_equal(field_path_read(str_from(paths[i]), a, path, NULL), 0);
                copy[i].path = path;
        }
        *p = (struct policy){ copy, count };
        return p;
}

static const struct policy *rule(const char *path, struct policy_rule r) {
        return rules(&r, &path, 1);
}

static struct decide_input input(const struct policy *p, const struct value *desired, const struct value *object) {
        return (struct decide_input){
                .desired = desired, .live = object, .key = &key, .scalers = ix, .policy = p, .application = STR("shop")
        };
}

static struct decision decided(const struct decide_input *in) {
        struct decision d = { 0 };
        struct err err = { 0 };

        if (decide(in, a, &d, &err) < 0)
                fail_msg("%s", err.msg);
        return d;
}

static const struct decide_note *note(const struct decision *d, enum decide_note_kind kind, const char *path) {
        for (size_t i = 0; i < d->note_count; i++)
                if (d->notes[i].kind == kind && str_eqc(field_path_text(a, d->notes[i].path), path))
                        return &d->notes[i];
        return NULL;
}

static const struct fieldset *set_after(const struct decision *d, const char *manager) {
        for (size_t i = 0; i < d->after.count; i++)
                if (str_eqc(d->after.entries[i].manager, manager))
                        return d->after.entries[i].set;
        return &fieldset_empty;
}

static void rules_select_objects(void **state) {
        static const struct policy_object web = { { "apps", 4 }, { "Deployment", 10 }, { "shop", 4 }, { "web", 3 }, { "a", 1 } };
        static const struct {
                struct policy_rule rule;
                bool selects;
        } rows[] = {
                { { 0 }, true },
                { { .group = "apps" }, true },
                { { .group = "" }, false },
                { { .kind = "Deployment", .ns = "shop", .object = "web", .application = "a" }, true },
                { { .kind = "Deploy*" }, true },
                { { .object = "w*" }, true },
                { { .object = "*" }, true },
                { { .object = "we" }, false },
                { { .ns = "other" }, false },
                { { .application = "b" }, false },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (policy_rule_selects(&rows[i].rule, &web) != rows[i].selects)
                        fail_msg("row %zu", i);
        assert_true(policy_rule_selects(&rows[0].rule, NULL));
        assert_false(policy_rule_selects(&rows[1].rule, NULL));
}

static void words_of_classes_and_actions_are_read(void **state) {
        enum policy_class class;
        enum policy_action action;

        (void)state;
        for (size_t i = 0; policy_class_word(i); i++)
                assert_true(policy_class_from_word(str_from(policy_class_word(i)), &class));
        assert_true(policy_class_from_word(STR("person"), &class));
        assert_int_equal(class, POLICY_PERSON);
        assert_false(policy_class_from_word(STR("truce"), &class));
        assert_true(policy_action_from_word(STR("yield"), &action));
        assert_int_equal(action, POLICY_YIELD);
        assert_false(policy_action_from_word(STR("Yield"), &action));
}

static void a_newly_yielded_path_of_ours_is_handed_over(void **state) {
        struct decide_input in = input(rule(".spec.paused", (struct policy_rule){ .action = POLICY_YIELD }),
                                       git("'paused':true,'x':2"), live("'paused':true,'x':1", OURS("'f:paused':{},'f:x':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_GIVE);
        assert_text(fieldset_text(a, set_after(&d, OWN_KEEPER)), "{\"f:spec\":{\"f:paused\":{}}}");
        assert_non_null(note(&d, DECIDE_YIELDED, ".spec.paused"));
        assert_string_equal(note(&d, DECIDE_YIELDED, ".spec.paused")->place, "agent.yaml:7");
        assert_null(value_path(d.effective, "spec", "paused", NULL));

        in.mode = DECIDE_DIFF;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_DRY_RUN);
        assert_non_null(value_path(d.body, "spec", "paused", NULL)); /* masked */
        assert_non_null(note(&d, DECIDE_HANDOVER_DUE, ".spec.paused"));
}

static void a_path_that_git_removed_is_kept_by_a_yield_rule(void **state) {
        struct decide_input in = input(rule(".spec.paused", (struct policy_rule){ .action = POLICY_YIELD }), git("'x':1"),
                                       live("'paused':true,'x':1", OURS("'f:paused':{},'f:x':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_GIVE);
        assert_null(note(&d, DECIDE_LEAVING, ".spec.paused"));
}

static void a_rule_of_another_object_changes_nothing(void **state) {
        struct decide_input in =
                input(rule(".spec.paused", (struct policy_rule){ .object = "api", .action = POLICY_YIELD }),
                      git("'paused':true"), live("'paused':true", OURS("'f:paused':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_int_equal(d.note_count, 0);
}

#define CONTAINER "'template':{'spec':{'containers':[{'name':'c','image':'1','tty':true}]}}"
#define IN_CONTAINER(fields) "'f:template':{'f:spec':{'f:containers':{'k:{\\'name\\':\\'c\\'}':{" fields "}}}}"
#define C_PATH ".spec.template.spec.containers[name=\"c\"]"

/* The item's own owner holds nothing of the image: left alone, it would be deleted with our entry. */
static void of_a_yielded_item_only_what_nobody_else_has_is_handed_over(void **state) {
        struct decide_input in =
                input(rule(C_PATH, (struct policy_rule){ .action = POLICY_YIELD }), git(CONTAINER),
                      live(CONTAINER, OURS(IN_CONTAINER("'.':{},'f:name':{},'f:image':{},'f:tty':{}"))
                           "," OTHER(IN_CONTAINER("'.':{},'f:name':{},'f:tty':{}"))));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_GIVE);
        const struct fieldset *kept = set_after(&d, OWN_KEEPER);
        assert_int_equal(fieldset_count(kept), 1);
        struct field_path image;
        assert_int_equal(field_path_read(STR(C_PATH ".image"), a, &image, NULL), 0);
        assert_true(fieldset_contains(kept, image));
}

static void an_earlier_rule_holds_inside_a_yielded_path(void **state) {
        static const char *const paths[] = { C_PATH ".image", C_PATH };
        struct policy_rule list[] = { { .action = POLICY_TAKE }, { .action = POLICY_YIELD } };
        struct decide_input in = input(rules(list, paths, 2), git(CONTAINER),
                                       live(CONTAINER, OURS(IN_CONTAINER("'.':{},'f:name':{},'f:image':{},'f:tty':{}"))));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(fieldset_count(set_after(&d, OWN_KEEPER)), 1);
        assert_non_null(note(&d, DECIDE_YIELDED, C_PATH ".tty"));
        assert_null(note(&d, DECIDE_YIELDED, C_PATH ".image"));
        assert_null(note(&d, DECIDE_YIELDED, C_PATH ".name"));
}

static void an_earlier_rule_without_a_path_decides_alone(void **state) {
        static const char *const paths[] = { NULL, ".spec.paused" };
        struct policy_rule list[] = { { .kind = "Deployment", .action = POLICY_TAKE }, { .action = POLICY_YIELD } };
        struct decide_input in = input(rules(list, paths, 2), git("'paused':true"), live("'paused':true", OURS("'f:paused':{}")));

        (void)state;
        assert_int_equal(decided(&in).verdict, DECIDE_NOTHING);
        list[0].kind = "Job";
        in.policy = rules(list, paths, 2);
        assert_int_equal(decided(&in).verdict, DECIDE_PATCH);
}

static void a_new_object_gets_gits_value_of_a_yielded_path(void **state) {
        struct decide_input in =
                input(rule(".spec.paused", (struct policy_rule){ .action = POLICY_YIELD }), git("'paused':true"), NULL);
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_CREATE);
        assert_true(d.seeds);
        assert_non_null(value_path(d.body, "spec", "paused", NULL));
        assert_non_null(note(&d, DECIDE_YIELDED, ".spec.paused"));
}

static void when_its_rule_is_gone_a_kept_path_comes_back_after_the_hold(void **state) {
        struct decide_input in = input(NULL, git("'paused':false,'x':1"), live("'paused':true,'x':1", OURS("'f:x':{}") "," KEEPER("'f:paused':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_true(d.takes_replicas_back);
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_TAKE_BACK);

        in.replicas_hold = true;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_non_null(note(&d, DECIDE_HELD, ".spec.paused"));
}

static void a_commit_that_changes_a_kept_path_ends_its_hold(void **state) {
        struct decide_input in = input(NULL, git("'paused':false,'x':1"), live("'paused':true,'x':1", OURS("'f:x':{}") "," KEEPER("'f:paused':{}")));

        (void)state;
        in.replicas_hold = true;
        in.previous = git("'paused':false,'x':2");
        assert_int_equal(decided(&in).verdict, DECIDE_NOTHING);
        in.previous = git("'paused':true");
        assert_int_equal(decided(&in).verdict, DECIDE_PATCH);
        assert_false(decided(&in).takes_replicas_back);
        in.previous = git("'x':1");
        assert_int_equal(decided(&in).verdict, DECIDE_PATCH);
}

static struct decision conflict(struct decide_input *in, const char *manager) {
        struct decision d = decided(in), after = { 0 };
        struct decide_cause cause = { .manager = str_from(manager), .field = STR(".spec.paused") };
        struct err err = { 0 };

        assert_int_equal(d.verdict, DECIDE_APPLY);
        if (decide_conflict(in, &d, &cause, 1, a, &after, &err) < 0)
                fail_msg("%s", err.msg);
        return after;
}

static void rules_decide_conflicts(void **state) {
        struct policy_rule r = { .manager = "region-*", .action = POLICY_TAKE };
        struct decide_input in = input(NULL, git("'paused':false,'x':1"), live("'paused':true,'x':1", OURS("'f:x':{}") "," OTHER("'f:paused':{}")));
        struct decision d = conflict(&in, "region-operator");

        (void)state;
        assert_non_null(note(&d, DECIDE_REPORTED, ".spec.paused"));
        assert_null(note(&d, DECIDE_REPORTED, ".spec.paused")->place);

        in.policy = rule(".spec.paused", r);
        d = conflict(&in, "region-operator");
        assert_true(d.force);
        assert_string_equal(note(&d, DECIDE_TAKEN, ".spec.paused")->place, "agent.yaml:7");

        r.action = POLICY_YIELD;
        in.policy = rule(".spec.paused", r);
        d = conflict(&in, "region-operator");
        assert_string_equal(note(&d, DECIDE_YIELDED, ".spec.paused")->rule, "agent.yaml:7");
        assert_int_equal(d.verdict, DECIDE_NOTHING);

        /* And the next look says the same, though nothing conflicts any more. */
        in.withheld = d.withheld;
        in.withheld_count = d.withheld_count;
        d = decided(&in);
        assert_string_equal(note(&d, DECIDE_YIELDED, ".spec.paused")->rule, "agent.yaml:7");

        r.manager = "others";
        in.policy = rule(".spec.paused", r);
        d = decided(&in);
        assert_non_null(note(&d, DECIDE_REPORTED, ".spec.paused"));
}

static void what_is_kept_is_left_to_nobody(void **state) {
        struct field_path kept = dotted(a, ".spec.tags.mark");
        struct policy_rule r = { .action = POLICY_YIELD };
        struct decide_input in = input(rule(".spec.tags", r), git("'paused':false,'tags':{'a':'1','mark':'ours'}"),
                                       live("'paused':true,'tags':{'a':'2','mark':'theirs'}", OTHER("'f:tags':{'f:a':{},'f:mark':{}},'f:paused':{}")));
        struct decision d, after;
        struct decide_cause cause = { .manager = STR("region-operator"), .field = STR(".spec.tags.mark") };

        (void)state;
        in.kept = &kept;
        in.kept_count = 1;
        d = decided(&in);
        assert_non_null(note(&d, DECIDE_YIELDED, ".spec.tags.a"));
        assert_null(note(&d, DECIDE_YIELDED, ".spec.tags"));
        assert_null(note(&d, DECIDE_YIELDED, ".spec.tags.mark"));
        assert_null(value_path(d.body, "spec", "tags", "a", NULL));
        assert_string_equal(value_text(value_path(d.body, "spec", "tags", "mark", NULL)).p, "ours");

        r.manager = "region-*";
        in.policy = rule(NULL, r);
        d = decided(&in);
        assert_int_equal(decide_conflict(&in, &d, &cause, 1, a, &after, NULL), 0);
        assert_true(after.force);
        assert_non_null(note(&after, DECIDE_TAKEN, ".spec.tags.mark"));
        assert_string_equal(value_text(value_path(after.body, "spec", "tags", "mark", NULL)).p, "ours");
}

static void replicas_that_a_rule_leaves_had_no_scaler(void **state) {
        struct decide_input in = input(rule(".spec.replicas", (struct policy_rule){ .action = POLICY_YIELD }), git("'replicas':2"),
                                       live("'replicas':2", KEEPER("'f:replicas':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_false(d.takes_replicas_back);
        in.replicas_hold = true;
        d = decided(&in);
        assert_int_equal(d.held_count, 0);
        assert_null(note(&d, DECIDE_HELD, ".spec.replicas"));
        assert_non_null(note(&d, DECIDE_YIELDED, ".spec.replicas"));
        /* By an ignore rule, too. */
        struct ignored_path ignored = { .path = dotted(a, ".spec.replicas"), .in_git = true, .at_sync = true, .rule = "ignoreDifferences" };
        in.policy = NULL;
        in.ignored = &ignored;
        in.ignored_count = 1;
        d = decided(&in);
        assert_int_equal(d.held_count, 0);
        in.replicas_hold = false;
        assert_false(decided(&in).takes_replicas_back);
        /* Without either it may have been a scaler's. */
        in.ignored_count = 0;
        assert_true(decided(&in).takes_replicas_back);
        in.replicas_hold = true;
        assert_int_equal(decided(&in).held_count, 1);
}

static void a_rule_of_an_owner_does_not_hand_over_what_is_ours_alone(void **state) {
        struct policy_rule r = { .manager = "region-operator", .action = POLICY_YIELD };
        struct decide_input in = input(rule(".spec.paused", r), git("'paused':true"), live("'paused':true", OURS("'f:paused':{}")));

        (void)state;
        assert_int_equal(decided(&in).verdict, DECIDE_NOTHING);
}

static void a_rule_takes_over_what_git_removed(void **state) {
        struct policy_rule r = { .manager = "region-operator", .action = POLICY_TAKE };
        struct decide_input in = input(rule(".spec.paused", r), git("'x':1"),
                                       live("'paused':true,'x':1", OURS("'f:paused':{},'f:x':{}") "," OTHER("'f:paused':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_NOTHING);
        in.policy = NULL;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_non_null(note(&d, DECIDE_STAYS, ".spec.paused"));
}

static void an_extra_path_that_a_rule_yields_is_not_told(void **state) {
        struct policy_rule r = { .manager = "kubectl-edit", .action = POLICY_YIELD };
        const struct value *object =
                live("'x':1,'paused':true", OURS("'f:x':{}") "," ENTRY("kubectl-edit", "Update", "", "'f:paused':{}"));
        struct decide_input in = input(NULL, git("'x':1"), object);
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.note_count, 1);
        in.policy = rule(".spec.paused", r);
        d = decided(&in);
        assert_int_equal(d.note_count, 0);
}

static void a_rule_takes_replicas_from_a_scaler(void **state) {
        struct policy_rule r = { .action = POLICY_TAKE };
        struct decide_input in = input(NULL, git("'replicas':2"), live("'replicas':6", OURS("'f:x':{}")));
        const struct value *h = json(a, "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'h',"
                                        "'namespace':'shop'},'spec':{'scaleTargetRef':{'apiVersion':'apps/v1','kind':"
                                        "'Deployment','name':'web'}}}");

        (void)state;
        assert_int_equal(scaler_index_set(ix, h, SCALER_LIVE, NULL), 0);
        struct decision d = decided(&in);
        assert_null(value_path(d.body, "spec", "replicas", NULL));
        in.policy = rule(".spec.replicas", r);
        d = decided(&in);
        assert_non_null(value_path(d.body, "spec", "replicas", NULL));
        r.classes = 1u << POLICY_SCALER;
        in.policy = rule(".spec.replicas", r);
        d = decided(&in);
        assert_non_null(value_path(d.body, "spec", "replicas", NULL));
        r.action = POLICY_REPORT;
        in.policy = rule(".spec.replicas", r);
        d = decided(&in);
        assert_null(value_path(d.body, "spec", "replicas", NULL));
        assert_string_equal(note(&d, DECIDE_REPORTED, ".spec.replicas")->place, "agent.yaml:7");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(rules_select_objects),
                CASE(words_of_classes_and_actions_are_read),
                CASE(a_newly_yielded_path_of_ours_is_handed_over),
                CASE(a_path_that_git_removed_is_kept_by_a_yield_rule),
                CASE(a_rule_of_another_object_changes_nothing),
                CASE(of_a_yielded_item_only_what_nobody_else_has_is_handed_over),
                CASE(an_earlier_rule_holds_inside_a_yielded_path),
                CASE(an_earlier_rule_without_a_path_decides_alone),
                CASE(a_new_object_gets_gits_value_of_a_yielded_path),
                CASE(when_its_rule_is_gone_a_kept_path_comes_back_after_the_hold),
                CASE(a_commit_that_changes_a_kept_path_ends_its_hold),
                CASE(rules_decide_conflicts),
                CASE(what_is_kept_is_left_to_nobody),
                CASE(replicas_that_a_rule_leaves_had_no_scaler),
                CASE(a_rule_of_an_owner_does_not_hand_over_what_is_ours_alone),
                CASE(a_rule_takes_over_what_git_removed),
                CASE(an_extra_path_that_a_rule_yields_is_not_told),
                CASE(a_rule_takes_replicas_from_a_scaler),
        };

        return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
