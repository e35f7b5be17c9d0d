/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/limits.h"
#include "base/buf.h"

/* A folder with the files of one test. */
struct files {
        char dir[64];
        char token[96];
        struct kube_config config;
        struct kube_auth *auth;
};

static int set_up(void **state) {
        struct files *f = mem_zalloc(sizeof *f);

        (void)snprintf(f->dir, sizeof f->dir, "/tmp/truce-test-XXXXXX");
        assert_non_null(mkdtemp(f->dir));
        (void)snprintf(f->token, sizeof f->token, "%s/token", f->dir);
        f->auth = kube_auth_new(&f->config);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        struct files *f = *state;

        kube_auth_free(f->auth);
        (void)unlink(f->token);
        (void)rmdir(f->dir);
        free(f);
        return 0;
}

static void write_token(struct files *f, struct str text) {
        int fd = open(f->token, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text.p, text.n), (ssize_t)text.n);
        close(fd);
        f->config.token_file = f->token;
}

static uint64_t expect_token(struct files *f, int64_t now_ms, const char *expected) {
        struct str token;
        uint64_t generation;

        assert_int_equal(kube_auth_token(f->auth, now_ms, &token, &generation, NULL), 0);
        assert_string_equal(token.p ? token.p : "", expected);
        assert_int_equal(token.n, strlen(expected));
        return generation;
}

static void no_credentials_are_an_empty_token(void **state) {
        (void)expect_token(*state, 0, "");
}

static void a_static_token_stays(void **state) {
        struct files *f = *state;
        char token[] = "abc.def";

        f->config.token = token;
        uint64_t generation = expect_token(f, 0, "abc.def");

        assert_int_equal(expect_token(f, 10 * AUTH_REREAD_MS, "abc.def"), generation);
        assert_false(kube_auth_refused(f->auth, 10 * AUTH_REREAD_MS, generation));
}

static void a_token_file_is_read_again_after_a_minute(void **state) {
        struct files *f = *state;

        write_token(f, STR("  first\n"));
        uint64_t first = expect_token(f, 1000, "first");
        write_token(f, STR("second"));

        assert_int_equal(expect_token(f, 1000 + AUTH_REREAD_MS - 1, "first"), first);
        assert_int_not_equal(expect_token(f, 1000 + AUTH_REREAD_MS, "second"), first);
}

static void a_refusal_reads_the_file_at_once(void **state) {
        struct files *f = *state;

        write_token(f, STR("first"));
        uint64_t first = expect_token(f, 0, "first");
        assert_false(kube_auth_refused(f->auth, 1, first));

        write_token(f, STR("second"));
        assert_true(kube_auth_refused(f->auth, 2, first));
        uint64_t second = expect_token(f, 3, "second");
        /* A call that was under way with the old one is told without another look. */
        assert_true(kube_auth_refused(f->auth, 4, first));
        assert_false(kube_auth_refused(f->auth, 5, second));
}

static void the_last_good_token_survives_a_missing_or_broken_file(void **state) {
        struct files *f = *state;

        write_token(f, STR("good"));
        uint64_t generation = expect_token(f, 0, "good");
        assert_int_equal(unlink(f->token), 0);
        assert_int_equal(expect_token(f, AUTH_REREAD_MS, "good"), generation);
        write_token(f, STR("two\nlines"));
        assert_int_equal(expect_token(f, 2 * AUTH_REREAD_MS, "good"), generation);
        assert_false(kube_auth_refused(f->auth, 2 * AUTH_REREAD_MS, generation));
}

static void expect_failure(struct files *f, int code, const char *word) {
        struct str token;
        uint64_t generation;
        struct err err = { 0 };

        assert_int_equal(kube_auth_token(f->auth, 0, &token, &generation, &err), code);
        assert_int_equal(err.code, code);
        assert_non_null(strstr(err.msg, word));
        assert_null(strstr(err.msg, "secret"));
}

static void a_file_that_never_was_readable_is_unauth(void **state) {
        struct files *f = *state;

        f->config.token_file = f->token;
        expect_failure(f, ERR_UNAUTH, f->token);
        write_token(f, STR("now it is"));
        expect_failure(f, ERR_UNAUTH, f->token);
        write_token(f, STR("there"));
        (void)expect_token(f, 1, "there");
}

static void a_token_no_header_can_carry_is_unauth(void **state) {
        struct files *f = *state;

        write_token(f, STR("secret\r\nX-Evil: 1"));
        expect_failure(f, ERR_UNAUTH, f->token);
        write_token(f, STR(" \n"));
        expect_failure(f, ERR_UNAUTH, f->token);
        write_token(f, STR("secret\0x"));
        expect_failure(f, ERR_UNAUTH, f->token);
        write_token(f, STR("secret\x80"));
        expect_failure(f, ERR_UNAUTH, f->token);
}

static void a_token_has_a_limit(void **state) {
        struct files *f = *state;
        char *text = mem_alloc(CONFIG_MAX_TOKEN_BYTES + 1);

        memset(text, 'x', CONFIG_MAX_TOKEN_BYTES + 1);
        write_token(f, (struct str){ text, CONFIG_MAX_TOKEN_BYTES + 1 });
        expect_failure(f, ERR_LIMIT, f->token);
        write_token(f, (struct str){ text, CONFIG_MAX_TOKEN_BYTES });
        text[CONFIG_MAX_TOKEN_BYTES] = '\0';
        (void)expect_token(f, 0, text);
        free(text);
}

/* Certificates made on the spot. */

static void take_pem(struct kube_pem *pem, BIO *bio, const char *origin) {
        char *p;
        long n = BIO_get_mem_data(bio, &p);

        pem->data = str_dup((struct str){ p, (size_t)n });
        pem->data_bytes = (size_t)n;
        pem->origin = str_dup(str_from(origin));
        BIO_free(bio);
}

static void make_key(EVP_PKEY *key, const char *passphrase, struct kube_pem *pem) {
        BIO *bio = BIO_new(BIO_s_mem());

        assert_int_equal(PEM_write_bio_PrivateKey(bio, key, passphrase ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
                                                  (void *)passphrase),
                         1);
        take_pem(pem, bio, "the key");
}

static void make_certificate(EVP_PKEY *key, struct kube_pem *pem) {
        X509 *cert = X509_new();
        BIO *bio = BIO_new(BIO_s_mem());

        X509_gmtime_adj(X509_getm_notBefore(cert), 0);
        X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
        X509_set_pubkey(cert, key);
        assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
        assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
        X509_free(cert);
        take_pem(pem, bio, "the certificate");
}

static void drop_pem(struct kube_pem *pem) {
        free(pem->data);
        free(pem->origin);
        *pem = (struct kube_pem){ 0 };
}

static void check_answers(const struct kube_config *config, int code, const char *word) {
        struct err err = { 0 };

        assert_int_equal(kube_auth_check_certificates(config, &err), code);
        if (code == 0)
                return;
        assert_int_equal(err.code, code);
        assert_non_null(strstr(err.msg, word));
}

static void certificates_are_checked_before_the_first_connection(void **state) {
        EVP_PKEY *key = EVP_EC_gen("P-256"), *stranger = EVP_EC_gen("P-256");
        struct kube_config config = { 0 };

        (void)state;
        make_certificate(key, &config.client_cert);
        make_key(key, NULL, &config.client_key);
        make_certificate(key, &config.ca);
        check_answers(&config, 0, NULL);

        drop_pem(&config.client_key);
        make_key(stranger, NULL, &config.client_key);
        check_answers(&config, ERR_INVAL, "does not belong");

        drop_pem(&config.client_key);
        make_key(key, "passphrase", &config.client_key);
        check_answers(&config, ERR_UNSUPPORTED, "encrypted");

        config.client_key.data[0] = 'x';
        check_answers(&config, ERR_INVAL, "no private key");
        config.client_cert.data[0] = 'x';
        check_answers(&config, ERR_INVAL, "the certificate: no certificate");
        config.ca.data[0] = 'x';
        check_answers(&config, ERR_INVAL, "no certificate");

        drop_pem(&config.ca);
        drop_pem(&config.client_cert);
        drop_pem(&config.client_key);
        EVP_PKEY_free(key);
        EVP_PKEY_free(stranger);
}

static void a_missing_certificate_file_is_named(void **state) {
        char path[] = "/nowhere/ca.crt", dir[] = "/";
        struct kube_config config = { .ca = { .path = path, .origin = path } };

        (void)state;
        check_answers(&config, ERR_NOTFOUND, "/nowhere/ca.crt");
        config.ca.path = dir;
        check_answers(&config, ERR_INVAL, "folder");
}

#define FILES_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                FILES_TEST(no_credentials_are_an_empty_token),
                FILES_TEST(a_static_token_stays),
                FILES_TEST(a_token_file_is_read_again_after_a_minute),
                FILES_TEST(a_refusal_reads_the_file_at_once),
                FILES_TEST(the_last_good_token_survives_a_missing_or_broken_file),
                FILES_TEST(a_file_that_never_was_readable_is_unauth),
                FILES_TEST(a_token_no_header_can_carry_is_unauth),
                FILES_TEST(a_token_has_a_limit),
                cmocka_unit_test(certificates_are_checked_before_the_first_connection),
                cmocka_unit_test(a_missing_certificate_file_is_named),
        };

        return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
