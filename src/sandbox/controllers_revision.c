/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/controllers_revision.h"

#include <inttypes.h>

#define PATCH_KEY "$patch"

static int64_t number_of(const struct version *v) {
        return int_or(value_getc(v->value, "revision"), 0);
}

static int by_number(const void *left, const void *right) {
        const struct version *a = *(struct version *const *)left, *b = *(struct version *const *)right;

        if (number_of(a) != number_of(b))
                return number_of(a) < number_of(b) ? -1 : 1;
        return str_cmp(a->name, b->name);
}

/* Somebody's of that name and with that content: one that nobody controls becomes ours, as after an orphaning deletion. */
static bool take(struct look *l, struct version *owner, struct version *found, int64_t number, struct version **ret) {
        struct arena *a = l->a;
        const struct value *owners = value_path(found->value, "metadata", "ownerReferences", NULL);

        *ret = found;
        if (controller_of(found->value))
                return true;
        const struct value *v = meta_with(found->value, "ownerReferences",
                                          items_with(a, owners, owner_reference(a, l->res, owner->value)), a);
        return look_update(l, RES_REVISION, found, value_with(a, v, STR("revision"), make_int(a, number)), "", ret) &&
               *ret;
}

static bool create(struct look *l, struct version *owner, const char *label, const struct value *data, int64_t number,
                   struct version **ret) {
        struct arena *a = l->a;
        const struct value *template = value_path(owner->value, "spec", "template", NULL);
        int64_t salt = int_or(value_path(owner->value, "status", "collisionCount", NULL), 0);
        struct version *found;
        struct str hash, name;

        for (;; salt++) {
                hash = template_hash(a, template, salt);
                name = arena_strf(a, "%.*s-%.*s", STR_FMT(owner->name), STR_FMT(hash));
                found = look_find(l, RES_REVISION, name);
                if (!found)
                        break;
                if (value_equal(value_getc(found->value, "data"), data))
                        return take(l, owner, found, number, ret);
        }
        const struct value *labels =
                value_with(a, value_path(template, "metadata", "labels", NULL), str_from(label), make_str(a, hash));
        const struct value *revision =
                make_map(a, "metadata",
                         make_map(a, "name", make_str(a, name), "labels",
                                  labels, "annotations", value_path(owner->value, "metadata", "annotations", NULL),
                                  "ownerReferences", make_list(a, owner_reference(a, l->res, owner->value)), NULL),
                         "data", data, "revision", make_int(a, number), NULL);

        if (!look_create(l, RES_REVISION, revision, NULL))
                return false;
        *ret = look_find(l, RES_REVISION, name);
        return *ret;
}

bool revisions_sync(struct look *l, struct version *owner, const char *label, struct revisions *ret) {
        struct arena *a = l->a;
        const struct value *template = value_with(a, value_path(owner->value, "spec", "template", NULL), STR(PATCH_KEY),
                                                  make_text(a, "replace"));
        const struct value *data = make_map(a, "spec", make_map(a, "template", template, NULL), NULL);

        ret->count = look_owned(l, RES_REVISION, meta_text(owner->value, "uid"), &ret->items);
        qsort(ret->items, ret->count, sizeof *ret->items, by_number);
        int64_t next = ret->count ? number_of(ret->items[ret->count - 1]) + 1 : 1;
        ret->latest = NULL;
        for (size_t i = 0; i < ret->count; i++) {
                if (!value_equal(value_getc(ret->items[i]->value, "data"), data))
                        continue;
                ret->latest = ret->items[i];
                if (i + 1 == ret->count)
                        return true;
                /* A template of the past is wanted again. */
                return look_update(l, RES_REVISION, ret->latest,
                                   value_with(a, ret->latest->value, STR("revision"), make_int(a, next)), "",
                                   &ret->latest) &&
                       ret->latest;
        }
        return create(l, owner, label, data, next, &ret->latest);
}

struct version *revisions_find(const struct revisions *r, struct str name) {
        if (r->latest && str_eq(r->latest->name, name))
                return r->latest;
        for (size_t i = 0; i < r->count; i++)
                if (str_eq(r->items[i]->name, name))
                        return r->items[i];
        return NULL;
}

const struct value *revision_template(const struct version *v, struct arena *a) {
        return value_with(a, value_path(v->value, "data", "spec", "template", NULL), STR(PATCH_KEY), NULL);
}

static bool is_kept(const struct version *v, const struct str *kept, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (str_eq(v->name, kept[i]))
                        return true;
        return false;
}

bool revisions_trim(struct look *l, const struct revisions *r, const struct value *owner, const struct str *kept,
                    size_t kept_count) {
        int64_t limit = int_or(value_path(owner, "spec", "revisionHistoryLimit", NULL), 10), old = 0;
        bool ok = true;

        for (size_t i = 0; i < r->count; i++)
                old += !is_kept(r->items[i], kept, kept_count);
        for (size_t i = 0; i < r->count && old > limit; i++) {
                if (is_kept(r->items[i], kept, kept_count))
                        continue;
                ok &= look_delete(l, RES_REVISION, r->items[i], NULL);
                old--;
        }
        return ok;
}
