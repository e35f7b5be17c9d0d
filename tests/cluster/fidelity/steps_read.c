/* SPDX-License-Identifier: Apache-2.0 */
/* What reads: get, list, watch. */
#include "steps_impl.h"

void ask_get(struct episode *e, struct subject *s, struct step *step) {
        static const char *const accepts[] = {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
                "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
        };
        struct buf path = step_path(e, s, chance(e, 5) ? "/status" : "");

        step->method = KUBE_GET;
        if (chance(e, 25))
                step->accept = accepts[below(e, 2)];
        step_finish(e, &path, step);
}

void ask_list(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, NULL, "");

        (void)s;
        step->method = KUBE_GET;
        if (e->continue_label.n) {
                step_query(&path, "limit", "1");
                step_query(&path, "continue", e->continue_label.p);
                step_add_labels(e, &path, "");
                e->continue_label = (struct str){ 0 };
        } else {
                step_add_selectors(e, &path);
                if (e->version_count && chance(e, 10)) {
                        step_query(&path, "resourceVersion", step_random_version(e).p);
                        step_query(&path, "resourceVersionMatch", chance(e, 95) ? "Exact" : "Odd");
                }
                if (chance(e, 40))
                        step_query(&path, "limit", chance(e, 70) ? "1" : chance(e, 90) ? "2" : "-1");
        }
        if (chance(e, 15))
                step->accept = chance(e, 50) ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
                                             : "application/json;as=Table;g=meta.k8s.io;v=v1";
        step_finish(e, &path, step);
}

void ask_watch(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, NULL, "");

        (void)s;
        step->method = KUBE_GET;
        step_query(&path, "watch", "1");
        if (chance(e, 15)) {
                step_query(&path, "sendInitialEvents", "true");
                step_query(&path, "resourceVersionMatch", chance(e, 95) ? "NotOlderThan" : "Exact");
                step_query(&path, "allowWatchBookmarks", chance(e, 95) ? "true" : "false");
        } else if (e->version_count && chance(e, 95))
                step_query(&path, "resourceVersion", step_random_version(e).p);
        else
                step_query(&path, "resourceVersion", "odd");
        if (chance(e, 40))
                step_add_selectors(e, &path);
        else
                step_add_labels(e, &path, "");
        step_finish(e, &path, step);
}
