/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/prepare.h"

#include <inttypes.h>

#include "sandbox/codec.h"

#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"

static const struct value *with_path(const struct value *v, struct arena *a, const struct value *value, const char *k1,
                                     const char *k2, const char *k3, const char *k4) {
        const struct str path[] = { str_from(k1), str_from(k2), str_from(k3), str_from(k4) };

        return value_with_path(a, v, path, k4 ? 4 : k3 ? 3 : k2 ? 2 : 1, value);
}

/* ---- Job ---- */

static int create_job(struct call *c, const struct value **object) {
        static const char *const uid_labels[] = { "batch.kubernetes.io/controller-uid", "controller-uid" };
        static const char *const name_labels[] = { "batch.kubernetes.io/job-name", "job-name" };
        const struct value *uid = value_path(*object, "metadata", "uid", NULL);
        const struct value *name = value_path(*object, "metadata", "name", NULL);
        const struct value *labels = value_path(*object, "spec", "template", "metadata", "labels", NULL);
        /* By default_workload.c; a creation that makes the name works on a deep copy. */
        bool shared = labels && labels == value_path(*object, "metadata", "labels", NULL) && c->at.name.n;

        if (value_truth(value_path(*object, "spec", "manualSelector", NULL), false))
                return 0;
        if (!name)
                name = value_stringc(c->a, "");
        for (size_t i = 0; i < ARRAY_LEN(uid_labels); i++) {
                labels = value_with(c->a, labels, str_from(uid_labels[i]), uid);
                labels = value_with(c->a, labels, str_from(name_labels[i]), name);
        }
        *object = with_path(*object, c->a, labels, "spec", "template", "metadata", "labels");
        if (shared)
                *object = with_path(*object, c->a, labels, "metadata", "labels", NULL, NULL);
        if (!value_path(*object, "spec", "selector", NULL))
                *object = with_path(*object, c->a, uid, "spec", "selector", "matchLabels", uid_labels[0]);
        return 0;
}

/* ---- Pod ---- */

enum qos { QOS_UNKNOWN, QOS_BEST_EFFORT, QOS_BURSTABLE, QOS_GUARANTEED };

static enum qos join(enum qos a, enum qos b) {
        return a == QOS_UNKNOWN || a == b ? b : QOS_BURSTABLE;
}

static struct str amount_of(const struct value *resources, const char *list, const char *name) {
        struct str text = value_text(value_path(resources, list, name, NULL));

        return text.n ? text : STR("0");
}

/* A limit without a request is one as well, by default. */
static enum qos qos_of_resources(const struct value *resources) {
        static const char *const names[] = { "cpu", "memory" };
        enum qos qos = QOS_UNKNOWN;

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                bool is_asked = value_path(resources, "requests", names[i], NULL);
                struct str limit = amount_of(resources, "limits", names[i]);
                struct str request = is_asked ? amount_of(resources, "requests", names[i]) : limit;

                qos = join(qos, !str_eq(request, limit)   ? QOS_BURSTABLE
                                : str_eq(limit, STR("0")) ? QOS_BEST_EFFORT
                                                          : QOS_GUARANTEED);
        }
        return qos;
}

/* Source: k8s.io/kubernetes pkg/apis/core/helper/qos. */
static const char *qos_class(const struct value *pod) {
        static const char *const names[] = { "BestEffort", "BestEffort", "Burstable", "Guaranteed" };
        static const char *const lists[] = { "initContainers", "containers" };
        const struct value *own = value_path(pod, "spec", "resources", NULL);
        enum qos qos = QOS_UNKNOWN;

        if (value_count(value_getc(own, "requests")) || value_count(value_getc(own, "limits")))
                return names[qos_of_resources(own)];
        for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
                const struct value *list = value_path(pod, "spec", lists[k], NULL);

                for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                        qos = join(qos, qos_of_resources(value_getc(list->list.items[i], "resources")));
        }
        return names[qos];
}

/* Until its gates are gone a scheduler leaves it alone. */
static const struct value *gated_condition(struct call *c) {
        struct value_map_builder m = { 0 };
        struct value_list_builder list = { 0 };

        value_map_add(&m, STR("lastProbeTime"), &value_null, 0);
        value_map_add(&m, STR("lastTransitionTime"), value_string(c->a, c->now, 0), 0);
        value_map_add(&m, STR("message"),
                      value_stringc(c->a, "Scheduling is blocked due to non-empty scheduling gates"), 0);
        value_map_add(&m, STR("reason"), value_stringc(c->a, "SchedulingGated"), 0);
        value_map_add(&m, STR("status"), value_stringc(c->a, "False"), 0);
        value_map_add(&m, STR("type"), value_stringc(c->a, "PodScheduled"), 0);
        value_list_add(&list, value_map_end(&m, c->a, 0));
        return value_list_end(&list, c->a, 0);
}

static int create_pod(struct call *c, const struct value **object) {
        if (value_count(value_path(*object, "spec", "schedulingGates", NULL)))
                *object = with_path(*object, c->a, gated_condition(c), "status", "conditions", NULL, NULL);
        *object = with_path(*object, c->a, value_stringc(c->a, qos_class(*object)), "status", "qosClass", NULL, NULL);
        return 0;
}

/* A Pod's class of service cannot be taken from its status. */
static const struct value *with_class_of(struct call *c, const struct value *live, const struct value *pod) {
        static const struct str path[] = { { "status", 6 }, { "qosClass", 8 } };
        const struct value *had = value_path(live, "status", "qosClass", NULL);

        if (!had || value_text(value_path(pod, "status", "qosClass", NULL)).n)
                return pod;
        return value_with_path(c->a, pod, path, 2, had);
}

/* Who takes the observed generation out keeps it. */
static const struct value *with_generation_of(struct call *c, const struct value *live, const struct value *pod) {
        static const struct str path[] = { { "status", 6 }, { "observedGeneration", 18 } };
        const struct value *had = value_path(live, "status", "observedGeneration", NULL);
        int64_t now = 0;

        value_to_i64(value_path(pod, "status", "observedGeneration", NULL), &now);
        return had && now == 0 ? value_with_path(c->a, pod, path, 2, had) : pod;
}

static int update_pod_status(struct call *c, const struct value *live, const struct value **object) {
        *object = with_generation_of(c, live, with_class_of(c, live, *object));
        return 0;
}

/* ---- CustomResourceDefinition ---- */

static const struct value *stored_versions(const struct value *crd, struct arena *a) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);
        const struct value *old = value_path(crd, "status", "storedVersions", NULL);
        struct value_list_builder list = { 0 };
        struct str storage = { 0 };

        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++)
                if (value_truth(value_getc(versions->list.items[i], "storage"), false))
                        storage = value_text(value_getc(versions->list.items[i], "name"));
        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++) {
                if (str_eq(value_text(old->list.items[i]), storage))
                        storage = (struct str){ 0 };
                value_list_add(&list, old->list.items[i]);
        }
        if (storage.n)
                value_list_add(&list, value_string(a, storage, 0));
        return value_list_end(&list, a, 0);
}

static int create_crd(struct call *c, const struct value **object) {
        *object = with_path(*object, c->a, stored_versions(*object, c->a), "status", "storedVersions", NULL, NULL);
        return 0;
}

static int update_crd(struct call *c, const struct value *live, const struct value **object) {
        (void)live;
        return create_crd(c, object);
}

/* ---- DaemonSet: its template's generation lives in an annotation ---- */

static const struct value *with_template_generation(const struct value *object, int64_t n, struct arena *a) {
        return with_path(object, a, value_string(a, arena_strf(a, "%" PRId64, n), 0), "metadata", "annotations",
                         TEMPLATE_GENERATION, NULL);
}

/* As Go's strconv.ParseInt reads it; NULL, or what is wrong. */
static const char *read_generation(struct str text, int64_t *ret) {
        struct str digits = text.n > 1 && (text.p[0] == '+' || text.p[0] == '-') ? str_sub(text, 1, text.n) : text;

        for (size_t i = 0; i < digits.n; i++)
                if (digits.p[i] < '0' || digits.p[i] > '9')
                        return "invalid syntax";
        if (!digits.n)
                return "invalid syntax";
        return str_to_i64(text.p[0] == '+' ? digits : text, ret) ? NULL : "value out of range";
}

static bool is_daemon_set(const struct call *c) {
        return !c->kind->is_custom && str_eqc(c->kind->resource->kind, "DaemonSet");
}

static const struct value *given_generation(const struct value *object) {
        return value_path(object, "metadata", "annotations", TEMPLATE_GENERATION, NULL);
}

struct str prepare_fault(const struct call *c, const struct value *object) {
        const struct value *generation = is_daemon_set(c) ? given_generation(object) : NULL;
        const char *why = NULL;
        int64_t n;

        if (generation)
                why = read_generation(value_text(generation), &n);
        if (!why)
                return (struct str){ 0 };
        return arena_strf(c->a, "strconv.ParseInt: parsing %.*s: %s", STR_FMT(value_canonical(c->a, generation)), why);
}

static int create_daemon_set(struct call *c, const struct value **object) {
        const struct value *given = given_generation(*object);
        int64_t n = 1;

        if (given)
                read_generation(value_text(given), &n);
        *object = with_template_generation(*object, n < 1 ? 1 : n, c->a);
        return 0;
}

static int64_t live_generation(const struct value *live) {
        int64_t n = 1;

        str_to_i64(value_text(value_path(live, "metadata", "annotations", TEMPLATE_GENERATION, NULL)), &n);
        return n;
}

static int update_daemon_set(struct call *c, const struct value *live, const struct value **object) {
        const struct value *before = value_path(live, "spec", "template", NULL);
        const struct value *now = value_path(*object, "spec", "template", NULL);

        *object = with_template_generation(*object, live_generation(live) + !value_equal(before, now), c->a);
        return 0;
}

/* Inside of the server it is part of the spec, which /status leaves alone. */
static int update_daemon_set_status(struct call *c, const struct value *live, const struct value **object) {
        *object = with_template_generation(*object, live_generation(live), c->a);
        return 0;
}

/* What is a number inside of the server is spelt as one. */
const struct value *prepare_default(struct call *c, const struct value *object) {
        const struct value *given = given_generation(object);
        int64_t n = 0;

        if (!is_daemon_set(c))
                return object;
        if (given && read_generation(value_text(given), &n))
                return object;
        return with_template_generation(object, n, c->a);
}

/* ---- Namespace: the label of a generated name ---- */

static int create_namespace(struct call *c, const struct value **object) {
        const struct value *name = value_path(*object, "metadata", "name", NULL);

        *object = with_path(*object, c->a, name, "metadata", "labels", "kubernetes.io/metadata.name", NULL);
        return 0;
}

/* ---- Service ---- */

/* One that /status makes has no addresses. */
static int create_service(struct call *c, const struct value **object) {
        if (c->at.subresource.n)
                return 0;
        return service_prepare(c, NULL, object);
}

/* ---- ServiceAccount ---- */

/* Of references to secrets only their names are kept. */
static int create_account(struct call *c, const struct value **object) {
        const struct value *secrets = value_getc(*object, "secrets");
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < value_count(secrets); i++) {
                const struct value *name = value_getc(secrets->list.items[i], "name");

                value_list_add(&list, name ? value_with(c->a, NULL, STR("name"), name) : &value_empty_map);
        }
        if (secrets)
                *object = value_with(c->a, *object, STR("secrets"), value_list_end(&list, c->a, 0));
        return 0;
}

static int update_account(struct call *c, const struct value *live, const struct value **object) {
        (void)live;
        return create_account(c, object);
}

static int create_claim(struct call *c, const struct value **object) {
        c->unread = UNREAD_NEW;
        return prepare_claim(c, NULL, object);
}

typedef int (*create_fn)(struct call *c, const struct value **object);
typedef int (*update_fn)(struct call *c, const struct value *live, const struct value **object);

static const struct {
        const char *group, *kind;
        create_fn create;
        update_fn update, update_status;
} kinds[] = {
        { "batch", "Job", create_job, NULL, NULL },
        { "", "Pod", create_pod, NULL, update_pod_status },
        { "", "Namespace", create_namespace, NULL, NULL },
        { "", "Service", create_service, service_prepare, NULL },
        { "", "ServiceAccount", create_account, update_account, NULL },
        { "", "PersistentVolumeClaim", create_claim, prepare_claim, NULL },
        { "", "PersistentVolume", prepare_new_volume, NULL, prepare_volume_status },
        { "apps", "DaemonSet", create_daemon_set, update_daemon_set, update_daemon_set_status },
        { "apiextensions.k8s.io", "CustomResourceDefinition", create_crd, update_crd, NULL },
};

static size_t find(const struct call *c) {
        size_t i = 0;

        while (i < ARRAY_LEN(kinds) && (c->kind->is_custom || !str_eqc(c->kind->resource->kind, kinds[i].kind) ||
                                        !str_eqc(c->kind->resource->group, kinds[i].group)))
                i++;
        return i;
}

/* A built-in kind's status in the form that Go prints: the fields that are never omitted. */
static const struct value *full_status(struct call *c, const struct value *object) {
        const struct type_field *field = type_field(kind_type(c->kind), STR("status"));
        const struct value *status = value_getc(object, "status");
        struct causes strict = { .arena = c->a };

        if (c->kind->is_custom || !status || !field)
                return object;
        codec_decode(field->type, status, false, c->a, &status, &strict, NULL);
        causes_done(&strict);
        return value_with(c->a, object, STR("status"), status);
}

const struct value *prepare_read(struct call *c, const struct value *object) {
        if (c->kind->is_custom || !(c->kind->strategy->flags & STRATEGY_STATUS))
                return object;
        const struct value *read = codec_default(kind_type(c->kind), c->kind->api_version, c->kind->resource->kind,
                                                 full_status(c, object), c->a);

        /* A Job's labels that are its template's by default are not stored: the next write differs by them. */
        const struct value *stored = value_path(object, "metadata", "labels", NULL);
        const struct value *labels = value_path(read, "metadata", "labels", NULL);

        if (labels && (!stored || !value_equal(labels, stored)))
                c->unread = UNREAD_OTHER;
        return read;
}

int prepare_create(struct call *c, const struct value **object) {
        size_t i = find(c);

        if (!c->kind->is_custom)
                *object = codec_drop(kind_type(c->kind), *object, c->a);
        return i < ARRAY_LEN(kinds) && kinds[i].create ? kinds[i].create(c, object) : 0;
}

int prepare_update(struct call *c, const struct value *live, const struct value **object) {
        size_t i = find(c);
        update_fn update = NULL;

        if (!c->kind->is_custom)
                *object = codec_drop(kind_type(c->kind), *object, c->a);
        if (i < ARRAY_LEN(kinds) && !c->at.subresource.n)
                update = kinds[i].update;
        else if (i < ARRAY_LEN(kinds) && str_eqc(c->at.subresource, "status"))
                update = kinds[i].update_status;
        return update ? update(c, live, object) : 0;
}
