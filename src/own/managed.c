/* SPDX-License-Identifier: Apache-2.0 */
#include "own/managed.h"

#include "base/limits.h"

static int parse_operation(struct str text, enum managed_operation *ret, struct err *err) {
        bool apply = str_eqc(text, "Apply");

        if (!apply && !str_eqc(text, "Update"))
                return err_set(err, ERR_PARSE, "unknown operation \"%.*s\" in managedFields", STR_FMT(text));
        *ret = apply ? MANAGED_APPLY : MANAGED_UPDATE;
        return 0;
}

static int parse_entry(const struct value *v, struct arena *a, struct managed_entry *ret, struct err *err) {
        struct managed_entry e = {
                .manager = value_text(value_getc(v, "manager")),
                .subresource = value_text(value_getc(v, "subresource")),
                .api_version = value_text(value_getc(v, "apiVersion")),
                .time = value_text(value_getc(v, "time")),
        };

        if (!value_is(v, VALUE_MAP))
                return err_set(err, ERR_PARSE, "an entry of managedFields is no map");
        int res = parse_operation(value_text(value_getc(v, "operation")), &e.operation, err);
        if (res < 0)
                return res;
        e.broken = fieldset_parse(value_getc(v, "fieldsV1"), a, &e.set, NULL) < 0;
        *ret = e;
        return 0;
}

/* Who made the object: an apply of that very second, else the updates of it. Times have no fractions. */
static void mark_creation(struct managed_entry *entries, size_t count, struct str born) {
        for (size_t i = 0; i < count; i++)
                if (entries[i].operation == MANAGED_APPLY && str_eq(entries[i].time, born))
                        return;
        for (size_t i = 0; born.n && i < count; i++)
                entries[i].creation = !entries[i].subresource.n && str_eq(entries[i].time, born);
}

int managed_parse(const struct value *object, struct arena *a, struct managed *ret_managed, struct err *err) {
        const struct value *list = value_path(object, "metadata", "managedFields", NULL);
        struct str born = value_text(value_path(object, "metadata", "creationTimestamp", NULL));

        if (list && list->kind != VALUE_LIST && list->kind != VALUE_NULL)
                return err_set(err, ERR_PARSE, "managedFields is a %s, not a list", value_kind_name(list->kind));

        size_t count = list && list->kind == VALUE_LIST ? list->list.count : 0;
        if (count > MANAGED_MAX_ENTRIES)
                return err_set(err, ERR_LIMIT, "%zu entries in managedFields, more than %d", count,
                               MANAGED_MAX_ENTRIES);

        struct managed_entry *entries = arena_zalloc(a, count * sizeof *entries);
        for (size_t i = 0; i < count; i++) {
                int res = parse_entry(list->list.items[i], a, &entries[i], err);

                if (res < 0)
                        return res;
        }
        mark_creation(entries, count, born);
        *ret_managed = (struct managed){ entries, count };
        return 0;
}

const struct managed_entry *managed_find(const struct managed *m, struct str manager, enum managed_operation operation,
                                         struct str subresource, struct str api_version) {
        for (size_t i = 0; m && i < m->count; i++) {
                const struct managed_entry *e = &m->entries[i];

                if (e->operation == operation && str_eq(e->manager, manager) && str_eq(e->subresource, subresource) &&
                    (api_version.n == 0 || str_eq(e->api_version, api_version)))
                        return e;
        }
        return NULL;
}

const struct managed_entry *managed_ours(const struct managed *m) {
        return managed_find(m, STR(OWN_MANAGER), MANAGED_APPLY, STR(""), STR(""));
}

bool managed_is_ours(const struct managed_entry *e) {
        return e->operation == MANAGED_APPLY && e->subresource.n == 0 && str_eqc(e->manager, OWN_MANAGER);
}

bool managed_is_keeper(const struct managed_entry *e) {
        return str_eqc(e->manager, OWN_KEEPER);
}

bool managed_is_ancient(const struct managed_entry *e) {
        return e->operation == MANAGED_UPDATE && str_eqc(e->manager, "ancient-changes");
}

bool managed_is_before_first_apply(const struct managed_entry *e) {
        return e->operation == MANAGED_UPDATE && str_eqc(e->manager, "before-first-apply");
}

static bool entry_covers(const struct managed_entry *e, const struct schema *type, struct field_path p) {
        return !e->broken && fieldset_covers(e->set, type, p);
}

static bool entry_touches(const struct managed_entry *e, const struct schema *type, struct field_path p) {
        return entry_covers(e, type, p) || (!e->broken && fieldset_touches(e->set, p));
}

const struct managed_entry *managed_keeper_of(const struct managed *m, const struct schema *type,
                                              struct field_path p) {
        for (size_t i = 0; m && i < m->count; i++)
                if (managed_is_keeper(&m->entries[i]) && entry_touches(&m->entries[i], type, p))
                        return &m->entries[i];
        return NULL;
}

static size_t select_entries(const struct managed *m, const struct schema *type, struct field_path p,
                             bool (*wanted)(const struct managed_entry *e, const struct schema *type, struct field_path p),
                             const struct managed_entry **ret, size_t max) {
        size_t count = 0;

        for (size_t i = 0; m && i < m->count; i++) {
                if (!wanted(&m->entries[i], type, p))
                        continue;
                if (count < max)
                        ret[count] = &m->entries[i];
                count++;
        }
        return count;
}

size_t managed_owners(const struct managed *m, const struct schema *type, struct field_path p,
                      const struct managed_entry **ret, size_t max) {
        return select_entries(m, type, p, entry_covers, ret, max);
}

size_t managed_touching(const struct managed *m, const struct schema *type, struct field_path p,
                        const struct managed_entry **ret, size_t max) {
        return select_entries(m, type, p, entry_touches, ret, max);
}

const struct managed_entry *managed_other_owner(const struct managed *m, const struct schema *type, struct field_path p,
                                                bool with_keeper) {
        for (size_t i = 0; m && i < m->count; i++) {
                const struct managed_entry *e = &m->entries[i];

                if (managed_is_ours(e) || (managed_is_keeper(e) && !with_keeper))
                        continue;
                if (entry_covers(e, type, p))
                        return e;
        }
        return NULL;
}

/* What an entry of another subresource owns outside status: some status writers apply the whole object. */
static const struct fieldset *outside_status(const struct managed_entry *e, struct arena *a) {
        struct path_element status = path_field(STR("status"));

        if (e->broken || e->subresource.n == 0 || str_eqc(e->subresource, "scale"))
                return e->set;
        return fieldset_without(a, e->set, (struct field_path){ &status, 1 });
}

struct managed managed_reduce(const struct managed *m, struct arena *a) {
        struct managed_entry *entries = arena_zalloc(a, m->count * sizeof *entries);
        size_t count = 0;

        for (size_t i = 0; i < m->count; i++) {
                const struct fieldset *set = outside_status(&m->entries[i], a);

                if (!m->entries[i].broken && fieldset_is_empty(set))
                        continue;
                entries[count] = m->entries[i];
                entries[count].set = set;
                entries[count++].time = STR("");
        }
        return (struct managed){ entries, count };
}

struct packed_entry {
        struct interned *manager, *subresource, *api_version;
        struct interned *set; /* NULL: broken */
        enum managed_operation operation;
        bool creation;
};

struct managed_packed {
        size_t count;
        struct packed_entry entries[];
};

static struct packed_entry pack_entry(const struct managed_entry *e, struct intern_pool *pool, struct buf *text) {
        struct packed_entry p = {
                .manager = intern_text(pool, e->manager),
                .subresource = intern_text(pool, e->subresource),
                .api_version = intern_text(pool, e->api_version),
                .operation = e->operation,
                .creation = e->creation,
        };

        buf_clear(text);
        if (!e->broken) {
                fieldset_print(e->set, text);
                p.set = intern_text(pool, buf_str(text));
        }
        return p;
}

struct managed_packed *managed_pack(const struct managed *m, struct intern_pool *pool) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf text = buf_make(KUBE_MAX_OBJECT_BYTES);
        struct managed kept = managed_reduce(m, a);
        struct managed_packed *p = mem_zalloc(sizeof *p + kept.count * sizeof p->entries[0]);

        for (size_t i = 0; i < kept.count; i++)
                p->entries[p->count++] = pack_entry(&kept.entries[i], pool, &text);
        return p;
}

void managed_packed_free(struct managed_packed *p) {
        for (size_t i = 0; p && i < p->count; i++) {
                interned_unref(p->entries[i].manager);
                interned_unref(p->entries[i].subresource);
                interned_unref(p->entries[i].api_version);
                interned_unref(p->entries[i].set);
        }
        free(p);
}

int managed_unpack(const struct managed_packed *p, struct arena *a, struct managed *ret_managed, struct err *err) {
        struct managed_entry *entries = arena_zalloc(a, p->count * sizeof *entries);

        for (size_t i = 0; i < p->count; i++) {
                const struct packed_entry *from = &p->entries[i];

                entries[i] = (struct managed_entry){
                        .manager = arena_str(a, interned_str(from->manager)),
                        .operation = from->operation,
                        .creation = from->creation,
                        .subresource = arena_str(a, interned_str(from->subresource)),
                        .api_version = arena_str(a, interned_str(from->api_version)),
                        .broken = !from->set,
                };
                if (from->set && fieldset_parse_text(interned_str(from->set), a, &entries[i].set, err) < 0)
                        return err_set(err, ERR_CORRUPT, "a cached set of fields cannot be read");
        }
        *ret_managed = (struct managed){ entries, p->count };
        return 0;
}

size_t managed_packed_bytes(const struct managed_packed *p) {
        return sizeof *p + p->count * sizeof p->entries[0];
}
