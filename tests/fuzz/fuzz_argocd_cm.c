/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a value of argocd-cm that is YAML itself, which of them the first byte says: read or told, at a line of the
 * text. What becomes a rule has a kind, globs that match themselves, and names something.
 */
#include "fuzz.h"

#include "agent/config.h"
#include "base/glob.h"

static const char *const keys[] = {
        "resource.customizations",
        "resource.customizations.ignoreDifferences.all",
        "resource.customizations.ignoreDifferences.apps_Deployment",
        "resource.customizations.ignoreResourceUpdates.apps_Deployment",
        "resource.customizations.knownTypeFields.example.com_Widget",
        "resource.customizations.health.example.com_Widget",
        "resource.compareoptions",
        "resource.exclusions",
        "resource.inclusions",
};

/* `key: |` and the text below it; also what is no line break of ours may be one of YAML's. */
static void add_block(struct buf *out, const char *key, struct str text) {
        buf_addf(out, "  %s: |\n    ", key);
        for (size_t i = 0; i < text.n; i++) {
                buf_addch(out, text.p[i]);
                if (text.p[i] == '\n')
                        buf_addf(out, "    ");
        }
        buf_addch(out, '\n');
}

/* What is missing at the end is missing a line later. */
static uint32_t most_lines(struct str text) {
        uint32_t n = 2;

        for (size_t i = 0; i < text.n; i++)
                n += strchr("\n\r\x85\xa8\xa9", text.p[i]) != NULL;
        return n;
}

static void check_rules(const struct config *c) {
        for (size_t i = 0; i < c->ignores.count; i++) {
                const struct config_ignore *rule = &c->ignores.rules[i];

                HOLDS(rule->place && rule->name && rule->kind.n > 0);
                HOLDS(glob_check(rule->kind, NULL) == 0 && glob_check(rule->group, NULL) == 0);
                for (size_t k = 0; k < rule->pointer_count; k++)
                        HOLDS(rule->pointers[k].count > 0);
                for (size_t k = 0; k < rule->program_count; k++)
                        HOLDS(str_trim(rule->programs[k].text).n > 0 && rule->programs[k].place);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct buf text = buf_make(SIZE_MAX / 4);
        struct config *c = NULL;
        struct err err = { 0 };
        int r;

        if (n == 0)
                return 0;
        buf_addf(&text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n");
        add_block(&text, keys[(data[0] - '0') % ARRAY_LEN(keys)], (struct str){ (const char *)data + 1, n - 1 });
        r = config_load_text(buf_str(&text), STR("argocd-cm.yaml"), &c, &err);
        HOLDS(r == 0 || r == ERR_INVAL);
        config_settle(c);
        check_rules(c);
        for (size_t i = 0; i < c->problem_count; i++)
                HOLDS(c->problems[i].message.n > 0 && c->problems[i].place.line <= most_lines(buf_str(&text)));
        config_free(c);
        buf_done(&text);
        return 0;
}
