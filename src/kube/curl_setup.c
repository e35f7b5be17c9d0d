/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call as a curl easy handle.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "kube/curl_impl.h"
#include "kube/files.h"

#define KEEPALIVE_IDLE_S 30L
#define KEEPALIVE_INTERVAL_S 10L
/* Bytes that nobody acknowledged for so long end the connection; keepalive probes count as bytes. */
#define TCP_UNACKED_MS 30000
/*
 * One buffer for each call in flight, and more than libcurl reads from an HTTP/2 connection at a time: curl_transport.h
 * says why. Only pages that are written to count as memory, so a quiet watch costs what its events need.
 */
#define BUFFER_BYTES (64 * 1024L)
#define CURL_H2_READ_BYTES (32 * 1024L)
_Static_assert(BUFFER_BYTES > CURL_H2_READ_BYTES, "a read fits in");

static const char *const method_names[KUBE_METHODS] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

bool host_is_loopback(const char *host) {
        return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

/* What curl calls back, inside curl: nothing here may touch a multi handle. */

static void heard(struct kube_call *call) {
        call->heard_at_ms = loop_now_ms(call->transport->loop);
        if (!call->pump)
                return;
        call->pump->heard_at_ms = call->heard_at_ms;
        call->pump->heard++;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx) {
        struct kube_call *call = ctx;

        heard(call);
        reply_header(call, (struct str){ p, size * n }, loop_wall_ms(call->transport->loop));
        if (call->watch)
                transport_kick(call->transport); /* others may follow it */
        return size * n;
}

/* A 2xx body goes to `data` piece by piece when there is one; everything else is collected up to its maximum. */
static int take_body(struct kube_call *call, struct str chunk) {
        bool good = status_is_success(call->status);
        size_t most = good ? call->max_body_bytes : KUBE_MAX_ERROR_BYTES;
        struct err err = { 0 };

        if (good && call->handler.data) {
                int r = call->handler.data(call->ctx, chunk, &err);

                if (r < 0 && call->state == CALL_RUNNING && !call->transport->closing)
                        call_fail(call, (enum err_code)r, "%s", err.msg[0] ? err.msg : "the answer cannot be used");
                return r;
        }
        if (chunk.n > most - call->reply.n) {
                call_fail(call, ERR_LIMIT, "%s: the answer is larger than %zu bytes", call->transport->config->shown,
                          most);
                return ERR_LIMIT;
        }
        buf_add(&call->reply, chunk);
        return 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx) {
        struct kube_call *call = ctx;
        struct curl_transport *t = call->transport;

        /* A callback of this same turn may have cancelled the call or freed the transport. */
        if (call->state != CALL_RUNNING || t->closing)
                return CURL_WRITEFUNC_ERROR;
        heard(call);
        t->stats.bytes_received += size * n;
        if (take_body(call, (struct str){ p, size * n }) < 0)
                return CURL_WRITEFUNC_ERROR;
        return call->state == CALL_RUNNING && !t->closing ? size * n : CURL_WRITEFUNC_ERROR;
}

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose) {
        struct curl_transport *t = ctx;
        unsigned unacked_ms = TCP_UNACKED_MS;

        (void)purpose;
        /* Best effort: without it a dead peer is found a little later, by keepalive or by the call's deadline. */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof unacked_ms);
        t->stats.connections_opened++;
        return CURL_SOCKOPT_OK;
}

/* ALPN's answer on the connection this call is about to use. */
static enum protocol protocol_of(const struct kube_call *call) {
        struct curl_tlssessioninfo *tls = NULL;
        const unsigned char *name = NULL;
        unsigned n = 0;

        if (call->transport->plain)
                return PROTOCOL_HTTP1;
        if (curl_easy_getinfo(call->easy, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK || !tls || !tls->internals ||
            tls->backend != CURLSSLBACKEND_OPENSSL)
                return call->transport->protocol;
        SSL_get0_alpn_selected((const SSL *)tls->internals, &name, &n);
        return n == 2 && memcmp(name, "h2", 2) == 0 ? PROTOCOL_HTTP2 : PROTOCOL_HTTP1;
}

static void learn_protocol(struct kube_call *call) {
        struct curl_transport *t = call->transport;
        enum protocol protocol = protocol_of(call);

        if (protocol == t->protocol)
                return;
        t->respread = protocol == PROTOCOL_HTTP1;
        t->protocol = protocol;
        transport_kick(t);
}

/*
 * curl comes to on_send() once more when it wants to repeat a request by itself, because a reused connection died before
 * any byte of an answer: it would do that up to five times, writes included, and those may have been acted on.
 */
static bool may_send(const struct kube_call *call) {
        if (call->sends == 0)
                return true;
        if (call->sends >= CALL_MAX_SENDS)
                return false;
        return trace_refused(call) || (call->method == KUBE_GET && call->sends < CALL_SENDS_OF_A_GET);
}

/* The connection stands and the request is about to be sent. */
static int on_send(void *ctx, char *ip, char *local_ip, int port, int local_port) {
        struct kube_call *call = ctx;
        struct curl_transport *t = call->transport;

        (void)ip;
        (void)local_ip;
        (void)port;
        if (call->state != CALL_RUNNING || t->closing || !may_send(call))
                return CURL_PREREQFUNC_ABORT;

        if (call->sends++) {
                call->retried = true;
                t->stats.retries++;
        }
        call->local_port = local_port;
        call->stream = 0;
        call->refused = false;
        call->connected = true;
        call->connected_at_ms = loop_now_ms(t->loop);
        t->stats.sent++;
        t->stats.bytes_sent += call->body_bytes;
        learn_protocol(call);
        return CURL_PREREQFUNC_OK;
}

/* Options. Each returns the sum of what curl answered: 0 when all went well. */

#define SET(easy, option, value) ((unsigned)curl_easy_setopt(easy, option, value))

static unsigned set_pem(CURL *easy, const struct kube_pem *pem, CURLoption file, CURLoption blob) {
        struct curl_blob bytes = { pem->data, pem->data_bytes, CURL_BLOB_NOCOPY };

        if (pem->data)
                return SET(easy, blob, &bytes);
        return pem->path ? SET(easy, file, pem->path) : 0;
}

static unsigned set_tls(CURL *easy, const struct kube_config *config) {
        unsigned r = SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);

        if (config->insecure) {
                r |= SET(easy, CURLOPT_SSL_VERIFYPEER, 0L);
                r |= SET(easy, CURLOPT_SSL_VERIFYHOST, 0L);
        }
        if (pem_is_given(&config->ca)) {
                /* Or curl would trust the system's folder of authorities besides, and never look at the file again. */
                r |= SET(easy, CURLOPT_CAPATH, NULL);
                r |= SET(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
        }
        r |= set_pem(easy, &config->ca, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB);
        r |= set_pem(easy, &config->client_cert, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB);
        r |= set_pem(easy, &config->client_key, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB);
        return r;
}

static unsigned set_wire(CURL *easy, struct kube_call *call) {
        struct curl_transport *t = call->transport;
        unsigned r = SET(easy, CURLOPT_NOSIGNAL, 1L);

        r |= SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
        r |= SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        r |= SET(easy, CURLOPT_PIPEWAIT, call->watch && t->protocol != PROTOCOL_HTTP1 ? 1L : 0L);
        r |= SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CURL_CONNECT_MS);
        r |= SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
        r |= SET(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
        r |= SET(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
        r |= SET(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
        /* A cancelled call must not wait for a name server. */
        r |= SET(easy, CURLOPT_QUICK_EXIT, 1L);
        r |= SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
        if (t->loopback)
                r |= SET(easy, CURLOPT_PROXY, "");
        return r;
}

static unsigned set_callbacks(CURL *easy, struct kube_call *call) {
        unsigned r = SET(easy, CURLOPT_PRIVATE, call);

        r |= SET(easy, CURLOPT_ERRORBUFFER, call->detail);
        r |= SET(easy, CURLOPT_HEADERFUNCTION, on_header);
        r |= SET(easy, CURLOPT_HEADERDATA, call);
        r |= SET(easy, CURLOPT_WRITEFUNCTION, on_body);
        r |= SET(easy, CURLOPT_WRITEDATA, call);
        r |= SET(easy, CURLOPT_PREREQFUNCTION, on_send);
        r |= SET(easy, CURLOPT_PREREQDATA, call);
        r |= SET(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
        r |= SET(easy, CURLOPT_SOCKOPTDATA, call->transport);
        return r | trace_set(easy, call);
}

static unsigned set_request(CURL *easy, struct kube_call *call) {
        bool has_body = call->body_bytes || call->method == KUBE_POST || call->method == KUBE_PUT;
        unsigned r = SET(easy, CURLOPT_USERAGENT, call->transport->user_agent);

        r |= SET(easy, CURLOPT_PATH_AS_IS, 1L);
        if (has_body) {
                r |= SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_bytes);
                r |= SET(easy, CURLOPT_POSTFIELDS, call->body);
        }
        r |= SET(easy, CURLOPT_CUSTOMREQUEST, method_names[call->method]);
        return r;
}

/* tls-server-name: curl checks the certificate against the URL's host, so the name stands there, and connects elsewhere. */
static unsigned set_url(CURL *easy, struct kube_call *call) {
        const struct kube_config *config = call->transport->config;
        const char *host = config->tls_server_name ? config->tls_server_name : config->host;
        bool v6 = strchr(host, ':') != NULL, real_v6 = strchr(config->host, ':') != NULL;
        _cleanup_(buf_done) struct buf text = buf_make(2 * KUBE_MAX_PATH_BYTES + 1 * KIB);
        unsigned r = 0;

        if (config->tls_server_name) {
                buf_addf(&text, "::%s%s%s:%s", real_v6 ? "[" : "", config->host, real_v6 ? "]" : "", config->port);
                call->connect_to = curl_slist_append(NULL, text.p);
                r |= SET(easy, CURLOPT_CONNECT_TO, call->connect_to);
                buf_clear(&text);
        }
        buf_addf(&text, "%s://%s%s%s:%s%s%s", config->scheme, v6 ? "[" : "", host, v6 ? "]" : "", config->port,
                 config->prefix, call->path);
        return r | SET(easy, CURLOPT_URL, text.p) | text.overflow;
}

/* Headers. */

static int add_header(struct kube_call *call, const char *name, const char *value, struct err *err) {
        struct curl_slist *longer;
        size_t size = strlen(name) + strlen(value) + 1;
        char *text = mem_alloc(size);

        (void)snprintf(text, size, "%s%s", name, value);
        longer = curl_slist_append(call->headers, text);
        explicit_bzero(text, size);
        free(text);
        if (!longer)
                return err_set(err, ERR_INTERNAL, "libcurl: out of memory");
        call->headers = longer;
        return 0;
}

static int add_token(struct kube_call *call, struct err *err) {
        struct curl_transport *t = call->transport;
        struct str token;
        int r = kube_auth_token(t->auth, loop_now_ms(t->loop), &token, &call->token_generation, err);

        if (r < 0 || !token.n)
                return r;
        return add_header(call, "Authorization: Bearer ", token.p, err); /* ends in NUL: it is a C string of auth.c */
}

/* With tls-server-name the URL holds the wrong name; the server is to see the one it is known by. */
static int add_host(struct kube_call *call, struct err *err) {
        const struct kube_config *config = call->transport->config;

        bool v6 = strchr(config->host, ':') != NULL;
        _cleanup_(buf_done) struct buf text = buf_make(KUBE_MAX_PATH_BYTES + 64);

        if (!config->tls_server_name)
                return 0;
        buf_addf(&text, "Host: %s%s%s:%s", v6 ? "[" : "", config->host, v6 ? "]" : "", config->port);
        return add_header(call, text.p, "", err);
}

static int add_headers(struct kube_call *call, struct err *err) {
        const struct kube_config *config = call->transport->config;
        int r = add_header(call, "Accept: ", call->accept ? call->accept : "application/json", err);

        /* Without a value curl leaves its own header out: no form type, no waiting for 100 Continue. */
        if (r == 0)
                r = add_header(call, call->content_type ? "Content-Type: " : "Content-Type:",
                               call->content_type ? call->content_type : "", err);
        if (r == 0)
                r = add_header(call, "Expect:", "", err);
        if (r == 0)
                r = add_token(call, err);
        for (size_t i = 0; i < config->header_count && r == 0; i++)
                r = add_header(call, config->headers[i], "", err);
        return r;
}

int call_setup(struct kube_call *call, struct err *err) {
        CURL *easy = curl_easy_init();
        unsigned failed;
        int r;

        if (!easy)
                return err_set(err, ERR_INTERNAL, "libcurl: out of memory");
        call->easy = easy;
        call->detail = mem_zalloc(CURL_ERROR_SIZE);

        r = add_headers(call, err);
        if (r == 0)
                r = add_host(call, err);
        if (r < 0)
                return r;
        failed = set_callbacks(easy, call) | set_wire(easy, call) | set_request(easy, call) | set_url(easy, call) |
                 SET(easy, CURLOPT_HTTPHEADER, call->headers);
        if (!call->transport->plain)
                failed |= set_tls(easy, call->transport->config);
        return failed ? err_set(err, ERR_INTERNAL, "libcurl refused an option") : 0;
}

void call_teardown(struct kube_call *call) {
        curl_easy_cleanup(call->easy);
        curl_slist_free_all(call->headers);
        curl_slist_free_all(call->connect_to);
        free(call->detail);
        call->easy = NULL;
        call->detail = NULL;
        call->headers = call->connect_to = NULL;
}
