/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which API server to talk to, and as whom: kubeconfig files as kubectl reads them, or what a Pod finds mounted.
 *
 * Files are YAML or JSON. Several files (the KUBECONFIG list) merge as in client-go: the first file that names a
 * context, cluster or user wins with the whole entry, the first `current-context` wins, missing files are skipped.
 * Relative paths belong to the file they stand in. `…-data` beats the file beside it, tokenFile beats token.
 *
 * Refused with UNSUPPORTED, naming file and user: exec plug-ins, auth-provider, username/password, proxy-url.
 * Worth a person's eye, but no error: `warnings` (insecure-skip-tls-verify, unknown keys in the entries used …); this
 * layer does not log them. No error or warning ever holds a token, key or certificate byte.
 *
 * Errors: NOTFOUND (no file, no such context, nothing configured at all), FORBIDDEN (unreadable), PARSE (no YAML), INVAL
 * (file:line and what is wrong there), LIMIT (a file above CONFIG_MAX_FILE_BYTES), UNSUPPORTED.
 *
 * Thread rule: immutable once loaded.
 */
#ifndef TRUCE_KUBE_KUBECONFIG_H
#define TRUCE_KUBE_KUBECONFIG_H

#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* PEM text given inline, or the file to read it from at each new connection; both NULL: not given. */
struct kube_pem {
        char *data; /* ends in NUL */
        size_t data_bytes;
        char *path;
        char *origin; /* for messages: "FILE:LINE certificate-authority-data", or the path */
};

/* Every string is owned, NULL when not given. */
struct kube_config {
        char *server;       /* "https://host:port/prefix", no slash at the end, no user, query or fragment */
        char *shown;        /* the server for messages: what stands in a prefix may be a token, so it is "/…" */
        char *scheme;       /* "https" or "http" */
        char *host;         /* without brackets */
        char *port;         /* decimal, never NULL */
        char *prefix;       /* "" or "/some/path": stands in front of every request path */
        char *origin;       /* where the server came from: "FILE:LINE", or "in-cluster" */
        char *context;      /* names, for messages; "in-cluster" there */
        char *cluster;
        char *user;         /* NULL: no credentials */
        char *namespace;    /* never NULL */
        char *tls_server_name;
        bool insecure;      /* the server's certificate is not checked */
        struct kube_pem ca; /* neither given: the system's CA bundle */
        struct kube_pem client_cert, client_key;
        char *token;
        char *token_file;
        char **headers; /* impersonation, ready to send: "Impersonate-User: jane" */
        size_t header_count;
        char **warnings; /* texts for a person, each with its file:line */
        size_t warning_count;
};

void kube_config_free(struct kube_config *config);
DEFINE_CLEANUP(struct kube_config *, kube_config_free)

/*
 * Finds the configuration as kubectl does: `explicit_path` (must exist), else the files of $KUBECONFIG, else the
 * in-cluster one when $KUBERNETES_SERVICE_HOST is set and no `context` is asked for, else ~/.kube/config.
 * NULL or empty arguments: not given. `service_account_dir` NULL: KUBE_SERVICE_ACCOUNT_DIR.
 */
int kube_config_load(const char *explicit_path, const char *context, const char *service_account_dir,
                     struct kube_config **ret_config, struct err *err);

/* Merges `count` files, of which at least one must exist. `context` NULL: the current one. */
int kube_config_from_files(const char *const *paths, size_t count, const char *context,
                           struct kube_config **ret_config, struct err *err);

/* One file's text, as if read from `path`; what fuzzing and kube_config_from_files() share. */
int kube_config_from_text(struct str text, const char *path, const char *context, struct kube_config **ret_config,
                          struct err *err);

/* From `dir` (token, ca.crt, namespace) and the host and port of the service; IPv6 hosts come without brackets. */
int kube_config_in_cluster(const char *dir, const char *host, const char *port, struct kube_config **ret_config,
                           struct err *err);

#endif
