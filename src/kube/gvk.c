/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/gvk.h"

struct gvk gvk_from(struct str api_version, struct str kind) {
        ptrdiff_t slash = str_find(api_version, '/', 0);

        if (slash < 0)
                return (struct gvk){ .version = api_version, .kind = kind };

        return (struct gvk){
                .group = str_sub(api_version, 0, (size_t)slash),
                .version = str_sub(api_version, (size_t)slash + 1, api_version.n),
                .kind = kind,
        };
}

bool gvk_eq(struct gvk a, struct gvk b) {
        return str_eq(a.kind, b.kind) && str_eq(a.group, b.group) && str_eq(a.version, b.version);
}

int object_key_cmp(const struct object_key *a, const struct object_key *b) {
        int order = str_cmp(a->group, b->group);

        if (!order)
                order = str_cmp(a->kind, b->kind);
        if (!order)
                order = str_cmp(a->namespace, b->namespace);
        return order ? order : str_cmp(a->name, b->name);
}

bool object_key_eq(const struct object_key *a, const struct object_key *b) {
        return object_key_cmp(a, b) == 0;
}

static void add_named(struct buf *out, struct str namespace, struct str name) {
        if (namespace.n) {
                buf_add(out, namespace);
                buf_addch(out, '/');
        }
        buf_add(out, name);
}

void gvk_add_api_version(struct buf *out, struct gvk gvk) {
        add_named(out, gvk.group, gvk.version);
}

void gvk_print(struct buf *out, struct gvk gvk) {
        gvk_add_api_version(out, gvk);
        buf_addch(out, ' ');
        buf_add(out, gvk.kind);
}

void object_key_print(struct buf *out, const struct object_key *key) {
        buf_add(out, key->kind);
        if (key->group.n) {
                buf_addch(out, '.');
                buf_add(out, key->group);
        }
        buf_addch(out, ' ');
        add_named(out, key->namespace, key->name);
}

void object_print(struct buf *out, struct gvk gvk, struct str namespace, struct str name) {
        gvk_print(out, gvk);
        buf_addch(out, ' ');
        add_named(out, namespace, name);
}

void object_key_add_id(struct buf *out, const struct object_key *key) {
        buf_add(out, key->group);
        buf_addch(out, '/');
        buf_add(out, key->kind);
        buf_addch(out, '/');
        buf_add(out, key->namespace);
        buf_addch(out, '/');
        buf_add(out, key->name);
}

bool object_key_from_id(struct str id, struct object_key *ret_key) {
        struct object_key key;
        struct str *const parts[] = { &key.group, &key.kind, &key.namespace, &key.name };
        size_t from = 0;

        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                ptrdiff_t slash = str_find(id, '/', from);
                bool last = i + 1 == ARRAY_LEN(parts);

                if (last != (slash < 0))
                        return false;
                *parts[i] = str_sub(id, from, last ? id.n : (size_t)slash);
                from = (size_t)slash + 1;
        }
        *ret_key = key;
        return true;
}
