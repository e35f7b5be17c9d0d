/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables of containers and where their values come from. */
#include "sandbox/validate_pod.h"

static const char *const env_paths[] = {
        "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
        "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs", NULL
};
#define ENV_LISTED                                                                                                     \
        "\"metadata.name\", \"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", "                             \
        "\"spec.serviceAccountName\", "                                                                                \
        "\"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \"status.podIPs\""

/* Labels the server knows how to convert at all; others are errors of conversion. */
static bool is_convertible(struct str path) {
        static const char *const others[] = { "metadata.annotations",     "metadata.labels",  "spec.schedulerName",
                                              "spec.restartPolicy",       "spec.hostNetwork", "status.phase",
                                              "status.nominatedNodeName", "spec.host",        NULL };

        return is_one_of(path, env_paths) || is_one_of(path, others);
}

/* metadata.labels['key'] */
static bool split_subscript(struct str path, struct str *ret_base, struct str *ret_key) {
        ptrdiff_t open = str_find(path, '[', 0);

        if (open < 0 || !str_ends(path, STR("']")) || (size_t)open + 4 > path.n || path.p[open + 1] != '\'')
                return false;
        *ret_base = str_sub(path, 0, (size_t)open);
        *ret_key = str_sub(path, (size_t)open + 2, path.n - 2);
        return true;
}

static void check_subscript(struct check *c, const struct at *at, struct str path, struct str base, struct str key) {
        if (str_eqc(base, "metadata.labels") || str_eqc(base, "metadata.annotations"))
                check_text(c, at, TEXT_LABEL_KEY, key);
        else
                fault_invalid_str(c, AT(at, "fieldPath"), path,
                                  arena_strf(c->a,
                                             "error converting fieldPath: field label does not support subscript: %s",
                                             quoted(base, c->a).p)
                                          .p);
}

void check_field_ref(struct check *c, const struct at *at, const struct value *ref, const char *const *paths,
                     const char *listed) {
        struct str path = text_of(ref, "fieldPath"), base, key;

        if (!text_of(ref, "apiVersion").n)
                fault_required(c, AT(at, "apiVersion"), "");
        else if (!path.n)
                fault_required(c, AT(at, "fieldPath"), "");
        else if (split_subscript(path, &base, &key))
                check_subscript(c, at, path, base, key);
        else if (!is_convertible(path))
                fault_invalid_str(
                        c, AT(at, "fieldPath"), path,
                        arena_strf(c->a, "error converting fieldPath: field label not supported: %.*s", STR_FMT(path))
                                .p);
        else if (!is_one_of(path, paths))
                fault_unsupported(c, AT(at, "fieldPath"), path, listed);
}

static void check_divisor(struct check *c, const struct at *at, struct str resource, const struct value *divisor) {
        static const char *const cpu[] = { "1m", "1", NULL };
        static const char *const bytes[] = { "1",   "1k",  "1M",  "1G",  "1T",  "1P",  "1E",
                                             "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL };
        struct str s = value_text(divisor);

        if (!divisor || quantity_of(divisor) == 0)
                return;
        if (str_ends(resource, STR(".cpu"))) {
                if (!is_one_of(s, cpu))
                        fault_invalid_str(c, AT(at, "divisor"), resource,
                                          "only divisor's values 1m and 1 are supported with the cpu resource");
        } else if (!is_one_of(s, bytes))
                fault_invalid_str(
                        c, AT(at, "divisor"), resource,
                        arena_strf(c->a,
                                   "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, "
                                   "1Ei are supported with the %s resource",
                                   str_ends(resource, STR(".memory")) ? "memory" : "local ephemeral storage")
                                .p);
}

void check_resource_ref(struct check *c, const struct at *at, const struct value *ref, bool in_volume) {
        static const char *const names[] = { "limits.cpu",
                                             "limits.memory",
                                             "limits.ephemeral-storage",
                                             "requests.cpu",
                                             "requests.memory",
                                             "requests.ephemeral-storage",
                                             NULL };
        struct str resource = text_of(ref, "resource");

        if (in_volume && !text_of(ref, "containerName").n)
                fault_required(c, AT(at, "containerName"), "");
        else if (!resource.n)
                fault_required(c, AT(at, "resource"), "");
        else if (!is_one_of(resource, names) && !str_starts(resource, STR("requests.hugepages-")) &&
                 !str_starts(resource, STR("limits.hugepages-")))
                fault_unsupported(c, AT(at, "resource"), resource,
                                  "\"limits.cpu\", \"limits.ephemeral-storage\", \"limits.memory\", \"requests.cpu\", "
                                  "\"requests.ephemeral-storage\", \"requests.memory\"");
        if (is_one_of(resource, names))
                check_divisor(c, at, resource, get(ref, "divisor"));
}

static void check_key_ref(struct check *c, const struct at *at, const struct value *ref) {
        check_text(c, AT(at, "name"), TEXT_DNS_SUBDOMAIN, text_of(ref, "name"));
        if (!text_of(ref, "key").n)
                fault_required(c, AT(at, "key"), "");
        else
                check_text(c, AT(at, "key"), TEXT_CONFIG_KEY, text_of(ref, "key"));
}

static void check_value_from(struct check *c, const struct at *at, const struct value *from, struct str value) {
        size_t sources = 0;

        if (get(from, "fieldRef") && ++sources)
                check_field_ref(c, AT(at, "fieldRef"), get(from, "fieldRef"), env_paths, ENV_LISTED);
        if (get(from, "resourceFieldRef") && ++sources)
                check_resource_ref(c, AT(at, "resourceFieldRef"), get(from, "resourceFieldRef"), false);
        if (get(from, "configMapKeyRef") && ++sources)
                check_key_ref(c, AT(at, "configMapKeyRef"), get(from, "configMapKeyRef"));
        if (get(from, "secretKeyRef") && ++sources)
                check_key_ref(c, AT(at, "secretKeyRef"), get(from, "secretKeyRef"));
        sources += get(from, "fileKeyRef") != NULL;
        if (!sources)
                fault_invalid_str(c, at, STR(""),
                                  "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                                  "`secretKeyRef` or `fileKeyRef`");
        else if (value.n)
                fault_invalid_str(c, at, STR(""), "may not be specified when `value` is not empty");
        else if (sources > 1)
                fault_invalid_str(c, at, STR(""), "may not have more than one field specified at a time");
}

void check_env(struct check *c, const struct at *at, const struct value *env) {
        for (EACH(i, env)) {
                const struct value *item = item_of(env, i), *from = get(item, "valueFrom");
                const struct at *item_at = AT_INDEX(at, i);

                if (!text_of(item, "name").n)
                        fault_required(c, AT(item_at, "name"), "");
                else
                        check_text(c, AT(item_at, "name"), TEXT_ENV_NAME, text_of(item, "name"));
                if (from)
                        check_value_from(c, AT(item_at, "valueFrom"), from, text_of(item, "value"));
        }
}

static void check_source_name(struct check *c, const struct at *at, const struct value *ref) {
        if (!text_of(ref, "name").n) {
                fault_required(c, AT(at, "name"), "");
                return;
        }
        /* Checked as a prefix, for no reason that is known. */
        if (!text_keeps(TEXT_DNS_SUBDOMAIN, text_mask_prefix(text_of(ref, "name"), c->a)))
                check_text(c, AT(at, "name"), TEXT_DNS_SUBDOMAIN, text_of(ref, "name"));
}

void check_env_from(struct check *c, const struct at *at, const struct value *env_from) {
        for (EACH(i, env_from)) {
                const struct value *item = item_of(env_from, i);
                const struct at *item_at = AT_INDEX(at, i);
                size_t sources = 0;

                if (text_of(item, "prefix").n)
                        check_text(c, AT(item_at, "prefix"), TEXT_ENV_NAME, text_of(item, "prefix"));
                if (get(item, "configMapRef") && ++sources)
                        check_source_name(c, AT(item_at, "configMapRef"), get(item, "configMapRef"));
                if (get(item, "secretRef") && ++sources)
                        check_source_name(c, AT(item_at, "secretRef"), get(item, "secretRef"));
                if (!sources)
                        fault_invalid_str(c, at, STR(""), "must specify one of: `configMapRef` or `secretRef`");
                else if (sources > 1)
                        fault_invalid_str(c, at, STR(""), "may not have more than one field specified at a time");
        }
}
