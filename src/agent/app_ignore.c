/* SPDX-License-Identifier: Apache-2.0 */
/* Ignore rules that do nothing: of objects that the application does not have, or of paths that these do not have. */
#include "agent/app_impl.h"
#include "agent/ignore.h"

/* The objects that a rule speaks of, and those among them on which it was evaluated. */
struct reach {
        size_t objects, sought;
};

static struct reach reach_of(const struct app *app, const struct config_ignore *rule) {
        struct reach r = { 0 };

        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];
                const struct item *item = d->id.n ? map_find(app->items, d->id) : NULL;

                struct policy_object o = { d->gvk.group, d->gvk.kind, d->ns, d->name, app->config->name };

                if (!ignore_selects(rule, &o))
                        continue;
                r.objects++;
                r.sought += item && item->ignores_sought;
        }
        return r;
}

/* What speaks of paths whoever owns them. */
static bool names_paths(const struct config_ignore *rule) {
        return rule->pointer_count || rule->program_count || (rule->path_count && !rule->manager_count);
}

/* NULL: there is nothing to say. */
static const char *why_idle(const struct config_ignore *rule, const struct ignore_use *use) {
        if (names_paths(rule) && !use->found)
                return "this ignore rule has no effect so far: no object that it speaks of has such a path, in Git or live";
        if (!names_paths(rule) && !use->managers)
                return "this ignore rule has no effect so far: its managers own nothing in any object that it speaks of";
        return NULL;
}

/* False: it was not evaluated yet on every object that it speaks of. */
static bool judge(struct app *app, size_t i) {
        const struct config_ignore *rule = &app->config->own_ignores.rules[i];
        struct reach r = reach_of(app, rule);
        const char *why;

        if (r.sought < r.objects)
                return false;
        why = r.objects ? why_idle(rule, &app->ignore_uses[i])
                        : "this ignore rule has no effect: the application has no object that it speaks of";
        if (why)
                app->env.hooks.remark(app->env.ctx, app, rule->place, why);
        return true;
}

void app_tell_idle_ignores(struct app *app) {
        bool all = true;

        if (app->ignores_told || app->env.watch_only)
                return;
        for (size_t i = 0; i < app->config->own_ignores.count; i++) {
                struct ignore_use *use = &app->ignore_uses[i];

                use->judged = use->judged || judge(app, i);
                all &= use->judged;
        }
        app->ignores_told = all;
}

enum app_ignore_use app_ignore_use(const struct app *app, size_t i, const char **ret_why) {
        size_t at = app->config->own_ignores.count + i;
        const struct config_ignore *rule = &app->config->ignores.rules[at];
        struct reach r;

        if (!app->desired)
                return APP_IGNORE_OPEN;
        r = reach_of(app, rule);
        if (r.sought < r.objects)
                return APP_IGNORE_OPEN;
        *ret_why = why_idle(rule, &app->ignore_uses[at]);
        if (!*ret_why)
                return APP_IGNORE_USED;
        return r.objects ? APP_IGNORE_IDLE : APP_IGNORE_ELSEWHERE;
}
