/* SPDX-License-Identifier: Apache-2.0 */
/* Containers: names, ports, mounts, resources. */
#include "sandbox/validate_pod.h"

#include <string.h>

static const char *const protocols[] = { "TCP", "UDP", "SCTP", NULL };
#define PROTOCOLS_LISTED "\"SCTP\", \"TCP\", \"UDP\""

static bool name_before(const struct value *list, size_t end, struct str name) {
        for (size_t i = 0; i < end; i++)
                if (str_eq(text_of(item_of(list, i), "name"), name))
                        return true;
        return false;
}

static void check_port_name(struct check *c, const struct at *at, const struct value *ports, size_t i) {
        struct str name = text_of(item_of(ports, i), "name");

        if (!name.n)
                return;
        if (!text_keeps(TEXT_PORT_NAME, name))
                check_text(c, at, TEXT_PORT_NAME, name);
        else if (name_before(ports, i, name))
                fault_duplicate_str(c, at, name);
}

static void check_ports(struct check *c, const struct at *above, const struct value *ports) {
        for (EACH(i, ports)) {
                const struct value *port = item_of(ports, i);
                const struct at *at = AT_INDEX(above, i);
                struct str protocol = text_of(port, "protocol");

                check_port_name(c, AT(at, "name"), ports, i);
                if (!int_of(port, "containerPort"))
                        fault_required(c, AT(at, "containerPort"), "");
                else
                        check_port(c, AT(at, "containerPort"), int_of(port, "containerPort"));
                if (int_of(port, "hostPort"))
                        check_port(c, AT(at, "hostPort"), int_of(port, "hostPort"));
                if (!protocol.n)
                        fault_required(c, AT(at, "protocol"), "");
                else if (!is_one_of(protocol, protocols))
                        fault_unsupported(c, AT(at, "protocol"), protocol, PROTOCOLS_LISTED);
        }
}

/* --- mounts --- */

static bool other_has(const struct value *list, const char *field, struct str s, size_t end) {
        for (EACH(i, list))
                if (i < end && str_eq(text_of(item_of(list, i), field), s))
                        return true;
        return false;
}

static bool steps_back(struct str path) {
        struct str part;

        while (str_next(&path, '/', &part))
                if (str_eqc(part, ".."))
                        return true;
        return false;
}

static void check_sub_path(struct check *c, const struct at *at, struct str path) {
        if (str_starts(path, STR("/")))
                fault_invalid_str(c, at, path, "must be a relative path");
        if (steps_back(path))
                fault_invalid_str(c, at, path, "must not contain '..'");
}

static void check_propagation(struct check *c, const struct at *at, struct str mode, const struct value *container) {
        static const char *const modes[] = { "Bidirectional", "HostToContainer", "None", NULL };
        bool privileged = truth_of(get(container, "securityContext"), "privileged");

        if (!is_one_of(mode, modes))
                fault_unsupported(c, at, mode, "\"Bidirectional\", \"HostToContainer\", \"None\"");
        if (str_eqc(mode, "Bidirectional") && !privileged)
                fault_forbidden(c, at, "Bidirectional mount propagation is available only to privileged containers");
}

static void check_read_only_deep(struct check *c, const struct at *at, const struct value *mount) {
        static const char *const modes[] = { "Disabled", "Enabled", "IfPossible", NULL };
        struct str mode = text_of(mount, "recursiveReadOnly"), propagation = text_of(mount, "mountPropagation");

        if (!get(mount, "recursiveReadOnly") || str_eqc(mode, "Disabled"))
                return;
        if (!is_one_of(mode, modes)) {
                fault_unsupported(c, at, mode, "\"Disabled\", \"Enabled\", \"IfPossible\"");
                return;
        }
        if (!truth_of(mount, "readOnly"))
                fault_forbidden(c, at, "may only be specified when readOnly is true");
        if (propagation.n && !str_eqc(propagation, "None"))
                fault_forbidden(c, at, "may only be specified when mountPropagation is None or not specified");
}

static void check_mount(struct check *c, const struct at *above, const struct value *container, size_t i,
                        const struct volumes *volumes) {
        const struct value *mounts = get(container, "volumeMounts"), *devices = get(container, "volumeDevices");
        const struct value *mount = item_of(mounts, i);
        const struct at *at = AT_INDEX(above, i);
        struct str name = text_of(mount, "name"), path = text_of(mount, "mountPath"), sub = text_of(mount, "subPath");
        struct str sub_expr = text_of(mount, "subPathExpr");

        if (!name.n)
                fault_required(c, AT(at, "name"), "");
        if (!volume_find(volumes, name))
                fault_not_found(c, AT(at, "name"), name);
        if (!path.n)
                fault_required(c, AT(at, "mountPath"), "");
        if (other_has(mounts, "mountPath", path, i))
                fault_invalid_str(c, AT(at, "mountPath"), path, "must be unique");
        if (other_has(devices, "name", name, SIZE_MAX))
                fault_invalid_str(c, AT(at, "name"), name, "must not already exist in volumeDevices");
        if (other_has(devices, "devicePath", path, SIZE_MAX))
                fault_invalid_str(c, AT(at, "mountPath"), path, "must not already exist as a path in volumeDevices");
        check_sub_path(c, AT(above, "subPath"), sub);
        if (sub_expr.n && sub.n)
                fault_invalid_str(c, AT(at, "subPathExpr"), sub_expr, "subPathExpr and subPath are mutually exclusive");
        check_sub_path(c, AT(above, "subPathExpr"), sub_expr);
        if (get(mount, "mountPropagation"))
                check_propagation(c, AT(above, "mountPropagation"), text_of(mount, "mountPropagation"), container);
        check_read_only_deep(c, AT(above, "recursiveReadOnly"), mount);
}

static void check_device(struct check *c, const struct at *above, const struct value *container, size_t i,
                         const struct volumes *volumes) {
        const struct value *devices = get(container, "volumeDevices"), *mounts = get(container, "volumeMounts");
        const struct value *device = item_of(devices, i), *volume;
        const struct at *at = AT_INDEX(above, i);
        struct str name = text_of(device, "name"), path = text_of(device, "devicePath");

        volume = volume_find(volumes, name);
        if (!name.n)
                fault_required(c, AT(at, "name"), "");
        if (name.n && other_has(devices, "name", name, i))
                fault_invalid_str(c, AT(at, "name"), name, "must be unique");
        if (volume && !get(volume, "persistentVolumeClaim") && !get(volume, "ephemeral"))
                fault_invalid_str(
                        c, AT(at, "name"), name,
                        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
        if (!volume)
                fault_not_found(c, AT(at, "name"), name);
        if (!path.n)
                fault_required(c, AT(at, "devicePath"), "");
        if (other_has(devices, "devicePath", path, i))
                fault_invalid_str(c, AT(at, "devicePath"), path, "must be unique");
        if (steps_back(path))
                fault_invalid_str(c, AT(at, "devicePath"), path, "can not contain backsteps ('..')");
        if (other_has(mounts, "name", name, SIZE_MAX))
                fault_invalid_str(c, AT(at, "name"), name, "must not already exist in volumeMounts");
        if (other_has(mounts, "mountPath", path, SIZE_MAX))
                fault_invalid_str(c, AT(at, "devicePath"), path, "must not already exist as a path in volumeMounts");
}

/* --- resources --- */

static void check_request(struct check *c, const struct at *at, struct str name, const struct value *request,
                          const struct value *limit) {
        struct str shown = value_text(request), most = value_text(limit);
        const char *rule = NULL;

        if (!limit) {
                if (!resource_may_overcommit(name))
                        fault_required(c, AT(at, "limits"), "Limit must be set for non overcommitable resources");
                return;
        }
        if (quantity_of(request) != quantity_of(limit) && !resource_may_overcommit(name))
                rule = "equal to";
        else if (quantity_of(request) > quantity_of(limit))
                rule = "less than or equal to";
        if (rule)
                fault_invalid_str(
                        c, AT(at, "requests"), shown,
                        arena_strf(c->a, "must be %s %.*s limit of %.*s", rule, STR_FMT(name), STR_FMT(most)).p);
}

void check_resources(struct check *c, const struct at *at, const struct value *resources) {
        const struct value *limits = get(resources, "limits"), *requests = get(resources, "requests");
        bool huge = false, plain = false;

        for (EACH_MEMBER(m, limits)) {
                const struct at *key_at = AT_KEY(AT(at, "limits"), m->key);

                check_container_resource_name(c, key_at, m->key);
                check_resource_quantity(c, key_at, m->key, m->value);
                huge = huge || resource_is_huge_page(m->key);
                plain = plain || str_eqc(m->key, "cpu") || str_eqc(m->key, "memory");
        }
        for (EACH_MEMBER(m, requests)) {
                const struct at *key_at = AT_KEY(AT(at, "requests"), m->key);

                check_container_resource_name(c, key_at, m->key);
                check_resource_quantity(c, key_at, m->key, m->value);
                check_request(c, at, m->key, m->value, value_get(limits, m->key));
                huge = huge || resource_is_huge_page(m->key);
                plain = plain || str_eqc(m->key, "cpu") || str_eqc(m->key, "memory");
        }
        if (huge && !plain)
                fault_forbidden(c, at, "HugePages require cpu or memory");
}

/* --- the container --- */

static void check_pull_policy(struct check *c, const struct at *at, struct str policy) {
        static const char *const policies[] = { "Always", "IfNotPresent", "Never", NULL };

        if (!policy.n)
                fault_required(c, at, "");
        else if (!is_one_of(policy, policies))
                fault_unsupported(c, at, policy, "\"Always\", \"IfNotPresent\", \"Never\"");
}

static void check_message_policy(struct check *c, const struct at *at, struct str policy) {
        if (!policy.n)
                fault_required(c, at, "");
        else if (!str_eqc(policy, "File") && !str_eqc(policy, "FallbackToLogsOnError"))
                fault_unsupported(c, at, policy, "\"File\", \"FallbackToLogsOnError\"");
}

static void check_container(struct check *c, const struct at *at, const struct value *container,
                            const struct pod_context *pod) {
        const struct value *mounts = get(container, "volumeMounts"), *devices = get(container, "volumeDevices");

        if (!text_of(container, "name").n)
                fault_required(c, AT(at, "name"), "");
        else
                check_text(c, AT(at, "name"), TEXT_DNS_LABEL, text_of(container, "name"));
        if (!text_of(container, "image").n)
                fault_required(c, AT(at, "image"), "");
        check_message_policy(c, AT(at, "terminationMessagePolicy"), text_of(container, "terminationMessagePolicy"));
        check_ports(c, AT(at, "ports"), get(container, "ports"));
        check_env(c, AT(at, "env"), get(container, "env"));
        check_env_from(c, AT(at, "envFrom"), get(container, "envFrom"));
        for (EACH(i, mounts))
                check_mount(c, AT(at, "volumeMounts"), container, i, &pod->volumes);
        for (EACH(i, devices))
                check_device(c, AT(at, "volumeDevices"), container, i, &pod->volumes);
        check_pull_policy(c, AT(at, "imagePullPolicy"), text_of(container, "imagePullPolicy"));
        check_resources(c, AT(at, "resources"), get(container, "resources"));
        check_container_security(c, AT(at, "securityContext"), get(container, "securityContext"),
                                 value_truth(get(pod->spec, "hostUsers"), true));
}

static void check_probes(struct check *c, const struct at *at, const struct value *container,
                         const struct pod_context *pod) {
        if (get(container, "lifecycle"))
                check_lifecycle(c, AT(at, "lifecycle"), get(container, "lifecycle"), pod);
        check_probe(c, AT(at, "livenessProbe"), get(container, "livenessProbe"), PROBE_LIVENESS, pod);
        check_probe(c, AT(at, "readinessProbe"), get(container, "readinessProbe"), PROBE_READINESS, pod);
        check_probe(c, AT(at, "startupProbe"), get(container, "startupProbe"), PROBE_STARTUP, pod);
}

static struct str host_port_key(const struct value *port, struct arena *a) {
        return arena_strf(a, "%.*s/%.*s/%lld", STR_FMT(text_of(port, "protocol")), STR_FMT(text_of(port, "hostIP")),
                          (long long)int_of(port, "hostPort"));
}

/* Is the port taken by one before it, in containers [from, …] up to this one? */
static bool host_port_taken(const struct value *containers, size_t from, size_t at_container, size_t at_port,
                            struct str key, struct arena *a) {
        for (size_t i = from; i <= at_container; i++) {
                const struct value *ports = get(item_of(containers, i), "ports");

                for (EACH(j, ports))
                        if ((i < at_container || j < at_port) && int_of(item_of(ports, j), "hostPort") &&
                            str_eq(host_port_key(item_of(ports, j), a), key))
                                return true;
        }
        return false;
}

static void check_host_ports(struct check *c, const struct at *above, const struct value *containers, size_t from,
                             size_t i) {
        const struct value *ports = get(item_of(containers, i), "ports");
        /* An init container is looked at alone, and then called the first. */
        const struct at *at = AT(AT_INDEX(above, i - from), "ports");

        for (EACH(j, ports)) {
                struct str key;

                if (!int_of(item_of(ports, j), "hostPort"))
                        continue;
                key = host_port_key(item_of(ports, j), c->a);
                if (host_port_taken(containers, from, i, j, key, c->a))
                        fault_duplicate_str(c, AT(AT_INDEX(at, j), "hostPort"), key);
        }
}

static void check_restart_policy(struct check *c, const struct at *at, const struct value *container) {
        static const char *const policies[] = { "Always", "Never", "OnFailure", NULL };
        const struct value *policy = get(container, "restartPolicy");

        if (policy && !is_one_of(value_text(policy), policies))
                fault_unsupported(c, AT(at, "restartPolicy"), value_text(policy),
                                  "\"Always\", \"Never\", \"OnFailure\"");
}

void check_containers(struct check *c, const struct at *at, const struct pod_context *pod) {
        const struct value *containers = get(pod->spec, "containers");

        if (!value_count(containers)) {
                fault_required(c, at, "");
                return;
        }
        for (EACH(i, containers)) {
                const struct value *container = item_of(containers, i);
                const struct at *one = AT_INDEX(at, i);

                check_container(c, one, container, pod);
                if (name_before(containers, i, text_of(container, "name")))
                        fault_duplicate_str(c, AT(one, "name"), text_of(container, "name"));
                check_probes(c, one, container, pod);
                check_restart_policy(c, one, container);
        }
        for (EACH(i, containers))
                check_host_ports(c, at, containers, 0, i);
}

static void check_init_hooks(struct check *c, const struct at *at, const struct value *container) {
        static const char *const fields[] = { "lifecycle", "livenessProbe", "readinessProbe", "startupProbe" };

        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                if (get(container, fields[i]))
                        fault_forbidden(c, AT_STR(at, str_from(fields[i])),
                                        "may not be set for init containers without restartPolicy=Always");
}

void check_init_containers(struct check *c, const struct at *at, const struct pod_context *pod) {
        const struct value *containers = get(pod->spec, "initContainers"), *regular = get(pod->spec, "containers");

        for (EACH(i, containers)) {
                const struct value *container = item_of(containers, i);
                const struct at *one = AT_INDEX(at, i);
                struct str name = text_of(container, "name");

                check_container(c, one, container, pod);
                check_restart_policy(c, one, container);
                if (name_before(regular, list_count(regular), name) || (name.n && name_before(containers, i, name)))
                        fault_duplicate_str(c, AT(one, "name"), name);
                check_host_ports(c, at, containers, i, i);
                if (str_eqc(text_of(container, "restartPolicy"), "Always"))
                        check_probes(c, one, container, pod);
                else
                        check_init_hooks(c, one, container);
        }
}
