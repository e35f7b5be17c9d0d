/* SPDX-License-Identifier: Apache-2.0 */
#include "base/child_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/limits.h"

/* One read; a turn never takes more than this from one pipe. */
#define READ_BYTES (64 * 1024)
/* After the exit at most this many reads empty a pipe: more than any pipe holds, so only a stranger can write on. */
#define DRAIN_READS 32

enum stage {
        STAGE_RUNS,
        STAGE_TERM,   /* SIGTERM was sent */
        STAGE_KILL,   /* SIGKILL was sent */
        STAGE_ORPHAN, /* nobody waits for it any more; it is only reaped */
};

/* One end of a pipe to the child; closed: io is NULL. */
struct end {
        int fd;
        struct loop_io *io;
        struct buf *into; /* NULL for standard input */
};

struct real_child {
        struct loop_child head;
        struct real_child *next; /* in loop->children */
        pid_t pid;
        char *name;
        enum stage stage;
        int64_t deadline_ms;
        struct loop_timer *timer;
        struct end in, out, err;
        struct buf out_bytes, err_bytes;
        struct buf input; /* what was not sent yet begins at input_sent */
        size_t input_sent;
        bool input_ends; /* standard input is closed when all of it was sent */
        void (*heard)(void *ctx, struct str bytes); /* NULL: no conversation */
        size_t heard_bytes, max_heard_bytes;
        struct err failure; /* code ERR_OK: none */
};

int child_err_deadline(const char *name, int64_t deadline_ms, struct err *err) {
        return err_set(err, ERR_TIMEOUT, "%s was stopped: it ran for more than %lld ms", name, (long long)deadline_ms);
}

int child_err_output(const char *name, size_t max_bytes, struct err *err) {
        return err_set(err, ERR_LIMIT, "%s was stopped: it wrote more than %zu bytes", name, max_bytes);
}

/* ---- pipes ---- */

static void end_close(struct end *e) {
        if (!e->io)
                return;
        loop_io_free(TAKE_PTR(e->io));
        close(e->fd);
}

static void kill_group(struct real_child *c) {
        kill(-c->pid, SIGKILL);
        if (c->stage < STAGE_KILL)
                c->stage = STAGE_KILL;
}

static void end_for_output(struct real_child *c, size_t max_bytes) {
        if (c->failure.code != ERR_OK)
                return;
        child_err_output(c->name, max_bytes, &c->failure);
        kill_group(c);
        /* A conversation has no deadline that would come. */
        if (!loop_timer_is_running(c->timer))
                loop_timer_start(c->timer, CHILD_KILL_AFTER_MS);
}

/* heard() may cancel: what belongs to `c` is gone then, and it is an orphan. */
static void hand_on(struct real_child *c, struct str bytes) {
        size_t room = c->max_heard_bytes - c->heard_bytes;

        if (bytes.n > room)
                end_for_output(c, c->max_heard_bytes);
        bytes = str_sub(bytes, 0, room);
        c->heard_bytes += bytes.n;
        if (bytes.n > 0)
                c->heard(c->head.ctx, bytes);
}

/* Standard error is kept up to its cap, and read on so that the child does not block; standard output ends it. */
static void take_bytes(struct real_child *c, struct end *e, struct str bytes) {
        size_t room = e->into->max - e->into->n;

        if (e == &c->out && c->heard) {
                hand_on(c, bytes);
                return;
        }
        if (bytes.n > room && e == &c->out)
                end_for_output(c, e->into->max);
        buf_add(e->into, str_sub(bytes, 0, room));
}

/* Reads once; false when there is nothing more now. */
static bool read_some(struct real_child *c, struct end *e) {
        char bytes[READ_BYTES];
        ssize_t n = read(e->fd, bytes, sizeof bytes);

        if (n > 0) {
                take_bytes(c, e, (struct str){ bytes, (size_t)n });
                return true;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
                end_close(e);
        return false;
}

static void on_out(void *ctx, unsigned events) {
        struct real_child *c = ctx;

        (void)events;
        read_some(c, &c->out);
}

static void on_err(void *ctx, unsigned events) {
        struct real_child *c = ctx;

        (void)events;
        read_some(c, &c->err);
}

static void all_is_sent(struct real_child *c) {
        buf_done(&c->input);
        c->input_sent = 0;
        if (c->input_ends)
                end_close(&c->in);
        else
                loop_io_want(c->in.io, 0);
}

/* A child that does not read its input to the end is no error: it may know enough. */
static void on_in(void *ctx, unsigned events) {
        struct real_child *c = ctx;
        ssize_t n = write(c->in.fd, c->input.p + c->input_sent, c->input.n - c->input_sent);

        (void)events;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0) {
                end_close(&c->in);
                return;
        }
        c->input_sent += (size_t)n;
        if (c->input_sent == c->input.n)
                all_is_sent(c);
}

/* What was sent goes when it is the greater part, so that a long queue is not moved for each write. */
static void drop_sent(struct real_child *c) {
        if (c->input_sent < c->input.n - c->input_sent)
                return;
        buf_consume(&c->input, c->input_sent);
        c->input_sent = 0;
}

int child_write(struct loop_child *head, struct str bytes, struct err *err) {
        struct real_child *c = CONTAINER_OF(head, struct real_child, head);

        if (!c->in.io || bytes.n == 0)
                return 0;
        drop_sent(c);
        if (bytes.n > c->input.max - c->input.n)
                return err_set(err, ERR_LIMIT, "%s does not read: more than %zu bytes wait for it", c->name,
                               c->input.max);
        buf_add(&c->input, bytes);
        loop_io_want(c->in.io, LOOP_IO_WRITE);
        return 0;
}

void child_close_input(struct loop_child *head) {
        struct real_child *c = CONTAINER_OF(head, struct real_child, head);

        c->input_ends = true;
        if (c->input_sent == c->input.n)
                end_close(&c->in);
}

static void drain(struct real_child *c, struct end *e) {
        for (int i = 0; i < DRAIN_READS && e->io && read_some(c, e); i++)
                ;
        end_close(e);
}

/* ---- the end ---- */

static void release(struct real_child *c) {
        end_close(&c->in);
        end_close(&c->out);
        end_close(&c->err);
        loop_timer_free(TAKE_PTR(c->timer));
        buf_done(&c->out_bytes);
        buf_done(&c->err_bytes);
        buf_done(&c->input);
}

static void child_free(struct real_child *c) {
        release(c);
        free(c->name);
        free(c);
}

/* Takes one of the loop's children out of their list. */
static void forget(struct loop *l, struct real_child *c) {
        struct real_child **here = &l->children;

        while (*here != c)
                here = &(*here)->next;
        *here = c->next;
}

/* Nobody waits for it from here on. A conversation has no deadline that would keep the loop going: it is counted. */
static void let_go(struct real_child *c) {
        c->stage = STAGE_ORPHAN;
        if (c->heard)
                c->head.loop->busy--;
}

/* Tells the owner, who may call loop_child_cancel() in there: c must be an orphan by then. */
static void report(struct real_child *c, int exit_code) {
        const struct loop_child_result result = {
                .exit_code = exit_code,
                .out = buf_str(&c->out_bytes),
                .err = buf_str(&c->err_bytes),
        };

        let_go(c);
        c->head.done(c->head.ctx, &result, c->failure.code == ERR_OK ? NULL : &c->failure);
}

static void on_timer(void *ctx) {
        struct real_child *c = ctx;

        switch (c->stage) {
        case STAGE_RUNS:
                child_err_deadline(c->name, c->deadline_ms, &c->failure);
                kill(-c->pid, SIGTERM);
                c->stage = STAGE_TERM;
                loop_timer_start(c->timer, CHILD_KILL_AFTER_MS);
                break;
        case STAGE_TERM:
                kill_group(c);
                loop_timer_start(c->timer, CHILD_KILL_AFTER_MS);
                break;
        case STAGE_KILL:
                if (c->failure.code == ERR_OK)
                        child_err_deadline(c->name, c->deadline_ms, &c->failure);
                /* It hangs inside the kernel. Its owner hears so now; we reap it whenever it comes back. */
                report(c, 128 + SIGKILL);
                release(c);
                break;
        case STAGE_ORPHAN:
                break;
        }
}

static bool has_exited(const struct real_child *c, int *ret_exit_code) {
        siginfo_t info = { 0 };

        if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
                return false;
        *ret_exit_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
        return true;
}

/* What it left behind goes first, then its last words are read: both while it is a zombie. */
static void on_exit_of(struct loop *l, struct real_child *c, int exit_code) {
        kill(-c->pid, SIGKILL);
        if (c->stage != STAGE_ORPHAN) {
                drain(c, &c->out);
                drain(c, &c->err);
        }
        waitpid(c->pid, NULL, 0);
        /* Its last words may have made it one. */
        if (c->stage != STAGE_ORPHAN)
                report(c, exit_code);
        forget(l, c);
        child_free(c);
}

/* Signals come together: look at every child. done() may start and cancel others, so begin anew after each. */
static void on_sigchld(void *ctx, int signum) {
        struct loop *l = ctx;
        struct real_child *c = l->children;
        int exit_code;

        (void)signum;
        while (c) {
                if (has_exited(c, &exit_code)) {
                        on_exit_of(l, c, exit_code);
                        c = l->children;
                } else {
                        c = c->next;
                }
        }
}

void child_cancel(struct loop_child *head) {
        struct real_child *c = CONTAINER_OF(head, struct real_child, head);

        if (c->stage == STAGE_ORPHAN)
                return;
        kill_group(c);
        let_go(c);
        release(c);
}

/* A killed process goes at once, unless it hangs inside the kernel: that one is left to the system. */
static void await_exit(struct real_child *c) {
        const struct timespec ms = { .tv_nsec = 1000000 };
        int exit_code;

        for (int i = 0; i < CHILD_KILL_AFTER_MS && !has_exited(c, &exit_code); i++)
                nanosleep(&ms, NULL);
        waitpid(c->pid, NULL, WNOHANG);
}

void child_done_all(struct loop *l) {
        while (l->children) {
                struct real_child *c = l->children;

                child_cancel(&c->head);
                await_exit(c);
                l->children = c->next;
                child_free(c);
        }
        loop_signal_free(TAKE_PTR(l->child_sig));
}

/* ---- the start ---- */

/* Both ends of the three streams: ours, and the child's. -1: not open. */
struct streams {
        int ours[3], theirs[3];
};

static void streams_close(int fds[3]) {
        for (int i = 0; i < 3; i++)
                if (fds[i] >= 0)
                        close(fds[i]);
}

/* `from_us`: we write, the child reads. */
static int stream_open(struct streams *s, int i, bool from_us) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        s->ours[i] = fds[from_us];
        s->theirs[i] = fds[!from_us];
        return fcntl(s->ours[i], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int streams_open(struct streams *s, bool has_input, struct err *err) {
        int r = 0;

        *s = (struct streams){ { -1, -1, -1 }, { -1, -1, -1 } };
        if (has_input)
                r = stream_open(s, 0, true);
        else if ((s->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
                r = -errno;
        if (r == 0)
                r = stream_open(s, 1, false);
        if (r == 0)
                r = stream_open(s, 2, false);
        if (r == 0)
                return 0;

        streams_close(s->ours);
        streams_close(s->theirs);
        return err_set_errno(err, -r, "cannot open pipes for a child process");
}

static void end_open(struct real_child *c, struct end *e, int fd, struct buf *into,
                     void (*ready)(void *ctx, unsigned events)) {
        *e = (struct end){ .fd = fd, .into = into };
        if (fd < 0)
                return;
        e->io = loop_io_new(c->head.loop, fd, ready, c);
        if (into)
                loop_io_want(e->io, LOOP_IO_READ);
        else if (c->input.n > 0)
                loop_io_want(e->io, LOOP_IO_WRITE);
}

static struct real_child *child_new(struct loop *l, const struct loop_child_spec *spec) {
        struct real_child *c = mem_zalloc(sizeof *c);

        c->head.loop = l;
        c->name = str_dup(str_from(spec->argv[0]));
        c->deadline_ms = spec->deadline_ms;
        c->heard = spec->heard;
        c->max_heard_bytes = spec->max_stdout_bytes ? spec->max_stdout_bytes : SIZE_MAX;
        c->input = buf_make(spec->heard ? CHILD_MAX_UNSENT_BYTES : spec->input.n);
        buf_add(&c->input, spec->input);
        c->input_ends = !spec->heard;
        c->out_bytes = buf_make(spec->max_stdout_bytes ? spec->max_stdout_bytes : CHILD_MAX_OUTPUT_BYTES);
        c->err_bytes = buf_make(spec->max_stderr_bytes ? spec->max_stderr_bytes : CHILD_MAX_STDERR_BYTES);
        return c;
}

/* The program runs: from here on its end is told by done(). */
static void child_adopt(struct real_child *c, const struct streams *s) {
        struct loop *l = c->head.loop;

        c->next = l->children;
        l->children = c;
        end_open(c, &c->in, s->ours[0], NULL, on_in);
        end_open(c, &c->out, s->ours[1], &c->out_bytes, on_out);
        end_open(c, &c->err, s->ours[2], &c->err_bytes, on_err);
        c->timer = loop_timer_new(l, on_timer, c);
        if (c->deadline_ms > 0)
                loop_timer_start(c->timer, c->deadline_ms);
        if (c->heard)
                l->busy++;
}

struct loop_child *child_start(struct loop *l, const struct loop_child_spec *spec,
                               void (*done)(void *ctx, const struct loop_child_result *result, const struct err *err),
                               void *ctx, struct err *err) {
        struct streams s;

        /* Before the fork: the exit must not come unseen. */
        if (!l->child_sig)
                l->child_sig = loop_signal_new(l, SIGCHLD, on_sigchld, l);
        if (streams_open(&s, spec->heard || spec->input.n > 0, err) < 0)
                return NULL;

        struct real_child *c = child_new(l, spec);
        c->head.done = done;
        c->head.ctx = ctx;
        int r = child_spawn(spec, s.theirs, &c->pid, err);
        streams_close(s.theirs);
        if (r < 0) {
                streams_close(s.ours);
                child_free(c);
                return NULL;
        }
        child_adopt(c, &s);
        return &c->head;
}
