/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of volumes of Pods, and of claims wherever they stand. */
#include "sandbox/validate_impl.h"
#include "sandbox/warn_impl.h"

#define MILLI ((quantity)1000 * 1000) /* of quantity_of()'s units */

/* Whole to a thousandth, rounded up, which is how Go looks at it. */
static bool is_whole(quantity n) {
        quantity milli = n / MILLI + (n > 0 && n % MILLI);

        return milli % 1000 == 0;
}

void warn_of_fraction(struct call *c, struct str place, const struct value *amount) {
        if (amount && !is_whole(quantity_of(amount)))
                warn_at(c, place,
                        arena_strf(c->a, "fractional byte value \"%.*s\" is invalid, must be an integer",
                                   STR_FMT(value_text(amount)))
                                .p);
}

void warn_of_claim_spec(struct call *c, struct str place, const struct value *spec) {
        static const char *const lists[] = { "requests", "limits" };

        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                warn_of_fraction(c, PLACE(c, "%.*s.resources.%s[storage]", STR_FMT(place), lists[i]),
                                 value_path(spec, "resources", lists[i], "storage", NULL));
}

void warn_of_claim_templates(struct call *c, const struct value *live, const struct value *templates) {
        for (size_t i = 0; i < value_count(templates); i++)
                warn_of_claim_spec(c, PLACE(c, "spec.volumeClaimTemplates[%zu]%s", i, live ? ".Spec" : ""),
                                   value_getc(warn_item(templates, i), "spec"));
}

void warn_of_pod_volumes(struct call *c, struct str place, const struct value *volumes) {
        static const struct {
                const char *kind, *what;
                const char *shown; /* NULL: as `kind` */
        } plugins[] = {
                { "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+", NULL },
                { "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+", NULL },
                { "scaleIO", "deprecated in v1.16, non-functional in v1.22+", NULL },
                { "flocker", "deprecated in v1.22, non-functional in v1.25+", NULL },
                { "storageos", "deprecated in v1.22, non-functional in v1.25+", "storageOS" },
                { "quobyte", "deprecated in v1.22, non-functional in v1.25+", NULL },
                { "glusterfs", "deprecated in v1.25, non-functional in v1.26+", NULL },
                { "cephfs", "deprecated in v1.28, non-functional in v1.31+", NULL },
                { "rbd", "deprecated in v1.28, non-functional in v1.31+", NULL },
        };

        for (size_t i = 0; i < value_count(volumes); i++) {
                const struct value *volume = warn_item(volumes, i);

                for (size_t j = 0; j < ARRAY_LEN(plugins); j++)
                        if (value_getc(volume, plugins[j].kind))
                                warn_at(c,
                                        PLACE(c, "%.*s.volumes[%zu].%s", STR_FMT(place), i,
                                              plugins[j].shown ? plugins[j].shown : plugins[j].kind),
                                        plugins[j].what);
                warn_of_claim_spec(c,
                                   PLACE(c, "%.*s.volumes[%zu].ephemeral.volumeClaimTemplate.spec", STR_FMT(place), i),
                                   value_path(volume, "ephemeral", "volumeClaimTemplate", "spec", NULL));
        }
}
