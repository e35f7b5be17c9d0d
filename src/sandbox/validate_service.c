/* SPDX-License-Identifier: Apache-2.0 */
/* Services. */
#include "sandbox/validate_kinds.h"

static const char *const protocols[] = { "TCP", "UDP", "SCTP", NULL };
#define PROTOCOLS_LISTED "\"SCTP\", \"TCP\", \"UDP\""
static const char *const types[] = { "ClusterIP", "ExternalName", "LoadBalancer", "NodePort", NULL };
static const char *const cluster_policies[] = { "Cluster", "Local", NULL };

static bool is_type(const struct value *spec, const char *type) {
        return str_eqc(text_of(spec, "type"), type);
}

static bool is_headless(const struct value *spec) {
        const struct value *ips = get(spec, "clusterIPs");

        return list_count(ips) == 1 && str_eqc(value_text(item_of(ips, 0)), "None");
}

static void check_external_name(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const forbidden[] = { "clusterIPs", "ipFamilies", "ipFamilyPolicy" };
        struct str name = text_of(spec, "externalName");

        for (size_t i = 0; i < 3; i++)
                if (get(spec, forbidden[i]) && (i == 2 || count_of(spec, forbidden[i])))
                        fault_forbidden(c, AT_STR(at, str_from(forbidden[i])),
                                        "may not be set for ExternalName services");
        if (str_ends(name, STR(".")))
                name.n--;
        if (name.n)
                check_text(c, AT(at, "externalName"), TEXT_DNS_SUBDOMAIN, name);
        else
                fault_required(c, AT(at, "externalName"), "");
}

static void check_type_rules(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const exposed[] = { "LoadBalancer", "NodePort" };

        if (!count_of(spec, "ports") && !is_headless(spec) && !is_type(spec, "ExternalName"))
                fault_required(c, AT(at, "ports"), "");
        for (size_t i = 0; i < 2; i++)
                if (is_type(spec, exposed[i]) && is_headless(spec))
                        fault_invalid_str(c, AT_INDEX(AT(at, "clusterIPs"), 0), STR("None"),
                                          arena_strf(c->a, "may not be set to 'None' for %s services", exposed[i]).p);
        if (is_type(spec, "ExternalName"))
                check_external_name(c, at, spec);
}

static void check_name(struct check *c, const struct at *at, const struct value *ports, size_t i) {
        struct str name = text_of(item_of(ports, i), "name");

        if (!name.n) {
                if (list_count(ports) > 1)
                        fault_required(c, at, "");
                return;
        }
        check_text(c, at, TEXT_DNS_LABEL, name);
        for (size_t j = 0; j < i; j++)
                if (str_eq(text_of(item_of(ports, j), "name"), name)) {
                        fault_duplicate_str(c, at, name);
                        return;
                }
}

static void check_ports(struct check *c, const struct at *above, const struct value *ports) {
        for (EACH(i, ports)) {
                const struct value *port = item_of(ports, i);
                const struct at *at = AT_INDEX(above, i);
                struct str protocol = text_of(port, "protocol");

                check_name(c, AT(at, "name"), ports, i);
                check_port(c, AT(at, "port"), int_of(port, "port"));
                if (!protocol.n)
                        fault_required(c, AT(at, "protocol"), "");
                else if (!is_one_of(protocol, protocols))
                        fault_unsupported(c, AT(at, "protocol"), protocol, PROTOCOLS_LISTED);
                check_port_or_name(c, AT(at, "targetPort"), get(port, "targetPort"));
                if (get(port, "appProtocol"))
                        check_text(c, AT(at, "appProtocol"), TEXT_LABEL_KEY, text_of(port, "appProtocol"));
        }
}

static void check_affinity_config(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *config = get(spec, "sessionAffinityConfig");
        const struct value *seconds = value_path(config, "clientIP", "timeoutSeconds", NULL);
        const struct at *config_at = AT(at, "sessionAffinityConfig");
        struct str affinity = text_of(spec, "sessionAffinity");
        int64_t n = 0;

        if (!affinity.n)
                fault_required(c, AT(at, "sessionAffinity"), "");
        else if (!str_eqc(affinity, "ClientIP") && !str_eqc(affinity, "None"))
                fault_unsupported(c, AT(at, "sessionAffinity"), affinity, "\"ClientIP\", \"None\"");
        if (str_eqc(affinity, "None") && config)
                fault_forbidden(c, config_at, "must not be set when session affinity is None");
        if (!str_eqc(affinity, "ClientIP"))
                return;
        if (!config)
                fault_required(c, config_at, "when session affinity type is ClientIP");
        else if (!get(config, "clientIP"))
                fault_required(c, AT(config_at, "clientIP"), "when session affinity type is ClientIP");
        else if (!value_to_i64(seconds, &n))
                fault_required(c, AT(AT(config_at, "clientIP"), "timeoutSeconds"),
                               "when session affinity type is ClientIP");
        else if (n <= 0 || n > 86400)
                fault_invalid_int(c, AT(AT(config_at, "clientIP"), "timeoutSeconds"), n,
                                  "must be greater than 0 and less than 86400");
}

/* --- cluster IPs --- */

static void check_first_ip(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *ips = get(spec, "clusterIPs");
        struct str ip = text_of(spec, "clusterIP");

        if (!ip.n) {
                if (list_count(ips))
                        fault_invalid(c, at, ips, "must be empty when `clusterIP` is not specified");
        } else if (!list_count(ips))
                fault_required(c, at, "");
        else if (!str_eq(value_text(item_of(ips, 0)), ip))
                fault_invalid(c, at, ips, "first value must match `clusterIP`");
}

static void check_families(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const policies[] = { "SingleStack", "PreferDualStack", "RequireDualStack", NULL };
        const struct value *families = get(spec, "ipFamilies"), *policy = get(spec, "ipFamilyPolicy");

        for (EACH(i, families)) {
                const struct at *one = AT_INDEX(AT(at, "ipFamilies"), i);
                struct str family = value_text(item_of(families, i));
                bool seen = false;

                if (!str_eqc(family, "IPv4") && !str_eqc(family, "IPv6"))
                        fault_unsupported(c, one, family, "\"IPv4\", \"IPv6\"");
                for (size_t j = 0; j < i; j++)
                        seen = seen || str_eq(value_text(item_of(families, j)), family);
                if (seen)
                        fault_duplicate_str(c, one, family);
        }
        if (policy && !is_one_of(value_text(policy), policies))
                fault_unsupported(c, AT(at, "ipFamilyPolicy"), value_text(policy),
                                  "\"PreferDualStack\", \"RequireDualStack\", \"SingleStack\"");
}

/* Are they addresses at all? */
static bool check_addresses(struct check *c, const struct at *at, const struct value *ips, const struct value *known) {
        bool good = true;

        for (EACH(i, ips)) {
                struct str ip = value_text(item_of(ips, i));

                if (i == 0 && str_eqc(ip, "None")) {
                        good = list_count(ips) == 1;
                        if (!good)
                                fault_invalid(c, at, ips, "'None' must be the first and only value");
                } else
                        good = check_ip(c, AT_INDEX(at, i), ip, known) && good;
        }
        if (list_count(ips) > 2)
                fault_invalid(c, at, ips, "may only hold up to 2 values");
        return good;
}

static void check_stacks(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *ips = get(spec, "clusterIPs"), *families = get(spec, "ipFamilies");
        struct ip first, second;

        if (list_count(ips) > 1 && ip_parse(value_text(item_of(ips, 0)), &first) &&
            ip_parse(value_text(item_of(ips, 1)), &second) && first.is_v4 == second.is_v4)
                fault_invalid(c, at, ips, "may specify no more than one IP for each IP family");
        for (EACH(i, ips)) {
                struct str family = i < list_count(families) ? value_text(item_of(families, i)) : STR("");
                bool v4 = str_eqc(family, "IPv4"), v6 = str_eqc(family, "IPv6");

                if ((v4 || v6) && ip_parse(value_text(item_of(ips, i)), &first) && first.is_v4 != v4)
                        fault_invalid(c, AT_INDEX(at, i), item_of(ips, i),
                                      arena_strf(c->a, "expected an IPv%c value as indicated by `ipFamilies[%zu]`",
                                                 v4 ? '4' : '6', i)
                                              .p);
        }
}

static void check_cluster_ips(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *known = value_path(c->live, "spec", "clusterIPs", NULL);
        const struct at *ips_at = AT(at, "clusterIPs");

        if (is_type(spec, "ExternalName"))
                return;
        check_first_ip(c, ips_at, spec);
        check_families(c, at, spec);
        if (check_addresses(c, ips_at, get(spec, "clusterIPs"), known) && !is_headless(spec))
                check_stacks(c, ips_at, spec);
}

/* --- ports once more --- */

static bool is_taken(const struct value *ports, size_t i, const char *field) {
        for (size_t j = 0; j < i; j++)
                if (int_of(item_of(ports, j), field) == int_of(item_of(ports, i), field) &&
                    same(get(item_of(ports, j), "protocol"), get(item_of(ports, i), "protocol")))
                        return true;
        return false;
}

static void check_ports_unique(struct check *c, const struct at *above, const struct value *spec) {
        const struct value *ports = get(spec, "ports");

        for (EACH(i, ports))
                if (is_type(spec, "ClusterIP") && int_of(item_of(ports, i), "nodePort"))
                        fault_forbidden(c, AT(AT_INDEX(above, i), "nodePort"),
                                        "may not be used when `type` is 'ClusterIP'");
        for (EACH(i, ports))
                if (int_of(item_of(ports, i), "nodePort") && is_taken(ports, i, "nodePort"))
                        fault_duplicate(c, AT(AT_INDEX(above, i), "nodePort"), get(item_of(ports, i), "nodePort"));
        for (EACH(i, ports))
                if (is_taken(ports, i, "port"))
                        fault_duplicate_raw(
                                c, AT_INDEX(above, i),
                                arena_strf(c->a,
                                           "{\"Name\":\"\",\"Protocol\":%s,\"AppProtocol\":null,\"Port\":%lld,"
                                           "\"TargetPort\":0,\"NodePort\":0}",
                                           quoted(text_of(item_of(ports, i), "protocol"), c->a).p,
                                           (long long)int_of(item_of(ports, i), "port")));
}

/* --- traffic --- */

static bool is_exposed(const struct value *spec) {
        return is_type(spec, "LoadBalancer") || is_type(spec, "NodePort") ||
               (is_type(spec, "ClusterIP") && count_of(spec, "externalIPs"));
}

static bool needs_health_check(const struct value *spec) {
        return is_type(spec, "LoadBalancer") && str_eqc(text_of(spec, "externalTrafficPolicy"), "Local");
}

static void check_external_policy(struct check *c, const struct at *at, const struct value *spec) {
        const struct at *policy_at = AT(at, "externalTrafficPolicy"), *health_at = AT(at, "healthCheckNodePort");
        struct str policy = text_of(spec, "externalTrafficPolicy");
        int64_t port = int_of(spec, "healthCheckNodePort");

        if (!is_exposed(spec)) {
                if (policy.n)
                        fault_invalid_str(c, policy_at, policy, "may only be set for externally-accessible services");
        } else if (!policy.n)
                fault_required(c, policy_at, "");
        else if (!is_one_of(policy, cluster_policies))
                fault_unsupported(c, policy_at, policy, "\"Cluster\", \"Local\"");
        if (!needs_health_check(spec)) {
                if (port)
                        fault_invalid_int(
                                c, health_at, port,
                                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                                "'Local'");
        } else if (!port)
                fault_required(c, health_at, "");
        else
                check_port(c, health_at, port);
}

static void check_load_balancer(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *ranges = get(spec, "loadBalancerSourceRanges"), *class = get(spec, "loadBalancerClass");
        const struct value *known = value_path(c->live, "spec", "loadBalancerSourceRanges", NULL);
        bool balanced = is_type(spec, "LoadBalancer");

        if (list_count(ranges) && !balanced)
                fault_forbidden(c, AT(at, "LoadBalancerSourceRanges"),
                                "may only be used when `type` is 'LoadBalancer'");
        for (EACH(i, ranges))
                check_cidr(c, AT_INDEX(AT(at, "LoadBalancerSourceRanges"), i), str_trim(value_text(item_of(ranges, i))),
                           known);
        if (get(spec, "allocateLoadBalancerNodePorts") && !balanced)
                fault_forbidden(c, AT(at, "allocateLoadBalancerNodePorts"),
                                "may only be used when `type` is 'LoadBalancer'");
        if (class && balanced)
                check_text(c, AT(at, "loadBalancerClass"), TEXT_LABEL_KEY, value_text(class));
        else if (class)
                fault_forbidden(c, AT(at, "loadBalancerClass"), "may only be used when `type` is 'LoadBalancer'");
}

static void check_internal_policy(struct check *c, const struct at *at, const struct value *spec) {
        static const char *const distributions[] = { "PreferClose", "PreferSameZone", "PreferSameNode", NULL };
        const struct value *policy = get(spec, "internalTrafficPolicy"), *spread = get(spec, "trafficDistribution");

        if (!policy && is_one_of(text_of(spec, "type"), types) && !is_type(spec, "ExternalName"))
                fault_required(c, AT(at, "internalTrafficPolicy"), "");
        if (policy && !is_one_of(value_text(policy), cluster_policies))
                fault_unsupported(c, AT(at, "internalTrafficPolicy"), value_text(policy), "\"Cluster\", \"Local\"");
        if (spread && !is_one_of(value_text(spread), distributions))
                fault_unsupported(c, AT(at, "trafficDistribution"), value_text(spread),
                                  "\"PreferClose\", \"PreferSameZone\", \"PreferSameNode\"");
}

static void check_external_ips(struct check *c, const struct at *at, const struct value *ips) {
        const struct value *known = value_path(c->live, "spec", "externalIPs", NULL);

        for (EACH(i, ips)) {
                struct str ip = value_text(item_of(ips, i));

                if (check_ip(c, AT_INDEX(at, i), ip, known))
                        check_endpoint_ip(c, AT_INDEX(at, i), ip);
        }
}

static bool is_address(struct str s) {
        struct ip ip;

        return str_eqc(s, "None") || ip_parse(s, &ip);
}

/* Addresses that a Service has stay: only a second one may come or go. */
static void check_ips_kept(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *before = get(c->live, "spec"), *old = get(before, "clusterIPs");
        const struct value *now = get(spec, "clusterIPs");

        if (is_type(spec, "ExternalName") || is_type(before, "ExternalName") ||
            (is_headless(spec) && is_headless(before)))
                return;
        if (!list_count(now) && list_count(old))
                fault_invalid(c, AT_INDEX(at, 0), &value_empty_list, "primary clusterIP can not be unset");
        for (size_t i = 0; i < list_count(old) && i < list_count(now); i++)
                if (!same(item_of(old, i), item_of(now, i)) && is_address(value_text(item_of(now, i))))
                        fault_invalid(c, AT_INDEX(at, i), now, "may not change once set");
}

void check_service(struct check *c) {
        const struct value *spec = get(c->object, "spec");
        const struct at *at = AT(NULL, "spec");
        struct str type = text_of(spec, "type");

        if (c->live)
                check_ips_kept(c, AT(at, "clusterIPs"), spec);
        check_type_rules(c, at, spec);
        check_ports(c, AT(at, "ports"), get(spec, "ports"));
        check_labels(c, AT(at, "selector"), get(spec, "selector"));
        check_affinity_config(c, at, spec);
        check_cluster_ips(c, at, spec);
        check_external_ips(c, AT(at, "externalIPs"), get(spec, "externalIPs"));
        if (!type.n)
                fault_required(c, AT(at, "type"), "");
        else if (!is_one_of(type, types))
                fault_unsupported(c, AT(at, "type"), type,
                                  "\"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"");
        check_ports_unique(c, AT(at, "ports"), spec);
        check_load_balancer(c, at, spec);
        check_external_policy(c, at, spec);
        check_internal_policy(c, at, spec);
}

void codec_validate_addresses(const struct value *live, const struct value *service, struct causes *out) {
        struct check c = { .out = out, .late = { .arena = out->arena }, .a = out->arena, .object = service, .live = live };

        check_cluster_ips(&c, AT(NULL, "spec"), get(service, "spec"));
        causes_done(&c.late);
}
