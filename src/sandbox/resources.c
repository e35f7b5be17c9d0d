/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of resources_table.inc. Subresources are spelt `name:group/version/Kind:verbs`, separated by blanks; verbs
 * are a bit mask in decimal.
 */
#include "sandbox/resources.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"

struct resource_row {
        const char *group, *version, *kind, *plural, *singular, *short_names, *categories, *storage_hash;
        bool namespaced;
        unsigned verbs;
        const char *subs;
};

#include "sandbox/resources_table.inc"

#define MAX_SUBS 32

const char *const resource_verb_names[RESOURCE_VERBS] = { "create", "delete", "deletecollection", "get",
                                                          "list",   "patch",  "update",           "watch" };

struct table {
        struct resource_table face; /* first: what callers hold */
        struct arena *arena;
        struct resource rows[ARRAY_LEN(resource_rows)];
};

static struct resource_sub read_sub(struct str text) {
        struct str name = { 0 }, body = { 0 }, verbs = { 0 };
        struct resource_sub sub = { 0 };
        uint64_t mask = 0;

        str_next(&text, ':', &name);
        str_next(&text, ':', &body);
        str_next(&text, ':', &verbs);
        str_next(&body, '/', &sub.group);
        str_next(&body, '/', &sub.version);
        str_next(&body, '/', &sub.kind);
        str_to_u64(verbs, &mask);
        sub.name = name;
        sub.verbs = (unsigned)mask;
        return sub;
}

static void read_subs(struct resource *r, const char *text, struct arena *a) {
        struct resource_sub *subs = arena_zalloc(a, MAX_SUBS * sizeof *subs);
        struct str rest = str_from(text), part;

        while (r->sub_count < MAX_SUBS && str_next(&rest, ' ', &part))
                subs[r->sub_count++] = read_sub(part);
        r->subs = subs;
        r->has_status = resource_sub_find(r, STR("status")) != NULL;
        r->has_scale = resource_sub_find(r, STR("scale")) != NULL;
}

static void read_row(struct resource *r, const struct resource_row *row, struct arena *a) {
        *r = (struct resource){
                .group = str_from(row->group),
                .version = str_from(row->version),
                .kind = str_from(row->kind),
                .list_kind = arena_strf(a, "%sList", row->kind),
                .plural = str_from(row->plural),
                .singular = str_from(row->singular),
                .short_names = str_from(row->short_names),
                .categories = str_from(row->categories),
                .storage_hash = str_from(row->storage_hash),
                .namespaced = row->namespaced,
                .verbs = row->verbs,
        };
        read_subs(r, row->subs, a);
}

struct resource_table *resource_table_new(void) {
        struct table *t = mem_zalloc(sizeof *t);

        t->arena = arena_new(0);
        for (size_t i = 0; i < ARRAY_LEN(resource_rows); i++)
                read_row(&t->rows[i], &resource_rows[i], t->arena);
        t->face = (struct resource_table){ t->rows, ARRAY_LEN(resource_rows) };
        return &t->face;
}

void resource_table_free(struct resource_table *face) {
        struct table *t = (struct table *)face;

        if (!t)
                return;
        arena_free(t->arena);
        free(t);
}

static bool is_of(const struct resource *r, struct str group, struct str version) {
        return str_eq(r->group, group) && str_eq(r->version, version);
}

const struct resource *resource_find(const struct resource_table *t, struct str group, struct str version,
                                     struct str plural) {
        for (size_t i = 0; i < t->count; i++)
                if (is_of(&t->rows[i], group, version) && str_eq(t->rows[i].plural, plural))
                        return &t->rows[i];
        return NULL;
}

const struct resource *resource_of_kind(const struct resource_table *t, struct str group, struct str version,
                                        struct str kind) {
        for (size_t i = 0; i < t->count; i++)
                if (is_of(&t->rows[i], group, version) && str_eq(t->rows[i].kind, kind))
                        return &t->rows[i];
        return NULL;
}

const struct resource_sub *resource_sub_find(const struct resource *r, struct str name) {
        for (size_t i = 0; i < r->sub_count; i++)
                if (str_eq(r->subs[i].name, name))
                        return &r->subs[i];
        return NULL;
}
