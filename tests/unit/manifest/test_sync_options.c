/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/sync_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/macro.h"

static const struct {
        const char *option;
        enum setting_class object, application;
} cases[] = {
        { "Prune=false", SETTING_USED, SETTING_USED },
        { " Prune = false ", SETTING_USED, SETTING_USED },
        { "Prune=confirm", SETTING_USED, SETTING_LATER },
        { "Delete=false", SETTING_USED, SETTING_USED },
        { "PruneLast=true", SETTING_LATER, SETTING_LATER },
        { "PruneLast=false", SETTING_USED, SETTING_USED },
        { "Replace=true", SETTING_LATER, SETTING_LATER },
        { "Force=true", SETTING_LATER, SETTING_LATER },
        { "Force=false", SETTING_USED, SETTING_USED },
        { "ServerSideApply=true", SETTING_USED, SETTING_USED },
        { "ServerSideApply=false", SETTING_LATER, SETTING_LATER },
        { "CreateNamespace=true", SETTING_UNKNOWN, SETTING_USED },
        { "PrunePropagationPolicy=foreground", SETTING_UNKNOWN, SETTING_USED },
        { "PrunePropagationPolicy=background", SETTING_UNKNOWN, SETTING_USED },
        { "PrunePropagationPolicy=orphan", SETTING_UNKNOWN, SETTING_USED },
        { "PrunePropagationPolicy=Orphan", SETTING_UNKNOWN, SETTING_LATER },
        { "Validate=false", SETTING_IRRELEVANT, SETTING_IRRELEVANT },
        { "FailOnSharedResource=false", SETTING_UNKNOWN, SETTING_IRRELEVANT },
        { "Prune", SETTING_UNKNOWN, SETTING_UNKNOWN },
        { "Prune=maybe", SETTING_UNKNOWN, SETTING_UNKNOWN },
        { "prune=false", SETTING_UNKNOWN, SETTING_UNKNOWN },
        { "", SETTING_UNKNOWN, SETTING_UNKNOWN },
};

static void each_option_has_its_class(void **state) {
        const char *reason;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct str option = str_from(cases[i].option);

                assert_int_equal(sync_option_class(option, SYNC_OPTION_OBJECT, &reason), cases[i].object);
                assert_non_null(reason);
                assert_int_equal(sync_option_class(option, SYNC_OPTION_APPLICATION, &reason), cases[i].application);
        }
}

static void a_mistyped_option_gets_the_nearest_name(void **state) {
        const char *reason;

        (void)state;
        sync_option_class(STR("CreateNamesapce=true"), SYNC_OPTION_APPLICATION, &reason);
        assert_string_equal(reason, "CreateNamespace");
        sync_option_class(STR("Xyz=true"), SYNC_OPTION_APPLICATION, &reason);
        assert_string_equal(reason, "");
}

static void an_option_is_found_among_others(void **state) {
        (void)state;
        assert_true(sync_options_have(STR("A=b , Prune=false,"), "Prune=false"));
        assert_false(sync_options_have(STR("Prune=false2"), "Prune=false"));
        assert_false(sync_options_have(STR(""), "Prune=false"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_option_has_its_class),
                cmocka_unit_test(a_mistyped_option_gets_the_nearest_name),
                cmocka_unit_test(an_option_is_found_among_others),
        };

        return cmocka_run_group_tests_name("sync options", tests, NULL, NULL);
}
