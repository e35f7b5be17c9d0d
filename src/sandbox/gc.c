/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gc.h"

#include "base/map.h"
#include "sandbox/write.h"

#define STEP_MS       20
#define STEP_LOOKS    200  /* objects of one step: requests are served in between */
#define KEY_MAX_BYTES 2048 /* of four names */
#define ORPHAN        "orphan"
#define FOREGROUND    "foregroundDeletion"

/* Where an object stands; strings of its own. */
struct place {
        struct shelf *shelf;
        char *namespace, *name;
};

/* Everything known of one uid: the object, if it exists, and who names it as owner. */
struct node {
        bool exists;
        bool gone; /* it did, and was seen to go */
        struct place at;
        struct place *dependents;
        size_t count, cap;
};

struct gc {
        struct sandbox *s;
        struct map *nodes; /* uid → struct node */
        struct loop_timer *timer;
        struct place *queue; /* objects to look at, each once */
        size_t count, cap;
        struct map *queued; /* their keys */
};

/* ---- places ---- */

static struct place place_make(struct shelf *shelf, struct str namespace, struct str name) {
        return (struct place){ shelf, str_dup(namespace), str_dup(name) };
}

static void place_done(struct place *p) {
        free(p->namespace);
        free(p->name);
}

static bool place_is(const struct place *p, const struct shelf *shelf, const struct version *v) {
        return p->shelf == shelf && str_eqc(v->name, p->name) && str_eqc(v->namespace, p->namespace);
}

static struct version *place_find(const struct place *p) {
        return shelf_find(p->shelf, str_from(p->namespace), str_from(p->name));
}

static void add_key(struct buf *out, const struct shelf *shelf, struct str namespace, struct str name) {
        const struct str parts[] = { shelf->group, shelf->plural, namespace, name };

        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                buf_add(out, parts[i]);
                buf_addch(out, '/');
        }
}

static void enqueue(struct gc *g, struct shelf *shelf, struct str namespace, struct str name) {
        _cleanup_(buf_done) struct buf key = buf_make(KEY_MAX_BYTES);

        add_key(&key, shelf, namespace, name);
        if (map_find(g->queued, buf_str(&key)))
                return;
        map_set(g->queued, buf_str(&key), g);
        g->queue = mem_grow(g->queue, &g->cap, g->count + 1, sizeof *g->queue);
        g->queue[g->count++] = place_make(shelf, namespace, name);
        if (!loop_timer_is_running(g->timer))
                loop_timer_start(g->timer, STEP_MS);
}

/* ---- the index ---- */

static void node_free(void *p) {
        struct node *n = p;

        for (size_t i = 0; i < n->count; i++)
                place_done(&n->dependents[i]);
        place_done(&n->at);
        free(n->dependents);
        free(n);
}

static struct node *node_of(struct gc *g, struct str uid) {
        struct node *n = map_find(g->nodes, uid);

        if (!n) {
                n = mem_zalloc(sizeof *n);
                map_set(g->nodes, uid, n);
        }
        return n;
}

static void node_drop_if_idle(struct gc *g, struct str uid, const struct node *n) {
        if (!n->exists && n->count == 0)
                map_remove(g->nodes, uid);
}

static const struct value *owners_of(const struct version *v) {
        const struct value *list = v ? value_path(v->value, "metadata", "ownerReferences", NULL) : NULL;

        return value_is(list, VALUE_LIST) ? list : &value_empty_list;
}

static bool has_finalizer(const struct value *object, const char *name) {
        const struct value *list = value_path(object, "metadata", "finalizers", NULL);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eqc(value_text(list->list.items[i]), name))
                        return true;
        return false;
}

static bool is_deleting(const struct value *object) {
        return value_path(object, "metadata", "deletionTimestamp", NULL);
}

static bool waits_for_dependents(const struct value *object) {
        return is_deleting(object) && has_finalizer(object, FOREGROUND);
}

static bool was_seen_to_go(const struct gc *g, struct str uid) {
        const struct node *n = map_find(g->nodes, uid);

        return n && n->gone;
}

enum owner { OWNER_THERE, OWNER_ABSENT, OWNER_UNKNOWN };

/*
 * The owner is what the whole reference names, in the dependent's namespace or in none; another one with that uid is none
 * (attemptToDeleteItem() → isDangling()). Of a kind that is not served, or of a cluster-wide object's owner in a
 * namespace, it cannot be said, and nothing is done, unless the owner was seen to go (absentOwnerCache): with its
 * definition, say.
 */
static enum owner find_owner(const struct gc *g, const struct value *ref, struct str namespace,
                             const struct version **ret) {
        const struct kind *kind = kinds_of_kind(g->s->kinds, value_text(value_getc(ref, "apiVersion")),
                                                value_text(value_getc(ref, "kind")));

        if (!kind || !kind->shelf || (kind->resource->namespaced && namespace.n == 0))
                return was_seen_to_go(g, value_text(value_getc(ref, "uid"))) ? OWNER_ABSENT : OWNER_UNKNOWN;
        const struct version *v = shelf_find(kind->shelf, kind->resource->namespaced ? namespace : (struct str){ 0 },
                                             value_text(value_getc(ref, "name")));
        if (!v || !str_eq(meta_text(v->value, "uid"), value_text(value_getc(ref, "uid"))))
                return OWNER_ABSENT;
        *ret = v;
        return OWNER_THERE;
}

/* An owner that is being deleted may have waited for this dependent. */
static void enqueue_waiting_owner(struct gc *g, struct str uid) {
        const struct node *n = map_find(g->nodes, uid);
        const struct version *owner = n && n->exists ? place_find(&n->at) : NULL;

        if (owner && is_deleting(owner->value))
                enqueue(g, n->at.shelf, owner->namespace, owner->name);
}

static void forget_dependent(struct gc *g, const struct value *ref, const struct shelf *shelf, const struct version *v) {
        struct str uid = value_text(value_getc(ref, "uid"));
        struct node *n = map_find(g->nodes, uid);

        for (size_t i = 0; n && i < n->count; i++) {
                if (!place_is(&n->dependents[i], shelf, v))
                        continue;
                place_done(&n->dependents[i]);
                n->dependents[i] = n->dependents[--n->count];
                node_drop_if_idle(g, uid, n);
                break;
        }
        enqueue_waiting_owner(g, uid);
}

static void note_dependent(struct gc *g, const struct value *ref, struct shelf *shelf, const struct version *v) {
        struct node *n = node_of(g, value_text(value_getc(ref, "uid")));
        const struct version *owner;

        n->dependents = mem_grow(n->dependents, &n->cap, n->count + 1, sizeof *n->dependents);
        n->dependents[n->count++] = place_make(shelf, v->namespace, v->name);
        if (find_owner(g, ref, v->namespace, &owner) != OWNER_THERE)
                enqueue(g, shelf, v->namespace, v->name);
}

static void index_owners(struct gc *g, struct shelf *shelf, const struct version *before, const struct version *after) {
        const struct value *old = owners_of(before), *now = owners_of(after);

        if (before && after && value_equal(old, now))
                return;
        for (size_t i = 0; before && i < old->list.count; i++)
                forget_dependent(g, old->list.items[i], shelf, before);
        for (size_t i = 0; after && i < now->list.count; i++)
                note_dependent(g, now->list.items[i], shelf, after);
}

static void enqueue_dependents(struct gc *g, const struct node *n) {
        for (size_t i = 0; i < n->count; i++)
                enqueue(g, n->dependents[i].shelf, str_from(n->dependents[i].namespace),
                        str_from(n->dependents[i].name));
}

static void tell_gone(struct gc *g, const struct version *before) {
        struct str uid = meta_text(before->value, "uid");
        struct node *n = map_find(g->nodes, uid);

        if (!n)
                return;
        n->exists = false;
        n->gone = true;
        enqueue_dependents(g, n);
        node_drop_if_idle(g, uid, n);
}

/* A kind that comes into service may be an owner's. */
static void tell_definition(struct gc *g) {
        size_t at = 0;
        void *p;

        while (map_next(g->nodes, &at, NULL, &p)) {
                const struct node *n = p;

                if (!n->exists)
                        enqueue_dependents(g, n);
        }
}

static bool is_definition(const struct kind *kind) {
        return str_eqc(kind->resource->kind, "CustomResourceDefinition") &&
               str_eqc(kind->resource->group, "apiextensions.k8s.io");
}

void gc_tell(struct gc *g, const struct kind *kind, const struct version *before, const struct version *after) {
        struct shelf *shelf = kind->shelf;

        if (after && !before) {
                struct node *n = node_of(g, meta_text(after->value, "uid"));

                place_done(&n->at);
                n->exists = true;
                n->at = place_make(shelf, after->namespace, after->name);
        }
        index_owners(g, shelf, before, after);
        if (!after)
                tell_gone(g, before);
        else if (is_deleting(after->value) &&
                 (has_finalizer(after->value, ORPHAN) || has_finalizer(after->value, FOREGROUND)))
                enqueue(g, shelf, after->namespace, after->name);
        if (after && is_definition(kind))
                tell_definition(g);
}

static int by_key(const void *a, const void *b) {
        return str_cmp((*(struct version *const *)a)->key, (*(struct version *const *)b)->key);
}

size_t gc_dependents(const struct gc *g, struct str uid, const struct shelf *shelf, struct arena *a,
                     struct version ***ret) {
        const struct node *n = map_find(g->nodes, uid);
        struct version **list = arena_alloc(a, (n ? n->count : 0) * sizeof *list);
        size_t count = 0;

        for (size_t i = 0; n && i < n->count; i++) {
                struct version *v = n->dependents[i].shelf == shelf ? place_find(&n->dependents[i]) : NULL;

                if (v)
                        list[count++] = v;
        }
        qsort(list, count, sizeof *list, by_key);
        *ret = list;
        return count;
}

/* ---- work ---- */

static bool aim(struct call *c, const struct place *p) {
        return write_aim(c, p->shelf->group, p->shelf->plural, arena_str(c->a, str_from(p->namespace)),
                         arena_str(c->a, str_from(p->name)));
}

static const struct value *without_finalizer(const struct value *object, const char *name, struct arena *a) {
        const struct value *old = value_path(object, "metadata", "finalizers", NULL);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                if (!str_eqc(value_text(old->list.items[i]), name))
                        value_list_add(&list, old->list.items[i]);
        bool is_empty = list.count == 0;
        const struct value *finalizers = value_list_end(&list, a, 0);
        return meta_with(object, "finalizers", is_empty ? NULL : finalizers, a);
}

static void drop_finalizer(struct call *c, const struct place *p, const char *name) {
        struct version *live = aim(c, p) ? write_find(c) : NULL;

        if (live)
                write_change(c, live, without_finalizer(live->value, name, c->a), "");
}

/* The references for which keep() says no are taken out. */
static const struct value *owners_without(const struct value *object, const struct value *gone, struct arena *a) {
        const struct value *old = value_path(object, "metadata", "ownerReferences", NULL);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++) {
                const struct value *uid = value_getc(old->list.items[i], "uid");
                bool is_gone = false;

                for (size_t k = 0; k < gone->list.count; k++)
                        is_gone |= value_equal(uid, gone->list.items[k]);
                if (!is_gone)
                        value_list_add(&list, old->list.items[i]);
        }
        bool is_empty = list.count == 0;
        const struct value *owners = value_list_end(&list, a, 0);
        return meta_with(object, "ownerReferences", is_empty ? NULL : owners, a);
}

static void drop_owners(struct call *c, const struct place *p, const struct value *uids) {
        struct version *live = aim(c, p) ? write_find(c) : NULL;

        if (live)
                write_change(c, live, owners_without(live->value, uids, c->a), "");
}

static void orphan_dependents(struct gc *g, struct call *c, const struct place *at, const struct value *uid) {
        struct value_list_builder list = { 0 };
        struct node *n;

        value_list_add(&list, uid);
        const struct value *uids = value_list_end(&list, c->a, 0);
        /* Each write takes one out of the index. */
        while ((n = map_find(g->nodes, value_text(uid))) && n->count > 0) {
                size_t before = n->count;

                struct place dependent = place_make(n->dependents[0].shelf, str_from(n->dependents[0].namespace),
                                                    str_from(n->dependents[0].name));
                drop_owners(c, &dependent, uids);
                place_done(&dependent);
                if ((n = map_find(g->nodes, value_text(uid))) && n->count >= before)
                        return;
        }
        drop_finalizer(c, at, ORPHAN);
}

static bool blocks(const struct version *dependent, struct str uid) {
        const struct value *owners = owners_of(dependent);

        for (size_t i = 0; i < owners->list.count; i++)
                if (str_eq(value_text(value_getc(owners->list.items[i], "uid")), uid))
                        return value_truth(value_getc(owners->list.items[i], "blockOwnerDeletion"), false);
        return false;
}

/* Foreground: dependents first; the owner goes when none that blocks it is left. */
static void wait_for_dependents(struct gc *g, struct call *c, const struct place *at, struct str uid) {
        const struct node *n = map_find(g->nodes, uid);
        bool is_blocked = false;

        for (size_t i = 0; n && i < n->count; i++) {
                const struct version *v = place_find(&n->dependents[i]);

                if (!v || !blocks(v, uid))
                        continue;
                is_blocked = true;
                if (!is_deleting(v->value))
                        enqueue(g, n->dependents[i].shelf, v->namespace, v->name);
        }
        if (!is_blocked)
                drop_finalizer(c, at, FOREGROUND);
}

struct owners {
        size_t solid, waiting;
        bool unknown;                      /* of one it cannot be said */
        struct value_list_builder dropped; /* uids of absent and waiting ones */
};

static struct owners classify(struct gc *g, const struct version *v) {
        const struct value *list = owners_of(v);
        struct owners o = { 0 };

        for (size_t i = 0; i < list->list.count; i++) {
                const struct version *owner;
                enum owner found = find_owner(g, list->list.items[i], v->namespace, &owner);
                bool waits = found == OWNER_THERE && waits_for_dependents(owner->value);

                o.unknown |= found == OWNER_UNKNOWN;
                o.waiting += waits;
                o.solid += found == OWNER_THERE && !waits;
                if (found == OWNER_ABSENT || waits)
                        value_list_add(&o.dropped, value_getc(list->list.items[i], "uid"));
        }
        return o;
}

static bool has_waiting_dependent(const struct node *n) {
        for (size_t i = 0; i < n->count; i++) {
                const struct version *v = place_find(&n->dependents[i]);

                if (v && waits_for_dependents(v->value))
                        return true;
        }
        return false;
}

static const struct value *unblocked(const struct version *v, struct arena *a) {
        const struct value *old = owners_of(v);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < old->list.count; i++) {
                const struct value *ref = old->list.items[i];

                if (value_truth(value_getc(ref, "blockOwnerDeletion"), false))
                        ref = value_with(a, ref, STR("blockOwnerDeletion"), value_bool(a, false, 0));
                value_list_add(&list, ref);
        }
        return meta_with(v->value, "ownerReferences", value_list_end(&list, a, 0), a);
}

/* Owners that wait for each other would do so for ever: one that has dependents which wait, too, blocks its owners no more. */
static void delete_in_turn(struct call *c, struct version *v, const struct node *self,
                           const struct delete_options *how) {
        bool is_gone;

        if (has_waiting_dependent(self)) {
                write_change(c, v, unblocked(v, c->a), "");
                v = write_find(c);
        }
        if (v)
                write_delete(c, v, how, &is_gone, NULL);
}

static void look_at_owners(struct gc *g, struct call *c, const struct place *at, struct version *v) {
        struct owners o = classify(g, v);
        bool has_dropped = o.dropped.count > 0;
        const struct value *dropped = value_list_end(&o.dropped, c->a, 0);
        const struct node *self = map_find(g->nodes, meta_text(v->value, "uid"));
        bool is_gone;

        if (o.unknown || !has_dropped)
                return;
        if (o.solid) {
                drop_owners(c, at, dropped);
                return;
        }
        bool in_turn = o.waiting && self && self->count;
        const struct delete_options how = {
                .propagation = has_finalizer(v->value, ORPHAN)                       ? STR("Orphan")
                               : in_turn || has_finalizer(v->value, FOREGROUND) ? STR("Foreground")
                                                                                : STR("Background"),
        };
        if (in_turn)
                delete_in_turn(c, v, self, &how);
        else
                write_delete(c, v, &how, &is_gone, NULL);
}

static void look_at(struct gc *g, const struct place *at) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sandbox_reply reply = { 0 };
        struct call c;

        call_begin(&c, g->s, a, &reply, "kube-controller-manager");
        struct version *v = aim(&c, at) ? write_find(&c) : NULL;
        if (v && is_deleting(v->value) && has_finalizer(v->value, ORPHAN))
                orphan_dependents(g, &c, at, value_dup(a, value_path(v->value, "metadata", "uid", NULL)));
        else if (v && is_deleting(v->value) && has_finalizer(v->value, FOREGROUND))
                wait_for_dependents(g, &c, at, arena_str(a, meta_text(v->value, "uid")));
        else if (v && !is_deleting(v->value))
                look_at_owners(g, &c, at, v);
        call_end(&c);
}

static void forget_queued(struct gc *g, const struct place *p) {
        _cleanup_(buf_done) struct buf key = buf_make(KEY_MAX_BYTES);

        add_key(&key, p->shelf, str_from(p->namespace), str_from(p->name));
        map_remove(g->queued, buf_str(&key));
}

/* Takes the first ones out; what they set off comes behind those that wait. */
static size_t take_queued(struct gc *g, struct place ret[STEP_LOOKS]) {
        size_t count = g->count < STEP_LOOKS ? g->count : STEP_LOOKS;

        memcpy(ret, g->queue, count * sizeof *ret);
        g->count -= count;
        memmove(g->queue, g->queue + count, g->count * sizeof *g->queue);
        for (size_t i = 0; i < count; i++)
                forget_queued(g, &ret[i]);
        return count;
}

static void on_timer(void *ctx) {
        struct gc *g = ctx;
        struct place places[STEP_LOOKS];
        size_t count = g->count ? take_queued(g, places) : 0;

        if (g->count)
                loop_timer_start(g->timer, STEP_MS);
        for (size_t i = 0; i < count; i++) {
                look_at(g, &places[i]);
                place_done(&places[i]);
        }
}

/* ---- life ---- */

struct gc *gc_new(struct sandbox *s) {
        struct gc *g = mem_zalloc(sizeof *g);

        g->s = s;
        g->nodes = map_new(node_free);
        g->queued = map_new(NULL);
        g->timer = loop_timer_new(s->loop, on_timer, g);
        return g;
}

void gc_free(struct gc *g) {
        if (!g)
                return;
        loop_timer_free(g->timer);
        for (size_t i = 0; i < g->count; i++)
                place_done(&g->queue[i]);
        free(g->queue);
        map_free(g->queued);
        map_free(g->nodes);
        free(g);
}
