/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.managedFields as a table that can be changed: reading, writing in the server's order, the cap of ten. */
#include <stdlib.h>

#include "base/limits.h"
#include "sandbox/ssa_impl.h"

/* The server's DefaultMaxUpdateManagers. */
#define MAX_UPDATE_ENTRIES 10

static const char *operation_name(enum managed_operation operation) {
        return operation == MANAGED_APPLY ? "Apply" : "Update";
}

static void add_member(struct buf *b, const char *name, struct str text) {
        struct value v = { .kind = VALUE_STRING, .text = text };

        if (text.n == 0)
                return;
        buf_addf(b, "%s\"%s\":", b->n > 1 ? "," : "", name);
        value_print_go(&v, b);
}

struct ssa_entry ssa_entry_make(struct managed_entry e, struct arena *a) {
        _cleanup_(buf_done) struct buf b = buf_make(64 * KIB);

        buf_addch(&b, '{');
        add_member(&b, "manager", e.manager);
        add_member(&b, "operation", str_from(operation_name(e.operation)));
        if (e.operation == MANAGED_UPDATE)
                add_member(&b, "apiVersion", e.api_version);
        add_member(&b, "subresource", e.subresource);
        buf_addch(&b, '}');
        if (!e.set)
                e.set = &fieldset_empty;
        return (struct ssa_entry){ .id = arena_str(a, buf_str(&b)), .e = e };
}

static struct str text_of(const struct value *entry, const char *name) {
        return value_text(value_getc(entry, name));
}

static int check_entry(const struct value *v, size_t at, struct err *err) {
        struct str operation = text_of(v, "operation"), form = text_of(v, "fieldsType");

        if (!str_eqc(operation, "Apply") && !str_eqc(operation, "Update"))
                return err_set(err, ERR_INVAL, "operation must be `Apply` or `Update`");
        if (text_of(v, "apiVersion").n == 0)
                return err_set(err, ERR_INVAL, "apiVersion must not be empty");
        if (form.n == 0)
                return err_set(err, ERR_INVAL, "missing fieldsType in managed fields entry %zu", at);
        if (!str_eqc(form, "FieldsV1"))
                return err_set(err, ERR_INVAL, "invalid fieldsType \"%.*s\" in managed fields entry %zu", STR_FMT(form),
                               at);
        return 0;
}

/*
 * A set as the server reads it, which is more than fieldset_parse() trusts: elements of kinds nobody knows are skipped,
 * a "." may have content, null is {}.
 */
static const struct value *known_fields(const struct value *fields, struct arena *a) {
        struct value_map_builder b = { 0 };

        if (value_is(fields, VALUE_NULL))
                return &value_empty_map;
        if (!value_is(fields, VALUE_MAP))
                return fields;
        for (size_t i = 0; i < fields->map.count; i++) {
                const struct value_member *m = &fields->map.members[i];
                bool self = str_eqc(m->key, ".");
                bool strange = m->key.n >= 2 && m->key.p[1] == ':' && !strchr("fvik", m->key.p[0]);

                if (!strange)
                        value_map_add(&b, m->key, self ? &value_empty_map : known_fields(m->value, a), 0);
        }
        return value_map_end(&b, a, 0);
}

static int read_entry(const struct value *v, size_t at, struct arena *a, struct ssa_entry *ret, struct err *err) {
        struct managed_entry e = {
                .manager = text_of(v, "manager"),
                .operation = str_eqc(text_of(v, "operation"), "Apply") ? MANAGED_APPLY : MANAGED_UPDATE,
                .subresource = text_of(v, "subresource"),
                .api_version = text_of(v, "apiVersion"),
                .time = text_of(v, "time"),
        };
        int res = check_entry(v, at, err);

        if (res < 0)
                return res;
        if (fieldset_parse(known_fields(value_getc(v, "fieldsV1"), a), a, &e.set, err) < 0) {
                err_wrap(err, ERR_INVAL, "error decoding versioned set");
                if (err)
                        err->code = ERR_INVAL;
                return ERR_INVAL;
        }
        *ret = ssa_entry_make(e, a);
        return 0;
}

int ssa_managers_read(const struct value *list, struct arena *a, struct ssa_managers *ret, struct err *err) {
        struct ssa_managers m = { 0 };

        for (size_t i = 0; i < value_count(list); i++) {
                struct ssa_entry entry;
                int res = read_entry(list->list.items[i], i, a, &entry, err);

                if (res < 0)
                        return res;
                ssa_managers_put(&m, a, entry);
        }
        *ret = m;
        return 0;
}

int ssa_check_entries(const struct value *entries, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct ssa_managers m;

        return ssa_managers_read(entries, a, &m, err);
}

/* The place of the id, or of the first one above it. */
static size_t place_of(const struct ssa_managers *m, struct str id) {
        size_t at = 0;

        while (at < m->count && str_cmp(m->items[at].id, id) < 0)
                at++;
        return at;
}

struct ssa_entry *ssa_managers_find(const struct ssa_managers *m, struct str id) {
        size_t at = place_of(m, id);

        return at < m->count && str_eq(m->items[at].id, id) ? &m->items[at] : NULL;
}

static void grow(struct ssa_managers *m, struct arena *a) {
        size_t cap = m->cap ? 2 * m->cap : 8;
        struct ssa_entry *items = arena_alloc(a, cap * sizeof *items);

        if (m->count)
                memcpy(items, m->items, m->count * sizeof *items);
        m->items = items;
        m->cap = cap;
}

void ssa_managers_put(struct ssa_managers *m, struct arena *a, struct ssa_entry entry) {
        size_t at = place_of(m, entry.id);

        if (at < m->count && str_eq(m->items[at].id, entry.id)) {
                m->items[at] = entry;
                return;
        }
        if (m->count == m->cap)
                grow(m, a);
        memmove(&m->items[at + 1], &m->items[at], (m->count - at) * sizeof *m->items);
        m->items[at] = entry;
        m->count++;
}

static void remove_at(struct ssa_managers *m, size_t at) {
        m->count--;
        memmove(&m->items[at], &m->items[at + 1], (m->count - at) * sizeof *m->items);
}

void ssa_managers_remove(struct ssa_managers *m, struct str id) {
        size_t at = place_of(m, id);

        if (at < m->count && str_eq(m->items[at].id, id))
                remove_at(m, at);
}

void ssa_managers_drop_empty(struct ssa_managers *m) {
        for (size_t i = m->count; i-- > 0;)
                if (fieldset_is_empty(m->items[i].e.set))
                        remove_at(m, i);
}

/* Times are RFC 3339 in UTC and seconds, so their order is that of their texts. */
static int age_cmp(const void *x, const void *y) {
        const struct ssa_entry *a = x, *b = y;
        int order = str_cmp(a->e.time, b->e.time);

        return order ? order : str_cmp(a->id, b->id);
}

static struct str bucket_of(const struct ssa_entry *entry, struct arena *a) {
        struct managed_entry e = {
                .manager = STR("ancient-changes"),
                .operation = MANAGED_UPDATE,
                .api_version = entry->e.api_version,
        };

        return ssa_entry_make(e, a).id;
}

/* Joins the entry with an older one of its version; the younger time stands. */
static void join_ancient(struct ssa_managers *m, const struct ssa_entry *first, const struct ssa_entry *entry,
                         struct arena *a) {
        struct str id = bucket_of(entry, a);
        const struct ssa_entry *bucket = ssa_managers_find(m, id);
        struct ssa_entry joined = *entry;

        if (!bucket)
                bucket = ssa_managers_find(m, first->id);
        joined.id = id;
        joined.e.manager = STR("ancient-changes");
        joined.e.subresource = STR("");
        joined.e.set = fieldset_union(a, entry->e.set, bucket ? bucket->e.set : &fieldset_empty);
        if (bucket && !str_eq(bucket->id, id))
                ssa_managers_remove(m, first->id);
        ssa_managers_put(m, a, joined);
        /* The server does this also when the entry is ancient-changes itself: then what it had is lost. */
        ssa_managers_remove(m, entry->id);
}

/* The oldest entry of each version only waits for a second one. */
static const struct ssa_entry *first_of_version(const struct ssa_entry *entries, size_t until) {
        for (size_t i = 0; i < until; i++)
                if (str_eq(entries[i].e.api_version, entries[until].e.api_version))
                        return &entries[i];
        return NULL;
}

void ssa_managers_cap(struct ssa_managers *m, struct arena *a) {
        struct ssa_entry *updates = arena_alloc(a, m->count * sizeof *updates);
        size_t count = 0;

        for (size_t i = 0; i < m->count; i++)
                if (m->items[i].e.operation == MANAGED_UPDATE)
                        updates[count++] = m->items[i];
        if (count <= MAX_UPDATE_ENTRIES)
                return;
        qsort(updates, count, sizeof *updates, age_cmp);

        size_t left = count;
        for (size_t i = 0; i < count && left > MAX_UPDATE_ENTRIES; i++) {
                const struct ssa_entry *first = first_of_version(updates, i);

                if (!first)
                        continue;
                join_ancient(m, first, &updates[i], a);
                left--;
        }
}

static int written_cmp(const void *x, const void *y) {
        const struct managed_entry *a = &(*(const struct ssa_entry *const *)x)->e;
        const struct managed_entry *b = &(*(const struct ssa_entry *const *)y)->e;
        int order = (int)a->operation - (int)b->operation;

        if (!order)
                order = str_cmp(a->time, b->time);
        if (!order)
                order = str_cmp(a->manager, b->manager);
        if (!order)
                order = str_cmp(a->api_version, b->api_version);
        return order ? order : str_cmp(a->subresource, b->subresource);
}

static void put_text(struct value_map_builder *b, const char *name, struct str text, struct arena *a) {
        if (text.n)
                value_map_add(b, str_from(name), value_string(a, text, 0), 0);
}

static const struct value *write_entry(const struct managed_entry *e, struct arena *a) {
        struct value_map_builder b = { 0 };

        put_text(&b, "manager", e->manager, a);
        put_text(&b, "operation", str_from(operation_name(e->operation)), a);
        put_text(&b, "apiVersion", e->api_version, a);
        put_text(&b, "time", e->time, a);
        put_text(&b, "fieldsType", STR("FieldsV1"), a);
        put_text(&b, "subresource", e->subresource, a);
        value_map_add(&b, STR("fieldsV1"), fieldset_to_value(a, e->set), 0);
        return value_map_end(&b, a, 0);
}

const struct value *ssa_managers_write(const struct ssa_managers *m, struct arena *a) {
        const struct ssa_entry **order = arena_alloc(a, m->count * sizeof *order);
        struct value_list_builder b = { 0 };

        if (m->count == 0)
                return NULL;
        for (size_t i = 0; i < m->count; i++)
                order[i] = &m->items[i];
        qsort(order, m->count, sizeof *order, written_cmp);
        for (size_t i = 0; i < m->count; i++)
                value_list_add(&b, write_entry(&order[i]->e, a));
        return value_list_end(&b, a, 0);
}

const struct value *ssa_entries_of(const struct value *object) {
        const struct value *list = value_path(object, "metadata", "managedFields", NULL);

        return value_is(list, VALUE_LIST) ? list : NULL;
}

const struct value *ssa_with_entries(const struct value *object, const struct value *list, struct arena *a) {
        static const struct str path[] = { { "metadata", 8 }, { "managedFields", 13 } };

        if (!list && !value_path(object, "metadata", "managedFields", NULL))
                return object;
        return value_with_path(a, object, path, ARRAY_LEN(path), list);
}
