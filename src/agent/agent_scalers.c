/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalers: those of the cluster, each kind watched where it is served, and those that Git wants. A kind that is
 * installed later is noticed by its definition, where definitions are watched.
 */
#include "agent/agent_impl.h"

#include "base/json.h"

/* From Established to discovery the server takes up to a few seconds. */
#define COMING_FIRST_MS 500
#define COMING_TRIES    8
/* Between two questions which scalers there are, while the answers do not tell all. */
#define KNOW_AGAIN_MS 5000

static void tell_target(struct agent *agent, const char *target_id, bool is_gone) {
        for (size_t i = 0; i < agent->count; i++)
                app_scaler_changed(agent->entries[i].app, str_from(target_id), is_gone);
}

/* The id of what a scaler scales, "" for one that names nothing. Status changes leave it as it is. */
static char *target_id(const struct scaler *s, struct arena *a) {
        if (!s)
                return str_dup(STR(""));
        return str_dup(manifest_id(s->target.group, s->target.kind, s->target.ns, s->target.name, a));
}

void agent_scaler_changed(struct agent *agent, struct str id, const struct live *live) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct object_key key;
        struct managed owners;
        char *old = map_find(agent->scaler_targets, id), *now = NULL;

        if (!object_key_from_id(id, &key))
                return;
        if (live) {
                const struct value *object = live_value(live, a, &owners);

                scaler_index_see(agent->scalers, object,
                                 &(struct scaler_sight){ .origin = SCALER_LIVE, .tracked = live->tracked }, NULL);
                now = target_id(scaler_index_get(agent->scalers, key.group, key.kind, key.namespace, key.name,
                                                 SCALER_LIVE),
                                a);
        } else {
                scaler_index_remove(agent->scalers, key.group, key.kind, key.namespace, key.name, SCALER_LIVE);
        }
        if (old && (!now || strcmp(old, now) != 0))
                tell_target(agent, old, true);
        if (now && (!old || strcmp(old, now) != 0))
                tell_target(agent, now, false);
        if (now)
                map_set(agent->scaler_targets, id, now);
        else
                map_remove(agent->scaler_targets, id);
}

/* Also those of an autoscaler that was installed later. */
void agent_want_scalers(void *ctx) {
        struct agent *agent = ctx;
        const char *group, *kind;

        for (size_t i = 0; scaler_kind_at(i, &group, &kind); i++) {
                const struct kube_resource *r = kube_discovery_find_kind(cluster_discovery(agent->cluster),
                                                                         str_from(group), str_from(kind));

                if (r && kube_resource_is_watchable(r))
                        cluster_want(agent->cluster, kube_resource_gvk(r), CLUSTER_ALL);
        }
}

/* Reads the scalers that Git wants into the index, and notes what they scale: target's id → itself. */
static void read_desired(struct agent *agent, const struct desired *d, struct map *targets) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;

        if (d->state != DESIRED_OK || !scaler_is_kind(d->gvk.group, d->gvk.kind) ||
            json_parse(d->text, a, &object, NULL) < 0)
                return;
        scaler_index_see(agent->scalers, object,
                         &(struct scaler_sight){ .origin = SCALER_DESIRED, .file = d->file, .line = d->line }, NULL);

        const struct scaler *s =
                scaler_index_get(agent->scalers, d->gvk.group, d->gvk.kind, d->ns, d->name, SCALER_DESIRED);
        char *target = target_id(s, a);
        struct str key = str_from(target);

        if (key.n)
                map_set(targets, key, target);
        else
                free(target);
}

/* Tells the targets that are in one map and not in the other; one whose scaler is live all the while is only looked at. */
static void tell_differences(struct agent *agent, struct map *these, struct map *others, bool is_gone) {
        size_t at = 0;
        struct str id;
        void *p;

        while (map_next(these, &at, &id, &p))
                if (!map_find(others, id))
                        tell_target(agent, p, is_gone);
}

/* Scalers that Git wants count before they exist: the seed and the first apply depend on them. */
void agent_index_desired_scalers(struct agent *agent) {
        struct map *old = agent->desired_targets;

        agent->desired_targets = map_new(free);
        scaler_index_clear(agent->scalers, SCALER_DESIRED);
        for (size_t i = 0; i < agent->count; i++) {
                const struct desired_set *set = app_desired(agent->entries[i].app);

                for (size_t k = 0; set && k < set->count; k++)
                        read_desired(agent, &set->objects[k], agent->desired_targets);
        }
        tell_differences(agent, old, agent->desired_targets, true);
        tell_differences(agent, agent->desired_targets, old, false);
        map_free(old);
}

/* --- a kind that is installed while we run ---------------------------------------------------------------------- */

/* The group and the plural of a definition's name, "scaledobjects.keda.sh". */
static bool split_name(struct str name, struct str *ret_plural, struct str *ret_group) {
        ptrdiff_t dot = str_find(name, '.', 0);

        if (dot < 0)
                return false;
        *ret_plural = str_sub(name, 0, (size_t)dot);
        *ret_group = str_sub(name, (size_t)dot + 1, name.n);
        return true;
}

/* All of them have regular plurals. */
static bool is_plural_of(struct str plural, const char *kind) {
        size_t n = strlen(kind);

        return plural.n == n + 1 && strncasecmp(plural.p, kind, n) == 0 && plural.p[n] == 's';
}

bool agent_defines_scaler(struct str id) {
        const char *group, *kind;
        struct str plural, own_group;
        struct object_key key;

        if (!object_key_from_id(id, &key) || !manifest_is_crd(key.group, key.kind) ||
            !split_name(key.name, &plural, &own_group))
                return false;
        for (size_t i = 0; scaler_kind_at(i, &group, &kind); i++)
                if (str_eqc(own_group, group) && is_plural_of(plural, kind))
                        return true;
        return false;
}

static bool is_served(const struct agent *agent, struct str id) {
        struct str plural, group;
        struct object_key key;

        return object_key_from_id(id, &key) && split_name(key.name, &plural, &group) &&
               kube_discovery_find_plural(cluster_discovery(agent->cluster), group, plural);
}

void agent_scaler_is_coming(struct agent *agent, struct str id) {
        if (!agent->discovered || is_served(agent, id))
                return;
        free(agent->scaler_coming);
        agent->scaler_coming = str_dup(id);
        agent->scaler_tries = COMING_TRIES;
        loop_timer_start(agent->scaler_look, COMING_FIRST_MS);
}

static void looked(void *ctx, const struct err *err) {
        struct agent *agent = ctx;

        (void)err;
        if (!agent->scaler_coming)
                return;
        if (!is_served(agent, str_from(agent->scaler_coming)) && agent->scaler_tries > 0) {
                loop_timer_start(agent->scaler_look, COMING_FIRST_MS * (COMING_TRIES - agent->scaler_tries + 1));
                return;
        }
        free(agent->scaler_coming);
        agent->scaler_coming = NULL;
}

void agent_look_for_scaler(void *ctx) {
        struct agent *agent = ctx;

        agent->scaler_tries--;
        cluster_discover(agent->cluster, looked, agent);
}

/* --- are all known? --------------------------------------------------------------------------------------------- */

/* What may not be read counts as read: nobody could wait for it. */
static bool is_listed(const struct agent *agent, const struct kube_resource *r) {
        const struct cluster_kind *k = cluster_find_kind(agent->cluster, kube_resource_gvk(r));

        if (!k || cluster_kind_state(k) == CLUSTER_KIND_SYNCED)
                return true;
        return cluster_kind_state(k) == CLUSTER_KIND_FAILED && cluster_kind_err(k)->code == ERR_FORBIDDEN;
}

static bool discovery_tells_all(const struct agent *agent) {
        const char *group, *kind;

        for (size_t i = 0; scaler_kind_at(i, &group, &kind); i++) {
                if (kube_discovery_lacks(cluster_discovery(agent->cluster), str_from(group)))
                        return false;
        }
        return true;
}

static bool all_are_listed(const struct agent *agent) {
        const char *group, *kind;

        for (size_t i = 0; scaler_kind_at(i, &group, &kind); i++) {
                const struct kube_resource *r = kube_discovery_find_kind(cluster_discovery(agent->cluster),
                                                                         str_from(group), str_from(kind));

                if (r && !is_listed(agent, r))
                        return false;
        }
        return true;
}

/* At once, or some time after the last answer, which did not help. */
static void ask_soon(struct agent *agent) {
        int64_t wait_ms = agent->know_asked_ms ? agent->know_asked_ms + KNOW_AGAIN_MS - loop_now_ms(agent->loop) : 0;

        if (!agent->know_asking && !loop_timer_is_running(agent->know))
                loop_timer_start(agent->know, wait_ms > 0 ? wait_ms : 0);
}

bool agent_knows_scalers(void *ctx, int64_t since_ms) {
        struct agent *agent = ctx;
        bool asked = cluster_discovered_ms(agent->cluster) >= since_ms && discovery_tells_all(agent);

        if (asked && all_are_listed(agent))
                return true;
        agent->know_wanted = true;
        if (!asked)
                ask_soon(agent);
        return false;
}

void agent_scalers_may_be_known(struct agent *agent) {
        if (!agent->know_wanted)
                return;
        agent->know_wanted = false;
        for (size_t i = 0; i < agent->count; i++)
                app_scalers_are_known(agent->entries[i].app);
}

static void know(void *ctx, const struct err *err) {
        struct agent *agent = ctx;

        (void)err; /* who waits asks again */
        agent->know_asking = false;
        agent_scalers_may_be_known(agent);
}

void agent_ask_for_scalers(void *ctx) {
        struct agent *agent = ctx;

        agent->know_asking = true;
        agent->know_asked_ms = loop_now_ms(agent->loop);
        cluster_discover(agent->cluster, know, agent);
}
