/* SPDX-License-Identifier: Apache-2.0 */
#include "git/http_subtransport.h"

#include "base/limits.h"

/* Bounded by libgit2: at most 256 "have" lines a round. */
#define REQUEST_MAX_BYTES MIB

struct subtransport {
        git_smart_subtransport parent; /* first: libgit2 hands it back to us */
        struct fetch_link *link;
};

/* One exchange. The listing of refs is read whole at once; a request for a pack is sent when its answer is wanted. */
struct stream {
        git_smart_subtransport_stream parent;
        struct fetch_link *link;
        git_smart_service_t service;
        bool sent;
        struct buf out; /* what libgit2 wrote */
        struct buf in;  /* the listing */
        size_t taken;   /* of `in` */
};

static int give_up(struct fetch_link *link) {
        git_error_set_str(GIT_ERROR_NET, link->err.msg);
        return GIT_ERROR;
}

static int send_once(struct stream *s) {
        struct fetch_link *link = s->link;
        int r = 0;

        if (s->sent)
                return 0;
        s->sent = true;
        if (s->service == GIT_SERVICE_UPLOADPACK_LS)
                r = smart_get_refs(&link->smart, false, &s->in, &link->err);
        else
                r = smart_post(&link->smart, false, buf_str(&s->out), &link->err);
        return r;
}

static int stream_read(git_smart_subtransport_stream *stream, char *buffer, size_t size, size_t *ret_n) {
        struct stream *s = (struct stream *)stream;
        size_t left;

        if (send_once(s) < 0)
                return give_up(s->link);
        if (s->service == GIT_SERVICE_UPLOADPACK)
                return http_read(s->link->smart.session, buffer, size, ret_n, &s->link->err) < 0 ? give_up(s->link) : 0;

        left = s->in.n - s->taken;
        if (left > size)
                left = size;
        memcpy(buffer, s->in.p + s->taken, left);
        s->taken += left;
        *ret_n = left;
        return 0;
}

static int stream_write(git_smart_subtransport_stream *stream, const char *buffer, size_t n) {
        struct stream *s = (struct stream *)stream;

        buf_add(&s->out, (struct str){ buffer, n });
        return buf_check(&s->out, "the request for objects", &s->link->err) < 0 ? give_up(s->link) : 0;
}

static void stream_free(git_smart_subtransport_stream *stream) {
        struct stream *s = (struct stream *)stream;

        buf_done(&s->out);
        buf_done(&s->in);
        free(s);
}

static int action(git_smart_subtransport_stream **out, git_smart_subtransport *transport, const char *url,
                  git_smart_service_t service) {
        struct subtransport *t = (struct subtransport *)transport;
        struct stream *s;

        (void)url; /* the link knows it, and where redirects led */
        if (service != GIT_SERVICE_UPLOADPACK_LS && service != GIT_SERVICE_UPLOADPACK) {
                err_set(&t->link->err, ERR_INTERNAL, "a push was asked for");
                return give_up(t->link);
        }
        s = mem_zalloc(sizeof *s);
        s->parent = (git_smart_subtransport_stream){
                .subtransport = transport, .read = stream_read, .write = stream_write, .free = stream_free,
        };
        s->link = t->link;
        s->service = service;
        s->out = buf_make(REQUEST_MAX_BYTES);
        s->in = buf_make(GIT_MAX_REFS_BYTES);
        *out = &s->parent;
        return 0;
}

static int subtransport_close(git_smart_subtransport *transport) {
        (void)transport;
        return 0;
}

static void subtransport_free(git_smart_subtransport *transport) {
        free(transport);
}

static int new_subtransport(git_smart_subtransport **out, git_transport *owner, void *link) {
        struct subtransport *t = mem_zalloc(sizeof *t);

        (void)owner;
        t->parent =
                (git_smart_subtransport){ .action = action, .close = subtransport_close, .free = subtransport_free };
        t->link = link;
        *out = &t->parent;
        return 0;
}

int fetch_link_transport(git_transport **out, git_remote *owner, void *link) {
        git_smart_subtransport_definition definition = { .callback = new_subtransport, .rpc = 1, .param = link };

        /* The definition is read during the call only. */
        return git_transport_smart(out, owner, &definition);
}

void fetch_link_init(struct fetch_link *link, const struct http_config *c, struct git_deadline d) {
        *link = (struct fetch_link){ 0 };
        smart_init(&link->smart, c, d);
}

void fetch_link_done(struct fetch_link *link) {
        smart_done(&link->smart);
}
