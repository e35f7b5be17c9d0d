/* SPDX-License-Identifier: Apache-2.0 */
#include "decide_test.h"
#include "own/explain.h"

#define ENTRY(manager, op, sub, fields)                                                                                \
        "{'manager':'" manager "','operation':'" op "','subresource':'" sub                                            \
        "','apiVersion':'apps/v1','time':'2026-01-01T00:00:00Z','fieldsV1':{'f:spec':{" fields "}}}"
#define IN_C(fields) "'f:template':{'f:spec':{'f:containers':{'k:{\\'name\\':\\'c\\'}':{" fields "}}}}"

static const struct value *git(const char *spec) {
        return json(a, arena_strf(a, "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','namespace':"
                                     "'shop'},'spec':{%s}}", spec).p);
}

static const struct value *live(const char *more, const char *spec, const char *entries) {
        return json(a, arena_strf(a, "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','namespace':"
                                     "'shop','uid':'u1','resourceVersion':'9','managedFields':[%s]%s},'spec':{%s},'status':"
                                     "{'replicas':1}}", entries, more, spec).p);
}

static struct explanation explained(const struct decide_input *in) {
        struct decision d = { 0 };
        struct explanation e = { 0 };
        struct err err = { 0 };

        if (decide(in, a, &d, &err) < 0 || explain(in, &d, a, &e, &err) < 0)
                fail_msg("%s", err.msg);
        return e;
}

static const struct explain_row *row(const struct explanation *e, const char *path) {
        for (size_t i = 0; i < e->count; i++)
                if (str_eqc(field_path_text(a, e->rows[i].path), path))
                        return &e->rows[i];
        fail_msg("there is no row %s", path);
        return NULL;
}

static struct decide_input input(const struct value *desired, const struct value *object) {
        return (struct decide_input){ .desired = desired, .live = object, .key = &key, .scalers = ix, .mode = DECIDE_DIFF };
}

#define C ".spec.template.spec.containers[name=\"c\"]"

/* One Deployment with everything in it. */
static const struct value *busy(void) {
        return live(",'annotations':{'sidecar.example/status':'in'}",
                    "'replicas':6,'paused':true,'minReadySeconds':7,'revisionHistoryLimit':3,'strategy':{'type':'Recreate'},'template':{"
                    "'spec':{'containers':[{'name':'c','image':'c:debug','tty':true,'stdin':true},{'name':'proxy','image':'p:1'}]}}",
                    ENTRY("truce", "Apply", "", "'f:minReadySeconds':{}," IN_C("'.':{},'f:name':{},'f:tty':{}"))
                    "," ENTRY("kubectl-edit", "Update", "", IN_C("'f:image':{},'f:stdin':{}"))
                    "," ENTRY("argocd-controller", "Apply", "", "'f:paused':{}")
                    "," ENTRY("kube-controller-manager", "Update", "", "'f:revisionHistoryLimit':{}"));
}

static const struct value *wanted(void) {
        return git("'replicas':2,'paused':false,'minReadySeconds':7,'template':{'spec':{'containers':[{'name':'c','image':'c:1',"
                   "'tty':true}]}}");
}

static void each_path_has_its_owner_fate_and_rule(void **state) {
        const struct value *h = json(a, "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'h',"
                                        "'namespace':'shop'},'spec':{'scaleTargetRef':{'apiVersion':'apps/v1','kind':"
                                        "'Deployment','name':'web'}}}");
        struct decide_input in = input(wanted(), busy());
        const struct explain_row *r;

        (void)state;
        assert_int_equal(scaler_index_set(ix, h, SCALER_LIVE, NULL), 0);
        struct explanation e = explained(&in);

        r = row(&e, ".spec.replicas");
        assert_int_equal(r->fate, EXPLAIN_NOTED);
        assert_int_equal(r->note, DECIDE_YIELDED);
        assert_text(r->in_words, "HorizontalPodAutoscaler shop/h");
        assert_true(r->in_git);

        r = row(&e, C ".image");
        assert_int_equal(r->fate, EXPLAIN_TAKEN);
        assert_text(r->owner->manager, "kubectl-edit");
        assert_int_equal(r->class, POLICY_PERSON);
        assert_string_equal(r->rule, "a person's edit gives way to Git");

        r = row(&e, C ".tty");
        assert_int_equal(r->fate, EXPLAIN_ENFORCED);
        assert_int_equal(r->class, POLICY_OURS);

        r = row(&e, C ".stdin");
        assert_int_equal(r->note, DECIDE_EXTRA);
        assert_true(explain_is_report(r));

        r = row(&e, ".spec.paused");
        assert_int_equal(r->note, DECIDE_REPORTED);
        assert_null(r->place);
        assert_true(explain_is_report(r));

        r = row(&e, ".spec.revisionHistoryLimit");
        assert_int_equal(r->fate, EXPLAIN_LEFT);
        assert_false(r->in_git);

        r = row(&e, ".spec.strategy.type");
        assert_int_equal(r->fate, EXPLAIN_NOBODYS);
        assert_int_equal(r->origin, EXPLAIN_DEFAULT);
        assert_null(r->owner);

        assert_int_equal(row(&e, ".metadata.annotations.sidecar.example/status")->origin, EXPLAIN_ADMISSION);
        r = row(&e, ".spec.template.spec.containers[name=\"proxy\"].image");
        assert_int_equal(r->fate, EXPLAIN_NOBODYS);
        assert_int_equal(r->origin, EXPLAIN_ADMISSION);
        for (size_t i = 0; i < e.count; i++)
                assert_false(str_starts(field_path_text(a, e.rows[i].path), STR(".status")));
}

static void subtrees_that_say_the_same_are_one_row(void **state) {
        struct decide_input in = input(wanted(), busy());
        struct explanation e = explained(&in), s = explain_short(&e, a);

        (void)state;
        const struct explain_row *r = row(&s, ".spec.template.spec.containers[name=\"proxy\"]");
        assert_int_equal(r->leaves, 2);
        for (size_t i = 0; i < s.count; i++)
                if (str_eqc(field_path_text(a, s.rows[i].path), C ".name"))
                        fail_msg("a key is a row");
        row(&s, C ".image");
        assert_true(s.count < e.count);
}

static void what_does_not_exist_is_set(void **state) {
        struct decide_input in = input(wanted(), NULL);
        struct explanation e = explained(&in);

        (void)state;
        assert_true(e.count > 0);
        for (size_t i = 0; i < e.count; i++)
                assert_int_equal(e.rows[i].fate, EXPLAIN_SET);
}

static void an_object_of_a_controller_is_kept_off(void **state) {
        struct decide_input in = input(wanted(), live(",'ownerReferences':[{'kind':'X','name':'x','controller':true}]",
                                                      "'paused':true", ENTRY("x", "Update", "", "'f:paused':{}")));
        struct explanation e = explained(&in);

        (void)state;
        assert_int_equal(row(&e, ".spec.paused")->fate, EXPLAIN_OFF);
}

static void a_hand_over_shows_the_rule_behind_it(void **state) {
        struct field_path path = dotted(a, "spec.paused");
        const struct policy_rule rule = { .name = "mine", .place = "a.yaml:3", .path = &path, .action = POLICY_YIELD };
        const struct policy p = { &rule, 1 };
        struct decide_input in = input(git("'paused':true"), live("", "'paused':true", ENTRY("truce", "Apply", "", "'f:paused':{}")));

        (void)state;
        in.policy = &p;
        struct explanation e = explained(&in);
        const struct explain_row *r = row(&e, ".spec.paused");
        assert_int_equal(r->note, DECIDE_HANDOVER_DUE);
        assert_string_equal(r->rule, "mine");
        assert_string_equal(r->place, "a.yaml:3");
}

static void an_extra_path_that_a_rule_yields_names_the_rule(void **state) {
        const struct policy_rule rule = { .name = "mine", .place = "a.yaml:3", .manager = "kubectl-edit", .action = POLICY_YIELD };
        const struct policy p = { &rule, 1 };
        struct decide_input in = input(git("'x':1"), live("", "'x':1,'paused':true", ENTRY("truce", "Apply", "", "'f:x':{}")
                                                          "," ENTRY("kubectl-edit", "Update", "", "'f:paused':{}")));

        (void)state;
        in.policy = &p;
        struct explanation e = explained(&in);
        const struct explain_row *r = row(&e, ".spec.paused");
        assert_int_equal(r->fate, EXPLAIN_NOTED);
        assert_int_equal(r->note, DECIDE_YIELDED);
        assert_string_equal(r->rule, "mine");
        assert_false(explain_is_report(r));
}

#define EXTRA(fields) "'f:template':{'f:spec':{'f:containers':{'k:{\\'name\\':\\'x\\'}':{" fields "}}}}"

static const struct value *with_a_container_of_two_people(void) {
        return live("", "'paused':true,'template':{'spec':{'containers':[{'name':'x','image':'x:2','args':['a'],'tty':true}]}}",
                    ENTRY("truce", "Apply", "", "'f:paused':{}")
                    "," ENTRY("kubectl-edit", "Update", "", EXTRA("'.':{},'f:name':{},'f:args':{},'f:tty':{}"))
                    "," ENTRY("kubectl-set", "Update", "", EXTRA("'f:image':{}"))
                    "," ENTRY("some-operator", "Update", "", "'f:revisionHistoryLimit':{}"));
}

/* Each has a part of the container, which is one report. */
static void with_the_printed_rules_nothing_is_reported_any_more(void **state) {
        struct decide_input in = input(git("'paused':true"), with_a_container_of_two_people());
        struct explanation e = explained(&in);
        struct policy_rule *rules = arena_zalloc(a, e.report_count * sizeof *rules);
        struct policy policy = { rules, e.report_count };

        (void)state;
        assert_int_equal(e.report_count, 2);
        for (size_t i = 0; i < e.report_count; i++) {
                assert_text(field_path_text(a, e.reports[i].path), ".spec.template.spec.containers[name=\"x\"]");
                rules[i] = (struct policy_rule){
                        .name = "r", .place = "r:1", .manager = arena_str(a, e.reports[i].manager).p, .action = POLICY_YIELD,
                        .path = &e.reports[i].path,
                };
        }
        assert_text(e.reports[0].manager, "kubectl-edit");
        assert_text(e.reports[1].manager, "kubectl-set");
        in.policy = &policy;
        e = explained(&in);
        assert_int_equal(e.report_count, 0);
}

static void what_admission_made_of_ours_is_no_drift(void **state) {
        struct decide_input in = input(git("'minReadySeconds':7"), live("", "'minReadySeconds':8", ENTRY("truce", "Apply", "", "'f:minReadySeconds':{}")));
        struct hash128 fingerprint;
        struct managed m = owners_of(a, in.live);

        (void)state;
        assert_int_equal(row(&(struct explanation[]){ explained(&in) }[0], ".spec.minReadySeconds")->fate, EXPLAIN_SET);
        assert_int_equal(fingerprint_of(&key, in.desired, in.live, &m, NULL, a, &fingerprint, NULL), 0);
        in.fingerprint = &fingerprint;
        assert_int_equal(row(&(struct explanation[]){ explained(&in) }[0], ".spec.minReadySeconds")->fate, EXPLAIN_ADMITTED);
}

static void the_newest_other_owner_has_the_say(void **state) {
        struct decide_input in = input(git("'paused':false"),
                                       live("", "'paused':true",
                                            "{'manager':'b','operation':'Update','apiVersion':'apps/v1','time':'2026-01-02T00:00:00Z',"
                                            "'fieldsV1':{'f:spec':{'f:paused':{}}}}," ENTRY("a", "Update", "", "'f:paused':{}")));
        struct explanation e = explained(&in);

        (void)state;
        assert_text(row(&e, ".spec.paused")->owner->manager, "b");
        assert_int_equal(row(&e, ".spec.paused")->owner_count, 2);
}

static struct str rule_text(const char *manager, struct field_path p, struct policy_object object) {
        _cleanup_(buf_done) struct buf b = buf_make(4096);
        struct explain_report r = { p, str_from(manager) };

        explain_rule(&r, &object, &b);
        return arena_str(a, buf_str(&b));
}

static void a_rule_is_ready_to_paste(void **state) {
        struct field_path p = field_path_join(a, dotted(a, "metadata.labels"), path_field(STR("it's.x")));

        (void)state;
        assert_text(rule_text("argocd-controller", p, (struct policy_object){ .group = STR("apps"), .kind = STR("Deployment"),
                                                                              .ns = STR("shop"), .name = STR("web") }),
                    "{manager: argocd-controller, group: apps, kind: Deployment, namespace: shop, objectName: web, path: "
                    "'.metadata.labels[\"it''s.x\"]', action: yield}");
        assert_text(rule_text("a: b", dotted(a, "x"), (struct policy_object){ .kind = STR("Node"), .name = STR("off") }),
                    "{manager: 'a: b', group: '', kind: Node, objectName: 'off', path: '.x', action: yield}");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(each_path_has_its_owner_fate_and_rule),
                CASE(subtrees_that_say_the_same_are_one_row),
                CASE(what_does_not_exist_is_set),
                CASE(an_object_of_a_controller_is_kept_off),
                CASE(a_hand_over_shows_the_rule_behind_it),
                CASE(an_extra_path_that_a_rule_yields_names_the_rule),
                CASE(what_admission_made_of_ours_is_no_drift),
                CASE(the_newest_other_owner_has_the_say),
                CASE(with_the_printed_rules_nothing_is_reported_any_more),
                CASE(a_rule_is_ready_to_paste),
        };

        return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
