/* SPDX-License-Identifier: Apache-2.0 */
/* Own writes that the cache has not shown yet. */
#include "agent/groups_impl.h"

static void gate_done(struct gate *gate) {
        free(gate->name);
        free(gate->rv);
        free(gate->uid);
}

void gates_clear(struct set *s) {
        for (size_t i = 0; i < s->gate_count; i++)
                gate_done(&s->gates[i]);
        free(s->gates);
        s->gates = NULL;
        s->gate_count = s->gate_cap = 0;
}

static struct gate *add(struct set *s, enum groups_table table, struct str name) {
        struct gate *gate;

        s->gates = mem_grow(s->gates, &s->gate_cap, s->gate_count + 1, sizeof *s->gates);
        gate = &s->gates[s->gate_count++];
        *gate = (struct gate){ .table = table, .name = str_dup(name), .since_ms = loop_now_ms(s->groups->env.loop) };
        return gate;
}

void gate_written(struct set *s, enum groups_table table, struct str name, struct str rv) {
        add(s, table, name)->rv = str_dup(rv);
}

void gate_deleted(struct set *s, enum groups_table table, struct str name, struct str uid) {
        add(s, table, name)->uid = str_dup(uid);
}

void gate_unknown(struct set *s, enum groups_table table, struct str name) {
        add(s, table, name)->number = groups_cache_refresh(s->groups->cache, table);
}

static bool is_open(const struct set *s, const struct gate *gate) {
        const struct groups_cache *c = s->groups->cache;

        if (gate->number && groups_cache_is_fresh(c, gate->table, gate->number))
                return true;
        if (gate->rv)
                return groups_cache_saw(c, gate->table, s->ns, str_from(gate->name), str_from(gate->rv));
        return gate->uid && groups_cache_saw_end(c, gate->table, s->ns, str_from(gate->name), str_from(gate->uid));
}

int64_t gates_wait_ms(struct set *s) {
        int64_t now = loop_now_ms(s->groups->env.loop), wait = 0;
        size_t kept = 0;

        for (size_t i = 0; i < s->gate_count; i++) {
                struct gate *gate = &s->gates[i];
                int64_t left = gate->since_ms + GROUPS_UNSEEN_MS - now;

                if (is_open(s, gate)) {
                        gate_done(gate);
                        continue;
                }
                if (left <= 0 && !gate->number)
                        gate->number = groups_cache_refresh(s->groups->cache, gate->table);
                if (left <= 0)
                        left = GROUPS_UNSEEN_MS;
                wait = !wait || left < wait ? left : wait;
                s->gates[kept++] = *gate;
        }
        s->gate_count = kept;
        return wait;
}
