/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment. LWS_LEADER_ADDRESS comes first of all, so that variables after it can refer to it with $(…): Kubernetes
 * expands only what was defined before.
 */
#include "group/build_impl.h"

#include <inttypes.h>

static bool is_one_of(const struct value *variable, const struct build_variable *variables, size_t count) {
        struct str name = value_text(value_getc(variable, "name"));

        for (size_t i = 0; i < count; i++)
                if (str_eqc(name, variables[i].name))
                        return true;
        return false;
}

static void add_variables(struct arena *a, struct value_list_builder *list, const struct build_variable *variables,
                          size_t count) {
        for (size_t i = 0; i < count; i++) {
                const struct value *variable = build_set(a, NULL, "name", str_from(variables[i].name));

                value_list_add(list, build_set(a, variable, "value", variables[i].value));
        }
}

const struct value *build_with_variables(struct arena *a, const struct value *container,
                                         const struct build_variable *variables, size_t count, enum build_end end) {
        const struct value *env = value_getc(container, "env");
        struct value_list_builder list = { 0 };

        if (end == BUILD_FIRST)
                add_variables(a, &list, variables, count);
        for (size_t i = 0; value_is(env, VALUE_LIST) && i < env->list.count; i++)
                if (!is_one_of(env->list.items[i], variables, count))
                        value_list_add(&list, env->list.items[i]);
        if (end == BUILD_LAST)
                add_variables(a, &list, variables, count);
        return value_with(a, container, STR("env"), value_list_end(&list, a, 0));
}

static const struct value *with_each(struct arena *a, const struct value *spec, const char *which,
                                     const struct build_variable *variables, size_t count) {
        const struct value *containers = value_getc(spec, which);
        struct value_list_builder list = { 0 };

        if (!value_is(containers, VALUE_LIST))
                return spec;
        for (size_t i = 0; i < containers->list.count; i++)
                value_list_add(&list,
                               build_with_variables(a, containers->list.items[i], variables, count, BUILD_FIRST));
        return value_with(a, spec, str_from(which), value_list_end(&list, a, 0));
}

const struct value *build_environment(const struct build_pod *p, const struct value *spec) {
        const struct build_variable variables[] = {
                { GROUP_ENV_LEADER_ADDRESS,
                  arena_strf(p->a, "%.*s.%.*s.%.*s", STR_FMT(p->leader), STR_FMT(p->subdomain), STR_FMT(p->s->ns)) },
                { GROUP_ENV_GROUP_SIZE, arena_strf(p->a, "%" PRId32, p->t->size) },
                { GROUP_ENV_WORKER_INDEX, arena_strf(p->a, "%" PRId32, p->at->worker) },
        };

        spec = with_each(p->a, spec, "containers", variables, ARRAY_LEN(variables));
        return with_each(p->a, spec, "initContainers", variables, ARRAY_LEN(variables));
}
