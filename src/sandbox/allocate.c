/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and node ports of Services, from 10.96.0.0/16 and 30000–32767, one IPv4 family. What is taken follows from
 * the commits, so a dry run or a refused write leaves nothing behind.
 */
#include <inttypes.h>

#include "base/map.h"
#include "sandbox/prepare.h"
#include "sandbox/status.h"

#define FIRST_IP   256 /* the first addresses are kept for those who ask for one */
#define IP_COUNT   65534
#define FIRST_PORT 30000
#define DRY_RUN_IP   "10.96.0.0" /* what the server shows when nothing is allotted */
#define DRY_RUN_PORT 32769
#define PORT_COUNT 2768

struct allocator {
        struct map *taken; /* "10.96.1.2", "30080/TCP" */
};

struct allocator *allocator_new(void) {
        struct allocator *al = mem_zalloc(sizeof *al);

        al->taken = map_new(NULL);
        return al;
}

void allocator_free(struct allocator *al) {
        if (!al)
                return;
        map_free(al->taken);
        free(al);
}

static const struct value *spec_of(const struct value *service, const char *field) {
        return value_path(service, "spec", field, NULL);
}

static struct str port_key(const struct value *port, struct buf *out) {
        int64_t number = 0;

        buf_clear(out);
        if (!value_to_i64(value_getc(port, "nodePort"), &number) || number == 0)
                return (struct str){ 0 };
        buf_addf(out, "%" PRId64 "/%.*s", number, STR_FMT(value_text(value_getc(port, "protocol"))));
        return buf_str(out);
}

static void note(struct allocator *al, struct str key, bool is_taken) {
        if (key.n == 0 || str_eqc(key, "None"))
                return;
        if (is_taken)
                map_set(al->taken, key, al);
        else
                map_remove(al->taken, key);
}

static void note_service(struct allocator *al, const struct value *service, bool is_taken) {
        _cleanup_(buf_done) struct buf key = buf_make(64);
        const struct value *ports = spec_of(service, "ports");

        note(al, value_text(spec_of(service, "clusterIP")), is_taken);
        for (size_t i = 0; value_is(ports, VALUE_LIST) && i < ports->list.count; i++)
                note(al, port_key(ports->list.items[i], &key), is_taken);
}

void allocator_tell(struct allocator *al, const struct value *before, const struct value *after) {
        note_service(al, before, false);
        note_service(al, after, true);
}

/* ---- clusterIP ---- */

static const struct value *with_spec(const struct value *service, const char *field, const struct value *value,
                                     struct arena *a) {
        const struct str path[] = { STR("spec"), str_from(field) };

        return value_with_path(a, service, path, ARRAY_LEN(path), value);
}

static struct str free_ip(struct call *c) {
        struct str ip;

        do {
                uint64_t n = FIRST_IP + loop_random(c->s->loop, IP_COUNT - FIRST_IP);

                ip = arena_strf(c->a, "10.96.%" PRIu64 ".%" PRIu64, n / 256, n % 256);
        } while (map_find(c->s->allocator->taken, ip));
        return ip;
}

static bool needs_ip(const struct value *service) {
        return !str_eqc(value_text(spec_of(service, "type")), "ExternalName");
}

static const struct value *one_item(const struct value *item, struct arena *a) {
        struct value_list_builder list = { 0 };

        value_list_add(&list, item);
        return value_list_end(&list, a, 0);
}

static int refuse_ip(struct call *c, struct str shown, struct str ip, const char *why) {
        struct causes causes = { .arena = c->a };

        causes_add(&causes, "FieldValueInvalid", STR("spec.clusterIPs"),
                   "Invalid value: %.*s: failed to allocate IP%s %.*s%s %s", STR_FMT(shown), ip.p[0] == 'I' ? ":" : "",
                   STR_FMT(ip), ip.p[0] == 'I' ? "" : ":", why);
        int r = status_invalid(c, (struct str){ 0 }, STR("Service"), c->at.name, &causes);
        causes_done(&causes);
        return r;
}

static const struct value *with_families(const struct value *service, bool is_dual, struct arena *a) {
        struct value_list_builder families = { 0 };

        if (!spec_of(service, "ipFamilies")) {
                value_list_add(&families, value_stringc(a, "IPv4"));
                if (is_dual)
                        value_list_add(&families, value_stringc(a, "IPv6"));
                service = with_spec(service, "ipFamilies", value_list_end(&families, a, 0), a);
        }
        if (spec_of(service, "ipFamilyPolicy"))
                return service;
        return with_spec(service, "ipFamilyPolicy", value_stringc(a, is_dual ? "RequireDualStack" : "SingleStack"), a);
}

/* An address cannot be allotted to a Service without a name. */
static const char *nameless_text(struct call *c) {
        return arena_strf(c->a, "\"%.*s\" is invalid: spec.parentRef.name: Required value", STR_FMT(free_ip(c))).p;
}

static int allocate_ip(struct call *c, const struct value *live, const struct value **service) {
        struct str ip = value_text(spec_of(*service, "clusterIP"));
        struct str before = value_text(spec_of(live, "clusterIP"));
        bool is_headless = str_eqc(ip, "None");

        if (ip.n == 0 && before.n && needs_ip(live))
                ip = before;
        else if (ip.n && !is_headless && !str_eq(ip, before) && !str_starts(ip, STR("10.96.")))
                return refuse_ip(c, arena_strf(c->a, "[\"%.*s\"]", STR_FMT(ip)), ip,
                                 "the provided network does not match the current range");
        else if (ip.n && !is_headless && !str_eq(ip, before) && map_find(c->s->allocator->taken, ip))
                return refuse_ip(c, arena_strf(c->a, "[\"%.*s\"]", STR_FMT(ip)), ip, "provided IP is already allocated");
        else if (ip.n == 0 && value_path(*service, "metadata", "name", NULL) == NULL)
                return refuse_ip(c, STR("[\"\"]"), STR("IPAddress.networking.k8s.io"), nameless_text(c));
        else if (ip.n == 0)
                ip = c->dry_run ? STR(DRY_RUN_IP) : free_ip(c);
        const struct value *text = value_string(c->a, ip, 0);
        *service = with_spec(*service, "clusterIP", text, c->a);
        if (value_count(spec_of(*service, "clusterIPs")) == 0)
                *service = with_spec(*service, "clusterIPs", one_item(text, c->a), c->a);
        *service = with_families(*service, is_headless && value_count(spec_of(*service, "selector")) == 0, c->a);
        return 0;
}

/* ---- node ports ---- */

static bool needs_ports(const struct value *service) {
        struct str type = value_text(spec_of(service, "type"));

        return str_eqc(type, "NodePort") ||
               (str_eqc(type, "LoadBalancer") && value_truth(spec_of(service, "allocateLoadBalancerNodePorts"), true));
}

static bool may_have_ports(const struct value *service) {
        struct str type = value_text(spec_of(service, "type"));

        return str_eqc(type, "NodePort") || str_eqc(type, "LoadBalancer");
}

static const struct value *find_port(const struct value *service, const struct value *wanted) {
        const struct value *ports = spec_of(service, "ports");

        for (size_t i = 0; value_is(ports, VALUE_LIST) && i < ports->list.count; i++) {
                const struct value *p = ports->list.items[i];

                if (value_equal(value_getc(p, "port"), value_getc(wanted, "port")) &&
                    str_eq(value_text(value_getc(p, "protocol")), value_text(value_getc(wanted, "protocol"))))
                        return value_getc(p, "nodePort");
        }
        return NULL;
}

static const struct value *free_port(struct call *c, const struct value *port) {
        _cleanup_(buf_done) struct buf key = buf_make(64);
        const struct value *number;

        do {
                number = value_int(c->a, FIRST_PORT + (int64_t)loop_random(c->s->loop, PORT_COUNT), 0);
                port = value_with(c->a, port, STR("nodePort"), number);
        } while (map_find(c->s->allocator->taken, port_key(port, &key)));
        return number;
}

static int refuse_port(struct call *c, size_t index, int64_t number, const char *why) {
        struct causes causes = { .arena = c->a };

        causes_add(&causes, "FieldValueInvalid", arena_strf(c->a, "spec.ports[%zu].nodePort", index),
                   "Invalid value: %" PRId64 ": %s", number, why);
        int r = status_invalid(c, (struct str){ 0 }, STR("Service"), c->at.name, &causes);
        causes_done(&causes);
        return r;
}

/* A port that was asked for and is not the Service's yet. */
static int check_port(struct call *c, const struct value *live, size_t index, const struct value *port) {
        _cleanup_(buf_done) struct buf key = buf_make(64);
        const struct value *number = value_getc(port, "nodePort"), *old = may_have_ports(live) ? find_port(live, port) : NULL;
        int64_t n = 0;

        value_to_i64(number, &n);
        if (old && value_equal(old, number))
                return 0;
        if (n < FIRST_PORT || n >= FIRST_PORT + PORT_COUNT)
                return refuse_port(c, index, n,
                                   "provided port is not in the valid range. The range of valid ports is 30000-32767");
        if (map_find(c->s->allocator->taken, port_key(port, &key)))
                return refuse_port(c, index, n, "provided port is already allocated");
        return 0;
}

static int check_ports(struct call *c, const struct value *live, const struct value *service) {
        const struct value *ports = spec_of(service, "ports");

        for (size_t i = 0; !c->dry_run && i < value_count(ports); i++) {
                int64_t n = 0;

                value_to_i64(value_getc(ports->list.items[i], "nodePort"), &n);
                if (n && check_port(c, live, i, ports->list.items[i]) < 0)
                        return -1;
        }
        return 0;
}

static const struct value *allocate_ports(struct call *c, const struct value *live, const struct value *service) {
        const struct value *ports = spec_of(service, "ports");
        int64_t dry = 0;
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(ports, VALUE_LIST) && i < ports->list.count; i++) {
                const struct value *port = ports->list.items[i];
                int64_t number = 0;

                value_to_i64(value_getc(port, "nodePort"), &number);
                if (number == 0) {
                        const struct value *old = may_have_ports(live) ? find_port(live, port) : NULL;

                        if (!old && needs_ports(service))
                                old = c->dry_run ? value_int(c->a, DRY_RUN_PORT + dry++, 0) : free_port(c, port);
                        if (old)
                                port = value_with(c->a, port, STR("nodePort"), old);
                }
                value_list_add(&list, port);
        }
        return with_spec(service, "ports", value_list_end(&list, c->a, 0), c->a);
}

/* ---- fields that depend on the type (dropTypeDependentFields) ---- */

static bool is_external(const struct value *service) {
        struct str type = value_text(spec_of(service, "type"));

        return str_eqc(type, "NodePort") || str_eqc(type, "LoadBalancer") ||
               (str_eqc(type, "ClusterIP") && value_count(spec_of(service, "externalIPs")));
}

static bool is_balanced(const struct value *service) {
        return str_eqc(value_text(spec_of(service, "type")), "LoadBalancer");
}

static const struct {
        const char *field;
        bool (*needs)(const struct value *service);
} dependent[] = {
        { "clusterIP", needs_ip },
        { "clusterIPs", needs_ip },
        { "ipFamilies", needs_ip },
        { "ipFamilyPolicy", needs_ip },
        { "internalTrafficPolicy", needs_ip },
        { "externalTrafficPolicy", is_external },
        { "allocateLoadBalancerNodePorts", is_balanced },
        { "loadBalancerClass", is_balanced },
};

static const struct value *without_node_ports(struct call *c, const struct value *live, const struct value *service) {
        const struct value *ports = spec_of(service, "ports");
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(ports, VALUE_LIST) && i < ports->list.count; i++) {
                const struct value *port = ports->list.items[i], *old = find_port(live, port);
                bool is_same = old && value_equal(old, value_getc(port, "nodePort"));

                value_list_add(&list, is_same ? value_with(c->a, port, STR("nodePort"), NULL) : port);
        }
        return with_spec(service, "ports", value_list_end(&list, c->a, 0), c->a);
}

/* What the old type needed and the new one does not goes, when the writer left it as it was. */
static const struct value *drop_dependent(struct call *c, const struct value *live, const struct value *service) {
        for (size_t i = 0; i < ARRAY_LEN(dependent); i++) {
                const struct value *now = spec_of(service, dependent[i].field),
                                   *old = spec_of(live, dependent[i].field);

                if (now && old && value_equal(now, old) && dependent[i].needs(live) && !dependent[i].needs(service))
                        service = with_spec(service, dependent[i].field, NULL, c->a);
        }
        if (needs_ports(live) && !needs_ports(service))
                service = without_node_ports(c, live, service);
        return service;
}

/* NormalizeClusterIPs: who writes the one field means the other too. */
static const struct value *normalize_ips(struct call *c, const struct value *live, const struct value *service) {
        const struct value *ip = spec_of(service, "clusterIP"), *ips = spec_of(service, "clusterIPs");
        const struct value *old = spec_of(live, "clusterIP"), *old_ips = spec_of(live, "clusterIPs");
        bool changed = !ip != !old || (ip && old && !value_equal(ip, old));

        if (!ips || !old_ips || !value_equal(ips, old_ips) || !changed)
                return service;
        return with_spec(service, "clusterIPs", ip ? one_item(ip, c->a) : NULL, c->a);
}

int allocate_service(struct call *c, const struct value *live, const struct value **object) {
        if (live)
                *object = drop_dependent(c, live, normalize_ips(c, live, *object));
        if (needs_ip(*object) && allocate_ip(c, live, object) < 0)
                return -1;
        if (may_have_ports(*object) && check_ports(c, live, *object) < 0)
                return -1;
        if (may_have_ports(*object))
                *object = allocate_ports(c, live, *object);
        return 0;
}
