/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server fills into a Service and drops from it before it is validated: addresses, families, node ports.
 * Source: pkg/registry/core/service (storage/storage.go, storage/alloc.go, strategy.go), on a cluster with one family.
 */
#include "sandbox/service.h"

#include "sandbox/status.h"

#define POLICY_SINGLE    "SingleStack"
#define POLICY_PREFERRED "PreferDualStack"
#define POLICY_REQUIRED  "RequireDualStack"

/* ---- what a Service is ---- */

const struct value *service_spec(const struct value *service, const char *field) {
        return value_path(service, "spec", field, NULL);
}

static struct str text_of(const struct value *service, const char *field) {
        return value_text(service_spec(service, field));
}

static size_t count_of(const struct value *service, const char *field) {
        return value_count(service_spec(service, field));
}

static struct str item_text(const struct value *list, size_t i) {
        return i < value_count(list) ? value_text(list->list.items[i]) : (struct str){ 0 };
}

static bool is_type(const struct value *service, const char *type) {
        return str_eqc(text_of(service, "type"), type);
}

bool service_may_have_ports(const struct value *service) {
        return is_type(service, "NodePort") || is_type(service, "LoadBalancer");
}

bool service_needs_health_port(const struct value *service) {
        return is_type(service, "LoadBalancer") && str_eqc(text_of(service, "externalTrafficPolicy"), "Local");
}

static bool needs_ip(const struct value *service) {
        return !is_type(service, "ExternalName");
}

static bool is_exposed(const struct value *service) {
        return service_may_have_ports(service) || (is_type(service, "ClusterIP") && count_of(service, "externalIPs"));
}

static bool is_headless(const struct value *service) {
        return str_eqc(text_of(service, "clusterIP"), "None");
}

static bool is_policy(const struct value *service, const char *policy) {
        return str_eqc(text_of(service, "ipFamilyPolicy"), policy);
}

/* Absent and empty are the same. */
static bool same_list(const struct value *a, const struct value *b, const char *field) {
        const struct value *x = service_spec(a, field), *y = service_spec(b, field);

        return value_count(x) == value_count(y) && (!value_count(x) || value_equal(x, y));
}

static bool same_field(const struct value *a, const struct value *b, const char *field) {
        const struct value *x = service_spec(a, field), *y = service_spec(b, field);

        return x && y ? value_equal(x, y) : x == y;
}

/* ---- changing it ---- */

void service_set(struct service_change *m, const char *field, const struct value *value) {
        const struct str path[] = { STR("spec"), str_from(field) };

        m->service = value_with_path(m->c->a, m->service, path, ARRAY_LEN(path), value);
}

static void set_text(struct service_change *m, const char *field, struct str text) {
        service_set(m, field, value_string(m->c->a, text, 0));
}

/* The list's items before `count`, and one more where `more` is not empty. */
static void set_list(struct service_change *m, const char *field, size_t count, struct str more) {
        const struct value *old = service_spec(m->service, field);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < count && i < value_count(old); i++)
                value_list_add(&list, old->list.items[i]);
        if (more.n)
                value_list_add(&list, value_string(m->c->a, more, 0));
        service_set(m, field, value_list_end(&list, m->c->a, 0));
}

int service_refuse(struct service_change *m) {
        return status_invalid(m->c, (struct str){ 0 }, STR("Service"), meta_text(m->service, "name"), &m->causes);
}

static void fault(struct service_change *m, const char *field, const char *why) {
        causes_add(&m->causes, "FieldValueInvalid", arena_strf(m->c->a, "spec.%s", field), "Invalid value: %.*s: %s",
                   STR_FMT(value_canonical(m->c->a, service_spec(m->service, field))), why);
}

/* ---- what the writer left out (patchAllocatedValues, normalizeClusterIPs) ---- */

static void keep_addresses(struct service_change *m) {
        if (!needs_ip(m->live) || !needs_ip(m->service))
                return;
        if (text_of(m->service, "clusterIP").n == 0)
                service_set(m, "clusterIP", service_spec(m->live, "clusterIP"));
        if (count_of(m->service, "clusterIPs") == 0 && count_of(m->live, "clusterIPs"))
                service_set(m, "clusterIPs", service_spec(m->live, "clusterIPs"));
}

static void keep_health_port(struct service_change *m) {
        if (service_needs_health_port(m->live) && service_needs_health_port(m->service) &&
            !service_spec(m->service, "healthCheckNodePort"))
                service_set(m, "healthCheckNodePort", service_spec(m->live, "healthCheckNodePort"));
}

/* Who writes the one of clusterIP and clusterIPs means the other too. */
static void normalize_addresses(struct service_change *m) {
        struct str ip = text_of(m->service, "clusterIP"), old = text_of(m->live, "clusterIP");

        if (!m->live) {
                if (ip.n && count_of(m->service, "clusterIPs") == 0)
                        set_list(m, "clusterIPs", 0, ip);
                return;
        }
        if (count_of(m->live, "clusterIPs") && count_of(m->service, "clusterIPs") == 0 && str_eq(ip, old))
                service_set(m, "clusterIPs", service_spec(m->live, "clusterIPs"));
        if (str_eq(ip, old) || !same_list(m->live, m->service, "clusterIPs"))
                return;
        if (ip.n == 0)
                service_set(m, "clusterIPs", NULL);
        else
                set_list(m, "clusterIPs", 0, ip);
}

/* ---- families (initIPFamilyFields) ---- */

/* A Service that takes what it gets stays as it is. */
static bool keeps_preference(const struct service_change *m) {
        return m->live && str_eq(text_of(m->live, "type"), text_of(m->service, "type")) && needs_ip(m->service) &&
               is_policy(m->service, POLICY_PREFERRED) &&
               (!service_spec(m->live, "ipFamilyPolicy") || is_policy(m->live, POLICY_PREFERRED)) &&
               same_list(m->live, m->service, "clusterIPs") && same_list(m->live, m->service, "ipFamilies");
}

static void default_policy(struct service_change *m) {
        if (service_spec(m->service, "ipFamilyPolicy"))
                return;
        if (service_spec(m->live, "ipFamilyPolicy"))
                service_set(m, "ipFamilyPolicy", service_spec(m->live, "ipFamilyPolicy"));
        else if (is_headless(m->service) && count_of(m->service, "selector") == 0)
                set_text(m, "ipFamilyPolicy", STR(POLICY_REQUIRED));
        else
                set_text(m, "ipFamilyPolicy", STR(POLICY_SINGLE));
}

static bool is_reduced(const struct service_change *m, const char *field) {
        return count_of(m->service, field) && count_of(m->service, field) < count_of(m->live, field);
}

static void reduce_stacks(struct service_change *m) {
        static const char *const fields[] = { "clusterIPs", "ipFamilies" };
        bool is_single = is_policy(m->service, POLICY_SINGLE);

        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (is_single && same_list(m->live, m->service, fields[i]) && count_of(m->service, fields[i]) > 1)
                        set_list(m, fields[i], 1, (struct str){ 0 });
        if (!is_single && is_reduced(m, "clusterIPs"))
                fault(m, "ipFamilyPolicy", "must be 'SingleStack' to release the secondary cluster IP");
        if (!is_single && is_reduced(m, "ipFamilies"))
                fault(m, "ipFamilyPolicy", "must be 'SingleStack' to release the secondary IP family");
}

static void check_single_stack(struct service_change *m) {
        if (!is_policy(m->service, POLICY_SINGLE))
                return;
        if (count_of(m->service, "clusterIPs") == 2)
                fault(m, "ipFamilyPolicy",
                      "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified");
        if (count_of(m->service, "ipFamilies") == 2)
                fault(m, "ipFamilyPolicy",
                      "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified");
}

static void infer_families(struct service_change *m) {
        const struct value *ips = service_spec(m->service, "clusterIPs");

        for (size_t i = 0; i < value_count(ips) && !str_eqc(item_text(ips, i), "None"); i++) {
                if (i < count_of(m->service, "ipFamilies"))
                        continue;
                if (str_find(item_text(ips, i), ':', 0) < 0)
                        set_list(m, "ipFamilies", i, STR("IPv4"));
                else
                        causes_add(&m->causes, "FieldValueInvalid", arena_strf(m->c->a, "spec.clusterIPs[%zu]", i),
                                   "Invalid value: %.*s: IPv6 is not configured on this cluster",
                                   STR_FMT(value_canonical(m->c->a, ips)));
        }
}

/* Without a selector nobody knows what its endpoints will be: it may have what the cluster has not. */
static void give_headless_families(struct service_change *m) {
        if (count_of(m->service, "ipFamilies") == 0)
                set_list(m, "ipFamilies", 0, STR("IPv4"));
        if (count_of(m->service, "ipFamilies") < 2 && !is_policy(m->service, POLICY_SINGLE))
                set_list(m, "ipFamilies", 1,
                         str_eqc(item_text(service_spec(m->service, "ipFamilies"), 0), "IPv4") ? STR("IPv6")
                                                                                               : STR("IPv4"));
}

static void check_configured(struct service_change *m) {
        const struct value *families = service_spec(m->service, "ipFamilies");

        if (is_policy(m->service, POLICY_REQUIRED))
                fault(m, "ipFamilyPolicy", "this cluster is not configured for dual-stack services");
        for (size_t i = 0; i < value_count(families); i++)
                if (!str_eqc(item_text(families, i), "IPv4"))
                        causes_add(&m->causes, "FieldValueInvalid", arena_strf(m->c->a, "spec.ipFamilies[%zu]", i),
                                   "Invalid value: \"%.*s\": not configured on this cluster",
                                   STR_FMT(item_text(families, i)));
}

static int give_families(struct service_change *m) {
        if (!needs_ip(m->service) || keeps_preference(m))
                return 0;
        default_policy(m);
        codec_validate_addresses(m->live, m->service, &m->causes);
        if (m->causes.count)
                return service_refuse(m);
        if (m->live)
                reduce_stacks(m);
        check_single_stack(m);
        infer_families(m);
        if (m->causes.count)
                return service_refuse(m);
        if (is_headless(m->service) && count_of(m->service, "selector") == 0) {
                give_headless_families(m);
                return 0;
        }
        check_configured(m);
        if (m->causes.count)
                return service_refuse(m);
        if (count_of(m->service, "ipFamilies") == 0)
                set_list(m, "ipFamilies", 0, STR("IPv4"));
        return 0;
}

/* ---- addresses (allocClusterIPs, updateClusterIPs) ---- */

static int refuse_address(struct service_change *m, struct str shown, struct str what, const char *why) {
        causes_add(&m->causes, "FieldValueInvalid", STR("spec.clusterIPs"),
                   "Invalid value: %.*s: failed to allocate IP%.*s: %s", STR_FMT(shown), STR_FMT(what), why);
        return service_refuse(m);
}

static void add_name_fault(struct service_change *m, struct buf *out, const char *fault) {
        struct str name = meta_text(m->service, "name");

        buf_addf(out, "%sspec.parentRef.name: Invalid value: \"%.*s\": %s", out->n ? ", " : "", STR_FMT(name), fault);
}

/* An address is an object that names its Service, which it cannot do with every name; NULL: with this one. */
static const char *name_fault(struct service_change *m) {
        _cleanup_(buf_done) struct buf out = buf_make(4096);
        struct str name = meta_text(m->service, "name");
        bool slash = str_find(name, '/', 0) >= 0, percent = str_find(name, '%', 0) >= 0;

        if (name.n == 0)
                return "spec.parentRef.name: Required value";
        if (str_eqc(name, ".") || str_eqc(name, ".."))
                add_name_fault(m, &out, name.n == 1 ? "may not be '.'" : "may not be '..'");
        if (slash)
                add_name_fault(m, &out, "may not contain '/'");
        if (percent)
                add_name_fault(m, &out, "may not contain '%'");
        return out.n == 0 ? NULL : arena_strf(m->c->a, slash && percent ? "[%s]" : "%s", out.p).p;
}

static int refuse_name(struct service_change *m, struct str ip, const char *fault) {
        struct str shown = ip.n ? value_canonical(m->c->a, service_spec(m->service, "clusterIPs")) : STR("[\"\"]");
        struct str what = ip.n ? arena_strf(m->c->a, " %.*s", STR_FMT(ip)) : ip;

        ip = ip.n ? ip : allot_ip(m->c);
        return refuse_address(
                m, shown, what,
                arena_strf(m->c->a, "IPAddress.networking.k8s.io \"%.*s\" is invalid: %s", STR_FMT(ip), fault).p);
}

static int allot_address(struct service_change *m) {
        struct str ip = item_text(service_spec(m->service, "clusterIPs"), 0);
        const char *why = NULL;

        if (!needs_ip(m->service) || str_eqc(ip, "None"))
                return 0;
        if (ip.n)
                why = allot_given_ip(m->c, ip);
        if (why)
                return refuse_address(m, value_canonical(m->c->a, service_spec(m->service, "clusterIPs")),
                                      arena_strf(m->c->a, " %.*s", STR_FMT(ip)), why);
        if (!m->c->dry_run && name_fault(m))
                return refuse_name(m, ip, name_fault(m));
        ip = ip.n ? ip : allot_ip(m->c);
        set_list(m, "clusterIPs", 0, ip);
        set_text(m, "clusterIP", ip);
        return 0;
}

/*
 * A Service that /status made has families and no addresses. Where those are to be given back, the server's handler
 * fails and nobody gets an answer; this one at least leaves it as it is.
 */
static int check_release(struct service_change *m) {
        if (!needs_ip(m->live) || needs_ip(m->service) || is_headless(m->live) ||
            count_of(m->live, "clusterIPs") >= count_of(m->live, "ipFamilies"))
                return 0;
        causes_add(&m->causes, "FieldValueInvalid", STR("spec.ipFamilies"),
                   "Invalid value: %.*s: have no addresses to release",
                   STR_FMT(value_canonical(m->c->a, service_spec(m->live, "ipFamilies"))));
        return service_refuse(m);
}

/* ---- what depends on the type (dropTypeDependentFields) ---- */

static void drop_addresses(struct service_change *m) {
        if (!needs_ip(m->live) || needs_ip(m->service))
                return;
        if (same_field(m->live, m->service, "clusterIP") && same_list(m->live, m->service, "clusterIPs")) {
                service_set(m, "clusterIP", NULL);
                service_set(m, "clusterIPs", NULL);
        }
        if (same_list(m->live, m->service, "ipFamilies"))
                service_set(m, "ipFamilies", NULL);
        if (same_field(m->live, m->service, "ipFamilyPolicy"))
                service_set(m, "ipFamilyPolicy", NULL);
}

static bool is_balanced(const struct value *service) {
        return is_type(service, "LoadBalancer");
}

static void drop_dependent(struct service_change *m) {
        static const struct {
                const char *field;
                bool (*needs)(const struct value *service);
        } fields[] = {
                { "healthCheckNodePort", service_needs_health_port },
                { "allocateLoadBalancerNodePorts", is_balanced },
                { "loadBalancerClass", is_balanced },
                { "externalTrafficPolicy", is_exposed },
        };
        const struct str status[] = { STR("status"), STR("loadBalancer") };

        drop_addresses(m);
        service_drop_ports(m);
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (fields[i].needs(m->live) && !fields[i].needs(m->service) &&
                    same_field(m->live, m->service, fields[i].field))
                        service_set(m, fields[i].field, NULL);
        if (!is_balanced(m->service))
                m->service = value_with_path(m->c->a, m->service, status, ARRAY_LEN(status), &value_empty_map);
}

/* ---- all of it ---- */

static int create(struct service_change *m) {
        normalize_addresses(m);
        if (give_families(m) < 0 || allot_address(m) < 0)
                return -1;
        return service_allot_ports(m);
}

static int update(struct service_change *m) {
        keep_addresses(m);
        service_keep_ports(m);
        keep_health_port(m);
        normalize_addresses(m);
        if (give_families(m) < 0 || check_release(m) < 0)
                return -1;
        if (!needs_ip(m->live) && allot_address(m) < 0)
                return -1;
        if (service_change_ports(m) < 0)
                return -1;
        drop_dependent(m);
        return 0;
}

int service_prepare(struct call *c, const struct value *live, const struct value **object) {
        struct service_change m = {
                .c = c, .live = live, .service = *object, .causes = { .arena = c->a }, .allotment = { .c = c }
        };
        int r = live ? update(&m) : create(&m);

        causes_done(&m.causes);
        *object = m.service;
        return r;
}
