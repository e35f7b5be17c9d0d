/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/gates.h"

struct gate {
        struct informer *informer;
        char *ns, *name;
        char *rv;        /* a write: as new as that; NULL: a deletion, or not known */
        char *uid;       /* a deletion: of what is to be gone; NULL otherwise */
        bool at_once;    /* a deletion without grace */
        unsigned number; /* of a refresh; 0: none was asked for */
        int64_t since_ms;
};

static void gate_done(struct gate *gate) {
        free(gate->ns);
        free(gate->name);
        free(gate->rv);
        free(gate->uid);
}

void gates_clear(struct gates *g) {
        for (size_t i = 0; i < g->count; i++)
                gate_done(&g->items[i]);
        free(g->items);
        *g = (struct gates){ 0 };
}

static struct gate *add(struct gates *g, struct informer *i, struct str ns, struct str name, int64_t now_ms) {
        struct gate *gate;

        g->items = mem_grow(g->items, &g->cap, g->count + 1, sizeof *g->items);
        gate = &g->items[g->count++];
        *gate = (struct gate){ .informer = i, .ns = str_dup(ns), .name = str_dup(name), .since_ms = now_ms };
        return gate;
}

void gates_written(struct gates *g, struct informer *i, struct str ns, struct str name, struct str rv, int64_t now_ms) {
        add(g, i, ns, name, now_ms)->rv = str_dup(rv);
}

void gates_deleted(struct gates *g, struct informer *i, struct str ns, struct str name, struct str uid,
                   int64_t now_ms) {
        add(g, i, ns, name, now_ms)->uid = str_dup(uid);
}

void gates_ended(struct gates *g, struct informer *i, struct str ns, struct str name, struct str uid, int64_t now_ms) {
        struct gate *gate = add(g, i, ns, name, now_ms);

        gate->uid = str_dup(uid);
        gate->at_once = true;
}

void gates_unknown(struct gates *g, struct informer *i, struct str ns, struct str name, int64_t now_ms) {
        add(g, i, ns, name, now_ms)->number = informer_refresh(i);
}

static bool is_gone(const struct gate *gate) {
        const struct kept *k = informer_at(gate->informer, str_from(gate->ns), str_from(gate->name));

        return !k || !str_eqc(k->uid, gate->uid);
}

static bool is_open(const struct gate *gate) {
        struct str ns = str_from(gate->ns), name = str_from(gate->name);

        if (gate->number && informer_is_fresh(gate->informer, gate->number))
                return true;
        if (gate->rv)
                return informer_saw(gate->informer, ns, name, str_from(gate->rv));
        if (gate->at_once)
                return is_gone(gate);
        return gate->uid && informer_saw_end(gate->informer, ns, name, str_from(gate->uid));
}

int64_t gates_wait_ms(struct gates *g, int64_t now_ms) {
        int64_t wait = 0;
        size_t kept = 0;

        for (size_t i = 0; i < g->count; i++) {
                struct gate *gate = &g->items[i];
                int64_t left = gate->since_ms + GATES_UNSEEN_MS - now_ms;

                if (is_open(gate)) {
                        gate_done(gate);
                        continue;
                }
                if (left <= 0 && !gate->number)
                        gate->number = informer_refresh(gate->informer);
                if (left <= 0)
                        left = GATES_UNSEEN_MS;
                wait = !wait || left < wait ? left : wait;
                g->items[kept++] = *gate;
        }
        g->count = kept;
        return wait;
}
