/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/allocate.h"

#include <inttypes.h>

#include "base/map.h"
#include "sandbox/prepare.h"

#define FIRST_IP     256 /* the first addresses are kept for those who ask for one */
#define IP_COUNT     65534
#define FIRST_PORT   30000
#define PORT_COUNT   2768
#define DRY_RUN_IP   "10.96.0.0" /* what the server shows when nothing is allotted */
#define DRY_RUN_PORT 32768       /* … and the port before the first */

struct allocator {
        struct map *taken; /* "10.96.1.2", "30080" */
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

static void note(struct allocator *al, struct str key, bool is_taken) {
        if (key.n == 0 || str_eqc(key, "None"))
                return;
        if (is_taken)
                map_set(al->taken, key, al);
        else
                map_remove(al->taken, key);
}

static struct str port_key(int64_t port, struct buf *out) {
        buf_clear(out);
        buf_addf(out, "%" PRId64, port);
        return buf_str(out);
}

static void note_port(struct allocator *al, const struct value *port, bool is_taken) {
        _cleanup_(buf_done) struct buf key = buf_make(64);
        int64_t number = 0;

        if (value_to_i64(port, &number) && number)
                note(al, port_key(number, &key), is_taken);
}

static void note_service(struct allocator *al, const struct value *service, bool is_taken) {
        const struct value *ports = spec_of(service, "ports");

        note(al, value_text(spec_of(service, "clusterIP")), is_taken);
        note_port(al, spec_of(service, "healthCheckNodePort"), is_taken);
        for (size_t i = 0; i < value_count(ports); i++)
                note_port(al, value_getc(ports->list.items[i], "nodePort"), is_taken);
}

void allocator_tell(struct allocator *al, const struct value *before, const struct value *after) {
        note_service(al, before, false);
        note_service(al, after, true);
}

/* ---- addresses ---- */

struct str allot_ip(struct call *c) {
        struct str ip;

        if (c->dry_run)
                return STR(DRY_RUN_IP);
        do {
                uint64_t n = FIRST_IP + loop_random(c->s->loop, IP_COUNT - FIRST_IP);

                ip = arena_strf(c->a, "10.96.%" PRIu64 ".%" PRIu64, n / 256, n % 256);
        } while (map_find(c->s->allocator->taken, ip));
        return ip;
}

const char *allot_given_ip(struct call *c, struct str ip) {
        if (!str_starts(ip, STR("10.96.")) && c->dry_run)
                return arena_strf(c->a,
                                  "the provided IP (%.*s) is not in the valid range. The range of valid IPs is "
                                  "10.96.0.0/16",
                                  STR_FMT(ip))
                        .p;
        if (!str_starts(ip, STR("10.96.")))
                return "the provided network does not match the current range";
        return map_find(c->s->allocator->taken, ip) ? "provided IP is already allocated" : NULL;
}

/* ---- node ports ---- */

static bool is_taken(const struct allotment *m, int64_t port) {
        _cleanup_(buf_done) struct buf key = buf_make(64);

        for (size_t i = 0; i < m->count; i++)
                if (m->ports[i] == port)
                        return true;
        return map_find(m->c->s->allocator->taken, port_key(port, &key));
}

static void take(struct allotment *m, int64_t port) {
        if (m->count == m->cap) {
                int64_t *more = arena_alloc(m->c->a, (m->cap * 2 + 8) * sizeof *more);

                if (m->count)
                        memcpy(more, m->ports, m->count * sizeof *more);
                m->ports = more;
                m->cap = m->cap * 2 + 8;
        }
        m->ports[m->count++] = port;
}

int64_t allot_port(struct allotment *m) {
        int64_t port = DRY_RUN_PORT;

        if (m->c->dry_run) {
                for (size_t i = 0; i < m->count; i++)
                        port = i == 0 || m->ports[i] > port ? m->ports[i] : port;
                port++;
        } else
                do
                        port = FIRST_PORT + (int64_t)loop_random(m->c->s->loop, PORT_COUNT);
                while (is_taken(m, port));
        take(m, port);
        return port;
}

const char *allot_given_port(struct allotment *m, int64_t port) {
        if (!m->c->dry_run && (port < FIRST_PORT || port >= FIRST_PORT + PORT_COUNT))
                return "provided port is not in the valid range. The range of valid ports is 30000-32767";
        if (is_taken(m, port))
                return "provided port is already allocated";
        take(m, port);
        return NULL;
}
