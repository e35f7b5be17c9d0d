/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of a jq worker: reads frames, answers each, ends with its input. What bounds it was set by the parent
 * (address space, time of its life, environment); for each answer it gives itself JQ_RULE_CPU_MS of the processor, by a
 * timer whose signal nobody catches. Nothing it has read reaches standard error: libjq can be made to write there.
 */
#include "agent/jq_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"

struct child {
        struct jq_program *programs[JQ_MAX_PROGRAMS]; /* NULL: did not compile */
        uint32_t count;
        struct jq_object *object; /* NULL: `object_err` says why */
        struct err object_err;
        struct buf out;
};

/* ---- pipes ---- */

static bool write_all(const void *bytes, size_t n) {
        const char *p = bytes;

        while (n > 0) {
                ssize_t done = write(STDOUT_FILENO, p, n);

                if (done < 0 && errno == EINTR)
                        continue;
                if (done <= 0)
                        return false;
                p += done;
                n -= (size_t)done;
        }
        return true;
}

/* False at the end of the input, also within. */
static bool read_all(void *bytes, size_t n) {
        char *p = bytes;

        while (n > 0) {
                ssize_t done = read(STDIN_FILENO, p, n);

                if (done < 0 && errno == EINTR)
                        continue;
                if (done <= 0)
                        return false;
                p += done;
                n -= (size_t)done;
        }
        return true;
}

static uint32_t cpu_ms(void) {
        struct timespec t = { 0 };

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint32_t)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static bool send_frame(enum jq_frame_kind kind, uint32_t slot, struct str payload) {
        const struct jq_frame f = { .kind = kind, .slot = slot, .bytes = (uint32_t)payload.n, .cpu_ms = cpu_ms() };

        return write_all(&f, sizeof f) && write_all(payload.p, payload.n);
}

static bool send_failure(struct child *c, uint32_t slot, const struct err *err) {
        buf_clear(&c->out);
        buf_addch(&c->out, (char)-err->code);
        buf_addc(&c->out, err->msg);
        return send_frame(JQ_FRAME_FAILED, slot, buf_str(&c->out));
}

/* ---- answers ---- */

static bool on_program(struct child *c, const struct jq_frame *f, struct str text) {
        struct err err;

        if (f->slot != c->count || c->count == JQ_MAX_PROGRAMS)
                return false;
        if (jq_program_new(text, &c->programs[c->count++], &err) < 0)
                return send_failure(c, f->slot, &err);
        return send_frame(JQ_FRAME_DONE, f->slot, STR(""));
}

static bool on_object(struct child *c, const struct jq_frame *f, struct str json) {
        jq_object_free(TAKE_PTR(c->object));
        jq_object_new(json, &c->object, &c->object_err);
        return send_frame(JQ_FRAME_DONE, f->slot, STR(""));
}

static bool on_eval(struct child *c, const struct jq_frame *f, struct str none) {
        struct err err;
        int r;

        (void)none;
        if (f->slot >= c->count)
                return false;
        if (!c->object)
                return send_failure(c, f->slot, &c->object_err);
        if (!c->programs[f->slot]) {
                err_set(&err, ERR_INVAL, "this jq expression does not compile");
                return send_failure(c, f->slot, &err);
        }
        buf_clear(&c->out);
        r = jq_program_run(c->programs[f->slot], c->object, &c->out, &err);
        return r < 0 ? send_failure(c, f->slot, &err) : send_frame(JQ_FRAME_PATHS, f->slot, buf_str(&c->out));
}

static void give_time(int64_t ms) {
        const struct itimerval t = { .it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 } };

        setitimer(ITIMER_PROF, &t, NULL);
}

static bool answer(struct child *c, const struct jq_frame *f, struct str payload) {
        bool ok = false;

        give_time(JQ_RULE_CPU_MS);
        if (f->kind == JQ_FRAME_PROGRAM)
                ok = on_program(c, f, payload);
        else if (f->kind == JQ_FRAME_OBJECT)
                ok = on_object(c, f, payload);
        else if (f->kind == JQ_FRAME_EVAL)
                ok = on_eval(c, f, payload);
        give_time(0);
        return ok;
}

static bool serve_one(struct child *c) {
        struct jq_frame f;

        if (!read_all(&f, sizeof f) || f.bytes > KUBE_MAX_OBJECT_BYTES)
                return false;

        _cleanup_(mem_freep) char *payload = mem_alloc((size_t)f.bytes + 1);
        return read_all(payload, f.bytes) && answer(c, &f, (struct str){ payload, f.bytes });
}

/* ---- the life ---- */

static void child_free(struct child *c) {
        for (uint32_t i = 0; i < c->count; i++)
                jq_program_free(c->programs[i]);
        jq_object_free(c->object);
        buf_done(&c->out);
        free(c);
}

static _Noreturn void on_no_memory(void *ctx) {
        (void)ctx;
        _exit(JQ_EXIT_MEMORY);
}

static void set_up(void) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        if (null >= 0)
                dup2(null, STDERR_FILENO);
        /* The parent may end while an answer takes its time. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "truce-jq");
        signal(SIGPROF, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        jq_on_no_memory(on_no_memory);
}

int jq_worker_main(void) {
        struct child *c = mem_zalloc(sizeof *c);

        set_up();
        c->out = buf_make(JQ_MAX_PATHS_BYTES);
        if (send_frame(JQ_FRAME_READY, 0, STR("")))
                while (serve_one(c))
                        ;
        child_free(c);
        return 0;
}
