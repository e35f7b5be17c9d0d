/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/list.h"

#include "base/limits.h"
#include "base/split.h"
#include "base/value.h"
#include "kube/client_impl.h"
#include "kube/skim_impl.h"

struct kube_list {
        struct kube_task task; /* first */
        struct kube_client *client;
        struct kube_list_spec spec; /* owns its strings through `arena` */
        struct arena *arena;
        struct kube_list_handler handler;
        void *ctx;

        struct kube_call *call;
        struct loop_timer *timer; /* until the next attempt at a page, or to tell that the spec is wrong */
        struct kube_retry retry;  /* of this page */
        struct split_list *split; /* of this page */
        bool page_has_bytes;      /* of this attempt: items may have been given, so it is not repeated */
        bool restarted;
        unsigned stalls;          /* pages that fell silent */
        struct buf continue_token;
        struct err refused;
};

static void list_free(struct kube_list *l) {
        loop_timer_free(l->timer);
        split_list_free(l->split);
        buf_done(&l->continue_token);
        arena_free(l->arena);
        free(l);
}

static void list_abort(struct kube_task *task) {
        struct kube_list *l = (struct kube_list *)task;

        kube_task_remove(l->client, task);
        if (l->call)
                kube_cancel(l->client->transport, l->call);
        list_free(l);
}

void kube_list_cancel(struct kube_list *l) {
        if (l)
                list_abort(&l->task);
}

void kube_list_tell_slow(struct kube_list *l, int64_t after_ms, void (*tell)(void *ctx), void *ctx) {
        kube_task_tell_slow(l->client, &l->task, after_ms, tell, ctx);
}

/* The list leaves the client first: done() may free the client. */
static void list_end(struct kube_list *l, struct str rv, const struct kube_status *status, const struct err *err) {
        static const struct kube_status nothing = { 0 };

        kube_task_remove(l->client, &l->task);
        l->handler.done(l->ctx, rv, status ? status : &nothing, err);
        list_free(l);
}

static int on_item(void *ctx, struct str item, struct err *err) {
        struct kube_list *l = ctx;

        return l->handler.item(l->ctx, item, err);
}

static int on_data(void *ctx, struct str chunk, struct err *err) {
        struct kube_list *l = ctx;

        l->page_has_bytes = true;
        return split_list_feed(l->split, chunk, err);
}

static void on_done(void *ctx, const struct kube_reply *reply, const struct err *err);
static const struct kube_handler page_handler = { .data = on_data, .done = on_done };

static int page_path(struct kube_list *l, struct buf *path, struct err *err) {
        struct kube_query query = {
                .label_selector = l->spec.label_selector,
                .field_selector = l->spec.field_selector,
                .limit = l->spec.page_items ? l->spec.page_items : KUBE_LIST_PAGE_ITEMS,
                .continue_token = buf_str(&l->continue_token),
                .resource_version = l->spec.not_older_than,
        };

        /* Without a match a resourceVersion beside a limit means "exactly", which is soon compacted away. */
        if (query.resource_version.n)
                query.resource_version_match = STR("NotOlderThan");
        return kube_path(&l->spec.at, &query, path, err);
}

static void send_page(struct kube_list *l) {
        _cleanup_(buf_done) struct buf path = buf_make(KUBE_MAX_PATH_BYTES);

        if (page_path(l, &path, &l->refused) < 0) {
                loop_timer_start(l->timer, 0);
                return;
        }

        split_list_free(l->split);
        l->split = split_list_new(KUBE_MAX_OBJECT_BYTES, on_item, l);
        l->page_has_bytes = false;

        const struct kube_request request = {
                .method = KUBE_GET,
                .path = buf_str(&path),
                .priority = KUBE_PRIORITY_READ,
                .deadline_ms = kube_retry_left_ms(&l->retry, l->client->loop),
                .silence_ms = l->stalls < KUBE_LIST_MAX_STALLS ? KUBE_LIST_SILENCE_MS : 0,
                .max_body_bytes = KUBE_MAX_ERROR_BYTES, /* only a refusal is collected */
        };
        l->call = kube_start(l->client->transport, &request, &page_handler, l);
}

static void begin_page(struct kube_list *l) {
        l->retry = kube_retry_make(l->client->loop, l->spec.page_deadline_ms);
        send_page(l);
}

static void on_timer(void *ctx) {
        struct kube_list *l = ctx;

        if (l->refused.code)
                list_end(l, (struct str){ 0 }, NULL, &l->refused);
        else
                send_page(l);
}

static void start_over(struct kube_list *l) {
        buf_clear(&l->continue_token);
        if (l->handler.restart)
                l->handler.restart(l->ctx);
        begin_page(l);
}

/* The snapshot behind a continue token is gone: once more from the beginning. */
static bool starts_over(struct kube_list *l, const struct kube_status *status) {
        if (status->code != ERR_GONE || l->continue_token.n == 0 || l->restarted)
                return false;

        l->restarted = true;
        start_over(l);
        return true;
}

/*
 * A page that falls silent is not waited for to its deadline: the transport puts the connection aside, and the list comes
 * from the beginning over another one. The last attempt has all the time there is, for a server that is only slow.
 */
static bool is_stalled(struct kube_list *l, const struct err *err) {
        if (!err || err->code != ERR_TIMEOUT || l->stalls == KUBE_LIST_MAX_STALLS)
                return false;

        l->stalls++;
        return true;
}

static void page_refused(struct kube_list *l, const struct kube_reply *reply) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct kube_status status;
        struct err err = { 0 };

        kube_status_from_reply(reply, a, &status, &err);
        if (starts_over(l, &status))
                return;
        err_wrap(&err, err.code, "list %.*s", STR_FMT(l->spec.at.plural));
        list_end(l, (struct str){ 0 }, &status, &err);
}

static int read_shell(struct kube_list *l, struct str *ret_rv, struct err *err) {
        struct str shell, metadata, token = { 0 };

        int r = split_list_end(l->split, &shell, err);
        if (r < 0)
                return r;
        if (!skim_member(shell, STR("metadata"), &metadata))
                return err_set(err, ERR_PARSE, "the reply is no list");

        /* Some aggregated APIs have no resourceVersion: they can be listed, but not watched. */
        skim_string(metadata, STR("resourceVersion"), ret_rv);
        buf_clear(&l->continue_token);
        /* A token that cannot be read must not pass for the end of the list. */
        if (skim_member(metadata, STR("continue"), &token) && !skim_string(metadata, STR("continue"), &token))
                return err_set(err, ERR_PARSE, "the reply's metadata.continue is no plain string");
        buf_add(&l->continue_token, token);
        return buf_check(&l->continue_token, "continue token", err);
}

static void page_complete(struct kube_list *l) {
        struct err err = { 0 };
        struct str rv = { 0 };

        if (read_shell(l, &rv, &err) < 0) {
                err_wrap(&err, err.code, "list %.*s", STR_FMT(l->spec.at.plural));
                list_end(l, (struct str){ 0 }, NULL, &err);
        } else if (l->continue_token.n) {
                begin_page(l);
        } else {
                list_end(l, rv, NULL, NULL);
        }
}

/*
 * "Too large resource version" comes with a Retry-After for replicas that lag a little. After a restored etcd it would
 * never come true, so the caller is told at once and asks for a consistent list.
 */
static bool is_too_new(const struct kube_list *l, const struct kube_reply *reply) {
        return l->spec.not_older_than.n && reply->status == 504 &&
               str_contains(reply->body, STR("ResourceVersionTooLarge"));
}

static void on_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct kube_list *l = ctx;
        int64_t delay_ms = 0;

        l->call = NULL;
        kube_client_note_warnings(l->client, reply->warnings);
        if (!l->page_has_bytes && !is_too_new(l, reply) &&
            kube_retry_again(&l->retry, l->client->loop, true, reply, err, &delay_ms)) {
                loop_timer_start(l->timer, delay_ms);
        } else if (is_stalled(l, err)) {
                start_over(l);
        } else if (err) {
                struct err copy = *err;

                err_wrap(&copy, copy.code, "list %.*s", STR_FMT(l->spec.at.plural));
                list_end(l, (struct str){ 0 }, NULL, &copy);
        } else if (reply->status < 200 || reply->status >= 300) {
                page_refused(l, reply);
        } else {
                page_complete(l);
        }
}

static void copy_spec(struct kube_list *l, const struct kube_list_spec *spec) {
        struct str *const texts[] = {
                &l->spec.at.group,       &l->spec.at.version,     &l->spec.at.plural,
                &l->spec.at.namespace,   &l->spec.at.name,        &l->spec.at.subresource,
                &l->spec.label_selector, &l->spec.field_selector, &l->spec.not_older_than,
        };

        l->spec = *spec;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                *texts[i] = arena_str(l->arena, *texts[i]);
}

struct kube_list *kube_list_start(struct kube_client *c, const struct kube_list_spec *spec,
                                  const struct kube_list_handler *handler, void *ctx) {
        struct kube_list *l = mem_zalloc(sizeof *l);

        l->task.abort = list_abort;
        l->client = c;
        l->arena = arena_new(512);
        l->handler = *handler;
        l->ctx = ctx;
        l->timer = loop_timer_new(c->loop, on_timer, l);
        l->continue_token = buf_make(KUBE_MAX_PATH_BYTES);
        copy_spec(l, spec);
        kube_task_add(c, &l->task);
        begin_page(l);
        return l;
}
