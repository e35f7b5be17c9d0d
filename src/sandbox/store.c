/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdalign.h>

#include "base/limits.h"
#include "base/map.h"

#define KEY_MAX_BYTES 1024 /* two names of at most 253 bytes; longer ones cannot exist */

struct store {
        uint64_t rv, compacted;
        struct shelf **shelves;
        size_t shelf_count, shelf_cap;
        struct map *by_name; /* "group/plural" → shelf */
        struct shelf **ring; /* whose turn it is to forget its oldest event */
        size_t ring_first, ring_count, ring_max;
};

/* ---- versions: a value copied into one block ---- */

struct block {
        char *at;
};

/* Pointers and 64-bit numbers are all there is in a block. */
static size_t padded(size_t n) {
        return (n + alignof(struct value) - 1) / alignof(struct value) * alignof(struct value);
}

static bool has_text(const struct value *v) {
        return v->kind == VALUE_STRING || v->kind == VALUE_DECIMAL;
}

static size_t block_bytes(const struct value *v) {
        size_t n = sizeof *v;

        if (has_text(v))
                return n + padded(v->text.n + 1);
        if (v->kind == VALUE_LIST) {
                n += padded(v->list.count * sizeof *v->list.items);
                for (size_t i = 0; i < v->list.count; i++)
                        n += block_bytes(v->list.items[i]);
        } else if (v->kind == VALUE_MAP) {
                n += padded(v->map.count * sizeof *v->map.members);
                for (size_t i = 0; i < v->map.count; i++)
                        n += padded(v->map.members[i].key.n + 1) + block_bytes(v->map.members[i].value);
        }
        return n;
}

static void *block_take(struct block *b, size_t n) {
        void *p = b->at;

        b->at += padded(n);
        return p;
}

static struct str block_str(struct block *b, struct str s) {
        char *copy = block_take(b, s.n + 1);

        if (s.n)
                memcpy(copy, s.p, s.n);
        copy[s.n] = '\0';
        return (struct str){ copy, s.n };
}

static const struct value *block_copy(struct block *b, const struct value *v) {
        struct value *copy = block_take(b, sizeof *copy);

        *copy = *v;
        copy->line = 0;
        if (has_text(v)) {
                copy->text = block_str(b, v->text);
        } else if (v->kind == VALUE_LIST) {
                const struct value **items = block_take(b, v->list.count * sizeof *items);

                for (size_t i = 0; i < v->list.count; i++)
                        items[i] = block_copy(b, v->list.items[i]);
                copy->list.items = items;
        } else if (v->kind == VALUE_MAP) {
                struct value_member *members = block_take(b, v->map.count * sizeof *members);

                for (size_t i = 0; i < v->map.count; i++) {
                        members[i].key = block_str(b, v->map.members[i].key);
                        members[i].value = block_copy(b, v->map.members[i].value);
                        members[i].line = 0;
                }
                copy->map.members = members;
        }
        return copy;
}

static struct str meta_of(const struct value *object, const char *field) {
        return value_text(value_path(object, "metadata", field, NULL));
}

struct version *version_new(const struct value *value, uint64_t rv) {
        struct str namespace = meta_of(value, "namespace"), name = meta_of(value, "name");
        size_t prefix = namespace.n ? namespace.n + 1 : 0;
        size_t bytes = padded(sizeof(struct version)) + padded(prefix + name.n + 1) + block_bytes(value);
        struct version *v = mem_alloc(bytes);
        struct block b = { (char *)v + padded(sizeof *v) };
        char *key = block_take(&b, prefix + name.n + 1);

        if (prefix) {
                memcpy(key, namespace.p, namespace.n);
                key[namespace.n] = '/';
        }
        if (name.n)
                memcpy(key + prefix, name.p, name.n);
        key[prefix + name.n] = '\0';
        *v = (struct version){
                .refs = 1,
                .rv = rv,
                .key = { key, prefix + name.n },
                .namespace = { key, namespace.n },
                .name = { key + prefix, name.n },
        };
        v->value = block_copy(&b, value);
        assert(b.at == (char *)v + bytes);
        return v;
}

struct version *version_ref(struct version *v) {
        v->refs++;
        return v;
}

void version_unref(struct version *v) {
        if (!v || --v->refs > 0)
                return;
        free(v->text);
        free(v);
}

struct str version_text(struct version *v) {
        if (!v->text) {
                struct buf out = buf_make(JSON_MAX_BYTES);

                for (size_t i = 0; i < v->value->map.count; i++) {
                        const struct value_member *m = &v->value->map.members[i];

                        if (str_eqc(m->key, "apiVersion") || str_eqc(m->key, "kind"))
                                continue;
                        if (out.n)
                                buf_addch(&out, ',');
                        value_print_string(m->key, &out);
                        buf_addch(&out, ':');
                        value_print(m->value, &out);
                }
                buf_addch(&out, '}');
                v->text_bytes = out.n;
                v->text = mem_realloc(buf_take(&out), v->text_bytes + 1);
        }
        return (struct str){ v->text, v->text_bytes };
}

/* ---- the store ---- */

struct store *sandbox_store_new(unsigned history_events) {
        struct store *s = mem_zalloc(sizeof *s);

        s->by_name = map_new(NULL);
        s->ring_max = history_events ? history_events : STORE_HISTORY_EVENTS;
        s->ring = mem_zalloc(s->ring_max * sizeof *s->ring);
        return s;
}

static void event_done(struct event *e) {
        version_unref(e->before);
        version_unref(e->after);
}

static void shelf_free(struct shelf *shelf) {
        for (size_t i = 0; i < shelf->count; i++)
                version_unref(shelf->items[i]);
        for (size_t i = 0; i < shelf->event_count; i++)
                event_done(&shelf->events[shelf->first + i]);
        free(shelf->items);
        free(shelf->events);
        free((char *)shelf->group.p);
        free((char *)shelf->plural.p);
        free(shelf);
}

void sandbox_store_free(struct store *s) {
        if (!s)
                return;
        for (size_t i = 0; i < s->shelf_count; i++)
                shelf_free(s->shelves[i]);
        free(s->shelves);
        free(s->ring);
        map_free(s->by_name);
        free(s);
}

uint64_t store_rv(const struct store *s) {
        return s->rv;
}

uint64_t store_compacted_rv(const struct store *s) {
        return s->compacted;
}

void store_set_rv(struct store *s, uint64_t rv) {
        s->rv = rv;
        s->compacted = rv;
}

struct shelf *store_shelf(struct store *s, struct str group, struct str plural) {
        _cleanup_(buf_done) struct buf name = buf_make(KIB);

        buf_add(&name, group);
        buf_addch(&name, '/');
        buf_add(&name, plural);
        struct shelf *shelf = map_find(s->by_name, buf_str(&name));
        if (shelf)
                return shelf;

        shelf = mem_zalloc(sizeof *shelf);
        shelf->store = s;
        shelf->group = (struct str){ str_dup(group), group.n };
        shelf->plural = (struct str){ str_dup(plural), plural.n };
        map_set(s->by_name, buf_str(&name), shelf);
        s->shelves = mem_grow(s->shelves, &s->shelf_cap, s->shelf_count + 1, sizeof *s->shelves);
        s->shelves[s->shelf_count++] = shelf;
        return shelf;
}

struct shelf *store_next_shelf(const struct store *s, size_t *at) {
        return *at < s->shelf_count ? s->shelves[(*at)++] : NULL;
}

/* ---- history ---- */

static void forget_oldest(struct store *s) {
        struct shelf *shelf = s->ring[s->ring_first];
        struct event *oldest = &shelf->events[shelf->first];

        s->compacted = oldest->rv;
        event_done(oldest);
        shelf->first++;
        shelf->event_count--;
        s->ring_first = (s->ring_first + 1) % s->ring_max;
        s->ring_count--;
}

void store_compact(struct store *s) {
        while (s->ring_count > 0)
                forget_oldest(s);
        s->compacted = s->rv;
}

/* Space at the front is taken back when it is half of the array: each event moves once at most on average. */
static struct event *push_event(struct shelf *shelf) {
        if (shelf->first > 64 && shelf->first >= shelf->event_count) {
                memmove(shelf->events, shelf->events + shelf->first, shelf->event_count * sizeof *shelf->events);
                shelf->first = 0;
        }
        shelf->events = mem_grow(shelf->events, &shelf->event_cap, shelf->first + shelf->event_count + 1,
                                 sizeof *shelf->events);
        return &shelf->events[shelf->first + shelf->event_count++];
}

static void tell(struct shelf *shelf, struct event e) {
        struct store *s = shelf->store;

        if (s->ring_count == s->ring_max)
                forget_oldest(s);
        s->ring[(s->ring_first + s->ring_count++) % s->ring_max] = shelf;
        *push_event(shelf) = (struct event){
                .type = e.type,
                .rv = e.rv,
                .before = e.before ? version_ref(e.before) : NULL,
                .after = version_ref(e.after),
        };
        for (struct shelf_watcher *w = shelf->watchers, *next; w; w = next) {
                next = w->next;
                w->event(w->ctx, &e);
        }
}

size_t shelf_events_after(const struct shelf *shelf, uint64_t rv) {
        size_t lo = 0, hi = shelf->event_count;

        while (lo < hi) {
                size_t mid = lo + (hi - lo) / 2;

                if (shelf->events[shelf->first + mid].rv <= rv)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo;
}

const struct event *shelf_event(const struct shelf *shelf, size_t i) {
        assert(i < shelf->event_count);
        return &shelf->events[shelf->first + i];
}

/* ---- objects ---- */

size_t shelf_lower_bound(const struct shelf *shelf, struct str key) {
        size_t lo = 0, hi = shelf->count;

        while (lo < hi) {
                size_t mid = lo + (hi - lo) / 2;

                if (str_cmp(shelf->items[mid]->key, key) < 0)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo;
}

struct version *shelf_find(const struct shelf *shelf, struct str namespace, struct str name) {
        char key[KEY_MAX_BYTES];
        size_t prefix = namespace.n ? namespace.n + 1 : 0;

        if (prefix + name.n > sizeof key)
                return NULL;
        if (prefix) {
                memcpy(key, namespace.p, namespace.n);
                key[namespace.n] = '/';
        }
        if (name.n)
                memcpy(key + prefix, name.p, name.n);

        struct str wanted = { key, prefix + name.n };
        size_t i = shelf_lower_bound(shelf, wanted);
        return i < shelf->count && str_eq(shelf->items[i]->key, wanted) ? shelf->items[i] : NULL;
}

void shelf_range(const struct shelf *shelf, struct str namespace, size_t *ret_from, size_t *ret_to) {
        _cleanup_(buf_done) struct buf key = buf_make(KIB);

        *ret_from = 0;
        *ret_to = shelf->count;
        if (namespace.n == 0)
                return;
        buf_add(&key, namespace);
        buf_addch(&key, '/');
        *ret_from = shelf_lower_bound(shelf, buf_str(&key));
        key.p[key.n - 1] = '/' + 1;
        *ret_to = shelf_lower_bound(shelf, buf_str(&key));
}

static const struct value *with_rv(const struct value *value, uint64_t rv, struct arena *a) {
        static const struct str path[] = { { "metadata", 8 }, { "resourceVersion", 15 } };
        char text[24];
        int n = snprintf(text, sizeof text, "%" PRIu64, rv);

        return value_with_path(a, value, path, ARRAY_LEN(path), value_string(a, (struct str){ text, (size_t)n }, 0));
}

static void insert_at(struct shelf *shelf, size_t i, struct version *v) {
        shelf->items = mem_grow(shelf->items, &shelf->cap, shelf->count + 1, sizeof *shelf->items);
        memmove(shelf->items + i + 1, shelf->items + i, (shelf->count - i) * sizeof *shelf->items);
        shelf->items[i] = v;
        shelf->count++;
}

struct version *shelf_put(struct shelf *shelf, const struct value *value, struct arena *a) {
        uint64_t rv = ++shelf->store->rv;
        struct version *v = version_new(with_rv(value, rv, a), rv);
        size_t i = shelf_lower_bound(shelf, v->key);

        if (i < shelf->count && str_eq(shelf->items[i]->key, v->key)) {
                struct version *before = shelf->items[i];

                shelf->items[i] = v;
                tell(shelf, (struct event){ EVENT_MODIFIED, rv, before, v });
                version_unref(before);
        } else {
                insert_at(shelf, i, v);
                tell(shelf, (struct event){ EVENT_ADDED, rv, NULL, v });
        }
        return v;
}

struct version *shelf_remove(struct shelf *shelf, struct version *v, const struct value *value, struct arena *a) {
        uint64_t rv = ++shelf->store->rv;
        struct version *gone = version_new(with_rv(value, rv, a), rv);
        size_t i = shelf_lower_bound(shelf, v->key);

        assert(i < shelf->count && shelf->items[i] == v);
        memmove(shelf->items + i, shelf->items + i + 1, (shelf->count - i - 1) * sizeof *shelf->items);
        shelf->count--;
        tell(shelf, (struct event){ EVENT_DELETED, rv, v, gone });
        version_unref(v);
        return gone;
}

struct version *shelf_restore(struct shelf *shelf, const struct value *value, uint64_t rv) {
        struct version *v = version_new(value, rv);
        size_t i = shelf_lower_bound(shelf, v->key);

        if (i < shelf->count && str_eq(shelf->items[i]->key, v->key)) {
                version_unref(shelf->items[i]);
                shelf->items[i] = v;
        } else {
                insert_at(shelf, i, v);
        }
        return v;
}

void shelf_clear(struct shelf *shelf) {
        for (size_t i = 0; i < shelf->count; i++)
                version_unref(shelf->items[i]);
        shelf->count = 0;
}

/* ---- the past ---- */

struct past {
        struct version **items;
        size_t count;
};

static size_t past_find(const struct past *p, struct str key) {
        const struct shelf as_shelf = { .items = p->items, .count = p->count };

        return shelf_lower_bound(&as_shelf, key);
}

static void undo(struct past *p, const struct event *e) {
        size_t i = past_find(p, e->after->key);
        size_t behind = p->count - i;

        if (e->type == EVENT_DELETED) {
                memmove(p->items + i + 1, p->items + i, behind * sizeof *p->items);
                p->items[i] = e->before;
                p->count++;
        } else if (e->type == EVENT_ADDED) {
                memmove(p->items + i, p->items + i + 1, (behind - 1) * sizeof *p->items);
                p->count--;
        } else {
                p->items[i] = e->before;
        }
}

size_t shelf_at(const struct shelf *shelf, uint64_t rv, struct arena *a, struct version *const **ret_items) {
        size_t from = shelf_events_after(shelf, rv);

        if (from == shelf->event_count) {
                *ret_items = shelf->items;
                return shelf->count;
        }
        struct past past = {
                .items = arena_alloc(a, (shelf->count + shelf->event_count - from) * sizeof *past.items),
                .count = shelf->count,
        };
        if (shelf->count)
                memcpy(past.items, shelf->items, shelf->count * sizeof *past.items);
        for (size_t i = shelf->event_count; i-- > from;)
                undo(&past, shelf_event(shelf, i));
        *ret_items = past.items;
        return past.count;
}

/* ---- watchers ---- */

void shelf_watch(struct shelf *shelf, struct shelf_watcher *w) {
        struct shelf_watcher **last = &shelf->watchers;

        w->prev = NULL;
        w->next = NULL;
        /* In the order they came: that is the order in which they hear of an event. */
        while (*last) {
                w->prev = *last;
                last = &(*last)->next;
        }
        *last = w;
}

void shelf_unwatch(struct shelf *shelf, struct shelf_watcher *w) {
        if (w->prev)
                w->prev->next = w->next;
        else
                shelf->watchers = w->next;
        if (w->next)
                w->next->prev = w->prev;
}
