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

void held_note(struct call *c, const struct type *type, const struct value *body) {
        if (type == kind_type(c->kind) && !c->kind->is_custom && has_empties(body) &&
            codec_hold(type, body, c->a, &c->held) < 0)
                c->held = NULL;
}

static bool is_kind(const struct call *c, const char *group, const char *kind) {
        return !c->kind->is_custom && str_eqc(c->kind->resource->group, group) &&
               str_eqc(c->kind->resource->kind, kind);
}

/* Where a check tells empty from absent. */
static const struct {
        const char *group, *kind, *path[5];
} places[] = {
        { "", "ConfigMap", { "data" } },
        { "", "ConfigMap", { "binaryData" } },
        { "", "Secret", { "data" } },
        { "apps", "Deployment", { "spec", "template", "metadata", "labels" } },
        { "apps", "ReplicaSet", { "spec", "template", "metadata", "labels" } },
        { "apps", "StatefulSet", { "spec", "template", "metadata", "labels" } },
        { "apps", "DaemonSet", { "spec", "template", "metadata", "labels" } },
};

static const struct value *at_path(const struct value *v, const char *const path[]) {
        for (size_t i = 0; v && path[i]; i++)
                v = value_getc(v, path[i]);
        return v;
}

static const struct value *with_empty(const struct call *c, const struct value *object, const char *const path[]) {
        struct str keys[5];
        size_t n = 0;

        for (; path[n]; n++)
                keys[n] = str_from(path[n]);
        return value_with_path(c->a, object, keys, n, &value_empty_map);
}

const struct value *held_for_checks(const struct call *c, const struct value *object) {
        for (size_t i = 0; c->held && i < ARRAY_LEN(places); i++)
                if (is_kind(c, places[i].group, places[i].kind) && is_empty(at_path(c->held, places[i].path)) &&
                    !at_path(object, places[i].path))
                        object = with_empty(c, object, places[i].path);
        return object;
}

bool held_counts(const struct call *c, const struct value *live) {
        const struct value *spec = c->held ? value_getc(c->held, "spec") : NULL, *plain;

        if (!spec || !is_kind(c, "networking.k8s.io", "NetworkPolicy"))
                return false;
        const struct type_field *f = type_field(kind_type(c->kind), STR("spec"));
        return codec_decode(f->type, spec, false, c->a, &plain, NULL, NULL) == 0 && !value_equal(plain, spec) &&
               !value_equal(spec, value_getc(live, "spec"));
}

/* `given` in place of every empty list that is never omitted, when the body gave one. */
static const struct value *with_lists(const struct call *c, const struct value *object, const struct value *given) {
        const struct type *t = kind_type(c->kind);

        for (size_t i = 0; c->held && i < t->field_count; i++)
                if (t->fields[i].type->kind == TYPE_LIST && !t->fields[i].omit_empty &&
                    is_empty(value_get(c->held, t->fields[i].name)))
                        object = value_with(c->a, object, t->fields[i].name, given);
        return object;
}

const struct value *held_for_owners(const struct call *c, const struct value *object) {
        return with_lists(c, object, &value_empty_list);
}

const struct value *held_after_owners(const struct call *c, const struct value *object) {
        return with_lists(c, object, &value_null);
}
