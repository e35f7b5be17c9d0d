/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults of the core group's other kinds.
 */
#include "sandbox/default_impl.h"

/* --- services --- */

static const struct value *service_port(const struct value *o, struct arena *a) {
        o = default_set_text(o, "protocol", "TCP", a);
        return default_set(o, "targetPort", value_getc(o, "port"), a);
}

static bool is_any_of(struct str s, const char *one, const char *two) {
        return str_eqc(s, one) || str_eqc(s, two);
}

static bool is_external(const struct value *spec) {
        struct str type = value_text(value_getc(spec, "type"));

        return is_any_of(type, "LoadBalancer", "NodePort") ||
               (str_eqc(type, "ClusterIP") && value_count(value_getc(spec, "externalIPs")));
}

static const struct value *session_affinity(const struct value *o, struct arena *a) {
        const struct value *config = value_getc(o, "sessionAffinityConfig");

        o = default_set_text(o, "sessionAffinity", "None", a);
        if (default_text_is(o, "sessionAffinity", "None"))
                return value_with(a, o, STR("sessionAffinityConfig"), NULL);
        if (!default_text_is(o, "sessionAffinity", "ClientIP") ||
            value_path(config, "clientIP", "timeoutSeconds", NULL))
                return o;
        return value_with(a, o, STR("sessionAffinityConfig"),
                          default_json("{\"clientIP\":{\"timeoutSeconds\":10800}}", a));
}

static const struct value *service_spec(const struct value *o, struct arena *a) {
        o = session_affinity(o, a);
        o = default_set_text(o, "type", "ClusterIP", a);
        o = default_each(o, "ports", service_port, a);
        struct str type = value_text(value_getc(o, "type"));
        bool balances = str_eqc(type, "LoadBalancer");

        if (is_external(o))
                o = default_set_text(o, "externalTrafficPolicy", "Cluster", a);
        if (balances || is_any_of(type, "NodePort", "ClusterIP"))
                o = default_set_pointer(o, "internalTrafficPolicy", "Cluster", a);
        if (balances && !value_getc(o, "allocateLoadBalancerNodePorts"))
                o = value_with(a, o, STR("allocateLoadBalancerNodePorts"), &value_true);
        return o;
}

static const struct value *ingress_point(const struct value *o, struct arena *a) {
        return type_is_zero(value_getc(o, "ip")) ? o : default_set_pointer(o, "ipMode", "VIP", a);
}

static const struct value *load_balancer(const struct value *o, struct arena *a) {
        return default_each(o, "ingress", ingress_point, a);
}

static const struct value *service_status(const struct value *o, struct arena *a) {
        return default_in(o, "loadBalancer", load_balancer, a);
}

static const struct value *service(const struct value *o, struct arena *a) {
        o = default_in(o, "spec", service_spec, a);
        return default_text_is(value_getc(o, "spec"), "type", "LoadBalancer")
                       ? default_in(o, "status", service_status, a)
                       : o;
}

/* --- namespaces and nodes --- */

static const struct value *name_space(const struct value *o, struct arena *a) {
        static const struct str path[] = { { "metadata", 8 }, { "labels", 6 }, { "kubernetes.io/metadata.name", 27 } };
        const struct value *name = value_path(o, "metadata", "name", NULL);

        return type_is_zero(name) ? o : value_with_path(a, o, path, 3, name);
}

static const struct value *node_status(const struct value *o, struct arena *a) {
        const struct value *capacity = value_getc(o, "capacity");

        return capacity ? default_set(o, "allocatable", capacity, a) : o;
}

/* podCIDR is the first of podCIDRs, and right when they differ. */
static const struct value *node_spec(const struct value *o, struct arena *a) {
        const struct value *one = value_getc(o, "podCIDR"), *all = value_getc(o, "podCIDRs");
        struct value_list_builder b = { 0 };

        if (!one && value_count(all))
                return value_with(a, o, STR("podCIDR"), all->list.items[0]);
        if (!one || (value_count(all) && value_equal(one, all->list.items[0])))
                return o;
        value_list_add(&b, one);
        return value_with(a, o, STR("podCIDRs"), value_list_end(&b, a, 0));
}

/* --- limits and secrets --- */

/* What `from` has and `to` has not. */
static const struct value *fill_from(const struct value *to, const struct value *from, struct arena *a) {
        for (size_t i = 0; i < value_count(from); i++)
                if (!value_get(to, from->map.members[i].key))
                        to = value_with(a, to, from->map.members[i].key, from->map.members[i].value);
        return to;
}

static const struct value *limit_range_item(const struct value *o, struct arena *a) {
        const struct value *limit, *request;

        if (!default_text_is(o, "type", "Container"))
                return o;
        limit = fill_from(value_getc(o, "default"), value_getc(o, "max"), a);
        request = fill_from(value_getc(o, "defaultRequest"), limit, a);
        request = fill_from(request, value_getc(o, "min"), a);
        if (limit)
                o = value_with(a, o, STR("default"), limit);
        return request ? value_with(a, o, STR("defaultRequest"), request) : o;
}

const struct default_rule default_rules_core[] = {
        { "core.v1.LimitRangeItem", limit_range_item },
        { "core.v1.Namespace", name_space },
        { "core.v1.NodeSpec", node_spec },
        { "core.v1.NodeStatus", node_status },
        { "core.v1.Service", service },
        { NULL, NULL },
};
