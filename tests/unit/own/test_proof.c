/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "own/fingerprint.h"
#include "own/proof.h"
#include "arena_test.h"

static const struct hash_key key = { 3, 4 };

/* One case: what Git says, what is there, what we own. A Deployment unless the case names another kind. */
struct claim {
        const char *desired, *live, *set;
        enum proof_reason want;
};

static const struct value *live_object(const char *kind, const char *body, const char *fields) {
        struct str text = arena_strf(
                a,
                "{%s,'metadata':{'name':'x','uid':'u','managedFields':[{'manager':'truce','operation':'Apply',"
                "'apiVersion':'apps/v1','fieldsV1':%s}]%s}",
                kind, fields, body);
        return json(a, text.p);
}

static const struct value *desired_object(const char *kind, const char *body) {
        return json(a, arena_strf(a, "{%s,'metadata':{'name':'x'%s}", kind, body).p);
}

#define DEPLOYMENT "'apiVersion':'apps/v1','kind':'Deployment'"

static struct proof prove(const struct value *desired, const struct value *live, const struct schema *type) {
        struct managed m = owners_of(a, live);

        return proof_no_op(desired, live, &m, type, a);
}

static void check(const struct claim *claims, size_t count, const struct schema *type) {
        for (size_t i = 0; i < count; i++) {
                struct proof p = prove(desired_object(DEPLOYMENT, claims[i].desired),
                                       live_object(DEPLOYMENT, claims[i].live, claims[i].set), type);

                if (p.reason != claims[i].want)
                        fail_msg("%s over %s: %s at %.*s", claims[i].desired, claims[i].live,
                                 proof_reason_text(p.reason), STR_FMT(p.path));
                assert_int_equal(p.holds, claims[i].want == PROOF_HOLDS);
        }
}

static const struct schema *deployment(void) {
        return schema_builtin(a, STR("apps/v1"), STR("Deployment"));
}

static void an_object_as_applied_is_proven(void **state) {
        static const struct claim claims[] = {
                { "},'spec':{'replicas':2,'selector':{'matchLabels':{'a':'b'}}}",
                  "},'spec':{'replicas':2,'selector':{'matchLabels':{'a':'b'}},'paused':true},'status':{'replicas':1}",
                  "{'f:spec':{'f:replicas':{},'f:selector':{}}}", PROOF_HOLDS },
                { ",'labels':{'a':'b'}}", ",'labels':{'a':'b','theirs':'x'}}", "{'f:metadata':{'f:labels':{'f:a':{}}}}",
                  PROOF_HOLDS },
                { "}", "},'spec':{'replicas':1}", "{}", PROOF_HOLDS },
                { ",'labels':{}}", ",'labels':{'theirs':'x'}}", "{'f:metadata':{'f:labels':{}}}", PROOF_HOLDS },
                { "},'spec':{'strategy':{}}", "},'spec':{'strategy':{'type':'Recreate'}}",
                  "{'f:spec':{'f:strategy':{}}}", PROOF_HOLDS },
                { ",'finalizers':['a','b']}", ",'finalizers':['x','a','y','b']}",
                  "{'f:metadata':{'f:finalizers':{'v:\\'a\\'':{},'v:\\'b\\'':{}}}}", PROOF_HOLDS },
        };

        (void)state;
        check(claims, ARRAY_LEN(claims), deployment());
}

#define CONTAINERS(items) "},'spec':{'template':{'spec':{'containers':[" items "]}}}"
#define OWN_C(fields)                                                                                                  \
        "{'f:spec':{'f:template':{'f:spec':{'f:containers':{'k:{\\'name\\':\\'c\\'}':{'.':{},'f:name':{}" fields       \
        "}}}}}}"
#define OWN_TWO                                                                                                        \
        "{'f:spec':{'f:template':{'f:spec':{'f:containers':{'k:{\\'name\\':\\'c\\'}':{'.':{},'f:name':{}},'k:{\\'"     \
        "name\\':\\'d\\'}':{'."                                                                                        \
        "':{},'f:name':{}}}}}}}"

static void list_items_are_found_by_their_keys(void **state) {
        static const struct claim claims[] = {
                { CONTAINERS("{'name':'c'}"), CONTAINERS("{'name':'sidecar'},{'name':'c','image':'injected'}"),
                  OWN_C(""), PROOF_HOLDS },
                { CONTAINERS("{'name':'c','ports':[{'containerPort':80}]}"),
                  CONTAINERS("{'name':'c','ports':[{'containerPort':80,'protocol':'TCP'}]}"),
                  OWN_C(",'f:ports':{'k:{\\'containerPort\\':80,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:containerPort':{}"
                        "}}"),
                  PROOF_HOLDS },
                { CONTAINERS("{'name':'c'},{'name':'d'}"), CONTAINERS("{'name':'c'},{'name':'x'},{'name':'d'}"),
                  OWN_TWO, PROOF_HOLDS },
                { CONTAINERS("{'name':'d'},{'name':'c'}"), CONTAINERS("{'name':'c'},{'name':'d'}"), OWN_TWO,
                  PROOF_ORDER },
                { CONTAINERS("{'name':'c'},{'name':'c'}"), CONTAINERS("{'name':'c'}"), OWN_C(""), PROOF_REPEATED },
                { CONTAINERS("{'name':'c'}"), CONTAINERS("{'name':'c'},{'name':'c'}"), OWN_C(""), PROOF_REPEATED },
                { CONTAINERS("{'name':'c'}"), CONTAINERS("{'name':'d'}"), OWN_C(""), PROOF_ABSENT },
                { CONTAINERS("{'name':'c'},{'name':'d'}"), CONTAINERS("{'name':'c'},{'name':'d'}"), OWN_C(""),
                  PROOF_NOT_OWNED },
                { CONTAINERS("{'name':'c'}"), CONTAINERS("{'name':'c'},{'name':'d'}"), OWN_TWO, PROOF_NOT_DESIRED },
                { CONTAINERS("{'image':'c'}"), CONTAINERS("{'name':'c'}"), OWN_C(""), PROOF_NOT_OWNED },
                { CONTAINERS("'c'"), CONTAINERS("{'name':'c'}"), OWN_C(""), PROOF_SCHEMA },
        };

        (void)state;
        check(claims, ARRAY_LEN(claims), deployment());
}

static void whatever_an_apply_would_change_is_not_proven(void **state) {
        static const struct claim claims[] = {
                { "},'spec':{'replicas':3}", "},'spec':{'replicas':2}", "{'f:spec':{'f:replicas':{}}}", PROOF_VALUE },
                { "},'spec':{'replicas':3}", "},'spec':{'replicas':3}", "{}", PROOF_NOT_OWNED },
                { "},'spec':{}", "},'spec':{'replicas':3}", "{'f:spec':{'f:replicas':{}}}", PROOF_NOT_DESIRED },
                { "}", "},'spec':{'replicas':3}", "{'f:spec':{'f:replicas':{}}}", PROOF_NOT_DESIRED },
                { "},'spec':{'replicas':3}", "},'spec':{}", "{'f:spec':{'f:replicas':{}}}", PROOF_ABSENT },
                { "},'spec':{'replicas':'3'}", "},'spec':{'replicas':3}", "{'f:spec':{'f:replicas':{}}}", PROOF_VALUE },
                { "},'spec':{'replicas':3.0}", "},'spec':{'replicas':3}", "{'f:spec':{'f:replicas':{}}}", PROOF_VALUE },
                { "},'spec':{'replicas':null}", "},'spec':{'replicas':3}", "{'f:spec':{'f:replicas':{}}}", PROOF_NULL },
                { "},'spec':{'strategy':{'type':'Recreate'}}", "},'spec':{'strategy':{'type':'Recreate'}}",
                  "{'f:spec':{'f:strategy':{}}}", PROOF_NOT_OWNED },
                { "},'spec':{'strategy':{}}", "},'spec':{'strategy':{'type':'Recreate'}}",
                  "{'f:spec':{'f:strategy':{'f:type':{}}}}", PROOF_NOT_DESIRED },
                { "},'spec':{'selector':{}}", "},'spec':{'selector':{'matchLabels':{}}}",
                  "{'f:spec':{'f:selector':{}}}", PROOF_VALUE },
                { "},'spec':{'selector':{'a':['x','y']}}", "},'spec':{'selector':{'a':['y','x']}}",
                  "{'f:spec':{'f:selector':{}}}", PROOF_VALUE },
                { "},'spec':{'selector':{'a':null}}", "},'spec':{'selector':{'a':null}}",
                  "{'f:spec':{'f:selector':{}}}", PROOF_VALUE },
                /* A set that was not written by an apply of this type would be rewritten. */
                { ",'labels':{'a':'b'}}", ",'labels':{'a':'b'}}", "{'f:metadata':{'f:labels':{'.':{},'f:a':{}}}}",
                  PROOF_SCHEMA },
                { ",'labels':{'a':'b'}}", ",'labels':{'a':'b'}}", "{'f:metadata':{'.':{},'f:labels':{'f:a':{}}}}",
                  PROOF_SCHEMA },
                { "},'spec':{'selector':{'a':'b'}}", "},'spec':{'selector':{'a':'b'}}",
                  "{'f:spec':{'f:selector':{'f:a':{}}}}", PROOF_SCHEMA },
                { ",'finalizers':['b','a']}", ",'finalizers':['a','b']}",
                  "{'f:metadata':{'f:finalizers':{'v:\\'a\\'':{},'v:\\'b\\'':{}}}}", PROOF_ORDER },
                { ",'finalizers':['a','a']}", ",'finalizers':['a']}",
                  "{'f:metadata':{'f:finalizers':{'v:\\'a\\'':{}}}}", PROOF_REPEATED },
                { ",'finalizers':['a']}", ",'finalizers':['a']}", "{'f:metadata':{'f:finalizers':{'i:0':{}}}}",
                  PROOF_SCHEMA },
                { "},'stringData':{'a':'b'}", "},'data':{'a':'Yg=='}", "{'f:stringData':{'f:a':{}}}", PROOF_ABSENT },
                { "},'status':{}", "},'status':{}", "{}", PROOF_IDENTITY },
                { ",'uid':'u'}", "}", "{}", PROOF_IDENTITY },
                { ",'namespace':'n'}", "}", "{}", PROOF_IDENTITY },
        };

        (void)state;
        check(claims, ARRAY_LEN(claims), deployment());
}

static void versions_kinds_and_entries_must_agree(void **state) {
        const struct value *d = desired_object(DEPLOYMENT, "}"), *l = live_object(DEPLOYMENT, "}", "{}");
        struct managed none = { 0 };

        (void)state;
        assert_int_equal(prove(d, l, deployment()).reason, PROOF_HOLDS);
        assert_int_equal(proof_no_op(d, l, &none, deployment(), a).reason, PROOF_NOT_OURS);
        assert_int_equal(prove(d, live_object(DEPLOYMENT, "}", "{'x:':{}}"), deployment()).reason, PROOF_NOT_OURS);
        assert_int_equal(prove(desired_object("'apiVersion':'apps/v1beta1','kind':'Deployment'", "}"), l, NULL).reason,
                         PROOF_VERSION);
        assert_int_equal(prove(desired_object("'apiVersion':'apps/v1','kind':'DaemonSet'", "}"), l, NULL).reason,
                         PROOF_VERSION);
        /* Git and the live object are read in one version, our entry was written in another. */
        assert_int_equal(prove(desired_object("'apiVersion':'x/v2','kind':'K'", "}"),
                               live_object("'apiVersion':'x/v2','kind':'K'", "}", "{}"), NULL)
                                 .reason,
                         PROOF_VERSION);
}

static void an_unknown_type_proves_only_what_the_set_shows(void **state) {
        static const struct claim claims[] = {
                { "},'spec':{'a':{'b':1},'l':[{'id':'x','v':1}]}",
                  "},'spec':{'a':{'b':1,'c':2},'l':[{'id':'x','v':1},{'id':'y'}]}",
                  "{'f:spec':{'f:a':{'f:b':{}},'f:l':{'k:{\\'id\\':\\'x\\'}':{'.':{},'f:id':{},'f:v':{}}}}}",
                  PROOF_HOLDS },
                { "},'spec':{'a':{'b':1}}", "},'spec':{'a':{'b':1}}", "{'f:spec':{'f:a':{}}}", PROOF_SCHEMA },
                { "},'spec':{'a':[1]}", "},'spec':{'a':[1]}", "{'f:spec':{'f:a':{}}}", PROOF_SCHEMA },
                { "},'spec':{'a':[]}", "},'spec':{'a':[]}", "{'f:spec':{'f:a':{}}}", PROOF_SCHEMA },
                { "},'spec':{'a':{}}", "},'spec':{'a':{}}", "{'f:spec':{'f:a':{}}}", PROOF_HOLDS },
                { "},'spec':{'a':{}}", "},'spec':{'a':{'b':1}}", "{'f:spec':{'f:a':{}}}", PROOF_SCHEMA },
                { "},'spec':{'a':{'b':1}}", "},'spec':{'a':{'b':1}}", "{'f:spec':{'f:a':{'.':{},'f:b':{}}}}",
                  PROOF_SCHEMA },
                /* The item may have its second key by a default that we do not know. */
                { "},'spec':{'l':[{'p':1}]}", "},'spec':{'l':[{'p':1,'q':'TCP'}]}",
                  "{'f:spec':{'f:l':{'k:{\\'p\\':1,\\'q\\':\\'TCP\\'}':{'.':{},'f:p':{}}}}}", PROOF_SCHEMA },
        };

        (void)state;
        check(claims, ARRAY_LEN(claims), NULL);
}

static bool print(const struct value *desired, const struct value *live, const struct schema *type,
                  struct hash128 *ret) {
        struct managed m = owners_of(a, live);

        return fingerprint_of(&key, desired, live, &m, type, a, ret, NULL) == 0;
}

/* Is the fingerprint of (desired, live) that of (desired2, live2)? */
static bool same_print(const char *desired, const char *live, const char *set, const char *desired2, const char *live2,
                       const char *set2) {
        struct hash128 one, two;

        assert_true(print(desired_object(DEPLOYMENT, desired), live_object(DEPLOYMENT, live, set), deployment(), &one));
        assert_true(
                print(desired_object(DEPLOYMENT, desired2), live_object(DEPLOYMENT, live2, set2), deployment(), &two));
        return hash128_eq(one, two);
}

static void a_fingerprint_stays_while_nothing_of_ours_moves(void **state) {
        const char *own = OWN_TWO;

        (void)state;
        assert_true(same_print(
                CONTAINERS("{'name':'c'},{'name':'d'}"), CONTAINERS("{'name':'c','image':'x'},{'name':'d'}"), own,
                CONTAINERS("{'name':'c'},{'name':'d'}"),
                CONTAINERS("{'name':'c','image':'y'},{'name':'injected'},{'name':'d'}") ",'status':{'x':1}", own));
        /* An owned `{}` of a struct is its being there. */
        assert_true(same_print("},'spec':{'strategy':{}}", "},'spec':{'strategy':{'type':'A'}}",
                               "{'f:spec':{'f:strategy':{}}}", "},'spec':{'strategy':{}}",
                               "},'spec':{'strategy':{'type':'B'}}", "{'f:spec':{'f:strategy':{}}}"));
}

static void a_fingerprint_moves_with_everything_of_ours(void **state) {
        const char *own = OWN_TWO, *cd = CONTAINERS("{'name':'c'},{'name':'d'}"),
                   *dc = CONTAINERS("{'name':'d'},{'name':'c'}");
        const char *replicas = "{'f:spec':{'f:replicas':{}}}";

        (void)state;
        assert_false(same_print(cd, cd, own, dc, cd, own));
        assert_false(same_print(cd, cd, own, cd, dc, own));
        assert_false(same_print(cd, cd, own, cd, cd, OWN_C("")));
        assert_false(same_print(cd, cd, own, cd, CONTAINERS("{'name':'c'}"), own));
        assert_false(same_print("},'spec':{'replicas':1}", "},'spec':{'replicas':1}", replicas,
                                "},'spec':{'replicas':1}", "},'spec':{'replicas':2}", replicas));
        assert_false(same_print("},'spec':{'replicas':1}", "},'spec':{'replicas':1}", replicas,
                                "},'spec':{'replicas':1}", "},'spec':{}", replicas));
        assert_false(same_print("},'spec':{'selector':{}}", "},'spec':{'selector':{'a':1}}",
                                "{'f:spec':{'f:selector':{}}}", "},'spec':{'selector':{}}",
                                "},'spec':{'selector':{'a':2}}", "{'f:spec':{'f:selector':{}}}"));
        /* An empty keyed list is in no set; still its coming and going counts. */
        assert_false(same_print(CONTAINERS(""), CONTAINERS(""), "{'f:spec':{'f:template':{'f:spec':{'f:x':{}}}}}",
                                CONTAINERS(""), "},'spec':{'template':{'spec':{}}}",
                                "{'f:spec':{'f:template':{'f:spec':{'f:x':{}}}}}"));
}

static void a_fingerprint_depends_on_the_key_and_the_version_of_our_entry(void **state) {
        const struct value *d = desired_object(DEPLOYMENT, "}"), *l = live_object(DEPLOYMENT, "}", "{}");
        const struct hash_key other = { 5, 6 };
        struct managed m = owners_of(a, l);
        struct managed_entry entry = m.entries[0];
        struct hash128 one, two;

        (void)state;
        assert_int_equal(fingerprint_of(&key, d, l, &m, NULL, a, &one, NULL), 0);
        assert_int_equal(fingerprint_of(&other, d, l, &m, NULL, a, &two, NULL), 0);
        assert_false(hash128_eq(one, two));
        entry.api_version = STR("apps/v1beta1");
        m.entries = &entry;
        assert_int_equal(fingerprint_of(&key, d, l, &m, NULL, a, &two, NULL), 0);
        assert_false(hash128_eq(one, two));
}

static void no_fingerprint_where_it_could_be_wrong(void **state) {
        struct managed none = { 0 };
        struct hash128 h;
        const struct value *d = desired_object(DEPLOYMENT, "}");
        const struct value *l = live_object(DEPLOYMENT, "},'spec':{'l':[{'p':1}]}",
                                            "{'f:spec':{'f:l':{'k:{\\'p\\':1,\\'q\\':\\'TCP\\'}':{'.':{}}}}}");
        struct managed m = owners_of(a, l);

        (void)state;
        assert_int_equal(fingerprint_of(&key, d, l, &none, NULL, a, &h, NULL), ERR_NOTFOUND);
        assert_int_equal(fingerprint_of(&key, d, l, &m, NULL, a, &h, NULL), ERR_UNSUPPORTED);
        assert_null(own_project(l, managed_ours(&m)->set, NULL, a));
}

static void a_projection_is_what_we_own(void **state) {
        const struct value *l = json(
                a,
                "{'metadata':{'finalizers':['x','b','y','a']},'spec':{'selector':{'a':{'b':1}},'other':1,'gone':2}}");
        const struct fieldset *s =
                set(a, "{'f:metadata':{'f:finalizers':{'v:\\'a\\'':{},'v:\\'b\\'':{},'v:\\'c\\'':{}}},'f:spec':{"
                       "'f:selector':{},'f:absent':{}}}");

        (void)state;
        assert_text(value_canonical(a, own_project(l, s, deployment(), a)),
                    "{\"metadata\":{\"finalizers\":[\"b\",\"a\"]},\"spec\":{\"selector\":{\"a\":{\"b\":1}}}}");
        assert_text(value_canonical(a, own_project(l, &fieldset_empty, NULL, a)), "{}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_object_as_applied_is_proven),
                cmocka_unit_test(list_items_are_found_by_their_keys),
                cmocka_unit_test(whatever_an_apply_would_change_is_not_proven),
                cmocka_unit_test(versions_kinds_and_entries_must_agree),
                cmocka_unit_test(an_unknown_type_proves_only_what_the_set_shows),
                cmocka_unit_test(a_fingerprint_stays_while_nothing_of_ours_moves),
                cmocka_unit_test(a_fingerprint_moves_with_everything_of_ours),
                cmocka_unit_test(a_fingerprint_depends_on_the_key_and_the_version_of_our_entry),
                cmocka_unit_test(no_fingerprint_where_it_could_be_wrong),
                cmocka_unit_test(a_projection_is_what_we_own),
        };

        return cmocka_run_group_tests_name("proof", tests, setup, teardown);
}
