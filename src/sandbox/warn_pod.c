/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of Pods and of what others have as their template. */
#include <stdlib.h>

#include "sandbox/validate_impl.h"
#include "sandbox/warn_impl.h"

bool warn_is_pod(const struct call *c) {
        return c->at.group.n == 0 && str_eqc(c->kind->resource->kind, "Pod");
}

static bool is_cron_job(const struct call *c) {
        return str_eqc(c->at.group, "batch") && str_eqc(c->kind->resource->kind, "CronJob");
}

/* Where the spec of pods is. */
static const char *spec_place(const struct call *c) {
        return warn_is_pod(c) ? "spec" : is_cron_job(c) ? "spec.jobTemplate.spec.template.spec" : "spec.template.spec";
}

static const struct value *spec_of(const struct call *c, const struct value *object) {
        if (warn_is_pod(c))
                return value_getc(object, "spec");
        return is_cron_job(c) ? value_path(object, "spec", "jobTemplate", "spec", "template", "spec", NULL)
                              : value_path(object, "spec", "template", "spec", NULL);
}

static void warn_of_doubled(struct call *c, const struct value *spec, const char *list_name, const char *key,
                            const char *what) {
        const struct value *list = value_getc(spec, list_name);

        for (size_t i = 1; i < value_count(list); i++)
                for (size_t j = 0; j < i; j++)
                        if (str_eq(value_text(value_getc(warn_item(list, i), key)),
                                   value_text(value_getc(warn_item(list, j), key)))) {
                                call_warn(c, arena_strf(c->a, "%s.%s[%zu].%s: duplicate %s \"%.*s\"", spec_place(c),
                                                        list_name, i, key, what,
                                                        STR_FMT(value_text(value_getc(warn_item(list, i), key)))));
                                break;
                        }
}

static void warn_of_terms(struct call *c, const struct value *affinity, const char *kind) {
        static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
        static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
        static const char text[] = "a null labelSelector results in matching no pod";
        const struct value *must = value_path(affinity, kind, required, NULL);
        const struct value *may = value_path(affinity, kind, preferred, NULL);

        for (size_t i = 0; i < value_count(must); i++)
                if (!value_getc(warn_item(must, i), "labelSelector"))
                        warn_at(c, PLACE(c, "%s.affinity.%s.%s[%zu].labelSelector", spec_place(c), kind, required, i),
                                text);
        for (size_t i = 0; i < value_count(may); i++)
                if (!value_path(warn_item(may, i), "podAffinityTerm", "labelSelector", NULL))
                        warn_at(c,
                                PLACE(c, "%s.affinity.%s.%s[%zu].podAffinityTerm.labelSelector", spec_place(c), kind,
                                      preferred, i),
                                text);
}

/* A second variable of a name, unless it builds on the first. */
static bool is_hidden(const struct value *env, size_t at, struct arena *a) {
        struct str name = value_text(value_getc(warn_item(env, at), "name")),
                   value = value_text(value_getc(warn_item(env, at), "value"));
        struct str reference = arena_strf(a, "$(%.*s)", STR_FMT(name));
        bool found = false;

        for (size_t i = 0; i < at && !found; i++)
                found = str_eq(value_text(value_getc(warn_item(env, i), "name")), name);
        return found && (value_getc(warn_item(env, at), "valueFrom") || str_eq(value, reference) ||
                         !str_contains(value, reference));
}

static const char *const byte_resources[] = { "memory", "ephemeral-storage" };

static void warn_of_amount(struct call *c, struct str place, const struct value *container, const char *which,
                           const char *name) {
        warn_of_fraction(c, PLACE(c, "%.*s.resources.%s[%s]", STR_FMT(place), which, name),
                         value_path(container, "resources", which, name, NULL));
}

static void warn_of_container(struct call *c, struct str place, const struct value *container) {
        const struct value *env = value_getc(container, "env");

        for (size_t i = 0; i < ARRAY_LEN(byte_resources); i++) {
                warn_of_amount(c, place, container, "limits", byte_resources[i]);
                warn_of_amount(c, place, container, "requests", byte_resources[i]);
        }
        for (size_t i = 1; i < value_count(env); i++)
                if (is_hidden(env, i, c->a))
                        warn_at(c, PLACE(c, "%.*s.env[%zu]", STR_FMT(place), i),
                                arena_strf(
                                        c->a,
                                        "hides previous definition of \"%.*s\", which may be dropped when using apply",
                                        STR_FMT(value_text(value_getc(warn_item(env, i), "name"))))
                                        .p);
}

/* One port of one container, with where it stands. */
struct port {
        struct str place;
        const struct value *v;
};

struct ports {
        struct port *items;
        size_t count, cap;
};

static bool same_field(const struct port *a, const struct port *b, const char *field) {
        const struct value *x = value_getc(a->v, field), *y = value_getc(b->v, field);

        return x == y || (x && y && value_equal(x, y));
}

static void warn_of_port(struct call *c, const struct ports *ports, const struct port *p) {
        for (size_t i = 0; i < ports->count; i++) {
                const struct port *other = &ports->items[i];
                bool none = !value_getc(p->v, "hostPort") || !value_getc(other->v, "hostPort");
                bool exact = same_field(p, other, "hostIP") && same_field(p, other, "hostPort");

                if (!same_field(p, other, "containerPort") || !same_field(p, other, "protocol"))
                        continue;
                if (exact || none)
                        warn_at(c, p->place,
                                arena_strf(c->a, "%s port definition with %.*s", exact ? "duplicate" : "overlapping",
                                           STR_FMT(other->place))
                                        .p);
        }
}

static void warn_of_port_name(struct call *c, const struct ports *ports, const struct port *p) {
        struct str name = value_text(value_getc(p->v, "name"));

        for (size_t i = 0; i < ports->count && name.n; i++)
                if (str_eq(value_text(value_getc(ports->items[i].v, "name")), name)) {
                        struct str other = ports->items[i].place;

                        warn_at(c, p->place,
                                arena_strf(c->a,
                                           "duplicate port name \"%.*s\" with %.*s, services and probes that select "
                                           "ports by "
                                           "name will use %.*s",
                                           STR_FMT(name), STR_FMT(other), STR_FMT(other))
                                        .p);
                        return;
                }
}

static const char *const container_lists[] = { "initContainers", "containers" };

static void each_port(struct call *c, const struct value *spec,
                      void (*fn)(struct call *c, const struct ports *before, const struct port *p)) {
        struct ports ports = { 0 };

        for (size_t l = 0; l < ARRAY_LEN(container_lists); l++) {
                const struct value *list = value_getc(spec, container_lists[l]);

                for (size_t i = 0; i < value_count(list); i++) {
                        const struct value *of = value_getc(warn_item(list, i), "ports");

                        for (size_t j = 0; j < value_count(of); j++) {
                                struct port p = { PLACE(c, "%s.%s[%zu].ports[%zu]", spec_place(c), container_lists[l],
                                                        i, j),
                                                  warn_item(of, j) };

                                fn(c, &ports, &p);
                                ports.items = mem_grow(ports.items, &ports.cap, ports.count + 1, sizeof p);
                                ports.items[ports.count++] = p;
                        }
                }
        }
        free(ports.items);
}

static void warn_of_spread(struct call *c, const struct value *spread) {
        for (size_t i = 0; i < value_count(spread); i++) {
                struct str place = PLACE(c, "%s.topologySpreadConstraints[%zu]", spec_place(c), i);

                warn_of_node_label(c, PLACE(c, "%.*s.topologyKey", STR_FMT(place)),
                                   value_text(value_getc(warn_item(spread, i), "topologyKey")));
                if (!value_getc(warn_item(spread, i), "labelSelector"))
                        warn_at(c, PLACE(c, "%.*s.labelSelector", STR_FMT(place)),
                                "a null labelSelector results in matching no pod");
        }
}

void warn_of_template(struct call *c, const struct value *object) {
        const struct value *spec = spec_of(c, object);
        const struct value *secrets = value_getc(spec, "imagePullSecrets");
        int64_t grace = 0;

        warn_of_nodes(c, str_from(spec_place(c)), spec);
        warn_of_spread(c, value_getc(spec, "topologySpreadConstraints"));
        warn_of_pod_volumes(c, str_from(spec_place(c)), value_getc(spec, "volumes"));
        warn_of_doubled(c, spec, "hostAliases", "ip", "ip");
        warn_of_doubled(c, spec, "imagePullSecrets", "name", "name");
        for (size_t i = 0; i < value_count(secrets); i++)
                if (value_text(value_getc(warn_item(secrets, i), "name")).n == 0)
                        warn_at(c, PLACE(c, "%s.imagePullSecrets[%zu].name", spec_place(c), i),
                                "invalid empty name \"\"");
        for (size_t i = 0; i < ARRAY_LEN(byte_resources); i++)
                warn_of_fraction(c, PLACE(c, "%s.overhead[%s]", spec_place(c), byte_resources[i]),
                                 value_path(spec, "overhead", byte_resources[i], NULL));
        for (size_t l = 0; l < ARRAY_LEN(container_lists); l++) {
                const struct value *list = value_getc(spec, container_lists[l]);

                for (size_t i = 0; i < value_count(list); i++)
                        warn_of_container(c, PLACE(c, "%s.%s[%zu]", spec_place(c), container_lists[l], i),
                                          warn_item(list, i));
        }
        each_port(c, spec, warn_of_port);
        each_port(c, spec, warn_of_port_name);
        if (value_to_i64(value_getc(spec, "terminationGracePeriodSeconds"), &grace) && grace < 0)
                warn_at(c, PLACE(c, "%s.terminationGracePeriodSeconds", spec_place(c)),
                        "must be >= 0; negative values are invalid and will be treated as 1");
        warn_of_terms(c, value_getc(spec, "affinity"), "podAffinity");
        warn_of_terms(c, value_getc(spec, "affinity"), "podAntiAffinity");
}

/* Pods are named after it, or it is one. */
void warn_of_name(struct call *c, const struct value *object) {
        struct text_faults faults = text_faults(TEXT_DNS_LABEL, meta_text(object, "name"), c->a);

        if (faults.count)
                warn_at(c, STR("metadata.name"),
                        arena_strf(c->a,
                                   "this is used in %s, which can result in surprising behavior; a DNS label is "
                                   "recommended: "
                                   "[%.*s]",
                                   warn_is_pod(c) ? "the Pod's hostname" : "Pod names and hostnames",
                                   STR_FMT(text_joined(&faults, " ", c->a)))
                                .p);
}
