/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields that a level of the object should not have. Upstream adds some with each release, and an object that asks for
 * them in vain would be worse than one that is refused: each is reported, with what to write instead.
 */
#include "group/fields_impl.h"
#include "group/names.h"

/* What upstream has newly, at whatever level: values that ask for what truce does anyway, and what to do otherwise. */
static const struct newer {
        const char *key;
        const char *same[2];
        const char *text;
} newer[] = {
        { "groupIdentity", { "Ordinal" }, "groups are numbered here: remove it, or say Ordinal" },
        { "groupReplacementPolicy",
          { "PostTermination" },
          "a group comes back when the last pod of its old one is gone: remove it, or say PostTermination" },
        { "maxGroupRestarts", { NULL }, "use the annotation truce.dev/max-group-restarts instead" },
        { "podTerminationPolicy",
          { "Parallel", "Default" },
          "the pods of a group end together: remove it, or say Parallel" },
        { "placementPolicy", { NULL }, "use the annotation " GROUP_ANNOTATION_EXCLUSIVE " instead" },
        { "scheduling",
          { NULL },
          "groups are let go to the scheduler as a whole anyway (annotation truce.dev/gang-timeout): remove it" },
};

static bool is_known(struct str key, const char *const *known) {
        for (; *known; known++)
                if (str_eqc(key, *known))
                        return true;
        return false;
}

static const struct newer *find_newer(struct str key) {
        for (size_t i = 0; i < ARRAY_LEN(newer); i++)
                if (str_eqc(key, newer[i].key))
                        return &newer[i];
        return NULL;
}

static bool is_same(const struct newer *n, const struct value *v) {
        for (size_t i = 0; i < ARRAY_LEN(n->same); i++)
                if (n->same[i] && str_eqc(value_text(v), n->same[i]))
                        return true;
        return false;
}

static bool is_plain(struct str key) {
        for (size_t i = 0; i < key.n; i++)
                if (key.p[i] <= ' ' || key.p[i] > '~')
                        return false;
        return key.n > 0;
}

/* A key as the part of a path that it is; one that would disturb whoever reads the path is quoted. */
static struct str path_of_unknown(const struct fields *in, struct str key) {
        if (is_plain(key))
                return fields_path(in, key);
        return arena_strf(in->a, "%.*s[%.*s]", STR_FMT(in->path),
                          STR_FMT(fields_shown(value_string(in->a, key, 0), in->a)));
}

void fields_check_known(const struct fields *in, const char *const *known) {
        for (size_t i = 0; in->map && i < in->map->map.count; i++) {
                const struct value_member *m = &in->map->map.members[i];
                const struct newer *n = find_newer(m->key);

                if (is_known(m->key, known) || value_is(m->value, VALUE_NULL) || (n && is_same(n, m->value)))
                        continue;
                group_problems_add(in->problems, in->a, GROUP_UNSUPPORTED, path_of_unknown(in, m->key), "%s",
                                   n ? n->text
                                     : "truce does not know this field, and so not what it asks for: remove it");
        }
}
