/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated Nodes: made at the start, or by whoever creates one that asks for it; Ready, or lost. A Node that answers
 * no more gets the status and the taints that a node controller gives it. Those that are deleted in that state are
 * gone; the first one of a sandbox and a Node that is deleted while it answers go on.
 */
#include "sandbox/controllers_pod.h"

#include "sandbox/serve.h"

#define UNREACHABLE "node.kubernetes.io/unreachable"
#define NEVER       "NodeStatusNeverUpdated"

/* ---- what is known ---- */

/* Is it one of those made at the start? */
static bool is_own(const struct controllers *ctl, struct str name) {
        const struct sandbox_nodes *n = &ctl->s->options.nodes;
        int64_t number;

        if (n->count == 0)
                return str_eqc(name, SANDBOX_NODE);
        return str_starts(name, STR("node-")) && str_to_i64(str_sub(name, 5, name.n), &number) && number > 0 &&
               number <= n->count;
}

bool node_is_down(const struct value *node) {
        return str_eqc(annotation(node, PODSIM "down"), "true");
}

bool node_is_simulated(const struct controllers *ctl, const struct value *node) {
        return is_own(ctl, meta_text(node, "name")) || str_eqc(annotation(node, PODSIM "node"), "true");
}

enum node_state node_state_of(const struct controllers *ctl, struct str name, const struct value **ret_node) {
        const struct value *node = sandbox_get(ctl->s, (struct str){ 0 }, STR("nodes"), (struct str){ 0 }, name);

        if (ret_node)
                *ret_node = node;
        if (!node && map_find(ctl->lost, name))
                return NODE_GONE;
        if (!node)
                return is_own(ctl, name) ? NODE_UP : NODE_FOREIGN;
        if (!node_is_simulated(ctl, node))
                return NODE_FOREIGN;
        return node_is_down(node) ? NODE_DOWN : NODE_UP;
}

static struct shelf *shelf_of(const struct controllers *ctl, const char *plural) {
        return store_shelf(ctl->s->store, (struct str){ 0 }, str_from(plural));
}

struct str node_only(const struct controllers *ctl) {
        const struct shelf *shelf = shelf_of(ctl, "nodes");

        if (ctl->s->options.nodes.count || map_find(ctl->lost, STR(SANDBOX_NODE)))
                return (struct str){ 0 };
        for (size_t i = 0; i < shelf->count; i++) {
                const struct value *node = shelf->items[i]->value;

                if (node_is_simulated(ctl, node) && (node_is_down(node) || !is_own(ctl, shelf->items[i]->name)))
                        return (struct str){ 0 };
        }
        return STR(SANDBOX_NODE);
}

const struct value *node_taint(const struct value *node, const char *key, const char *effect) {
        const struct value *list = value_path(node, "spec", "taints", NULL);

        for (size_t i = 0; i < value_count(list); i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "key")), key) &&
                    (!effect || str_eqc(value_text(value_getc(list->list.items[i], "effect")), effect)))
                        return list->list.items[i];
        return NULL;
}

static bool covers(const struct value *toleration, const struct value *taint) {
        struct str key = value_text(value_getc(toleration, "key"));
        struct str effect = value_text(value_getc(toleration, "effect"));
        bool exists = str_eqc(value_text(value_getc(toleration, "operator")), "Exists");

        if (effect.n && !str_eq(effect, value_text(value_getc(taint, "effect"))))
                return false;
        if (key.n == 0)
                return exists;
        if (!str_eq(key, value_text(value_getc(taint, "key"))))
                return false;
        return exists || str_eq(value_text(value_getc(toleration, "value")), value_text(value_getc(taint, "value")));
}

bool pod_tolerates(const struct value *pod, const struct value *taint, int64_t *ret_seconds) {
        const struct value *list = value_path(pod, "spec", "tolerations", NULL);
        int64_t least = -1;
        bool any = false;

        for (size_t i = 0; i < value_count(list); i++) {
                int64_t seconds = int_or(value_getc(list->list.items[i], "tolerationSeconds"), -1);

                if (!covers(list->list.items[i], taint))
                        continue;
                any = true;
                if (seconds >= 0 && (least < 0 || seconds < least))
                        least = seconds;
        }
        if (ret_seconds)
                *ret_seconds = least;
        return any;
}

/* ---- what a Node says ---- */

static const struct value *ready_condition(struct arena *a, const struct value *now) {
        return make_map(a, "type", make_text(a, "Ready"), "status", make_text(a, "True"), "reason",
                        make_text(a, "KubeletReady"), "message", make_text(a, "simulated"), "lastHeartbeatTime", now,
                        "lastTransitionTime", now, NULL);
}

static const struct value *amounts(struct arena *a, const struct sandbox_nodes *n) {
        return make_map(a, "cpu", make_text(a, n->cpu.n ? n->cpu.p : "1000"), "memory",
                        make_text(a, n->memory.n ? n->memory.p : "4Ti"), "pods", make_text(a, "10k"), "nvidia.com/gpu",
                        n->gpu ? make_textf(a, "%u", n->gpu) : NULL, NULL);
}

static const struct value *with_sizes(struct look *l, const struct value *status) {
        static const struct sandbox_nodes endless = { 0 };
        const struct value *sizes = value_getc(status, "allocatable");

        if (!value_count(sizes))
                sizes = value_getc(status, "capacity");
        if (!value_count(sizes))
                sizes = amounts(l->a, &endless);
        if (!value_count(value_getc(status, "capacity")))
                status = value_with(l->a, status, STR("capacity"), sizes);
        return value_with(l->a, status, STR("allocatable"), sizes);
}

static const struct value *unknown_condition(struct arena *a, const struct value *c, const struct value *now) {
        c = value_with(a, c, STR("status"), make_text(a, "Unknown"));
        c = value_with(a, c, STR("reason"), make_text(a, "NodeStatusUnknown"));
        c = value_with(a, c, STR("message"), make_text(a, "Kubelet stopped posting node status."));
        return value_with(a, c, STR("lastTransitionTime"), now);
}

static const struct value *lost_conditions(struct look *l, const struct value *old) {
        const struct value *now = make_str(l->a, l->c->now);
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                value_list_add(&b, unknown_condition(l->a, old->list.items[i], now));
        if (!condition_find(old, "Ready"))
                value_list_add(&b, make_map(l->a, "type", make_text(l->a, "Ready"), "status",
                                            make_text(l->a, "Unknown"), "reason", make_text(l->a, NEVER), "message",
                                            make_text(l->a, "Kubelet never posted node status."), "lastTransitionTime",
                                            now, NULL));
        return value_list_end(&b, l->a, 0);
}

static const struct value *taint(struct arena *a, const char *effect, const struct value *now) {
        return make_map(a, "key", make_text(a, UNREACHABLE), "effect", make_text(a, effect), "timeAdded", now, NULL);
}

/* With, or without, the two that what cannot be reached has. NULL: none. */
static const struct value *wanted_taints(struct look *l, const struct value *node) {
        const struct value *old = value_path(node, "spec", "taints", NULL), *now = make_str(l->a, l->c->now);
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                if (!str_eqc(value_text(value_getc(old->list.items[i], "key")), UNREACHABLE))
                        value_list_add(&b, old->list.items[i]);
        if (node_is_down(node)) {
                value_list_add(&b, taint(l->a, "NoSchedule", now));
                value_list_add(&b, taint(l->a, "NoExecute", now));
        }
        bool is_empty = b.count == 0;
        const struct value *list = value_list_end(&b, l->a, 0);
        return is_empty ? NULL : list;
}

static bool settle_taints(struct look *l, struct version *v) {
        const struct value *list = wanted_taints(l, v->value);

        if (value_count(list) == value_count(value_path(v->value, "spec", "taints", NULL)))
                return true;
        return look_update(l, RES_NODE, v, with2(l->a, v->value, "spec", "taints", list), "", NULL);
}

/* Its status first, then its taints: each write wakes it again. */
bool node_run(struct look *l, struct version *v) {
        const struct value *status = value_getc(v->value, "status"), *list = value_getc(status, "conditions");
        bool is_down = node_is_down(v->value);

        if (!node_is_simulated(l->ctl, v->value))
                return true;
        if (is_down) {
                l->c->manager = STR("kube-controller-manager");
                l->c->user = STR("system:serviceaccount:kube-system:node-controller");
        } else {
                l->c->user = arena_strf(l->a, "system:node:%.*s", STR_FMT(l->name));
        }
        if (condition_is(list, "Ready", is_down ? "Unknown" : "True"))
                return settle_taints(l, v);
        list = is_down ? lost_conditions(l, list) : make_list(l->a, ready_condition(l->a, make_str(l->a, l->c->now)));
        if (!is_down)
                status = with_sizes(l, status);
        return look_status(l, v, value_with(l->a, status, STR("conditions"), list));
}

/* ---- what a change of one means ---- */

static void wake_waiting(struct controllers *ctl, struct str node) {
        const struct shelf *pods = shelf_of(ctl, "pods");

        for (size_t i = 0; i < pods->count; i++) {
                struct str on = value_text(value_path(pods->items[i]->value, "spec", "nodeName", NULL));

                if (on.n == 0 || str_eq(on, node))
                        controllers_wake(ctl, RES_POD, pods->items[i]->namespace, pods->items[i]->name, 1);
        }
}

static void wake_daemons(struct controllers *ctl) {
        const struct shelf *sets = store_shelf(ctl->s->store, STR("apps"), STR("daemonsets"));

        for (size_t i = 0; i < sets->count; i++)
                controllers_wake(ctl, RES_DAEMONSET, sets->items[i]->namespace, sets->items[i]->name, 1);
}

void node_note(struct controllers *ctl, const struct version *before, const struct version *after) {
        const struct version *any = after ? after : before;
        static char here;

        if (after)
                map_remove(ctl->lost, after->name);
        else if (node_is_simulated(ctl, before->value) && (node_is_down(before->value) || !is_own(ctl, before->name)))
                map_set(ctl->lost, before->name, &here);
        ctl->may_place = true;
        wake_waiting(ctl, any->name);
        wake_daemons(ctl);
}

/* ---- making them ---- */

static const struct value *new_node(struct arena *a, struct str name, struct str zone) {
        const struct value *labels = make_map(a, "kubernetes.io/hostname", make_str(a, name), "kubernetes.io/os",
                                              make_text(a, "linux"), "kubernetes.io/arch", make_text(a, "amd64"),
                                              "topology.kubernetes.io/zone", zone.n ? make_str(a, zone) : NULL, NULL);

        return make_map(a, "apiVersion", make_text(a, "v1"), "kind", make_text(a, "Node"), "metadata",
                        make_map(a, "name", make_str(a, name), "labels", labels, NULL), NULL);
}

static void make_node(struct call *c, struct str name, struct str zone, const struct value *status) {
        write_aim(c, (struct str){ 0 }, STR("nodes"), (struct str){ 0 }, name);
        if (write_make(c, new_node(c->a, name, zone)) < 0)
                return;
        struct version *live = write_find(c);
        if (live)
                write_change(c, live, value_with(c->a, live->value, STR("status"), status), "status");
}

static const struct value *node_status(struct call *c, const char *address) {
        const struct value *sizes = amounts(c->a, &c->s->options.nodes);
        const struct value *at = make_map(c->a, "type", make_text(c->a, "InternalIP"), "address",
                                          address ? make_text(c->a, address) : NULL, NULL);

        return make_map(c->a, "capacity", sizes, "allocatable", sizes, "conditions",
                        make_list(c->a, ready_condition(c->a, make_str(c->a, c->now))), "addresses",
                        address ? make_list(c->a, at) : NULL, NULL);
}

void nodes_make(struct call *c) {
        const struct sandbox_nodes *n = &c->s->options.nodes;

        if (n->count == 0)
                make_node(c, STR(SANDBOX_NODE), (struct str){ 0 }, node_status(c, NULL));
        for (unsigned i = 1; i <= n->count; i++) {
                struct str zone = n->zones ? arena_strf(c->a, "zone-%u", (i - 1) % n->zones + 1) : (struct str){ 0 };
                struct str address = arena_strf(c->a, "10.0.%u.%u", i / 256, i % 256);

                make_node(c, arena_strf(c->a, "node-%u", i), zone, node_status(c, address.p));
        }
}
