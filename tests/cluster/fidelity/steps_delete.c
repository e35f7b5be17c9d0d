/* SPDX-License-Identifier: Apache-2.0 */
/* What deletes. */
#include "steps_impl.h"

static const struct value *delete_options(struct episode *e, const struct subject *s) {
        static const char *const policies[] = { "Background", "Foreground", "Orphan", "Odd" };
        const struct value *body = value_with(e->arena, NULL, STR("kind"), value_stringc(e->arena, "DeleteOptions"));
        const struct str uid[] = { STR("preconditions"), STR("uid") };
        const struct str version[] = { STR("preconditions"), STR("resourceVersion") };

        body = value_with(e->arena, body, STR("apiVersion"), value_stringc(e->arena, "v1"));
        if (chance(e, 30) && s && s->live)
                body = value_with_path(e->arena, body, uid, 2,
                                       chance(e, 60) ? value_path(s->live, "metadata", "uid", NULL)
                                                     : value_stringc(e->arena, "11111111-0000-0000-0000-000000000000"));
        if (chance(e, 30))
                body = value_with_path(e->arena, body, version, 2, value_string(e->arena, step_random_version(e), 0));
        if (chance(e, 50))
                body = value_with(e->arena, body, STR("propagationPolicy"),
                                  value_stringc(e->arena, policies[below(e, chance(e, 90) ? 3 : 4)]));
        if (chance(e, 10))
                body = value_with(e->arena, body, STR("orphanDependents"), chance(e, 50) ? &value_true : &value_false);
        if (chance(e, 20))
                body = value_with(e->arena, body, STR("gracePeriodSeconds"),
                                  value_int(e->arena, (int64_t)below(e, 4) - 1, 0));
        return chance(e, 10) ? body_fault(&e->random, e->arena, body) : body;
}

void ask_delete(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, s, "");

        step->method = KUBE_DELETE;
        if (chance(e, 70))
                step_set_body(e, step, JSON_TYPE, delete_options(e, s));
        else if (chance(e, 30))
                step_query(&path, "propagationPolicy", chance(e, 50) ? "Foreground" : "Background");
        else if (chance(e, 20))
                step_query(&path, "gracePeriodSeconds", "0");
        if (chance(e, 10))
                step_query(&path, "dryRun", "All");
        step_finish(e, &path, step);
}

void ask_deletecollection(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, NULL, "");

        (void)s;
        step->method = KUBE_DELETE;
        step_add_selectors(e, &path);
        if (chance(e, 20))
                step_set_body(e, step, JSON_TYPE, delete_options(e, NULL));
        if (chance(e, 15))
                step_query(&path, "dryRun", "All");
        step_finish(e, &path, step);
}
