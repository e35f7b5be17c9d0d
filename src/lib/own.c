/* SPDX-License-Identifier: Apache-2.0 */
#include "truce/own.h"

#include "base/pointer.h"
#include "lib/lib_impl.h"
#include "own/proof.h"

struct truce_owners {
        struct arena *arena;
        struct str path;
        const struct managed_entry **entries;
        size_t count;
};

struct place {
        struct field_path path;
        const struct value *value;
        const struct schema *type;
        bool whole; /* the rest of the pointer is inside an atomic node or a list we cannot take apart */
};

/* One step down. False: what is below has one owner, or cannot be told apart. */
static bool go_down(struct place *at, struct str token, const struct value *next, struct arena *a) {
        struct path_element e;

        if (schema_is_atomic(at->type, at->value))
                return false;
        if (value_is(at->value, VALUE_MAP)) {
                at->path = field_path_join(a, at->path, path_field(token));
                at->type = schema_field(at->type, token);
                return true;
        }
        if (!path_item_element(next, at->type, a, &e))
                return false;
        at->path = field_path_join(a, at->path, e);
        at->type = schema_item(at->type);
        return true;
}

static void step(struct place *at, struct str token, struct arena *a) {
        const struct value *next = pointer_find(at->value, (struct pointer){ &token, 1 });

        if (next && !at->whole)
                at->whole = !go_down(at, token, next, a);
        at->value = next;
}

/* The path, as ownership names it, of what stands at a JSON pointer. */
static int path_at(const struct value *live, const struct schema *type, const char *pointer, struct arena *a,
                   struct field_path *ret_path, struct err *err) {
        struct place at = { .value = live, .type = type };
        struct pointer p;
        int r = pointer_parse(str_from(pointer), a, &p, err);

        if (r < 0)
                return r;
        for (size_t i = 0; i < p.count && at.value; i++)
                step(&at, p.tokens[i], a);
        if (!at.value)
                return err_set(err, ERR_NOTFOUND, "there is nothing at %s", pointer);
        *ret_path = at.path;
        return 0;
}

static int find_owners(struct truce_owners *o, const struct value *live, const struct truce_value *crd,
                       const char *pointer, struct err *err) {
        const struct schema *type;
        struct managed *m = arena_alloc(o->arena, sizeof *m);
        struct field_path path;
        int r = lib_type(live, crd, o->arena, &type, err);

        if (r >= 0)
                r = managed_parse(live, o->arena, m, err);
        if (r >= 0)
                r = path_at(live, type, pointer, o->arena, &path, err);
        if (r < 0)
                return r;
        o->path = field_path_text(o->arena, path);
        o->entries = arena_alloc(o->arena, (m->count + 1) * sizeof *o->entries);
        if (path.count)
                o->count = managed_owners(m, type, path, o->entries, m->count);
        else
                o->count = managed_touching(m, type, path, o->entries, m->count);
        return 0;
}

int truce_owners(const struct truce_value *live, const struct truce_value *crd, const char *pointer,
                 struct truce_owners **ret_owners, char **ret_message) {
        struct truce_owners *o = mem_zalloc(sizeof *o);
        struct err err;

        /* What is given back may outlive `live`. */
        o->arena = arena_new(0);
        int r = find_owners(o, value_dup(o->arena, live->value), crd, pointer, &err);
        if (r < 0) {
                truce_owners_free(o);
                return lib_fail(r, &err, ret_message);
        }
        *ret_owners = o;
        return TRUCE_OK;
}

void truce_owners_free(struct truce_owners *owners) {
        if (!owners)
                return;
        arena_free(owners->arena);
        free(owners);
}

const char *truce_owners_path(const struct truce_owners *owners) {
        return owners->path.p;
}

size_t truce_owners_count(const struct truce_owners *owners) {
        return owners->count;
}

/* Texts of values end in NUL; an absent one is empty. */
static const char *text(struct str s) {
        return s.n ? s.p : "";
}

const char *truce_owner_manager(const struct truce_owners *owners, size_t i) {
        return text(owners->entries[i]->manager);
}

const char *truce_owner_operation(const struct truce_owners *owners, size_t i) {
        return owners->entries[i]->operation == MANAGED_APPLY ? "Apply" : "Update";
}

const char *truce_owner_subresource(const struct truce_owners *owners, size_t i) {
        return text(owners->entries[i]->subresource);
}

const char *truce_owner_time(const struct truce_owners *owners, size_t i) {
        return text(owners->entries[i]->time);
}

char *truce_owner_fields(const struct truce_owners *owners, size_t i) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(LIB_MAX_TEXT_BYTES);
        const struct fieldset *set = owners->entries[i]->set;
        const struct field_path *paths;
        size_t count = set ? fieldset_paths(set, a, &paths) : 0;

        for (size_t k = 0; k < count; k++) {
                field_path_print(paths[k], &out);
                buf_addch(&out, '\n');
        }
        return lib_text(buf_str(&out));
}

int truce_apply_is_no_op(const struct truce_value *desired, const struct truce_value *live,
                         const struct truce_value *crd, bool *ret_proven, char **ret_why, char **ret_message) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct schema *type;
        struct managed m;
        struct err err;
        int r = lib_type(desired->value, crd, a, &type, &err);

        if (r == 0)
                r = managed_parse(live->value, a, &m, &err);
        if (r < 0)
                return lib_fail(r, &err, ret_message);
        struct proof proof = proof_no_op(desired->value, live->value, &m, type, a);
        *ret_proven = proof.holds;
        if (ret_why)
                *ret_why = lib_text(arena_strf(a, "%.*s%s%s", STR_FMT(proof.path), proof.path.n ? ": " : "",
                                               proof.holds ? "" : proof_reason_text(proof.reason)));
        return TRUCE_OK;
}
