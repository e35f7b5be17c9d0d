/* SPDX-License-Identifier: Apache-2.0 */
/* What all objects have in common: metadata and the owner. */
#include "group/build_impl.h"

#include <inttypes.h>

const struct value *build_set(struct arena *a, const struct value *map, const char *key, struct str text) {
        return value_with(a, map, str_from(key), value_string(a, text, 0));
}

const struct value *build_set_number(struct arena *a, const struct value *map, const char *key, int32_t number) {
        return build_set(a, map, key, arena_strf(a, "%" PRId32, number));
}

void build_add(struct value_map_builder *b, struct arena *a, const char *key, struct str text) {
        value_map_add(b, str_from(key), value_string(a, text, 0), 0);
}

void build_add_number(struct value_map_builder *b, struct arena *a, const char *key, int32_t number) {
        build_add(b, a, key, arena_strf(a, "%" PRId32, number));
}

void build_add_all(struct value_map_builder *b, const struct value *map) {
        for (size_t i = 0; value_is(map, VALUE_MAP) && i < map->map.count; i++)
                value_map_add(b, map->map.members[i].key, map->map.members[i].value, 0);
}

static const struct value *owner_of(const struct group_spec *s, struct arena *a) {
        struct value_map_builder owner = { 0 };
        struct value_list_builder list = { 0 };

        build_add(&owner, a, "apiVersion", STR(GROUP_API_VERSION));
        build_add(&owner, a, "kind", STR(GROUP_KIND));
        build_add(&owner, a, "name", s->name);
        build_add(&owner, a, "uid", s->uid);
        value_map_add(&owner, STR("controller"), &value_true, 0);
        value_map_add(&owner, STR("blockOwnerDeletion"), &value_true, 0);
        value_list_add(&list, value_map_end(&owner, a, 0));
        return value_list_end(&list, a, 0);
}

const struct value *build_metadata(const struct group_spec *s, struct str name, const struct value *labels,
                                   const struct value *annotations, bool owned, struct arena *a) {
        const struct value *metadata = build_set(a, NULL, "name", name);

        metadata = build_set(a, metadata, "namespace", s->ns);
        if (value_is(labels, VALUE_MAP))
                metadata = value_with(a, metadata, STR("labels"), labels);
        if (value_is(annotations, VALUE_MAP))
                metadata = value_with(a, metadata, STR("annotations"), annotations);
        return owned ? value_with(a, metadata, STR("ownerReferences"), owner_of(s, a)) : metadata;
}

const struct value *build_object(struct arena *a, const char *api_version, const char *kind,
                                 const struct value *metadata) {
        const struct value *object = build_set(a, NULL, "apiVersion", str_from(api_version));

        object = build_set(a, object, "kind", str_from(kind));
        return value_with(a, object, STR("metadata"), metadata);
}

const struct value *build_template(const struct group_template *t, int32_t worker) {
        return !worker && t->leader ? t->leader : t->worker;
}

struct str group_subdomain(const struct group_spec *s, const struct group_template *t, int32_t group, struct arena *a) {
        return t->subdomain == GROUP_SUBDOMAIN_UNIQUE ? group_name_leader(a, s->name, group) : s->name;
}

int32_t group_subgroup_index(const struct group_template *t, int32_t worker) {
        int32_t n = t->subgroup_size;

        if (t->subgroups == GROUP_SUBGROUPS_NONE || n < 1)
                return -1;
        if (!worker)
                return t->subgroups == GROUP_SUBGROUPS_LEADER_EXCLUDED ? -1 : 0;
        if ((t->size - 1) % n == 0 && t->size % n != 0)
                return (worker - 1) / n;
        return worker / n;
}
