/* SPDX-License-Identifier: Apache-2.0 */
/* Ingress, IngressClass, NetworkPolicy, EndpointSlice. */
#include "sandbox/validate_kinds.h"

/* --- Ingress --- */

static void check_backend(struct check *c, const struct at *at, const struct value *backend) {
        const struct value *resource = get(backend, "resource"), *service = get(backend, "service");
        const struct value *port = get(service, "port");
        const struct at *service_at = AT(at, "service"), *port_at = AT(service_at, "port");

        if (resource && service) {
                fault_invalid_str(c, at, STR(""), "cannot set both resource and service backends");
                return;
        }
        if (resource) {
                if (!text_of(resource, "kind").n)
                        fault_required(c, AT(AT(at, "resource"), "kind"), "");
                if (!text_of(resource, "name").n)
                        fault_required(c, AT(AT(at, "resource"), "name"), "");
                return;
        }
        if (!service) {
                fault_invalid_str(c, at, STR(""), "resource or service backend is required");
                return;
        }
        if (!text_of(service, "name").n)
                fault_required(c, AT(service_at, "name"), "");
        else
                check_text(c, AT(service_at, "name"), TEXT_DNS_LABEL, text_of(service, "name"));
        if (text_of(port, "name").n && int_of(port, "number"))
                fault_invalid_str(c, at, STR(""), "cannot set both port name & port number");
        else if (text_of(port, "name").n)
                check_text(c, AT(port_at, "name"), TEXT_PORT_NAME, text_of(port, "name"));
        else if (int_of(port, "number"))
                check_port(c, AT(port_at, "number"), int_of(port, "number"));
        else
                fault_required(c, at, "port name or number is required");
}

static void check_path_text(struct check *c, const struct at *at, struct str path) {
        static const char *const within[] = { "//", "/./", "/../", "%2f", "%2F" };
        static const char *const ends[] = { "/..", "/." };

        if (!str_starts(path, STR("/")))
                fault_invalid_str(c, at, path, "must be an absolute path");
        for (size_t i = 0; i < 5; i++)
                if (str_contains(path, str_from(within[i])))
                        fault_invalid_str(c, at, path, arena_strf(c->a, "must not contain '%s'", within[i]).p);
        for (size_t i = 0; i < 2; i++)
                if (str_ends(path, str_from(ends[i])))
                        fault_invalid_str(c, at, path, arena_strf(c->a, "cannot end with '%s'", ends[i]).p);
}

static void check_http_path(struct check *c, const struct at *at, const struct value *path) {
        const struct value *type = get(path, "pathType");
        struct str text = text_of(path, "path");

        if (!type) {
                fault_required(c, AT(at, "pathType"), "pathType must be specified");
                return;
        }
        if (str_eqc(value_text(type), "Exact") || str_eqc(value_text(type), "Prefix"))
                check_path_text(c, AT(at, "path"), text);
        else if (!str_eqc(value_text(type), "ImplementationSpecific"))
                fault_unsupported(c, AT(at, "pathType"), value_text(type),
                                  "\"Exact\", \"ImplementationSpecific\", \"Prefix\"");
        else if (text.n && !str_starts(text, STR("/")))
                fault_invalid_str(c, AT(at, "path"), text, "must be an absolute path");
        check_backend(c, AT(at, "backend"), get(path, "backend"));
}

static void check_host(struct check *c, const struct at *at, struct str host) {
        struct ip ip;

        if (ip_parse(host, &ip))
                fault_invalid_str(c, at, host, "must be a DNS name, not an IP address");
        check_text(c, at, str_find(host, '*', 0) >= 0 ? TEXT_WILDCARD_SUBDOMAIN : TEXT_DNS_SUBDOMAIN, host);
}

static void check_ingress_rule(struct check *c, const struct at *at, const struct value *rule) {
        const struct value *http = get(rule, "http"), *paths = get(http, "paths");
        const struct at *paths_at = AT(AT(at, "http"), "paths");

        if (text_of(rule, "host").n)
                check_host(c, AT(at, "host"), text_of(rule, "host"));
        if (http && !list_count(paths))
                fault_required(c, paths_at, "");
        for (EACH(i, paths))
                check_http_path(c, AT_INDEX(paths_at, i), item_of(paths, i));
}

static void check_tls(struct check *c, const struct at *at, const struct value *tls) {
        const struct value *hosts = get(tls, "hosts");

        for (EACH(i, hosts)) {
                struct str host = value_text(item_of(hosts, i));

                check_text(c, AT_INDEX(AT(at, "hosts"), i),
                           str_find(host, '*', 0) >= 0 ? TEXT_WILDCARD_SUBDOMAIN : TEXT_DNS_SUBDOMAIN, host);
        }
        if (text_of(tls, "secretName").n)
                check_text(c, AT(at, "secretName"), TEXT_DNS_SUBDOMAIN, text_of(tls, "secretName"));
}

void check_ingress(struct check *c) {
        const struct value *spec = get(c->object, "spec"), *rules = get(spec, "rules"), *tls = get(spec, "tls");
        const struct value *class = get(spec, "ingressClassName");
        const struct value *old_class =
                value_getc(value_path(c->object, "metadata", "annotations", NULL), "kubernetes.io/ingress.class");
        const struct at *at = AT(NULL, "spec");

        if (!list_count(rules) && !get(spec, "defaultBackend"))
                fault_invalid_raw(c, at, rules ? STR("[]") : STR("null"),
                                  "either `defaultBackend` or `rules` must be specified");
        if (get(spec, "defaultBackend"))
                check_backend(c, AT(at, "defaultBackend"), get(spec, "defaultBackend"));
        for (EACH(i, rules))
                check_ingress_rule(c, AT_INDEX(AT(at, "rules"), i), item_of(rules, i));
        for (EACH(i, tls))
                check_tls(c, AT_INDEX(AT(at, "tls"), i), item_of(tls, i));
        if (class)
                check_text(c, AT(at, "ingressClassName"), TEXT_DNS_SUBDOMAIN, value_text(class));
        if (!c->live && class && old_class && !str_eq(value_text(class), value_text(old_class)))
                fault_invalid(c, AT(AT(NULL, "annotations"), "kubernetes.io/ingress.class"), old_class,
                              "must match `ingressClassName` when both are specified");
}

void check_ingress_class(struct check *c) {
        const struct value *spec = get(c->object, "spec"), *parameters = get(spec, "parameters");
        const struct at *at = AT(NULL, "spec");

        if (c->live)
                check_immutable(c, AT(at, "controller"), get(spec, "controller"),
                                value_path(c->live, "spec", "controller", NULL));
        if (text_of(spec, "controller").n > 250)
                fault_too_long(c, AT(at, "controller"), 250);
        check_prefixed_path(c, AT(at, "controller"), text_of(spec, "controller"));
        if (parameters && !text_of(parameters, "kind").n)
                late_required(c, AT(AT(at, "parameters"), "kind"));
        if (parameters && !text_of(parameters, "name").n)
                late_required(c, AT(AT(at, "parameters"), "name"));
}

/* --- NetworkPolicy --- */

static void check_policy_port(struct check *c, const struct at *at, const struct value *port) {
        static const char *const protocols[] = { "TCP", "UDP", "SCTP", NULL };
        const struct value *protocol = get(port, "protocol"), *number = get(port, "port");
        int64_t end = 0, start = 0;
        bool has_end = value_to_i64(get(port, "endPort"), &end), numeric = value_to_i64(number, &start);

        if (protocol && !is_one_of(value_text(protocol), protocols))
                fault_unsupported(c, AT(at, "protocol"), value_text(protocol), "\"TCP\", \"UDP\", \"SCTP\"");
        if (numeric) {
                check_port(c, AT(at, "port"), start);
                if (has_end && end < start)
                        fault_invalid_int(c, AT(at, "endPort"), end, "must be greater than or equal to `port`");
                if (has_end)
                        check_port(c, AT(at, "endPort"), end);
                return;
        }
        if (has_end)
                fault_invalid_int(c, AT(at, "endPort"), end,
                                  number ? "may not be specified when `port` is non-numeric"
                                         : "may not be specified when `port` is not specified");
        if (number)
                check_text(c, AT(at, "port"), TEXT_PORT_NAME, value_text(number));
}

static void check_ip_block(struct check *c, const struct at *at, const struct value *block) {
        const struct value *except = get(block, "except");
        struct cidr outer, inner;

        if (!text_of(block, "cidr").n) {
                late_required(c, AT(at, "cidr"));
                return;
        }
        if (!check_cidr(c, AT(at, "cidr"), text_of(block, "cidr"), NULL) || !cidr_parse(text_of(block, "cidr"), &outer))
                return;
        for (EACH(i, except)) {
                struct str s = value_text(item_of(except, i));
                const struct at *one = AT_INDEX(AT(at, "except"), i);

                if (check_cidr(c, one, s, NULL) && cidr_parse(s, &inner) &&
                    (!cidr_contains(&outer, &inner) || outer.length >= inner.length))
                        fault_invalid_str(c, one, s, "must be a strict subset of `cidr`");
        }
}

static void check_peer(struct check *c, const struct at *at, const struct value *peer) {
        static const char *const selectors[] = { "podSelector", "namespaceSelector" };
        size_t found = 0;

        for (size_t i = 0; i < 2; i++)
                if (get(peer, selectors[i]) && ++found)
                        check_selector(c, AT_STR(at, str_from(selectors[i])), get(peer, selectors[i]));
        if (get(peer, "ipBlock"))
                check_ip_block(c, AT(at, "ipBlock"), get(peer, "ipBlock"));
        if (!found && !get(peer, "ipBlock"))
                fault_required(c, at, "must specify a peer");
        else if (found && get(peer, "ipBlock"))
                fault_forbidden(c, at, "may not specify both ipBlock and another peer");
}

static void check_policy_rules(struct check *c, const struct at *above, const struct value *rules, const char *peers) {
        for (EACH(i, rules)) {
                const struct value *ports = get(item_of(rules, i), "ports"), *list = get(item_of(rules, i), peers);
                const struct at *at = AT_INDEX(above, i);

                for (EACH(j, ports))
                        check_policy_port(c, AT_INDEX(AT(at, "ports"), j), item_of(ports, j));
                for (EACH(j, list))
                        check_peer(c, AT_INDEX(AT_STR(at, str_from(peers)), j), item_of(list, j));
        }
}

void check_network_policy(struct check *c) {
        const struct value *spec = get(c->object, "spec"), *types = get(spec, "policyTypes");
        const struct at *at = AT(NULL, "spec");

        check_selector(c, AT(at, "podSelector"), get(spec, "podSelector"));
        check_policy_rules(c, AT(at, "ingress"), get(spec, "ingress"), "from");
        check_policy_rules(c, AT(at, "egress"), get(spec, "egress"), "to");
        if (list_count(types) > 2) {
                fault_invalid(c, AT(at, "policyTypes"), types, "may not specify more than two policyTypes");
                return;
        }
        for (EACH(i, types)) {
                struct str type = value_text(item_of(types, i));

                if (!str_eqc(type, "Ingress") && !str_eqc(type, "Egress"))
                        fault_unsupported(c, AT_INDEX(AT(at, "policyTypes"), i), type, "\"Ingress\", \"Egress\"");
        }
}

/* --- EndpointSlice --- */

static void check_address(struct check *c, const struct at *above, size_t i, struct str address, struct str type) {
        const struct at *at = AT_INDEX(above, i);
        struct ip ip;

        if (str_eqc(type, "FQDN")) {
                check_text_joined(c, at, TEXT_DNS_SUBDOMAIN, address, ",");
                if (text_keeps(TEXT_DNS_SUBDOMAIN, address) && str_find(address, '.', 0) < 0)
                        fault_invalid_str(c, at, address,
                                          "should be a domain with at least two segments separated by dots");
                return;
        }
        if ((!str_eqc(type, "IPv4") && !str_eqc(type, "IPv6")) || !check_ip(c, at, address, NULL))
                return;
        if (ip_parse(address, &ip) && ip.is_v4 != str_eqc(type, "IPv4"))
                fault_invalid_str(c, above, address, arena_strf(c->a, "must be an %.*s address", STR_FMT(type)).p);
        check_endpoint_ip(c, at, address);
}

static void check_endpoint(struct check *c, const struct at *at, const struct value *endpoint, struct str type) {
        const struct value *addresses = get(endpoint, "addresses");

        if (!list_count(addresses))
                late_required(c, AT(at, "addresses"));
        else if (list_count(addresses) > 100)
                late_too_many(c, AT(at, "addresses"), list_count(addresses), 100);
        for (EACH(i, addresses))
                check_address(c, AT(at, "addresses"), i, value_text(item_of(addresses, i)), type);
        if (get(endpoint, "nodeName"))
                check_text(c, AT(at, "nodeName"), TEXT_DNS_SUBDOMAIN, text_of(endpoint, "nodeName"));
        check_labels(c, AT(at, "deprecatedTopology"), get(endpoint, "deprecatedTopology"));
        if (get(endpoint, "hostname"))
                check_text(c, AT(at, "hostname"), TEXT_DNS_LABEL, text_of(endpoint, "hostname"));
}

static void check_endpoint_ports(struct check *c, const struct at *above, const struct value *ports) {
        static const char *const protocols[] = { "TCP", "UDP", "SCTP", NULL };

        for (EACH(i, ports)) {
                const struct value *port = item_of(ports, i);
                const struct at *at = AT_INDEX(above, i);
                struct str name = text_of(port, "name"), protocol = text_of(port, "protocol");

                if (name.n)
                        check_text(c, AT(at, "name"), TEXT_DNS_LABEL, name);
                for (size_t j = 0; j < i; j++)
                        if (str_eq(text_of(item_of(ports, j), "name"), name)) {
                                fault_duplicate_str(c, AT(at, "name"), name);
                                break;
                        }
                if (!protocol.n)
                        fault_required(c, AT(at, "protocol"), "");
                else if (!is_one_of(protocol, protocols))
                        fault_unsupported(c, AT(at, "protocol"), protocol, "\"SCTP\", \"TCP\", \"UDP\"");
                if (get(port, "appProtocol"))
                        check_text(c, AT(at, "appProtocol"), TEXT_LABEL_KEY, text_of(port, "appProtocol"));
        }
}

void check_endpoint_slice(struct check *c) {
        static const char *const address_types[] = { "IPv4", "IPv6", "FQDN", NULL };
        const struct value *endpoints = get(c->object, "endpoints");
        struct str type = text_of(c->object, "addressType");

        check_endpoint_ports(c, AT(NULL, "ports"), get(c->object, "ports"));
        for (EACH(i, endpoints))
                check_endpoint(c, AT_INDEX(AT(NULL, "endpoints"), i), item_of(endpoints, i), type);
        if (!type.n)
                late_required(c, AT(NULL, "addressType"));
        else if (!is_one_of(type, address_types))
                late_unsupported(c, AT(NULL, "addressType"), type, "\"FQDN\", \"IPv4\", \"IPv6\"");
        if (c->live && !same(get(c->object, "addressType"), get(c->live, "addressType")))
                late_invalid(c, AT(NULL, "addressType"), NULL, "field is immutable");
}
