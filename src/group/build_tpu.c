/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment of TPU slices. libtpu is told all hosts of its slice and which of them it is:
 *
 *      TPU_WORKER_HOSTNAMES    "<pod>.<subdomain>" of each host, once per container that requests TPUs
 *      TPU_WORKER_ID           position in that list
 *      TPU_NAME                the leader's name
 *      TPU_PROCESS_ADDRESSES   the same list with ports
 *      TPU_PROCESS_PORT        8476 and upwards, by container; unless the container has one already
 *
 * A slice is a subgroup, or the group without subgroups. A leader that requests no TPUs is no host; workers are taken
 * for alike, and for having as many containers with TPUs as the pod at hand, as upstream takes them. Nothing is set
 * when the first of these containers brings hosts or an id of its own.
 */
#include "group/build_impl.h"

#include "base/limits.h"

#define FIRST_PORT 8476

/* Is an amount zero? Quantities are numbers with a suffix: a digit above 0 before it, and it is not. */
static bool is_zero(const struct value *amount) {
        int64_t number;

        if (!amount || value_is(amount, VALUE_NULL))
                return true;
        if (value_to_i64(amount, &number))
                return number == 0;
        struct str text = value_is(amount, VALUE_DECIMAL) ? amount->text : value_text(amount);
        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] >= '1' && text.p[i] <= '9')
                        return false;
                if (text.p[i] != '0' && text.p[i] != '.' && text.p[i] != '+' && text.p[i] != '-')
                        break;
        }
        return true;
}

static bool container_requests(const struct value *container) {
        return !is_zero(value_path(container, "resources", "limits", "google.com/tpu", NULL)) ||
               !is_zero(value_path(container, "resources", "requests", "google.com/tpu", NULL));
}

static size_t count_requests(const struct value *containers) {
        size_t count = 0;

        for (size_t i = 0; value_is(containers, VALUE_LIST) && i < containers->list.count; i++)
                count += container_requests(containers->list.items[i]);
        return count;
}

bool build_requests_tpu(const struct value *template) {
        const struct value *spec = value_getc(template, "spec");

        return count_requests(value_getc(spec, "containers")) || count_requests(value_getc(spec, "initContainers"));
}

static const struct value *variable_of(const struct value *container, const char *name) {
        const struct value *env = value_getc(container, "env");

        for (size_t i = 0; value_is(env, VALUE_LIST) && i < env->list.count; i++)
                if (str_eqc(value_text(value_getc(env->list.items[i], "name")), name))
                        return env->list.items[i];
        return NULL;
}

/* A pod's containers that request TPUs: containers first, then init containers. */
struct tpu_process {
        struct str port;
        bool own_port; /* the container's environment has it */
};
struct tpu {
        struct tpu_process *processes;
        size_t count;
        bool given; /* the first one has hosts or an id */
        struct str hosts, addresses;
        size_t first_id;
};

static void find_processes(struct arena *a, const struct value *containers, struct tpu *t) {
        for (size_t i = 0; value_is(containers, VALUE_LIST) && i < containers->list.count; i++) {
                const struct value *c = containers->list.items[i], *port = variable_of(c, "TPU_PROCESS_PORT");

                if (!container_requests(c))
                        continue;
                if (!t->count)
                        t->given = variable_of(c, "TPU_WORKER_HOSTNAMES") || variable_of(c, "TPU_WORKER_ID");
                struct str text = value_text(value_getc(port, "value"));
                t->processes[t->count] = (struct tpu_process){
                        text.n ? text : arena_strf(a, "%zu", FIRST_PORT + t->count),
                        port != NULL,
                };
                t->count++;
        }
}

/* Is a member a host of the pod's slice? */
static bool is_host(const struct build_pod *p, int32_t worker) {
        if (worker == p->at->worker)
                return true;
        if (group_subgroup_index(p->t, worker) != p->subgroup)
                return false;
        return worker || build_requests_tpu(build_template(p->t, 0));
}

static void add_host(const struct build_pod *p, int32_t worker, const struct tpu *t, struct buf *hosts,
                     struct buf *addresses) {
        struct str pod = group_name_pod(p->a, p->s->name, p->at->group, worker);

        for (size_t i = 0; i < t->count; i++) {
                const char *comma = hosts->n ? "," : "";

                buf_addf(hosts, "%s%.*s.%.*s", comma, STR_FMT(pod), STR_FMT(p->subdomain));
                buf_addf(addresses, "%s%.*s.%.*s:%.*s", comma, STR_FMT(pod), STR_FMT(p->subdomain),
                         STR_FMT(t->processes[i].port));
        }
}

/* False: the lists are longer than a variable may be, and the pod gets none. */
static bool find_hosts(const struct build_pod *p, struct tpu *t) {
        _cleanup_(buf_done) struct buf hosts = buf_make(GROUP_MAX_VARIABLE_BYTES);
        _cleanup_(buf_done) struct buf addresses = buf_make(GROUP_MAX_VARIABLE_BYTES);
        size_t count = 0;

        for (int32_t w = 0; w < p->t->size && !addresses.overflow; w++) {
                if (!is_host(p, w))
                        continue;
                if (w == p->at->worker)
                        t->first_id = count * t->count;
                add_host(p, w, t, &hosts, &addresses);
                count++;
        }
        t->hosts = arena_str(p->a, buf_str(&hosts));
        t->addresses = arena_str(p->a, buf_str(&addresses));
        return !addresses.overflow;
}

static const struct value *with_tpu(const struct build_pod *p, const struct value *container, const struct tpu *t,
                                    size_t i) {
        const struct build_variable variables[] = {
                { "TPU_WORKER_HOSTNAMES", t->hosts },
                { "TPU_WORKER_ID", arena_strf(p->a, "%zu", t->first_id + i) },
                { "TPU_NAME", p->leader },
                { "TPU_PROCESS_ADDRESSES", t->addresses },
                { "TPU_PROCESS_PORT", t->processes[i].port },
        };
        size_t count = ARRAY_LEN(variables) - t->processes[i].own_port;

        return build_with_variables(p->a, container, variables, count, BUILD_LAST);
}

/* The list with variables in each container that requests TPUs; *at counts them over both lists. */
static const struct value *with_each(const struct build_pod *p, const struct value *spec, const char *which,
                                     const struct tpu *t, size_t *at) {
        const struct value *containers = value_getc(spec, which);
        struct value_list_builder list = { 0 };

        if (!count_requests(containers))
                return spec;
        for (size_t i = 0; i < containers->list.count; i++) {
                const struct value *c = containers->list.items[i];

                value_list_add(&list, container_requests(c) ? with_tpu(p, c, t, (*at)++) : c);
        }
        return value_with(p->a, spec, str_from(which), value_list_end(&list, p->a, 0));
}

const struct value *build_tpu(const struct build_pod *p, const struct value *spec) {
        const struct value *containers = value_getc(spec, "containers"), *init = value_getc(spec, "initContainers");
        struct tpu t = { 0 };
        size_t at = 0;

        t.processes = arena_alloc(p->a, (value_count(containers) + value_count(init)) * sizeof *t.processes);
        find_processes(p->a, containers, &t);
        find_processes(p->a, init, &t);
        if (!t.count || t.given || !find_hosts(p, &t))
                return spec;
        spec = with_each(p, spec, "containers", &t, &at);
        return with_each(p, spec, "initContainers", &t, &at);
}
