/* SPDX-License-Identifier: Apache-2.0 */
/* Node ports of Services. Source: as service.c. */
#include <inttypes.h>

#include "sandbox/service.h"
#include "sandbox/status.h"

static int64_t number_of(const struct value *port, const char *field) {
        int64_t n = 0;

        value_to_i64(value_getc(port, field), &n);
        return n;
}

static const struct value *ports_of(const struct value *service) {
        return service_spec(service, "ports");
}

static bool is_among(const struct value *const *ports, size_t count, int64_t number) {
        for (size_t i = 0; i < count; i++)
                if (number_of(ports[i], "nodePort") == number)
                        return true;
        return false;
}

static bool is_node_port(const struct value *service, int64_t number) {
        const struct value *ports = ports_of(service);

        return ports && is_among(ports->list.items, value_count(ports), number);
}

static const struct value *with_number(struct service_change *m, const struct value *port, int64_t number) {
        return value_with(m->c->a, port, STR("nodePort"), number ? value_int(m->c->a, number, 0) : NULL);
}

/* Does the server allot some? */
static bool wants_ports(const struct value *service) {
        return service_may_have_ports(service) &&
               (str_eqc(value_text(service_spec(service, "type")), "NodePort") ||
                value_truth(service_spec(service, "allocateLoadBalancerNodePorts"), true));
}

/* ---- kept ones ---- */

/* The last port of that name: names are told apart before this only when the Service is valid. */
static int64_t old_number(const struct value *live, struct str name) {
        const struct value *ports = ports_of(live);

        for (size_t i = value_count(ports); i-- > 0;)
                if (str_eq(value_text(value_getc(ports->list.items[i], "name")), name))
                        return number_of(ports->list.items[i], "nodePort");
        return 0;
}

void service_keep_ports(struct service_change *m) {
        const struct value *ports = ports_of(m->service);
        struct value_list_builder list = { 0 };

        if (!value_count(ports) || !wants_ports(m->live) || !wants_ports(m->service))
                return;
        for (size_t i = 0; i < value_count(ports); i++) {
                const struct value *port = ports->list.items[i];
                int64_t old = old_number(m->live, value_text(value_getc(port, "name")));

                if (number_of(port, "nodePort") == 0 && old && !is_node_port(m->service, old))
                        port = with_number(m, port, old);
                value_list_add(&list, port);
        }
        service_set(m, "ports", value_list_end(&list, m->c->a, 0));
}

/* ---- new ones ---- */

static int refuse(struct service_change *m, size_t index, int64_t number, const char *why) {
        causes_add(&m->causes, "FieldValueInvalid", arena_strf(m->c->a, "spec.ports[%zu].nodePort", index),
                   "Invalid value: %" PRId64 ": %s", number, why);
        return service_refuse(m);
}

static int take_given(struct service_change *m, size_t index, int64_t number) {
        const char *why = allot_given_port(&m->allotment, number);

        return why ? refuse(m, index, number, why) : 0;
}

/* The first node port among `ports` for the same port: TCP and UDP share one. */
static int64_t shared_number(const struct value *const *ports, size_t count, int64_t port) {
        for (size_t i = 0; i < count; i++)
                if (number_of(ports[i], "port") == port && number_of(ports[i], "nodePort"))
                        return number_of(ports[i], "nodePort");
        return 0;
}

static int first_number(struct service_change *m, size_t index, const struct value *const *done, int64_t *number) {
        const struct value *ports = ports_of(m->service);
        int64_t port = number_of(ports->list.items[index], "port"), shared = shared_number(done, index, port);

        if (*number == 0 && !wants_ports(m->service))
                return 0;
        if (shared && *number && *number != shared)
                return take_given(m, index, *number);
        if (shared) {
                *number = shared;
                return 0;
        }
        *number = shared_number(ports->list.items, value_count(ports), port);
        if (*number)
                return take_given(m, index, *number);
        *number = allot_port(&m->allotment);
        return 0;
}

/* The server's handler stops at that, with an error that has no reason. */
static int check_twice(struct service_change *m, const struct value *const *done, size_t count,
                       const struct value *port) {
        struct str protocol = value_text(value_getc(port, "protocol"));

        for (size_t i = 0; i < count; i++)
                if (number_of(done[i], "nodePort") == number_of(port, "nodePort") && number_of(port, "nodePort") &&
                    str_eq(value_text(value_getc(done[i], "protocol")), protocol))
                        return status_internal(m->c, "duplicate nodePort: {%.*s %" PRId64 "}", STR_FMT(protocol),
                                               number_of(port, "nodePort"));
        return 0;
}

static int next_number(struct service_change *m, size_t index, const struct value *const *done, int64_t *number) {
        if (*number == 0 && !wants_ports(m->service))
                return 0;
        if (*number == 0)
                *number = allot_port(&m->allotment);
        else if (!is_node_port(m->live, *number) && !is_among(done, index, *number))
                return take_given(m, index, *number);
        return 0;
}

static int number_ports(struct service_change *m) {
        const struct value *ports = ports_of(m->service);
        size_t count = value_count(ports);
        const struct value **done = arena_alloc(m->c->a, (count + 1) * sizeof *done);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < count; i++) {
                int64_t number = number_of(ports->list.items[i], "nodePort");
                int r = m->live ? next_number(m, i, done, &number) : first_number(m, i, done, &number);

                done[i] = with_number(m, ports->list.items[i], number);
                if (r == 0 && m->live)
                        r = check_twice(m, done, i, done[i]);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < count; i++)
                value_list_add(&list, done[i]);
        service_set(m, "ports", value_list_end(&list, m->c->a, 0));
        return 0;
}

static int take_health_port(struct service_change *m) {
        int64_t number = number_of(value_getc(m->service, "spec"), "healthCheckNodePort");
        const char *why = number ? allot_given_port(&m->allotment, number) : NULL;
        const struct cause cause = {
                .message = arena_strf(m->c->a, "failed to allocate requested HealthCheck NodePort %" PRId64 ": %s",
                                      number, why ? why : ""),
        };
        const struct status_details d = { .causes = &cause, .cause_count = 1 };

        if (why)
                return status_refuse(m->c, 500, "InternalError", &d, "Internal error occurred: %.*s",
                                     STR_FMT(cause.message));
        if (!number)
                service_set(m, "healthCheckNodePort", value_int(m->c->a, allot_port(&m->allotment), 0));
        return 0;
}

int service_allot_ports(struct service_change *m) {
        if (value_count(ports_of(m->service)) && service_may_have_ports(m->service) && number_ports(m) < 0)
                return -1;
        return service_needs_health_port(m->service) ? take_health_port(m) : 0;
}

int service_change_ports(struct service_change *m) {
        if (value_count(ports_of(m->service)) && service_may_have_ports(m->service) && number_ports(m) < 0)
                return -1;
        return service_needs_health_port(m->service) && !service_needs_health_port(m->live) ? take_health_port(m) : 0;
}

/* ---- dropped ones ---- */

void service_drop_ports(struct service_change *m) {
        const struct value *ports = ports_of(m->service);
        struct value_list_builder list = { 0 };

        if (!value_count(ports) || !service_may_have_ports(m->live) || service_may_have_ports(m->service))
                return;
        for (size_t i = 0; i < value_count(ports); i++) {
                int64_t number = number_of(ports->list.items[i], "nodePort");

                if (number && !is_node_port(m->live, number)) {
                        value_list_drop(&list);
                        return; /* a new one: validation tells */
                }
                value_list_add(&list, with_number(m, ports->list.items[i], 0));
        }
        service_set(m, "ports", value_list_end(&list, m->c->a, 0));
}
