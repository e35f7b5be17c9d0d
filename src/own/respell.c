/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is text, a row for each struct in which a quantity stands: `field:type` separated by blanks. Types:
 *
 *      q           quantity
 *      Name        struct, another row
 *      *TYPE       map with free keys
 *
 * Lists are walked through.
 */
#include "own/respell.h"

#include "base/option.h"
#include "own/amount.h"
#include "own/path.h"

struct kind_row {
        const char *api_version, *kind, *type;
};

struct type_row {
        const char *name, *fields;
};

#include "own/respell_table.inc"

#define CORE "core/v1/"
#define QUANTITY "core/Quantity"
#define DURATION "meta/v1/Duration"
#define RESOURCES "ResourceList" /* a map of quantities, no struct */

/* --- what stands where ------------------------------------------------------------------------------------------------ */

enum guide_kind {
        GUIDE_NOTHING,
        GUIDE_QUANTITY,
        GUIDE_DURATION,
        GUIDE_TABLE, /* `text`, in the table's notation */
        GUIDE_CRD,   /* `node` of a definition's schema */
};

struct guide {
        enum guide_kind kind;
        struct str text;
        const struct value *node;
};

/* The rows are sorted by name. */
static const char *row_of(struct str name) {
        size_t from = 0, to = ARRAY_LEN(type_rows);

        while (from < to) {
                size_t mid = from + (to - from) / 2;
                int order = str_cmp(str_from(type_rows[mid].name), name);

                if (order == 0)
                        return type_rows[mid].fields;
                if (order < 0)
                        from = mid + 1;
                else
                        to = mid;
        }
        return NULL;
}

static struct guide guide_of_text(struct str text) {
        if (str_eqc(text, "q"))
                return (struct guide){ .kind = GUIDE_QUANTITY };
        if (str_starts(text, STR("*")) || row_of(text))
                return (struct guide){ .kind = GUIDE_TABLE, .text = text };
        return (struct guide){ 0 };
}

static struct guide member_of_row(struct str row, struct str name) {
        struct str rest = str_from(row_of(row)), field;

        while (str_next(&rest, ' ', &field)) {
                size_t colon = (size_t)str_find(field, ':', 0);

                if (str_eq(str_sub(field, 0, colon), name))
                        return guide_of_text(str_sub(field, colon + 1, field.n));
        }
        return (struct guide){ 0 };
}

/* The pattern that is generated for resource.Quantity; such a value may be a number or a string. */
static bool is_quantity_node(const struct value *node) {
        return value_truth(value_getc(node, "x-kubernetes-int-or-string"), false) &&
               str_contains(value_text(value_getc(node, "pattern")), STR("(([KMGTPE]i)|[numkMGTPE]|"));
}

static struct guide guide_of_node(const struct value *node) {
        if (!value_is(node, VALUE_MAP))
                return (struct guide){ 0 };
        if (is_quantity_node(node))
                return (struct guide){ .kind = GUIDE_QUANTITY };
        return (struct guide){ .kind = GUIDE_CRD, .node = node };
}

static struct guide member_of_node(const struct value *node, struct str name) {
        const struct value *declared = value_get(value_getc(node, "properties"), name);

        return guide_of_node(declared ? declared : value_getc(node, "additionalProperties"));
}

static struct guide member_of(const struct guide *g, struct str name) {
        if (g->kind == GUIDE_CRD)
                return member_of_node(g->node, name);
        if (g->kind != GUIDE_TABLE)
                return (struct guide){ 0 };
        if (str_starts(g->text, STR("*")))
                return guide_of_text(str_sub(g->text, 1, g->text.n));
        return member_of_row(g->text, name);
}

static struct guide item_of(const struct guide *g) {
        return g->kind == GUIDE_CRD ? guide_of_node(value_getc(g->node, "items")) : *g;
}

/* --- the walk ------------------------------------------------------------------------------------------------------- */

struct walk {
        struct arena *a;
        const struct str *names; /* of a known field, on the way to it */
        size_t count;
        struct guide there;      /* what stands at its end */
};

/* Where the walk stands: with `left` names to go, else guided. */
struct stand {
        size_t left;
        struct guide guide;
        const struct schema *type;
};

static const struct value *follow(const struct walk *w, const struct value *git, const struct value *live,
                                  struct stand at);

static struct stand stand_of_member(const struct walk *w, const struct stand *at, struct str name) {
        struct stand next = { .type = schema_field(at->type, name) };

        if (!at->left) {
                next.guide = member_of(&at->guide, name);
        } else if (str_eq(w->names[w->count - at->left], name)) {
                next.left = at->left - 1;
                next.guide = next.left ? (struct guide){ 0 } : w->there;
        }
        return next;
}

static bool leads_nowhere(const struct stand *at) {
        return !at->left && at->guide.kind == GUIDE_NOTHING;
}

static const struct value *follow_map(const struct walk *w, const struct value *git, const struct value *live,
                                      struct stand at) {
        struct value_map_builder b = { 0 };
        bool changed = false;

        for (size_t i = 0; i < git->map.count; i++) {
                const struct value_member *m = &git->map.members[i];
                const struct value *v = follow(w, m->value, value_get(live, m->key), stand_of_member(w, &at, m->key));

                changed |= v != m->value;
                value_map_add(&b, m->key, v, m->line);
        }
        const struct value *map = value_map_end(&b, w->a, git->line);
        return changed ? map : git;
}

static const struct value *counterpart(const struct walk *w, const struct value *item, size_t i, const struct value *live,
                                       const struct schema *type) {
        struct path_element e;

        if (path_item_element(item, type, w->a, &e))
                return path_item_find(live, &e, type, NULL);
        return i < live->list.count ? live->list.items[i] : NULL;
}

static const struct value *follow_list(const struct walk *w, const struct value *git, const struct value *live,
                                       struct stand at) {
        struct stand next = { at.left, at.left ? at.guide : item_of(&at.guide), schema_item(at.type) };
        struct value_list_builder b = { 0 };
        bool changed = false;

        for (size_t i = 0; i < git->list.count; i++) {
                const struct value *item = git->list.items[i];
                const struct value *v = follow(w, item, counterpart(w, item, i, live, at.type), next);

                changed |= v != item;
                value_list_add(&b, v);
        }
        const struct value *list = value_list_end(&b, w->a, git->line);
        return changed ? list : git;
}

static const struct value *follow(const struct walk *w, const struct value *git, const struct value *live,
                                  struct stand at) {
        if (!live || git == live || leads_nowhere(&at) || git->kind == VALUE_NULL)
                return git;
        if (value_is(git, VALUE_MAP))
                return value_is(live, VALUE_MAP) ? follow_map(w, git, live, at) : git;
        if (value_is(git, VALUE_LIST))
                return value_is(live, VALUE_LIST) ? follow_list(w, git, live, at) : git;
        bool same = (at.guide.kind == GUIDE_QUANTITY && quantity_equal(git, live)) ||
                    (at.guide.kind == GUIDE_DURATION && duration_equal(git, live));
        return same ? live : git;
}

/* --- known types ---------------------------------------------------------------------------------------------------- */

static bool is_core_type(struct str name) {
        struct str rest = str_from(core_types), one;

        while (str_next(&rest, ' ', &one))
                if (str_eq(one, name))
                        return true;
        return str_eqc(name, RESOURCES);
}

#define MAX_CORE_TYPES 400

static const char *nearest_type(struct str type, struct arena *a) {
        const char *names[MAX_CORE_TYPES + 2] = { QUANTITY, DURATION };
        struct str rest = str_from(core_types), one;
        size_t count = 2;

        while (count < ARRAY_LEN(names) && str_next(&rest, ' ', &one))
                names[count++] = arena_strf(a, CORE "%.*s", STR_FMT(one)).p;
        return option_nearest(type, names, count);
}

int known_type_check(struct str type, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = NULL;
        const char *near;

        if (str_eqc(type, QUANTITY) || str_eqc(type, DURATION))
                return 0;
        if (str_starts(type, STR(CORE)) && is_core_type(str_sub(type, strlen(CORE), type.n)))
                return 0;
        a = arena_new(0);
        near = nearest_type(type, a);
        return err_set(err, ERR_INVAL, "unknown type \"%.*s\"%s%s%s", STR_FMT(type), near ? ", did you mean " : "",
                       near ? near : "", near ? "?" : "");
}

static struct guide guide_of_type(struct str type, struct arena *a) {
        struct str name;

        if (str_eqc(type, QUANTITY))
                return (struct guide){ .kind = GUIDE_QUANTITY };
        if (str_eqc(type, DURATION))
                return (struct guide){ .kind = GUIDE_DURATION };
        name = str_sub(type, strlen(CORE), type.n);
        if (str_eqc(name, RESOURCES))
                return guide_of_text(STR("*q"));
        return guide_of_text(arena_strf(a, "core.v1.%.*s", STR_FMT(name)));
}

/* --- the whole ------------------------------------------------------------------------------------------------------ */

static struct guide guide_of_crd(const struct value *crd, struct str version) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);

        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++)
                if (str_eq(value_text(value_getc(versions->list.items[i], "name")), version))
                        return guide_of_node(value_path(versions->list.items[i], "schema", "openAPIV3Schema", NULL));
        return (struct guide){ 0 };
}

static struct guide guide_of_kind(const struct value *object, const struct value *crd) {
        struct str api_version = value_text(value_getc(object, "apiVersion")), kind = value_text(value_getc(object, "kind"));

        for (size_t i = 0; i < ARRAY_LEN(kind_rows); i++)
                if (str_eqc(api_version, kind_rows[i].api_version) && str_eqc(kind, kind_rows[i].kind))
                        return guide_of_text(str_from(kind_rows[i].type));
        return guide_of_crd(crd, schema_version(api_version));
}

const struct value *respell(const struct value *git, const struct value *live, const struct respell_knowledge *known,
                            const struct schema *type, struct arena *a) {
        struct walk w = { .a = a };

        if (!live)
                return git;
        git = follow(&w, git, live, (struct stand){ .guide = guide_of_kind(git, known->crd), .type = type });
        for (size_t i = 0; i < known->field_count; i++) {
                const struct known_field *f = &known->fields[i];

                w = (struct walk){ a, f->names, f->count, guide_of_type(f->type, a) };
                git = follow(&w, git, live, (struct stand){ .left = f->count, .type = type });
        }
        return git;
}
