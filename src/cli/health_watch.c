/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "cli/health_impl.h"
#include "cli/words.h"
#include "diff/text.h"
#include "diff/title.h"
#include "kube/watch.h"

#define LINE_MAX_BYTES (256 * 1024)

struct watching {
        struct health_verb *v;
        struct loop *loop;
        struct kube_watch *watch;
        struct loop_timer *timer;      /* what the rule says changes by itself */
        struct buf object;             /* its newest text; empty: it is not there */
        bool listed;                   /* it was among the items of the list that goes on */
        struct buf said;               /* what was printed last, without its time */
        struct err err;                /* why it cannot go on */
};

int64_t health_verb_now_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_REALTIME, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- printing ---- */

static void add_clock(int64_t ms, struct buf *out) {
        time_t s = (time_t)(ms / 1000);
        char text[16];
        struct tm tm;

        localtime_r(&s, &tm);
        strftime(text, sizeof text, "%H:%M:%S", &tm);
        buf_addf(out, "%s  ", text);
}

static void add_line(const struct health_row *row, struct buf *out) {
        buf_addf(out, "%-11s  ", health_view_word(row->health.code));
        if (row->health.message.n) {
                text_add(out, row->health.message);
                buf_addc(out, "  ");
        }
        buf_addch(out, '(');
        text_add(out, str_from(health_view_rule(&row->health)));
        buf_addch(out, ')');
}

static void print(const struct watching *w, const struct health_row *row, int64_t now_ms, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(LINE_MAX_BYTES), json = buf_make(LINE_MAX_BYTES);
        const struct value *value = value_with(a, health_view_value(row, a), STR("time"),
                                               value_string(a, health_view_time(now_ms, a), 0));

        if (w->v->flags.output == HEALTH_JSON) {
                value_print(value, &json);
                text_add_json(&out, buf_str(&json));
        } else if (w->v->flags.output == HEALTH_YAML) {
                buf_addc(&out, "---\n");
                yaml_print(value, &out);
                buf_truncate(&out, str_trim(buf_str(&out)).n);
        } else {
                add_clock(now_ms, &out);
                add_line(row, &out);
        }
        printf("%s\n", out.p);
        fflush(stdout);
}

/* ---- judging ---- */

static struct health_row missing(const struct watching *w) {
        const struct kube_resource *r = w->v->resource;

        return (struct health_row){ .group = r->group,
                                    .kind = r->kind,
                                    .ns = w->v->at.namespace,
                                    .name = w->v->at.name,
                                    .health = {
                                            .code = HEALTH_MISSING, .message = STR("it is not there"), .rule = "" } };
}

/* The items of a list carry neither. */
static const struct value *complete(const struct watching *w, const struct value *object, struct arena *a) {
        _cleanup_(buf_done) struct buf version = buf_make(KIB);

        if (value_getc(object, "kind"))
                return object;
        gvk_add_api_version(&version, kube_resource_gvk(w->v->resource));
        object = value_with(a, object, STR("apiVersion"), value_string(a, buf_str(&version), 0));
        return value_with(a, object, STR("kind"), value_string(a, w->v->resource->kind, 0));
}

static void look_again(struct watching *w, int64_t again_ms, int64_t now_ms) {
        loop_timer_stop(w->timer);
        if (again_ms)
                loop_timer_start(w->timer, again_ms > now_ms ? again_ms - now_ms : 1);
}

static void judge(void *ctx) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf says = buf_make(LINE_MAX_BYTES);
        struct watching *w = ctx;
        struct health_row row = missing(w);
        const struct value *object;
        int64_t now_ms = health_verb_now_ms();

        if (w->object.n) {
                if (json_parse(buf_str(&w->object), a, &object, &w->err) < 0) {
                        loop_stop(w->loop);
                        return;
                }
                object = complete(w, object, a);
                if (health_verb_ask(w->v, object, judge, w))
                        return;
                row = health_row_of(object);
                health_verb_judge(w->v, object, now_ms, a, &row.health);
        }
        look_again(w, row.health.again_ms, now_ms);
        add_line(&row, &says);
        if (str_eq(buf_str(&says), buf_str(&w->said)))
                return;
        buf_clear(&w->said);
        buf_add(&w->said, buf_str(&says));
        w->v->bad = health_view_is_bad(row.health.code);
        print(w, &row, now_ms, a);
}

/* ---- the watch ---- */

static void keep(struct watching *w, struct str object) {
        buf_clear(&w->object);
        buf_add(&w->object, object);
}

static void on_list(void *ctx) {
        ((struct watching *)ctx)->listed = false;
}

static void on_item(void *ctx, struct str object) {
        struct watching *w = ctx;

        w->listed = true;
        keep(w, object);
        judge(w);
}

static void on_listed(void *ctx, struct str resource_version) {
        struct watching *w = ctx;

        (void)resource_version;
        if (w->listed)
                return;
        keep(w, STR(""));
        judge(w);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str resource_version) {
        struct watching *w = ctx;

        (void)resource_version;
        keep(w, event == KUBE_WATCH_DELETED ? STR("") : object);
        judge(w);
}

/* Before the first answer an error that will not pass is the answer. */
static void on_state(void *ctx, const struct kube_watch_state *state) {
        struct watching *w = ctx;

        if (!state->err.code)
                return;
        if (!state->synced && !err_is_transient(state->err.code)) {
                w->err = state->err;
                loop_stop(w->loop);
        } else {
                session_fail(&state->err);
        }
}

static void on_signal(void *ctx, int signum) {
        struct watching *w = ctx;

        (void)signum;
        loop_stop(w->loop);
}

static void say_what(const struct health_verb *v) {
        _cleanup_(buf_done) struct buf title = buf_make(64 * KIB);

        if (v->flags.output != HEALTH_TABLE)
                return;
        diff_title(v->resource->group, v->resource->kind, v->at.name, false, &title);
        if (v->at.namespace.n) {
                buf_addc(&title, "  ");
                text_add(&title, v->at.namespace);
        }
        printf("%s\n", title.p);
        fflush(stdout);
}

int health_watch(struct health_verb *v, struct err *err) {
        static const struct kube_watch_handler handler = { on_list, on_item, on_listed, on_event, on_state };
        struct watching w = { .v = v, .loop = v->session.loop, .object = buf_make(KUBE_MAX_OBJECT_BYTES),
                              .said = buf_make(LINE_MAX_BYTES) };
        struct str selector = arena_strf(v->arena, "metadata.name=%.*s", STR_FMT(v->at.name));
        struct kube_watch_spec spec = { .at = v->at,
                                        .list_field_selector = selector,
                                        .watch_field_selector = selector };
        struct loop_signal *interrupt = loop_signal_new(w.loop, SIGINT, on_signal, &w);
        struct loop_signal *end = loop_signal_new(w.loop, SIGTERM, on_signal, &w);

        spec.at.name = STR("");
        say_what(v);
        w.timer = loop_timer_new(w.loop, judge, &w);
        w.watch = kube_watch_new(v->client, &spec, &handler, &w);
        loop_run(w.loop);
        kube_watch_free(w.watch);
        loop_timer_free(w.timer);
        loop_signal_free(interrupt);
        loop_signal_free(end);
        buf_done(&w.object);
        buf_done(&w.said);
        if (w.err.code && err)
                *err = w.err;
        return w.err.code;
}
