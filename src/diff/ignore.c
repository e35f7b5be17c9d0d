/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/ignore.h"

#include "base/map.h"
#include "own/path_read.h"

struct gathering {
        const struct ignore_input *in;
        struct arena *a;
        struct map *seen; /* spelling of a path → where it is in `paths` */
        struct ignored_path *paths;
        size_t count, max, left_out;
        size_t *found;
};

/* --- what may be ignored ---------------------------------------------------------------------------------------- */

/* Without these an object is not the one that Git names. */
static bool is_identity(struct field_path p) {
        static const char *const names[] = { "apiVersion", "kind", "metadata" };
        static const char *const in_metadata[] = { "name", "namespace" };

        if (p.count == 0)
                return true;
        for (size_t i = 0; p.count == 1 && i < ARRAY_LEN(names); i++)
                if (str_eqc(p.elements[0].name, names[i]))
                        return true;
        for (size_t i = 0; p.count == 2 && i < ARRAY_LEN(in_metadata); i++)
                if (str_eqc(p.elements[0].name, "metadata") && str_eqc(p.elements[1].name, in_metadata[i]))
                        return true;
        return false;
}

/* Never compared to begin with. */
static bool is_status(struct field_path p) {
        return p.count && str_eqc(p.elements[0].name, "status");
}

/* --- from a place in one object to a path ------------------------------------------------------------------------- */

struct place {
        const struct value *value;
        const struct schema *type;
        struct field_path path;
};

/* manifest/ makes `data` of a Secret's `stringData`; the API server never stores it. */
static struct str field_name(const struct gathering *g, const struct place *at, struct str name) {
        const struct value *git = g->in->desired;

        if (at->path.count == 0 && str_eqc(name, "stringData") && str_eqc(value_text(value_getc(git, "kind")), "Secret") &&
            str_eqc(value_text(value_getc(git, "apiVersion")), "v1"))
                return STR("data");
        return name;
}

static bool go_to_field(const struct gathering *g, struct place *at, struct str name) {
        const struct value *next;

        name = field_name(g, at, name);
        next = value_get(at->value, name);
        if (!next)
                return false;
        *at = (struct place){ next, schema_field(at->type, name), field_path_join(g->a, at->path, path_field(name)) };
        return true;
}

static bool go_to_item(const struct gathering *g, struct place *at, int64_t index) {
        int64_t count = (int64_t)at->value->list.count;
        struct path_element e;

        index += index < 0 ? count : 0;
        if (index < 0 || index >= count)
                return false;
        const struct value *item = at->value->list.items[index];
        if (!path_item_element(item, at->type, g->a, &e))
                e = (struct path_element){ .kind = PATH_INDEX, .index = index };
        *at = (struct place){ item, schema_item(at->type), field_path_join(g->a, at->path, e) };
        return true;
}

static bool go_by_token(const struct gathering *g, struct place *at, struct str token) {
        int64_t index;

        if (value_is(at->value, VALUE_MAP))
                return go_to_field(g, at, token);
        return value_is(at->value, VALUE_LIST) && !(token.n > 1 && token.p[0] == '0') && str_to_i64(token, &index) &&
               index >= 0 && go_to_item(g, at, index);
}

static bool go_by_step(const struct gathering *g, struct place *at, const struct value *step) {
        if (value_is(step, VALUE_STRING))
                return value_is(at->value, VALUE_MAP) && go_to_field(g, at, step->text);
        return value_is(step, VALUE_INT) && value_is(at->value, VALUE_LIST) && go_to_item(g, at, step->i64);
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

static struct str spelling(const struct gathering *g, struct field_path p) {
        _cleanup_(buf_done) struct buf b = buf_make(FIELD_PATH_MAX_BYTES * 16);

        for (size_t i = 0; i < p.count; i++) {
                path_element_spell(&p.elements[i], &b);
                buf_addch(&b, '\n');
        }
        return arena_str(g->a, buf_str(&b));
}

static struct ignored_path *slot_for(struct gathering *g, struct field_path p) {
        struct str key = spelling(g, p);
        struct ignored_path *slot = map_find(g->seen, key);

        if (slot)
                return slot;
        if (g->count >= g->max) {
                g->left_out++;
                return NULL;
        }
        slot = &g->paths[g->count++];
        slot->path = p;
        map_set(g->seen, key, slot);
        return slot;
}

static void found(struct gathering *g, size_t rule, const struct place *at, bool live) {
        const struct ignore_rule *r = &g->in->rules[rule];
        struct ignored_path *slot;

        if (is_identity(at->path))
                return;
        g->found[rule]++;
        slot = is_status(at->path) ? NULL : slot_for(g, at->path);
        if (!slot)
                return;
        slot->in_git |= !live;
        slot->in_live |= live;
        if (!slot->rule || (r->at_sync && !slot->at_sync)) {
                slot->rule = r->name;
                slot->place = r->place;
                slot->at_sync = r->at_sync;
        }
}

static struct place root_of(const struct gathering *g, bool live) {
        return (struct place){ .value = live ? g->in->live : g->in->desired, .type = g->in->type };
}

static void by_pointer(struct gathering *g, size_t rule, struct pointer p, bool live) {
        struct place at = root_of(g, live);
        size_t i = 0;

        while (at.value && i < p.count && go_by_token(g, &at, p.tokens[i]))
                i++;
        if (at.value && i == p.count)
                found(g, rule, &at, live);
}

static void by_finding(struct gathering *g, size_t rule, const struct value *paths, bool live) {
        for (size_t i = 0; value_is(paths, VALUE_LIST) && i < paths->list.count; i++) {
                const struct value *steps = paths->list.items[i];
                struct place at = root_of(g, live);
                size_t k = 0;

                while (at.value && k < value_count(steps) && go_by_step(g, &at, steps->list.items[k]))
                        k++;
                if (at.value && k == value_count(steps))
                        found(g, rule, &at, live);
        }
}

/* No more than these can be found. */
static size_t most_paths(const struct ignore_input *in) {
        const struct ignore_finding *finding = in->findings;
        size_t most = 0;

        for (size_t r = 0; r < in->rule_count; r++) {
                most += 2 * in->rules[r].pointer_count;
                for (size_t i = 0; i < in->rules[r].program_count; i++, finding++)
                        most += value_count(finding->in_git) + value_count(finding->in_live);
        }
        return most < IGNORE_MAX_PATHS ? most : IGNORE_MAX_PATHS;
}

struct ignore_result ignore_paths(const struct ignore_input *in, struct arena *a) {
        struct gathering g = {
                .in = in,
                .a = a,
                .seen = map_new(NULL),
                .max = most_paths(in),
                .found = arena_zalloc(a, (in->rule_count + 1) * sizeof *g.found),
        };
        const struct ignore_finding *finding = in->findings;

        g.paths = arena_zalloc(a, (g.max + 1) * sizeof *g.paths);
        for (size_t r = 0; r < in->rule_count; r++) {
                for (size_t i = 0; i < in->rules[r].pointer_count; i++) {
                        by_pointer(&g, r, in->rules[r].pointers[i], false);
                        by_pointer(&g, r, in->rules[r].pointers[i], true);
                }
                for (size_t i = 0; i < in->rules[r].program_count; i++, finding++) {
                        by_finding(&g, r, finding->in_git, false);
                        by_finding(&g, r, finding->in_live, true);
                }
        }
        map_free(g.seen);
        return (struct ignore_result){ g.paths, g.count, g.left_out, g.found };
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

int ignore_pointer_read(struct str text, struct arena *a, struct pointer *ret_pointer, struct err *err) {
        struct field_path p = { 0 };
        int r;

        if (text.n && text.p[0] == '.')
                return err_set(err, ERR_INVAL, "\"%.*s\" is no JSON pointer, which begins with / and has / between names; with "
                               "dots it is a jqPathExpression", STR_FMT(text));
        r = pointer_parse(text, a, ret_pointer, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ret_pointer->count && i < 3; i++)
                p = field_path_join(a, p, path_field(ret_pointer->tokens[i]));
        if (is_identity(p))
                return err_set(err, ERR_INVAL, "JSON pointer \"%.*s\" names what makes an object that object; it cannot be ignored",
                               STR_FMT(text));
        return 0;
}
