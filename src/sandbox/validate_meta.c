/* SPDX-License-Identifier: Apache-2.0 */
/* metadata: what holds for every kind. */
#include "sandbox/validate_impl.h"

#include <stdlib.h>
#include <string.h>

#define ANNOTATIONS_MAX_BYTES 262144
#define MANAGER_MAX_BYTES     128
#define SUBRESOURCE_MAX_BYTES 256

void check_labels(struct check *c, const struct at *at, const struct value *labels) {
        for (EACH_MEMBER(m, labels)) {
                check_text(c, at, TEXT_LABEL_KEY, m->key);
                check_text(c, at, TEXT_LABEL_VALUE, value_text(m->value));
        }
}

/* Keys of annotations may have capitals; the finding shows the key as it is. */
void check_annotations(struct check *c, const struct at *at, const struct value *annotations) {
        size_t bytes = 0;

        for (EACH_MEMBER(m, annotations)) {
                struct text_faults f = text_faults(TEXT_LABEL_KEY, text_lower(m->key, c->a), c->a);

                for (size_t i = 0; i < f.count; i++)
                        fault_invalid_str(c, at, m->key, f.items[i].p);
                bytes += m->key.n + value_text(m->value).n;
        }
        if (bytes > ANNOTATIONS_MAX_BYTES)
                fault_too_long(c, at, ANNOTATIONS_MAX_BYTES);
}

static const char *const owner_fields[] = { "apiVersion",         "kind", "name", "uid", "controller",
                                            "blockOwnerDeletion", NULL };

static void check_owner(struct check *c, const struct at *at, const struct value *owner) {
        struct str api_version = text_of(owner, "apiVersion");
        ptrdiff_t slash = str_find(api_version, '/', 0);
        static const char *const rest[] = { "kind", "name", "uid" };

        if (!api_version.n)
                fault_required(c, AT(at, "apiVersion"), "must not be empty");
        else if (slash >= 0 &&
                 ((size_t)slash + 1 == api_version.n || str_find(api_version, '/', (size_t)slash + 1) >= 0))
                fault_invalid_str(c, AT(at, "apiVersion"), api_version, "must be <group>/<version> or <version>");
        for (size_t i = 0; i < 3; i++)
                if (!text_of(owner, rest[i]).n)
                        fault_required(c, AT_STR(at, str_from(rest[i])), "must not be empty");
        if (str_eqc(api_version, "v1") && str_eqc(text_of(owner, "kind"), "Event"))
                fault_invalid_raw(c, at, go_json_fields(owner, owner_fields, c->a),
                                  "/v1, Kind=Event is disallowed from being an owner");
}

static struct str owners_json(const struct value *owners, struct arena *a) {
        struct str all = STR("[");

        for (EACH(i, owners)) {
                struct str one = go_json_fields(item_of(owners, i), owner_fields, a);

                all = arena_strf(a, "%.*s%s%.*s", STR_FMT(all), i ? "," : "", STR_FMT(one));
        }
        return arena_strf(a, "%.*s]", STR_FMT(all));
}

static struct str owner_title(const struct value *owner, struct arena *a) {
        return arena_strf(a, "%.*s/%.*s", STR_FMT(text_of(owner, "kind")), STR_FMT(text_of(owner, "name")));
}

static void check_owners(struct check *c, const struct at *at, const struct value *owners) {
        struct str first = STR("");

        for (EACH(i, owners)) {
                const struct value *owner = item_of(owners, i);
                struct str title;

                check_owner(c, AT_INDEX(at, i), owner);
                if (!truth_of(owner, "controller"))
                        continue;
                title = owner_title(owner, c->a);
                if (first.n)
                        fault_invalid_raw(c, at, owners_json(owners, c->a),
                                          arena_strf(c->a,
                                                     "Only one reference can have Controller set to true. Found "
                                                     "\"true\" in references for %.*s and %.*s",
                                                     STR_FMT(first), STR_FMT(title))
                                                  .p);
                else
                        first = title;
        }
}

static void check_finalizers(struct check *c, const struct at *at, const struct value *finalizers) {
        bool orphan = false, foreground = false;

        for (EACH(i, finalizers)) {
                struct str s = value_text(item_of(finalizers, i));

                check_text(c, at, TEXT_LABEL_KEY, s);
                orphan = orphan || str_eqc(s, "orphan");
                foreground = foreground || str_eqc(s, "foregroundDeletion");
        }
        if (orphan && foreground)
                fault_invalid(c, at, finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
}

static void check_manager(struct check *c, const struct at *at, struct str manager) {
        if (manager.n > MANAGER_MAX_BYTES)
                fault_too_long(c, at, MANAGER_MAX_BYTES);
        for (size_t i = 0; i < manager.n; i++) {
                unsigned char ch = (unsigned char)manager.p[i];

                if (ch < 0x20 || ch == 0x7f)
                        fault_invalid_str(c, at, manager,
                                          arena_strf(c->a, "invalid character U+%04X (at position %zu)", ch, i).p);
        }
}

static void check_managed_fields(struct check *c, const struct at *above, const struct value *list) {
        for (EACH(i, list)) {
                const struct value *entry = item_of(list, i);
                const struct at *at = AT_INDEX(above, i);
                struct str operation = text_of(entry, "operation"), type = text_of(entry, "fieldsType");

                if (!operation.n)
                        fault_required(c, AT(at, "operation"), "must not be empty");
                else if (!str_eqc(operation, "Apply") && !str_eqc(operation, "Update"))
                        fault_unsupported(c, AT(at, "operation"), operation, "\"Apply\", \"Update\"");
                if (type.n && !str_eqc(type, "FieldsV1"))
                        fault_invalid_str(c, AT(at, "fieldsType"), type, "must be `FieldsV1`");
                check_manager(c, AT(at, "manager"), text_of(entry, "manager"));
                if (text_of(entry, "subresource").n > SUBRESOURCE_MAX_BYTES)
                        fault_too_long(c, AT(at, "subresource"), SUBRESOURCE_MAX_BYTES);
        }
}

static void check_namespace(struct check *c, const struct at *at, struct str namespace, bool namespaced) {
        if (!namespaced) {
                if (namespace.n)
                        fault_forbidden(c, at, "not allowed on this type");
        } else if (!namespace.n)
                fault_required(c, at, "");
        else
                check_text(c, at, TEXT_DNS_LABEL, namespace);
}

static void check_generate_name(struct check *c, const struct at *at, enum text_rule rule, struct str prefix) {
        struct text_faults f;

        if (!prefix.n)
                return;
        if (rule == TEXT_PATH_SEGMENT)
                rule = TEXT_PATH_PREFIX;
        f = text_faults(rule, rule == TEXT_PATH_PREFIX ? prefix : text_mask_prefix(prefix, c->a), c->a);
        for (size_t i = 0; i < f.count; i++)
                fault_invalid_str(c, at, prefix, f.items[i].p);
}

void check_meta(struct check *c, const struct value *meta, const struct meta_rules *rules, const struct at *at) {
        struct str name = text_of(meta, "name");

        check_generate_name(c, AT(at, "generateName"), rules->name, text_of(meta, "generateName"));
        if (!name.n)
                fault_required(c, AT(at, "name"), "name or generateName is required");
        else
                check_text(c, AT(at, "name"), rules->name, name);
        check_namespace(c, AT(at, "namespace"), text_of(meta, "namespace"), rules->namespaced);
        check_nonnegative_field(c, at, meta, "generation");
        check_labels(c, AT(at, "labels"), get(meta, "labels"));
        check_annotations(c, AT(at, "annotations"), get(meta, "annotations"));
        check_owners(c, AT(at, "ownerReferences"), get(meta, "ownerReferences"));
        check_finalizers(c, AT(at, "finalizers"), get(meta, "finalizers"));
        check_managed_fields(c, AT(at, "managedFields"), get(meta, "managedFields"));
}

static bool list_has(const struct value *list, struct str s) {
        for (EACH(i, list))
                if (str_eq(value_text(item_of(list, i)), s))
                        return true;
        return false;
}

static int by_text(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The server prints a Go slice: []string{"a", "b"}. */
static void check_no_new_finalizers(struct check *c, const struct at *at, const struct value *now,
                                    const struct value *before) {
        struct str *extra = arena_alloc(c->a, (value_count(now) + 1) * sizeof *extra), all = STR("");
        size_t count = 0;

        for (EACH(i, now))
                if (!list_has(before, value_text(item_of(now, i))))
                        extra[count++] = value_text(item_of(now, i));
        if (!count)
                return;
        qsort(extra, count, sizeof *extra, by_text);
        for (size_t i = 0; i < count; i++) {
                struct str q = quoted(extra[i], c->a);

                if (i == 0 || !str_eq(extra[i], extra[i - 1]))
                        all = arena_strf(c->a, "%.*s%s%.*s", STR_FMT(all), i ? ", " : "", STR_FMT(q));
        }
        fault_forbidden(c, at,
                        arena_strf(c->a,
                                   "no new finalizers can be added if the object is being deleted, found new "
                                   "finalizers []string{%.*s}",
                                   STR_FMT(all))
                                .p);
}

void check_meta_update(struct check *c, const struct value *now, const struct value *before, const struct at *at) {
        static const char *const immutable[] = {
                "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"
        };

        if (get(before, "deletionTimestamp"))
                check_no_new_finalizers(c, AT(at, "finalizers"), get(now, "finalizers"), get(before, "finalizers"));
        if (!text_of(now, "resourceVersion").n)
                fault_invalid_str(c, AT(at, "resourceVersion"), STR(""), "must be specified for an update");
        check_nonnegative_field(c, at, now, "generation");
        if (int_of(now, "generation") < int_of(before, "generation"))
                fault_invalid_int(c, AT(at, "generation"), int_of(now, "generation"), "must not be decremented");
        for (size_t i = 0; i < sizeof immutable / sizeof *immutable; i++)
                check_immutable(c, AT_STR(at, str_from(immutable[i])), get(now, immutable[i]),
                                get(before, immutable[i]));
        check_labels(c, AT(at, "labels"), get(now, "labels"));
        check_annotations(c, AT(at, "annotations"), get(now, "annotations"));
        check_owners(c, AT(at, "ownerReferences"), get(now, "ownerReferences"));
        check_managed_fields(c, AT(at, "managedFields"), get(now, "managedFields"));
}
