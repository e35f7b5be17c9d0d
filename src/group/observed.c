/* SPDX-License-Identifier: Apache-2.0 */
/* Pods, nodes and the rest, from the API's objects to what a plan needs of them. */
#include "group/observed.h"

#include <inttypes.h>

#include "base/when.h"
#include "group/conditions.h"
#include "group/names.h"

#define OUT_OF_SERVICE "node.kubernetes.io/out-of-service"

/* What every object has; a part that is not there is empty. */
struct head {
        struct str name, uid, resource_version, owner_uid;
        const struct value *metadata, *labels, *annotations;
};

static int64_t time_of(const struct value *v) {
        int64_t ms;

        return when_parse(value_text(v), &ms) ? ms : 0;
}

static struct str label(const struct head *h, const char *key, struct arena *a) {
        return arena_str(a, value_text(value_getc(h->labels, key)));
}

static int32_t index_of(const struct head *h, const char *key) {
        int64_t number;

        if (!str_to_i64(value_text(value_getc(h->labels, key)), &number) || number < 0 || number > INT32_MAX)
                return -1;
        return (int32_t)number;
}

static struct str controller_uid(const struct value *metadata) {
        const struct value *owners = value_getc(metadata, "ownerReferences");

        for (size_t i = 0; value_is(owners, VALUE_LIST) && i < owners->list.count; i++)
                if (value_truth(value_getc(owners->list.items[i], "controller"), false))
                        return value_text(value_getc(owners->list.items[i], "uid"));
        return (struct str){ 0 };
}

static int read_head(const struct value *object, struct arena *a, struct head *ret_head) {
        const struct value *m = value_getc(object, "metadata");
        struct str name = value_text(value_getc(m, "name")), uid = value_text(value_getc(m, "uid"));

        if (!name.n || !uid.n)
                return ERR_PARSE;
        *ret_head = (struct head){
                .name = arena_str(a, name),
                .uid = arena_str(a, uid),
                .resource_version = arena_str(a, value_text(value_getc(m, "resourceVersion"))),
                .owner_uid = arena_str(a, controller_uid(m)),
                .metadata = m,
                .labels = value_getc(m, "labels"),
                .annotations = value_getc(m, "annotations"),
        };
        return 0;
}

static const struct value *condition(const struct value *object, const char *type) {
        return conditions_find(value_path(object, "status", "conditions", NULL), str_from(type));
}

static bool says(const struct value *map, const char *key, const char *text) {
        return str_eqc(value_text(value_getc(map, key)), text);
}

/* Pods */

static enum group_phase phase_of(const struct value *pod) {
        static const struct {
                const char *name;
                enum group_phase phase;
        } phases[] = {
                { "Pending", GROUP_POD_PENDING },     { "Running", GROUP_POD_RUNNING },
                { "Succeeded", GROUP_POD_SUCCEEDED }, { "Failed", GROUP_POD_FAILED },
                { "Unknown", GROUP_POD_UNKNOWN },
        };
        struct str phase = value_text(value_path(pod, "status", "phase", NULL));

        for (size_t i = 0; i < ARRAY_LEN(phases); i++)
                if (str_eqc(phase, phases[i].name))
                        return phases[i].phase;
        return GROUP_POD_PENDING; /* a pod that is new has none yet */
}

static void read_gates(const struct value *pod, struct group_pod *into) {
        const struct value *gates = value_path(pod, "spec", "schedulingGates", NULL);

        for (size_t i = 0; value_is(gates, VALUE_LIST) && i < gates->list.count; i++) {
                if (says(gates->list.items[i], "name", GROUP_GATE))
                        into->gated = true;
                else
                        into->gated_by_others = true;
        }
}

static void read_conditions(const struct value *pod, struct group_pod *into) {
        const struct value *ready = condition(pod, "Ready"), *scheduled = condition(pod, "PodScheduled");

        if (says(ready, "status", "True")) {
                into->ready = true;
                into->ready_ms = time_of(value_getc(ready, "lastTransitionTime"));
        }
        into->unschedulable = says(scheduled, "status", "False") && says(scheduled, "reason", "Unschedulable");
}

/* The end of a container that ended with an error, newest so far. */
static void note_end(const struct value *status, const char *which, int64_t *newest_ms, struct arena *a,
                     struct group_pod *into) {
        const struct value *end = value_path(status, which, "terminated", NULL);
        struct str reason = value_text(value_getc(end, "reason"));
        int64_t code = 0, at_ms = time_of(value_getc(end, "finishedAt"));

        if (!end || !value_to_i64(value_getc(end, "exitCode"), &code) || !code || at_ms < *newest_ms)
                return;
        *newest_ms = at_ms;
        into->last_failure = arena_strf(a, "container %.*s: exit code %" PRId64 "%s%.*s%s",
                                        STR_FMT(value_text(value_getc(status, "name"))), code, reason.n ? " (" : "",
                                        STR_FMT(reason), reason.n ? ")" : "");
}

static void read_containers(const struct value *list, int64_t *newest_ms, struct arena *a, struct group_pod *into) {
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *status = list->list.items[i];
                int64_t restarts;

                if (value_to_i64(value_getc(status, "restartCount"), &restarts) && restarts > into->restarts)
                        into->restarts = restarts < INT32_MAX ? (int32_t)restarts : INT32_MAX;
                note_end(status, "lastState", newest_ms, a, into);
                note_end(status, "state", newest_ms, a, into);
        }
}

int group_pod_read(const struct value *pod, struct arena *a, struct group_pod *ret_pod) {
        const struct value *status = value_getc(pod, "status");
        int64_t newest_ms = 0, grace_s;
        struct head h;

        if (read_head(pod, a, &h) < 0)
                return ERR_PARSE;
        *ret_pod = (struct group_pod){
                .name = h.name,
                .uid = h.uid,
                .resource_version = h.resource_version,
                .owner_uid = h.owner_uid,
                .revision = label(&h, GROUP_LABEL_REVISION, a),
                .incarnation = label(&h, GROUP_LABEL_INCARNATION, a),
                .node = arena_str(a, value_text(value_path(pod, "spec", "nodeName", NULL))),
                .size_annotation = arena_str(a, value_text(value_getc(h.annotations, GROUP_ANNOTATION_SIZE))),
                .group = index_of(&h, GROUP_LABEL_GROUP_INDEX),
                .worker = index_of(&h, GROUP_LABEL_WORKER_INDEX),
                .phase = phase_of(pod),
                .created_ms = time_of(value_getc(h.metadata, "creationTimestamp")),
        };
        if (value_getc(h.metadata, "deletionTimestamp")) {
                int64_t at_ms = time_of(value_getc(h.metadata, "deletionTimestamp"));

                ret_pod->deleting_ms = at_ms > 0 ? at_ms : 1;
                ret_pod->deleting_at_once =
                        value_to_i64(value_getc(h.metadata, "deletionGracePeriodSeconds"), &grace_s) && grace_s == 0;
        }
        read_gates(pod, ret_pod);
        read_conditions(pod, ret_pod);
        read_containers(value_getc(status, "initContainerStatuses"), &newest_ms, a, ret_pod);
        read_containers(value_getc(status, "containerStatuses"), &newest_ms, a, ret_pod);
        if (!ret_pod->last_failure.n && ret_pod->phase == GROUP_POD_FAILED)
                ret_pod->last_failure = arena_str(a, value_text(value_getc(status, "reason"))); /* Evicted … */
        return 0;
}

/* The others */

int group_service_read(const struct value *service, struct arena *a, struct group_service *ret_service) {
        const struct value *spec = value_getc(service, "spec");
        struct head h;

        if (read_head(service, a, &h) < 0)
                return ERR_PARSE;
        *ret_service = (struct group_service){
                .name = h.name,
                .uid = h.uid,
                .resource_version = h.resource_version,
                .owner_uid = h.owner_uid,
                .headless = says(spec, "clusterIP", "None"),
                .publishes_not_ready = value_truth(value_getc(spec, "publishNotReadyAddresses"), false),
                .selector = value_getc(spec, "selector"),
        };
        return 0;
}

int group_claim_read(const struct value *claim, struct arena *a, struct group_claim *ret_claim) {
        struct head h;

        if (read_head(claim, a, &h) < 0)
                return ERR_PARSE;
        *ret_claim = (struct group_claim){
                .name = h.name,
                .uid = h.uid,
                .resource_version = h.resource_version,
                .owner_uid = h.owner_uid,
                .set = label(&h, GROUP_LABEL_NAME, a),
                .deleting = value_getc(h.metadata, "deletionTimestamp") != NULL,
        };
        return 0;
}

int group_stored_revision_read(const struct value *controller_revision, struct arena *a,
                               struct group_stored_revision *ret_revision) {
        struct head h;

        if (read_head(controller_revision, a, &h) < 0)
                return ERR_PARSE;
        *ret_revision = (struct group_stored_revision){
                .name = h.name,
                .uid = h.uid,
                .resource_version = h.resource_version,
                .owner_uid = h.owner_uid,
                .hash = label(&h, GROUP_LABEL_REVISION, a),
                .data = value_getc(controller_revision, "data"),
        };
        value_to_i64(value_getc(controller_revision, "revision"), &ret_revision->number);
        return 0;
}

static bool has_taint(const struct value *node, const char *key) {
        const struct value *taints = value_path(node, "spec", "taints", NULL);

        for (size_t i = 0; value_is(taints, VALUE_LIST) && i < taints->list.count; i++)
                if (says(taints->list.items[i], "key", key))
                        return true;
        return false;
}

int group_node_read(const struct value *node, struct arena *a, struct group_node *ret_node) {
        const struct value *ready = condition(node, "Ready");
        struct head h;

        if (read_head(node, a, &h) < 0)
                return ERR_PARSE;
        *ret_node = (struct group_node){
                .name = h.name,
                .labels = h.labels,
                .out_of_service = has_taint(node, OUT_OF_SERVICE),
        };
        if (!says(ready, "status", "True"))
                ret_node->lost_ms = time_of(ready ? value_getc(ready, "lastTransitionTime")
                                                  : value_getc(h.metadata, "creationTimestamp"));
        return 0;
}
