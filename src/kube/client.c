/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client_impl.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/value.h"

#define RETRY_FIRST_MS    1000 /* after a 429 that names no time; doubled each try */
#define RECONNECT_MAX_MS  250  /* before the one more GET after a broken connection */
#define WARNING_MAX_BYTES 1024 /* of a text that count in telling it from others */

struct kube_op {
        struct kube_task task; /* first */
        struct kube_client *client;
        struct kube_call *call;      /* NULL between attempts */
        struct loop_timer *timer;    /* until the next attempt, or until a bad argument is told */
        struct kube_request request; /* owns path and body */
        struct kube_retry retry;
        struct err *refused; /* a bad argument: nothing is sent; owned, mostly NULL */
        char *what;          /* "apply apps/v1 deployments shop/web", for messages */
        bool is_secret;
        kube_done_fn done;
        void *ctx;
};

/* --- the client --- */

struct kube_client *kube_client_new(struct kube_transport *t, struct loop *l) {
        struct kube_client *c = mem_zalloc(sizeof *c);

        c->transport = t;
        c->loop = l;
        c->warnings = map_new(NULL);
        return c;
}

void kube_client_free(struct kube_client *c) {
        if (!c)
                return;

        while (c->tasks)
                c->tasks->abort(c->tasks);
        map_free(c->warnings);
        free(c);
}

void kube_task_add(struct kube_client *c, struct kube_task *task) {
        task->next = NULL;
        task->prev = c->last_task;
        if (task->prev)
                task->prev->next = task;
        else
                c->tasks = task;
        c->last_task = task;
}

void kube_task_remove(struct kube_client *c, struct kube_task *task) {
        loop_timer_free(TAKE_PTR(task->slow));
        if (task->prev)
                task->prev->next = task->next;
        else
                c->tasks = task->next;
        if (task->next)
                task->next->prev = task->prev;
        else
                c->last_task = task->prev;
}

void kube_client_on_warning(struct kube_client *c, void (*warn)(void *ctx, struct str text), void *ctx) {
        c->warn = warn;
        c->warn_ctx = ctx;
}

void kube_client_note_warnings(struct kube_client *c, struct str warnings) {
        struct str text;

        while (c->warn && str_next(&warnings, '\n', &text)) {
                struct str key = str_sub(text, 0, WARNING_MAX_BYTES);

                if (text.n == 0 || map_find(c->warnings, key))
                        continue;
                if (map_count(c->warnings) >= KUBE_CLIENT_MAX_WARNINGS) {
                        map_free(c->warnings);
                        c->warnings = map_new(NULL);
                }
                map_set(c->warnings, key, c);
                c->warn(c->warn_ctx, text);
        }
}

/* --- sending again --- */

struct kube_retry kube_retry_make(struct loop *l, int64_t deadline_ms) {
        deadline_ms = deadline_ms ? deadline_ms : KUBE_DEFAULT_DEADLINE_MS;
        return (struct kube_retry){ .until_ms = loop_now_ms(l) + deadline_ms };
}

int64_t kube_retry_left_ms(const struct kube_retry *r, struct loop *l) {
        int64_t left_ms = r->until_ms - loop_now_ms(l);

        return left_ms > 0 ? left_ms : 1;
}

/*
 * 429 and a 503 with Retry-After mean that the server did not act. Other 5xx may have acted: only a read may be
 * repeated, and only when the server invites it.
 */
static bool is_invited(bool is_read, const struct kube_reply *reply) {
        if (reply->status == 429)
                return true;
        if (reply->retry_after_ms <= 0)
                return false;
        return reply->status == 503 || (is_read && reply->status >= 500);
}

bool kube_retry_again(struct kube_retry *r, struct loop *l, bool is_read, const struct kube_reply *reply,
                      const struct err *err, int64_t *ret_delay_ms) {
        int64_t delay_ms = RETRY_FIRST_MS << r->tries;

        if (err) {
                if (err->code != ERR_UNREACHABLE || !is_read || r->reconnected)
                        return false;
                r->reconnected = true;
                *ret_delay_ms = (int64_t)loop_random(l, RECONNECT_MAX_MS);
                return loop_now_ms(l) + *ret_delay_ms < r->until_ms;
        }
        if (!is_invited(is_read, reply) || r->tries == KUBE_CLIENT_MAX_RETRIES)
                return false;

        if (reply->retry_after_ms > 0)
                delay_ms = reply->retry_after_ms;
        delay_ms += (int64_t)loop_random(l, (uint64_t)delay_ms / 2 + 1);
        if (delay_ms >= r->until_ms - loop_now_ms(l))
                return false;

        r->tries++;
        *ret_delay_ms = delay_ms;
        return true;
}

/* --- one call --- */

static void op_free(struct kube_op *op) {
        loop_timer_free(op->timer);
        free((char *)op->request.path.p);
        free((char *)op->request.body.p);
        free(op->refused);
        free(op->what);
        free(op);
}

static void op_abort(struct kube_task *task) {
        struct kube_op *op = (struct kube_op *)task;

        kube_task_remove(op->client, task);
        if (op->call)
                kube_cancel(op->client->transport, op->call);
        op_free(op);
}

void kube_op_cancel(struct kube_op *op) {
        if (op)
                op_abort(&op->task);
}

void kube_task_tell_slow(struct kube_client *c, struct kube_task *task, int64_t after_ms, void (*tell)(void *ctx), void *ctx) {
        loop_timer_free(task->slow);
        task->slow = loop_timer_new(c->loop, tell, ctx);
        loop_timer_start(task->slow, after_ms);
}

void kube_op_tell_slow(struct kube_op *op, int64_t after_ms, void (*tell)(void *ctx), void *ctx) {
        kube_task_tell_slow(op->client, &op->task, after_ms, tell, ctx);
}

/* An unexplained failure can be looked up in the server's audit log. */
static void add_audit_id(struct err *err, struct str audit_id) {
        size_t n = strlen(err->msg);

        if (err->http_status >= 500 && audit_id.n && n + audit_id.n + 32 < sizeof err->msg)
                snprintf(err->msg + n, sizeof err->msg - n, " (audit id %.*s)", STR_FMT(audit_id));
}

static void fill_failure(struct kube_op *op, struct kube_result *result, const struct kube_reply *reply,
                         const struct err *err, struct arena *a) {
        if (err) {
                result->err = *err;
                kube_status_from_err(err, a, &result->status);
        } else if (kube_status_from_reply(reply, a, &result->status, &result->err) < 0) {
                if (op->is_secret)
                        kube_status_redact(&result->status, a, &result->err);
                add_audit_id(&result->err, reply->audit_id);
        }
        if (result->err.code)
                err_wrap(&result->err, result->err.code, "%s", op->what);
}

/* Policies that only warn write their texts from the object as those do that deny. */
static struct str warnings_of(const struct kube_op *op, const struct kube_reply *reply) {
        if (op->is_secret && reply->warnings.n)
                return STR("the API server warns about a Secret (text withheld: it could hold values)");
        return reply->warnings;
}

/* The op leaves the client first: done() may free the client. */
static void op_complete(struct kube_op *op, const struct kube_reply *reply, const struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct kube_result result = { .http_status = reply->status, .warnings = warnings_of(op, reply) };

        fill_failure(op, &result, reply, err, a);
        if (!result.err.code)
                result.body = reply->body;

        kube_task_remove(op->client, &op->task);
        op->done(op->ctx, &result);
        op_free(op);
}

static void op_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct kube_op *op = ctx;
        int64_t delay_ms = 0;

        op->call = NULL;
        kube_client_note_warnings(op->client, warnings_of(op, reply));
        if (kube_retry_again(&op->retry, op->client->loop, op->request.method == KUBE_GET, reply, err, &delay_ms))
                loop_timer_start(op->timer, delay_ms);
        else
                op_complete(op, reply, err);
}

static const struct kube_handler op_handler = { .done = op_done };

static void op_send(struct kube_op *op) {
        op->request.deadline_ms = kube_retry_left_ms(&op->retry, op->client->loop);
        op->call = kube_start(op->client->transport, &op->request, &op_handler, op);
}

static void op_timer(void *ctx) {
        static const struct kube_reply no_reply = { 0 };
        struct kube_op *op = ctx;

        if (op->refused)
                op_complete(op, &no_reply, op->refused);
        else
                op_send(op);
}

/* What is asked, before it has a path. */
struct ask {
        const char *verb;
        enum kube_method method;
        const struct kube_location *at;
        struct kube_query query;
        const char *content_type;
        struct str body;
        int64_t deadline_ms;
        const char *wants; /* what the caller forgot; NULL: nothing */
};

static enum kube_priority priority_of(const struct ask *ask) {
        if (str_eqc(ask->at->plural, "leases") && str_eqc(ask->at->group, "coordination.k8s.io"))
                return KUBE_PRIORITY_LEASE;
        if (str_eqc(ask->at->plural, "events") && !ask->at->group.n)
                return KUBE_PRIORITY_READ; /* remarks, no work */
        return ask->method == KUBE_GET ? KUBE_PRIORITY_READ : KUBE_PRIORITY_WRITE;
}

static int check_ask(const struct ask *ask, struct buf *path, struct err *err) {
        if (ask->wants)
                return err_set(err, ERR_INVAL, "it needs a %s", ask->wants);
        if (ask->body.n > KUBE_MAX_REQUEST_BYTES)
                return err_set(err, ERR_LIMIT, "%zu bytes are more than the API server takes (%d)", ask->body.n,
                               KUBE_MAX_REQUEST_BYTES);
        return kube_path(ask->at, &ask->query, path, err);
}

static char *describe(const struct ask *ask) {
        struct buf what = buf_make(KUBE_MAX_PATH_BYTES);

        buf_addf(&what, "%s ", ask->verb);
        kube_location_print(&what, ask->at);
        return buf_take(&what);
}

static struct kube_op *op_new(struct kube_client *c, int64_t deadline_ms, kube_done_fn done, void *ctx) {
        struct kube_op *op = mem_zalloc(sizeof *op);

        op->task.abort = op_abort;
        op->client = c;
        op->done = done;
        op->ctx = ctx;
        op->retry = kube_retry_make(c->loop, deadline_ms);
        op->timer = loop_timer_new(c->loop, op_timer, op);
        kube_task_add(c, &op->task);
        return op;
}

static void op_refuse(struct kube_op *op, const struct err *err) {
        op->refused = mem_alloc(sizeof *op->refused);
        *op->refused = *err;
        loop_timer_start(op->timer, 0);
}

struct kube_op *kube_client_get_document(struct kube_client *c, struct str path, const char *accept, kube_done_fn done,
                                         void *ctx) {
        struct kube_op *op = op_new(c, 0, done, ctx);
        struct buf what = buf_make(KUBE_MAX_PATH_BYTES);

        buf_addf(&what, "get %.*s", STR_FMT(path));
        op->what = buf_take(&what);
        op->request = (struct kube_request){
                .method = KUBE_GET,
                .path = { str_dup(path), path.n },
                .accept = accept,
                .priority = KUBE_PRIORITY_READ,
        };
        op_send(op);
        return op;
}

static struct kube_op *op_start(struct kube_client *c, const struct ask *ask, kube_done_fn done, void *ctx) {
        _cleanup_(buf_done) struct buf path = buf_make(KUBE_MAX_PATH_BYTES);
        struct kube_op *op = op_new(c, ask->deadline_ms, done, ctx);
        struct err err = { 0 };

        op->what = describe(ask);
        op->is_secret = kube_is_secret(ask->at->group, ask->at->plural);
        if (check_ask(ask, &path, &err) < 0) {
                op_refuse(op, &err);
                return op;
        }

        op->request = (struct kube_request){
                .method = ask->method,
                .path = { str_dup(buf_str(&path)), path.n },
                .content_type = ask->content_type,
                .body = { str_dup(ask->body), ask->body.n },
                .priority = priority_of(ask),
                .max_body_bytes = KUBE_MAX_OBJECT_BYTES,
        };
        op_send(op);
        return op;
}

/* --- the verbs --- */

struct kube_op *kube_client_get(struct kube_client *c, const struct kube_location *at, int64_t deadline_ms,
                                kube_done_fn done, void *ctx) {
        const struct ask ask = { .verb = "get", .method = KUBE_GET, .at = at, .deadline_ms = deadline_ms };

        return op_start(c, &ask, done, ctx);
}

static struct kube_op *write_start(struct kube_client *c, struct ask *ask, const struct kube_write *how,
                                   kube_done_fn done, void *ctx) {
        ask->query = (struct kube_query){
                .field_manager = how->field_manager,
                .force = how->force,
                .dry_run = how->dry_run,
                .validation = how->validation,
        };
        ask->deadline_ms = how->deadline_ms;
        return op_start(c, ask, done, ctx);
}

struct kube_op *kube_client_create(struct kube_client *c, const struct kube_location *at, struct str body,
                                   const struct kube_write *how, kube_done_fn done, void *ctx) {
        struct ask ask = {
                .verb = "create", .method = KUBE_POST, .at = at, .content_type = "application/json", .body = body
        };

        return write_start(c, &ask, how, done, ctx);
}

struct kube_op *kube_client_update(struct kube_client *c, const struct kube_location *at, struct str body,
                                   const struct kube_write *how, kube_done_fn done, void *ctx) {
        struct ask ask = {
                .verb = "update", .method = KUBE_PUT, .at = at, .content_type = "application/json", .body = body
        };

        return write_start(c, &ask, how, done, ctx);
}

struct kube_op *kube_client_apply(struct kube_client *c, const struct kube_location *at, struct str body,
                                  const struct kube_write *how, kube_done_fn done, void *ctx) {
        struct ask ask = {
                .verb = how->dry_run ? "dry-run" : "apply",
                .method = KUBE_PATCH,
                .at = at,
                .content_type = "application/apply-patch+yaml",
                .body = body,
                .wants = how->field_manager.n ? NULL : "field manager",
        };

        return write_start(c, &ask, how, done, ctx);
}

static const char *const patch_types[] = {
        [KUBE_PATCH_MERGE] = "application/merge-patch+json",
        [KUBE_PATCH_JSON] = "application/json-patch+json",
};

struct kube_op *kube_client_patch(struct kube_client *c, const struct kube_location *at, enum kube_patch kind,
                                  struct str body, const struct kube_write *how, kube_done_fn done, void *ctx) {
        struct ask ask = {
                .verb = "patch", .method = KUBE_PATCH, .at = at, .content_type = patch_types[kind], .body = body
        };

        return write_start(c, &ask, how, done, ctx);
}

static const char *const propagation_names[] = {
        [KUBE_PROPAGATION_BACKGROUND] = "Background",
        [KUBE_PROPAGATION_FOREGROUND] = "Foreground",
        [KUBE_PROPAGATION_ORPHAN] = "Orphan",
};

static void add_member(struct buf *out, const char *separator, const char *key, struct str text) {
        buf_addf(out, "%s\"%s\":", separator, key);
        value_print_string(text, out);
}

static void add_preconditions(struct buf *out, const struct kube_delete *how) {
        if (!how->uid.n && !how->resource_version.n)
                return;

        buf_addc(out, ",\"preconditions\":{");
        if (how->uid.n)
                add_member(out, "", "uid", how->uid);
        if (how->resource_version.n)
                add_member(out, how->uid.n ? "," : "", "resourceVersion", how->resource_version);
        buf_addch(out, '}');
}

static void add_delete_options(struct buf *out, const struct kube_delete *how) {
        buf_addc(out, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\"");
        add_preconditions(out, how);
        if (how->propagation)
                add_member(out, ",", "propagationPolicy", str_from(propagation_names[how->propagation]));
        if (how->now)
                buf_addc(out, ",\"gracePeriodSeconds\":0");
        if (how->dry_run)
                buf_addc(out, ",\"dryRun\":[\"All\"]");
        buf_addch(out, '}');
}

struct kube_op *kube_client_delete(struct kube_client *c, const struct kube_location *at, const struct kube_delete *how,
                                   kube_done_fn done, void *ctx) {
        _cleanup_(buf_done) struct buf body = buf_make(4 * KIB);
        /* The server reads the options from the body; dryRun stands in the query too, where logs show it. */
        struct ask ask = {
                .verb = "delete",
                .method = KUBE_DELETE,
                .at = at,
                .query = { .dry_run = how->dry_run },
                .content_type = "application/json",
                .deadline_ms = how->deadline_ms,
                /* DELETE of a collection would delete all that is in it. */
                .wants = at->name.n ? NULL : "name",
        };

        add_delete_options(&body, how);
        ask.body = buf_str(&body);
        if (body.overflow)
                ask.wants = "precondition of reasonable length";
        return op_start(c, &ask, done, ctx);
}
