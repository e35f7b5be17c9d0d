/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler, for where it matters which Node a Pod is on: one pass over all Pods that wait, the important and the
 * old first. It looks at what can make a Pod wait: cordons, taints, nodeSelector and required node affinity, requests,
 * required affinity and anti-affinity between Pods. Of the Nodes that remain it takes the one with the fewest Pods.
 * Preferences, spread constraints, volumes and ports are nothing to it, and it preempts nobody. The twin of
 * tests/cluster/controlplane/sim/place.go.
 *
 * Source: pkg/scheduler/framework/plugins of Kubernetes v1.37: the order in which they look, and their words.
 */
#include <stdlib.h>

#include "sandbox/controllers_pod.h"
#include "sandbox/serve.h"
#include "sandbox/validate_impl.h"

#define MAX_AMOUNTS 32 /* kinds of resources */
#define NANO_UNITS  ((quantity)1000000000)
#define REQUIRED    "requiredDuringSchedulingIgnoredDuringExecution"

struct amounts {
        struct {
                struct str name;
                quantity n;
        } items[MAX_AMOUNTS];
        size_t count;
};

struct seat {
        const struct value *node;
        struct str name;
        struct amounts used;
        const struct value **pods;
        size_t pod_count, pod_cap;
};

/* What a pass knows; all in the look's arena. */
struct place {
        struct look *l;
        struct seat *seats; /* by name */
        size_t seat_count;
        struct version **waiting;
        size_t waiting_count;
        struct str *why; /* of those that wait: why there is no Node for them */
};

/* Texts with how often each was said. */
struct reasons {
        struct {
                struct str text;
                unsigned count;
        } items[MAX_AMOUNTS + 8];
        size_t count;
};

/* ---- requests ---- */

static quantity *amount_at(struct amounts *m, struct str name) {
        for (size_t i = 0; i < m->count; i++)
                if (str_eq(m->items[i].name, name))
                        return &m->items[i].n;
        if (m->count == MAX_AMOUNTS)
                return NULL;
        m->items[m->count].name = name;
        m->items[m->count].n = 0;
        return &m->items[m->count++].n;
}

static void add_amount(struct amounts *m, struct str name, quantity n) {
        quantity *at = amount_at(m, name);

        if (at)
                *at += n;
}

static void add_amounts(struct amounts *m, const struct amounts *more) {
        for (size_t i = 0; i < more->count; i++)
                add_amount(m, more->items[i].name, more->items[i].n);
}

static void raise_amounts(struct amounts *m, const struct amounts *least) {
        for (size_t i = 0; i < least->count; i++) {
                quantity *at = amount_at(m, least->items[i].name);

                if (at && *at < least->items[i].n)
                        *at = least->items[i].n;
        }
}

static void add_map(struct amounts *m, const struct value *map) {
        for (size_t i = 0; i < value_count(map); i++)
                add_amount(m, map->map.members[i].key, quantity_of(map->map.members[i].value));
}

static const struct value *item_at(const struct value *list, size_t i) {
        return list->list.items[i];
}

/* Init containers run one after the other, beside the sidecars that came before. */
static struct amounts init_amounts(const struct value *spec, struct amounts *sidecars) {
        const struct value *list = value_getc(spec, "initContainers");
        struct amounts most = { 0 };

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *requests = value_path(item_at(list, i), "resources", "requests", NULL);
                struct amounts now;

                if (str_eqc(value_text(value_getc(item_at(list, i), "restartPolicy")), "Always"))
                        add_map(sidecars, requests);
                now = *sidecars;
                if (!str_eqc(value_text(value_getc(item_at(list, i), "restartPolicy")), "Always"))
                        add_map(&now, requests);
                raise_amounts(&most, &now);
        }
        return most;
}

static struct amounts requests_of(const struct value *pod) {
        const struct value *spec = value_getc(pod, "spec"), *list = value_getc(spec, "containers");
        const struct value *own = value_path(spec, "resources", "requests", NULL);
        struct amounts sum = { 0 }, sidecars = { 0 };
        struct amounts init = init_amounts(spec, &sidecars);

        for (size_t i = 0; i < value_count(list); i++)
                add_map(&sum, value_path(item_at(list, i), "resources", "requests", NULL));
        add_amounts(&sum, &sidecars);
        raise_amounts(&sum, &init);
        for (size_t i = 0; i < value_count(own); i++) {
                quantity *at = amount_at(&sum, own->map.members[i].key);

                if (at)
                        *at = quantity_of(own->map.members[i].value);
        }
        add_map(&sum, value_getc(spec, "overhead"));
        return sum;
}

/* ---- seats ---- */

/* node-2 comes before node-10. */
static int compare_names(struct str a, struct str b) {
        return a.n != b.n ? (a.n < b.n ? -1 : 1) : str_cmp(a, b);
}

static int by_seat(const void *a, const void *b) {
        return compare_names(((const struct seat *)a)->name, ((const struct seat *)b)->name);
}

static void sit(struct place *p, struct seat *s, const struct value *pod) {
        struct amounts m = requests_of(pod);

        if (s->pod_count == s->pod_cap) {
                size_t cap = s->pod_cap ? 2 * s->pod_cap : 8;
                const struct value **pods = arena_alloc(p->l->a, cap * sizeof *pods);

                if (s->pod_count)
                        memcpy(pods, s->pods, s->pod_count * sizeof *pods);
                s->pods = pods;
                s->pod_cap = cap;
        }
        s->pods[s->pod_count++] = pod;
        add_amounts(&s->used, &m);
}

static struct shelf *shelf_of(const struct look *l, const char *plural) {
        return store_shelf(l->ctl->s->store, (struct str){ 0 }, str_from(plural));
}

static void gather_seats(struct place *p) {
        const struct shelf *nodes = shelf_of(p->l, "nodes");

        p->seats = arena_zalloc(p->l->a, (nodes->count + 1) * sizeof *p->seats);
        for (size_t i = 0; i < nodes->count; i++)
                if (node_is_simulated(p->l->ctl, nodes->items[i]->value)) {
                        struct version *v = look_hold(p->l, nodes->items[i]);

                        p->seats[p->seat_count++] = (struct seat){ .node = v->value, .name = v->name };
                }
        qsort(p->seats, p->seat_count, sizeof *p->seats, by_seat);
}

static void seat_pod(struct place *p, struct version *v, struct str node) {
        for (size_t i = 0; i < p->seat_count; i++)
                if (str_eq(p->seats[i].name, node)) {
                        sit(p, &p->seats[i], look_hold(p->l, v)->value);
                        return;
                }
}

static int64_t priority_of(const struct value *pod) {
        return int_or(value_path(pod, "spec", "priority", NULL), 0);
}

static int by_turn(const void *left, const void *right) {
        const struct version *a = *(struct version *const *)left, *b = *(struct version *const *)right;
        int64_t pa = priority_of(a->value), pb = priority_of(b->value);
        int r = pa == pb ? str_cmp(meta_text(a->value, "creationTimestamp"), meta_text(b->value, "creationTimestamp"))
                         : (pa > pb ? -1 : 1);

        if (r == 0)
                r = str_cmp(a->namespace, b->namespace);
        return r ? r : compare_names(a->name, b->name);
}

static void gather(struct place *p) {
        const struct shelf *pods = shelf_of(p->l, "pods");

        gather_seats(p);
        p->waiting = arena_alloc(p->l->a, (pods->count + 1) * sizeof *p->waiting);
        for (size_t i = 0; i < pods->count; i++) {
                struct version *v = pods->items[i];
                struct str node = value_text(value_path(v->value, "spec", "nodeName", NULL));

                if (node.n && !pod_is_ended(v->value))
                        seat_pod(p, v, node);
                else if (!node.n && !is_deleting(v->value) && pod_wants_binding(v->value))
                        p->waiting[p->waiting_count++] = look_hold(p->l, v);
        }
        qsort(p->waiting, p->waiting_count, sizeof *p->waiting, by_turn);
        p->why = arena_zalloc(p->l->a, (p->waiting_count + 1) * sizeof *p->why);
}

/* ---- reasons ---- */

static void add_reason(struct reasons *r, struct str text, unsigned count) {
        size_t i = 0;

        while (i < r->count && !str_eq(r->items[i].text, text))
                i++;
        if (i == ARRAY_LEN(r->items))
                return;
        if (i == r->count) {
                r->items[r->count].text = text;
                r->items[r->count++].count = 0;
        }
        r->items[i].count += count;
}

static int by_text(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static struct str explain(const struct place *p, const struct reasons *r) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);
        struct str texts[ARRAY_LEN(r->items)];

        if (p->seat_count == 0)
                return STR("no nodes available to schedule pods");
        for (size_t i = 0; i < r->count; i++)
                texts[i] = arena_strf(p->l->a, "%u %.*s", r->items[i].count, STR_FMT(r->items[i].text));
        qsort(texts, r->count, sizeof *texts, by_text);
        buf_addf(&out, "0/%zu nodes are available: ", p->seat_count);
        for (size_t i = 0; i < r->count; i++)
                buf_addf(&out, "%s%.*s", i ? ", " : "", STR_FMT(texts[i]));
        buf_addc(&out, ".");
        return arena_str(p->l->a, buf_str(&out));
}

/* ---- Nodes ---- */

static const struct value *taint_of(struct arena *a, const char *key, const char *effect) {
        return make_map(a, "key", make_text(a, key), "effect", make_text(a, effect), NULL);
}

/*
 * A Node that does not answer is out of reach also before the taint that says so is there, and one that does is within,
 * although its "not ready" may not have been taken away.
 */
static bool has_taint_against(const struct place *p, const struct value *node, const struct value *pod) {
        static const char *const judged[] = { "node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready",
                                              "node.kubernetes.io/unschedulable" };
        const struct value *list = value_path(node, "spec", "taints", NULL);

        if (node_is_down(node) && !pod_tolerates(pod, taint_of(p->l->a, judged[0], "NoSchedule"), NULL))
                return true;
        for (size_t i = 0; i < value_count(list); i++) {
                struct str key = value_text(value_getc(item_at(list, i), "key"));
                bool is_hard = !str_eqc(value_text(value_getc(item_at(list, i), "effect")), "PreferNoSchedule");

                for (size_t k = 0; k < ARRAY_LEN(judged); k++)
                        is_hard &= !str_eqc(key, judged[k]);
                if (is_hard && !pod_tolerates(pod, item_at(list, i), NULL))
                        return true;
        }
        return false;
}

static bool matches_expression(struct arena *a, const struct value *node, const struct value *e, bool is_field) {
        static const struct {
                const char *name;
                enum selector_op op;
        } ops[] = {
                { "In", SELECT_IN },         { "NotIn", SELECT_NOT_IN },
                { "Exists", SELECT_EXISTS }, { "DoesNotExist", SELECT_MISSING },
                { "Gt", SELECT_ABOVE },      { "Lt", SELECT_BELOW },
        };
        const struct value *values = value_getc(e, "values");
        struct str *texts = arena_alloc(a, (value_count(values) + 1) * sizeof *texts);
        struct label_requirement q = { .key = value_text(value_getc(e, "key")), .values = texts };
        const struct selector s = { .labels = &q, .label_count = 1 };

        q.count = value_count(values);
        for (size_t i = 0; i < q.count; i++)
                texts[i] = value_text(item_at(values, i));
        for (size_t i = 0; i < ARRAY_LEN(ops); i++)
                if (str_eqc(value_text(value_getc(e, "operator")), ops[i].name))
                        q.op = ops[i].op;
        if (is_field) /* the only field is its name: as if that were a label */
                node = with_meta_pair(a, &value_empty_map, "labels", q.key, value_path(node, "metadata", "name", NULL));
        return select_matches(&s, node);
}

static bool matches_term(struct arena *a, const struct value *node, const struct value *term) {
        static const char *const lists[] = { "matchExpressions", "matchFields" };
        size_t count = 0;

        for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
                const struct value *list = value_getc(term, lists[k]);

                count += value_count(list);
                for (size_t i = 0; i < value_count(list); i++)
                        if (!matches_expression(a, node, item_at(list, i), k == 1))
                                return false;
        }
        return count > 0;
}

bool pod_matches_node(struct arena *a, const struct value *node, const struct value *pod) {
        const struct value *wanted = value_path(pod, "spec", "nodeSelector", NULL);
        const struct value *required = value_path(pod, "spec", "affinity", "nodeAffinity", REQUIRED, NULL);
        const struct value *terms = value_getc(required, "nodeSelectorTerms");

        for (size_t i = 0; i < value_count(wanted); i++)
                if (!value_equal(value_get(value_path(node, "metadata", "labels", NULL), wanted->map.members[i].key),
                                 wanted->map.members[i].value))
                        return false;
        for (size_t i = 0; i < value_count(terms); i++)
                if (matches_term(a, node, item_at(terms, i)))
                        return true;
        return !required;
}

static void missing(const struct place *p, const struct seat *s, const struct value *pod, struct reasons *ret) {
        const struct value *has = value_path(s->node, "status", "allocatable", NULL);
        const struct value *pods = value_getc(has, "pods");
        struct amounts m = requests_of(pod);

        if (pods && (quantity)s->pod_count * NANO_UNITS >= quantity_of(pods))
                add_reason(ret, STR("Too many pods"), 1);
        for (size_t i = 0; i < m.count; i++) {
                struct amounts used = s->used;
                const struct value *limit = value_get(has, m.items[i].name);
                quantity *at = amount_at(&used, m.items[i].name);

                if (m.items[i].n > 0 && (!limit || !at || *at + m.items[i].n > quantity_of(limit)))
                        add_reason(ret, arena_strf(p->l->a, "Insufficient %.*s", STR_FMT(m.items[i].name)), 1);
        }
}

/* ---- affinity between Pods ---- */

static const struct value *terms_of(const struct value *pod, const char *kind) {
        return value_path(pod, "spec", "affinity", kind, REQUIRED, NULL);
}

static bool is_in_namespace(const struct place *p, const struct value *term, const struct value *owner,
                            struct str namespace) {
        const struct value *list = value_getc(term, "namespaces"), *selector = value_getc(term, "namespaceSelector");

        if (!value_count(list) && !selector)
                return str_eq(meta_text(owner, "namespace"), namespace);
        for (size_t i = 0; i < value_count(list); i++)
                if (str_eq(value_text(item_at(list, i)), namespace))
                        return true;
        const struct value *object =
                sandbox_get(p->l->ctl->s, (struct str){ 0 }, STR("namespaces"), (struct str){ 0 }, namespace);
        return label_selector_matches(selector, value_path(object, "metadata", "labels", NULL));
}

/* Does a term of `owner` select the other Pod? */
static bool selects(const struct place *p, const struct value *term, const struct value *owner,
                    const struct value *other) {
        return is_in_namespace(p, term, owner, meta_text(other, "namespace")) &&
               label_selector_matches(value_getc(term, "labelSelector"), value_path(other, "metadata", "labels", NULL));
}

static bool all_select(const struct place *p, const struct value *terms, const struct value *owner,
                       const struct value *other) {
        for (size_t i = 0; i < value_count(terms); i++)
                if (!selects(p, item_at(terms, i), owner, other))
                        return false;
        return true;
}

static const struct value *domain(const struct value *node, const struct value *term) {
        return value_get(value_path(node, "metadata", "labels", NULL), value_text(value_getc(term, "topologyKey")));
}

static bool is_same_domain(const struct value *a, const struct value *b, const struct value *term) {
        return domain(a, term) && value_equal(domain(a, term), domain(b, term));
}

/* Is there a Pod that `which` (terms, or one of them) select, in the Node's domain of the term? NULL node: in any. */
static bool has_pod(const struct place *p, const struct value *node, const struct value *term,
                    const struct value *which, const struct value *owner) {
        for (size_t i = 0; i < p->seat_count; i++) {
                const struct seat *s = &p->seats[i];

                if (node ? !is_same_domain(s->node, node, term) : !domain(s->node, term))
                        continue;
                for (size_t k = 0; k < s->pod_count; k++)
                        if (all_select(p, which, owner, s->pods[k]))
                                return true;
        }
        return false;
}

/*
 * Each term has a Pod in the Node's domain, and that Pod is one that all terms select. The first of a group, which all
 * its terms select and nobody else yet, may be anywhere where there is a domain.
 */
static bool is_near_enough(const struct place *p, const struct value *node, const struct value *pod) {
        const struct value *terms = terms_of(pod, "podAffinity");
        bool near = true, any = false;

        for (size_t i = 0; i < value_count(terms); i++) {
                if (!domain(node, item_at(terms, i)))
                        return false;
                near = near && has_pod(p, node, item_at(terms, i), terms, pod);
                any = any || has_pod(p, NULL, item_at(terms, i), terms, pod);
        }
        return near || (!any && all_select(p, terms, pod, pod));
}

/* Does the Pod keep from Pods that are there? */
static bool is_too_near(const struct place *p, const struct value *node, const struct value *pod) {
        const struct value *terms = terms_of(pod, "podAntiAffinity");

        for (size_t i = 0; i < value_count(terms); i++)
                if (has_pod(p, node, item_at(terms, i), make_list(p->l->a, item_at(terms, i)), pod))
                        return true;
        return false;
}

/* Does a Pod on another Node keep from it, would it come to this one? */
static bool keeps_from(const struct place *p, const struct value *other, const struct value *its_node,
                       const struct value *node, const struct value *pod) {
        const struct value *terms = terms_of(other, "podAntiAffinity");

        for (size_t i = 0; i < value_count(terms); i++)
                if (is_same_domain(its_node, node, item_at(terms, i)) && selects(p, item_at(terms, i), other, pod))
                        return true;
        return false;
}

static bool is_unwelcome(const struct place *p, const struct value *node, const struct value *pod) {
        for (size_t i = 0; i < p->seat_count; i++)
                for (size_t k = 0; k < p->seats[i].pod_count; k++)
                        if (keeps_from(p, p->seats[i].pods[k], p->seats[i].node, node, pod))
                                return true;
        return false;
}

static struct str affinity_against(const struct place *p, const struct value *node, const struct value *pod) {
        if (!is_near_enough(p, node, pod))
                return STR("node(s) didn't match pod affinity rules");
        if (is_too_near(p, node, pod))
                return STR("node(s) didn't match pod anti-affinity rules");
        if (is_unwelcome(p, node, pod))
                return STR("node(s) didn't satisfy existing pods anti-affinity rules");
        return (struct str){ 0 };
}

/* ---- one Pod ---- */

static struct str node_against(const struct place *p, const struct seat *s, const struct value *pod) {
        bool is_cordoned = value_truth(value_path(s->node, "spec", "unschedulable", NULL), false);

        if (is_cordoned &&
            !pod_tolerates(pod, taint_of(p->l->a, "node.kubernetes.io/unschedulable", "NoSchedule"), NULL))
                return STR("node(s) were unschedulable");
        if (has_taint_against(p, s->node, pod))
                return STR("node(s) had untolerated taint(s)");
        if (!pod_matches_node(p->l->a, s->node, pod))
                return STR("node(s) didn't match Pod's node affinity/selector");
        return (struct str){ 0 };
}

/* What speaks against a Node, as far as a scheduler looks: the first kind of reason ends it. */
static bool fits(const struct place *p, const struct seat *s, const struct value *pod, struct reasons *reasons) {
        struct reasons short_of = { 0 };
        struct str against = node_against(p, s, pod);

        if (!against.n)
                missing(p, s, pod, &short_of);
        for (size_t i = 0; i < short_of.count; i++)
                add_reason(reasons, short_of.items[i].text, 1);
        if (!against.n && !short_of.count)
                against = affinity_against(p, s->node, pod);
        if (against.n)
                add_reason(reasons, against, 1);
        return !against.n && !short_of.count;
}

static struct seat *find_seat(struct place *p, const struct value *pod, struct str *ret_why) {
        struct reasons reasons = { 0 };
        struct seat *best = NULL;

        for (size_t i = 0; i < p->seat_count; i++)
                if (fits(p, &p->seats[i], pod, &reasons) && (!best || p->seats[i].pod_count < best->pod_count))
                        best = &p->seats[i];
        if (!best)
                *ret_why = explain(p, &reasons);
        return best;
}

static void bind(struct place *p, struct version *v, struct seat *s) {
        write_aim(p->l->c, (struct str){ 0 }, STR("pods"), v->namespace, v->name);
        serve_bind(p->l->c, v, s->name);
        look_scheduled(p->l, v->value, s->name);
        sit(p, s, v->value);
}

static void tell(struct place *p, struct version *v, struct str why) {
        struct arena *a = p->l->a;
        const struct value *old = value_path(v->value, "status", "conditions", NULL), *list, *c;

        list = pod_set_condition(p->l, v->value, old, "PodScheduled", "Unschedulable");
        c = condition_find(list, "PodScheduled");
        list = items_with(a, condition_without(a, list, "PodScheduled"),
                          value_with(a, c, STR("message"), make_str(a, why)));
        if (value_equal(list, old))
                return;
        write_aim(p->l->c, (struct str){ 0 }, STR("pods"), v->namespace, v->name);
        write_change(p->l->c, v, with2(a, v->value, "status", "conditions", list), "status");
        look_unscheduled(p->l, v->value, why);
}

/* Those that found none are looked at again as long as others find one that may be whom they waited for. */
static void place_all(struct place *p) {
        for (bool is_moving = true; is_moving;) {
                size_t left = 0;

                is_moving = false;
                for (size_t i = 0; i < p->waiting_count; i++) {
                        struct version *v = p->waiting[i];
                        struct str why;
                        struct seat *s = find_seat(p, v->value, &why);

                        if (s) {
                                bind(p, v, s);
                                is_moving = true;
                        } else {
                                p->why[left] = why;
                                p->waiting[left++] = v;
                        }
                }
                p->waiting_count = left;
        }
        for (size_t i = 0; i < p->waiting_count; i++)
                tell(p, p->waiting[i], p->why[i]);
}

bool pod_wants_binding(const struct value *pod) {
        return value_count(value_path(pod, "spec", "schedulingGates", NULL)) == 0 &&
               !pod_is_annotated(pod, PODSIM "hold", "pending");
}

bool place_run(struct look *l) {
        struct place p = { .l = l };

        if (!l->ctl->may_place)
                return true;
        l->ctl->may_place = false;
        l->c->manager = STR("kube-scheduler");
        l->c->user = STR("system:kube-scheduler");
        gather(&p);
        place_all(&p);
        return true;
}

/* ---- when to look ---- */

static bool waits(const struct version *v) {
        return v && !value_text(value_path(v->value, "spec", "nodeName", NULL)).n && !is_deleting(v->value) &&
               pod_wants_binding(v->value);
}

/* Does it take room? */
static bool sits(const struct version *v) {
        return v && value_text(value_path(v->value, "spec", "nodeName", NULL)).n && !pod_is_ended(v->value);
}

static bool is_alike(const struct version *before, const struct version *after) {
        return before && after && value_equal(value_getc(before->value, "spec"), value_getc(after->value, "spec")) &&
               value_equal(value_path(before->value, "metadata", "labels", NULL),
                           value_path(after->value, "metadata", "labels", NULL)) &&
               waits(before) == waits(after);
}

static void wake_one(struct controllers *ctl) {
        const struct shelf *pods = store_shelf(ctl->s->store, (struct str){ 0 }, STR("pods"));

        for (size_t i = 0; i < pods->count; i++)
                if (waits(pods->items[i])) {
                        controllers_wake(ctl, RES_POD, pods->items[i]->namespace, pods->items[i]->name, 1);
                        return;
                }
}

void place_note(struct controllers *ctl, const struct version *before, const struct version *after) {
        if (waits(after) && !is_alike(before, after)) {
                ctl->may_place = true;
        } else if (sits(before) != sits(after) ||
                   (sits(before) && !value_equal(value_path(before->value, "metadata", "labels", NULL),
                                                 value_path(after->value, "metadata", "labels", NULL)))) {
                ctl->may_place = true;
                if (!node_only(ctl).n)
                        wake_one(ctl);
        }
}
