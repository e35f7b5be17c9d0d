/* SPDX-License-Identifier: Apache-2.0 */
/* Git's values in the live spelling, where they are the same. */
#include "own_test.h"

#include "own/respell.h"

static struct arena *a;

static int begin(void **state) {
        (void)state;
        a = arena_new(0);
        return 0;
}

static int end(void **state) {
        (void)state;
        arena_free(a);
        return 0;
}

static const char *respelt(const char *git, const char *live, const struct respell_knowledge *known) {
        static const struct respell_knowledge nothing = { 0 };
        const struct value *g = json(a, git);
        const struct schema *type = schema_builtin(a, value_text(value_getc(g, "apiVersion")), value_text(value_getc(g, "kind")));

        return value_canonical(a, respell(g, live ? json(a, live) : NULL, known ? known : &nothing, type, a)).p;
}

#define POD(container) "{'apiVersion':'v1','kind':'Pod','spec':{'containers':[" container "]}}"

static void expect(const char *got, const char *want) {
        assert_string_equal(got, quoted(a, want).p);
}

static void quantities_of_built_in_kinds_follow_the_live_spelling(void **state) {
        (void)state;
        expect(respelt(POD("{'name':'w','resources':{'limits':{'cpu':1,'memory':'1024Mi'}}}"),
                       POD("{'name':'x'},{'name':'w','resources':{'limits':{'cpu':'1','memory':'1Gi'}}}"), NULL),
               POD("{'name':'w','resources':{'limits':{'cpu':'1','memory':'1Gi'}}}"));
        expect(respelt(POD("{'name':'w','resources':{'limits':{'cpu':'2'}}}"),
                       POD("{'name':'w','resources':{'limits':{'cpu':'1'}}}"), NULL),
               POD("{'name':'w','resources':{'limits':{'cpu':'2'}}}"));
}

static void nothing_else_changes(void **state) {
        static const char git[] = POD("{'args':['1000m'],'name':'w','ports':[{'containerPort':80}],'resources':{'limits':null}}");
        const struct value *g = json(a, git);
        const struct value *live = json(a, POD("{'name':'w','args':['1'],'ports':[{'containerPort':81}],'resources':{'limits':{'cpu':'1'}}}"));

        (void)state;
        assert_ptr_equal(respell(g, live, &(struct respell_knowledge){ 0 }, schema_builtin(a, STR("v1"), STR("Pod")), a), g);
        assert_ptr_equal(respell(g, NULL, &(struct respell_knowledge){ 0 }, NULL, a), g);
        assert_ptr_equal(respell(g, json(a, "{'spec':[]}"), &(struct respell_knowledge){ 0 }, NULL, a), g);
}

static void a_known_field_is_found_through_lists(void **state) {
        static const struct str names[] = { { "spec", 4 }, { "steps", 5 }, { "container", 9 } };
        const struct known_field field = { names, 3, STR("core/v1/Container") };
        const struct respell_knowledge known = { NULL, &field, 1 };

        (void)state;
        expect(respelt("{'apiVersion':'e.com/v1','kind':'X','spec':{'steps':[{'container':{'resources':{'requests':{'cpu':'0.5'}}}}]}}",
                       "{'spec':{'steps':[{'container':{'resources':{'requests':{'cpu':'500m'}}}}]}}", &known),
               "{'apiVersion':'e.com/v1','kind':'X','spec':{'steps':[{'container':{'resources':{'requests':{'cpu':'500m'}}}}]}}");
}

static void types_are_checked_by_name(void **state) {
        static const char *const good[] = { "core/v1/PodSpec", "core/v1/Container", "core/v1/SecretKeySelector", "core/Quantity",
                                            "core/v1/ResourceList", "meta/v1/Duration" };
        struct err err;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(good); i++)
                if (known_type_check(str_from(good[i]), &err) < 0)
                        fail_msg("%s", err.msg);
        assert_int_equal(known_type_check(STR("core/v1/PodSpek"), &err), ERR_INVAL);
        assert_string_equal(err.msg, "unknown type \"core/v1/PodSpek\", did you mean core/v1/PodSpec?");
        assert_int_equal(known_type_check(STR("core/Quantities"), &err), ERR_INVAL);
        assert_non_null(strstr(err.msg, "did you mean core/Quantity?"));
        assert_int_equal(known_type_check(STR(""), &err), ERR_INVAL);
        assert_int_equal(known_type_check(STR("apps/v1/DeploymentSpec"), &err), ERR_INVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(quantities_of_built_in_kinds_follow_the_live_spelling, begin, end),
                cmocka_unit_test_setup_teardown(nothing_else_changes, begin, end),
                cmocka_unit_test_setup_teardown(a_known_field_is_found_through_lists, begin, end),
                cmocka_unit_test_setup_teardown(types_are_checked_by_name, begin, end),
        };

        return cmocka_run_group_tests_name("respell", tests, NULL, NULL);
}
