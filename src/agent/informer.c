/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/informer.h"

#include "base/limits.h"
#include "base/map.h"
#include "kube/list.h"

struct informer {
        struct informer_options options;
        struct kube_client *client;
        struct kube_watch *watch;
        struct map *all;    /* key → struct kept */
        struct map *owners; /* owner's key → struct members */
        unsigned list;      /* number of the newest LIST */
        /* Numbers of refreshes. A LIST that was under way when one was wanted may be from before: it is none. */
        unsigned wanted, begun, fresh;
        bool synced;
};

struct members {
        struct kept **items;
        size_t count, cap;
};

/* --- who belongs to an owner ---------------------------------------------------------------------------------- */

static void members_free(void *p) {
        struct members *m = p;

        free(m->items);
        free(m);
}

static void join(struct informer *i, struct kept *k) {
        struct members *m;

        if (!k->owner.n)
                return;
        m = map_find(i->owners, k->owner);
        if (!m) {
                m = mem_zalloc(sizeof *m);
                map_set(i->owners, k->owner, m);
        }
        m->items = mem_grow(m->items, &m->cap, m->count + 1, sizeof *m->items);
        m->items[m->count++] = k;
}

static void leave(struct informer *i, const struct kept *k) {
        struct members *m = k->owner.n ? map_find(i->owners, k->owner) : NULL;

        for (size_t n = 0; m && n < m->count; n++) {
                if (m->items[n] != k)
                        continue;
                m->items[n] = m->items[--m->count];
                break;
        }
        if (m && !m->count)
                map_remove(i->owners, k->owner);
}

static void wake(const struct informer *i, struct str owner) {
        if (owner.n)
                i->options.wake(i->options.ctx, owner);
}

static void tell(const struct informer *i, const struct kept *old, const struct kept *now) {
        if (i->options.changed)
                i->options.changed(i->options.ctx, old, now);
}

/* --- one object ----------------------------------------------------------------------------------------------- */

static bool is_older(struct str rv, struct str other) {
        int order;

        return !kube_rv_cmp(rv, other, &order) || order < 0;
}

bool informer_put(struct informer *i, struct kept *now) {
        struct kept *old = map_find(i->all, now->key);

        if (old && !is_older(old->rv, now->rv)) {
                old->seen = i->list;
                i->options.release(now);
                return false;
        }
        now->seen = i->list;
        if (old)
                leave(i, old);
        join(i, now);
        tell(i, old, now);
        if (old && !str_eq(old->owner, now->owner))
                wake(i, old->owner);
        wake(i, now->owner);
        map_set(i->all, now->key, now);
        if (old)
                i->options.release(old);
        return true;
}

static void take_in(struct informer *i, struct str bytes) {
        struct kept *now = i->options.read(i->options.ctx, bytes);

        if (now)
                informer_put(i, now);
}

void informer_drop(struct informer *i, struct str key) {
        struct kept *old = map_take(i->all, key);

        if (!old)
                return;
        leave(i, old);
        tell(i, old, NULL);
        wake(i, old->owner);
        i->options.release(old);
}

/* --- the watch ------------------------------------------------------------------------------------------------ */

static void on_replace_begin(void *ctx) {
        struct informer *i = ctx;

        i->list++;
}

static void on_item(void *ctx, struct str bytes) {
        take_in(ctx, bytes);
}

static void sweep(struct informer *i, struct str resource_version) {
        size_t at = 0;
        struct str key;
        void *p;

        while (map_next(i->all, &at, &key, &p)) {
                const struct kept *k = p;

                if (k->seen != i->list && !k->pinned && is_older(k->rv, resource_version))
                        informer_drop(i, key);
        }
}

static void wake_all(const struct informer *i) {
        size_t at = 0;
        struct str owner;
        void *p;

        while (map_next(i->owners, &at, &owner, &p))
                wake(i, owner);
}

static void begin_refresh(struct informer *i) {
        i->begun = i->wanted;
        kube_watch_relist(i->watch);
}

static void on_replace_end(void *ctx, struct str resource_version) {
        struct informer *i = ctx;
        bool first = !i->synced;

        sweep(i, resource_version);
        i->synced = true;
        i->fresh = i->begun;
        if (i->wanted > i->begun)
                begin_refresh(i);
        if (!first)
                wake_all(i);
        i->options.state(i->options.ctx);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str resource_version) {
        struct informer *i = ctx;

        (void)resource_version;
        if (event != KUBE_WATCH_DELETED) {
                take_in(i, object);
                return;
        }
        struct kept *last = i->options.read(i->options.ctx, object);
        if (!last)
                return;
        const struct kept *known = map_find(i->all, last->key);
        if (known && !is_older(last->rv, known->rv))
                informer_drop(i, last->key);
        i->options.release(last);
}

static void on_state(void *ctx, const struct kube_watch_state *state) {
        const struct informer *i = ctx;

        (void)state;
        i->options.state(i->options.ctx);
}

struct informer *informer_new(struct kube_client *c, const struct informer_options *options) {
        static const struct kube_watch_handler handler = { on_replace_begin, on_item, on_replace_end, on_event,
                                                           on_state };
        struct informer *i = mem_zalloc(sizeof *i);

        i->options = *options;
        i->client = c;
        i->all = map_new(NULL);
        i->owners = map_new(members_free);
        struct kube_watch_spec spec = { .at = i->options.at,
                                        .list_label_selector = options->label_selector,
                                        .watch_label_selector = options->label_selector };
        i->watch = kube_watch_new(c, &spec, &handler, i);
        return i;
}

void informer_free(struct informer *i) {
        size_t at = 0;
        void *p;

        if (!i)
                return;
        kube_watch_free(i->watch);
        while (map_next(i->all, &at, NULL, &p))
                i->options.release(p);
        map_free(i->owners);
        map_free(i->all);
        free(i);
}

/* --- reading -------------------------------------------------------------------------------------------------- */

struct str informer_key(struct str ns, struct str name, struct arena *a) {
        return ns.n ? arena_strf(a, "%.*s/%.*s", STR_FMT(ns), STR_FMT(name)) : arena_str(a, name);
}

bool kept_read(const struct value *object, struct arena *a, struct kept *ret) {
        const struct value *metadata = value_getc(object, "metadata");
        struct str name = value_text(value_getc(metadata, "name"));

        *ret = (struct kept){ .key = informer_key(value_text(value_getc(metadata, "namespace")), name, a),
                              .name = arena_str(a, name),
                              .uid = arena_str(a, value_text(value_getc(metadata, "uid"))),
                              .rv = arena_str(a, value_text(value_getc(metadata, "resourceVersion"))),
                              .deleting = value_getc(metadata, "deletionTimestamp") != NULL };
        return name.n > 0;
}

const struct value *kept_controller(const struct value *object) {
        const struct value *owners = value_path(object, "metadata", "ownerReferences", NULL);

        for (size_t i = 0; i < value_count(owners); i++)
                if (value_truth(value_getc(owners->list.items[i], "controller"), false))
                        return owners->list.items[i];
        return NULL;
}

bool informer_is_synced(const struct informer *i) {
        return i->synced;
}

const struct err *informer_err(const struct informer *i) {
        const struct err *err = &kube_watch_state(i->watch)->err;

        return err->code ? err : NULL;
}

const struct kube_location *informer_location(const struct informer *i) {
        return &i->options.at;
}

size_t informer_count(const struct informer *i) {
        return map_count(i->all);
}

const struct kept *informer_find(const struct informer *i, struct str key) {
        return map_find(i->all, key);
}

const struct kept *informer_at(const struct informer *i, struct str ns, struct str name) {
        _cleanup_(buf_done) struct buf key = buf_make(KUBE_MAX_PATH_BYTES);

        if (ns.n)
                buf_addf(&key, "%.*s/", STR_FMT(ns));
        buf_add(&key, name);
        return map_find(i->all, buf_str(&key));
}

const struct kept *informer_next(const struct informer *i, size_t *at) {
        void *p;

        return map_next(i->all, at, NULL, &p) ? p : NULL;
}

static int by_name(const void *p, const void *q) {
        const struct kept *const *a = p, *const *b = q;

        return str_cmp((*a)->name, (*b)->name);
}

size_t informer_of(const struct informer *i, struct str owner, struct arena *a, const struct kept *const **ret_items) {
        const struct members *m = map_find(i->owners, owner);
        size_t count = m ? m->count : 0;
        const struct kept **sorted = arena_alloc(a, count * sizeof *sorted);

        for (size_t n = 0; n < count; n++)
                sorted[n] = m->items[n];
        if (count)
                qsort(sorted, count, sizeof *sorted, by_name);
        *ret_items = sorted;
        return count;
}

/* --- own writes ----------------------------------------------------------------------------------------------- */

bool informer_saw(const struct informer *i, struct str ns, struct str name, struct str rv) {
        const struct kept *k = informer_at(i, ns, name);
        int order;

        if (k && (str_eq(k->rv, rv) || (kube_rv_cmp(k->rv, rv, &order) && order >= 0)))
                return true;
        return kube_rv_cmp(kube_watch_rv(i->watch), rv, &order) && order >= 0;
}

bool informer_saw_end(const struct informer *i, struct str ns, struct str name, struct str uid) {
        const struct kept *k = informer_at(i, ns, name);

        return !k || k->deleting || !str_eq(k->uid, uid);
}

unsigned informer_refresh(struct informer *i) {
        bool lists = kube_watch_state(i->watch)->phase == KUBE_WATCH_LISTING;

        /* One that backs off begins later than now. */
        if (i->wanted == i->begun && (lists || i->fresh == i->begun))
                i->wanted++;
        if (i->wanted > i->begun && !lists)
                begin_refresh(i);
        return i->wanted;
}

bool informer_is_fresh(const struct informer *i, unsigned number) {
        return i->fresh >= number;
}

/* --- what belongs to one owner -------------------------------------------------------------------------------- */

struct informer_check {
        struct informer *informer;
        char *owner;
        struct map *seen; /* keys of what there is → anything */
        struct kube_list *list;
        void (*done)(void *ctx, const struct err *err);
        void *ctx;
};

static int on_check_item(void *ctx, struct str object, struct err *err) {
        struct informer_check *check = ctx;
        struct informer *i = check->informer;
        struct kept *now = i->options.read(i->options.ctx, object);

        (void)err;
        if (!now)
                return 0;
        map_set(check->seen, now->key, check);
        informer_put(i, now);
        return 0;
}

static void on_check_restart(void *ctx) {
        struct informer_check *check = ctx;

        map_free(check->seen);
        check->seen = map_new(NULL);
}

/* One that the list did not show and that is older than it; NULL: none. */
static const struct kept *first_gone(const struct informer_check *check, struct str resource_version) {
        const struct members *m = map_find(check->informer->owners, str_from(check->owner));

        for (size_t n = 0; m && n < m->count; n++) {
                const struct kept *k = m->items[n];

                if (!k->pinned && !map_find(check->seen, k->key) && is_older(k->rv, resource_version))
                        return k;
        }
        return NULL;
}

static void on_check_done(void *ctx, struct str resource_version, const struct kube_status *status,
                          const struct err *err) {
        struct informer_check *check = ctx;
        const struct kept *gone;

        (void)status;
        check->list = NULL;
        while (!err && (gone = first_gone(check, resource_version))) {
                _cleanup_(mem_freep) char *key = str_dup(gone->key);

                informer_drop(check->informer, str_from(key));
        }
        check->done(check->ctx, err);
}

struct informer_check *informer_check_new(struct informer *i, struct str owner, struct str ns,
                                          struct str label_selector, void (*done)(void *ctx, const struct err *err),
                                          void *ctx) {
        static const struct kube_list_handler handler = { on_check_item, on_check_restart, on_check_done };
        struct informer_check *check = mem_zalloc(sizeof *check);
        struct kube_list_spec spec = { .at = i->options.at, .label_selector = label_selector };

        *check = (struct informer_check){
                .informer = i, .owner = str_dup(owner), .seen = map_new(NULL), .done = done, .ctx = ctx
        };
        spec.at.namespace = ns;
        check->list = kube_list_start(i->client, &spec, &handler, check);
        return check;
}

void informer_check_free(struct informer_check *check) {
        if (!check)
                return;
        kube_list_cancel(check->list);
        map_free(check->seen);
        free(check->owner);
        free(check);
}
