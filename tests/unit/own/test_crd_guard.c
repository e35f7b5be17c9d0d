/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "own/crd_guard.h"
#include "own/decide.h"
#include "arena_test.h"

#define STRING   "{'type':'string'}"
#define INTEGER  "{'type':'integer'}"
#define FREE     "{'type':'object','x-kubernetes-preserve-unknown-fields':true}"
#define MAP      "{'type':'object','additionalProperties':" STRING "}"
#define STORED   "'served':true,'storage':true"
#define SERVED   "'served':true,'storage':false"
#define UNSERVED "'served':false,'storage':false"
#define VERSION(name, how, fields)                                                                                     \
        "{'name':'" name "'," how                                                                                      \
        ",'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object',"                         \
        "'properties':{" fields "}}}}}}"

static const struct value *crd(const char *versions, const char *more, const char *stored) {
        return json(
                a,
                arena_strf(a,
                           "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':"
                           "{'name':'widgets.example.io'},'spec':{'versions':[%s]%s},'status':{'storedVersions':[%s]}}",
                           versions, more, stored)
                        .p);
}

static const char *refusal(const struct value *live, const struct value *desired, bool conversion_stays) {
        struct str reason = { 0 };

        return crd_guard_refuses(live, desired, conversion_stays, a, &reason) ? reason.p : "";
}

/* From one to the other under strategy None, stored as v1. */
static const char *change(const char *from, const char *to) {
        return refusal(crd(from, "", "'v1'"), crd(to, "", ""), false);
}

#define OLD VERSION("v1", STORED, "'host':" STRING ",'port':" INTEGER)

static void assert_holds(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void a_stored_version_is_not_dropped(void **state) {
        const char *why = refusal(crd(VERSION("v1", SERVED, "") "," VERSION("v2", STORED, ""), "", "'v1','v2'"),
                                  crd(VERSION("v2", STORED, ""), "", ""), false);

        (void)state;
        assert_holds(why, "version v1 cannot be dropped");
        assert_holds(why, "make v2 the storage version");
        assert_holds(why, "kubectl get widgets.example.io -A -o json | kubectl replace -f -");
        assert_holds(why, "{\"status\":{\"storedVersions\":[\"v2\"]}}");
        /* The only one: what is left is what becomes the storage version. */
        assert_holds(change(OLD, VERSION("v2", STORED, "'host':" STRING)), "[\"v2\"]");
}

static void a_stored_version_that_is_only_not_served_any_more_stays(void **state) {
        (void)state;
        assert_string_equal(refusal(crd(VERSION("v1", SERVED, "") "," VERSION("v2", STORED, ""), "", "'v1','v2'"),
                                    crd(VERSION("v1", UNSERVED, "") "," VERSION("v2", STORED, ""), "", ""), false),
                            "");
        assert_string_equal(refusal(crd(VERSION("v1", SERVED, "") "," VERSION("v2", STORED, ""), "", "'v2'"),
                                    crd(VERSION("v2", STORED, ""), "", ""), false),
                            "");
}

static void a_new_version_that_lacks_fields_is_refused(void **state) {
        const char *why = change(OLD, OLD "," VERSION("v2", SERVED, "'hostname':" STRING ",'port':" INTEGER));

        (void)state;
        assert_holds(why, "objects stored as v1 would lose .spec.host by passing through v2");
        assert_holds(why, "spec.conversion.strategy: Webhook");
        assert_null(strstr(why, ".spec.port"));
}

static void a_new_version_that_has_all_fields_is_fine(void **state) {
        static const char *const fine[] = {
                OLD "," VERSION("v2", SERVED, "'host':" STRING ",'port':" INTEGER ",'more':" STRING),
                OLD "," VERSION("v2", SERVED, "'host':" STRING ",'port':{'type':'number'}"),
                OLD "," VERSION("v2", UNSERVED, ""),
                VERSION("v1", STORED, "'host':" STRING ",'port':" INTEGER ",'more':" STRING),
                VERSION("v1", STORED, "'host':" STRING),
                VERSION("v1", STORED, "") "," VERSION("v2", SERVED, ""),
                OLD ",{'name':'v2'," SERVED ",'schema':{'openAPIV3Schema':" FREE "}}",
                OLD ",{'name':'v2'," SERVED ",'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':" FREE
                    "}}}}",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(fine); i++)
                if (change(OLD, fine[i])[0])
                        fail_msg("row %zu: %s", i, change(OLD, fine[i]));
}

static void another_type_is_a_loss(void **state) {
        (void)state;
        assert_holds(change(OLD, OLD "," VERSION("v2", SERVED, "'host':" STRING ",'port':" STRING)),
                     ".spec.port (another type)");
        assert_string_equal(change(OLD, OLD "," VERSION("v2", SERVED,
                                                        "'host':" STRING ",'port':{'type':'string',"
                                                        "'x-kubernetes-int-or-string':true}")),
                            "");
}

static void losses_deep_down_are_found(void **state) {
        static const char *const rows[][3] = {
                { "'a':{'type':'array','items':{'type':'object','properties':{'x':" STRING "}}}",
                  "'a':{'type':'array','items':{'type':'object','properties':{'y':" STRING "}}}", ".spec.a[].x" },
                { "'a':{'type':'object','additionalProperties':{'type':'object','properties':{'x':" STRING "}}}",
                  "'a':{'type':'object','additionalProperties':{'type':'object','properties':{}}}", ".spec.a.*.x" },
                { "'a':" FREE, "'a':{'type':'object','properties':{'x':" STRING "}}", ".spec.a (fields of any name)" },
                { "'a':" MAP, "'a':{'type':'object','properties':{'x':" STRING "}}", ".spec.a (fields of any name)" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *old = arena_strf(a, VERSION("v1", STORED, "%s"), rows[i][0]).p;
                const char *new = arena_strf(a, "%s," VERSION("v2", SERVED, "%s"), old, rows[i][1]).p;

                assert_holds(change(old, new), rows[i][2]);
        }
        assert_string_equal(change(VERSION("v1", STORED, "'a':{'type':'object','properties':{'x':" STRING "}}"),
                                   VERSION("v1", STORED,
                                           "'a':{'type':'object','properties':{'x':" STRING
                                           "}}") "," VERSION("v2", SERVED, "'a':" MAP)),
                            "");
}

static void many_losses_are_counted(void **state) {
        const char *old =
                VERSION("v1", STORED, "'a':" STRING ",'b':" STRING ",'c':" STRING ",'d':" STRING ",'e':" STRING);

        (void)state;
        assert_holds(change(old, arena_strf(a, "%s," VERSION("v2", SERVED, ""), old).p),
                     ".spec.a, .spec.b, .spec.c and 2 more");
}

static void the_storage_version_moves_only_to_where_all_fit(void **state) {
        const char *both = OLD "," VERSION("v2", SERVED, "'host':" STRING);

        (void)state;
        assert_holds(change(both, VERSION("v1", SERVED, "'host':" STRING ",'port':" INTEGER) "," VERSION(
                                          "v2", STORED, "'host':" STRING)),
                     ".spec.port by passing through v2");
        assert_string_equal(change(both, VERSION("v1", SERVED, "'host':" STRING ",'port':" INTEGER) "," VERSION(
                                                 "v2", STORED, "'host':" STRING ",'port':" INTEGER)),
                            "");
}

static void what_was_so_before_is_not_held_against_a_change(void **state) {
        const char *both = OLD "," VERSION("v2", SERVED, "'host':" STRING);

        (void)state;
        assert_string_equal(change(both, VERSION("v1", STORED,
                                                 "'host':" STRING ",'port':" INTEGER
                                                 ",'new':" STRING) "," VERSION("v2", SERVED, "'host':" STRING)),
                            "");
        /* It was lossy in one field; now in another, too. */
        assert_holds(change(both, OLD "," VERSION("v2", SERVED, "")), "would lose .spec.host by");
}

static void a_field_that_leaves_all_versions_is_a_wish(void **state) {
        (void)state;
        assert_string_equal(change(OLD "," VERSION("v2", SERVED, "'host':" STRING ",'port':" INTEGER),
                                   VERSION("v1", STORED, "'host':" STRING) "," VERSION("v2", SERVED, "'host':" STRING)),
                            "");
}

static void a_webhook_converts(void **state) {
        static const char hook[] = ",'conversion':{'strategy':'Webhook'}", none[] = ",'conversion':{'strategy':'None'}";
        const char *both = OLD "," VERSION("v2", SERVED, "");

        (void)state;
        assert_string_equal(refusal(crd(OLD, "", "'v1'"), crd(both, hook, ""), false), "");
        assert_string_equal(refusal(crd(both, hook, "'v1'"), crd(both, "", ""), true), "");
        /* Taking the webhook away makes of different versions lossy ones. */
        assert_holds(refusal(crd(both, hook, "'v1'"), crd(both, "", ""), false), ".spec.host");
        assert_holds(refusal(crd(both, hook, "'v1'"), crd(both, none, ""), false), ".spec.host");
        assert_string_equal(refusal(crd(OLD, "", "'v1'"), crd(both, ",'preserveUnknownFields':true", ""), false), "");
}

static void other_kinds_and_old_forms_do_not_concern_it(void **state) {
        const struct value *old =
                json(a, "{'apiVersion':'apiextensions.k8s.io/v1beta1','kind':'CustomResourceDefinition'}");

        (void)state;
        assert_false(crd_guard_concerns(old));
        assert_false(crd_guard_concerns(NULL));
        assert_string_equal(refusal(old, crd(OLD, "", ""), false), "");
        assert_string_equal(refusal(NULL, crd(OLD, "", ""), false), "");
        assert_string_equal(refusal(crd(OLD, "", ""), crd("", "", ""), false), "");
}

static void a_decision_refuses_before_anything_is_sent(void **state) {
        static const struct hash_key key = { .k0 = 1 };
        const struct value *live = json(
                a,
                arena_strf(
                        a,
                        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{'name':"
                        "'widgets.example.io','uid':'u','resourceVersion':'3','managedFields':[]},'spec':{'versions':"
                        "[%s]},'status':{'storedVersions':['v1']}}",
                        OLD)
                        .p);
        struct decide_input in = { .desired = crd(VERSION("v2", STORED, ""), "", ""), .live = live, .key = &key };
        struct decision d;

        (void)state;
        for (enum decide_mode mode = DECIDE_AUTO; mode <= DECIDE_DIFF; mode++) {
                in.mode = mode;
                assert_int_equal(decide(&in, a, &d, NULL), 0);
                assert_int_equal(d.verdict, DECIDE_REFUSE);
                assert_holds(d.reason.p, "version v1 cannot be dropped");
        }
        in.desired = crd(OLD "," VERSION("v2", SERVED, "'host':" STRING ",'port':" INTEGER), "", "");
        assert_int_equal(decide(&in, a, &d, NULL), 0);
        assert_int_equal(d.verdict, DECIDE_DRY_RUN);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_stored_version_is_not_dropped),
                CASE(a_stored_version_that_is_only_not_served_any_more_stays),
                CASE(a_new_version_that_lacks_fields_is_refused),
                CASE(a_new_version_that_has_all_fields_is_fine),
                CASE(another_type_is_a_loss),
                CASE(losses_deep_down_are_found),
                CASE(many_losses_are_counted),
                CASE(the_storage_version_moves_only_to_where_all_fit),
                CASE(what_was_so_before_is_not_held_against_a_change),
                CASE(a_field_that_leaves_all_versions_is_a_wish),
                CASE(a_webhook_converts),
                CASE(other_kinds_and_old_forms_do_not_concern_it),
                CASE(a_decision_refuses_before_anything_is_sent),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
