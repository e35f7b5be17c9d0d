/* SPDX-License-Identifier: Apache-2.0 */
/* Pods: metadata here, the parts of the spec in the files beside this one. */
#include "group/build_impl.h"

/*
 * Kueue reads them from pods, and puts them into the templates of a LeaderWorkerSet that it admits; those that existed
 * before it did have them on the object at most.
 */
static const char *const kueue_labels[] = { "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class" };

static void add_kueue_labels(const struct build_pod *p, struct value_map_builder *labels) {
        for (size_t i = 0; i < ARRAY_LEN(kueue_labels); i++) {
                const struct value *label = value_getc(p->s->labels, kueue_labels[i]);

                if (label)
                        value_map_add(labels, str_from(kueue_labels[i]), label, 0);
        }
}

/*
 * The last two are what a StatefulSet puts on its pods: Services that pick out one pod by them must find it whoever
 * runs the group.
 */
static const struct value *pod_labels(const struct build_pod *p) {
        struct value_map_builder labels = { 0 };
        int32_t group = p->at->group, worker = p->at->worker;

        build_add_all(&labels, value_path(p->template, "metadata", "labels", NULL));
        add_kueue_labels(p, &labels);
        build_add(&labels, p->a, GROUP_LABEL_NAME, p->s->name);
        build_add_number(&labels, p->a, GROUP_LABEL_GROUP_INDEX, group);
        build_add_number(&labels, p->a, GROUP_LABEL_WORKER_INDEX, worker);
        build_add(&labels, p->a, GROUP_LABEL_GROUP_KEY, p->key);
        build_add(&labels, p->a, GROUP_LABEL_REVISION, p->t->hash);
        build_add(&labels, p->a, GROUP_LABEL_INCARNATION, p->at->incarnation);
        if (p->subgroup >= 0) {
                build_add_number(&labels, p->a, GROUP_LABEL_SUBGROUP_INDEX, p->subgroup);
                build_add(&labels, p->a, GROUP_LABEL_SUBGROUP_KEY, p->subgroup_key);
        }
        build_add(&labels, p->a, "statefulset.kubernetes.io/pod-name", p->name);
        build_add_number(&labels, p->a, "apps.kubernetes.io/pod-index", worker ? worker : group);
        return value_map_end(&labels, p->a, 0);
}

static void add_topology_annotations(const struct build_pod *p, struct value_map_builder *annotations) {
        bool excluded = p->t->subgroups == GROUP_SUBGROUPS_LEADER_EXCLUDED;

        if (p->s->exclusive_topology.n)
                build_add(annotations, p->a, GROUP_ANNOTATION_EXCLUSIVE, p->s->exclusive_topology);
        if (p->t->subgroups == GROUP_SUBGROUPS_NONE)
                return;
        build_add_number(annotations, p->a, GROUP_ANNOTATION_SUBGROUP_SIZE, p->t->subgroup_size);
        build_add(annotations, p->a, GROUP_ANNOTATION_SUBGROUP_TYPE,
                  excluded ? STR("LeaderExcluded") : STR("LeaderWorker"));
        if (p->s->subgroup_exclusive_topology.n)
                build_add(annotations, p->a, GROUP_ANNOTATION_SUBGROUP_EXCLUSIVE, p->s->subgroup_exclusive_topology);
}

static const struct value *pod_annotations(const struct build_pod *p) {
        struct value_map_builder annotations = { 0 };

        build_add_all(&annotations, value_path(p->template, "metadata", "annotations", NULL));
        build_add_number(&annotations, p->a, GROUP_ANNOTATION_SIZE, p->t->size);
        add_topology_annotations(p, &annotations);
        if (p->at->worker)
                build_add(&annotations, p->a, GROUP_ANNOTATION_LEADER_NAME, p->leader);
        else if (p->t->subdomain == GROUP_SUBDOMAIN_UNIQUE)
                build_add(&annotations, p->a, GROUP_ANNOTATION_SUBDOMAIN_POLICY, STR("UniquePerReplica"));
        if (p->at->worker && build_requests_tpu(build_template(p->t, 0)))
                build_add(&annotations, p->a, GROUP_ANNOTATION_LEADER_REQUESTS_TPU, STR("true"));
        return value_map_end(&annotations, p->a, 0);
}

static const struct value *pod_metadata(const struct build_pod *p) {
        const struct value *metadata = build_metadata(p->s, p->name, pod_labels(p), pod_annotations(p), true, p->a);
        const struct value *finalizers = value_path(p->template, "metadata", "finalizers", NULL);

        return value_count(finalizers) ? value_with(p->a, metadata, STR("finalizers"), finalizers) : metadata;
}

/* The spec with our scheduling gate behind the template's. The API server takes none beside a nodeName. */
static const struct value *with_gate(const struct build_pod *p, const struct value *spec) {
        const struct value *gates = value_getc(spec, "schedulingGates");
        struct value_list_builder list = { 0 };

        if (!p->at->gated || value_text(value_getc(spec, "nodeName")).n)
                return spec;
        for (size_t i = 0; value_is(gates, VALUE_LIST) && i < gates->list.count; i++)
                if (!str_eqc(value_text(value_getc(gates->list.items[i], "name")), GROUP_GATE))
                        value_list_add(&list, gates->list.items[i]);
        value_list_add(&list, build_set(p->a, NULL, "name", STR(GROUP_GATE)));
        return value_with(p->a, spec, STR("schedulingGates"), value_list_end(&list, p->a, 0));
}

static const struct value *pod_spec(const struct build_pod *p) {
        const struct value *spec = value_getc(p->template, "spec");

        spec = build_set(p->a, spec, "hostname", p->name);
        spec = build_set(p->a, spec, "subdomain", p->subdomain);
        spec = build_volumes(p, spec);
        spec = build_topology(p, spec);
        spec = build_tpu(p, spec);
        spec = build_environment(p, spec);
        return with_gate(p, spec);
}

const struct value *group_build_pod(const struct group_spec *s, const struct group_template *t,
                                    const struct group_place *at, struct arena *a) {
        struct build_pod p = { .s = s, .t = t, .at = at, .a = a };

        p.template = build_template(t, at->worker);
        p.name = group_name_pod(a, s->name, at->group, at->worker);
        p.leader = group_name_leader(a, s->name, at->group);
        p.subdomain = group_subdomain(s, t, at->group, a);
        p.key = group_key(a, s->ns, p.leader);
        p.subgroup = group_subgroup_index(t, at->worker);
        if (p.subgroup >= 0)
                p.subgroup_key = group_subgroup_key(a, p.leader, p.subgroup);
        return value_with(a, build_object(a, "v1", "Pod", pod_metadata(&p)), STR("spec"), pod_spec(&p));
}
