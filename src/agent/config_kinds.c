/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of kinds in argocd-cm: resource.exclusions and resource.inclusions. */
#include "agent/config_impl.h"
#include "base/glob.h"

struct kinds_reader {
        struct reader *r;
        const char *where;
        uint32_t line_before;
        struct manifest_kinds kinds;
        bool elsewhere; /* about other clusters only */
};

/* NULL: it is no list of strings. */
static const struct str *read_strings(struct kinds_reader *x, const struct value_member *m, size_t *ret_count) {
        struct str *all = arena_alloc(x->r->a, (value_count(m->value) + 1) * sizeof *all);
        bool bad = !value_is(m->value, VALUE_LIST);

        for (size_t i = 0; !bad && i < m->value->list.count; i++) {
                all[i] = value_text(m->value->list.items[i]);
                bad = !value_is(m->value->list.items[i], VALUE_STRING);
        }
        if (bad) {
                reader_error(x->r, x->line_before + m->line, "%s: %.*s must be a list of strings", x->where, STR_FMT(m->key));
                return NULL;
        }
        *ret_count = m->value->list.count;
        return all;
}

static bool are_globs(struct kinds_reader *x, const struct value_member *m, const struct str *all, size_t count) {
        struct err err;

        for (size_t i = 0; i < count; i++)
                if (glob_check(all[i], &err) < 0) {
                        reader_error(x->r, x->line_before + m->line, "%s: %.*s: %s", x->where, STR_FMT(m->key), err.msg);
                        return false;
                }
        return true;
}

static void read_groups(struct kinds_reader *x, const struct value_member *m) {
        x->kinds.groups = read_strings(x, m, &x->kinds.group_count);
        are_globs(x, m, x->kinds.groups, x->kinds.group_count);
}

static void read_kinds(struct kinds_reader *x, const struct value_member *m) {
        x->kinds.kinds = read_strings(x, m, &x->kinds.kind_count);
}

static void read_clusters(struct kinds_reader *x, const struct value_member *m) {
        size_t count = 0;
        const struct str *all = read_strings(x, m, &count);

        x->elsewhere = count > 0 && are_globs(x, m, all, count);
        for (size_t i = 0; i < count; i++)
                x->elsewhere &= !glob_match(all[i], STR(IN_CLUSTER_SERVER));
}

static const struct {
        const char *key;
        void (*read)(struct kinds_reader *x, const struct value_member *m);
} lists[] = { { "apiGroups", read_groups }, { "kinds", read_kinds }, { "clusters", read_clusters } };

static void read_member(struct kinds_reader *x, const struct value_member *m) {
        const char *keys[ARRAY_LEN(lists)], *near;

        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
                keys[i] = lists[i].key;
                if (!str_eqc(m->key, lists[i].key))
                        continue;
                if (!value_is(m->value, VALUE_NULL))
                        lists[i].read(x, m);
                return;
        }
        near = option_nearest(m->key, keys, ARRAY_LEN(keys));
        reader_error(x->r, x->line_before + m->line, "%s: unknown key %.*s%s%s%s", x->where, STR_FMT(m->key),
                     near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

/* One element of the list; false: it is about other clusters only. */
static bool read_element(struct kinds_reader *x, const struct value *map) {
        x->kinds = (struct manifest_kinds){ 0 };
        x->elsewhere = false;
        if (!value_is(map, VALUE_MAP)) {
                reader_error(x->r, x->line_before + map->line, "%s: an element is a map, not a %s", x->where,
                             value_kind_name(map->kind));
                return false;
        }
        for (size_t i = 0; i < map->map.count; i++)
                read_member(x, &map->map.members[i]);
        return !x->elsewhere;
}

const struct manifest_kinds *config_read_kinds(struct reader *r, const struct value_member *m, size_t *ret_count) {
        struct kinds_reader x = { .r = r, .where = arena_str(r->a, m->key).p };
        const struct value *list = config_yaml_in(r, m, x.where, &x.line_before);
        struct manifest_kinds *all;

        *ret_count = 0;
        if (!list)
                return NULL;
        if (!value_is(list, VALUE_LIST)) {
                reader_error(r, m->line, "%s must be a list, not a %s", x.where, value_kind_name(list->kind));
                return NULL;
        }
        all = arena_alloc(r->a, (list->list.count + 1) * sizeof *all);
        for (size_t i = 0; i < list->list.count; i++)
                if (read_element(&x, list->list.items[i]))
                        all[(*ret_count)++] = x.kinds;
        return all;
}
