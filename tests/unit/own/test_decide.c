/* SPDX-License-Identifier: Apache-2.0 */
#include "decide_test.h"

static const struct value *git(const char *spec) {
        return json(a, arena_strf(a,
                                  "{'apiVersion':'apps/"
                                  "v1','kind':'Deployment','metadata':{'name':'web','namespace':'shop'},'spec':{%s}}",
                                  spec)
                               .p);
}

#define ENTRY(manager, op, sub, fields)                                                                                \
        "{'manager':'" manager "','operation':'" op "','subresource':'" sub                                            \
        "','apiVersion':'apps/v1','fieldsV1':" fields "}"
#define OURS(fields) ENTRY("truce", "Apply", "", "{'f:spec':{" fields "}}")

static const struct value *live(const char *spec, const char *entries) {
        return json(a, arena_strf(a,
                                  "{'apiVersion':'apps/"
                                  "v1','kind':'Deployment','metadata':{'name':'web','namespace':'shop','uid':'u1',"
                                  "'resourceVersion':'9','managedFields':[%s]},'spec':{%s}}",
                                  entries, spec)
                               .p);
}

static void add_hpa(const char *more) {
        const struct value *h = json(
                a, arena_strf(a,
                              "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'h',"
                              "'namespace':'shop'},'spec':{'scaleTargetRef':{'apiVersion':'apps/v1','kind':"
                              "'Deployment','name':'web'}%s}}",
                              more)
                           .p);

        assert_int_equal(scaler_index_set(ix, h, SCALER_LIVE, NULL), 0);
}

static struct decide_input input(const struct value *desired, const struct value *live_object) {
        return (struct decide_input){ .desired = desired, .live = live_object, .key = &key, .scalers = ix };
}

static struct decision decided(const struct decide_input *in) {
        struct decision d = { 0 };
        struct err err = { 0 };

        if (decide(in, a, &d, &err) < 0)
                fail_msg("%s", err.msg);
        assert_true(d.reason.n > 0);
        if (d.force)
                assert_non_null(value_path(d.body, "metadata", "resourceVersion", NULL));
        return d;
}

static bool noted(const struct decision *d, enum decide_note_kind kind, const char *path) {
        for (size_t i = 0; i < d->note_count; i++)
                if (d->notes[i].kind == kind && str_eqc(field_path_text(a, d->notes[i].path), path))
                        return d->notes[i].rule != NULL;
        return false;
}

static const struct value *meta(const struct decision *d, const char *name) {
        return value_path(d->body, "metadata", name, NULL);
}

static const struct value *replicas_in(const struct value *body) {
        return value_path(body, "spec", "replicas", NULL);
}

static void what_does_not_exist_is_created_without_uid(void **state) {
        struct decide_input in = input(git("'replicas':2"), NULL);
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_CREATE);
        assert_null(meta(&d, "uid"));
        assert_false(d.dry_run || d.force);
        in.mode = DECIDE_DIFF;
        assert_true(decided(&in).dry_run);
}

static void a_scaled_object_is_born_with_a_seed(void **state) {
        struct decide_input in = input(git("'replicas':2"), NULL);
        struct decision d;

        (void)state;
        add_hpa(",'minReplicas':4");
        d = decided(&in);
        assert_true(value_equal(replicas_in(d.body), value_int(a, 2, 0)));
        assert_null(replicas_in(d.effective));
        in.desired = git("'replicas':0");
        d = decided(&in);
        assert_true(value_equal(replicas_in(d.body), value_int(a, 4, 0)));
        in.desired = git("'paused':true");
        d = decided(&in);
        assert_true(value_equal(replicas_in(d.body), value_int(a, 4, 0)));
}

static void a_converged_object_needs_no_request(void **state) {
        struct decide_input in = input(git("'replicas':2"), live("'replicas':2,'x':1", OURS("'f:replicas':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_true(d.by_proof && !d.by_fingerprint);
        assert_null(d.body);
}

static void a_fingerprint_needs_no_proof(void **state) {
        /* The server spells 1000m its own way: no proof, but a fingerprint. */
        struct decide_input in = input(git("'cpu':'1000m'"), live("'cpu':'1'", OURS("'f:cpu':{}")));
        struct decision d = decided(&in);
        struct managed m = owners_of(a, in.live);
        struct hash128 print;

        (void)state;
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_int_equal(d.proof.reason, PROOF_VALUE);
        assert_int_equal(fingerprint_of(&key, d.effective, in.live, &m,
                                        schema_builtin(a, STR("apps/v1"), STR("Deployment")), a, &print, NULL),
                         0);
        in.fingerprint = &print;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_true(d.by_fingerprint);
        in.live = live("'cpu':'2'", OURS("'f:cpu':{}"));
        assert_int_equal(decided(&in).verdict, DECIDE_APPLY);
}

static void a_change_is_applied_with_uid_and_without_force(void **state) {
        struct decide_input in = input(git("'replicas':3"), live("'replicas':2", OURS("'f:replicas':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_text(value_text(meta(&d, "uid")), "u1");
        assert_null(meta(&d, "resourceVersion"));
        assert_false(d.force || d.dry_run);
        in.mode = DECIDE_MANUAL;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_DRY_RUN);
        assert_true(d.dry_run);
}

static void an_apply_that_drops_a_path_carries_the_resource_version(void **state) {
        struct decide_input in =
                input(git("'replicas':2"), live("'replicas':2,'paused':true", OURS("'f:paused':{},'f:replicas':{}")));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_text(value_text(meta(&d, "resourceVersion")), "9");
        assert_true(noted(&d, DECIDE_LEAVING, ".spec.paused"));
}

static void replicas_of_a_new_scaler_are_handed_over_first(void **state) {
        struct decide_input in = input(git("'replicas':2"), live("'replicas':2", OURS("'f:replicas':{},'f:x':{}")));
        struct decision d;

        (void)state;
        in.desired = git("'replicas':2,'x':1");
        add_hpa("");
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_GIVE);
        assert_int_equal(value_count(d.patch), 2);
        assert_true(noted(&d, DECIDE_YIELDED, ".spec.replicas"));
        /* Also when Git removed the path in the same commit. */
        in.desired = git("'x':1");
        assert_int_equal(decided(&in).handover, HANDOVER_GIVE);
        /* A diff writes nothing, and shows the live number. */
        in.mode = DECIDE_DIFF;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_DRY_RUN);
        assert_true(noted(&d, DECIDE_HANDOVER_DUE, ".spec.replicas"));
        assert_true(value_equal(replicas_in(d.body), value_int(a, 2, 0)));
}

static void replicas_that_another_holds_are_just_left(void **state) {
        struct decide_input in =
                input(git("'replicas':2,'x':1"),
                      live("'replicas':2,'x':1", OURS("'f:replicas':{},'f:x':{}") "," ENTRY(
                                                         "other", "Update", "", "{'f:spec':{'f:replicas':{}}}")));
        struct decision d;

        (void)state;
        add_hpa("");
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_null(replicas_in(d.body));
        assert_text(value_text(meta(&d, "resourceVersion")), "9");
}

static void scaled_replicas_are_no_drift(void **state) {
        struct decide_input in =
                input(git("'replicas':2,'x':1"),
                      live("'replicas':7,'x':1", OURS("'f:x':{}") "," ENTRY("kube-controller-manager", "Update",
                                                                            "scale", "{'f:spec':{'f:replicas':{}}}")));

        (void)state;
        add_hpa("");
        assert_int_equal(decided(&in).verdict, DECIDE_NOTHING);
        /* An unknown manager that wrote /scale is taken for a scaler, a person is not. */
        scaler_index_clear(ix, SCALER_LIVE);
        in.live = live("'replicas':7,'x':1",
                       OURS("'f:x':{}") "," ENTRY("my-scaler", "Update", "scale", "{'f:spec':{'f:replicas':{}}}"));
        struct decision d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_true(noted(&d, DECIDE_YIELDED, ".spec.replicas"));
        in.live = live("'replicas':7,'x':1",
                       OURS("'f:x':{}") "," ENTRY("kubectl", "Update", "scale", "{'f:spec':{'f:replicas':{}}}"));
        assert_int_equal(decided(&in).verdict, DECIDE_APPLY);
}

static void kept_replicas_come_back_after_the_hold(void **state) {
        const char *kept = OURS("'f:x':{}") "," ENTRY("truce-keeper", "Update", "", "{'f:spec':{'f:replicas':{}}}");
        struct decide_input in = input(git("'replicas':2,'x':1"), live("'replicas':5,'x':1", kept));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_TAKE_BACK);
        assert_true(d.takes_replicas_back && !d.held_count);
        in.replicas_hold = true;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_true(noted(&d, DECIDE_HELD, ".spec.replicas") && d.held_count == 1);
        assert_false(d.takes_replicas_back);
        /* Another path's hold is over, then this one's. */
        const uint64_t other = decide_hold_id(dotted(a, "spec.other"), a), *mine = d.held;
        in.unheld = &other;
        in.unheld_count = 1;
        assert_int_equal(decided(&in).verdict, DECIDE_NOTHING);
        in.unheld = mine;
        d = decided(&in);
        assert_int_equal(d.handover, HANDOVER_TAKE_BACK);
        assert_int_equal(d.held_count, 0);
        assert_true(*mine == decide_hold_id(dotted(a, "spec.replicas"), a));
        in.unheld_count = 0;
        /* Git has not had the path for long: its number stays as it is. */
        in.replicas_hold = false;
        in.desired = git("'x':1");
        assert_int_equal(decided(&in).verdict, DECIDE_NOTHING);
        in.previous = git("'replicas':2,'x':1");
        assert_int_equal(decided(&in).handover, HANDOVER_TAKE_BACK);
}

static void a_dead_scalers_number_is_taken_back_knowingly(void **state) {
        struct decide_input in =
                input(git("'replicas':2,'x':1"),
                      live("'replicas':5,'x':1", OURS("'f:x':{}") "," ENTRY("kube-controller-manager", "Update",
                                                                            "scale", "{'f:spec':{'f:replicas':{}}}")));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_true(d.takes_replicas_back);
}

static void leftovers_of_client_side_apply_do_not_keep_what_git_removed(void **state) {
        const char *both = OURS("'f:paused':{},'f:x':{}") "," ENTRY("kubectl-client-side-apply", "Update", "",
                                                                    "{'f:spec':{'f:paused':{},'f:x':{}}}");
        struct decide_input in = input(git("'x':1"), live("'paused':true,'x':1", both));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.handover, HANDOVER_NOTHING);
        assert_int_equal(d.after.count, 1);
        assert_true(fieldset_is_empty(d.after.entries[0].set)); /* what stays in Git is ours alone as well */
}

static void what_another_owner_keeps_stays_and_is_reported(void **state) {
        const char *both =
                OURS("'f:paused':{},'f:x':{}") "," ENTRY("my-operator", "Update", "", "{'f:spec':{'f:paused':{}}}");
        struct decide_input in = input(git("'x':1"), live("'paused':true,'x':1", both));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_true(noted(&d, DECIDE_STAYS, ".spec.paused"));
        assert_non_null(meta(&d, "resourceVersion"));
}

#define TEMPLATE(containers) "'template':{'spec':{'containers':[" containers "]}}"
#define ITEM(name, more)     "'k:{\\'name\\':\\'" name "\\'}':{'.':{},'f:name':{}" more "}"
#define OWN_ITEMS(items)     "'f:template':{'f:spec':{'f:containers':{" items "}}}"

static void an_applied_part_of_a_removed_item_is_refused_by_name(void **state) {
        const char *entries = OURS(OWN_ITEMS(ITEM("c", "") "," ITEM("d", ""))) "," ENTRY(
                "my-operator", "Apply", "",
                "{'f:spec':{'f:template':{'f:spec':{'f:containers':{" ITEM("d", ",'f:image':{}") "}}}}}");
        struct decide_input in =
                input(git(TEMPLATE("{'name':'c'}")), live(TEMPLATE("{'name':'c'},{'name':'d','image':'x'}"), entries));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_REFUSE);
        assert_true(str_contains(d.reason, STR("my-operator")));
        /* An Update owner below the item does not hold it. */
        in.live = live(TEMPLATE("{'name':'c'},{'name':'d','image':'x'}"),
                       OURS(OWN_ITEMS(ITEM("c", "") "," ITEM("d", ""))) "," ENTRY(
                               "my-operator", "Update", "",
                               "{'f:spec':{'f:template':{'f:spec':{'f:containers':{'k:{\\'name\\':\\'d\\'}':{"
                               "'f:image':{}}}}}}}"));
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_true(noted(&d, DECIDE_LEAVING, ".spec.template.spec.containers[name=\"d\"]"));
}

static void objects_of_controllers_and_of_others_are_refused(void **state) {
        const struct value *owned = json(
                a, "{'metadata':{'uid':'u','ownerReferences':[{'kind':'ReplicaSet','name':'rs','controller':true}]}}");
        struct decide_input in = input(git(""), owned);
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_REFUSE);
        assert_true(str_contains(d.reason, STR("ReplicaSet rs")));
        in.live = json(a, "{'metadata':{'uid':'u','ownerReferences':[{'kind':'X','name':'y'}]}}");
        assert_int_equal(decided(&in).verdict, DECIDE_APPLY);
        in.foreign_tracker = STR("argocd/other");
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_REFUSE);
        assert_true(str_contains(d.reason, STR("argocd/other")));
}

static void a_dying_object_is_waited_for(void **state) {
        struct decide_input in =
                input(git(""), json(a, "{'metadata':{'uid':'u','deletionTimestamp':'2026-01-01T00:00:00Z'}}"));

        (void)state;
        assert_int_equal(decided(&in).verdict, DECIDE_WAIT);
}

static void incomplete_input_is_an_error(void **state) {
        struct decide_input in = input(json(a, "{'kind':'X','metadata':{'name':'n'}}"), NULL);
        struct decision d;

        (void)state;
        assert_int_equal(decide(&in, a, &d, NULL), ERR_INVAL);
        in.desired = git("");
        in.live = json(a, "{'metadata':{}}");
        assert_int_equal(decide(&in, a, &d, NULL), ERR_INVAL);
        in.live = json(a, "{'metadata':{'uid':'u','managedFields':{}}}");
        assert_int_equal(decide(&in, a, &d, NULL), ERR_PARSE);
        /* A hand-over needs managedFields as the server has them: a cached object without them asks to be read anew. */
        struct managed m = owners_of(a, live("'replicas':2", OURS("'f:replicas':{}")));
        add_hpa("");
        in = input(git("'replicas':2"), json(a, "{'metadata':{'uid':'u'},'spec':{'replicas':2}}"));
        in.managed = &m;
        assert_int_equal(decide(&in, a, &d, NULL), ERR_INVAL);
}

static void an_ignored_path_inside_an_atomic_node_keeps_its_live_value(void **state) {
        struct field_path p = dotted(a, "spec.selector.version");
        struct decide_input in = input(git("'selector':{'app':'new','version':'1'}"),
                                       live("'selector':{'app':'old','version':'7'}", OURS("'f:selector':{}")));
        struct decision d;

        (void)state;
        in.ignored = &(struct ignored_path){ .path = p, .in_git = true, .in_live = true, .at_sync = true, .rule = "ignored" };
        in.ignored_count = 1;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_text(value_canonical(a, value_path(d.body, "spec", "selector", NULL)),
                    "{\"app\":\"new\",\"version\":\"7\"}");
        assert_non_null(meta(&d, "resourceVersion"));
}

static struct decide_cause cause(const char *message, const char *field) {
        struct decide_cause c = { 0 };

        assert_int_equal(decide_cause_parse(quoted(a, message), quoted(a, field), &c, NULL), 0);
        return c;
}

static void causes_are_read_as_the_server_writes_them(void **state) {
        struct decide_cause c =
                cause("conflict with 'kubectl' with subresource 'scale' using apps/v1 at 2026-01-01T00:00:00Z",
                      ".spec.replicas");

        (void)state;
        assert_text(c.manager, "kubectl");
        assert_text(c.subresource, "scale");
        assert_text(c.field, ".spec.replicas");
        c = cause("conflict with 'kubectl-edit' using v1", ".data.a");
        assert_text(c.manager, "kubectl-edit");
        assert_text(c.subresource, "");
        c = cause("conflict with 'x'", ".a");
        assert_text(c.manager, "x");
        assert_int_equal(decide_cause_parse(STR("conflict with x"), STR(".a"), &c, NULL), ERR_PARSE);
        assert_int_equal(decide_cause_parse(STR("conflict with \"x"), STR(".a"), &c, NULL), ERR_PARSE);
        assert_int_equal(decide_cause_parse(STR("conflict with \"x\" with subresource s"), STR(".a"), &c, NULL),
                         ERR_PARSE);
        assert_int_equal(decide_cause_parse(STR(""), STR(".a"), &c, NULL), ERR_PARSE);
}

static struct decision after_conflict(const struct decide_input *in, const struct decide_cause *c, size_t n) {
        struct decision before = decided(in), d = { 0 };

        assert_int_equal(decide_conflict(in, &before, c, n, a, &d, NULL), 0);
        assert_true(d.reason.n > 0);
        return d;
}

static void git_takes_from_people_by_force_under_resource_version(void **state) {
        struct decide_input in = input(
                git("'x':1,'y':1"),
                live("'x':2,'y':1", OURS("'f:y':{}") "," ENTRY("kubectl-edit", "Update", "", "{'f:spec':{'f:x':{}}}")));
        struct decide_cause c = cause("conflict with 'kubectl-edit' using apps/v1", ".spec.x");
        struct decision d = after_conflict(&in, &c, 1);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_true(d.force);
        assert_text(value_text(meta(&d, "resourceVersion")), "9");
        assert_text(value_text(meta(&d, "uid")), "u1");
        assert_true(noted(&d, DECIDE_TAKEN, ".spec.x"));
}

static void what_is_fought_over_is_left_out_while_the_other_one_has_it(void **state) {
        struct decide_paused paused = { dotted(a, "spec.x"), STR("kubectl-edit"), "paused" };
        struct decide_input in = input(
                git("'x':1,'y':1"),
                live("'x':2,'y':1", OURS("'f:y':{}") "," ENTRY("kubectl-edit", "Update", "", "{'f:spec':{'f:x':{}}}")));
        struct decision d;

        (void)state;
        in.paused = &paused;
        in.paused_count = 1;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_true(noted(&d, DECIDE_PAUSED, ".spec.x"));
}

/* It stands as Git wants it, and is ours: to leave it out would delete it. */
static void what_was_fought_over_and_is_ours_again_is_kept(void **state) {
        struct decide_paused paused = { dotted(a, "spec.x"), STR("kubectl-edit"), "paused" };
        struct decide_input in = input(git("'x':1"), live("'x':1", OURS("'f:x':{}")));
        struct decision d;

        (void)state;
        in.paused = &paused;
        in.paused_count = 1;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_false(noted(&d, DECIDE_PAUSED, ".spec.x"));
        assert_non_null(value_path(d.effective, "spec", "x", NULL));
}

static void an_override_keeps_what_people_changed_and_nothing_else(void **state) {
        struct decide_input in =
                input(git("'x':1,'y':1,'z':1"),
                      live("'x':2,'y':2,'z':1", OURS("'f:z':{}") "," ENTRY("kubectl-edit", "Update", "", "{'f:spec':{'f:x':{}}}") ","
                                                ENTRY("my-operator", "Update", "", "{'f:spec':{'f:y':{}}}")));
        struct decision d;

        (void)state;
        in.override = "override, kept until noon";
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_true(noted(&d, DECIDE_OVERRIDDEN, ".spec.x"));
        assert_false(noted(&d, DECIDE_OVERRIDDEN, ".spec.y"));
        assert_null(value_path(d.body, "spec", "x", NULL));
        assert_non_null(value_path(d.body, "spec", "y", NULL));
}

static void an_override_keeps_a_manual_scale(void **state) {
        struct decide_input in =
                input(git("'replicas':2"), live("'replicas':5", ENTRY("kubectl", "Update", "scale", "{'f:spec':{'f:replicas':{}}}")));
        struct decision d;

        (void)state;
        in.override = "override, kept until noon";
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_APPLY); /* to be ours at all */
        assert_null(value_path(d.body, "spec", "replicas", NULL));
        assert_true(noted(&d, DECIDE_OVERRIDDEN, ".spec.replicas"));
}

static void another_controllers_path_is_left_out_and_remembered(void **state) {
        struct decide_input in = input(
                git("'x':1,'y':2"),
                live("'x':2,'y':1", OURS("'f:y':{}") "," ENTRY("my-operator", "Update", "", "{'f:spec':{'f:x':{}}}")));
        struct decide_cause c = cause("conflict with 'my-operator' using apps/v1", ".spec.x");
        struct decision d = after_conflict(&in, &c, 1);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_false(d.force);
        assert_null(value_path(d.body, "spec", "x", NULL));
        assert_true(noted(&d, DECIDE_REPORTED, ".spec.x"));
        assert_int_equal(d.withheld_count, 1);

        /* Handed in again, it spares the conflict for as long as its owner holds it. */
        in.withheld = d.withheld;
        in.withheld_count = d.withheld_count;
        in.live = live("'x':2,'y':2", OURS("'f:y':{}") "," ENTRY("my-operator", "Update", "", "{'f:spec':{'f:x':{}}}"));
        assert_int_equal(decided(&in).verdict, DECIDE_NOTHING);
        in.live = live("'x':2,'y':2", OURS("'f:y':{}"));
        assert_int_equal(decided(&in).verdict, DECIDE_APPLY);
}

static void a_restart_recalls_what_was_withheld_by_the_fingerprint(void **state) {
        struct decide_input in = input(git("'x':1,'y':'1000m'"),
                                       live("'x':2,'y':'1'", OURS("'f:y':{}") "," ENTRY("my-operator", "Update", "",
                                                                                        "{'f:spec':{'f:x':{}}}")));
        const struct value *applied = git("'y':'1000m'");
        struct managed m = owners_of(a, in.live);
        struct hash128 print;

        (void)state;
        assert_int_equal(fingerprint_of(&key, applied, in.live, &m,
                                        schema_builtin(a, STR("apps/v1"), STR("Deployment")), a, &print, NULL),
                         0);
        in.fingerprint = &print;
        struct decision d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_true(d.by_fingerprint);
        assert_int_equal(d.withheld_count, 1);
        assert_true(noted(&d, DECIDE_REPORTED, ".spec.x"));
}

static void one_force_takes_only_what_policy_takes(void **state) {
        struct decide_input in =
                input(git("'x':1,'z':1"),
                      live("'x':2,'z':2", ENTRY("my-operator", "Update", "", "{'f:spec':{'f:x':{}}}") "," ENTRY(
                                                  "kubectl", "Update", "", "{'f:spec':{'f:z':{}}}")));
        struct decide_cause c[] = { cause("conflict with 'my-operator' using apps/v1", ".spec.x"),
                                    cause("conflict with 'kubectl' using apps/v1", ".spec.z") };
        struct decision d = after_conflict(&in, c, 2);

        (void)state;
        assert_true(d.force);
        assert_text(value_canonical(a, value_getc(d.body, "spec")), "{\"z\":1}");
}

static void a_status_writers_claim_on_spec_is_taken(void **state) {
        struct decide_input in =
                input(git("'x':1"), live("'x':2", ENTRY("some-status", "Apply", "status", "{'f:spec':{'f:x':{}}}")));
        struct decide_cause c = cause("conflict with 'some-status' with subresource 'status'", ".spec.x");
        struct managed m = owners_of(a, in.live), reduced = managed_reduce(&m, a);

        (void)state;
        in.managed = &reduced;
        assert_true(after_conflict(&in, &c, 1).force);
}

static void a_conflict_the_live_object_does_not_show_is_not_guessed_at(void **state) {
        struct decide_input in = input(git("'x':1"), live("'x':2", OURS("'f:y':{}")));
        struct decide_cause c = cause("conflict with 'my-operator' using apps/v1", ".spec.x");
        struct decision before = decided(&in), d;

        (void)state;
        assert_int_equal(after_conflict(&in, &c, 1).verdict, DECIDE_REFUSE);
        assert_int_equal(decide_conflict(&in, &before, NULL, 0, a, &d, NULL), ERR_INVAL);
}

#define MAP_ENTRY(manager, op, fields)                                                                                  \
        "{'manager':'" manager "','operation':'" op "','apiVersion':'v1','fieldsV1':" fields "}"
#define MAP_OURS MAP_ENTRY("truce", "Apply", "{'f:data':{'f:a':{}}}")

static const struct value *config_map(const char *data, const char *labels, const char *entries) {
        return json(a, arena_strf(a,
                                  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'flags','namespace':'shop','uid'"
                                  ":'u1','resourceVersion':'9','labels':{%s},'managedFields':[%s]},'data':{%s}}",
                                  labels, entries, data)
                               .p);
}

static const struct value *flags_in_git(void) {
        return json(a, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'flags','namespace':'shop'},'data':{'a':"
                       "'1'}}");
}

static void a_diff_foretells_what_a_person_no_longer_keeps(void **state) {
        const char *shared = OURS("'f:paused':{},'f:x':{}") "," ENTRY("kubectl", "Apply", "", "{'f:spec':{'f:paused':{}}}");
        struct decide_input in = input(git("'x':1"), live("'paused':true,'x':1", shared));
        struct decision d;

        (void)state;
        assert_int_equal(decided(&in).verdict, DECIDE_PATCH);
        in.mode = DECIDE_DIFF;
        d = decided(&in);
        assert_true(noted(&d, DECIDE_LEAVING, ".spec.paused") && noted(&d, DECIDE_REMOVED, ".spec.paused") && d.removes);
        /* With a third owner the value stays. */
        in.live = live("'paused':true,'x':1",
                       arena_strf(a, "%s," ENTRY("some-operator", "Update", "", "{'f:spec':{'f:paused':{}}}"), shared).p);
        d = decided(&in);
        assert_true(noted(&d, DECIDE_STAYS, ".spec.paused") && !d.removes);
        assert_false(noted(&d, DECIDE_REMOVED, ".spec.paused"));
}

static void what_a_person_added_is_told_and_left_alone(void **state) {
        const struct value *there = config_map(
                "'a':'1','zz':'2'", "'mine':'yes'",
                MAP_OURS "," MAP_ENTRY("kubectl-edit", "Update", "{'f:data':{'f:zz':{}},'f:metadata':{'f:labels':{'.':{},'f:mine':{}}}}"));
        struct decide_input in = input(flags_in_git(), there);
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_true(noted(&d, DECIDE_EXTRA, ".data.zz"));
        assert_true(noted(&d, DECIDE_EXTRA, ".metadata.labels"));
        assert_int_equal(d.note_count, 2);
}

/* Two of our applications may take an object over at the same moment: the second of them loses the race, and looks again. */
static void what_others_of_ours_may_write_is_written_as_it_was_seen(void **state) {
        struct decide_input in = input(flags_in_git(), config_map("'a':'0'", "", MAP_OURS));
        struct decision d = decided(&in);

        (void)state;
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_null(value_path(d.body, "metadata", "resourceVersion", NULL));
        in.lock = true;
        d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_APPLY);
        assert_true(value_equal(value_path(d.body, "metadata", "resourceVersion", NULL),
                                value_path(in.live, "metadata", "resourceVersion", NULL)));
}

static void extra_paths_of_others_are_their_business(void **state) {
        const struct value *there = config_map(
                "'a':'1','zz':'2','yy':'3'", "",
                MAP_OURS "," MAP_ENTRY("some-operator", "Update", "{'f:data':{'f:zz':{},'f:yy':{}}}") "," MAP_ENTRY("kubectl-edit", "Update",
                                                                                             "{'f:data':{'f:yy':{}}}"));
        struct decide_input in = input(flags_in_git(), there);

        (void)state;
        assert_int_equal(decided(&in).note_count, 0);
}

static void what_is_gone_again_is_not_extra(void **state) {
        const struct value *there =
                config_map("'a':'1'", "",
                           MAP_OURS "," MAP_ENTRY("kubectl-edit", "Update",
                                                                                         "{'f:data':{'f:zz':{}}}"));
        struct decide_input in = input(flags_in_git(), there);

        (void)state;
        assert_int_equal(decided(&in).note_count, 0);
}

static void an_item_a_person_added_is_told_as_a_whole(void **state) {
        const struct value *there = live(
                "'template':{'spec':{'containers':[{'name':'web','image':'i'},{'name':'dbg','image':'j'}]}}",
                OURS("'f:template':{'f:spec':{'f:containers':{'k:{\\'name\\':\\'web\\'}':{'.':{},'f:image':{},'f:name':{}}}}}") ","
                ENTRY("kubectl-patch", "Update", "",
                      "{'f:spec':{'f:template':{'f:spec':{'f:containers':{'k:{\\'name\\':\\'dbg\\'}':{'.':{},'f:image':{},"
                      "'f:name':{}}}}}}}"));
        struct decide_input in = input(git("'template':{'spec':{'containers':[{'name':'web','image':'i'}]}}"), there);
        struct decision d = decided(&in);

        (void)state;
        assert_true(noted(&d, DECIDE_EXTRA, ".spec.template.spec.containers[name=\"dbg\"]"));
        assert_int_equal(d.note_count, 1);
}

/* An object that kubectl made is owned by kubectl together with all its defaults. */
static void defaults_of_what_a_client_created_are_not_extra(void **state) {
        const struct value *there = live("'paused':true,'revisionHistoryLimit':10",
                                         OURS("'f:paused':{}") "," ENTRY("kubectl-create", "Update", "",
                                                                        "{'f:spec':{'f:revisionHistoryLimit':{}}}"));
        const struct value *edited = live("'paused':true,'revisionHistoryLimit':3",
                                          OURS("'f:paused':{}") "," ENTRY("kubectl-edit", "Update", "",
                                                                         "{'f:spec':{'f:revisionHistoryLimit':{}}}"));
        struct decide_input in = input(git("'paused':true"), there), by_person = input(git("'paused':true"), edited);
        struct decision d = decided(&by_person);

        (void)state;
        assert_int_equal(decided(&in).note_count, 0);
        assert_true(noted(&d, DECIDE_EXTRA, ".spec.revisionHistoryLimit"));
}

static void what_is_to_go_can_be_thought_away(void **state) {
        const struct value *there = config_map(
                "'a':'1','zz':'2'", "'mine':'yes'",
                MAP_OURS "," MAP_ENTRY("kubectl-edit", "Update", "{'f:data':{'f:zz':{}},'f:metadata':{'f:labels':{'f:mine':{}}}}"));
        struct decide_input in = input(flags_in_git(), there);
        const struct value *rest;
        struct decision d;

        (void)state;
        in.remove_extra = true;
        in.mode = DECIDE_DIFF;
        d = decided(&in);
        rest = decide_without_removed(&d, there, NULL, a);
        assert_int_equal(d.verdict, DECIDE_NOTHING);
        assert_true(d.removes);
        assert_null(value_path(rest, "data", "zz", NULL));
        assert_non_null(value_path(rest, "data", "a", NULL));
        assert_non_null(value_path(rest, "metadata", "labels", "mine", NULL));
}

/* Not by a clock: what costs time with the square of their number costs memory as well, for sets are made anew. */
static void thousands_of_additions_cost_little_memory(void **state) {
        struct buf data = buf_make(MIB), fields = buf_make(MIB);

        (void)state;
        for (unsigned i = 0; i < 8000; i++) {
                buf_addf(&data, ",'k%u':'1'", i);
                buf_addf(&fields, "%s'f:k%u':{}", i ? "," : "", i);
        }
        const struct value *there = config_map(
                arena_strf(a, "'a':'1'%s", data.p).p, "",
                arena_strf(a, MAP_OURS "," MAP_ENTRY("kubectl-edit", "Update", "{'f:data':{%s}}"), fields.p).p);
        struct decide_input in = input(flags_in_git(), there);
        size_t before = arena_bytes(a);

        in.remove_extra = true;
        struct decision d = decided(&in);
        assert_int_equal(d.verdict, DECIDE_PATCH);
        assert_int_equal(d.note_count, 8000);
        assert_true(arena_bytes(a) - before < 100 * MIB);
        buf_done(&data);
        buf_done(&fields);
}

static void a_patch_needs_the_object_as_the_server_has_it(void **state) {
        const struct value *there = config_map(
                "'a':'1','zz':'2'", "", MAP_OURS "," MAP_ENTRY("kubectl-edit", "Update", "{'f:data':{'f:zz':{}}}"));
        const struct str fields[] = { STR("metadata"), STR("managedFields") };
        struct decide_input in = input(flags_in_git(), value_with_path(a, there, fields, 2, NULL));
        struct managed m = owners_of(a, there);
        struct decision d;

        (void)state;
        in.remove_extra = true;
        in.managed = &m;
        assert_int_equal(decide(&in, a, &d, NULL), ERR_INVAL);
        in.live = there;
        assert_int_equal(decided(&in).verdict, DECIDE_PATCH);
}

static void an_object_of_people_or_leftovers_may_want_a_patch(void **state) {
        const char *const yes[] = { "kubectl-edit", "kubectl-client-side-apply", "before-first-apply", "helm" };
        struct decide_input in = { 0 };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
                struct managed m = { &(struct managed_entry){ .manager = str_from(yes[i]), .operation = MANAGED_UPDATE }, 1 };

                assert_true(decide_may_tidy(&in, &m));
        }
        struct managed argo = { &(struct managed_entry){ .manager = STR("argocd-controller"), .operation = MANAGED_APPLY }, 1 };
        assert_false(decide_may_tidy(&in, &argo));
        in.adopt_argocd = true;
        assert_true(decide_may_tidy(&in, &argo));
        struct managed ours = { &(struct managed_entry){ .manager = STR(OWN_MANAGER), .operation = MANAGED_APPLY }, 1 };
        assert_false(decide_may_tidy(&in, &ours));
}

static void names_are_there_for_every_verdict_and_note(void **state) {
        (void)state;
        for (int v = DECIDE_NOTHING; v <= DECIDE_REFUSE; v++)
                assert_true(strlen(decide_verdict_name((enum decide_verdict)v)) > 0);
        for (int k = DECIDE_YIELDED; k <= DECIDE_REMOVED; k++)
                assert_true(strlen(decide_note_name((enum decide_note_kind)k)) > 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(what_does_not_exist_is_created_without_uid),
                CASE(a_scaled_object_is_born_with_a_seed),
                CASE(a_converged_object_needs_no_request),
                CASE(a_fingerprint_needs_no_proof),
                CASE(a_change_is_applied_with_uid_and_without_force),
                CASE(an_apply_that_drops_a_path_carries_the_resource_version),
                CASE(replicas_of_a_new_scaler_are_handed_over_first),
                CASE(replicas_that_another_holds_are_just_left),
                CASE(scaled_replicas_are_no_drift),
                CASE(kept_replicas_come_back_after_the_hold),
                CASE(a_dead_scalers_number_is_taken_back_knowingly),
                CASE(leftovers_of_client_side_apply_do_not_keep_what_git_removed),
                CASE(what_another_owner_keeps_stays_and_is_reported),
                CASE(an_applied_part_of_a_removed_item_is_refused_by_name),
                CASE(objects_of_controllers_and_of_others_are_refused),
                CASE(a_dying_object_is_waited_for),
                CASE(incomplete_input_is_an_error),
                CASE(an_ignored_path_inside_an_atomic_node_keeps_its_live_value),
                CASE(causes_are_read_as_the_server_writes_them),
                CASE(git_takes_from_people_by_force_under_resource_version),
                CASE(what_is_fought_over_is_left_out_while_the_other_one_has_it),
                CASE(what_was_fought_over_and_is_ours_again_is_kept),
                CASE(an_override_keeps_what_people_changed_and_nothing_else),
                CASE(an_override_keeps_a_manual_scale),
                CASE(another_controllers_path_is_left_out_and_remembered),
                CASE(a_restart_recalls_what_was_withheld_by_the_fingerprint),
                CASE(one_force_takes_only_what_policy_takes),
                CASE(a_status_writers_claim_on_spec_is_taken),
                CASE(a_conflict_the_live_object_does_not_show_is_not_guessed_at),
                CASE(a_diff_foretells_what_a_person_no_longer_keeps),
                CASE(what_a_person_added_is_told_and_left_alone),
                CASE(what_others_of_ours_may_write_is_written_as_it_was_seen),
                CASE(extra_paths_of_others_are_their_business),
                CASE(what_is_gone_again_is_not_extra),
                CASE(an_item_a_person_added_is_told_as_a_whole),
                CASE(defaults_of_what_a_client_created_are_not_extra),
                CASE(what_is_to_go_can_be_thought_away),
                CASE(thousands_of_additions_cost_little_memory),
                CASE(a_patch_needs_the_object_as_the_server_has_it),
                CASE(an_object_of_people_or_leftovers_may_want_a_patch),
                CASE(names_are_there_for_every_verdict_and_note),
        };

        return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
