/* SPDX-License-Identifier: Apache-2.0 */
#include "own/proof.h"

#include "own/match.h"

/* Does the server own a non-empty map or list at this place with its own `.`? */
enum dot {
        DOT_NO,      /* a declared field */
        DOT_YES,     /* a list item, or a member of a map with free keys */
        DOT_UNKNOWN, /* the schema does not say */
};

struct prover {
        struct arena *arena;
        enum proof_reason reason;
        struct str path;
};

/* One place in the walk: what we own there, what Git wants, what is there. */
struct place {
        const struct fieldset *set;
        const struct value *desired;
        const struct value *live;
        const struct schema *type;
        struct field_path path;
        enum dot dot;
};

static bool fail(struct prover *p, enum proof_reason reason, struct field_path path) {
        p->reason = reason;
        p->path = field_path_text(p->arena, path);
        return false;
}

/* Equal as the server would see it: same kinds, same spelling, no nulls, same order. */
static bool same_text(const struct value *a, const struct value *b) {
        if (a->kind != b->kind || a->kind == VALUE_NULL)
                return false;
        if (a->kind != VALUE_LIST && a->kind != VALUE_MAP)
                return a->kind == VALUE_DECIMAL ? str_eq(a->text, b->text) : value_equal(a, b);
        if (value_count(a) != value_count(b))
                return false;
        for (size_t i = 0; a->kind == VALUE_LIST && i < a->list.count; i++)
                if (!same_text(a->list.items[i], b->list.items[i]))
                        return false;
        for (size_t i = 0; a->kind == VALUE_MAP && i < a->map.count; i++)
                if (!str_eq(a->map.members[i].key, b->map.members[i].key) ||
                    !same_text(a->map.members[i].value, b->map.members[i].value))
                        return false;
        return true;
}

static bool prove(struct prover *p, const struct place *at);

/* An owned leaf: a scalar, an atomic node, or an empty map. */
static bool prove_leaf(struct prover *p, const struct place *at) {
        const struct value *d = at->desired;
        bool composite = d->kind == VALUE_MAP || d->kind == VALUE_LIST;
        bool granular = schema_is_granular(at->type, d);

        if (d->kind == VALUE_MAP && d->map.count == 0 && at->live->kind == VALUE_MAP &&
            (granular || at->live->map.count == 0))
                return true;
        if (composite && granular)
                return fail(p, PROOF_NOT_OWNED, at->path);
        if (composite && !schema_is_atomic(at->type, d))
                return fail(p, PROOF_SCHEMA, at->path);
        return same_text(d, at->live) || fail(p, PROOF_VALUE, at->path);
}

static enum dot dot_of_member(const struct schema *map_type, struct str name) {
        switch (schema_form(map_type)) {
        case SCHEMA_MAP:
        case SCHEMA_DEDUCED:
                return DOT_YES;
        case SCHEMA_STRUCT:
                if (schema_declares(map_type, name))
                        return DOT_NO;
                return map_type->item ? DOT_YES : DOT_UNKNOWN;
        default:
                return DOT_UNKNOWN;
        }
}

static bool prove_member(struct prover *p, const struct place *map, const struct value_member *m) {
        struct path_element e = path_field(m->key);
        struct place at = {
                .set = fieldset_child(map->set, &e),
                .desired = m->value,
                .live = value_get(map->live, m->key),
                .type = schema_field(map->type, m->key),
                .path = field_path_join(p->arena, map->path, e),
                .dot = dot_of_member(map->type, m->key),
        };

        return at.set ? prove(p, &at) : fail(p, PROOF_NOT_OWNED, at.path);
}

static bool prove_all_desired(struct prover *p, const struct place *map) {
        for (size_t i = 0; i < map->set->count; i++) {
                const struct path_element *e = &map->set->children[i].element;

                if (e->kind != PATH_FIELD || !value_get(map->desired, e->name))
                        return fail(p, PROOF_NOT_DESIRED, field_path_join(p->arena, map->path, *e));
        }
        return true;
}

static bool prove_map(struct prover *p, const struct place *map) {
        if (!prove_all_desired(p, map))
                return false;
        for (size_t i = 0; i < map->desired->map.count; i++)
                if (!prove_member(p, map, &map->desired->map.members[i]))
                        return false;
        return true;
}

/* The live list, each item under its element. */
struct filed {
        const struct matcher *matcher;
        struct path_element *elements;
        size_t count;
};

static bool file_live(struct prover *p, const struct place *list, const struct matcher *m, struct filed *ret) {
        size_t count = list->live->list.count;

        *ret = (struct filed){ m, arena_alloc(p->arena, count * sizeof *ret->elements), count };
        for (size_t i = 0; i < count; i++)
                if (!matcher_element(m, list->live->list.items[i], p->arena, &ret->elements[i]))
                        return fail(p, PROOF_SCHEMA, list->path);
        return true;
}

/* Where the element stands in the live list, exactly once and after `after` (-1: anywhere). */
static bool locate(struct prover *p, const struct filed *live, const struct path_element *e, struct field_path path,
                   ptrdiff_t after, size_t *ret_at) {
        size_t found = 0;

        for (size_t i = 0; i < live->count; i++) {
                if (path_element_cmp(&live->elements[i], e) != 0)
                        continue;
                if (found++)
                        return fail(p, PROOF_REPEATED, path);
                *ret_at = i;
        }
        if (!found)
                return fail(p, PROOF_ABSENT, path);
        return (ptrdiff_t)*ret_at > after || fail(p, PROOF_ORDER, path);
}

static bool prove_items(struct prover *p, const struct place *list, const struct filed *live) {
        bool *seen = arena_zalloc(p->arena, list->set->count * sizeof *seen);
        ptrdiff_t last = -1;

        for (size_t i = 0; i < list->desired->list.count; i++) {
                struct path_element e;
                size_t where;

                if (!matcher_element(live->matcher, list->desired->list.items[i], p->arena, &e))
                        return fail(p, PROOF_SCHEMA, list->path);
                struct place at = {
                        .set = fieldset_child(list->set, &e),
                        .desired = list->desired->list.items[i],
                        .type = schema_item(live->matcher->type),
                        .path = field_path_join(p->arena, list->path, e),
                        .dot = DOT_YES,
                };
                if (!at.set)
                        return fail(p, PROOF_NOT_OWNED, at.path);
                size_t which = (size_t)(CONTAINER_OF(at.set, struct fieldset_child, set) - list->set->children);
                if (seen[which])
                        return fail(p, PROOF_REPEATED, at.path);
                seen[which] = true;
                if (!locate(p, live, &e, at.path, last, &where))
                        return false;
                last = (ptrdiff_t)where;
                at.live = list->live->list.items[where];
                if (!prove(p, &at))
                        return false;
        }
        for (size_t i = 0; i < list->set->count; i++)
                if (!seen[i])
                        return fail(p, PROOF_NOT_DESIRED,
                                    field_path_join(p->arena, list->path, list->set->children[i].element));
        return true;
}

static bool prove_list(struct prover *p, const struct place *list) {
        struct matcher m;
        struct filed live;

        if (!matcher_init(&m, list->set, list->type))
                return fail(p, PROOF_SCHEMA, list->path);
        return file_live(p, list, &m, &live) && prove_items(p, list, &live);
}

/* A node that is granular: its own `.` must be what an apply would write, its children are proven one by one. */
static bool prove_node(struct prover *p, const struct place *at) {
        const struct value *d = at->desired;

        if (d->kind != at->live->kind || (d->kind != VALUE_MAP && d->kind != VALUE_LIST))
                return fail(p, PROOF_VALUE, at->path);
        if (schema_form(at->type) != SCHEMA_UNKNOWN && !schema_is_granular(at->type, d))
                return fail(p, PROOF_SCHEMA, at->path);
        if (at->set->member ? at->dot != DOT_YES : at->dot == DOT_YES)
                return fail(p, PROOF_SCHEMA, at->path);
        return d->kind == VALUE_MAP ? prove_map(p, at) : prove_list(p, at);
}

static bool prove(struct prover *p, const struct place *at) {
        if (at->desired->kind == VALUE_NULL)
                return fail(p, PROOF_NULL, at->path);
        if (!at->live)
                return fail(p, PROOF_ABSENT, at->path);
        return at->set->count == 0 ? prove_leaf(p, at) : prove_node(p, at);
}

/* Metadata the server sets must not stand in Git; name and namespace must be the live object's. */
static bool prove_metadata(struct prover *p, const struct place *root, struct place *ret_tracked) {
        const struct value *d = value_getc(root->desired, "metadata"), *l = value_getc(root->live, "metadata");
        struct path_element e = path_field(STR("metadata"));
        const struct fieldset *set = fieldset_child(root->set, &e);
        struct value_map_builder tracked = { 0 };
        bool ok = value_is(d, VALUE_MAP);

        *ret_tracked = (struct place){ .set = set ? set : &fieldset_empty,
                                       .live = l,
                                       .type = schema_field(root->type, STR("metadata")),
                                       .path = field_path_join(p->arena, root->path, e) };
        for (size_t i = 0; ok && i < d->map.count; i++) {
                const struct value_member *m = &d->map.members[i];
                bool identity = str_eqc(m->key, "name") || str_eqc(m->key, "namespace");
                struct field_path path = field_path_join(p->arena, ret_tracked->path, path_field(m->key));

                if (identity)
                        ok = value_equal(m->value, value_get(l, m->key));
                else if (fieldset_is_stripped(path))
                        ok = false;
                else
                        value_map_add(&tracked, m->key, m->value, 0);
        }
        ret_tracked->desired = value_map_end(&tracked, p->arena, 0);
        if (!ok)
                return fail(p, PROOF_IDENTITY, ret_tracked->path);
        /* The server strips metadata itself from every set it writes. */
        return !ret_tracked->set->member || fail(p, PROOF_SCHEMA, ret_tracked->path);
}

/* The members of the object, but for apiVersion, kind and metadata, which are proven elsewhere. */
static bool prove_body(struct prover *p, const struct place *root) {
        struct value_map_builder body = { 0 };
        struct path_element metadata = path_field(STR("metadata"));
        struct place at = *root;

        for (size_t i = 0; i < root->desired->map.count; i++) {
                const struct value_member *m = &root->desired->map.members[i];

                if (!str_eqc(m->key, "apiVersion") && !str_eqc(m->key, "kind") && !str_eqc(m->key, "metadata"))
                        value_map_add(&body, m->key, m->value, 0);
        }
        at.desired = value_map_end(&body, p->arena, 0);
        at.set = fieldset_without(p->arena, root->set, (struct field_path){ &metadata, 1 });
        if (value_getc(at.desired, "status"))
                return fail(p, PROOF_IDENTITY, field_path_join(p->arena, root->path, path_field(STR("status"))));
        return prove_map(p, &at);
}

static bool same_member(const struct value *a, const struct value *b, const char *name) {
        return value_text(value_getc(a, name)).n && value_equal(value_getc(a, name), value_getc(b, name));
}

static bool prove_object(struct prover *p, const struct value *desired, const struct value *live,
                         const struct managed *m, const struct schema *type) {
        const struct managed_entry *ours = managed_ours(m);
        struct place root = { .desired = desired, .live = live, .type = type }, metadata;

        if (!ours || ours->broken)
                return fail(p, PROOF_NOT_OURS, root.path);
        root.set = ours->set;
        if (!value_is(desired, VALUE_MAP) || !same_member(desired, live, "apiVersion") ||
            !same_member(desired, live, "kind") ||
            !str_eq(ours->api_version, value_text(value_getc(desired, "apiVersion"))))
                return fail(p, PROOF_VERSION, root.path);
        return prove_metadata(p, &root, &metadata) && prove_map(p, &metadata) && prove_body(p, &root);
}

struct proof proof_no_op(const struct value *desired, const struct value *live, const struct managed *m,
                         const struct schema *type, struct arena *a) {
        struct prover p = { .arena = a, .reason = PROOF_HOLDS };
        bool holds = prove_object(&p, desired, live, m, type);

        return (struct proof){ .holds = holds, .reason = p.reason, .path = p.path };
}

static const char *const reasons[] = {
        [PROOF_HOLDS] = "nothing would change",
        [PROOF_NOT_OURS] = "not applied by truce yet",
        [PROOF_VERSION] = "another apiVersion or kind",
        [PROOF_IDENTITY] = "metadata that the server sets, or another name",
        [PROOF_NOT_OWNED] = "not owned yet",
        [PROOF_NOT_DESIRED] = "owned, but no longer in Git",
        [PROOF_VALUE] = "valued or spelt differently",
        [PROOF_ABSENT] = "not in the live object",
        [PROOF_ORDER] = "in another order",
        [PROOF_REPEATED] = "repeated in a list",
        [PROOF_SCHEMA] = "the type is not known well enough",
        [PROOF_NULL] = "an explicit null",
};

const char *proof_reason_text(enum proof_reason reason) {
        return reasons[reason];
}
