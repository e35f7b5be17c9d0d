/* SPDX-License-Identifier: Apache-2.0 */
#include "git/smart.h"

#include "base/limits.h"
#include "git/pkt.h"

#define REFS_SUFFIX "/info/refs?service=git-upload-pack"
#define ADVERT_TYPE "application/x-git-upload-pack-advertisement"
#define REQUEST_TYPE "application/x-git-upload-pack-request"
#define RESULT_TYPE "application/x-git-upload-pack-result"

/* Enough of an answer to tell what it is, or for the one line a server says about a refusal. */
#define GLANCE_BYTES 1024
#define SAID_BYTES 160

void smart_init(struct smart *s, const struct http_config *c, struct git_deadline d) {
        *s = (struct smart){
                .config = c,
                .session = http_session_new(c, d),
                .arena = arena_new(0),
                .base = c->url,
        };
}

void smart_done(struct smart *s) {
        http_session_free(s->session);
        arena_free(s->arena);
        *s = (struct smart){ 0 };
}

static bool may_authorize(const struct smart *s) {
        return git_url_same_origin(&s->base, &s->config->url);
}

/* The beginning of a body, at most GLANCE_BYTES; errors are of no interest here. */
static struct str glance(struct smart *s) {
        char *p = arena_alloc(s->arena, GLANCE_BYTES);
        size_t total = 0, n;

        while (total < GLANCE_BYTES && http_read(s->session, p + total, GLANCE_BYTES - total, &n, NULL) == 0 && n > 0)
                total += n;
        return (struct str){ p, total };
}

/* ": what the server said" in one line of plain text, or "". */
static struct str server_words(struct smart *s, const struct http_reply *reply) {
        struct str said;
        char *p;

        if (!str_starts(str_from(reply->content_type), STR("text/plain")))
                return STR("");
        said = arena_str(s->arena, glance(s));
        /* Before it is cut: half a secret would not be found. */
        http_hide_secrets_in(s->config, (char *)said.p);
        said = arena_str(s->arena, str_sub(str_trim(str_from(said.p)), 0, SAID_BYTES));
        p = (char *)said.p;
        for (size_t i = 0; i < said.n; i++) {
                if ((unsigned char)p[i] < 0x20 || (unsigned char)p[i] >= 0x7f)
                        p[i] = ' ';
        }
        return said.n ? arena_strf(s->arena, ": %.*s", STR_FMT(said)) : STR("");
}

static const char *unauthorized_text(const struct smart *s) {
        if (!s->config->authorization)
                return "it needs credentials, and none are configured (some hosts say so for a repository that does "
                       "not exist, too)";
        if (!may_authorize(s))
                return "a redirect led to another address, to which credentials are not sent: configure that address";
        return "the user name, password or token was refused";
}

/* The first row that fits counts. */
static const struct status {
        int from, to;
        enum err_code code;
        const char *text;
} statuses[] = {
        { 403, 403, ERR_FORBIDDEN, "access is forbidden for these credentials" },
        { 404, 404, ERR_NOTFOUND, "repository not found (or it is private and needs other credentials)" },
        { 410, 410, ERR_NOTFOUND, "the repository is gone" },
        { 407, 407, ERR_UNREACHABLE, "the proxy wants credentials" },
        { 429, 429, ERR_THROTTLED, "too many requests" },
        { 502, 504, ERR_UNREACHABLE, "the server is not available" },
        { 500, 599, ERR_INTERNAL, "the server failed" },
        { 300, 399, ERR_INVAL, "the server redirects where no redirect is allowed" },
        { 400, 499, ERR_INVAL, "the server refused the request" },
};

/* Turns any status but 200 into an error. */
static int check_status(struct smart *s, const struct http_reply *reply, struct err *err) {
        struct status found = { 0, 0, ERR_PARSE, "unexpected answer" };
        struct str url = s->config->url.text;

        if (reply->status == 200)
                return 0;
        if (reply->status == 401)
                found = (struct status){ 401, 401, ERR_UNAUTH, unauthorized_text(s) };
        for (size_t i = 0; i < ARRAY_LEN(statuses) && found.from == 0; i++) {
                if (reply->status >= statuses[i].from && reply->status <= statuses[i].to)
                        found = statuses[i];
        }

        struct str said = server_words(s, reply);
        int r = err_set(err, found.code, "%.*s: %s (HTTP %d%.*s)", STR_FMT(url), found.text, reply->status,
                        STR_FMT(said));
        if (err) {
                err->http_status = reply->status;
                err->retry_after_ms = reply->retry_after_ms;
        }
        return r;
}

static bool is_redirect(int status) {
        return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* The same machine by name; from http to https on the usual ports counts as a step up. */
static bool may_follow(const struct git_url *from, const struct git_url *to) {
        if (git_url_same_origin(from, to))
                return true;
        return str_eq(from->host, to->host) && from->scheme == GIT_URL_HTTP && to->scheme == GIT_URL_HTTPS &&
               from->port == 80 && to->port == 443;
}

static int refuse_redirect(struct smart *s, struct str target, const char *why, struct err *err) {
        struct str shown = git_url_redact(target, s->arena);

        return err_set(err, ERR_INVAL, "%.*s: the server redirects to %.*s, %s", STR_FMT(s->config->url.text),
                       STR_FMT(shown), why);
}

static int follow(struct smart *s, const char *location, struct err *err) {
        struct str target = location ? arena_str(s->arena, str_from(location)) : STR("");
        struct str suffix = STR(REFS_SUFFIX);
        struct git_url to;

        if (!str_ends(target, suffix))
                return refuse_redirect(s, target, "which is no repository's address", err);
        if (git_url_parse(str_sub(target, 0, target.n - suffix.n), s->arena, &to, NULL) < 0 ||
            to.scheme == GIT_URL_FILE)
                return refuse_redirect(s, target, "which is not allowed", err);
        if (s->base.scheme == GIT_URL_HTTPS && to.scheme == GIT_URL_HTTP)
                return refuse_redirect(s, target, "which gives up encryption: not followed", err);
        if (!may_follow(&s->base, &to))
                return refuse_redirect(s, target, "another host or port: if you trust it, configure that URL", err);
        s->base = to;
        return 0;
}

/* 200 with something that is no advertisement: say what it seems to be. */
static int refuse_content(struct smart *s, const struct http_reply *reply, struct err *err) {
        struct str body = glance(s), url = s->config->url.text;
        struct str type = git_url_redact(str_from(reply->content_type), s->arena);
        struct git_id id;

        if (body.n == 0 || (body.n > GIT_OID_HEX_BYTES && body.p[GIT_OID_HEX_BYTES] == '\t' &&
                            git_id_from_hex(str_sub(body, 0, GIT_OID_HEX_BYTES), &id)))
                return err_set(err, ERR_UNSUPPORTED,
                               "%.*s: the server only speaks the \"dumb\" HTTP protocol: it must run git http-backend "
                               "or the like", STR_FMT(url));
        return err_set(err, ERR_PARSE,
                       "%.*s: no Git server answers there, but something of type \"%.*s\": is the URL right?",
                       STR_FMT(url), STR_FMT(type));
}

int smart_get_refs(struct smart *s, bool v2, struct buf *body, struct err *err) {
        struct http_reply reply = { .status = 302 };
        int r = 0, hops = 0;

        while (is_redirect(reply.status)) {
                struct str url = arena_strf(s->arena, "%.*s" REFS_SUFFIX, STR_FMT(s->base.text));
                struct http_request req = {
                        .url = url.p, .accept = "*/*", .v2 = v2, .authorize = may_authorize(s), .compressed = true,
                };

                r = http_send(s->session, &req, &reply, err);
                if (r == 0 && is_redirect(reply.status) && hops++ == SMART_MAX_REDIRECTS)
                        r = refuse_redirect(s, str_from(reply.location), "and that for the sixth time", err);
                if (r == 0 && is_redirect(reply.status))
                        r = follow(s, reply.location, err);
                if (r < 0)
                        return r;
        }
        r = check_status(s, &reply, err);
        if (r < 0)
                return r;
        if (!str_eq(str_from(reply.content_type), STR(ADVERT_TYPE)))
                return refuse_content(s, &reply, err);
        return http_read_all(s->session, body, "the server's list of refs", err);
}

int smart_post(struct smart *s, bool v2, struct str body, struct err *err) {
        struct str url = arena_strf(s->arena, "%.*s/git-upload-pack", STR_FMT(s->base.text));
        struct http_request req = {
                .url = url.p, .accept = RESULT_TYPE, .content_type = REQUEST_TYPE, .body = body, .v2 = v2,
                .authorize = may_authorize(s), .compressed = v2,
        };
        struct http_reply reply;
        int r = http_send(s->session, &req, &reply, err);

        if (r == 0)
                r = check_status(s, &reply, err);
        if (r == 0 && !str_eq(str_from(reply.content_type), STR(RESULT_TYPE)))
                r = refuse_content(s, &reply, err);
        return r;
}

static int ls_refs(struct smart *s, const struct str *prefixes, size_t count, struct arena *a,
                   struct git_ref_list *ret, struct err *err) {
        static const struct str all[] = { { "HEAD", 4 }, { "refs/heads/", 11 }, { "refs/tags/", 10 } };
        _cleanup_(buf_done) struct buf request = buf_make(16 * KIB), body = buf_make(GIT_MAX_REFS_BYTES);
        int r;

        pkt_add_ls_refs(&request, count ? prefixes : all, count ? count : ARRAY_LEN(all));
        r = smart_post(s, true, buf_str(&request), err);
        if (r == 0)
                r = http_read_all(s->session, &body, "the server's list of refs", err);
        if (r == 0)
                r = pkt_parse_ls_refs(buf_str(&body), a, ret, err);
        return r;
}

int smart_list_refs(struct smart *s, const struct str *prefixes, size_t count, struct arena *a,
                    struct git_ref_list *ret, struct err *err) {
        _cleanup_(buf_done) struct buf body = buf_make(GIT_MAX_REFS_BYTES);
        struct pkt_advert advert;
        int r = smart_get_refs(s, true, &body, err);

        if (r >= 0)
                r = pkt_parse_advert(buf_str(&body), a, &advert, err);
        if (r < 0)
                return r;
        if (advert.v2)
                return ls_refs(s, prefixes, count, a, ret, err);
        *ret = advert.refs;
        return 0;
}
