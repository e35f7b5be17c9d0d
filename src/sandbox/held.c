/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/held.h"

#include "sandbox/codec.h"

static bool is_empty(const struct value *v) {
        return (value_is(v, VALUE_MAP) || value_is(v, VALUE_LIST)) && value_count(v) == 0;
}

static bool has_empties(const struct value *v) {
        if (is_empty(v))
                return true;
        for (size_t i = 0; v->kind == VALUE_MAP && i < v->map.count; i++)
                if (has_empties(v->map.members[i].value))
                        return true;
        for (size_t i = 0; v->kind == VALUE_LIST && i < v->list.count; i++)
                if (has_empties(v->list.items[i]))
                        return true;
        return false;
}

/* --- nulls among a Secret's data or the like: no bytes, which are not stored as empty ones are but read as such --- */

/* What the body gives for a field that is a map of bytes, or NULL. */
static const struct value *bytes_of(const struct type_field *f, const struct value *body) {
        return f->type->kind == TYPE_MAP && f->type->item->kind == TYPE_BYTES ? value_get(body, f->name) : NULL;
}

/* What stringData has is no null any more. */
static bool is_no_bytes(const struct value *body, const struct value_member *m) {
        return m->value->kind == VALUE_NULL && !value_get(value_getc(body, "stringData"), m->key);
}

static bool has_no_bytes(const struct type *t, const struct value *body) {
        for (size_t i = 0; i < t->field_count; i++) {
                const struct value *v = bytes_of(&t->fields[i], body);

                for (size_t j = 0; j < value_count(v); j++)
                        if (is_no_bytes(body, &v->map.members[j]))
                                return true;
        }
        return false;
}

static const struct value *with_no_bytes(const struct call *c, const struct value *object) {
        const struct type *t = kind_type(c->kind);

        for (size_t i = 0; i < t->field_count; i++) {
                const struct value *v = bytes_of(&t->fields[i], c->sent);

                for (size_t j = 0; j < value_count(v); j++) {
                        const struct str path[] = { t->fields[i].name, v->map.members[j].key };

                        if (is_no_bytes(c->sent, &v->map.members[j]))
                                object = value_with_path(c->a, object, path, ARRAY_LEN(path), &value_null);
                }
        }
        return object;
}

/* --- what a body gives --- */

void held_note(struct call *c, const struct type *type, const struct value *body) {
        if (type != kind_type(c->kind) || c->kind->is_custom)
                return;
        c->sent = body;
        if (has_no_bytes(type, body)) {
                c->unread |= UNREAD_NO_BYTES;
                c->rewrites = true;
        }
        if (has_empties(body) && codec_hold(type, body, c->a, &c->held) < 0)
                c->held = NULL;
}

static bool is_kind(const struct call *c, const char *group, const char *kind) {
        return !c->kind->is_custom && str_eqc(c->kind->resource->group, group) &&
               str_eqc(c->kind->resource->kind, kind);
}

static const struct value *with_empties(const struct value *v, const struct value *held, struct arena *a) {
        if (value_is(v, VALUE_LIST) && value_is(held, VALUE_LIST) && v->list.count == held->list.count) {
                struct value_list_builder b = { 0 };

                for (size_t i = 0; i < v->list.count; i++)
                        value_list_add(&b, with_empties(v->list.items[i], held->list.items[i], a));
                return value_list_end(&b, a, v->line);
        }
        for (size_t i = 0; value_is(v, VALUE_MAP) && value_is(held, VALUE_MAP) && i < held->map.count; i++) {
                const struct value_member *m = &held->map.members[i];
                const struct value *now = value_get(v, m->key);

                if ((!now || now->kind == VALUE_NULL) && is_empty(m->value))
                        v = value_with(a, v, m->key, m->value);
                else if (now && has_empties(m->value))
                        v = value_with(a, v, m->key, with_empties(now, m->value, a));
        }
        return v;
}

/* Limits of a Pod's container, though empty ones, have requests made beside them. */
static const struct value *with_requests(const struct value *container, struct arena *a) {
        static const struct str path[] = { { "resources", 9 }, { "requests", 8 } };
        const struct value *resources = value_getc(container, "resources");

        if (!value_getc(resources, "limits") || value_getc(resources, "requests"))
                return container;
        return value_with_path(a, container, path, 2, &value_empty_map);
}

static const struct value *with_pods_requests(const struct value *pod, struct arena *a) {
        static const char *const lists[] = { "initContainers", "containers" };

        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
                const struct value *list = value_path(pod, "spec", lists[i], NULL);
                const struct str path[] = { { "spec", 4 }, str_from(lists[i]) };
                struct value_list_builder b = { 0 };

                for (size_t j = 0; j < value_count(list); j++)
                        value_list_add(&b, with_requests(list->list.items[j], a));
                if (value_count(list))
                        pod = value_with_path(a, pod, path, 2, value_list_end(&b, a, 0));
        }
        return pod;
}

/* Rules that are given no policies have none: only those that say nothing of them get the default ones. */
static const struct value *with_no_policies(const struct call *c, const struct value *scaler) {
        static const struct str rules[] = { { "scaleUp", 7 }, { "scaleDown", 9 } };

        for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
                const struct str path[] = { { "spec", 4 }, { "behavior", 8 }, rules[i], { "policies", 8 } };

                if (is_empty(value_path(c->held, "spec", "behavior", rules[i].p, "policies", NULL)))
                        scaler = value_with_path(c->a, scaler, path, ARRAY_LEN(path), &value_empty_list);
        }
        return scaler;
}

const struct value *held_for_checks(const struct call *c, const struct value *object) {
        if (c->unread & UNREAD_NO_BYTES)
                object = with_no_bytes(c, object);
        if (!c->held)
                return object;
        object = with_empties(object, c->held, c->a);
        if (is_kind(c, "autoscaling", "HorizontalPodAutoscaler"))
                return with_no_policies(c, object);
        return is_kind(c, "", "Pod") ? with_pods_requests(object, c->a) : object;
}

bool held_counts(const struct call *c, const struct value *live) {
        const struct value *spec = c->held ? value_getc(c->held, "spec") : NULL, *plain;

        if (!spec || !is_kind(c, "networking.k8s.io", "NetworkPolicy"))
                return false;
        const struct type_field *f = type_field(kind_type(c->kind), STR("spec"));
        return codec_decode(f->type, spec, false, c->a, &plain, NULL, NULL) == 0 && !value_equal(plain, spec) &&
               !value_equal(spec, value_getc(live, "spec"));
}

/* `given` in place of every empty list that is never omitted, as far as `held` has one there. */
static const struct value *with_lists(const struct type *t, const struct value *v, const struct value *held,
                                      const struct value *given, struct arena *a) {
        if (value_is(v, VALUE_LIST) && value_is(held, VALUE_LIST) && v->list.count == held->list.count && t->item) {
                struct value_list_builder b = { 0 };

                for (size_t i = 0; i < v->list.count; i++)
                        value_list_add(&b, with_lists(t->item, v->list.items[i], held->list.items[i], given, a));
                return value_list_end(&b, a, v->line);
        }
        for (size_t i = 0; t->kind == TYPE_STRUCT && value_is(v, VALUE_MAP) && i < t->field_count; i++) {
                const struct type_field *f = &t->fields[i];
                const struct value *was = value_get(held, f->name), *now = value_get(v, f->name), *then = now;

                if (f->type->kind == TYPE_LIST && !f->omit_empty && is_empty(was))
                        then = given;
                else if (was && now)
                        then = with_lists(f->type, now, was, given, a);
                if (then != now)
                        v = value_with(a, v, f->name, then);
        }
        return v;
}

const struct value *held_for_owners(const struct call *c, const struct value *object) {
        return c->held ? with_lists(kind_type(c->kind), object, c->held, &value_empty_list, c->a) : object;
}

/* ---- lists with one owner ---- */

/* Does Go hold it in memory otherwise than the same that was stored and read? */
static bool is_held_otherwise(const struct type *t, const struct value *sent, struct arena *a) {
        const struct value *held, *stored;

        return codec_hold(t, sent, a, &held) == 0 && codec_decode(t, sent, false, a, &stored, NULL, NULL) == 0 &&
               !value_equal(held, stored);
}

static const struct value *doubled_end(const struct value *list, struct arena *a) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < list->list.count; i++)
                value_list_add(&b, list->list.items[i]);
        value_list_add(&b, list->list.items[list->list.count - 1]);
        return value_list_end(&b, a, list->line);
}

static const struct value *mark_map(const struct type *t, const struct value *sent, const struct value *v, bool atomic,
                                    struct arena *a);

static const struct value *mark(const struct type *t, const struct value *sent, const struct value *v, bool atomic,
                                struct arena *a);

static const struct value *mark_items(const struct type *t, const struct value *sent, const struct value *v,
                                      struct arena *a) {
        struct value_list_builder b = { 0 };
        bool changed = false;

        for (size_t i = 0; i < v->list.count; i++) {
                const struct value *item = mark(t->item, sent->list.items[i], v->list.items[i], false, a);

                changed |= item != v->list.items[i];
                value_list_add(&b, item);
        }
        const struct value *marked = value_list_end(&b, a, v->line);
        return changed ? marked : v;
}

static const struct value *mark(const struct type *t, const struct value *sent, const struct value *v, bool atomic,
                                struct arena *a) {
        enum schema_form form = schema_form(t->schema);

        atomic = atomic || form == SCHEMA_ATOMIC;
        if (value_is(v, VALUE_MAP) && value_is(sent, VALUE_MAP))
                return mark_map(t, sent, v, atomic, a);
        if (t->kind != TYPE_LIST || !value_is(v, VALUE_LIST) || !value_is(sent, VALUE_LIST) || !v->list.count ||
            v->list.count != sent->list.count)
                return v;
        if (atomic)
                return is_held_otherwise(t, sent, a) ? doubled_end(v, a) : v;
        return form == SCHEMA_LIST_MAP ? mark_items(t, sent, v, a) : v;
}

static const struct value *mark_map(const struct type *t, const struct value *sent, const struct value *v, bool atomic,
                                    struct arena *a) {
        for (size_t i = 0; i < sent->map.count; i++) {
                const struct value_member *m = &sent->map.members[i];
                const struct type_field *f = t->kind == TYPE_STRUCT ? type_field(t, m->key) : NULL;
                const struct type *of = f ? f->type : t->kind == TYPE_MAP ? t->item : NULL;
                const struct value *now = value_get(v, m->key),
                                   *then = of && now ? mark(of, m->value, now, atomic, a) : now;

                if (then != now)
                        v = value_with(a, v, m->key, then);
        }
        return v;
}

const struct value *held_mark_lists(const struct call *c, const struct value *object) {
        return c->sent ? mark(kind_type(c->kind), c->sent, object, false, c->a) : object;
}

const struct value *held_after_owners(const struct call *c, const struct value *object) {
        return c->held ? with_lists(kind_type(c->kind), object, c->held, &value_null, c->a) : object;
}
