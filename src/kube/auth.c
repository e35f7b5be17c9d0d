/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth.h"

#include "base/limits.h"
#include "kube/files.h"
#include "kube/pem.h"

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

/* What a check of pem.h says of the text that `pem` gives. */
static int check_pem(const struct kube_pem *pem, int (*check)(struct str text, struct err *err), struct err *err) {
        _cleanup_(wipe_buf) struct buf text = buf_make(PEM_MAX_BYTES);
        int r = files_read_pem(pem, &text, err);

        if (r < 0)
                return r;
        r = check(buf_str(&text), err);
        return r < 0 ? err_wrap(err, r, "%s", pem->origin) : 0;
}

static int check_client_certificate(const struct kube_config *config, struct err *err) {
        _cleanup_(wipe_buf) struct buf cert = buf_make(PEM_MAX_BYTES), key = buf_make(PEM_MAX_BYTES);
        int r = check_pem(&config->client_cert, pem_check_certificate, err);

        if (r == 0)
                r = check_pem(&config->client_key, pem_check_key, err);
        if (r == 0)
                r = files_read_pem(&config->client_cert, &cert, err);
        if (r == 0)
                r = files_read_pem(&config->client_key, &key, err);
        if (r < 0)
                return r;
        if (pem_check_pair(buf_str(&cert), buf_str(&key), NULL) < 0)
                return err_set(err, ERR_INVAL, "%s: the key does not belong to the certificate of %s",
                               config->client_key.origin, config->client_cert.origin);
        return 0;
}

int kube_auth_check_certificates(const struct kube_config *config, struct err *err) {
        int r = 0;

        if (pem_is_given(&config->ca))
                r = check_pem(&config->ca, pem_check_certificate, err);
        if (r == 0 && pem_is_given(&config->client_cert))
                r = check_client_certificate(config, err);
        return r;
}
