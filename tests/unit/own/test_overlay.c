/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "own/overlay.h"
#include "arena_test.h"

static void expect(const char *api_version, const char *kind, const char *base, const char *top, const char *want) {
        const struct schema *type = schema_builtin(a, str_from(api_version), str_from(kind));
        const struct value *have = own_overlay(a, base ? json(a, base) : NULL, json(a, top), type);

        if (!value_equal(have, json(a, want)))
                fail_msg("got %.*s", STR_FMT(value_canonical(a, have)));
}

static void maps_are_merged_and_values_replaced(void **state) {
        (void)state;
        expect("v1", "ConfigMap", "{'data':{'a':'1','b':'2'},'x':1}", "{'data':{'a':'9'}}",
               "{'data':{'a':'9','b':'2'},'x':1}");
        expect("v1", "ConfigMap", NULL, "{'data':{}}", "{'data':{}}");
        expect("v1", "ConfigMap", "{'data':'text'}", "{'data':{'a':'1'}}", "{'data':{'a':'1'}}");
}

static void items_are_matched_by_their_keys_with_defaults(void **state) {
        (void)state;
        expect("v1", "Service",
               "{'spec':{'ports':[{'port':80,'protocol':'TCP','nodePort':5},{'port':81,'protocol':'UDP'}]}}",
               "{'spec':{'ports':[{'port':82},{'port':80,'name':'http'}]}}",
               "{'spec':{'ports':[{'port':80,'protocol':'TCP','nodePort':5,'name':'http'},{'port':81,'protocol':'UDP'},"
               "{'port':82}]}}");
}

static void what_has_one_owner_is_replaced_whole(void **state) {
        (void)state;
        expect("v1", "Pod", "{'spec':{'tolerations':[{'key':'a'}],'nodeSelector':{'x':'1'}}}",
               "{'spec':{'tolerations':[{'key':'b'}],'nodeSelector':{'y':'2'}}}",
               "{'spec':{'tolerations':[{'key':'b'}],'nodeSelector':{'y':'2'}}}");
        /* What no schema knows is taken for one thing as well, when it is a list. */
        expect("x.y/v1", "Gate", "{'spec':{'l':[1,2],'m':{'a':1}}}", "{'spec':{'l':[3],'m':{'b':2}}}",
               "{'spec':{'l':[3],'m':{'a':1,'b':2}}}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(maps_are_merged_and_values_replaced, setup, teardown),
                cmocka_unit_test_setup_teardown(items_are_matched_by_their_keys_with_defaults, setup, teardown),
                cmocka_unit_test_setup_teardown(what_has_one_owner_is_replaced_whole, setup, teardown),
        };

        return cmocka_run_group_tests_name("overlay", tests, NULL, NULL);
}
