/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/macro.h"

#define BLOCK_BEGINS "-----BEGIN "

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

static int open_text(struct str text, BIO **ret_bio, struct err *err) {
        if (text.n > PEM_MAX_BYTES)
                return err_set(err, ERR_LIMIT, "larger than %d bytes", PEM_MAX_BYTES);
        *ret_bio = BIO_new_mem_buf(text.p ? text.p : "", (int)text.n);
        return *ret_bio ? 0 : err_set(err, ERR_INTERNAL, "OpenSSL is out of memory");
}

/* What was refused must not surface in somebody else's OpenSSL call. */
static int end(int r) {
        ERR_clear_error();
        return r;
}

static int read_certificate(struct str text, X509 **ret_cert, struct err *err) {
        _cleanup_(bio_freep) BIO *bio = NULL;
        int r = open_text(text, &bio, err);

        if (r < 0)
                return r;
        *ret_cert = PEM_read_bio_X509(bio, NULL, refuse_passphrase, &(bool){ false });
        return *ret_cert ? 0 : err_set(err, ERR_INVAL, "no certificate in PEM form");
}

static int read_key(struct str text, EVP_PKEY **ret_key, struct err *err) {
        _cleanup_(bio_freep) BIO *bio = NULL;
        bool encrypted = false;
        int r = open_text(text, &bio, err);

        if (r < 0)
                return r;
        *ret_key = PEM_read_bio_PrivateKey(bio, NULL, refuse_passphrase, &encrypted);
        if (*ret_key)
                return 0;
        if (encrypted)
                return err_set(err, ERR_UNSUPPORTED, "the private key is encrypted");
        return err_set(err, ERR_INVAL, "no private key in PEM form");
}

int pem_check_certificate(struct str text, struct err *err) {
        _cleanup_(x509_freep) X509 *cert = NULL;

        return end(read_certificate(text, &cert, err));
}

int pem_check_key(struct str text, struct err *err) {
        _cleanup_(pkey_freep) EVP_PKEY *key = NULL;

        return end(read_key(text, &key, err));
}

int pem_check_pair(struct str certificate, struct str key, struct err *err) {
        _cleanup_(x509_freep) X509 *cert = NULL;
        _cleanup_(pkey_freep) EVP_PKEY *pkey = NULL;
        int r = read_certificate(certificate, &cert, err);

        if (r == 0)
                r = read_key(key, &pkey, err);
        if (r == 0 && X509_check_private_key(cert, pkey) != 1)
                r = err_set(err, ERR_INVAL, "the key does not belong to the certificate");
        return end(r);
}

/* Where the next line begins that begins a block; text.n: none does. */
static size_t next_block(struct str text, size_t from) {
        while (from < text.n) {
                ptrdiff_t eol = str_find(text, '\n', from);

                if (str_starts(str_sub(text, from, text.n), STR(BLOCK_BEGINS)))
                        return from;
                from = eol < 0 ? text.n : (size_t)eol + 1;
        }
        return text.n;
}

int pem_check_bundle(struct str text, size_t *ret_at, struct err *err) {
        size_t at = next_block(text, 0), n = 0;

        *ret_at = 0;
        if (text.n > PEM_MAX_BYTES)
                return err_set(err, ERR_LIMIT, "larger than %d bytes", PEM_MAX_BYTES);
        for (size_t next; at < text.n; at = next) {
                next = next_block(text, at + 1);
                n++;
                if (pem_check_certificate(str_sub(text, at, next), NULL) == 0)
                        continue;
                *ret_at = at;
                return err_set(err, ERR_INVAL, "block %zu is no certificate in PEM form", n);
        }
        return n ? 0 : err_set(err, ERR_INVAL, "no certificate in PEM form");
}

int pem_check_key_block(struct str text, struct err *err) {
        _cleanup_(bio_freep) BIO *bio = NULL;
        unsigned char *bytes = NULL;
        char *name = NULL, *header = NULL;
        long n = 0;
        int r = open_text(text, &bio, err);
        bool is_key;

        if (r < 0)
                return r;
        is_key = PEM_read_bio(bio, &name, &header, &bytes, &n) == 1 && n > 0 &&
                 str_ends(str_from(name), STR("PRIVATE KEY"));
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_clear_free(bytes, (size_t)n);
        return end(is_key ? 0 : err_set(err, ERR_INVAL, "no private key in PEM form"));
}
