/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox_state.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/sandbox_files.h"
#include "cli/session.h"

#define SAVE_AFTER_MS   500  /* changes of half a second are written together */
#define SAVE_PAUSE_TIMES 4   /* as long as the last time took: at most a fifth of a processor */
#define SAVE_AGAIN_MS   2000 /* after a failure */
#define WAIT_TURN_MS    1000

struct sandbox_state {
        struct loop *loop;
        struct sandbox *sandbox;
        char *path;
        struct sandbox_lock lock;
        struct loop_timer *timer;
        bool is_changed; /* since the last snapshot, or that one was not written */
        bool has_failed; /* the last time, and it was told */
        int64_t pause_ms;
        /* A job is under way: */
        struct sandbox_snapshot *snapshot; /* NULL: none is */
        int64_t begun_ms;
        int result;
        struct err err;
        bool is_waited_for;
};

/* ---- writing ---- */

static void arm(struct sandbox_state *st) {
        if (st->is_changed && !st->snapshot && !loop_timer_is_running(st->timer))
                loop_timer_start(st->timer, st->pause_ms);
}

/* On a pool thread. */
static void write_snapshot(void *ctx) {
        struct sandbox_state *st = ctx;

        st->result = sandbox_snapshot_write(st->snapshot, st->path, &st->err);
}

static void tell_failure(struct sandbox_state *st) {
        err_wrap(&st->err, st->result, "--state, tried again until it works");
        session_say(str_from(st->err.msg));
}

static void written(void *ctx, bool cancelled) {
        struct sandbox_state *st = ctx;
        int64_t took_ms = loop_now_ms(st->loop) - st->begun_ms;

        sandbox_snapshot_free(st->snapshot);
        st->snapshot = NULL;
        if (st->is_waited_for)
                loop_stop(st->loop);
        if (cancelled || st->result < 0)
                st->is_changed = true;
        if (st->result < 0 && !st->has_failed)
                tell_failure(st);
        else if (st->result == 0 && st->has_failed)
                session_say(STR("--state: the file is written again"));
        st->has_failed = st->result < 0;
        st->pause_ms = took_ms * SAVE_PAUSE_TIMES > SAVE_AFTER_MS ? took_ms * SAVE_PAUSE_TIMES : SAVE_AFTER_MS;
        if (st->has_failed)
                st->pause_ms = SAVE_AGAIN_MS;
        arm(st);
}

static void on_timer(void *ctx) {
        struct sandbox_state *st = ctx;

        st->is_changed = false;
        st->begun_ms = loop_now_ms(st->loop);
        st->result = 0;
        st->snapshot = sandbox_snapshot_take(st->sandbox);
        loop_work_start(st->loop, LOOP_POOL_CPU, write_snapshot, written, st);
}

static void on_commit(void *ctx, const struct sandbox_commit *c) {
        struct sandbox_state *st = ctx;

        (void)c;
        st->is_changed = true;
        arm(st);
}

static void wait_for_job(struct sandbox_state *st) {
        st->is_waited_for = true;
        while (st->snapshot)
                loop_run_for(st->loop, WAIT_TURN_MS);
}

/* ---- life ---- */

static int load(struct sandbox_state *st, struct err *err) {
        int r = sandbox_lock_state(st->path, &st->lock, err);

        if (r == 0 && access(st->path, F_OK) == 0)
                r = sandbox_load(st->sandbox, st->path, err);
        return r < 0 ? r : sandbox_save(st->sandbox, st->path, err);
}

int sandbox_state_open(struct loop *l, struct sandbox *s, const char *path, struct sandbox_state **ret,
                       struct err *err) {
        struct sandbox_state *st = mem_zalloc(sizeof *st);

        *st = (struct sandbox_state){ .loop = l, .sandbox = s, .pause_ms = SAVE_AFTER_MS };
        st->path = realpath(path, NULL);
        if (!st->path)
                st->path = str_dup(str_from(path));
        st->timer = loop_timer_new(l, on_timer, st);
        int r = load(st, err);
        if (r < 0) {
                sandbox_state_free(st);
                return r;
        }
        sandbox_observe(s, on_commit, st);
        *ret = st;
        return 0;
}

int sandbox_state_end(struct sandbox_state *st, struct err *err) {
        if (!st)
                return 0;
        wait_for_job(st);
        if (!st->is_changed)
                return 0;
        int r = sandbox_save(st->sandbox, st->path, err);
        st->is_changed = r < 0;
        return r;
}

void sandbox_state_free(struct sandbox_state *st) {
        if (!st)
                return;
        wait_for_job(st);
        loop_timer_free(st->timer);
        sandbox_lock_done(&st->lock);
        free(st->path);
        free(st);
}
