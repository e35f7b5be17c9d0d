/* SPDX-License-Identifier: Apache-2.0 */
/* A pod's spec as a whole, Pods and pod templates. */
#include "sandbox/validate_pod.h"

#include <string.h>

#include "sandbox/validate_kinds.h"

/* --- security contexts --- */

static void check_seccomp(struct check *c, const struct at *at, const struct value *profile) {
        static const char *const types[] = { "Localhost", "RuntimeDefault", "Unconfined", NULL };
        struct str type = text_of(profile, "type");
        const struct value *local = get(profile, "localhostProfile");

        if (!profile)
                return;
        if (!type.n)
                fault_required(c, AT(at, "type"), "type is required when seccompProfile is set");
        else if (!is_one_of(type, types))
                fault_unsupported(c, AT(at, "type"), type, "\"Localhost\", \"RuntimeDefault\", \"Unconfined\"");
        if (str_eqc(type, "Localhost") && !local)
                fault_required(c, AT(at, "localhostProfile"), "must be set when seccomp type is Localhost");
        else if (!str_eqc(type, "Localhost") && local)
                fault_invalid_raw(c, AT(at, "localhostProfile"),
                                  arena_strf(c->a, "{\"Type\":%s,\"LocalhostProfile\":%s}", quoted(type, c->a).p,
                                             go_json(local, c->a).p),
                                  "can only be set when seccomp type is Localhost");
}

static void check_app_armor(struct check *c, const struct at *at, const struct value *profile) {
        static const char *const types[] = { "Localhost", "RuntimeDefault", "Unconfined", NULL };
        struct str type = text_of(profile, "type");

        if (!profile)
                return;
        if (!type.n)
                fault_required(c, AT(at, "type"), "type is required when appArmorProfile is set");
        else if (!is_one_of(type, types))
                fault_unsupported(c, AT(at, "type"), type, "\"Localhost\", \"RuntimeDefault\", \"Unconfined\"");
}

void check_pod_security(struct check *c, const struct at *at, const struct value *security) {
        const struct value *groups = get(security, "supplementalGroups"),
                           *change = get(security, "fsGroupChangePolicy");
        int64_t group = 0;

        check_user_id(c, at, security, "fsGroup");
        check_user_id(c, at, security, "runAsUser");
        check_user_id(c, at, security, "runAsGroup");
        for (EACH(i, groups))
                if (value_to_i64(item_of(groups, i), &group) && (group < 0 || group > INT32_MAX))
                        fault_invalid_int(c, AT_INDEX(AT(at, "supplementalGroups"), i), group,
                                          "must be between 0 and 2147483647, inclusive");
        if (change && !str_eqc(value_text(change), "Always") && !str_eqc(value_text(change), "OnRootMismatch"))
                fault_unsupported(c, AT(at, "fsGroupChangePolicy"), value_text(change),
                                  "\"Always\", \"OnRootMismatch\"");
        check_seccomp(c, AT(at, "seccompProfile"), get(security, "seccompProfile"));
        check_app_armor(c, AT(at, "appArmorProfile"), get(security, "appArmorProfile"));
}

void check_container_security(struct check *c, const struct at *at, const struct value *security, bool host_users) {
        const struct value *mount = get(security, "procMount");

        check_user_id(c, at, security, "runAsUser");
        check_user_id(c, at, security, "runAsGroup");
        if (mount && !str_eqc(value_text(mount), "Default") && !str_eqc(value_text(mount), "Unmasked"))
                fault_unsupported(c, AT(at, "procMount"), value_text(mount), "\"Default\", \"Unmasked\"");
        if (host_users && str_eqc(value_text(mount), "Unmasked"))
                fault_invalid(c, AT(at, "procMount"), mount, "`hostUsers` must be false to use `Unmasked`");
        check_seccomp(c, AT(at, "seccompProfile"), get(security, "seccompProfile"));
        if (!value_truth(get(security, "allowPrivilegeEscalation"), true) && truth_of(security, "privileged"))
                fault_invalid(c, at, security,
                              "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
        check_app_armor(c, AT(at, "appArmorProfile"), get(security, "appArmorProfile"));
}

/* --- the rest of the spec --- */

static void check_host_network(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *containers = get(spec, "containers");

        if (!truth_of(spec, "hostNetwork"))
                return;
        for (EACH(i, containers)) {
                const struct value *ports = get(item_of(containers, i), "ports");

                for (EACH(j, ports)) {
                        int64_t host = int_of(item_of(ports, j), "hostPort");

                        if ((c->is_pod || host) && host != int_of(item_of(ports, j), "containerPort"))
                                fault_invalid_int(
                                        c, AT(AT_INDEX(AT(AT_INDEX(AT(at, "containers"), i), "ports"), j), "hostPort"),
                                        host, "must match `containerPort` when `hostNetwork` is true");
                }
        }
}

/* A field with a short list of values; empty is an error of its own. */
static void check_choice(struct check *c, const struct at *at, struct str s, const char *const *names,
                         const char *listed) {
        if (!s.n)
                fault_required(c, at, "");
        else if (!is_one_of(s, names))
                fault_unsupported(c, at, s, listed);
}

static void check_dns(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *config = get(spec, "dnsConfig"), *servers = get(config, "nameservers");
        const struct value *searches = get(config, "searches"), *options = get(config, "options");

        if (str_eqc(text_of(spec, "dnsPolicy"), "None")) {
                if (!config)
                        fault_required(c, at, "must provide `dnsConfig` when `dnsPolicy` is None");
                else if (!list_count(servers))
                        fault_required(c, AT(at, "nameservers"),
                                       "must provide at least one DNS nameserver when `dnsPolicy` is None");
                if (!list_count(servers))
                        return;
        }
        if (list_count(servers) > 3)
                fault_invalid(c, AT(at, "nameservers"), servers, "must not have more than 3 nameservers");
        for (EACH(i, servers))
                check_ip(c, AT_INDEX(AT(at, "nameservers"), i), value_text(item_of(servers, i)), NULL);
        if (list_count(searches) > 32)
                fault_invalid(c, AT(at, "searches"), searches, "must not have more than 32 search paths");
        for (EACH(i, searches)) {
                struct str s = value_text(item_of(searches, i));

                if (!str_eqc(s, "."))
                        check_text(c, AT_INDEX(AT(at, "searches"), i), TEXT_DNS_SUBDOMAIN_UNDERSCORE,
                                   str_ends(s, STR(".")) ? str_sub(s, 0, s.n - 1) : s);
        }
        for (EACH(i, options))
                if (!text_of(item_of(options, i), "name").n)
                        fault_required(c, AT_INDEX(AT(at, "options"), i), "must not be empty");
}

static void check_gates(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *readiness = get(spec, "readinessGates"), *gates = get(spec, "schedulingGates");

        for (EACH(i, readiness))
                check_text(c, AT(AT_INDEX(AT(at, "readinessGates"), i), "conditionType"), TEXT_LABEL_KEY,
                           text_of(item_of(readiness, i), "conditionType"));
        for (EACH(i, gates)) {
                struct str name = text_of(item_of(gates, i), "name");
                bool seen = false;

                check_text(c, AT_INDEX(AT(at, "schedulingGates"), i), TEXT_LABEL_KEY, name);
                for (size_t j = 0; j < i; j++)
                        seen = seen || str_eq(text_of(item_of(gates, j), "name"), name);
                if (seen)
                        fault_duplicate_str(c, AT_INDEX(AT(at, "schedulingGates"), i), name);
        }
}

static void check_host_users(struct check *c, const struct at *at, const struct value *spec) {
        if (value_truth(get(spec, "hostUsers"), true))
                return;
        if (truth_of(spec, "hostPID"))
                fault_forbidden(c, AT(at, "HostPID"), "when `hostUsers` is false");
        if (truth_of(spec, "hostIPC"))
                fault_forbidden(c, AT(at, "HostIPC"), "when `hostUsers` is false");
}

static void check_named(struct check *c, const struct at *at, const struct value *spec, const char *field,
                        enum text_rule rule) {
        if (text_of(spec, field).n)
                check_text(c, AT_STR(at, str_from(field)), rule, text_of(spec, field));
}

static void check_account(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *old = get(spec, "serviceAccount");
        struct str name = text_of(spec, "serviceAccountName");

        check_named(c, at, spec, "serviceAccountName", TEXT_DNS_SUBDOMAIN);
        if (old && !str_eq(value_text(old), name))
                fault_invalid(c, AT(at, "deprecatedServiceAccount"), old,
                              arena_strf(c->a, "must be the same as serviceAccountName: %s", quoted(name, c->a).p).p);
}

static void check_host_aliases(struct check *c, const struct at *at, const struct value *aliases) {
        for (EACH(i, aliases)) {
                const struct value *names = get(item_of(aliases, i), "hostnames");

                check_ip(c, AT(AT_INDEX(at, i), "ip"), text_of(item_of(aliases, i), "ip"), NULL);
                for (EACH(j, names))
                        check_text(c, AT_INDEX(AT(AT_INDEX(at, i), "hostnames"), j), TEXT_DNS_SUBDOMAIN,
                                   value_text(item_of(names, j)));
        }
}

static void check_small_fields(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const preemption[] = { "PreemptLowerPriority", "Never", NULL };
        const struct value *overhead = get(spec, "overhead");
        int64_t deadline = 0;

        check_account(c, at, spec);
        check_named(c, at, spec, "nodeName", TEXT_DNS_SUBDOMAIN);
        if (value_to_i64(get(spec, "activeDeadlineSeconds"), &deadline) && (deadline < 1 || deadline > INT32_MAX))
                fault_invalid_int(c, AT(at, "activeDeadlineSeconds"), deadline,
                                  "must be between 1 and 2147483647, inclusive");
        check_named(c, at, spec, "hostname", TEXT_DNS_LABEL);
        check_named(c, at, spec, "subdomain", TEXT_DNS_LABEL);
        check_tolerations(c, AT(at, "tolerations"), get(spec, "tolerations"));
        check_host_aliases(c, AT(at, "hostAliases"), get(spec, "hostAliases"));
        check_named(c, at, spec, "priorityClassName", TEXT_DNS_SUBDOMAIN);
        check_named(c, at, spec, "runtimeClassName", TEXT_DNS_SUBDOMAIN);
        if (get(spec, "preemptionPolicy"))
                check_choice(c, AT(at, "preemptionPolicy"), text_of(spec, "preemptionPolicy"), preemption,
                             "\"PreemptLowerPriority\", \"Never\"");
        if (overhead)
                check_resources(c, AT(at, "overhead"), value_with(c->a, NULL, STR("limits"), overhead));
}

static void check_policies(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const restart[] = { "Always", "OnFailure", "Never", NULL };
        static const char *const dns[] = { "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL };

        check_choice(c, AT(at, "restartPolicy"), text_of(spec, "restartPolicy"), restart,
                     "\"Always\", \"OnFailure\", \"Never\"");
        check_choice(c, AT(at, "dnsPolicy"), text_of(spec, "dnsPolicy"), dns,
                     "\"ClusterFirstWithHostNet\", \"ClusterFirst\", \"Default\", \"None\"");
}

void check_pod_spec(struct check *c, const struct at *at, const struct value *spec, const struct value *pod_meta) {
        struct pod_context pod = { .spec = spec };

        pod.has_grace = value_to_i64(get(spec, "terminationGracePeriodSeconds"), &pod.grace_s);
        if (!pod.has_grace)
                fault_required(c, AT(at, "terminationGracePeriodSeconds"), "");
        check_volumes(c, AT(at, "volumes"), spec, pod_meta, &pod.volumes);
        check_containers(c, AT(at, "containers"), &pod);
        check_init_containers(c, AT(at, "initContainers"), &pod);
        check_host_network(c, at, spec);
        check_policies(c, at, spec);
        check_labels(c, AT(at, "nodeSelector"), get(spec, "nodeSelector"));
        check_pod_security(c, AT(at, "securityContext"), get(spec, "securityContext"));
        if (truth_of(spec, "shareProcessNamespace") && truth_of(spec, "hostPID"))
                fault_invalid(c, AT(at, "shareProcessNamespace"), &value_true,
                              "ShareProcessNamespace and HostPID cannot both be enabled");
        check_affinity(c, AT(at, "affinity"), get(spec, "affinity"));
        check_dns(c, AT(at, "dnsConfig"), spec);
        check_gates(c, at, spec);
        check_spread(c, AT(at, "topologySpreadConstraints"), get(spec, "topologySpreadConstraints"));
        check_host_users(c, at, spec);
        check_small_fields(c, at, spec);
}

void check_pod_template(struct check *c, const struct at *at, const struct value *template) {
        const struct value *meta = get(template, "metadata"), *spec = get(template, "spec");

        check_labels(c, AT(at, "labels"), get(meta, "labels"));
        check_annotations(c, AT(at, "annotations"), get(meta, "annotations"));
        check_pod_spec(c, AT(at, "spec"), spec, NULL);
        if (count_of(spec, "ephemeralContainers"))
                fault_forbidden(c, AT(AT(at, "spec"), "ephemeralContainers"),
                                "ephemeral containers not allowed in pod template");
}

void check_pod_template_kind(struct check *c) {
        check_pod_template(c, AT(NULL, "template"), get(c->object, "template"));
}

/* --- Pods --- */

void check_trimmed_images(struct check *c, const struct at *at, const struct value *containers) {
        for (EACH(i, containers)) {
                struct str image = text_of(item_of(containers, i), "image");

                if (str_trim(image).n != image.n)
                        fault_invalid_str(c, AT(AT_INDEX(at, i), "image"), image,
                                          "must not have leading or trailing whitespace");
        }
}

static void check_pod_anyhow(struct check *c) {
        const struct value *spec = get(c->object, "spec");
        const struct at *at = AT(NULL, "spec");

        c->is_pod = true;
        check_pod_spec(c, at, spec, get(c->object, "metadata"));
        check_nonnegative_field(c, at, spec, "terminationGracePeriodSeconds");
        check_trimmed_images(c, AT(at, "containers"), get(spec, "containers"));
        check_trimmed_images(c, AT(at, "initContainers"), get(spec, "initContainers"));
}

static void check_pod_creation(struct check *c) {
        const struct value *spec = get(c->object, "spec");
        const struct at *at = AT(NULL, "spec");

        if (count_of(spec, "ephemeralContainers"))
                fault_forbidden(c, AT(at, "ephemeralContainers"), "cannot be set on create");
        if (text_of(spec, "nodeName").n && count_of(spec, "schedulingGates"))
                fault_forbidden(c, AT(at, "nodeName"), "cannot be set until all schedulingGates have been cleared");
}

void check_pod(struct check *c) {
        check_pod_anyhow(c);
        if (c->live)
                check_pod_update(c);
        else
                check_pod_creation(c);
}
