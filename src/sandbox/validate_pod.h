/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a pod's spec, each in a file of its own. */
#ifndef TRUCE_SANDBOX_VALIDATE_POD_H
#define TRUCE_SANDBOX_VALIDATE_POD_H

#include "sandbox/validate_impl.h"

/* Volumes that are well-formed: only these can be mounted. */
struct volumes {
        const struct value **items;
        size_t count;
};
void check_volumes(struct check *c, const struct at *at, const struct value *spec, const struct value *pod_meta,
                   struct volumes *ret);
void check_host_path(struct check *c, const struct at *at, const struct value *source);
void check_nfs(struct check *c, const struct at *at, const struct value *source);
void check_csi_driver(struct check *c, const struct at *at, struct str name);
void check_no_back_step(struct check *c, const struct at *at, struct str path);
void check_access_modes(struct check *c, const struct at *at, const struct value *modes);
void check_volume_mode(struct check *c, const struct at *at, const struct value *mode);
const struct value *volume_find(const struct volumes *v, struct str name);

/* What the containers of one pod share. */
struct pod_context {
        const struct value *spec;
        struct volumes volumes;
        bool has_grace;
        int64_t grace_s;
};
void check_containers(struct check *c, const struct at *at, const struct pod_context *pod);
void check_init_containers(struct check *c, const struct at *at, const struct pod_context *pod);
void check_resources(struct check *c, const struct at *at, const struct value *resources);

enum probe_kind { PROBE_LIVENESS, PROBE_READINESS, PROBE_STARTUP };
void check_probe(struct check *c, const struct at *at, const struct value *probe, enum probe_kind kind,
                 const struct pod_context *pod);
void check_lifecycle(struct check *c, const struct at *at, const struct value *lifecycle,
                     const struct pod_context *pod);

void check_env(struct check *c, const struct at *at, const struct value *env);
void check_env_from(struct check *c, const struct at *at, const struct value *env_from);
/* fieldRef: `paths` may be asked for (NULL-ended), `listed` is how the message names them. */
void check_field_ref(struct check *c, const struct at *at, const struct value *ref, const char *const *paths,
                     const char *listed);
void check_resource_ref(struct check *c, const struct at *at, const struct value *ref, bool in_volume);

/* Pods only. */
void check_trimmed_images(struct check *c, const struct at *at, const struct value *containers);
void check_pod_update(struct check *c);

void check_affinity(struct check *c, const struct at *at, const struct value *affinity);
void check_node_selector(struct check *c, const struct at *at, const struct value *selector);
void check_spread(struct check *c, const struct at *at, const struct value *constraints);

void check_pod_security(struct check *c, const struct at *at, const struct value *security);
void check_container_security(struct check *c, const struct at *at, const struct value *security, bool host_users);

#endif
