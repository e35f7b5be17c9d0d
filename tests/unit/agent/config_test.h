/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the configuration: documents from text, and what is told of them. Include after <cmocka.h>. */
#ifndef TRUCE_TEST_CONFIG_H
#define TRUCE_TEST_CONFIG_H

#include "agent/config.h"

#define UNUSED __attribute__((unused))

#define APP_HEAD "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n  namespace: argocd\nspec:\n"
#define SOURCE "  source:\n    repoURL: https://git.example.com/team/shop.git\n"
#define DESTINATION "  destination:\n    server: https://kubernetes.default.svc\n    namespace: shop\n"
#define APP APP_HEAD SOURCE DESTINATION
#define SECRET(name, type) "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: " name                                 \
        "\n  labels: {argocd.argoproj.io/secret-type: " type "}\nstringData:\n"

struct fixture {
        struct config *c;
        struct err err;
        struct buf text;
};

static inline UNUSED int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof(*f));

        f->text = buf_make(65536);
        *state = f;
        return 0;
}

static inline UNUSED int teardown(void **state) {
        struct fixture *f = *state;

        config_free(f->c);
        buf_done(&f->text);
        free(f);
        return 0;
}

static inline UNUSED int load(struct fixture *f, const char *text) {
        config_free(f->c);
        f->c = NULL;
        return config_load_text(str_from(text), STR("apps.yaml"), &f->c, &f->err);
}

static inline UNUSED void must_load(struct fixture *f, const char *text) {
        if (load(f, text) < 0)
                fail_msg("%s", f->err.msg);
        config_settle(f->c);
}

/* All problems, one a line, each with its severity in front. */
static inline UNUSED const char *problems(struct fixture *f) {
        static const char *const words[] = { "notice ", "warning ", "refused ", "error " };

        buf_clear(&f->text);
        for (size_t i = 0; i < f->c->problem_count; i++) {
                buf_addc(&f->text, words[f->c->problems[i].severity]);
                config_problem_print(&f->c->problems[i], &f->text);
                buf_addch(&f->text, '\n');
        }
        return f->text.p;
}

static inline UNUSED void assert_str(struct str s, const char *expected) {
        if (!str_eqc(s, expected))
                fail_msg("\"%.*s\" is not \"%s\"", STR_FMT(s), expected);
}

#endif
