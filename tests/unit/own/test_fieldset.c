/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "arena_test.h"

static void a_set_prints_as_the_server_prints_it(void **state) {
        static const char *const texts[] = {
                "{}",
                "{'f:data':{'f:a':{},'f:b':{}}}",
                "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}}}",
                "{'f:spec':{'f:containers':{'k:{\\'name\\':\\'c\\'}':{'.':{},'f:image':{}}}}}",
                "{'f:spec':{'f:ports':{'k:{\\'port\\':80,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:port':{}}}}}",
                "{'f:metadata':{'f:finalizers':{'v:\\'a\\'':{},'v:\\'b\\'':{}}}}",
                "{'f:x':{'i:0':{},'i:1':{},'i:10':{}}}",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct str want = quoted(a, texts[i]);
                const char *text = want.p;

                /* The escaped quotes of keys became \" above, which is what JSON wants. */
                assert_text(fieldset_text(a, set(a, texts[i])), text);
                assert_text(value_canonical(a, fieldset_to_value(a, set(a, texts[i]))), text);
        }
}

static void members_sort_by_kind_then_value(void **state) {
        (void)state;
        assert_text(fieldset_text(a, set(a, "{'i:2':{},'v:true':{},'v:\\'x\\'':{},'v:10':{},'v:9':{},'f:z':{},'f:a':{},"
                                            "'k:{\\'b\\':1}':{},'k:{\\'a\\':2,\\'b\\':0}':{}}")),
                    quoted(a, "{'f:a':{},'f:z':{},'k:{\\'a\\':2,\\'b\\':0}':{},'k:{\\'b\\':1}':{},'v:9':{},'v:10':{},"
                              "'v:\\'x\\'':{},'v:true':{},'i:2':{}}")
                            .p);
}

static void html_characters_are_escaped_as_go_does(void **state) {
        struct str text = STR("{\"f:x\":{\"v:\\\"a<b&c>\\\"\":{}}}");
        const struct fieldset *s;

        (void)state;
        assert_int_equal(fieldset_parse_text(text, a, &s, NULL), 0);
        assert_text(fieldset_text(a, s), "{\"f:x\":{\"v:\\\"a\\\\u003cb\\\\u0026c\\\\u003e\\\"\":{}}}");
}

static void what_is_no_set_is_refused(void **state) {
        static const char *const texts[] = {
                "[]",
                "'x'",
                "{'x:y':{}}",
                "{'f':{}}",
                "{'f:a':1}",
                "{'f:a':null}",
                "{'f:a':{'.':{'f:b':{}}}}",
                "{'f:a':{'.':1}}",
                "{'k:{}':{}}",
                "{'k:[1]':{}}",
                "{'k:{\\'a\\':{}}':{}}",
                "{'v:{}':{}}",
                "{'v:nonsense':{}}",
                "{'v:1 2':{}}",
                "{'i:x':{}}",
                "{'i:':{}}",
                "{'':{}}",
                "{'k:{\\'a\\':1':{}}",
                "{'k:{\\'a\\':1,\\'b\\':2}':{},'k:{\\'b\\':2,\\'a\\':1}':{}}",
        };
        const struct fieldset *s;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                if (fieldset_parse(json(a, texts[i]), a, &s, NULL) != ERR_PARSE)
                        fail_msg("%s was read", texts[i]);
}

static void nothing_reads_as_the_empty_set(void **state) {
        const struct fieldset *s;

        (void)state;
        assert_int_equal(fieldset_parse(NULL, a, &s, NULL), 0);
        assert_true(fieldset_is_empty(s));
        assert_int_equal(fieldset_parse(&value_null, a, &s, NULL), 0);
        assert_true(fieldset_is_empty(s));
        assert_true(fieldset_is_empty(set(a, "{'.':{}}")));
}

static void covering_and_containing_differ(void **state) {
        const struct fieldset *s = set(a, "{'f:spec':{'f:selector':{},'f:template':{'.':{},'f:x':{}}}}");

        (void)state;
        assert_true(fieldset_contains(s, dotted(a, "spec.selector")));
        assert_false(fieldset_contains(s, dotted(a, "spec.selector.app")));
        assert_true(fieldset_covers(s, NULL, dotted(a, "spec.selector.app")));
        assert_false(fieldset_covers(s, NULL, dotted(a, "spec.template.y")));
        assert_true(fieldset_covers(s, NULL, dotted(a, "spec.template.x")));
        assert_false(fieldset_covers(s, NULL, dotted(a, "spec")));
        assert_true(fieldset_touches(s, dotted(a, "spec")));
        assert_false(fieldset_touches(s, dotted(a, "status")));
        assert_false(fieldset_covers(&fieldset_empty, NULL, dotted(a, "spec")));
}

/* A creator's `f:data: {}` is what is left of its entry when somebody else removed all of its keys. */
static void an_emptied_map_owns_nothing_that_comes_into_it(void **state) {
        const struct schema *map = schema_builtin(a, STR("v1"), STR("ConfigMap"));
        const struct schema *service = schema_builtin(a, STR("v1"), STR("Service"));
        const struct schema *pods = schema_builtin(a, STR("apps/v1"), STR("Deployment"));
        const struct schema *foreign = schema_builtin(a, STR("example.io/v1"), STR("Widget"));
        const struct fieldset *s = set(a, "{'f:data':{},'f:spec':{'f:selector':{},'f:x':{}}}");

        (void)state;
        assert_true(fieldset_covers(s, map, dotted(a, "data")));
        assert_false(fieldset_covers(s, map, dotted(a, "data.key")));
        assert_true(fieldset_covers(s, NULL, dotted(a, "data.key")));
        assert_true(fieldset_covers(s, service, dotted(a, "spec.selector.app"))); /* atomic */
        assert_true(fieldset_covers(s, foreign, dotted(a, "spec.x.y"))); /* nothing is known of it */

        s = set(a, "{'f:spec':{'f:template':{'f:spec':{'f:nodeSelector':{},'f:securityContext':{}}}}}");
        assert_true(fieldset_covers(s, pods, dotted(a, "spec.template.spec.nodeSelector.zone")));
        assert_false(fieldset_covers(s, pods, dotted(a, "spec.template.spec.securityContext.runAsUser")));
}

static void a_removed_leaf_takes_empty_parents_along(void **state) {
        const struct fieldset *s = set(a, "{'f:spec':{'f:a':{'f:b':{}},'f:c':{'.':{},'f:d':{}}}}");

        (void)state;
        s = fieldset_remove(a, s, dotted(a, "spec.a.b"));
        assert_text(fieldset_text(a, s), quoted(a, "{'f:spec':{'f:c':{'.':{},'f:d':{}}}}").p);
        s = fieldset_remove(a, s, dotted(a, "spec.c.d"));
        assert_text(fieldset_text(a, s), quoted(a, "{'f:spec':{'f:c':{}}}").p);
        s = fieldset_insert(a, s, dotted(a, "spec.c.e.f"));
        assert_text(fieldset_text(a, s), quoted(a, "{'f:spec':{'f:c':{'.':{},'f:e':{'f:f':{}}}}}").p);
        s = fieldset_without(a, s, dotted(a, "spec"));
        assert_true(fieldset_is_empty(s));
}

static void under_and_without_split_a_set(void **state) {
        const struct fieldset *s = set(a, "{'f:a':{'f:b':{'.':{},'f:c':{}},'f:d':{}}}");
        const struct fieldset *in = fieldset_under(a, s, dotted(a, "a.b")),
                              *out = fieldset_without(a, s, dotted(a, "a.b"));

        (void)state;
        assert_text(fieldset_text(a, in), quoted(a, "{'f:a':{'f:b':{'.':{},'f:c':{}}}}").p);
        assert_text(fieldset_text(a, out), quoted(a, "{'f:a':{'f:d':{}}}").p);
        assert_true(fieldset_equal(fieldset_union(a, in, out), s));
        assert_true(fieldset_is_empty(fieldset_under(a, s, dotted(a, "x"))));
}

static void untracked_metadata_is_stripped(void **state) {
        const struct fieldset *s = set(
                a, "{'f:apiVersion':{},'f:kind':{},'f:metadata':{'.':{},'f:name':{},'f:uid':{},'f:managedFields':{'.':"
                   "{},'f:x':{}},'f:labels':{'f:a':{}}},'f:spec':{'f:kind':{}}}");

        (void)state;
        assert_text(fieldset_text(a, fieldset_strip(a, s)),
                    quoted(a, "{'f:metadata':{'f:labels':{'f:a':{}}},'f:spec':{'f:kind':{}}}").p);
        assert_true(fieldset_is_stripped(dotted(a, "metadata.uid")));
        assert_true(fieldset_is_stripped(dotted(a, "kind")));
        assert_false(fieldset_is_stripped(dotted(a, "metadata.labels")));
        assert_false(fieldset_is_stripped(dotted(a, "spec.name")));
        assert_false(fieldset_is_stripped((struct field_path){ 0 }));
}

static void the_set_of_a_deployment_is_what_an_apply_owns(void **state) {
        const struct value *d = json(
                a, "{'apiVersion':'apps/"
                   "v1','kind':'Deployment','metadata':{'name':'d','namespace':'n','labels':{'app':'x'}},"
                   "'spec':{'replicas':2,'strategy':{},'selector':{'matchLabels':{'app':'x'}},'template':{'metadata':{"
                   "'labels':{'app':'x'}},'spec':{'nodeSelector':{'a':'b'},'containers':[{'name':'c','image':'i',"
                   "'args':['x'],'env':[],'ports':[{'containerPort':80}]}]}}}}");
        bool exact = false;
        const struct schema *type = schema_builtin(a, STR("apps/v1"), STR("Deployment"));
        const struct fieldset *s = fieldset_of_value(d, type, a, &exact);

        (void)state;
        assert_true(exact);
        assert_text(fieldset_text(a, s),
                    quoted(a, "{'f:metadata':{'f:labels':{'f:app':{}}},'f:spec':{'f:replicas':{},'f:selector':{},'f:"
                              "strategy':{},"
                              "'f:template':{'f:metadata':{'f:labels':{'f:app':{}}},'f:spec':{'f:containers':{"
                              "'k:{\\'name\\':\\'c\\'}':{'.':{},'f:args':{},'f:image':{},'f:name':{},'f:ports':{"
                              "'k:{\\'containerPort\\':80,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:containerPort':{}}}}},"
                              "'f:nodeSelector':{}}}}}")
                            .p);
}

static void an_unknown_type_makes_the_set_inexact(void **state) {
        const struct schema *type = schema_builtin(a, STR("x.y/v1"), STR("Z"));
        bool exact = true;

        (void)state;
        fieldset_of_value(json(a, "{'metadata':{'labels':{'a':'b'}},'spec':'x','status':{}}"), type, a, &exact);
        assert_true(exact);
        fieldset_of_value(json(a, "{'spec':{'a':1}}"), type, a, &exact);
        assert_false(exact);
        fieldset_of_value(json(a, "{'spec':[]}"), type, a, &exact);
        assert_false(exact);
}

/* Random sets over a small alphabet, so that they meet. */
static uint64_t seed = 1;

static unsigned roll(unsigned n) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        return (unsigned)(seed >> 33) % n;
}

static struct path_element random_element(void) {
        static const char *const spellings[] = {
                "f:a", "f:b",    "f:c.d", "k:{\"name\":\"x\"}", "k:{\"name\":\"y\",\"port\":1}", "v:\"s\"",
                "v:7", "v:true", "i:3"
        };
        struct path_element e;

        assert_int_equal(path_element_parse(str_from(spellings[roll(ARRAY_LEN(spellings))]), a, &e, NULL), 0);
        return e;
}

static struct field_path random_path(void) {
        struct field_path p = { 0 };

        for (unsigned depth = 1 + roll(4); depth > 0; depth--)
                p = field_path_join(a, p, random_element());
        return p;
}

static const struct fieldset *random_set(void) {
        const struct fieldset *s = &fieldset_empty;

        for (unsigned n = roll(12); n > 0; n--)
                s = fieldset_insert(a, s, random_path());
        return s;
}

static void printing_and_parsing_are_inverse(void **state) {
        (void)state;
        for (int round = 0; round < 500; round++) {
                const struct fieldset *s = random_set(), *back;

                assert_int_equal(fieldset_parse_text(fieldset_text(a, s), a, &back, NULL), 0);
                assert_true(fieldset_equal(s, back));
                assert_int_equal(fieldset_parse(fieldset_to_value(a, s), a, &back, NULL), 0);
                assert_true(fieldset_equal(s, back));
        }
}

static void the_laws_of_sets_hold(void **state) {
        const struct hash_key key = { 1, 2 };

        (void)state;
        for (int round = 0; round < 500; round++) {
                const struct fieldset *x = random_set(), *y = random_set(), *z = random_set();
                const struct fieldset *both = fieldset_intersect(a, x, y), *any = fieldset_union(a, x, y);

                assert_true(fieldset_equal(any, fieldset_union(a, y, x)));
                assert_true(fieldset_equal(both, fieldset_intersect(a, y, x)));
                assert_true(fieldset_equal(fieldset_union(a, any, z), fieldset_union(a, x, fieldset_union(a, y, z))));
                assert_true(fieldset_equal(fieldset_intersect(a, x, fieldset_union(a, y, z)),
                                           fieldset_union(a, both, fieldset_intersect(a, x, z))));
                assert_true(fieldset_equal(fieldset_union(a, fieldset_subtract(a, x, y), both), x));
                assert_true(fieldset_is_empty(fieldset_intersect(a, fieldset_subtract(a, x, y), y)));
                assert_true(fieldset_is_empty(fieldset_subtract(a, x, x)));
                assert_true(fieldset_equal(fieldset_union(a, x, x), x));
                assert_int_equal(fieldset_count(any) + fieldset_count(both), fieldset_count(x) + fieldset_count(y));
                assert_true(hash128_eq(fieldset_hash(&key, any), fieldset_hash(&key, fieldset_union(a, y, x))));
        }
}

static void membership_agrees_with_the_list_of_paths(void **state) {
        (void)state;
        for (int round = 0; round < 300; round++) {
                const struct fieldset *s = random_set();
                const struct field_path *paths;
                size_t count = fieldset_paths(s, a, &paths);
                struct field_path p = random_path();
                bool listed = false;

                assert_int_equal(count, fieldset_count(s));
                for (size_t i = 0; i < count; i++) {
                        assert_true(fieldset_contains(s, paths[i]));
                        assert_true(fieldset_covers(s, NULL, paths[i]));
                        listed = listed || field_path_equal(paths[i], p);
                }
                assert_int_equal(listed, fieldset_contains(s, p));
                assert_int_equal(fieldset_count(fieldset_insert(a, s, p)), count + !listed);
                assert_int_equal(fieldset_count(fieldset_remove(a, s, p)), count - listed);
        }
}

static void subtracting_whole_takes_branches(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct fieldset *x = set(a, "{'f:spec':{'.':{},'f:a':{},'f:b':{'f:c':{}}},'f:status':{'f:x':{}}}");

        (void)state;
        assert_text(fieldset_text(a, fieldset_subtract_whole(a, x, set(a, "{'f:status':{}}"))),
                    quoted(a, "{'f:spec':{'.':{},'f:a':{},'f:b':{'f:c':{}}}}").p);
        assert_text(fieldset_text(a, fieldset_subtract_whole(a, x, set(a, "{'f:spec':{'f:b':{}},'f:status':{'f:y':{}}}"))),
                    quoted(a, "{'f:spec':{'.':{},'f:a':{}},'f:status':{'f:x':{}}}").p);
        assert_text(fieldset_text(a, fieldset_subtract_whole(a, x, set(a, "{'f:status':{'f:x':{'f:deeper':{}}}}"))),
                    fieldset_text(a, x).p);
        assert_ptr_equal(fieldset_subtract_whole(a, x, &fieldset_empty), x);
}

static void a_built_node_is_sorted_and_joined(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct fieldset_builder b = { 0 };
        struct fieldset leaf = { .member = true };

        (void)state;
        fieldset_build_add(&b, path_field(STR("z")), leaf);
        fieldset_build_add(&b, path_field(STR("a")), *set(a, "{'f:x':{}}"));
        fieldset_build_add(&b, path_field(STR("empty")), fieldset_empty);
        fieldset_build_add(&b, path_field(STR("z")), *set(a, "{'f:y':{}}"));
        struct fieldset built = fieldset_build_end(&b, a, false);

        assert_int_equal(b.count, 0);
        assert_null(b.children);
        assert_text(fieldset_text(a, &built), quoted(a, "{'f:a':{'f:x':{}},'f:z':{'.':{},'f:y':{}}}").p);
        fieldset_build_add(&b, path_field(STR("dropped")), leaf);
        fieldset_build_drop(&b);
        assert_null(b.children);
}

static void all_paths_of_an_object_are_more_than_its_owned_ones(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *v = json(a, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'},'data':{'k':'v'}}");
        const struct schema *type = schema_builtin(a, STR("v1"), STR("ConfigMap"));

        (void)state;
        assert_text(fieldset_text(a, fieldset_of_all(v, type, a)),
                    quoted(a, "{'f:apiVersion':{},'f:data':{'f:k':{}},'f:kind':{},'f:metadata':{'f:name':{}}}").p);
        assert_text(fieldset_text(a, fieldset_of_value(v, type, a, NULL)), quoted(a, "{'f:data':{'f:k':{}}}").p);
        assert_true(fieldset_is_empty(fieldset_of_all(NULL, type, a)));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_set_prints_as_the_server_prints_it),
                cmocka_unit_test(members_sort_by_kind_then_value),
                cmocka_unit_test(html_characters_are_escaped_as_go_does),
                cmocka_unit_test(what_is_no_set_is_refused),
                cmocka_unit_test(nothing_reads_as_the_empty_set),
                cmocka_unit_test(covering_and_containing_differ),
                cmocka_unit_test(an_emptied_map_owns_nothing_that_comes_into_it),
                cmocka_unit_test(a_removed_leaf_takes_empty_parents_along),
                cmocka_unit_test(under_and_without_split_a_set),
                cmocka_unit_test(untracked_metadata_is_stripped),
                cmocka_unit_test(the_set_of_a_deployment_is_what_an_apply_owns),
                cmocka_unit_test(an_unknown_type_makes_the_set_inexact),
                cmocka_unit_test(printing_and_parsing_are_inverse),
                cmocka_unit_test(the_laws_of_sets_hold),
                cmocka_unit_test(membership_agrees_with_the_list_of_paths),
                cmocka_unit_test(subtracting_whole_takes_branches),
                cmocka_unit_test(a_built_node_is_sorted_and_joined),
                cmocka_unit_test(all_paths_of_an_object_are_more_than_its_owned_ones),
        };

        return cmocka_run_group_tests_name("fieldset", tests, setup, teardown);
}
