/* SPDX-License-Identifier: Apache-2.0 */
#include "edit.h"

#include "base/limits.h"
#include "base/pointer.h"

#define MAX_STEPS 32
#define MAX_SPOTS 4000

static uint64_t state = 1;

void roll_seed(uint64_t seed) {
        state = seed * 2 + 1;
}

uint64_t roll(uint64_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % n;
}

/* One step into a value: a member or an item. */
struct step {
        struct str key;
        size_t index;
        bool is_item;
};

struct spot {
        struct step steps[MAX_STEPS];
        size_t count;
        const struct value *value;
};

typedef bool (*spot_filter)(const struct spot *s);

struct spots {
        struct spot *at;
        size_t count;
        spot_filter wanted;
};

/* Never edited: what names the object. */
static bool is_identity(const struct spot *s) {
        if (s->count == 1)
                return str_eqc(s->steps[0].key, "apiVersion") || str_eqc(s->steps[0].key, "kind") ||
                       str_eqc(s->steps[0].key, "status");
        return s->count >= 2 && str_eqc(s->steps[0].key, "metadata") && !str_eqc(s->steps[1].key, "labels") &&
               !str_eqc(s->steps[1].key, "annotations") && !str_eqc(s->steps[1].key, "finalizers");
}

static void gather(struct spots *out, struct spot *here) {
        const struct value *v = here->value;
        size_t n = value_count(v);

        if (is_identity(here))
                return;
        if (here->count && out->count < MAX_SPOTS && out->wanted(here))
                out->at[out->count++] = *here;
        if (here->count == MAX_STEPS)
                return;
        for (size_t i = 0; i < n; i++) {
                bool map = v->kind == VALUE_MAP;

                here->steps[here->count++] =
                        (struct step){ .key = map ? v->map.members[i].key : STR(""), .index = i, .is_item = !map };
                here->value = map ? v->map.members[i].value : v->list.items[i];
                gather(out, here);
                here->count--;
        }
        here->value = v;
}

/* A random spot that the filter wants; false when there is none. */
static bool pick(const struct value *v, spot_filter wanted, struct spot *ret) {
        struct spots out = { .at = mem_alloc(MAX_SPOTS * sizeof *out.at), .wanted = wanted };
        struct spot here = { .value = v };

        gather(&out, &here);
        if (out.count)
                *ret = out.at[roll(out.count)];
        free(out.at);
        return out.count > 0;
}

static const struct value *look(const struct value *v, const struct spot *s) {
        for (size_t i = 0; v && i < s->count; i++) {
                if (!s->steps[i].is_item)
                        v = value_get(v, s->steps[i].key);
                else
                        v = value_is(v, VALUE_LIST) && s->steps[i].index < v->list.count
                                    ? v->list.items[s->steps[i].index]
                                    : NULL;
        }
        return v;
}

static const struct value *with_item(struct arena *a, const struct value *list, size_t at, const struct value *item) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < value_count(list); i++)
                if (i != at)
                        value_list_add(&b, list->list.items[i]);
                else if (item)
                        value_list_add(&b, item);
        if (at >= value_count(list) && item)
                value_list_add(&b, item);
        return value_list_end(&b, a, 0);
}

/* The value with the spot replaced, or removed when `new` is NULL. */
static const struct value *put_at(struct arena *a, const struct value *v, const struct spot *s, size_t depth,
                                  const struct value *new) {
        const struct step *step = &s->steps[depth];

        if (depth == s->count)
                return new;
        if (!step->is_item)
                return value_with(a, v, step->key, put_at(a, value_get(v, step->key), s, depth + 1, new));
        const struct value *old = step->index < value_count(v) ? v->list.items[step->index] : NULL;

        return with_item(a, v, step->index, put_at(a, old, s, depth + 1, new));
}

static const struct value *put(struct arena *a, const struct value *v, const struct spot *s, const struct value *new) {
        return put_at(a, v, s, 0, new);
}

static bool is_list_of_two(const struct spot *s) {
        return value_is(s->value, VALUE_LIST) && s->value->list.count > 1;
}

static bool is_filled_list(const struct spot *s) {
        return value_is(s->value, VALUE_LIST) && s->value->list.count > 0;
}

static bool is_filled(const struct spot *s) {
        return value_count(s->value) > 0;
}

static bool is_composite(const struct spot *s) {
        return s->value->kind == VALUE_MAP || s->value->kind == VALUE_LIST;
}

static bool is_scalar(const struct spot *s) {
        return !is_composite(s);
}

static bool is_map(const struct spot *s) {
        return s->value->kind == VALUE_MAP;
}

static bool is_anything(const struct spot *s) {
        return s->count > 1;
}

static const struct value *swap_two(struct arena *a, const struct value *list) {
        size_t n = list->list.count, i = roll(n), j = (i + 1 + roll(n - 1)) % n;
        struct value_list_builder b = { 0 };

        for (size_t k = 0; k < n; k++)
                value_list_add(&b, list->list.items[k == i ? j : k == j ? i : k]);
        return value_list_end(&b, a, 0);
}

static const struct value *reorder(const struct value *d, struct arena *a) {
        struct spot s;

        return pick(d, is_list_of_two, &s) ? put(a, d, &s, swap_two(a, s.value)) : NULL;
}

static const struct value *emptied(const struct value *v) {
        return v->kind == VALUE_MAP ? &value_empty_map : &value_empty_list;
}

static const struct value *braces(const struct value *d, const struct value *live, struct arena *a) {
        struct spot s;

        switch (roll(5)) {
        case 0: /* filled → empty */
                return pick(d, is_filled, &s) ? put(a, d, &s, emptied(s.value)) : NULL;
        case 1: /* whatever Git has, as it is live */
                if (!pick(d, is_composite, &s) || !look(live, &s))
                        return NULL;
                return put(a, d, &s, look(live, &s));
        case 2: /* what only the server has, as an empty one */
                return pick(live, is_filled, &s) && !look(d, &s) ? put(a, d, &s, emptied(s.value)) : NULL;
        case 3: /* what only the server has, spelt out */
                return pick(live, is_composite, &s) && !look(d, &s) ? put(a, d, &s, s.value) : NULL;
        default:
                return pick(d, is_scalar, &s) ? put(a, d, &s, &value_null) : NULL;
        }
}

static const struct value *duplicate(const struct value *d, struct arena *a) {
        struct spot s;

        if (!pick(d, is_filled_list, &s))
                return NULL;
        const struct value *item = s.value->list.items[roll(s.value->list.count)];

        return put(a, d, &s, with_item(a, s.value, s.value->list.count, item));
}

static const struct {
        const char *from, *to;
} respellings[] = {
        { "1000m", "1" },    { "1", "1000m" },  { "2", "2.0" },   { "1024Mi", "1Gi" },       { "1Gi", "1024Mi" },
        { "2Gi", "2048Mi" }, { "500m", "0.5" }, { "2000m", "2" }, { "100m", "0.1" },         { "2048Gi", "2Ti" },
        { "50%", "50.0%" },  { "25%", "025%" }, { "TCP", "tcp" }, { "dXNlcg==", "dXNlcg=" }, { "", " " },
};

static const struct value *respell_text(struct arena *a, struct str text) {
        for (size_t i = 0; i < ARRAY_LEN(respellings); i++)
                if (str_eqc(text, respellings[i].from))
                        return value_stringc(a, respellings[i].to);
        int64_t number;

        if (str_to_i64(text, &number))
                return value_int(a, number, 0);
        return value_string(a, arena_strf(a, "%.*s ", STR_FMT(text)), 0);
}

static const struct value *respell_scalar(struct arena *a, const struct value *v) {
        if (v->kind == VALUE_STRING)
                return respell_text(a, v->text);
        if (v->kind == VALUE_BOOL)
                return value_stringc(a, v->boolean ? "true" : "false");
        if (v->kind == VALUE_NULL)
                return value_stringc(a, "");
        struct buf b = buf_make(256);

        value_print(v, &b);
        struct str text = arena_str(a, buf_str(&b));
        buf_done(&b);
        switch (roll(4)) {
        case 0:
                return value_string(a, text, 0);
        case 1:
                return value_number(a, arena_strf(a, "%.*s.0", STR_FMT(text)), 0);
        case 2:
                return value_number(a, arena_strf(a, "%.*se0", STR_FMT(text)), 0);
        default:
                return value_string(a, arena_strf(a, "0%.*s", STR_FMT(text)), 0);
        }
}

static const struct value *respell(const struct value *d, const struct value *live, struct arena *a) {
        struct spot s;

        switch (roll(4)) {
        case 0: /* a default spelt out */
                return pick(live, is_scalar, &s) && !look(d, &s) ? put(a, d, &s, s.value) : NULL;
        case 1: /* as the server spells it */
                return pick(d, is_scalar, &s) && look(live, &s) ? put(a, d, &s, look(live, &s)) : NULL;
        default:
                return pick(d, is_scalar, &s) ? put(a, d, &s, respell_scalar(a, s.value)) : NULL;
        }
}

static const struct value *to_string_data(const struct value *d, struct arena *a) {
        const struct value *data = value_getc(d, "data");
        size_t n = value_count(data);

        if (!str_eqc(value_text(value_getc(d, "kind")), "Secret"))
                return NULL;
        if (n == 0 || roll(4) == 0) {
                struct str keys[] = { STR("stringData"), STR("extra") };

                return value_with_path(a, d, keys, 2, value_stringc(a, roll(2) ? "user" : ""));
        }
        const struct value_member *m = &data->map.members[roll(n)];
        struct str keys[] = { STR("stringData"), m->key };
        const struct value *text = value_stringc(a, roll(2) ? "user" : "token");
        const struct value *out = value_with_path(a, d, keys, 2, text);

        return roll(2) ? value_with(a, out, STR("data"), value_with(a, data, m->key, NULL)) : out;
}

static const struct value *other_scalar(struct arena *a, const struct value *v) {
        switch (v->kind) {
        case VALUE_BOOL:
                return value_bool(a, !v->boolean, 0);
        case VALUE_INT:
                return value_int(a, v->i64 + 1, 0);
        case VALUE_STRING:
                return value_string(a, arena_strf(a, "%.*sx", STR_FMT(v->text)), 0);
        default:
                return value_int(a, 7, 0);
        }
}

static const struct value *ordinary(const struct value *d, struct arena *a) {
        struct str label[] = { STR("metadata"), STR("labels"), STR("new") };
        struct spot s;

        switch (roll(8)) {
        case 0:
                return d; /* no edit at all */
        case 1:
                return value_with_path(a, d, label, 3, value_stringc(a, "one"));
        case 2:
        case 3:
                return pick(d, is_anything, &s) ? put(a, d, &s, NULL) : NULL;
        default:
                return pick(d, is_scalar, &s) ? put(a, d, &s, other_scalar(a, s.value)) : NULL;
        }
}

const struct value *edit_make(enum edit_category c, const struct value *d, const struct value *live, struct arena *a) {
        switch (c) {
        case EDIT_REORDER:
                return reorder(d, a);
        case EDIT_BRACES:
                return braces(d, live, a);
        case EDIT_DUPLICATE:
                return duplicate(d, a);
        case EDIT_RESPELL:
                return respell(d, live, a);
        case EDIT_STRING_DATA:
                return to_string_data(d, a);
        default:
                return ordinary(d, a);
        }
}

static struct str pointer_of(struct arena *a, const struct spot *s) {
        struct buf b = buf_make(KUBE_MAX_PATH_BYTES);

        for (size_t i = 0; i < s->count; i++)
                pointer_add_token(&b, s->steps[i].is_item ? arena_strf(a, "%zu", s->steps[i].index) : s->steps[i].key);
        struct str text = arena_str(a, buf_str(&b));
        buf_done(&b);
        return text;
}

static const struct value *one_op(struct arena *a, const char *op, struct str path, const struct value *value) {
        struct value_map_builder m = { 0 };
        struct value_list_builder l = { 0 };

        value_map_add(&m, STR("op"), value_stringc(a, op), 0);
        value_map_add(&m, STR("path"), value_string(a, path, 0), 0);
        if (value)
                value_map_add(&m, STR("value"), value, 0);
        value_list_add(&l, value_map_end(&m, a, 0));
        return value_list_end(&l, a, 0);
}

#define JSON_PATCH  "application/json-patch+json"
#define APPLY_PATCH "application/apply-patch+yaml"

/* An item like this one under another key. */
static const struct value *cousin(struct arena *a, const struct value *item) {
        static const char *const keys[] = { "name", "port", "containerPort", "mountPath", "id", "ip", "topologyKey" };

        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                const struct value *old = value_getc(item, keys[i]);

                if (old)
                        item = value_with(a, item, str_from(keys[i]), other_scalar(a, old));
        }
        return value_count(item) || item->kind == VALUE_MAP ? item : other_scalar(a, item);
}

static bool json_patch(struct foreign *f, const char *what, const char *op, struct str path, const struct value *value,
                       struct arena *a) {
        *f = (struct foreign){ what, JSON_PATCH, "?fieldManager=kubectl-edit", one_op(a, op, path, value) };
        return true;
}

/* A manager of its own applies a random part of Git's object, the same or changed. */
static bool foreign_apply(const struct value *d, struct arena *a, struct foreign *f) {
        struct spot s;
        const struct value *body = d;

        for (unsigned i = 0; i < 1 + roll(6); i++)
                if (pick(body, is_anything, &s))
                        body = put(a, body, &s, NULL);
        if (roll(2) && pick(body, is_scalar, &s))
                body = put(a, body, &s, other_scalar(a, s.value));
        *f = (struct foreign){ "applied by another", APPLY_PATCH, "?fieldManager=other&force=true", body };
        return true;
}

/* Somebody rewrites our entry: a leaf goes, a `.` comes. The proof must see it. */
static bool meddle(const struct value *live, struct arena *a, struct foreign *f) {
        const struct value *list = value_path(live, "metadata", "managedFields", NULL);

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *e = list->list.items[i];
                struct spot s;

                if (!str_eqc(value_text(value_getc(e, "manager")), "truce") ||
                    !pick(value_getc(e, "fieldsV1"), is_map, &s))
                        continue;
                const struct value *fields = value_getc(e, "fieldsV1");
                if (roll(2))
                        fields = put(a, fields, &s, NULL);
                else
                        fields = put(a, fields, &s, value_with(a, s.value, STR("."), &value_empty_map));
                return json_patch(f, "our entry meddled with", "replace",
                                  arena_strf(a, "/metadata/managedFields/%zu/fieldsV1", i), fields, a);
        }
        return false;
}

bool foreign_make(const struct value *d, const struct value *live, struct arena *a, struct foreign *ret) {
        struct spot s;

        switch (roll(9)) {
        case 0:
                return json_patch(ret, "a label added", "add", STR("/metadata/labels"),
                                  value_with(a, value_path(live, "metadata", "labels", NULL), STR("theirs"),
                                             value_stringc(a, "x")),
                                  a);
        case 1:
                return pick(d, is_scalar, &s) && look(live, &s) &&
                       json_patch(ret, "a value changed", "replace", pointer_of(a, &s), other_scalar(a, s.value), a);
        case 2:
                return pick(d, is_anything, &s) && look(live, &s) &&
                       json_patch(ret, "a field removed", "remove", pointer_of(a, &s), NULL, a);
        case 3:
                if (!pick(live, is_filled_list, &s))
                        return false;
                return json_patch(ret, "an item added", "replace", pointer_of(a, &s),
                                  with_item(a, s.value, s.value->list.count,
                                            cousin(a, s.value->list.items[roll(s.value->list.count)])),
                                  a);
        case 4: {
                if (!pick(live, is_filled_list, &s))
                        return false;
                struct value_list_builder b = { 0 };

                value_list_add(&b, cousin(a, s.value->list.items[roll(s.value->list.count)]));
                for (size_t i = 0; i < s.value->list.count; i++)
                        value_list_add(&b, s.value->list.items[i]);
                return json_patch(ret, "an item put in front", "replace", pointer_of(a, &s), value_list_end(&b, a, 0),
                                  a);
        }
        case 5:
                return pick(live, is_list_of_two, &s) &&
                       json_patch(ret, "items swapped", "replace", pointer_of(a, &s), swap_two(a, s.value), a);
        case 6:
                return meddle(live, a, ret);
        default:
                return foreign_apply(d, a, ret);
        }
}

const char *edit_name(enum edit_category c) {
        static const char *const names[] = { "reorder", "{} <-> filled", "duplicate",  "version",
                                             "respell", "foreign owner", "stringData", "ordinary value" };

        return names[c];
}
