/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the makers of a LeaderWorkerSet's objects share. A pod is its template's spec, handed through one function after
 * the other; each returns the spec with its part done and leaves the rest alone.
 */
#ifndef TRUCE_GROUP_BUILD_IMPL_H
#define TRUCE_GROUP_BUILD_IMPL_H

#include "group/build.h"
#include "group/names.h"
#include "group/spec.h"

/* One pod that is being made, and what follows from its place. */
struct build_pod {
        const struct group_spec *s;
        const struct group_template *t;
        const struct group_place *at;
        const struct value *template; /* PodTemplateSpec of its role */
        struct str name, leader, subdomain;
        struct str key;          /* of the group */
        int32_t subgroup;        /* -1: in none */
        struct str subgroup_key; /* empty when in none */
        struct arena *a;
};

/* The map with a text member; a number as decimal text. `map` may be NULL. */
const struct value *build_set(struct arena *a, const struct value *map, const char *key, struct str text);
const struct value *build_set_number(struct arena *a, const struct value *map, const char *key, int32_t number);

/* The same into a map that is being built, in which what is added later wins; `key` is a constant. */
void build_add(struct value_map_builder *b, struct arena *a, const char *key, struct str text);
void build_add_number(struct value_map_builder *b, struct arena *a, const char *key, int32_t number);
/* All members of `map`, which may be NULL. */
void build_add_all(struct value_map_builder *b, const struct value *map);

/*
 * Metadata of an object of s; labels and annotations that are no maps are left out. `owned`: the LeaderWorkerSet is its
 * controller, and waits for it when it is deleted in the foreground.
 */
const struct value *build_metadata(const struct group_spec *s, struct str name, const struct value *labels,
                                   const struct value *annotations, bool owned, struct arena *a);
/* An object without content yet. */
const struct value *build_object(struct arena *a, const char *api_version, const char *kind,
                                 const struct value *metadata);

/* The pod template of a role: the leader's falls back to the workers'. */
const struct value *build_template(const struct group_template *t, int32_t worker);

struct build_variable {
        const char *name;
        struct str value;
};
enum build_end { BUILD_FIRST, BUILD_LAST };
/* The container with the variables at one end of its environment, in their order; others of these names are gone. */
const struct value *build_with_variables(struct arena *a, const struct value *container,
                                         const struct build_variable *variables, size_t count, enum build_end end);

/* The three LWS_ variables in front, in each container and init container. */
const struct value *build_environment(const struct build_pod *p, const struct value *spec);

/* Has a container or init container of the template a request or limit of TPUs that is not zero? */
bool build_requests_tpu(const struct value *template);
/* What libtpu needs to find the other hosts of its slice, in the containers that request TPUs. */
const struct value *build_tpu(const struct build_pod *p, const struct value *spec);

/* Affinity and node selectors of exclusive placement, of the group and of the subgroup. */
const struct value *build_topology(const struct build_pod *p, const struct value *spec);

/* A volume for each claim template, in place of those of the same name. */
const struct value *build_volumes(const struct build_pod *p, const struct value *spec);

#endif
