/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at certificates and private keys in PEM form (RFC 7468) before they are used, because OpenSSL's own messages do
 * not say which file or setting is wrong, and because it would ask a terminal for the passphrase of an encrypted key.
 *
 * Messages hold nothing of the content; they say what is wrong, not where: the caller puts that in front. Text around the
 * blocks is allowed, as OpenSSL allows it.
 *
 * Thread rule: plain calls, any thread; OpenSSL's queue of errors is left empty. Limit: PEM_MAX_BYTES (LIMIT).
 */
#ifndef TRUCE_KUBE_PEM_H
#define TRUCE_KUBE_PEM_H

#include "base/err.h"
#include "base/str.h"

#define PEM_MAX_BYTES (1 << 20) /* a bundle of a whole distribution's authorities has 220 KiB */

/* Does it hold a certificate? INVAL. */
int pem_check_certificate(struct str text, struct err *err);

/*
 * Every block of certificates of a bundle, and that there is one. INVAL; *ret_at is then where in `text` the bad block
 * begins (0 when there is none at all).
 */
int pem_check_bundle(struct str text, size_t *ret_at, struct err *err);

/* INVAL; UNSUPPORTED for an encrypted one. */
int pem_check_key(struct str text, struct err *err);

/* Both, and whether the key is that of the first certificate. As above. */
int pem_check_pair(struct str certificate, struct str key, struct err *err);

/*
 * A private key whose content OpenSSL may not know, such as ssh's own form: a whole block of that kind. INVAL.
 */
int pem_check_key_block(struct str text, struct err *err);

#endif
