/* SPDX-License-Identifier: Apache-2.0 */
#include "own/crd_guard.h"

#include "base/limits.h"

#define PATHS_SHOWN    3
#define PATH_MAX_BYTES 4096

bool crd_guard_concerns(const struct value *object) {
        return str_eqc(value_text(value_getc(object, "kind")), "CustomResourceDefinition") &&
               str_eqc(value_text(value_getc(object, "apiVersion")), "apiextensions.k8s.io/v1");
}

/* --- versions --------------------------------------------------------------------------------------------------- */

static const struct value *version_of(const struct value *crd, struct str name) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);

        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++)
                if (str_eq(value_text(value_getc(versions->list.items[i], "name")), name))
                        return versions->list.items[i];
        return NULL;
}

static struct str storage_of(const struct value *crd) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);

        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++)
                if (value_truth(value_getc(versions->list.items[i], "storage"), false))
                        return value_text(value_getc(versions->list.items[i], "name"));
        return STR("");
}

static bool is_used(const struct value *version) {
        return value_truth(value_getc(version, "served"), false) || value_truth(value_getc(version, "storage"), false);
}

static const struct value *schema_of(const struct value *version) {
        return value_path(version, "schema", "openAPIV3Schema", NULL);
}

/* --- a stored version is dropped -------------------------------------------------------------------------------- */

/* `["v1","v2"]` of what is left of the list; the new storage version when nothing is. */
static struct str left_over(const struct value *stored, const struct value *desired, struct arena *a) {
        _cleanup_(buf_done) struct buf b = buf_make(PATH_MAX_BYTES);
        size_t count = 0;

        for (size_t i = 0; i < stored->list.count; i++)
                if (version_of(desired, value_text(stored->list.items[i])))
                        buf_addf(&b, "%s\"%.*s\"", count++ ? "," : "", STR_FMT(value_text(stored->list.items[i])));
        if (!count)
                buf_addf(&b, "\"%.*s\"", STR_FMT(storage_of(desired)));
        return arena_str(a, buf_str(&b));
}

static bool drops_stored(const struct value *live, const struct value *desired, struct arena *a, struct str *ret) {
        const struct value *stored = value_path(live, "status", "storedVersions", NULL);
        struct str crd = value_text(value_path(live, "metadata", "name", NULL));

        for (size_t i = 0; value_is(stored, VALUE_LIST) && i < stored->list.count; i++) {
                struct str version = value_text(stored->list.items[i]);

                if (version_of(desired, version))
                        continue;
                *ret = arena_strf(
                        a,
                        "version %.*s cannot be dropped, objects may still be stored in it "
                        "(status.storedVersions): 1. keep it in spec.versions, with served: false if need be, "
                        "and make %.*s the storage version; 2. rewrite the objects: kubectl get %.*s -A -o json "
                        "| kubectl replace -f -; 3. take it off the list: kubectl patch crd %.*s "
                        "--subresource=status --type=merge -p '{\"status\":{\"storedVersions\":[%.*s]}}'; "
                        "4. then drop it",
                        STR_FMT(version), STR_FMT(storage_of(desired)), STR_FMT(crd), STR_FMT(crd),
                        STR_FMT(left_over(stored, desired, a)));
                return true;
        }
        return false;
}

/* --- fields are lost between versions --------------------------------------------------------------------------- */

/* The same place in four schemas. */
struct place {
        const struct value *stored;  /* of the version objects are stored in, as it is live */
        const struct value *kept;    /* of the same version in Git */
        const struct value *through; /* of the version that they pass through, in Git */
        const struct value *before;  /* of that one as it is live; NULL: it counts as without loss */
};

struct losses {
        struct arena *arena;
        struct str shown;
        size_t count;
};

enum has { HAS_NOT, HAS, HAS_ANY };

static bool keeps_unknown(const struct value *node) {
        return value_truth(value_getc(node, "x-kubernetes-preserve-unknown-fields"), false);
}

/* Does the node let a field of this name pass? HAS: *ret_child is its schema; HAS_ANY: whatever is in it. */
static enum has has_field(const struct value *node, struct str name, const struct value **ret_child) {
        const struct value *child = value_get(value_getc(node, "properties"), name);
        const struct value *others = value_getc(node, "additionalProperties");

        *ret_child = child ? child : others;
        if (child || value_is(others, VALUE_MAP))
                return HAS;
        return keeps_unknown(node) || value_truth(others, false) ? HAS_ANY : HAS_NOT;
}

static bool takes_any_field(const struct value *node) {
        const struct value *others = value_getc(node, "additionalProperties");

        return keeps_unknown(node) || value_is(others, VALUE_MAP) || value_truth(others, false);
}

static void lost(struct losses *l, struct str path, const char *why) {
        if (l->count++ < PATHS_SHOWN)
                l->shown = arena_strf(l->arena, "%.*s%s%.*s%s", STR_FMT(l->shown), l->count > 1 ? ", " : "",
                                      STR_FMT(path), why);
}

static bool is_other_type(const struct value *from, const struct value *to) {
        struct str x = value_text(value_getc(from, "type")), y = value_text(value_getc(to, "type"));

        return x.n && y.n && !str_eq(x, y) && !(str_eqc(x, "integer") && str_eqc(y, "number")) &&
               !value_truth(value_getc(to, "x-kubernetes-int-or-string"), false);
}

static void compare(struct losses *l, struct place p, struct str path, unsigned depth);

static void compare_field(struct losses *l, struct place p, const struct value_member *m, struct str path,
                          unsigned depth) {
        struct place below = { .stored = m->value };
        enum has before = HAS;

        if (has_field(p.kept, m->key, &below.kept) == HAS_NOT)
                return;
        enum has through = has_field(p.through, m->key, &below.through);
        if (p.before)
                before = has_field(p.before, m->key, &below.before);
        if (through == HAS_NOT && before != HAS_NOT)
                lost(l, arena_strf(l->arena, "%.*s.%.*s", STR_FMT(path), STR_FMT(m->key)), "");
        if (through == HAS)
                compare(l, below, arena_strf(l->arena, "%.*s.%.*s", STR_FMT(path), STR_FMT(m->key)), depth + 1);
}

/* What every object has, whatever its schema says. */
static bool is_common(struct str key) {
        return str_eqc(key, "apiVersion") || str_eqc(key, "kind") || str_eqc(key, "metadata");
}

static void compare_fields(struct losses *l, struct place p, struct str path, unsigned depth) {
        const struct value *fields = value_getc(p.stored, "properties");
        bool free = takes_any_field(p.stored) && takes_any_field(p.kept);
        const struct value *others = value_getc(p.stored, "additionalProperties");

        for (size_t i = 0; value_is(fields, VALUE_MAP) && i < fields->map.count; i++)
                if (depth || !is_common(fields->map.members[i].key))
                        compare_field(l, p, &fields->map.members[i], path, depth);
        if (free && !takes_any_field(p.through) && (!p.before || takes_any_field(p.before)))
                lost(l, path, " (fields of any name)");
        else if (value_is(others, VALUE_MAP) && value_is(value_getc(p.through, "additionalProperties"), VALUE_MAP))
                compare(l,
                        (struct place){ others, value_getc(p.kept, "additionalProperties"),
                                        value_getc(p.through, "additionalProperties"),
                                        value_getc(p.before, "additionalProperties") },
                        arena_strf(l->arena, "%.*s.*", STR_FMT(path)), depth + 1);
}

static void compare(struct losses *l, struct place p, struct str path, unsigned depth) {
        if (depth > JSON_MAX_DEPTH || !p.stored || !p.kept || !p.through)
                return;
        if (is_other_type(p.stored, p.through)) {
                if (!p.before || !is_other_type(p.stored, p.before))
                        lost(l, path, " (another type)");
                return;
        }
        if (value_getc(p.stored, "items"))
                compare(l,
                        (struct place){ value_getc(p.stored, "items"), value_getc(p.kept, "items"),
                                        value_getc(p.through, "items"), value_getc(p.before, "items") },
                        arena_strf(l->arena, "%.*s[]", STR_FMT(path)), depth + 1);
        else
                compare_fields(l, p, path, depth);
}

static bool converts(const struct value *crd) {
        return str_eqc(value_text(value_path(crd, "spec", "conversion", "strategy", NULL)), "Webhook");
}

/* What objects stored in `stored` lose by passing through `through`, and did not before. */
static struct losses losses_between(const struct value *live, const struct value *desired, struct str stored,
                                    struct str through, struct arena *a) {
        struct losses l = { .arena = a };
        const struct value *was = version_of(live, through);
        bool becomes_storage = str_eq(storage_of(desired), through) && !str_eq(storage_of(live), through);
        struct place p = {
                .stored = schema_of(version_of(live, stored)),
                .kept = schema_of(version_of(desired, stored)),
                .through = schema_of(version_of(desired, through)),
                .before = is_used(was) && !becomes_storage && !converts(live) ? schema_of(was) : NULL,
        };

        compare(&l, p, STR(""), 0);
        return l;
}

static bool loses_between(const struct value *live, const struct value *desired, struct str stored, struct arena *a,
                          struct str *ret) {
        const struct value *versions = value_path(desired, "spec", "versions", NULL);

        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++) {
                struct str through = value_text(value_getc(versions->list.items[i], "name"));

                if (str_eq(through, stored) || !is_used(versions->list.items[i]))
                        continue;
                struct losses l = losses_between(live, desired, stored, through, a);
                if (!l.count)
                        continue;
                *ret = arena_strf(a,
                                  "objects stored as %.*s would lose %.*s%s by passing through %.*s, since conversion "
                                  "strategy None drops what a version does not have: give %.*s the same fields "
                                  "(x-kubernetes-preserve-unknown-fields keeps any), or convert by a webhook "
                                  "(spec.conversion.strategy: Webhook)",
                                  STR_FMT(stored), STR_FMT(l.shown),
                                  l.count > PATHS_SHOWN ? arena_strf(a, " and %zu more", l.count - PATHS_SHOWN).p : "",
                                  STR_FMT(through), STR_FMT(through));
                return true;
        }
        return false;
}

bool crd_guard_refuses(const struct value *live, const struct value *desired, bool conversion_stays, struct arena *a,
                       struct str *ret_reason) {
        const struct value *stored = value_path(live, "status", "storedVersions", NULL);

        if (!crd_guard_concerns(live) || !crd_guard_concerns(desired))
                return false;
        if (drops_stored(live, desired, a, ret_reason))
                return true;
        if (converts(conversion_stays ? live : desired) ||
            value_truth(value_path(desired, "spec", "preserveUnknownFields", NULL), false))
                return false;
        for (size_t i = 0; value_is(stored, VALUE_LIST) && i < stored->list.count; i++)
                if (loses_between(live, desired, value_text(stored->list.items[i]), a, ret_reason))
                        return true;
        return false;
}
