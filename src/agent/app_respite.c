/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Respites: for how long truce leaves a field to somebody else that it would heal. Fights over fields, which own/fight.h
 * counts, and leases by which people keep a change of theirs (agent/lease.h).
 */
#include "agent/app_impl.h"

#include "base/log.h"

#include <time.h>

#define LINE_MAX_BYTES 16384
#define ROWS_MAX       256 /* of the metric; what is above counts as manager "" */

static void print_time(int64_t wall_ms, struct buf *out) {
        time_t seconds = (time_t)(wall_ms / 1000);
        struct tm tm;
        char text[32];

        gmtime_r(&seconds, &tm);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
        buf_addc(out, text);
}

/* The rule that would settle it, ready to paste. A quote in a single-quoted text of YAML is written twice. */
static void print_rule(const struct item *item, struct field_path path, struct buf *out) {
        const struct desired *d = item->desired;
        _cleanup_(buf_done) struct buf text = buf_make(LINE_MAX_BYTES);

        field_path_print(path, &text);
        buf_addf(out, "{group: \"%.*s\", kind: %.*s, ", STR_FMT(d->gvk.group), STR_FMT(d->gvk.kind));
        if (d->ns.n)
                buf_addf(out, "namespace: %.*s, ", STR_FMT(d->ns));
        buf_addf(out, "objectName: %.*s, path: '", STR_FMT(d->name));
        for (size_t i = 0; i < text.n; i++)
                buf_addf(out, text.p[i] == '\'' ? "''" : "%c", text.p[i]);
        buf_addc(out, "', action: yield}");
}

static void print_pause(const struct item *item, const struct fight *f, struct buf *out) {
        buf_addf(out, "%u turns a minute, left alone until ", fight_rate(f));
        print_time(f->resume_wall_ms, out);
        buf_addc(out, "; to settle it: ");
        print_rule(item, f->path, out);
}

static void print_line(const struct item *item, const struct fight *f, struct buf *out) {
        buf_addf(out, "%.*s ", STR_FMT(item->desired->id));
        field_path_print_short(f->path, out);
        buf_addf(out, "  truce ⇄ %s, ", f->manager[0] ? f->manager : "an unknown writer");
        print_pause(item, f, out);
}

/* --- counting --------------------------------------------------------------------------------------------------- */

static struct app_fights *row_of(struct app *app, const char *manager, const char *kind) {
        for (size_t i = 0; i < app->fights_count; i++)
                if (strcmp(app->fights[i].manager, manager) == 0 && strcmp(app->fights[i].kind, kind) == 0)
                        return &app->fights[i];
        if (app->fights_count == ROWS_MAX && manager[0])
                return row_of(app, "", kind);
        app->fights = mem_grow(app->fights, &app->fights_cap, app->fights_count + 1, sizeof *app->fights);
        app->fights[app->fights_count] = (struct app_fights){ str_dup(str_from(manager)), str_dup(str_from(kind)), 0 };
        return &app->fights[app->fights_count++];
}

static void begin_pause(struct item *item, struct fight *f, int64_t now_ms, struct arena *a) {
        struct app *app = item->app;

        f->resume_wall_ms = loop_wall_ms(app->env.loop) + f->resume_at_ms - now_ms;
        row_of(app, f->manager, arena_str(a, item->desired->gvk.kind).p)->count++;
        item->pause_until_ms = fight_next_ms(&item->fights, now_ms);
        app_wake(app, item->pause_until_ms);
        app_status_changed(app);
}

static struct fight_rule fight_rule_of(const struct config_agent *agent) {
        return (struct fight_rule){
                .turns = (unsigned)agent->fight_turns,
                .window_ms = agent->fight_window_ms,
                .pause_ms = agent->fight_pause_ms,
                .max_pause_ms = agent->fight_max_pause_ms,
        };
}

void item_note_write(struct item *item, const struct value *before, const struct managed *owners,
                     const struct value *after, const struct fieldset *ours, const struct schema *type,
                     struct arena *a) {
        static const struct hash_key no_key;
        struct hash128 text = hash128(&no_key, item->desired->text);
        bool heals = hash128_eq(text, item->written);
        int64_t now_ms = loop_now_ms(item->app->env.loop);
        struct fight_rule rule = fight_rule_of(item->app->env.agent);
        const struct field_path *paths;

        item->written = text;
        if (!heals || !before || !ours)
                return;
        size_t count = fight_paths(before, after, ours, type, a, &paths);
        for (size_t i = 0; i < count; i++)
                if (fight_note(&item->fights, &rule, paths[i], fight_opponent(owners, type, paths[i]), now_ms))
                        begin_pause(item, fight_find(&item->fights, paths[i]), now_ms, a);
}

/* --- what is left alone ----------------------------------------------------------------------------------------- */

size_t item_paused(const struct item *item, struct arena *a, const struct decide_paused **ret_paused) {
        int64_t now_ms = loop_now_ms(item->app->env.loop);
        struct decide_paused *list = arena_alloc(a, (item->fights.count + 1) * sizeof *list);
        size_t n = 0;

        for (size_t i = 0; i < item->fights.count; i++) {
                const struct fight *f = &item->fights.fights[i];
                _cleanup_(buf_done) struct buf rule = buf_make(LINE_MAX_BYTES);

                if (!fight_is_paused(f, now_ms))
                        continue;
                print_pause(item, f, &rule);
                list[n++] = (struct decide_paused){ f->path, str_from(f->manager), arena_str(a, buf_str(&rule)).p };
        }
        *ret_paused = list;
        return n;
}

/* --- override leases -------------------------------------------------------------------------------------------- */

static bool lease_is_known(const struct item *item, struct str text) {
        return item->lease && str_eqc(text, item->lease);
}

static void remember_lease(struct item *item, struct str text, enum lease_state state, int64_t until_ms) {
        free(item->lease);
        item->lease = str_dup(text);
        item->lease_wall_ms = state == LEASE_READ ? until_ms : 0;
        if (state == LEASE_BAD)
                log_event(LOG_WARN, "own", "an override cannot be read, there is none", "obj", item->desired->id.p, "override",
                          item->lease, NULL);
}

bool item_read_lease(struct item *item, const struct value *live, const struct managed *owners, bool full,
                     struct arena *a, const char **ret_text) {
        _cleanup_(buf_done) struct buf text = buf_make(LINE_MAX_BYTES);
        int64_t wall_ms = loop_wall_ms(item->app->env.loop), until_ms = 0;
        struct str lease = lease_text(live);

        *ret_text = NULL;
        item->lease_until_ms = 0;
        if (!lease.n) {
                free(TAKE_PTR(item->lease)); /* the same words are another lease the next time */
                return true;
        }
        if (!lease_is_known(item, lease)) {
                enum lease_state state = lease_read(live, owners, wall_ms, item->app->env.agent->max_override_ms, &until_ms);

                if (state == LEASE_NEEDS_TIMES && !full)
                        return false;
                remember_lease(item, lease, state == LEASE_READ ? state : LEASE_BAD, until_ms);
        }
        if (item->lease_wall_ms <= wall_ms)
                return true;
        item->lease_until_ms = loop_now_ms(item->app->env.loop) + item->lease_wall_ms - wall_ms;
        buf_addc(&text, "override, kept until ");
        print_time(item->lease_wall_ms, &text);
        *ret_text = arena_str(a, buf_str(&text)).p;
        return true;
}

void item_respites_are_looked_at(struct item *item) {
        int64_t now_ms = loop_now_ms(item->app->env.loop);

        if (item->pause_until_ms && item->pause_until_ms <= now_ms) {
                item->pause_until_ms = fight_next_ms(&item->fights, now_ms);
                app_status_changed(item->app);
        }
        if (item->pause_until_ms)
                app_wake(item->app, item->pause_until_ms);
        if (item->lease_until_ms)
                app_wake(item->app, item->lease_until_ms);
        item_wake_for_holds(item); /* the timer may have gone off for others meanwhile */
}

void app_fights_free(struct app *app) {
        for (size_t i = 0; i < app->fights_count; i++) {
                free(app->fights[i].manager);
                free(app->fights[i].kind);
        }
        free(app->fights);
}

/* --- what others ask -------------------------------------------------------------------------------------------- */

const struct app_fights *app_fights(const struct app *app, size_t *ret_count) {
        *ret_count = app->fights_count;
        return app->fights;
}

const struct value *app_fight_lines(const struct app *app, struct arena *a) {
        int64_t now_ms = loop_now_ms(app->env.loop);
        struct value_list_builder lines = { 0 };
        size_t at = 0;
        void *p;

        while (map_next(app->items, &at, NULL, &p)) {
                const struct item *item = p;

                for (size_t i = 0; i < item->fights.count; i++) {
                        _cleanup_(buf_done) struct buf line = buf_make(LINE_MAX_BYTES);

                        if (!fight_is_paused(&item->fights.fights[i], now_ms))
                                continue;
                        print_line(item, &item->fights.fights[i], &line);
                        value_list_add(&lines, value_string(a, buf_str(&line), 0));
                }
        }
        return value_list_end(&lines, a, 0);
}
