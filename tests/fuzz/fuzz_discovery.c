/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text is a discovery document or an error; what a snapshot lists can be found again under its kind, its plural and
 * as a user's word, and exactly one version of each kind is preferred.
 */
#include "fuzz.h"

#include "kube/discovery.h"

static void check_resource(const struct kube_discovery *d, const struct kube_resource *r) {
        const struct kube_resource *same = kube_discovery_find(d, kube_resource_gvk(r));
        const struct kube_resource *preferred = kube_discovery_find_kind(d, r->group, r->kind);

        HOLDS(r->kind.n && r->plural.n && r->version.n);
        HOLDS(same && gvk_eq(kube_resource_gvk(same), kube_resource_gvk(r)));
        HOLDS(preferred && preferred->preferred && str_eq(preferred->kind, r->kind) &&
              str_eq(preferred->group, r->group));
        HOLDS(!r->preferred || preferred == r);
        HOLDS(kube_discovery_find_plural(d, r->group, r->plural));
        /* A word is cut at its first dot. */
        if (r->preferred && str_find(r->plural, '.', 0) < 0)
                HOLDS(kube_discovery_find_word(d, r->plural));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const struct str text = { (const char *)data, n };
        struct kube_discovery *d = NULL;
        struct err err = { 0 };
        size_t count, warnings;

        int r = kube_discovery_parse(&text, 1, &d, &err);
        HOLDS(r == (int)err.code && (r == 0) == (d != NULL));
        HOLDS(r == 0 || r == ERR_PARSE || r == ERR_LIMIT);
        if (!d)
                return 0;

        const struct kube_resource *resources = kube_discovery_resources(d, &count);
        for (size_t i = 0; i < count; i++)
                check_resource(d, &resources[i]);
        kube_discovery_warnings(d, &warnings);
        kube_discovery_unref(d);
        return 0;
}
