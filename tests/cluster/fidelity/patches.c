/* SPDX-License-Identifier: Apache-2.0 */
/* Patches by chance. */
#include "base/pointer.h"
#include "bodies.h"

#define STATUS_OR_ALL(k, status, field) ((status) ? (k)->status_##field : (k)->field)

static const struct value *random_parts(const struct kind *k, struct random *r, struct arena *a, bool status) {
        return status ? body_change_status(k, r, a, &value_empty_map)
                      : body_change(k, r, a, &value_empty_map, 1 + random_below(r, 3));
}

const struct value *body_merge_patch(const struct kind *k, struct random *r, struct arena *a, bool status) {
        const struct value *patch = random_parts(k, r, a, status);

        return random_chance(r, 25) ? body_fault(r, a, patch) : patch;
}

static const struct value *directive(struct random *r, struct arena *a, const struct value *v) {
        static const char *const words[] = { "delete", "replace", "merge", "odd" };

        return value_is(v, VALUE_MAP) ? value_with(a, v, STR("$patch"), value_stringc(a, words[random_below(r, 4)])) : v;
}

/* The directive goes into the first map found on a random way down. */
static const struct value *with_directive(struct random *r, struct arena *a, const struct value *v) {
        size_t i;

        if (value_is(v, VALUE_MAP) && v->map.count && random_chance(r, 75)) {
                i = random_below(r, (unsigned)v->map.count);
                return value_with(a, v, v->map.members[i].key, with_directive(r, a, v->map.members[i].value));
        }
        if (value_is(v, VALUE_LIST) && v->list.count) {
                struct value_list_builder b = { 0 };

                for (i = 0; i < v->list.count; i++)
                        value_list_add(&b, i ? v->list.items[i] : with_directive(r, a, v->list.items[0]));
                return value_list_end(&b, a, 0);
        }
        return directive(r, a, v);
}

static const struct value *with_list_directive(struct random *r, struct arena *a, const struct value *patch) {
        static const char *const keys[] = { "$deleteFromPrimitiveList/finalizers", "$setElementOrder/finalizers",
                                            "$retainKeys" };
        const struct str path[] = { STR("metadata"), str_from(keys[random_below(r, 3)]) };
        const struct str plain[] = { STR("metadata"), STR("finalizers") };
        struct value_list_builder b = { 0 };

        /* Which of the two goes first when one item is to come and to go is a matter of chance on the server. */
        if (value_path(patch, "metadata", "finalizers", NULL))
                patch = value_with_path(a, patch, plain, 2, NULL);

        value_list_add(&b, value_stringc(a, "truce.test/wait"));
        return value_with_path(a, patch, path, 2, value_list_end(&b, a, 0));
}

const struct value *body_strategic_patch(const struct kind *k, struct random *r, struct arena *a, bool status) {
        const struct value *patch = random_parts(k, r, a, status);

        if (random_chance(r, 20))
                return with_directive(r, a, patch);
        if (random_chance(r, 10))
                return with_list_directive(r, a, patch);
        return random_chance(r, 25) ? body_fault(r, a, patch) : patch;
}

/* A pointer into `live` for a place: items are named by index. */
static struct str pointer_to(struct arena *a, const struct value *live, const struct part *p) {
        _cleanup_(buf_done) struct buf out = buf_make(4096);

        for (size_t i = 0; i < p->token_count; i++) {
                const struct value *next = NULL;
                ptrdiff_t eq = str_find(p->tokens[i], '=', 0);
                size_t at = 0;

                if (eq > 0) {
                        for (; at + 1 < value_count(live); at++)
                                if (str_eq(value_text(value_get(live->list.items[at], str_sub(p->tokens[i], 0, (size_t)eq))),
                                           str_sub(p->tokens[i], (size_t)eq + 1, p->tokens[i].n)))
                                        break;
                        buf_addf(&out, "/%zu", at);
                        next = value_is(live, VALUE_LIST) && live->list.count ? live->list.items[at] : NULL;
                } else {
                        pointer_add_token(&out, p->tokens[i]);
                        next = value_get(live, p->tokens[i]);
                }
                live = next;
        }
        return arena_str(a, buf_str(&out));
}

static const struct value *operation(struct arena *a, const char *op, struct str path, const char *more,
                                     const struct value *value) {
        const struct value *o = value_with(a, NULL, STR("op"), value_stringc(a, op));

        o = value_with(a, o, STR("path"), value_string(a, path, 0));
        return more ? value_with(a, o, str_from(more), value) : o;
}

static const struct value *random_operation(const struct part *p, struct random *r, struct arena *a,
                                            const struct value *live) {
        struct str path = pointer_to(a, live, p);
        const struct value *value = p->values->list.items[random_below(r, (unsigned)p->values->list.count)];

        switch (random_below(r, 12)) {
        case 0: return operation(a, "remove", path, NULL, NULL);
        case 1: return operation(a, "replace", path, "value", value);
        case 2: return operation(a, "test", path, "value", value);
        case 3: return operation(a, "copy", path, "from", value_stringc(a, "/metadata/name"));
        case 4: return operation(a, "move", path, "from", value_stringc(a, "/metadata/labels/app"));
        case 5: return operation(a, "add", path, NULL, NULL);
        case 6: return operation(a, "odd", path, "value", value);
        default: return operation(a, "add", path, "value", value);
        }
}

/* What a hand-over of ownership sends: the entries as they shall be, and the version they were read at. */
static void add_hand_over(struct value_list_builder *b, struct random *r, struct arena *a, const struct value *live) {
        const struct value *meta = value_getc(live, "metadata");

        if (random_chance(r, 60) && value_getc(meta, "resourceVersion"))
                value_list_add(b, operation(a, random_chance(r, 50) ? "test" : "replace",
                                            STR("/metadata/resourceVersion"), "value",
                                            value_getc(meta, "resourceVersion")));
        value_list_add(b, operation(a, "replace", STR("/metadata/managedFields"), "value",
                                    body_edit_managers(r, a, value_getc(meta, "managedFields"))));
}

const struct value *body_json_patch(const struct kind *k, struct random *r, struct arena *a, const struct value *live,
                                    bool status) {
        const struct part *parts = STATUS_OR_ALL(k, status, parts);
        unsigned part_count = (unsigned)STATUS_OR_ALL(k, status, part_count);
        struct value_list_builder b = { 0 };
        const struct value *patch;

        if (live && random_chance(r, 25))
                add_hand_over(&b, r, a, live);
        else
                for (unsigned n = 1 + random_below(r, 3); part_count && n--;)
                        value_list_add(&b, random_operation(&parts[random_below(r, part_count)], r, a, live));
        patch = value_list_end(&b, a, 0);
        return random_chance(r, 10) ? body_fault(r, a, patch) : patch;
}

static const struct value *edit_entry(struct random *r, struct arena *a, const struct value *entry) {
        static const char *const managers[] = { "m1", "m2", "truce", "" };
        const struct value *fields = value_getc(entry, "fieldsV1");

        switch (random_below(r, 5)) {
        case 0: return value_with(a, entry, STR("manager"), value_stringc(a, managers[random_below(r, 4)]));
        case 1:
                return value_with(a, entry, STR("operation"), value_stringc(a, random_chance(r, 70) ? "Apply" : "Update"));
        case 2: return value_with(a, entry, STR("time"), NULL);
        case 3: return value_is(fields, VALUE_MAP) ? value_with(a, entry, STR("fieldsV1"), body_fault(r, a, fields)) : entry;
        default: return body_fault(r, a, entry);
        }
}

const struct value *body_edit_managers(struct random *r, struct arena *a, const struct value *managed_fields) {
        unsigned what = random_below(r, 10), n = (unsigned)value_count(managed_fields), at;
        struct value_list_builder b = { 0 };

        if (what == 0 || !n)
                return &value_empty_list;
        if (what == 1) {
                value_list_add(&b, &value_empty_map);
                return value_list_end(&b, a, 0);
        }
        at = random_below(r, n);
        for (unsigned i = 0; i < n; i++)
                if (i != at)
                        value_list_add(&b, managed_fields->list.items[i]);
                else if (what > 4)
                        value_list_add(&b, edit_entry(r, a, managed_fields->list.items[i]));
        return value_list_end(&b, a, 0);
}
