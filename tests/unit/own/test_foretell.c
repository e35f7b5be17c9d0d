/* SPDX-License-Identifier: Apache-2.0 */
#include "decide_test.h"
#include "own/foretell.h"

#define WEB "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','namespace':'shop'"
#define ENTRY(manager, op, sub, fields)                                                                                \
        "{'manager':'" manager "','operation':'" op "','subresource':'" sub                                            \
        "','apiVersion':'apps/v1','time':'2026-11-01T00:00:09Z','fieldsV1':" fields "}"

static const struct value *git(const char *spec) {
        return json(a, arena_strf(a, WEB "},'spec':{%s}}", spec).p);
}

static const struct value *live(const char *more, const char *spec, const char *entries) {
        return json(a, arena_strf(a, WEB ",'uid':'u1','resourceVersion':'9','creationTimestamp':'2026-11-01T00:00:00Z'%s,"
                                     "'managedFields':[%s]},'spec':{%s}}", more, entries, spec).p);
}

/* What the server answers to the first apply is `answer`; the rest is foretold. */
static struct foretold told(const struct decide_input *in, const struct value *answer) {
        struct decision first = { 0 };
        struct foretold f = { 0 };
        struct err err = { 0 };

        if (decide(in, a, &first, &err) < 0 || foretell(in, &first, answer, a, &f, &err) < 0)
                fail_msg("%s", err.msg);
        assert_int_equal(f.open.n, 0);
        return f;
}

static struct decide_input input(const struct value *desired, const struct value *now, struct managed *owners) {
        *owners = owners_of(a, now);
        return (struct decide_input){ .desired = desired, .live = now, .managed = owners, .key = &key, .scalers = ix,
                                      .mode = DECIDE_DIFF, .adopted = true, .remove_extra = true };
}

static const struct hand *hand_of(const struct hand *hands, size_t count, const char *path) {
        for (size_t i = 0; i < count; i++)
                if (str_eqc(field_path_text(a, hands[i].path), path))
                        return &hands[i];
        fail_msg("no hand of %s", path);
        return NULL;
}

static const struct decide_note *note_of(const struct foretold *f, enum decide_note_kind kind, const char *path) {
        for (size_t i = 0; i < f->note_count; i++)
                if (f->notes[i].kind == kind && str_eqc(field_path_text(a, f->notes[i].path), path))
                        return &f->notes[i];
        return NULL;
}

#define LAST_APPLIED "'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{}'}"
#define F_LAST_APPLIED "'f:metadata':{'f:annotations':{'.':{},'f:kubectl.kubernetes.io/last-applied-configuration':{}}}"

static void kubectls_part_is_superseded(void **state) {
        const char *kubectl = ENTRY("kubectl-client-side-apply", "Update", "",
                                    "{" F_LAST_APPLIED ",'f:spec':{'f:paused':{},'f:minReadySeconds':{}}}");
        const char *both = arena_strf(a, "%s," ENTRY("truce", "Apply", "", "{'f:spec':{'f:paused':{}}}"), kubectl).p;
        struct managed owners;
        const struct value *now = live("," LAST_APPLIED, "'paused':true,'minReadySeconds':3", kubectl);
        struct decide_input in = input(git("'paused':true"), now, &owners);
        struct foretold f = told(&in, live("," LAST_APPLIED, "'paused':true,'minReadySeconds':3", both));
        const struct hand *hands;
        size_t count = foretell_hands(&in, &f, a, &hands);

        (void)state;
        assert_int_equal(hand_of(hands, count, ".spec.paused")->kind, HAND_CHANGES);
        assert_text(hand_of(hands, count, ".spec.paused")->owner->manager, "kubectl-client-side-apply");
        assert_int_equal(hand_of(hands, count, ".spec.minReadySeconds")->kind, HAND_STAYS);
        assert_null(hand_of(hands, count, ".spec.minReadySeconds")->note);
        assert_null(value_path(f.object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration", NULL));
        assert_non_null(value_path(f.object, "spec", "minReadySeconds", NULL));
}

static void what_a_person_added_goes(void **state) {
        const char *person = ENTRY("kubectl-edit", "Update", "", "{'f:spec':{'f:minReadySeconds':{}}}");
        const char *both = arena_strf(a, "%s," ENTRY("truce", "Apply", "", "{'f:spec':{'f:paused':{}}}"), person).p;
        struct managed owners;
        struct decide_input in = input(git("'paused':true"), live("", "'minReadySeconds':3", person), &owners);
        struct foretold f = told(&in, live("", "'paused':true,'minReadySeconds':3", both));
        const struct hand *hands;
        size_t count = foretell_hands(&in, &f, a, &hands);

        (void)state;
        assert_null(value_path(f.object, "spec", "minReadySeconds", NULL));
        assert_int_equal(hand_of(hands, count, ".spec.minReadySeconds")->kind, HAND_GOES);
        assert_int_equal(hand_of(hands, count, ".spec.paused")->kind, HAND_NEW);
        assert_non_null(note_of(&f, DECIDE_REMOVED, ".spec.minReadySeconds"));
        assert_null(note_of(&f, DECIDE_LEAVING, ".spec.minReadySeconds"));
}

static void another_deployer_shares_what_it_applied(void **state) {
        const char *flux = ENTRY("kustomize-controller", "Apply", "", "{'f:spec':{'f:paused':{}}}");
        const char *both = arena_strf(a, "%s," ENTRY("truce", "Apply", "", "{'f:spec':{'f:paused':{}}}"), flux).p;
        struct managed owners;
        struct decide_input in = input(git("'paused':true"), live("", "'paused':true", flux), &owners);
        struct foretold f = told(&in, live("", "'paused':true", both));
        const struct hand *hands;
        size_t count = foretell_hands(&in, &f, a, &hands);

        (void)state;
        assert_int_equal(hand_of(hands, count, ".spec.paused")->kind, HAND_SHARED);
        assert_text(hand_of(hands, count, ".spec.paused")->owner->manager, "kustomize-controller");
}

static void argo_cd_loses_its_part_once_it_is_given_up(void **state) {
        const char *argo = ENTRY("argocd-controller", "Apply", "", "{'f:spec':{'f:paused':{}}}");
        const char *both = arena_strf(a, "%s," ENTRY("truce", "Apply", "", "{'f:spec':{'f:paused':{}}}"), argo).p;
        struct managed owners;
        struct decide_input in = input(git("'paused':true"), live("", "'paused':true", argo), &owners);
        const struct hand *hands;
        size_t count;

        (void)state;
        struct foretold f = told(&in, live("", "'paused':true", both));
        count = foretell_hands(&in, &f, a, &hands);
        assert_int_equal(hand_of(hands, count, ".spec.paused")->kind, HAND_SHARED);
        in.adopt_argocd = true;
        f = told(&in, live("", "'paused':true", both));
        count = foretell_hands(&in, &f, a, &hands);
        assert_int_equal(hand_of(hands, count, ".spec.paused")->kind, HAND_CHANGES);
}

static void an_autoscaler_keeps_its_number(void **state) {
        const char *hpa = ENTRY("kube-controller-manager", "Update", "scale", "{'f:spec':{'f:replicas':{}}}");
        const char *both = arena_strf(a, "%s," ENTRY("truce", "Apply", "", "{'f:spec':{'f:paused':{}}}"), hpa).p;
        struct managed owners;
        struct decide_input in = input(git("'paused':true,'replicas':2"), live("", "'replicas':6", hpa), &owners);
        const struct hand *hands;

        (void)state;
        assert_int_equal(scaler_index_set(ix, json(a, "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler',"
                                                      "'metadata':{'name':'h','namespace':'shop'},'spec':{'scaleTargetRef':"
                                                      "{'apiVersion':'apps/v1','kind':'Deployment','name':'web'}}}"),
                                          SCALER_LIVE, NULL), 0);
        struct foretold f = told(&in, live("", "'paused':true,'replicas':6", both));
        size_t count = foretell_hands(&in, &f, a, &hands);
        assert_int_equal(hand_of(hands, count, ".spec.replicas")->kind, HAND_STAYS);
        assert_int_equal(hand_of(hands, count, ".spec.replicas")->note->kind, DECIDE_YIELDED);
}

static void an_answer_without_owners_is_told_as_it_is(void **state) {
        struct managed owners;
        const struct value *bad = json(a, WEB ",'uid':'u1','managedFields':{}}}");
        struct decide_input in = input(git("'paused':true"), live("", "'paused':true", ""), &owners);
        struct decision first = { 0 };
        struct foretold f;
        struct err err = { 0 };

        (void)state;
        assert_int_equal(decide(&in, a, &first, &err), 0);
        assert_int_equal(foretell(&in, &first, bad, a, &f, &err), ERR_PARSE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(kubectls_part_is_superseded, begin, end),
                cmocka_unit_test_setup_teardown(what_a_person_added_goes, begin, end),
                cmocka_unit_test_setup_teardown(another_deployer_shares_what_it_applied, begin, end),
                cmocka_unit_test_setup_teardown(argo_cd_loses_its_part_once_it_is_given_up, begin, end),
                cmocka_unit_test_setup_teardown(an_autoscaler_keeps_its_number, begin, end),
                cmocka_unit_test_setup_teardown(an_answer_without_owners_is_told_as_it_is, begin, end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
