/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curl transport over TLS where HTTP/2 is not spoken: trust, client certificates, and watches that each need a
 * connection. Certificates are made on the spot.
 */
#include "kube/curl_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/limits.h"
#include "kube/loopback_server.h"

#define PATIENCE_MS 60000

/* Certificates. */

struct identity {
        EVP_PKEY *key;
        X509 *cert;
};

static void add_extension(X509 *cert, int nid, const char *value) {
        X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

        assert_non_null(ext);
        X509_add_ext(cert, ext, -1);
        X509_EXTENSION_free(ext);
}

/* Signed by `issuer`; NULL: by itself, as a CA. */
static struct identity make_identity(const char *name, const char *alt_names, const struct identity *issuer) {
        struct identity id = { .key = EVP_EC_gen("P-256"), .cert = X509_new() };
        X509_NAME *subject = X509_get_subject_name(id.cert);

        X509_set_version(id.cert, X509_VERSION_3);
        ASN1_INTEGER_set(X509_get_serialNumber(id.cert), issuer ? 2 : 1);
        X509_gmtime_adj(X509_getm_notBefore(id.cert), -60);
        X509_gmtime_adj(X509_getm_notAfter(id.cert), 3600);
        X509_set_pubkey(id.cert, id.key);
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
        X509_set_issuer_name(id.cert, X509_get_subject_name(issuer ? issuer->cert : id.cert));
        add_extension(id.cert, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
        if (alt_names)
                add_extension(id.cert, NID_subject_alt_name, alt_names);
        assert_true(X509_sign(id.cert, issuer ? issuer->key : id.key, EVP_sha256()) > 0);
        return id;
}

static void drop_identity(struct identity *id) {
        EVP_PKEY_free(id->key);
        X509_free(id->cert);
}

static void take_bio(struct kube_pem *pem, BIO *bio, const char *origin) {
        char *p;
        long n = BIO_get_mem_data(bio, &p);

        free(pem->data);
        free(pem->origin);
        *pem = (struct kube_pem){ .data = str_dup((struct str){ p, (size_t)n }),
                                  .data_bytes = (size_t)n,
                                  .origin = str_dup(str_from(origin)) };
        BIO_free(bio);
}

static void use_certificate(struct kube_pem *pem, const struct identity *id, const char *origin) {
        BIO *bio = BIO_new(BIO_s_mem());

        PEM_write_bio_X509(bio, id->cert);
        take_bio(pem, bio, origin);
}

static void use_key(struct kube_pem *pem, const struct identity *id) {
        BIO *bio = BIO_new(BIO_s_mem());

        PEM_write_bio_PrivateKey(bio, id->key, NULL, NULL, 0, NULL, NULL);
        take_bio(pem, bio, "the key");
}

/* What the server does. */

static bool serve_hello(struct conn *c) {
        X509 *peer = SSL_get1_peer_certificate(c->tls);
        char name[64] = "nobody";

        if (peer)
                X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name, sizeof name);
        X509_free(peer);
        conn_reply(c, 200, "", str_from(name));
        return true;
}

static bool serve_host(struct conn *c) {
        const char *host = conn_header(c, "\r\nHost: ");

        conn_reply(c, 200, "", (struct str){ host, strcspn(host, "\r") });
        return true;
}

static bool serve_watch(struct conn *c) {
        conn_text(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nevent\n\r\n");
        conn_wait_for_close(c);
        return false;
}

static const struct server_route routes[] = {
        { "/hello", serve_hello }, { "/host", serve_host }, { "/watch", serve_watch }, { NULL, NULL }
};

/* One test's world. */

struct world {
        struct identity ca, server_id, stranger;
        SSL_CTX *tls;
        struct server *server;
        struct loop *loop;
        struct kube_config *config;
        struct kube_transport *transport;
        unsigned done, until;
};

struct probe {
        struct world *world;
        int status;
        unsigned ended;
        struct err err;
        char *body;
        size_t data_bytes;
};

static void point_at(struct world *w, uint16_t port) {
        struct buf text = buf_make(KIB);

        w->config->scheme = str_dup(STR("https"));
        w->config->host = str_dup(STR("127.0.0.1"));
        w->config->prefix = str_dup(STR(""));
        w->config->namespace = str_dup(STR("default"));
        buf_addf(&text, "%u", port);
        w->config->port = buf_take(&text);
        buf_addf(&text, "https://127.0.0.1:%u", port);
        w->config->server = buf_take(&text);
        w->config->shown = str_dup(str_from(w->config->server));
}

static int only_http1(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in, unsigned in_n,
                      void *ctx) {
        static const unsigned char http1[] = "\x08http/1.1";

        (void)ssl;
        (void)ctx;
        return SSL_select_next_proto((unsigned char **)out, out_n, http1, sizeof http1 - 1, in, in_n) ==
                               OPENSSL_NPN_NEGOTIATED
                       ? SSL_TLSEXT_ERR_OK
                       : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *server_tls(const struct world *w) {
        SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

        SSL_CTX_use_certificate(tls, w->server_id.cert);
        SSL_CTX_use_PrivateKey(tls, w->server_id.key);
        SSL_CTX_set_alpn_select_cb(tls, only_http1, NULL);
        return tls;
}

static int set_up(void **state) {
        struct world *w = mem_zalloc(sizeof *w);

        w->loop = loop_new(1, 1, NULL);
        w->ca = make_identity("test CA", NULL, NULL);
        w->stranger = make_identity("stranger", NULL, NULL);
        w->server_id = make_identity("server", "IP:127.0.0.1,DNS:kube.test", &w->ca);
        w->tls = server_tls(w);
        w->server = server_start_tls(routes, w->tls);
        w->config = mem_zalloc(sizeof *w->config);
        point_at(w, w->server->port);
        use_certificate(&w->config->ca, &w->ca, "the right CA");
        *state = w;
        return 0;
}

static int tear_down(void **state) {
        struct world *w = *state;

        kube_transport_free(w->transport);
        server_stop(w->server);
        SSL_CTX_free(w->tls);
        loop_free(w->loop);
        kube_config_free(w->config);
        drop_identity(&w->ca);
        drop_identity(&w->server_id);
        drop_identity(&w->stranger);
        free(w);
        return 0;
}

/* The transport, made at first use: tests change the configuration before. */
static struct kube_transport *transport_of(struct world *w) {
        struct err err = { 0 };

        if (!w->transport)
                w->transport = kube_curl_transport_new(w->loop, w->config, "truce-test/1", &err);
        if (!w->transport)
                fail_msg("%s", err.msg);
        return w->transport;
}

static void probe_done(struct probe *p) {
        free(p->body);
}

static int on_data(void *ctx, struct str chunk, struct err *err) {
        struct probe *p = ctx;

        (void)err;
        p->data_bytes += chunk.n;
        return 0;
}

static void on_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct probe *p = ctx;

        p->ended++;
        p->status = reply->status;
        p->body = str_dup(reply->body);
        if (err)
                p->err = *err;
        if (++p->world->done >= p->world->until)
                loop_stop(p->world->loop);
}

static void get(struct probe *p, struct world *w, const char *path) {
        static const struct kube_handler collecting = { .done = on_done };

        p->world = w;
        w->until = w->done + 1;
        (void)kube_start(transport_of(w), &(struct kube_request){ .path = str_from(path) }, &collecting, p);
        assert_true(loop_run_for(w->loop, PATIENCE_MS));
}

static void expect_hello(struct world *w, const char *name) {
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/hello");
        if (p.err.code)
                fail_msg("%s", p.err.msg);
        assert_int_equal(p.status, 200);
        assert_string_equal(p.body, name);
}

static void expect_failure(struct world *w, int code, const char *word, const char *other_word) {
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/hello");
        if (p.err.code != (enum err_code)code || !strstr(p.err.msg, word) || !strstr(p.err.msg, other_word) ||
            !strstr(p.err.msg, w->config->shown))
                fail_msg("%d %s", p.err.code, p.err.msg);
}

static void the_right_ca_is_trusted(void **state) {
        struct world *w = *state;
        struct kube_transport_stats stats;

        expect_hello(w, "nobody");
        kube_curl_transport_stats(w->transport, &stats);
        assert_false(stats.multiplexed);
}

static void another_ca_is_not_and_the_message_names_it(void **state) {
        struct world *w = *state;

        use_certificate(&w->config->ca, &w->stranger, "the wrong CA");
        expect_failure(w, ERR_UNREACHABLE, "not trusted", "the wrong CA");
}

static void without_a_ca_the_system_decides(void **state) {
        struct world *w = *state;

        free(w->config->ca.data);
        free(w->config->ca.origin);
        w->config->ca = (struct kube_pem){ 0 };
        expect_failure(w, ERR_UNREACHABLE, "not trusted", "the system's CA bundle");
}

static void the_insecure_flag_trusts_anybody(void **state) {
        struct world *w = *state;

        use_certificate(&w->config->ca, &w->stranger, "the wrong CA");
        w->config->insecure = true;
        expect_hello(w, "nobody");
}

static void the_certificate_must_name_the_host(void **state) {
        struct world *w = *state;

        w->config->tls_server_name = str_dup(STR("other.test"));
        expect_failure(w, ERR_UNREACHABLE, "not trusted", "other.test");
}

static void tls_server_name_is_checked_instead_of_the_host(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        w->config->tls_server_name = str_dup(STR("kube.test"));
        get(&p, w, "/host");
        assert_string_equal(p.body, strstr(w->config->server, "127.0.0.1"));
}

static void a_client_certificate_is_shown(void **state) {
        struct world *w = *state;
        struct identity client = make_identity("jane", NULL, &w->ca);

        X509_STORE_add_cert(SSL_CTX_get_cert_store(w->tls), w->ca.cert);
        SSL_CTX_set_verify(w->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        use_certificate(&w->config->client_cert, &client, "the certificate");
        use_key(&w->config->client_key, &client);
        expect_hello(w, "jane");
        drop_identity(&client);
}

static void a_server_that_wants_one_and_gets_none_is_an_error(void **state) {
        struct world *w = *state;

        SSL_CTX_set_verify(w->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        expect_failure(w, ERR_UNREACHABLE, "", "");
}

static void a_transport_is_not_made_with_a_foreign_key(void **state) {
        struct world *w = *state;
        struct err err = { 0 };

        use_certificate(&w->config->client_cert, &w->ca, "the certificate");
        use_key(&w->config->client_key, &w->stranger);
        assert_null(kube_curl_transport_new(w->loop, w->config, "truce-test/1", &err));
        assert_int_equal(err.code, ERR_INVAL);
}

static void write_ca(const char *path, const struct identity *id) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        PEM_write_X509(f, id->cert);
        assert_int_equal(fclose(f), 0);
}

/* Rotation: what the file says when a connection is made counts, and a missing one says which. */
static void a_ca_file_is_read_at_each_connection(void **state) {
        struct world *w = *state;
        char path[] = "/tmp/truce-test-XXXXXX";

        close(mkstemp(path));
        write_ca(path, &w->stranger);
        free(w->config->ca.data);
        free(w->config->ca.origin);
        w->config->ca = (struct kube_pem){ .path = str_dup(str_from(path)), .origin = str_dup(str_from(path)) };
        expect_failure(w, ERR_UNREACHABLE, "not trusted", path);
        write_ca(path, &w->ca);
        expect_hello(w, "nobody");

        kube_transport_free(w->transport);
        w->transport = NULL;
        (void)transport_of(w);
        (void)unlink(path);
        expect_failure(w, ERR_UNAUTH, "cannot be read", path);
}

static void a_server_without_tls_fails_the_handshake(void **state) {
        struct world *w = *state;

        server_stop(w->server);
        w->server = server_start(routes);
        w->server->greeting = "220 mail ready\r\n";
        free(w->config->server);
        free(w->config->shown);
        free(w->config->scheme);
        free(w->config->host);
        free(w->config->port);
        free(w->config->prefix);
        free(w->config->namespace);
        point_at(w, w->server->port);
        expect_failure(w, ERR_UNREACHABLE, "TLS handshake failed", "");
}

/* They begin before anything is known of the server: only the first may, until it turns out to need one each. */
static void each_watch_gets_its_connection_where_http2_is_not_spoken(void **state) {
        static const struct kube_handler streaming = { .data = on_data, .done = on_done };
        struct world *w = *state;
        struct probe probes[40] = { 0 };
        struct kube_transport_stats stats;
        unsigned open = 0;

        for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
                probes[i].world = w;
                (void)kube_start(transport_of(w),
                                 &(struct kube_request){ .path = STR("/watch"), .watch = true, .deadline_ms = -1 },
                                 &streaming, &probes[i]);
        }
        for (int turn = 0; turn < PATIENCE_MS / 10 && open < ARRAY_LEN(probes); turn++) {
                (void)loop_run_for(w->loop, 10);
                open = 0;
                for (size_t i = 0; i < ARRAY_LEN(probes); i++)
                        open += probes[i].data_bytes > 0;
        }
        assert_int_equal(open, ARRAY_LEN(probes));
        expect_hello(w, "nobody");
        kube_curl_transport_stats(w->transport, &stats);
        assert_int_equal(stats.waiting_watches, 0);
        assert_int_equal(stats.open_watches, ARRAY_LEN(probes));
        assert_int_equal(stats.connections_opened, ARRAY_LEN(probes) + 1);
        kube_transport_free(w->transport);
        w->transport = NULL;
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(the_right_ca_is_trusted),
                WORLD_TEST(another_ca_is_not_and_the_message_names_it),
                WORLD_TEST(without_a_ca_the_system_decides),
                WORLD_TEST(the_insecure_flag_trusts_anybody),
                WORLD_TEST(the_certificate_must_name_the_host),
                WORLD_TEST(tls_server_name_is_checked_instead_of_the_host),
                WORLD_TEST(a_client_certificate_is_shown),
                WORLD_TEST(a_server_that_wants_one_and_gets_none_is_an_error),
                WORLD_TEST(a_transport_is_not_made_with_a_foreign_key),
                WORLD_TEST(a_ca_file_is_read_at_each_connection),
                WORLD_TEST(a_server_without_tls_fails_the_handshake),
                WORLD_TEST(each_watch_gets_its_connection_where_http2_is_not_spoken),
        };

        return cmocka_run_group_tests_name("curl_tls", tests, NULL, NULL);
}
