/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/groups_digest.h"

#include "base/json.h"
#include "base/when.h"

/* A digest's first block: what most have in it. */
#define DIGEST_BYTES 640

/* --- kinds ---------------------------------------------------------------------------------------------------- */

static void keep_text(struct digest *d, const struct value **v) {
        if (*v)
                d->text = value_canonical(d->arena, *v);
        *v = NULL;
}

static int read_pod(struct digest *d, const struct value *object) {
        return group_pod_read(object, d->arena, &d->pod);
}

static int read_service(struct digest *d, const struct value *object) {
        int r = group_service_read(object, d->arena, &d->service);

        keep_text(d, &d->service.selector);
        return r;
}

static int read_claim(struct digest *d, const struct value *object) {
        return group_claim_read(object, d->arena, &d->claim);
}

static int read_revision(struct digest *d, const struct value *object) {
        int r = group_stored_revision_read(object, d->arena, &d->revision);

        keep_text(d, &d->revision.data);
        return r;
}

static int read_set(struct digest *d, const struct value *object) {
        const struct value *managed = value_path(object, "metadata", "managedFields", NULL);

        for (size_t i = 0; i < value_count(managed); i++)
                d->by_lws |= str_eqc(value_text(value_getc(managed->list.items[i], "manager")), "lws");
        return 0;
}

static int read_node(struct digest *d, const struct value *object) {
        const struct value *room[] = { value_path(object, "status", "allocatable", NULL),
                                       value_path(object, "spec", "taints", NULL) };
        int r = group_node_read(object, d->arena, &d->node.is);

        d->node.unschedulable = value_truth(value_path(object, "spec", "unschedulable", NULL), false);
        when_parse(value_text(value_path(object, "metadata", "creationTimestamp", NULL)), &d->node.created_ms);
        for (size_t i = 0; i < ARRAY_LEN(room); i++) {
                struct hash128 h = value_hash(hash_process_key(), room[i] ? room[i] : &value_null);

                d->node.room.lo = d->node.room.lo * 31 + h.lo;
                d->node.room.hi = d->node.room.hi * 31 + h.hi;
        }
        keep_text(d, &d->node.is.labels);
        return r;
}

static int (*const readers[GROUPS_TABLES])(struct digest *d, const struct value *object) = {
        [GROUPS_PODS] = read_pod,           [GROUPS_SERVICES] = read_service, [GROUPS_CLAIMS] = read_claim,
        [GROUPS_REVISIONS] = read_revision, [GROUPS_SETS] = read_set,         [GROUPS_NODES] = read_node,
};

struct digest *digest_read(enum groups_table table, struct str bytes) {
        _cleanup_(arena_freep) struct arena *parsed = arena_new(bytes.n * 8);
        const struct value *object, *metadata;

        if (json_parse(bytes, parsed, &object, NULL) < 0)
                return NULL;
        metadata = value_getc(object, "metadata");
        struct str set = value_text(value_get(value_getc(metadata, "labels"), STR(GROUP_LABEL_NAME)));
        struct digest *d = mem_zalloc(sizeof *d);

        d->arena = arena_new(DIGEST_BYTES);
        d->owner_uid = arena_str(d->arena, value_text(value_getc(kept_controller(object), "uid")));
        bool is_named = kept_read(object, d->arena, &d->kept);
        if (table != GROUPS_NODES && set.n)
                d->kept.owner = informer_key(value_text(value_getc(metadata, "namespace")), set, d->arena);
        if (is_named && readers[table](d, object) == 0)
                return d;
        digest_free(d);
        return NULL;
}

void digest_free(struct digest *d) {
        if (!d)
                return;
        arena_free(d->arena);
        free(d);
}

bool digest_node_is_usable(const struct digest *d) {
        return !d->node.is.lost_ms && !d->node.is.out_of_service && !d->node.unschedulable && !d->kept.deleting;
}

/* --- copies --------------------------------------------------------------------------------------------------- */

static void copy_texts(struct str *const *texts, size_t count, struct arena *a) {
        for (size_t i = 0; i < count; i++)
                *texts[i] = arena_str(a, *texts[i]);
}

static const struct value *value_of(const struct digest *d, struct arena *a) {
        const struct value *v = NULL;

        if (d->text.n && json_parse(d->text, a, &v, NULL) < 0)
                abort(); /* of our own making */
        return v;
}

struct group_pod digest_pod(const struct digest *d, struct arena *a) {
        struct group_pod p = d->pod;
        struct str *const texts[] = { &p.name,        &p.uid,  &p.resource_version, &p.owner_uid,   &p.revision,
                                      &p.incarnation, &p.node, &p.size_annotation,  &p.last_failure };

        copy_texts(texts, ARRAY_LEN(texts), a);
        return p;
}

struct group_service digest_service(const struct digest *d, struct arena *a) {
        struct group_service s = d->service;
        struct str *const texts[] = { &s.name, &s.uid, &s.resource_version, &s.owner_uid };

        copy_texts(texts, ARRAY_LEN(texts), a);
        s.selector = value_of(d, a);
        return s;
}

struct group_claim digest_claim(const struct digest *d, struct arena *a) {
        struct group_claim c = d->claim;
        struct str *const texts[] = { &c.name, &c.uid, &c.resource_version, &c.owner_uid, &c.set };

        copy_texts(texts, ARRAY_LEN(texts), a);
        return c;
}

struct group_stored_revision digest_stored_revision(const struct digest *d, struct arena *a) {
        struct group_stored_revision r = d->revision;
        struct str *const texts[] = { &r.name, &r.uid, &r.resource_version, &r.owner_uid, &r.hash };

        copy_texts(texts, ARRAY_LEN(texts), a);
        r.data = value_of(d, a);
        return r;
}

struct group_node digest_node(const struct digest *d, struct arena *a) {
        struct group_node n = d->node.is;

        n.name = arena_str(a, n.name);
        n.labels = value_of(d, a);
        return n;
}
