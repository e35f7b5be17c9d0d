/* SPDX-License-Identifier: Apache-2.0 */
#include "own/fingerprint.h"

#include "base/limits.h"
#include "own/match.h"

struct projector {
        struct arena *arena;
        bool failed;
};

static const struct value *project(struct projector *p, const struct value *live, const struct fieldset *set,
                                   const struct schema *type);

/* What an owned leaf covers. An owned `{}` of a granular map is the map's being there; its content is others'. */
static const struct value *project_leaf(const struct value *live, const struct schema *type) {
        return value_is(live, VALUE_MAP) && schema_is_granular(type, live) ? &value_empty_map : live;
}

static const struct value *project_map(struct projector *p, const struct value *live, const struct fieldset *set,
                                       const struct schema *type) {
        struct value_map_builder out = { 0 };

        for (size_t i = 0; i < set->count; i++) {
                const struct path_element *e = &set->children[i].element;
                const struct value *member = e->kind == PATH_FIELD ? value_get(live, e->name) : NULL;

                if (member)
                        value_map_add(&out, e->name,
                                      project(p, member, &set->children[i].set, schema_field(type, e->name)), 0);
        }
        return value_map_end(&out, p->arena, 0);
}

static const struct value *project_list(struct projector *p, const struct value *live, const struct fieldset *set,
                                        const struct schema *type) {
        struct value_list_builder out = { 0 };
        struct matcher m;

        if (!matcher_init(&m, set, type))
                return live;
        for (size_t i = 0; i < live->list.count; i++) {
                struct path_element e;

                if (!matcher_element(&m, live->list.items[i], p->arena, &e)) {
                        p->failed = true;
                        break;
                }
                const struct fieldset *owned = fieldset_child(set, &e);
                if (owned)
                        value_list_add(&out, project(p, live->list.items[i], owned, schema_item(m.type)));
        }
        return value_list_end(&out, p->arena, 0);
}

static const struct value *project(struct projector *p, const struct value *live, const struct fieldset *set,
                                   const struct schema *type) {
        if (set->count == 0)
                return project_leaf(live, type);
        if (live->kind == VALUE_MAP)
                return project_map(p, live, set, type);
        if (live->kind == VALUE_LIST)
                return project_list(p, live, set, type);
        return live;
}

const struct value *own_project(const struct value *live, const struct fieldset *set, const struct schema *type,
                                struct arena *a) {
        struct projector p = { .arena = a };

        if (fieldset_is_empty(set))
                return &value_empty_map;
        const struct value *out = project(&p, live, set, type);
        return p.failed ? NULL : out;
}

/*
 * What Git says, our set does not hold and the live object may or may not have: an empty keyed list is in no set. It
 * enters as it stands, so that its coming and going is seen.
 */
struct residue {
        struct arena *arena;
        struct buf *out;
};

static void residue_add(struct residue *r, struct str name, const struct value *live) {
        buf_add(r->out, name);
        buf_addch(r->out, '=');
        if (live)
                buf_add(r->out, value_canonical(r->arena, live));
        buf_addch(r->out, '\n');
}

static void residue_walk(struct residue *r, const struct value *desired, const struct fieldset *set,
                         const struct value *live, const struct schema *type, struct field_path at);

static void residue_map(struct residue *r, const struct value *desired, const struct fieldset *set,
                        const struct value *live, const struct schema *type, struct field_path at) {
        for (size_t i = 0; i < desired->map.count; i++) {
                const struct value_member *m = &desired->map.members[i];
                struct path_element e = path_field(m->key);
                struct field_path p = field_path_join(r->arena, at, e);
                const struct fieldset *owned = fieldset_child(set, &e);

                if (owned)
                        residue_walk(r, m->value, owned, value_get(live, m->key), schema_field(type, m->key), p);
                else if (!fieldset_is_stripped(p))
                        residue_add(r, m->key, value_get(live, m->key));
        }
}

static void residue_list(struct residue *r, const struct value *desired, const struct fieldset *set,
                         const struct value *live, const struct schema *type, struct field_path at) {
        struct matcher m;

        for (size_t i = 0; i < desired->list.count; i++) {
                struct path_element e;
                const struct value *item = desired->list.items[i];

                if (!matcher_init(&m, set, type) || !matcher_element(&m, item, r->arena, &e) ||
                    !fieldset_child(set, &e)) {
                        residue_add(r, STR("[]"), live);
                        return;
                }
                residue_walk(r, item, fieldset_child(set, &e), path_item_find(live, &e, m.type, NULL),
                             schema_item(m.type), field_path_join(r->arena, at, e));
        }
}

static void residue_walk(struct residue *r, const struct value *desired, const struct fieldset *set,
                         const struct value *live, const struct schema *type, struct field_path at) {
        if (set->count == 0)
                return;
        if (desired->kind == VALUE_MAP)
                residue_map(r, desired, set, live, type, at);
        else if (desired->kind == VALUE_LIST)
                residue_list(r, desired, set, live, type, at);
}

static void add_part(struct buf *text, const char *name, struct str part) {
        buf_addf(text, "%s %zu\n", name, part.n);
        buf_add(text, part);
        buf_addch(text, '\n');
}

int fingerprint_of(const struct hash_key *key, const struct value *desired, const struct value *live,
                   const struct managed *m, const struct schema *type, struct arena *scratch,
                   struct hash128 *ret_fingerprint, struct err *err) {
        const struct managed_entry *ours = managed_ours(m);
        /* Desired, set and live are each below the cap of an object; escapes can double them. */
        _cleanup_(buf_done) struct buf text = buf_make((size_t)8 * KUBE_MAX_OBJECT_BYTES);

        if (!ours || ours->broken)
                return err_set(err, ERR_NOTFOUND, "no readable entry of %s in managedFields", OWN_MANAGER);
        const struct value *projection = own_project(live, ours->set, type, scratch);
        if (!projection)
                return err_set(err, ERR_UNSUPPORTED, "a list of the live object has items without their key fields");

        add_part(&text, "desired", value_canonical(scratch, desired));
        add_part(&text, "apiVersion", ours->api_version);
        add_part(&text, "set", fieldset_text(scratch, ours->set));
        add_part(&text, "live", value_canonical(scratch, projection));
        if (desired->kind == VALUE_MAP) {
                struct residue r = { .arena = scratch, .out = &text };

                residue_walk(&r, desired, ours->set, live, type, (struct field_path){ 0 });
        }
        int res = buf_check(&text, "the text of a fingerprint", err);
        if (res < 0)
                return res;
        *ret_fingerprint = hash128(key, buf_str(&text));
        return 0;
}
