/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/kinds.h"

#include "base/map.h"
#include "sandbox/ssa.h"

struct kinds {
        struct store *store;
        struct resource_table *table;
        struct type_table *types;
        struct arena *arena; /* of the built-in kinds */
        struct kind **all;   /* discovery's order */
        size_t count, cap;
        struct map *by_path; /* "group/version/plural" → kind */
};

/* ---- lookups ---- */

static void path_of(struct buf *out, struct str group, struct str version, struct str plural) {
        buf_add(out, group);
        buf_addch(out, '/');
        buf_add(out, version);
        buf_addch(out, '/');
        buf_add(out, plural);
}

const struct kind *kinds_find(const struct kinds *k, struct str group, struct str version, struct str plural) {
        _cleanup_(buf_done) struct buf path = buf_make(1024);

        path_of(&path, group, version, plural);
        return path.overflow ? NULL : map_find(k->by_path, buf_str(&path));
}

const struct kind *kinds_of_kind(const struct kinds *k, struct str api_version, struct str kind) {
        for (size_t i = 0; i < k->count; i++)
                if (str_eq(k->all[i]->resource->kind, kind) && str_eq(k->all[i]->api_version, api_version))
                        return k->all[i];
        return NULL;
}

const struct kind *kinds_of_resource(const struct kinds *k, struct str group, struct str plural) {
        for (size_t i = 0; i < k->count; i++)
                if (str_eq(k->all[i]->resource->plural, plural) && str_eq(k->all[i]->resource->group, group))
                        return k->all[i];
        return NULL;
}

bool kinds_is_builtin_group(const struct kinds *k, struct str group) {
        for (size_t i = 0; i < k->count; i++)
                if (!k->all[i]->is_custom && str_eq(k->all[i]->resource->group, group))
                        return true;
        return false;
}

bool kinds_has_group_version(const struct kinds *k, struct str group, struct str version) {
        for (size_t i = 0; i < k->count; i++)
                if (str_eq(k->all[i]->resource->group, group) && str_eq(k->all[i]->resource->version, version))
                        return true;
        return false;
}

const struct kind *kinds_next(const struct kinds *k, size_t *at) {
        return *at < k->count ? k->all[(*at)++] : NULL;
}

struct type_table *kinds_types(const struct kinds *k) {
        return k->types;
}

const struct type *kind_type(const struct kind *k) {
        /* A cache of what does not change: the kind stays the same to everybody who looks. */
        if (!k->type)
                ((struct kind *)k)->type = type_table_find(k->types, k->api_version, k->resource->kind);
        return k->type;
}

const struct value *kind_blank(const struct kind *k, struct arena *a) {
        static const struct str replicas[] = { { "spec", 4 }, { "replicas", 8 } };
        static const struct str generation[] = { { "metadata", 8 },
                                                 { "annotations", 11 },
                                                 { "deprecated.daemonset.template.generation", 40 } };
        const struct value *v = ssa_zero(kind_type(k), k->api_version, k->resource->kind, a);
        bool is_workload = str_eqc(k->resource->group, "apps");

        /* What is a plain number inside of the server. */
        if (is_workload && k->resource->has_scale)
                v = value_with_path(a, v, replicas, ARRAY_LEN(replicas), value_int(a, 0, 0));
        if (is_workload && str_eqc(k->resource->kind, "DaemonSet"))
                v = value_with_path(a, v, generation, ARRAY_LEN(generation), value_stringc(a, "0"));
        return v;
}

/* ---- built-in kinds ---- */

static struct str group_resource(struct arena *a, const struct resource *r) {
        return r->group.n ? arena_strf(a, "%.*s.%.*s", STR_FMT(r->plural), STR_FMT(r->group)) : r->plural;
}

static struct str api_version(struct arena *a, const struct resource *r) {
        return r->group.n ? arena_strf(a, "%.*s/%.*s", STR_FMT(r->group), STR_FMT(r->version)) : r->version;
}

static void add(struct kinds *k, struct kind *kind, size_t place) {
        _cleanup_(buf_done) struct buf path = buf_make(1024);

        k->all = mem_grow(k->all, &k->cap, k->count + 1, sizeof *k->all);
        memmove(k->all + place + 1, k->all + place, (k->count - place) * sizeof *k->all);
        k->all[place] = kind;
        k->count++;
        path_of(&path, kind->resource->group, kind->resource->version, kind->resource->plural);
        map_set(k->by_path, buf_str(&path), kind);
}

/* Two faces of one thing: events.k8s.io shows the core group's Events. */
static struct shelf *builtin_shelf(struct kinds *k, const struct resource *r) {
        if (!(r->verbs & RESOURCE_GET))
                return NULL;
        if (str_eqc(r->group, "events.k8s.io"))
                return store_shelf(k->store, (struct str){ 0 }, r->plural);
        return store_shelf(k->store, r->group, r->plural);
}

static void add_builtin(struct kinds *k, const struct resource *r) {
        struct kind *kind = arena_zalloc(k->arena, sizeof *kind);

        *kind = (struct kind){
                .resource = r,
                .api_version = api_version(k->arena, r),
                .group_resource = group_resource(k->arena, r),
                .strategy = strategy_find(r->group, r->plural),
                .shelf = builtin_shelf(k, r),
        };
        kind->types = k->types;
        const struct kind *first = kinds_of_resource(k, kind->shelf ? kind->shelf->group : r->group, r->plural);
        kind->storage = first ? first : kind;
        add(k, kind, k->count);
}

struct kinds *kinds_new(struct store *store) {
        struct kinds *k = mem_zalloc(sizeof *k);

        k->store = store;
        k->table = resource_table_new();
        k->types = type_table_new();
        k->arena = arena_new(0);
        k->by_path = map_new(NULL);
        for (size_t i = 0; i < k->table->count; i++)
                add_builtin(k, &k->table->rows[i]);
        return k;
}

void kinds_free(struct kinds *k) {
        if (!k)
                return;
        /* A CRD's kinds live in the arena of the first of them: that one goes last. */
        for (size_t i = k->count; i-- > 0;)
                if (k->all[i]->is_custom && !k->all[i]->arena)
                        k->all[i] = NULL;
        for (size_t i = 0; i < k->count; i++)
                if (k->all[i])
                        arena_free(k->all[i]->arena);
        free(k->all);
        map_free(k->by_path);
        arena_free(k->arena);
        type_table_free(k->types);
        resource_table_free(k->table);
        free(k);
}

/* ---- custom resources ---- */

static struct str joined(const struct value *list, struct arena *a) {
        struct buf out = buf_make(4096);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                if (i)
                        buf_addch(&out, ',');
                buf_add(&out, value_text(list->list.items[i]));
        }
        struct str text = arena_str(a, buf_str(&out));
        buf_done(&out);
        return text;
}

static const struct resource_sub status_sub = {
        .name = { "status", 6 },
        .verbs = RESOURCE_GET | RESOURCE_PATCH | RESOURCE_UPDATE,
};
static const struct resource_sub scale_sub = {
        .name = { "scale", 5 },
        .group = { "autoscaling", 11 },
        .version = { "v1", 2 },
        .kind = { "Scale", 5 },
        .verbs = RESOURCE_GET | RESOURCE_PATCH | RESOURCE_UPDATE,
};

static void add_subresources(struct resource *r, const struct value *version, struct arena *a) {
        const struct value *subs = value_getc(version, "subresources");
        struct resource_sub *list = arena_alloc(a, 2 * sizeof *list);

        r->has_scale = value_getc(subs, "scale") != NULL;
        r->has_status = value_getc(subs, "status") != NULL;
        if (r->has_status) {
                list[r->sub_count] = status_sub;
                list[r->sub_count++].kind = r->kind;
        }
        if (r->has_scale)
                list[r->sub_count++] = scale_sub;
        r->subs = list;
}

static const struct resource *custom_resource(const struct value *crd, const struct value *version, struct arena *a) {
        const struct value *spec = value_getc(crd, "spec"), *names = value_path(crd, "status", "acceptedNames", NULL);
        struct resource *r = arena_zalloc(a, sizeof *r);

        *r = (struct resource){
                .group = value_text(value_getc(spec, "group")),
                .version = value_text(value_getc(version, "name")),
                .kind = value_text(value_getc(names, "kind")),
                .list_kind = value_text(value_getc(names, "listKind")),
                .plural = value_text(value_getc(names, "plural")),
                .singular = value_text(value_getc(names, "singular")),
                .short_names = joined(value_getc(names, "shortNames"), a),
                .categories = joined(value_getc(names, "categories"), a),
                .namespaced = str_eqc(value_text(value_getc(spec, "scope")), "Namespaced"),
                .verbs = (1U << RESOURCE_VERBS) - 1,
        };
        add_subresources(r, version, a);
        return r;
}

/* Versions by priority: v2 before v1 before v1beta1 before v1alpha1, other names last, alphabetically. */
struct version_rank {
        int stability; /* 3 GA, 2 beta, 1 alpha, 0 no such form */
        int64_t major, minor;
};

static bool read_number(struct str *s, int64_t *ret_number) {
        size_t n = 0;

        while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
                n++;
        bool ok = n > 0 && str_to_i64(str_sub(*s, 0, n), ret_number);
        *s = str_sub(*s, n, s->n);
        return ok;
}

static struct version_rank rank_of(struct str name) {
        static const struct version_rank none = { 0 };
        struct version_rank rank = { .stability = 3 };

        if (!str_starts(name, STR("v")))
                return none;
        name = str_sub(name, 1, name.n);
        if (!read_number(&name, &rank.major))
                return none;
        if (name.n == 0)
                return rank;
        rank.stability = str_starts(name, STR("beta")) ? 2 : str_starts(name, STR("alpha")) ? 1 : 0;
        if (rank.stability == 0)
                return none;
        name = str_sub(name, rank.stability == 2 ? 4 : 5, name.n);
        return read_number(&name, &rank.minor) && name.n == 0 ? rank : none;
}

/* Does x come before y? */
static bool version_precedes(struct str x, struct str y) {
        struct version_rank rx = rank_of(x), ry = rank_of(y);

        if (rx.stability != ry.stability)
                return rx.stability > ry.stability;
        if (rx.major != ry.major)
                return rx.major > ry.major;
        if (rx.minor != ry.minor)
                return rx.minor > ry.minor;
        return str_cmp(x, y) < 0;
}

/* Built-in groups first; groups of CRDs by name, in them versions by priority, resources by name. */
static size_t place_of(const struct kinds *k, const struct resource *r) {
        size_t i = 0;

        for (; i < k->count; i++) {
                const struct resource *other = k->all[i]->resource;
                int order = str_cmp(r->group, other->group);

                if (!k->all[i]->is_custom || order > 0)
                        continue;
                if (order < 0 || version_precedes(r->version, other->version))
                        break;
                if (str_eq(r->version, other->version) && str_cmp(r->plural, other->plural) < 0)
                        break;
        }
        return i;
}

static struct str deprecation(const struct value *version, const struct kind *k, struct arena *a) {
        if (!value_truth(value_getc(version, "deprecated"), false))
                return (struct str){ 0 };
        struct str text = value_text(value_getc(version, "deprecationWarning"));
        return text.n ? text
                      : arena_strf(a, "%.*s %.*s is deprecated", STR_FMT(k->api_version), STR_FMT(k->resource->kind));
}

struct new_kinds {
        struct kind **items;
        size_t count;
        struct kind *storage;
};

static int make_version(struct kinds *k, const struct value *crd, const struct value *version, struct arena *a,
                        struct new_kinds *made, struct err *err) {
        struct kind *kind = arena_zalloc(a, sizeof *kind);
        const struct value *subs = value_getc(version, "subresources");

        kind->resource = custom_resource(crd, version, a);
        int r = type_from_crd(crd, kind->resource->version, k->types, a, &kind->type, err);
        if (r < 0)
                return r;
        kind->api_version = api_version(a, kind->resource);
        kind->group_resource = group_resource(a, kind->resource);
        kind->strategy = kind->resource->has_status ? &strategy_custom_status : &strategy_custom;
        kind->shelf = store_shelf(k->store, kind->resource->group, kind->resource->plural);
        kind->is_custom = true;
        kind->crd = value_text(value_path(crd, "metadata", "name", NULL));
        kind->columns = value_getc(version, "additionalPrinterColumns");
        kind->selectable_fields = value_getc(version, "selectableFields");
        kind->scale = value_getc(subs, "scale");
        kind->deprecation_warning = deprecation(version, kind, a);
        if (value_truth(value_getc(version, "storage"), false))
                made->storage = kind;
        if (value_truth(value_getc(version, "served"), false))
                made->items[made->count++] = kind;
        return 0;
}

int kinds_set_crd(struct kinds *k, const struct value *crd, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct new_kinds made = { 0 };

        crd = value_dup(a, crd);
        const struct value *versions = value_path(crd, "spec", "versions", NULL);
        made.items = arena_alloc(a, value_count(versions) * sizeof *made.items);
        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++) {
                int r = make_version(k, crd, versions->list.items[i], a, &made, err);
                if (r < 0)
                        return r;
        }
        kinds_drop_crd(k, value_text(value_path(crd, "metadata", "name", NULL)));
        if (made.storage) /* also when it is not served: objects are in it */
                made.storage->storage = made.storage;
        for (size_t i = 0; i < made.count; i++) {
                made.items[i]->storage = made.storage ? made.storage : made.items[0];
                add(k, made.items[i], place_of(k, made.items[i]->resource));
        }
        if (made.count)
                made.items[0]->arena = TAKE_PTR(a);
        return 0;
}

void kinds_drop_crd(struct kinds *k, struct str name) {
        struct arena *arena = NULL;
        size_t kept = 0;

        for (size_t i = 0; i < k->count; i++) {
                struct kind *kind = k->all[i];
                _cleanup_(buf_done) struct buf path = buf_make(1024);

                if (!kind->is_custom || !str_eq(kind->crd, name)) {
                        k->all[kept++] = kind;
                        continue;
                }
                path_of(&path, kind->resource->group, kind->resource->version, kind->resource->plural);
                map_remove(k->by_path, buf_str(&path));
                if (kind->arena)
                        arena = kind->arena;
        }
        k->count = kept;
        arena_free(arena);
}
