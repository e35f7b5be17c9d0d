/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/limits.h"
#include "kube/files.h"

#define AUTH_MAX_PEM_BYTES (1 * MIB) /* a CA bundle of a whole distribution has 220 KiB */

struct kube_auth {
        const struct kube_config *config;
        char *token; /* NULL until one was read */
        uint64_t generation;
        int64_t read_at_ms;
};

struct kube_auth *kube_auth_new(const struct kube_config *config) {
        struct kube_auth *a = mem_zalloc(sizeof *a);

        a->config = config;
        return a;
}

static void wipe(char *secret) {
        if (!secret)
                return;
        explicit_bzero(secret, strlen(secret));
        free(secret);
}

void kube_auth_free(struct kube_auth *a) {
        if (!a)
                return;
        wipe(a->token);
        free(a);
}

/* A line feed inside would end the header and begin another one of the file's choice. */
static bool fits_header(struct str token) {
        for (size_t i = 0; i < token.n; i++)
                if (token.p[i] <= ' ' || token.p[i] >= 0x7f)
                        return false;
        return token.n > 0;
}

static int take_token(struct kube_auth *a, struct str token, const char *origin, struct err *err) {
        if (!fits_header(token))
                return err_set(err, ERR_UNAUTH, "%s holds no usable token", origin);
        if (a->token && str_eqc(token, a->token))
                return 0;

        wipe(a->token);
        a->token = str_dup(token);
        a->generation++;
        return 0;
}

static void wipe_buf(struct buf *b) {
        if (b->cap)
                explicit_bzero(b->p, b->cap);
        buf_done(b);
}

static int read_token_file(struct kube_auth *a, struct err *err) {
        _cleanup_(wipe_buf) struct buf text = buf_make(CONFIG_MAX_TOKEN_BYTES);

        int r = files_read(a->config->token_file, &text, err);
        if (r == ERR_LIMIT)
                return r;
        if (r < 0) {
                err_wrap(err, r, "token file");
                if (err)
                        err->code = ERR_UNAUTH;
                return ERR_UNAUTH;
        }
        return take_token(a, str_trim(buf_str(&text)), a->config->token_file, err);
}

static int read_token(struct kube_auth *a, int64_t now_ms, struct err *err) {
        a->read_at_ms = now_ms;
        if (a->config->token_file)
                return read_token_file(a, err);
        return take_token(a, str_from(a->config->token), "the configured user", err);
}

static bool is_due(const struct kube_auth *a, int64_t now_ms) {
        return !a->token || (a->config->token_file && now_ms - a->read_at_ms >= AUTH_REREAD_MS);
}

int kube_auth_token(struct kube_auth *a, int64_t now_ms, struct str *ret_token, uint64_t *ret_generation,
                    struct err *err) {
        if ((a->config->token || a->config->token_file) && is_due(a, now_ms)) {
                struct err unread = { 0 };
                int r = read_token(a, now_ms, &unread);

                /* The old token may have minutes left, and kubelet may be between two steps of its swap. */
                if (r < 0 && !a->token)
                        return err_set(err, r, "%s", unread.msg);
        }

        *ret_token = str_from(a->token);
        *ret_generation = a->generation;
        return 0;
}

bool kube_auth_refused(struct kube_auth *a, int64_t now_ms, uint64_t generation) {
        if (!a->config->token_file)
                return false;
        if (generation == a->generation)
                (void)read_token(a, now_ms, NULL);
        return generation != a->generation;
}

/* Certificates. */

static void bio_freep(BIO **bio) {
        BIO_free(*bio);
}

static void x509_freep(X509 **cert) {
        X509_free(*cert);
}

static void pkey_freep(EVP_PKEY **key) {
        EVP_PKEY_free(*key);
}

/* OpenSSL's default would ask the terminal, and the agent would hang there. */
static int refuse_passphrase(char *buf, int size, int writing, void *ctx) {
        (void)buf;
        (void)size;
        (void)writing;
        *(bool *)ctx = true;
        return -1;
}

static int open_pem(const struct kube_pem *pem, struct buf *text, BIO **ret_bio, struct err *err) {
        int r = files_read_pem(pem, text, err);

        if (r < 0)
                return r;
        *ret_bio = BIO_new_mem_buf(text->p, (int)text->n);
        if (!*ret_bio)
                return err_set(err, ERR_INTERNAL, "OpenSSL is out of memory");
        return 0;
}

static int read_certificate(const struct kube_pem *pem, X509 **ret_cert, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(AUTH_MAX_PEM_BYTES);
        _cleanup_(bio_freep) BIO *bio = NULL;
        int r = open_pem(pem, &text, &bio, err);

        if (r < 0)
                return r;
        *ret_cert = PEM_read_bio_X509(bio, NULL, refuse_passphrase, &(bool){ false });
        if (!*ret_cert)
                return err_set(err, ERR_INVAL, "%s: no certificate in PEM form", pem->origin);
        return 0;
}

static int read_key(const struct kube_pem *pem, EVP_PKEY **ret_key, struct err *err) {
        _cleanup_(wipe_buf) struct buf text = buf_make(AUTH_MAX_PEM_BYTES);
        _cleanup_(bio_freep) BIO *bio = NULL;
        bool encrypted = false;
        int r = open_pem(pem, &text, &bio, err);

        if (r < 0)
                return r;
        *ret_key = PEM_read_bio_PrivateKey(bio, NULL, refuse_passphrase, &encrypted);
        if (*ret_key)
                return 0;
        if (encrypted)
                return err_set(err, ERR_UNSUPPORTED, "%s: the private key is encrypted", pem->origin);
        return err_set(err, ERR_INVAL, "%s: no private key in PEM form", pem->origin);
}

static int check_client_certificate(const struct kube_config *config, struct err *err) {
        _cleanup_(x509_freep) X509 *cert = NULL;
        _cleanup_(pkey_freep) EVP_PKEY *key = NULL;
        int r = read_certificate(&config->client_cert, &cert, err);

        if (r == 0)
                r = read_key(&config->client_key, &key, err);
        if (r < 0)
                return r;
        if (X509_check_private_key(cert, key) != 1)
                return err_set(err, ERR_INVAL, "%s: the key does not belong to the certificate of %s",
                               config->client_key.origin, config->client_cert.origin);
        return 0;
}

int kube_auth_check_certificates(const struct kube_config *config, struct err *err) {
        _cleanup_(x509_freep) X509 *ca = NULL;
        int r = 0;

        if (pem_is_given(&config->ca))
                r = read_certificate(&config->ca, &ca, err);
        if (r == 0 && pem_is_given(&config->client_cert))
                r = check_client_certificate(config, err);

        /* What we refused must not surface in somebody else's OpenSSL call. */
        ERR_clear_error();
        return r;
}
