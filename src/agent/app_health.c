/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of an application: of each object that Git wants, as it is live, judged by health/ on a pool thread
 * (agent/judge.h) and taken together here.
 *
 * An object is judged when it was not yet, when it has changed, and when its rule has named a time; never twice as it
 * is. What does not exist is Missing, and named: Argo CD leaves it out, and 9 of 10 objects are then a healthy
 * application. What an apply of ours has changed is Progressing until that was judged: what was Healthy was another
 * version of it.
 *
 * Nothing waits for this but a one-shot command, and a status for a moment. What changes is told in a later turn, once
 * for all of a turn, and stored with the next status, or by itself at most every HEALTH_SAVE_MS: what came and went
 * meanwhile is no request.
 */
#include "agent/app_impl.h"

#include "base/json.h"
#include "diff/title.h"

#define HEALTH_SAVE_MS 5000
#define AWAITED_MS 250
#define AGAIN_MIN_MS 1000 /* a script names the time */
#define OPEN (HEALTH_UNKNOWN + 1) /* the place of what is not known yet, among the counts */
_Static_assert(OPEN + 1 == APP_HEALTH_COUNTS, "a count for each code, and one");

/* --- what is counted ---------------------------------------------------------------------------------------------- */

static bool is_member(const struct desired *d) {
        return !d->hook && !d->health_ignored;
}

/* What an object counts as. */
static unsigned place_of(const struct item *item) {
        const struct item_health *h = &item->health;
        bool good = h->settle.shown == HEALTH_HEALTHY || h->settle.shown == HEALTH_SUSPENDED;

        if (!is_member(item->desired))
                return HEALTH_NONE;
        if (!h->known)
                return OPEN;
        if (h->written && good)
                return HEALTH_PROGRESSING;
        return h->settle.shown == HEALTH_SUSPENDED && item->desired->suspended_is_healthy ? HEALTH_HEALTHY : h->settle.shown;
}

static void tell(struct app *app) {
        if (!loop_timer_is_running(app->health.tell))
                loop_timer_start(app->health.tell, 0);
}

void item_count_health(struct item *item) {
        struct app *app = item->app;
        unsigned place = place_of(item);

        if (!app->env.judge || item->health.counted == place + 1)
                return;
        if (item->health.counted)
                app->health.counts[item->health.counted - 1]--;
        app->health.counts[place]++;
        item->health.counted = (uint8_t)(place + 1);
        tell(app);
}

void item_forget_health(struct item *item) {
        struct app *app = item->app;
        struct item_health *h = &item->health;

        if (judge_has(&h->ticket))
                app->health.pending--;
        judge_withdraw(app->env.judge, &h->ticket);
        if (h->counted) {
                app->health.counts[h->counted - 1]--;
                tell(app);
        }
        free(h->message);
}

/* --- what is known of one object ---------------------------------------------------------------------------------- */

static void wake(struct app *app, int64_t at_ms) {
        int64_t now_ms = loop_now_ms(app->env.loop);

        if (loop_timer_is_running(app->health.again) && app->health.again_ms <= at_ms)
                return;
        app->health.again_ms = at_ms;
        loop_timer_start(app->health.again, at_ms > now_ms ? at_ms - now_ms : 0);
}

/* A moment of the wall's clock by the loop's; 0 stays 0. */
static int64_t loop_moment(const struct app *app, int64_t wall_ms, int64_t min_ms) {
        int64_t in_ms = wall_ms - loop_wall_ms(app->env.loop);

        return wall_ms ? loop_now_ms(app->env.loop) + (in_ms > min_ms ? in_ms : min_ms) : 0;
}

static void settle(struct item *item, const struct health *h) {
        struct item_health *known = &item->health;
        struct app *app = item->app;
        int64_t settles_ms = 0;

        health_settle(&known->settle, h, known->applied_ms, known->publishes, loop_wall_ms(app->env.loop), &settles_ms);
        known->settles_ms = loop_moment(app, settles_ms, 0);
        if (known->settles_ms)
                wake(app, known->settles_ms);
        item_count_health(item);
}

/* The time has come to show what was judged before. */
static void settle_again(struct item *item) {
        const struct item_health *known = &item->health;
        struct health h = { .code = known->settle.seen, .message = str_from(known->message), .terminal = known->terminal };

        settle(item, &h);
}

static void keep_message(struct item *item, struct str message) {
        if (str_eq(message, str_from(item->health.message)))
                return;
        free(TAKE_PTR(item->health.message));
        if (message.n)
                item->health.message = str_dup(message);
        tell(item->app);
}

/* Judged for the first time, when the status that another process left says Degraded: it has been so for long. */
static bool was_found_so(const struct item *item) {
        return !item->health.known && !item->health.applied_ms && item->app->health.was_degraded;
}

static void take_in(struct item *item, const struct health *h, bool publishes) {
        struct item_health *known = &item->health;
        struct health shown = *h;

        shown.terminal |= was_found_so(item);
        known->known = true;
        known->publishes = publishes;
        known->terminal = h->terminal;
        known->again_ms = loop_moment(item->app, h->again_ms, AGAIN_MIN_MS);
        if (known->again_ms)
                wake(item->app, known->again_ms);
        keep_message(item, h->code == HEALTH_HEALTHY ? STR("") : h->message);
        shown.again_ms = 0; /* then it is judged anew, not only shown */
        settle(item, &shown);
}

static void take_in_word(struct item *item, enum health_code code, const char *message) {
        struct item_health *h = &item->health;

        if (judge_has(&h->ticket))
                item->app->health.pending--;
        judge_withdraw(item->app->env.judge, &h->ticket);
        h->judged = 0;
        h->written = false;
        take_in(item, &(struct health){ .code = code, .message = str_from(message) }, false);
}

/* --- the judge ---------------------------------------------------------------------------------------------------- */

static struct item *item_of(struct judge_ticket *t) {
        return CONTAINER_OF(t, struct item, health.ticket);
}

/* NULL: it does not exist, as far as it can be seen. */
static const struct live *live_of(const struct item *item) {
        const struct desired *d = item->desired;
        struct cluster_kind *kind = cluster_find_kind(item->app->env.cluster, d->gvk);

        return kind && cluster_kind_state(kind) == CLUSTER_KIND_SYNCED && !cluster_is_unread(kind, d->ns, d->name)
                       ? cluster_find(kind, d->ns, d->name)
                       : NULL;
}

static uint64_t number_of(const char *text) {
        static const struct hash_key no_key;

        return hash128(&no_key, str_from(text)).lo;
}

/* Tells versions of an object apart, and of what else its rule sees; 0 is none. */
static uint64_t version_of(const struct item *item, const struct live *live) {
        const struct live *class = item_storage_class(item, live);

        return number_of(live->uid) ^ number_of(live->rv) ^ (class ? number_of(class->uid) : 0);
}

static struct str text_of(const struct live *live) {
        return live ? (struct str){ live->text, live->text_bytes } : (struct str){ 0 };
}

static struct judge_input input_of(struct judge_ticket *t) {
        struct item *item = item_of(t);
        const struct live *live = live_of(item);

        if (!live) {
                item->app->health.pending--;
                app_kick(item->app);
                return (struct judge_input){ 0 };
        }
        item_want_storage_class(item, live);
        item->health.asked = version_of(item, live);
        item->health.answers_write = item->health.written;
        return (struct judge_input){ text_of(live), text_of(item_storage_class(item, live)), item->health.applied_ms };
}

static void judged(struct judge_ticket *t, const struct judgement *j) {
        struct item *item = item_of(t);
        struct item_health *h = &item->health;
        struct app *app = item->app;

        if (!judge_has(t))
                app->health.pending--;
        if (h->answers_write)
                h->written = false;
        if (!h->written) {
                h->judged = h->asked;
                take_in(item, &j->health, j->publishes_generation);
        } else {
                /* A write was answered meanwhile; if its event came before that, there is no other to come. */
                item_look_at_health(item);
        }
        if (!app->health.pending)
                app_kick(app);
}

static void failed(void *ctx, struct judge_ticket *t, const char *rule, struct str message) {
        struct item *item = item_of(t);
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        (void)ctx;
        struct str text = arena_strf(a, "a health rule failed, what it is about is Unknown: %.*s", STR_FMT(message));
        item->app->env.hooks.remark(item->app->env.ctx, item->app, rule, text.p);
}

const struct judge_hooks app_judge_hooks = { input_of, judged, failed };

/* --- looking ------------------------------------------------------------------------------------------------------ */

/* It was Missing, and is there. */
static bool is_unseen(const struct item_health *h) {
        return !h->judged && !h->written && !h->message && h->settle.seen == HEALTH_PROGRESSING;
}

/* Where no rule is, only a status or a deletion says anything: most objects need not be read for that. */
static bool says_nothing(struct item *item, const struct live *live) {
        struct item_health *h = &item->health;
        struct gvk gvk = item->desired->gvk;

        if (!h->sought)
                h->has_rule = judge_has_rule(item->app->env.judge, gvk.group, gvk.kind);
        h->sought = true;
        return !h->has_rule && !live->deleting && !json_member(text_of(live), STR("status")).n;
}

static void look_at_live(struct item *item, const struct live *live) {
        struct item_health *h = &item->health;
        uint64_t version = version_of(item, live);
        bool under_way = h->ticket.slot && !h->ticket.waits;

        if (h->known && !h->judged && h->settle.shown == HEALTH_MISSING)
                take_in(item, &(struct health){ .code = HEALTH_PROGRESSING }, false);
        if (version == (under_way ? h->asked : h->judged))
                return;
        if (says_nothing(item, live)) {
                take_in_word(item, HEALTH_NONE, "");
                h->judged = version;
                return;
        }
        if (!judge_has(&h->ticket))
                item->app->health.pending++;
        judge_hand_in(item->app->env.judge, &h->ticket, item->desired->gvk.group, item->desired->gvk.kind);
}

/* What Git wants and truce does not make counts only as what it is, if it is there. */
static bool is_ours_to_make(const struct desired *d) {
        return d->state == DESIRED_OK || d->state == DESIRED_PARKED;
}

static void look_at_nothing(struct item *item) {
        const struct desired *d = item->desired;
        const struct cluster_kind *kind = cluster_find_kind(item->app->env.cluster, d->gvk);
        enum cluster_kind_state state = kind ? cluster_kind_state(kind) : CLUSTER_KIND_UNKNOWN;

        if (state == CLUSTER_KIND_SYNCING)
                return;
        if (state == CLUSTER_KIND_FAILED)
                take_in_word(item, HEALTH_UNKNOWN, cluster_kind_err(kind)->msg);
        else if (state == CLUSTER_KIND_SYNCED && cluster_is_unread(kind, d->ns, d->name))
                take_in_word(item, HEALTH_UNKNOWN, "it nests too deep to be read");
        else if (d->state == DESIRED_SKIPPED || (state == CLUSTER_KIND_UNKNOWN && !is_ours_to_make(d)))
                take_in_word(item, HEALTH_NONE, "");
        else
                take_in_word(item, HEALTH_MISSING,
                             state == CLUSTER_KIND_SYNCED ? "it does not exist" : "the cluster does not serve its kind");
}

void item_look_at_health(struct item *item) {
        const struct live *live;

        if (!item->app->env.judge || !is_member(item->desired))
                return;
        live = live_of(item);
        if (live)
                look_at_live(item, live);
        else
                look_at_nothing(item);
}

void item_note_applied(struct item *item) {
        struct item_health *h = &item->health;

        h->applied_ms = loop_wall_ms(item->app->env.loop);
        h->written = true;
        h->answers_write = false;
        h->judged = 0;
        item_count_health(item);
}

void app_look_at_health(struct app *app) {
        size_t at = 0;
        void *p;

        while (app->env.judge && map_next(app->items, &at, NULL, &p))
                item_look_at_health(p);
}

static void look_again(void *ctx) {
        struct app *app = ctx;
        int64_t now_ms = loop_now_ms(app->env.loop);
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p)) {
                struct item *item = p;
                struct item_health *h = &item->health;

                if (h->settles_ms && h->settles_ms <= now_ms)
                        settle_again(item);
                if (h->again_ms && h->again_ms <= now_ms) {
                        h->again_ms = 0;
                        h->judged = 0;
                        item_look_at_health(item);
                }
                if (h->settles_ms)
                        wake(app, h->settles_ms);
                if (h->again_ms)
                        wake(app, h->again_ms);
        }
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* What would be stored now is compared with what is: most changes are over when it is time. */
static bool says_something_new(struct app *app) {
        _cleanup_(buf_done) struct buf now = buf_make(STORE_MAX_STATUS_BYTES);
        struct str stored = app_status_text(app);

        if (!app->inventory || app->barred || store_is_busy(app->store))
                return false;
        app->env.hooks.status(app->env.ctx, app, stored, &now);
        return !str_eq(buf_str(&now), stored);
}

bool app_tells_health(const struct app *app) {
        return app->health.due || app->env.one_shot;
}

bool app_save_health(struct app *app) {
        if (!says_something_new(app))
                return false;
        app_status_changed(app);
        return true;
}

/* Until the set in force is settled its objects change again and again. */
static void set_busy(struct app *app, bool busy) {
        if (!app->env.judge || app->health.busy == busy)
                return;
        app->health.busy = busy;
        judge_busy(app->env.judge, busy);
}

bool app_health_is_awaited(struct app *app) {
        int64_t now_ms = loop_now_ms(app->env.loop);

        set_busy(app, false);
        if (!app->health.pending) {
                app->health.awaited_until_ms = 0;
                return false;
        }
        if (app->env.one_shot)
                return true;
        if (!app->health.awaited_until_ms)
                app->health.awaited_until_ms = now_ms + AWAITED_MS;
        if (app->health.awaited_until_ms <= now_ms)
                return false;
        app_wake(app, app->health.awaited_until_ms);
        return true;
}

/* What is not settled stores its status when it is, but for a deletion, which a finalizer may hold up for ever. */
static void save_due(void *ctx) {
        struct app *app = ctx;
        bool at_rest = app->settled || app->prune;

        app->health.due = true;
        if (at_rest && says_something_new(app))
                app_save_status(app);
        app->health.due &= !at_rest;
}

void app_store_soon(struct app *app) {
        if (!app->env.one_shot && !loop_timer_is_running(app->health.save))
                loop_timer_start(app->health.save, HEALTH_SAVE_MS);
}

void app_recall_health(struct app *app) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *status = NULL;

        app->health.was_degraded = json_parse(app_status_text(app), a, &status, NULL) == 0 &&
                                   str_eqc(value_text(value_getc(status, "health")), health_name(HEALTH_DEGRADED));
}

static void note_known(struct app *app) {
        app->health.was_known |= app->desired && app->health.counts[OPEN] == 0;
}

void app_health_begins(struct app *app) {
        note_known(app);
        set_busy(app, true);
}

static void tell_now(void *ctx) {
        struct app *app = ctx;

        note_known(app);
        app->env.hooks.health(app->env.ctx, app);
        app_store_soon(app);
}

void app_health_new(struct app *app) {
        app->health.tell = loop_timer_new(app->env.loop, tell_now, app);
        app->health.again = loop_timer_new(app->env.loop, look_again, app);
        app->health.save = loop_timer_new(app->env.loop, save_due, app);
}

void app_health_free(struct app *app) {
        set_busy(app, false);
        loop_timer_free(app->health.tell);
        loop_timer_free(app->health.again);
        loop_timer_free(app->health.save);
}

/* What has no id, for its kind is not served, is no item. */
static size_t count_nameless(const struct app *app) {
        size_t count = 0;

        for (size_t i = 0; app->desired && i < app->desired->count; i++)
                count += app->desired->objects[i].id.n == 0 && is_member(&app->desired->objects[i]);
        return count;
}

void app_health(const struct app *app, struct app_health *ret) {
        enum health_code worst = HEALTH_HEALTHY;

        *ret = (struct app_health){ .code = HEALTH_UNKNOWN };
        if (!app->env.judge || !app->desired)
                return;
        memcpy(ret->counts, app->health.counts, sizeof ret->counts);
        ret->counts[HEALTH_MISSING] += count_nameless(app);
        ret->is_current = ret->counts[OPEN] == 0 && !app->health.pending;
        ret->is_known = ret->counts[OPEN] == 0 || app->health.was_known;
        if (app->health.was_known) {
                ret->counts[HEALTH_PROGRESSING] += ret->counts[OPEN];
                ret->counts[OPEN] = 0;
        }
        for (unsigned code = HEALTH_HEALTHY; code <= HEALTH_UNKNOWN; code++)
                if (ret->counts[code])
                        worst = (enum health_code)code;
        if (ret->is_known)
                ret->code = worst;
}

static struct str name_of(const struct desired *d, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4096);

        diff_title(d->gvk.group, d->gvk.kind, d->name, false, &out);
        return arena_str(a, buf_str(&out));
}

/* Counts among the worst of the application; *ret_item is NULL where there is none. */
static bool is_worst(const struct app *app, const struct desired *d, enum health_code code, const struct item **ret_item) {
        *ret_item = d->id.n ? map_find(app->items, d->id) : NULL;
        if (!*ret_item)
                return code == HEALTH_MISSING && is_member(d);
        return place_of(*ret_item) == code || (place_of(*ret_item) == OPEN && code == HEALTH_PROGRESSING);
}

/* Not shown as it was judged, for a write of ours is new. */
static bool is_new(const struct item_health *h) {
        return h->written || (h->settle.seen == HEALTH_HEALTHY && h->settle.shown != HEALTH_HEALTHY);
}

static struct str message_of(const struct desired *d, const struct item *item) {
        if (!item)
                return d->state == DESIRED_REFUSED ? STR("it is refused") : STR("the cluster does not serve its kind");
        if (!item->health.known || is_unseen(&item->health))
                return STR("not looked at yet");
        return item->health.message ? str_from(item->health.message) : is_new(&item->health) ? STR("applied a moment ago") : STR("");
}

struct str app_health_message(const struct app *app, struct arena *a) {
        struct health_total total = { 0 };
        struct app_health now;

        app_health(app, &now);
        if (!now.is_known || now.code == HEALTH_HEALTHY)
                return STR("");
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];
                const struct item *item;

                if (!is_worst(app, d, now.code, &item))
                        continue;
                health_total_add(&total, &(struct health_member){
                        .name = name_of(d, a), .code = now.code,
                        .message = message_of(d, item),
                });
        }
        return health_total_message(&total, a);
}

const struct desired *app_worst(const struct app *app) {
        struct app_health now;

        app_health(app, &now);
        for (size_t i = 0; now.is_known && now.code != HEALTH_HEALTHY && i < app->desired->count; i++) {
                const struct item *item;

                if (is_worst(app, &app->desired->objects[i], now.code, &item))
                        return &app->desired->objects[i];
        }
        return NULL;
}

bool app_is_given_up(const struct app *app) {
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p)) {
                const struct item *item = p;

                if (place_of(item) == HEALTH_DEGRADED && item->health.terminal)
                        return true;
        }
        return false;
}
