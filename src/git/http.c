/* SPDX-License-Identifier: Apache-2.0 */
#include "git/http.h"

#include <curl/curl.h>

#include "base/base64.h"
#include "base/duration.h"
#include "base/limits.h"

/* What one round of curl may deliver at once before we look at it; above it the server plays tricks. */
#define PENDING_MAX_BYTES (32 * MIB)
/* Slower than this for the stall timeout is as good as silent. */
#define STALL_BYTES_PER_S 10
#define SECRET_MIN_BYTES 4

struct http_session {
        const struct http_config *config;
        struct git_deadline deadline;
        CURLM *multi;
        CURL *easy;
        struct curl_slist *headers;
        char reason[CURL_ERROR_SIZE];
        struct buf pending; /* received, not read yet */
        size_t taken;       /* of `pending` */
        bool active;        /* the easy handle is in the multi handle */
        bool ended;
        CURLcode result;    /* once ended */
};

/* ---- configuration ---- */

static char *base64_basic(struct str user, struct str password) {
        _cleanup_(buf_done) struct buf in = buf_make(user.n + password.n + 2);
        struct buf out = buf_make(2 * (user.n + password.n) + 8);

        buf_add(&in, user);
        buf_addch(&in, ':');
        buf_add(&in, password);
        base64_encode(buf_str(&in), &out);
        explicit_bzero(in.p, in.n);
        return buf_take(&out);
}

static bool has_line_break(struct str s) {
        return str_find(s, '\n', 0) >= 0 || str_find(s, '\r', 0) >= 0 || str_find(s, '\0', 0) >= 0;
}

static char *header_line(const char *scheme, const char *value) {
        struct buf b = buf_make(strlen(value) + 64);

        buf_addf(&b, "Authorization: %s %s", scheme, value);
        return buf_take(&b);
}

static void set_authorization(struct http_config *c, const struct git_credentials *cred) {
        if (cred->bearer_token.n) {
                c->secrets[0] = str_dup(cred->bearer_token);
                c->authorization = header_line("Bearer", c->secrets[0]);
        } else if (cred->username.n || cred->password.n) {
                c->secrets[0] = base64_basic(cred->username, cred->password);
                c->secrets[1] = str_dup(cred->password);
                /* "https://TOKEN@host": the user name is the secret. */
                c->secrets[2] = str_dup(cred->password.n ? STR("") : cred->username);
                c->authorization = header_line("Basic", c->secrets[0]);
        }
}

int http_config_init(struct http_config *c, const struct git_url *url, const struct git_remote_options *o,
                     struct err *err) {
        struct git_credentials cred = o->credentials;
        bool given = cred.username.n || cred.password.n || cred.bearer_token.n;
        int64_t stall_ms = o->stall_timeout_ms ? o->stall_timeout_ms : GIT_STALL_TIMEOUT_MS;

        if (!given)
                cred = (struct git_credentials){ .username = url->username, .password = url->password };
        given = cred.username.n || cred.password.n || cred.bearer_token.n;
        if (has_line_break(cred.username) || has_line_break(cred.password) || has_line_break(cred.bearer_token))
                return err_set(err, ERR_INVAL, "the credentials for %.*s hold a line break or NUL", STR_FMT(url->text));
        if (given && url->scheme == GIT_URL_HTTP && !git_url_is_loopback(url) && !o->allow_plain_credentials)
                return err_set(err, ERR_INVAL,
                               "credentials for %.*s would be sent in the clear: use https, or allow it explicitly",
                               STR_FMT(url->text));

        *c = (struct http_config){ .url = *url, .insecure_tls = o->insecure_tls };
        c->connect_timeout_ms = o->connect_timeout_ms ? (long)o->connect_timeout_ms : GIT_CONNECT_TIMEOUT_MS;
        c->stall_timeout_s = stall_ms < 1000 ? 1 : (long)(stall_ms / 1000);
        c->no_proxy = o->no_proxy;
        c->ca_file = o->ca_file.n ? str_dup(o->ca_file) : NULL;
        c->ca = o->ca.n ? str_dup(o->ca) : NULL;
        c->certificate = o->credentials.certificate.n ? str_dup(o->credentials.certificate) : NULL;
        c->key = o->credentials.key.n ? str_dup(o->credentials.key) : NULL;
        c->user_agent = str_dup(o->user_agent.n ? o->user_agent : STR("git/2.0 (truce/" TRUCE_VERSION ")"));
        set_authorization(c, &cred);
        return 0;
}

static void free_secret(char *s) {
        if (s)
                explicit_bzero(s, strlen(s));
        free(s);
}

void http_config_done(struct http_config *c) {
        free_secret(c->authorization);
        for (size_t i = 0; i < HTTP_MAX_SECRETS; i++)
                free_secret(c->secrets[i]);
        free_secret(c->key);
        free(c->certificate);
        free(c->ca);
        free(c->ca_file);
        free(c->user_agent);
        *c = (struct http_config){ 0 };
}

static void hide(char *msg, const char *secret) {
        size_t n = strlen(secret);

        for (char *at = msg; (at = strstr(at, secret)); at += 3) {
                memmove(at + 3, at + n, strlen(at + n) + 1);
                memcpy(at, "***", 3);
        }
}

void http_hide_secrets_in(const struct http_config *c, char *text) {
        for (size_t i = 0; i < HTTP_MAX_SECRETS; i++) {
                if (c->secrets[i] && strlen(c->secrets[i]) >= SECRET_MIN_BYTES)
                        hide(text, c->secrets[i]);
        }
}

void http_hide_secrets(const struct http_config *c, struct err *err) {
        if (err)
                http_hide_secrets_in(c, err->msg);
}

/* ---- session ---- */

static size_t on_body(char *p, size_t size, size_t n, void *ctx) {
        struct http_session *s = ctx;

        buf_add(&s->pending, (struct str){ p, size * n });
        return s->pending.overflow ? 0 : size * n;
}

struct http_session *http_session_new(const struct http_config *c, struct git_deadline d) {
        struct http_session *s = mem_zalloc(sizeof *s);

        s->config = c;
        s->deadline = d;
        s->pending = buf_make(PENDING_MAX_BYTES);
        s->multi = curl_multi_init();
        s->easy = curl_easy_init();
        return s;
}

static void end_exchange(struct http_session *s) {
        if (s->active)
                curl_multi_remove_handle(s->multi, s->easy);
        s->active = false;
        curl_slist_free_all(s->headers);
        s->headers = NULL;
        buf_clear(&s->pending);
        s->taken = 0;
}

void http_session_free(struct http_session *s) {
        if (!s)
                return;
        end_exchange(s);
        curl_easy_cleanup(s->easy);
        curl_multi_cleanup(s->multi);
        buf_done(&s->pending);
        free(s);
}

/* How curl's results read for a person. What is not listed is a broken connection. */
static const struct failure {
        CURLcode result;
        enum err_code code;
        const char *text;
} failures[] = {
        { CURLE_COULDNT_RESOLVE_HOST, ERR_UNREACHABLE, "its host name cannot be resolved" },
        { CURLE_COULDNT_RESOLVE_PROXY, ERR_UNREACHABLE, "the proxy's host name cannot be resolved" },
        { CURLE_COULDNT_CONNECT, ERR_UNREACHABLE, "no connection" },
        { CURLE_PEER_FAILED_VERIFICATION, ERR_UNREACHABLE,
          "its TLS certificate cannot be trusted: add the certificate authority that signed it to the CA file" },
        { CURLE_SSL_CACERT_BADFILE, ERR_INVAL, "the CA file cannot be read" },
        { CURLE_SSL_CERTPROBLEM, ERR_INVAL, "the client certificate cannot be used" },
        { CURLE_SSL_CONNECT_ERROR, ERR_UNREACHABLE, "the TLS handshake failed" },
        { CURLE_UNSUPPORTED_PROTOCOL, ERR_PARSE, "what answers there does not speak HTTP" },
        { CURLE_WEIRD_SERVER_REPLY, ERR_PARSE, "what answers there does not speak HTTP" },
        { CURLE_BAD_CONTENT_ENCODING, ERR_PARSE, "the answer is not encoded as it says" },
        { CURLE_WRITE_ERROR, ERR_LIMIT, "the answer unpacks to more than allowed" },
        { CURLE_URL_MALFORMAT, ERR_INVAL, "the URL is malformed" },
        { CURLE_OUT_OF_MEMORY, ERR_INTERNAL, "out of memory" },
        { CURLE_FAILED_INIT, ERR_INTERNAL, "libcurl does not start" },
        { CURLE_PARTIAL_FILE, ERR_UNREACHABLE, "the answer was cut short" },
        { CURLE_GOT_NOTHING, ERR_UNREACHABLE, "the server closed the connection without an answer" },
};

/* curl has one code for three ends of time: ours, no connection, and silence. */
static int fail_timed_out(struct http_session *s, struct err *err) {
        const struct http_config *c = s->config;
        curl_off_t connect_us = 0;
        int r = git_deadline_check(s->deadline, "waiting for the server", err);

        if (r < 0)
                return err_wrap(err, r, "%.*s", STR_FMT(c->url.text));
        curl_easy_getinfo(s->easy, CURLINFO_PRETRANSFER_TIME_T, &connect_us);
        if (connect_us == 0)
                return err_set(err, ERR_UNREACHABLE, "%.*s: no connection within %ld ms", STR_FMT(c->url.text),
                               c->connect_timeout_ms);
        return err_set(err, ERR_TIMEOUT, "%.*s: the server sent nothing for %ld s", STR_FMT(c->url.text),
                       c->stall_timeout_s);
}

static int fail(struct http_session *s, struct err *err) {
        struct failure f = { s->result, ERR_UNREACHABLE, "the connection broke" };

        if (s->result == CURLE_OPERATION_TIMEDOUT)
                return fail_timed_out(s, err);
        for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
                if (failures[i].result == s->result)
                        f = failures[i];
        }
        return err_set(err, f.code, "%.*s: %s (%s)", STR_FMT(s->config->url.text), f.text,
                       s->reason[0] ? s->reason : curl_easy_strerror(s->result));
}

static void note_end(struct http_session *s) {
        CURLMsg *msg;
        int left;

        while ((msg = curl_multi_info_read(s->multi, &left))) {
                if (msg->msg != CURLMSG_DONE)
                        continue;
                s->ended = true;
                s->result = msg->data.result;
        }
}

/* Runs the transfer until there are bytes to read or it is over. */
static int pump(struct http_session *s, struct err *err) {
        while (s->taken == s->pending.n && !s->ended) {
                int running, r = git_deadline_check(s->deadline, "waiting for the server", err);

                if (r < 0)
                        return err_wrap(err, r, "%.*s", STR_FMT(s->config->url.text));
                buf_clear(&s->pending);
                s->taken = 0;
                curl_multi_perform(s->multi, &running);
                note_end(s);
                if (s->pending.n == 0 && !s->ended)
                        curl_multi_poll(s->multi, NULL, 0, git_deadline_nap_ms(s->deadline), NULL);
        }
        /* What came before a failure is of no use: a pack that was cut is no pack. */
        if (s->ended && s->result != CURLE_OK)
                return fail(s, err);
        return 0;
}

static void add_header(struct http_session *s, const char *line) {
        struct curl_slist *more = curl_slist_append(s->headers, line);

        if (more)
                s->headers = more;
}

static void add_headerf(struct http_session *s, const char *name, const char *value) {
        _cleanup_(buf_done) struct buf line = buf_make(KIB);

        buf_addf(&line, "%s: %s", name, value);
        add_header(s, line.p);
}

static void set_headers(struct http_session *s, const struct http_request *req) {
        add_headerf(s, "Accept", req->accept);
        if (req->content_type) {
                add_headerf(s, "Content-Type", req->content_type);
                add_header(s, "Expect:"); /* no "100-continue": some proxies never answer it */
        }
        if (req->v2)
                add_header(s, "Git-Protocol: version=2");
        if (req->authorize && s->config->authorization)
                add_header(s, s->config->authorization);
        curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->headers);
}

static void set_limits(struct http_session *s) {
        const struct http_config *c = s->config;
        int64_t left = s->deadline.at_ms - git_now_ms();

        curl_easy_setopt(s->easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(s->easy, CURLOPT_CONNECTTIMEOUT_MS, c->connect_timeout_ms);
        curl_easy_setopt(s->easy, CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES_PER_S);
        curl_easy_setopt(s->easy, CURLOPT_LOW_SPEED_TIME, c->stall_timeout_s);
        /* A second line behind pump()'s own look at the clock, and after it, so that the message is ours. */
        curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, (long)(left < 0 ? 0 : left) + GIT_CANCEL_POLL_MS);
        /* A name that takes longer to resolve than the deadline must not be waited for at the end. */
        curl_easy_setopt(s->easy, CURLOPT_QUICK_EXIT, 1L);
        curl_easy_setopt(s->easy, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(s->easy, CURLOPT_FOLLOWLOCATION, 0L);
        curl_easy_setopt(s->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        if (c->no_proxy)
                curl_easy_setopt(s->easy, CURLOPT_PROXY, "");
}

static void set_text(struct http_session *s, CURLoption option, char *text) {
        struct curl_blob blob = { text, strlen(text), CURL_BLOB_NOCOPY };

        curl_easy_setopt(s->easy, option, &blob);
}

static void set_tls(struct http_session *s, bool authorize) {
        const struct http_config *c = s->config;

        curl_easy_setopt(s->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
        if (c->ca) {
                /* Or curl would trust the system's folder of authorities besides. */
                curl_easy_setopt(s->easy, CURLOPT_CAPATH, NULL);
                set_text(s, CURLOPT_CAINFO_BLOB, c->ca);
        } else if (c->ca_file) {
                curl_easy_setopt(s->easy, CURLOPT_CAINFO, c->ca_file);
        }
        if (c->certificate && c->key && authorize) {
                set_text(s, CURLOPT_SSLCERT_BLOB, c->certificate);
                set_text(s, CURLOPT_SSLKEY_BLOB, c->key);
        }
        if (c->insecure_tls) {
                curl_easy_setopt(s->easy, CURLOPT_SSL_VERIFYPEER, 0L);
                curl_easy_setopt(s->easy, CURLOPT_SSL_VERIFYHOST, 0L);
        }
}

static void set_request(struct http_session *s, const struct http_request *req) {
        curl_easy_reset(s->easy);
        s->reason[0] = '\0';
        curl_easy_setopt(s->easy, CURLOPT_ERRORBUFFER, s->reason);
        curl_easy_setopt(s->easy, CURLOPT_URL, req->url);
        curl_easy_setopt(s->easy, CURLOPT_USERAGENT, s->config->user_agent);
        curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
        if (req->compressed)
                curl_easy_setopt(s->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
        if (req->content_type) {
                curl_easy_setopt(s->easy, CURLOPT_POST, 1L);
                curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, req->body.p ? req->body.p : "");
                curl_easy_setopt(s->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body.n);
        }
        set_limits(s);
        set_tls(s, req->authorize);
        set_headers(s, req);
}

int http_send(struct http_session *s, const struct http_request *req, struct http_reply *ret, struct err *err) {
        struct http_reply reply = { 0 };
        char *type = NULL, *location = NULL;
        curl_off_t retry_s = 0;
        long status = 0;
        int r;

        if (!s->multi || !s->easy)
                return err_set(err, ERR_INTERNAL, "libcurl does not start");
        end_exchange(s);
        set_request(s, req);
        s->ended = false;
        s->active = curl_multi_add_handle(s->multi, s->easy) == CURLM_OK;
        if (!s->active)
                return err_set(err, ERR_INTERNAL, "libcurl refuses the request");
        r = pump(s, err);
        if (r < 0)
                return r;

        curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(s->easy, CURLINFO_CONTENT_TYPE, &type);
        curl_easy_getinfo(s->easy, CURLINFO_REDIRECT_URL, &location);
        curl_easy_getinfo(s->easy, CURLINFO_RETRY_AFTER, &retry_s);
        reply.status = (int)status;
        reply.content_type = type ? type : "";
        reply.location = location;
        reply.retry_after_ms = duration_of_seconds(retry_s);
        *ret = reply;
        return 0;
}

int http_read(struct http_session *s, char *p, size_t n, size_t *ret_n, struct err *err) {
        int r = pump(s, err);
        size_t left = s->pending.n - s->taken;

        if (r < 0)
                return r;
        if (left > n)
                left = n;
        memcpy(p, s->pending.p + s->taken, left);
        s->taken += left;
        *ret_n = left;
        return 0;
}

int http_read_all(struct http_session *s, struct buf *body, const char *what, struct err *err) {
        char piece[16 * KIB];
        size_t n;

        do {
                int r = http_read(s, piece, sizeof piece, &n, err);

                if (r < 0)
                        return r;
                buf_add(body, (struct str){ piece, n });
                r = buf_check(body, what, err);
                if (r < 0)
                        return r;
        } while (n > 0);
        return 0;
}
