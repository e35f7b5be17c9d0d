/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to kube/: whole small files, and PEM text out of a kube_pem.
 *
 * Thread rule: plain calls; they block on the file system.
 */
#ifndef TRUCE_KUBE_FILES_H
#define TRUCE_KUBE_FILES_H

#include "base/buf.h"
#include "kube/kubeconfig.h"

/* Appends the file to `out`, whose maximum bounds it. NOTFOUND, FORBIDDEN …, INVAL (a folder), LIMIT; all name the path. */
int files_read(const char *path, struct buf *out, struct err *err);

/* The inline bytes, or the file's. `pem` must give one of them. */
int files_read_pem(const struct kube_pem *pem, struct buf *out, struct err *err);

static inline bool pem_is_given(const struct kube_pem *pem) {
        return pem->data || pem->path;
}

#endif
