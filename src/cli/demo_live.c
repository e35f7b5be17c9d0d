/* SPDX-License-Identifier: Apache-2.0 */
/* After the story: one line for each thing that happens. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "cli/demo_impl.h"
#include "cli/words.h"
#include "diff/title.h"
#include "kube/gvk.h"

#define LEFT_AFTER_MS 800 /* truce has had its chance by then */
#define SHORT_OID     7
#define TITLE_COLUMNS 18

static void line(struct demo *d, enum screen_tone tone, struct str title, struct str text) {
        time_t now = (time_t)(loop_wall_ms(d->loop) / 1000);
        char clock[16] = "";
        struct tm tm;

        if (localtime_r(&now, &tm))
                strftime(clock, sizeof clock, "%H:%M:%S", &tm);
        screen_line(d->screen, tone, "%s  %-*.*s %.*s", clock, TITLE_COLUMNS, STR_FMT(title), STR_FMT(text));
}

/* ---- objects ---- */

/* The last one to set what was taken back; empty: not known. */
static struct str who(const struct outcome *o, struct arena *a) {
        struct diff diff;

        if (!o->before || !o->after || words_compare(o, a, &diff) < 0)
                return STR("");
        for (size_t i = 0; i < diff.count; i++)
                if (diff.entries[i].owner.manager.n && !str_eqc(diff.entries[i].owner.manager, OWN_MANAGER))
                        return diff.entries[i].owner.manager;
        return STR("");
}

static void add_healed(struct demo *d, const struct outcome *o, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str by = who(o, a);

        if (o->kind == OUTCOME_CREATED)
                buf_addc(out, "was deleted");
        else
                words_change(o, out);
        if (by.n)
                buf_addf(out, " · edited with %.*s", STR_FMT(by));
        buf_addf(out, " · %s in ", o->kind == OUTCOME_CREATED ? "made again" : "healed");
        screen_add_time(out, loop_now_ms(d->loop) - o->noticed_ms);
}

void demo_live_outcome(struct demo *d, const struct outcome *o) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf title = buf_make(4096), text = buf_make(4096);
        const char *word = words_outcome(o->kind);
        struct object_key key;
        bool changed = o->kind == OUTCOME_CREATED || o->kind == OUTCOME_CONFIGURED;

        if (!word || o->kind == OUTCOME_WAITING || !object_key_from_id(str_from(o->id), &key))
                return;
        diff_title(key.group, key.kind, key.name, false, &title);
        if (changed && o->noticed_ms) {
                add_healed(d, o, &text);
        } else {
                buf_addf(&text, "%s ", word);
                words_change(o, &text);
        }
        if (o->err && o->file.n)
                buf_addf(&text, "%s: ", config_place_text((struct config_place){ o->file, o->line }, a).p);
        if (o->err)
                buf_addc(&text, o->err->msg);
        line(d, o->err ? SCREEN_BAD : SCREEN_GOOD, buf_str(&title), buf_str(&text));
}

/* ---- commits ---- */

void demo_live_revision(struct demo *d, const struct agent_revision *r, const struct desired_set *set, bool rejected) {
        _cleanup_(buf_done) struct buf text = buf_make(16 * 1024);

        if (rejected) {
                if (set && set->error_count)
                        manifest_problem_print(&set->errors[0], &text);
                buf_addf(&text, " · nothing applied, %.*s stays in force", SHORT_OID, r->text.n ? r->text.p : "");
        } else {
                buf_addf(&text, "main @ %.*s  \"%.*s\"", SHORT_OID, r->text.p, STR_FMT(r->commits[0].subject));
        }
        line(d, rejected ? SCREEN_BAD : SCREEN_PLAIN, STR("commit"), buf_str(&text));
}

/* ---- replicas ---- */

static void on_settled_scaling(void *ctx) {
        struct demo *d = ctx;
        struct scaling *s = &d->scaling;
        _cleanup_(buf_done) struct buf text = buf_make(4096);
        bool left = d->web.replicas == s->to && demo_writes(d) == s->writes;

        buf_addf(&text, "scaled %" PRId64 " → %" PRId64 " by %s", s->from, s->to, s->who[0] ? s->who : "somebody");
        if (left)
                buf_addc(&text, " · left: its replicas are not Git's, 0 writes");
        else if (d->web.replicas != s->to)
                buf_addf(&text, " · is %" PRId64 " now", d->web.replicas);
        line(d, SCREEN_GOOD, STR("deploy/web"), buf_str(&text));
}

void demo_live_web(struct demo *d, const struct web *before) {
        struct scaling *s = &d->scaling;
        _cleanup_(buf_done) struct buf owner = buf_make(4096);

        if (!before->object || !d->web.object || before->replicas == d->web.replicas)
                return;
        if (!s->timer)
                s->timer = loop_timer_new(d->loop, on_settled_scaling, d);
        if (loop_timer_is_running(s->timer))
                on_settled_scaling(d);
        demo_replicas_owner(d->web.object, &owner);
        s->from = before->replicas;
        s->to = d->web.replicas;
        s->writes = demo_writes(d);
        snprintf(s->who, sizeof s->who, "%s", owner.p);
        loop_timer_start(s->timer, LEFT_AFTER_MS);
}
