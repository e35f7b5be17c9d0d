/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/title.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void objects_are_called_as_people_call_them(void **state) {
        static const struct {
                const char *group, *kind, *name;
                bool with_group;
                const char *title;
        } cases[] = {
                { "apps", "Deployment", "web", false, "deploy/web" },
                { "apps", "Deployment", "web", true, "deploy/web" },
                { "", "ConfigMap", "flags", true, "configmap/flags" },
                { "apiextensions.k8s.io", "CustomResourceDefinition", "widgets.example.io", false,
                  "crd/widgets.example.io" },
                { "rbac.authorization.k8s.io", "Role", "a:b", false, "role/a:b" },
                { "example.io", "Widget", "w", false, "widget/w" },
                { "example.io", "Widget", "w", true, "widget.example.io/w" },
                { "example.io", "Deployment", "w", false, "deployment/w" },
                { "", "Strange", "w", true, "strange/w" },
                { "", "Bad\033Kind", "n\nm", false, "bad\\x1bkind/n\\nm" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(buf_done) struct buf b = buf_make(256);

                diff_title(str_from(cases[i].group), str_from(cases[i].kind), str_from(cases[i].name),
                           cases[i].with_group, &b);
                assert_string_equal(b.p, cases[i].title);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(objects_are_called_as_people_call_them),
        };

        return cmocka_run_group_tests_name("title", tests, NULL, NULL);
}
