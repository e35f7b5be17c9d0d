/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "own/immutable.h"
#include "arena_test.h"

static const struct value *object(const char *api, const char *kind, const char *body) {
        return json(a, arena_strf(a, "{'apiVersion':'%s','kind':'%s','metadata':{'name':'x','namespace':'shop'},%s}",
                                  api, kind, body)
                               .p);
}

/* What is said about one cause; "" when it is about something else. */
static const char *said(const struct value *git, const struct value *live, bool secret, const char *field,
                        const char *message) {
        const struct immutable_cause cause = { str_from(field), str_from(message) };
        const struct immutable_refusal r = { git, live, secret, &cause, 1 };
        _cleanup_(buf_done) struct buf b = buf_make(64 * 1024);

        if (!immutable_explain(&r, &b)) {
                assert_int_equal(b.n, 0);
                return "";
        }
        return arena_str(a, buf_str(&b)).p;
}

static void assert_holds(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void a_selector_is_told_leaf_by_leaf(void **state) {
        const char *text = said(object("apps/v1", "Deployment", "'spec':{'selector':{'matchLabels':{'app':'new'}}}"),
                                object("apps/v1", "Deployment", "'spec':{'selector':{'matchLabels':{'app':'old'}}}"),
                                false, "spec.selector", "Invalid value: {}: field is immutable");

        (void)state;
        assert_holds(
                text,
                "spec.selector.matchLabels.app cannot be changed: Git wants \"new\", live is \"old\". What helps: ");
        assert_holds(text, "kubectl delete deployment x -n shop");
}

#define STS_WORDS                                                                                                      \
        "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "            \
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "  \
        "forbidden"

static void of_a_whole_spec_only_what_may_not_change_is_told(void **state) {
        const char *text =
                said(object("apps/v1", "StatefulSet", "'spec':{'replicas':3,'template':{'x':1},'serviceName':'new'}"),
                     object("apps/v1", "StatefulSet",
                            "'spec':{'replicas':1,'template':{'x':2},'serviceName':'old',"
                            "'podManagementPolicy':'OrderedReady'}"),
                     false, "spec", STS_WORDS);

        (void)state;
        assert_holds(text, "spec.serviceName cannot be changed: Git wants \"new\", live is \"old\".");
        assert_null(strstr(text, "spec.replicas"));
        assert_null(strstr(text, "spec.template"));
        assert_null(strstr(text, "podManagementPolicy"));
        assert_holds(text, "kubectl delete statefulset x -n shop --cascade=orphan keeps its Pods");
}

static void a_claims_exceptions_are_read_from_the_first_line(void **state) {
        const char *text = said(object("v1", "PersistentVolumeClaim",
                                       "'spec':{'resources':{'requests':{'storage':'2Gi'}},'storageClassName':'fast'}"),
                                object("v1", "PersistentVolumeClaim",
                                       "'spec':{'resources':{'requests':{'storage':'1Gi'}},'storageClassName':'slow'}"),
                                false, "spec",
                                "Forbidden: spec is immutable after creation except resources.requests and "
                                "volumeAttributesClassName for bound claims\n\tstorageClassName: \"slow\"");

        (void)state;
        assert_holds(text, "spec.storageClassName cannot be changed: Git wants \"fast\", live is \"slow\"");
        assert_null(strstr(text, "storage\":"));
        assert_holds(text, "lose the data unless its volume is retained");
}

static void a_services_address_is_told_under_gits_name(void **state) {
        const struct immutable_cause causes[] = {
                { STR("spec.clusterIPs[0]"), STR("Invalid value: [\"10.0.0.9\"]: may not change once set") },
                { STR("spec.clusterIP"), STR("Invalid value: may not change once set") },
        };
        const struct immutable_refusal r = {
                object("v1", "Service", "'spec':{'clusterIP':'10.0.0.9'}"),
                object("v1", "Service", "'spec':{'clusterIP':'10.0.0.1','clusterIPs':['10.0.0.1']}"), false, causes, 2
        };
        _cleanup_(buf_done) struct buf b = buf_make(4096);

        (void)state;
        assert_true(immutable_explain(&r, &b));
        assert_holds(
                b.p,
                "spec.clusterIP cannot be changed: Git wants \"10.0.0.9\", live is \"10.0.0.1\". What helps: leave "
                "clusterIP");
        assert_null(strstr(b.p, "clusterIPs cannot"));
}

static void a_jobs_template_names_containers_not_numbers(void **state) {
        const char *text = said(
                object("batch/v1", "Job", "'spec':{'template':{'spec':{'containers':[{'name':'c','image':'b:2'}]}}}"),
                object("batch/v1", "Job",
                       "'spec':{'template':{'spec':{'containers':[{'name':'c','image':'b:1','x':1}]}}}"),
                false, "spec.template", "Invalid value: {…}: field is immutable");

        (void)state;
        assert_holds(text,
                     "spec.template.spec.containers[c].image cannot be changed: Git wants \"b:2\", live is \"b:1\"");
        assert_holds(text, "a Job runs once");
}

static void a_secrets_values_are_never_told(void **state) {
        const struct value *git = object("v1", "Secret", "'immutable':true,'data':{'k':'bmV3'}");
        const struct value *live = object("v1", "Secret", "'immutable':true,'data':{'k':'b2xk'}");
        const char *text = said(git, live, true, "data", "");

        (void)state;
        assert_holds(text, "data.k cannot be changed: Git wants (hidden), live is (hidden)");
        assert_null(strstr(text, "bmV3"));
        assert_null(strstr(text, "b2xk"));
        assert_holds(said(object("v1", "Secret", "'type':'a'"), object("v1", "Secret", "'type':'b'"), true, "type", ""),
                     "type cannot be changed: Git wants (hidden)");
        assert_string_equal(said(git, object("v1", "Secret", "'data':{'k':'b2xk'}"), true, "data", ""), "");
}

static void a_custom_kind_is_named_with_its_group(void **state) {
        const struct value *git = object("example.io/v1", "Widget", "'spec':{'size':'L'}");
        const struct value *live = object("example.io/v1", "Widget", "'spec':{'size':'M'}");

        (void)state;
        assert_holds(said(git, live, false, "spec.size", "Invalid value: \"string\": size is immutable"),
                     "kubectl delete widget.example.io x -n shop");
}

static void other_refusals_keep_the_servers_words(void **state) {
        const struct value *o = object("v1", "Service", "'spec':{'ports':[]}");

        (void)state;
        assert_string_equal(said(o, o, false, "spec.ports", "Required value"), "");
        assert_string_equal(said(o, NULL, false, "spec.ports", "field is immutable"), "");
        assert_string_equal(said(o, o, false, "spec.ports", "Invalid value: provided port is already allocated"), "");
}

static void a_field_that_cannot_be_found_is_named(void **state) {
        const struct value *git = object("v1", "Service", "'spec':{'a':[1]}");

        (void)state;
        assert_holds(said(git, git, false, "spec.a[7].x", "field is immutable"),
                     "spec.a[7].x cannot be changed. What helps: ");
        assert_holds(said(git, git, false, "spec.a[", "field is immutable"), "spec.a[ cannot be changed. ");
        assert_holds(said(git, git, false, "", "field is immutable"), " cannot be changed. ");
        assert_holds(said(git, git, false, "spec.a[0", "field is immutable"), "spec.a[0 cannot be changed. ");
        assert_holds(said(git, git, false, "spec.a[99999999999999999999999]", "field is immutable"),
                     "cannot be changed. ");
}

static void many_and_long_values_are_cut(void **state) {
        const struct value *git = object("v1", "ConfigMap", "'data':{'a':'1','b':'1','c':'1','d':'1','e':'1'}");
        const struct value *live =
                object("v1", "ConfigMap", "'data':{'a':'äääääääääääääääääääääääääääääääääääääääääääääää'}");
        const char *text = said(git, live, false, "data", "Forbidden: field is immutable when `immutable` is set");

        (void)state;
        assert_holds(text, "data.c cannot be changed: Git wants \"1\", live is nothing; and 2 more. What helps: ");
        assert_holds(text, "ä…");
        assert_true(str_find(str_from(text), '\n', 0) < 0);
        for (const char *p = text; *p; p++)
                assert_false(((unsigned char)p[0] & 0xe0) == 0xc0 && ((unsigned char)p[1] & 0xc0) != 0x80);
}

static void lists_of_other_lengths_are_told_whole(void **state) {
        assert_holds(said(object("batch/v1", "Job", "'spec':{'a':[1,2]}"),
                          object("batch/v1", "Job", "'spec':{'a':[1]}"), false, "spec.a", "field is immutable"),
                     "spec.a cannot be changed: Git wants [1,2], live is [1].");
        (void)state;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_selector_is_told_leaf_by_leaf),
                CASE(of_a_whole_spec_only_what_may_not_change_is_told),
                CASE(a_claims_exceptions_are_read_from_the_first_line),
                CASE(a_services_address_is_told_under_gits_name),
                CASE(a_jobs_template_names_containers_not_numbers),
                CASE(a_secrets_values_are_never_told),
                CASE(a_custom_kind_is_named_with_its_group),
                CASE(other_refusals_keep_the_servers_words),
                CASE(a_field_that_cannot_be_found_is_named),
                CASE(many_and_long_values_are_cut),
                CASE(lists_of_other_lengths_are_told_whole),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
