/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reload.h"

struct reload {
        const struct session *session;
        struct config_cluster *cluster; /* NULL: files alone */
        struct loop *loop;
        struct loop_timer *timer;
        reload_changed changed;
        void *ctx;
        struct hash128 read, seen; /* stamps: of what was read last, of the look before */
        char *health_dir;          /* what the configuration that was read last says */
        struct look *look;         /* under way */
        bool is_first;             /* nothing was read yet: whatever there is is news */
};

/* What a pool thread does; it outlives the reload when that is freed meanwhile. */
struct look {
        struct reload *owner; /* NULL: nobody wants to know any more */
        const struct session *session;
        struct config_snapshot *snapshot; /* what the cluster has; NULL: nothing counts there */
        struct hash128 read, seen, now;
        struct hash128 documents, health;
        char *health_dir;
        bool is_first, was_read;
        struct session fresh;
        int result;
        struct err err;
};

static struct hash128 stamp_of(struct hash128 files, struct hash128 health, const struct config_snapshot *snapshot) {
        static const struct hash_key no_key;
        struct hash128 all[3] = { files, health };

        if (snapshot)
                all[2] = snapshot->stamp;
        return hash128(&no_key, (struct str){ (const char *)all, sizeof all });
}

static void look_run(void *ctx) {
        struct look *k = ctx;

        const struct option_list *paths = &k->session->config_paths;

        k->documents = config_stamp(paths->items, paths->count);
        k->now = stamp_of(k->documents, config_health_stamp(str_from(k->health_dir)), k->snapshot);
        k->was_read = k->is_first || (!hash128_eq(k->now, k->read) && hash128_eq(k->now, k->seen));
        if (k->was_read)
                k->result = session_reread(k->session, k->snapshot, &k->fresh, &k->err);
}

static struct str health_dir_of(const struct session *s) {
        return s->config ? s->config->agent.health_dir : STR("");
}

/* What was read may name another folder of rules than the one that was looked at. */
static void note_read(struct reload *r, struct look *k) {
        r->is_first = false;
        r->read = k->now;
        if (!k->fresh.config || !k->fresh.is_settled)
                return;
        r->read = r->seen = stamp_of(k->documents, k->fresh.health_stamp, k->snapshot);
        free(r->health_dir);
        r->health_dir = str_dup(health_dir_of(&k->fresh));
}

static void look_done(void *ctx, bool cancelled) {
        struct look *k = ctx;
        struct reload *r = k->owner;

        (void)cancelled;
        if (r) {
                r->look = NULL;
                r->seen = k->now;
                loop_timer_start(r->timer, RELOAD_LOOK_MS);
        }
        if (r && k->was_read) {
                note_read(r, k);
                r->changed(r->ctx, &k->fresh, k->result < 0 ? &k->err : NULL);
        }
        if (k->was_read && (!r || k->result < 0))
                session_close(&k->fresh);
        config_snapshot_unref(k->snapshot);
        free(k->health_dir);
        free(k);
}

static void look(void *ctx) {
        struct reload *r = ctx;
        struct config_snapshot *snapshot = r->cluster ? config_cluster_snapshot(r->cluster) : NULL;
        struct look *k;

        if (r->look)
                return;
        if (r->cluster && !snapshot) {
                loop_timer_start(r->timer, RELOAD_LOOK_MS);
                return;
        }
        k = mem_zalloc(sizeof *k);
        *k = (struct look){ .owner = r, .session = r->session, .read = r->read, .seen = r->seen };
        k->is_first = r->is_first;
        k->health_dir = str_dup(str_from(r->health_dir));
        if (snapshot)
                k->snapshot = config_snapshot_ref(snapshot);
        r->look = k;
        loop_work_start(r->loop, LOOP_POOL_CPU, look_run, look_done, k);
}

struct reload *reload_new(const struct session *s, struct config_cluster *cluster, struct loop *l, reload_changed changed,
                          void *ctx) {
        struct reload *r;

        if (!s->config_paths.count && !cluster && !health_dir_of(s).n)
                return NULL;
        r = mem_zalloc(sizeof *r);
        *r = (struct reload){ .session = s, .cluster = cluster, .loop = l, .changed = changed, .ctx = ctx };
        r->is_first = cluster != NULL;
        r->read = r->seen = stamp_of(s->stamp, s->health_stamp, NULL);
        r->health_dir = str_dup(health_dir_of(s));
        r->timer = loop_timer_new(l, look, r);
        loop_timer_start(r->timer, RELOAD_LOOK_MS);
        return r;
}

void reload_now(struct reload *r) {
        if (r)
                loop_timer_start(r->timer, 0);
}

void reload_free(struct reload *r) {
        if (!r)
                return;
        if (r->look)
                r->look->owner = NULL;
        loop_timer_free(r->timer);
        free(r->health_dir);
        free(r);
}
