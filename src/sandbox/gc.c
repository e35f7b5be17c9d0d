/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gc.h"

#include "base/map.h"
#include "sandbox/write.h"

#define STEP_MS    20
#define ORPHAN     "orphan"
#define FOREGROUND "foregroundDeletion"

/* Where an object stands; strings of its own. */
struct place {
        struct shelf *shelf;
        char *namespace, *name;
};

/* Everything known of one uid: the object, if it exists, and who names it as owner. */
struct node {
        bool exists;
        struct place at;
        struct place *dependents;
        size_t count, cap;
};

struct gc {
        struct sandbox *s;
        struct map *nodes; /* uid → struct node */
        struct loop_timer *timer;
        struct place *queue; /* objects to look at */
        size_t count, cap;
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

static void enqueue(struct gc *g, struct shelf *shelf, struct str namespace, struct str name) {
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

static void forget_dependent(struct gc *g, struct str uid, const struct shelf *shelf, const struct version *v) {
        struct node *n = map_find(g->nodes, uid);

        for (size_t i = 0; n && i < n->count; i++) {
                if (!place_is(&n->dependents[i], shelf, v))
                        continue;
                place_done(&n->dependents[i]);
                n->dependents[i] = n->dependents[--n->count];
                node_drop_if_idle(g, uid, n);
                return;
        }
}

static void note_dependent(struct gc *g, struct str uid, struct shelf *shelf, const struct version *v) {
        struct node *n = node_of(g, uid);

        n->dependents = mem_grow(n->dependents, &n->cap, n->count + 1, sizeof *n->dependents);
        n->dependents[n->count++] = place_make(shelf, v->namespace, v->name);
        if (!n->exists)
                enqueue(g, shelf, v->namespace, v->name);
}

static void index_owners(struct gc *g, struct shelf *shelf, const struct version *before, const struct version *after) {
        const struct value *old = owners_of(before), *now = owners_of(after);

        if (before && after && value_equal(old, now))
                return;
        for (size_t i = 0; before && i < old->list.count; i++)
                forget_dependent(g, value_text(value_getc(old->list.items[i], "uid")), shelf, before);
        for (size_t i = 0; after && i < now->list.count; i++)
                note_dependent(g, value_text(value_getc(now->list.items[i], "uid")), shelf, after);
}

static void enqueue_dependents(struct gc *g, const struct node *n) {
        for (size_t i = 0; i < n->count; i++)
                enqueue(g, n->dependents[i].shelf, str_from(n->dependents[i].namespace),
                        str_from(n->dependents[i].name));
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

static void tell_gone(struct gc *g, const struct version *before) {
        struct str uid = meta_text(before->value, "uid");
        struct node *n = map_find(g->nodes, uid);
        const struct value *owners = owners_of(before);

        if (n) {
                n->exists = false;
                enqueue_dependents(g, n);
                node_drop_if_idle(g, uid, n);
        }
        /* An owner may have waited for this one. */
        for (size_t i = 0; i < owners->list.count; i++) {
                const struct node *owner = map_find(g->nodes, value_text(value_getc(owners->list.items[i], "uid")));

                if (owner && owner->exists)
                        enqueue(g, owner->at.shelf, str_from(owner->at.namespace), str_from(owner->at.name));
        }
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
        struct value_list_builder dropped; /* uids of absent and waiting ones */
};

static struct owners classify(struct gc *g, const struct version *v) {
        const struct value *list = owners_of(v);
        struct owners o = { 0 };

        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *uid = value_getc(list->list.items[i], "uid");
                const struct node *n = uid ? map_find(g->nodes, value_text(uid)) : NULL;
                const struct version *owner = n && n->exists ? place_find(&n->at) : NULL;
                bool waits = owner && is_deleting(owner->value) && has_finalizer(owner->value, FOREGROUND);

                o.waiting += waits;
                o.solid += owner && !waits;
                if (uid && (!owner || waits))
                        value_list_add(&o.dropped, uid);
        }
        return o;
}

static void look_at_owners(struct gc *g, struct call *c, const struct place *at, struct version *v) {
        struct owners o = classify(g, v);
        bool has_dropped = o.dropped.count > 0;
        const struct value *dropped = value_list_end(&o.dropped, c->a, 0);
        const struct node *self = map_find(g->nodes, meta_text(v->value, "uid"));
        bool is_gone;

        if (o.solid || !has_dropped) {
                if (has_dropped)
                        drop_owners(c, at, dropped);
                return;
        }
        bool foreground = (o.waiting && self && self->count) || has_finalizer(v->value, FOREGROUND);
        const struct delete_options how = {
                .propagation = has_finalizer(v->value, ORPHAN) ? STR("Orphan")
                               : foreground                    ? STR("Foreground")
                                                               : STR("Background"),
        };
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

static void on_timer(void *ctx) {
        struct gc *g = ctx;
        struct place *queue = g->queue;
        size_t count = g->count;

        g->queue = NULL;
        g->count = g->cap = 0;
        for (size_t i = 0; i < count; i++) {
                look_at(g, &queue[i]);
                place_done(&queue[i]);
        }
        free(queue);
}

/* ---- life ---- */

struct gc *gc_new(struct sandbox *s) {
        struct gc *g = mem_zalloc(sizeof *g);

        g->s = s;
        g->nodes = map_new(node_free);
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
        map_free(g->nodes);
        free(g);
}
