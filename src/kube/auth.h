/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The credentials of one kube_config: a static token, a token file, client certificates.
 *
 * A token file (a projected service account token lives for about an hour) is read again by path, because kubelet swaps
 * a symlink: at most AUTH_REREAD_MS after the last time, and at once after the server answered 401. A file that cannot be
 * read leaves the last good token in use. Certificates are files that curl reads at each new connection, or inline.
 *
 * Thread rule: loop thread. Reading is a few KiB from a mounted file system, done in place.
 */
#ifndef TRUCE_KUBE_AUTH_H
#define TRUCE_KUBE_AUTH_H

#include "kube/kubeconfig.h"

#define AUTH_REREAD_MS 60000

struct kube_auth;

/* `config` is borrowed and outlives it. Reads nothing yet. */
struct kube_auth *kube_auth_new(const struct kube_config *config);
void kube_auth_free(struct kube_auth *a);
DEFINE_CLEANUP(struct kube_auth *, kube_auth_free)

/*
 * The bearer token to send now, empty when there is none; borrowed until the next call. ret_generation changes whenever
 * the token does. UNAUTH when a token file has never been readable, or a token holds bytes that no header can carry;
 * LIMIT above CONFIG_MAX_TOKEN_BYTES.
 */
int kube_auth_token(struct kube_auth *a, int64_t now_ms, struct str *ret_token, uint64_t *ret_generation,
                    struct err *err);

/*
 * The server answered 401 to the token of `generation`: reads the file again. True when there is another token now, so
 * that the request may be sent once more (a 401 has executed nothing).
 */
bool kube_auth_refused(struct kube_auth *a, int64_t now_ms, uint64_t generation);

/*
 * Looks at the CA and the client certificate and key before the first connection, because OpenSSL's own messages do not
 * say which file is wrong, and because it would ask a terminal for the passphrase of an encrypted key. NOTFOUND,
 * FORBIDDEN (files), INVAL (no PEM in it, key and certificate do not belong together), UNSUPPORTED (encrypted key).
 */
int kube_auth_check_certificates(const struct kube_config *config, struct err *err);

#endif
