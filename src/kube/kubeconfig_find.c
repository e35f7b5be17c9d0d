/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a configuration comes from when nobody says: the environment, the Pod, the home folder.
 */
#include "base/limits.h"
#include "kube/files.h"
#include "kube/kubeconfig_impl.h"

#define FIND_MAX_PATH_BYTES (64 * KIB)

static char *join(const char *dir, const char *name) {
        _cleanup_(buf_done) struct buf path = buf_make(FIND_MAX_PATH_BYTES);

        buf_addf(&path, "%s/%s", dir, name);
        return buf_take(&path);
}

static bool exists(const char *path) {
        return access(path, F_OK) == 0;
}

/* In a Pod. */

static char *read_namespace(const char *dir) {
        _cleanup_(mem_freep) char *path = join(dir, "namespace");
        _cleanup_(buf_done) struct buf text = buf_make(4 * KIB);

        if (files_read(path, &text, NULL) < 0 || !str_trim(buf_str(&text)).n)
                return str_dup(STR("default"));
        return str_dup(str_trim(buf_str(&text)));
}

static int set_service(struct kube_config *config, const char *host, const char *port, struct err *err) {
        bool bare_v6 = strchr(host, ':') && host[0] != '[';
        _cleanup_(buf_done) struct buf url = buf_make(16 * KIB);

        buf_addf(&url, "https://%s%s%s:%s", bare_v6 ? "[" : "", host, bare_v6 ? "]" : "", port);
        return kubeconfig_set_server(config, buf_str(&url), "KUBERNETES_SERVICE_HOST and _PORT", err);
}

int kube_config_in_cluster(const char *dir, const char *host, const char *port, struct kube_config **ret_config,
                           struct err *err) {
        _cleanup_(kube_config_freep) struct kube_config *config = mem_zalloc(sizeof *config);
        _cleanup_(mem_freep) char *ca = join(dir, "ca.crt");
        int r = set_service(config, host, port, err);

        if (r < 0)
                return r;
        config->token_file = join(dir, "token");
        if (!exists(config->token_file))
                return err_set(err, ERR_NOTFOUND, "this Pod has no service account token: %s does not exist",
                               config->token_file);

        config->context = str_dup(STR("in-cluster"));
        config->cluster = str_dup(STR("in-cluster"));
        config->user = str_dup(STR("in-cluster"));
        config->origin = str_dup(STR("in-cluster"));
        config->namespace = read_namespace(dir);
        if (exists(ca)) {
                config->ca.path = TAKE_PTR(ca);
                config->ca.origin = str_dup(str_from(config->ca.path));
        } else {
                kubeconfig_warn(config, "%s does not exist: the server must be trusted by the system's CA bundle", ca);
        }
        *ret_config = TAKE_PTR(config);
        return 0;
}

/* Anywhere. */

static const char *env_or_null(const char *name) {
        const char *text = getenv(name);

        return text && *text ? text : NULL;
}

static void free_paths(char ***paths) {
        for (char **p = *paths; p && *p; p++)
                free(*p);
        free(*paths);
}

static int from_list(const char *list, const char *context, struct kube_config **ret_config, struct err *err) {
        struct str rest = str_from(list), part;
        _cleanup_(free_paths) char **paths = mem_zalloc((strlen(list) + 2) * sizeof(char *));
        size_t count = 0;

        while (str_next(&rest, ':', &part))
                if (part.n)
                        paths[count++] = str_dup(part);
        if (!count)
                return err_set(err, ERR_NOTFOUND, "$KUBECONFIG names no file");

        int r = kube_config_from_files((const char *const *)paths, count, context, ret_config, err);
        return r < 0 ? err_wrap(err, r, "$KUBECONFIG") : 0;
}

static int from_home(const char *context, struct kube_config **ret_config, struct err *err) {
        const char *home = env_or_null("HOME");
        _cleanup_(mem_freep) char *path = join(home ? home : "", ".kube/config");

        if (home && exists(path))
                return kube_config_from_files((const char *const[]){ path }, 1, context, ret_config, err);
        return err_set(err, ERR_NOTFOUND,
                       "no cluster is configured: no kubeconfig was named, $KUBECONFIG is not set, this is no Pod%s, "
                       "and %s does not exist",
                       context ? " (or a context was asked for)" : "", home ? path : "$HOME");
}

int kube_config_load(const char *explicit_path, const char *context, const char *service_account_dir,
                     struct kube_config **ret_config, struct err *err) {
        const char *list = env_or_null("KUBECONFIG"), *host = env_or_null("KUBERNETES_SERVICE_HOST"),
                   *port = env_or_null("KUBERNETES_SERVICE_PORT"),
                   *dir = service_account_dir ? service_account_dir : KUBE_SERVICE_ACCOUNT_DIR;

        if (context && !*context)
                context = NULL;
        if (explicit_path && *explicit_path)
                return kube_config_from_files(&explicit_path, 1, context, ret_config, err);
        if (list)
                return from_list(list, context, ret_config, err);
        if (host && port && !context)
                return kube_config_in_cluster(dir, host, port, ret_config, err);
        return from_home(context, ret_config, err);
}
