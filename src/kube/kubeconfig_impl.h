/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to kubeconfig*.c: the parsed files, one entry found in them, and the pieces that build a kube_config.
 *
 * Thread rule: plain data, one thread.
 */
#ifndef TRUCE_KUBE_KUBECONFIG_IMPL_H
#define TRUCE_KUBE_KUBECONFIG_IMPL_H

#include "base/value.h"
#include "kube/kubeconfig.h"

/* One file. `root` is NULL for an empty one. */
struct kubeconfig_file {
        const char *path;
        const struct value *root;
};

/* One named entry ("users" → name jane → its "user" map). `fields` NULL: the entry is empty. */
struct kubeconfig_entry {
        const char *path;
        const char *kind; /* "user" */
        struct str name;
        uint32_t line;
        const struct value *fields;
};

/* Splits and checks a server URL into `config`; `where` begins the message. INVAL. */
int kubeconfig_set_server(struct kube_config *config, struct str url, const char *where, struct err *err);

/* Fills cluster, context and user from the entries; user->fields may be NULL. */
int kubeconfig_use_cluster(struct kube_config *config, const struct kubeconfig_entry *cluster, struct err *err);
int kubeconfig_use_user(struct kube_config *config, const struct kubeconfig_entry *user, struct err *err);

/* Tells of keys that no kubeconfig has. `known` ends in NULL. */
void kubeconfig_warn_unknown(struct kube_config *config, const struct kubeconfig_entry *entry,
                             const char *const *known);
void kubeconfig_warn(struct kube_config *config, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A string field, empty when absent or null; INVAL for another kind. Borrowed. */
int kubeconfig_text(const struct kubeconfig_entry *entry, const char *key, struct str *ret_text, struct err *err);

/* Where a key stands (or its entry, when it does not say). */
uint32_t kubeconfig_line(const struct kubeconfig_entry *entry, const char *key);

#endif
