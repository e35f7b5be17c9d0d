/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about more than one field; upstream's webhook has the texts, save for names and the number of pods. */
#include "group/names.h"
#include "group/spec_impl.h"

#define PATH_SUBGROUP_SIZE   STR("spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize")
#define PATH_SUBDOMAIN       STR("spec.networkConfig.subdomainPolicy")
#define PATH_MAX_UNAVAILABLE STR("spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable")
#define NAME_TEXT                                                                                                      \
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "        \
        "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "            \
        "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

static void invalid(const struct fields *object, struct str path, const struct value *v, const char *text) {
        group_problems_add(object->problems, object->a, GROUP_INVALID, path, "Invalid value: %.*s: %s",
                           STR_FMT(fields_shown(v, object->a)), text);
}

/* --- names and numbers --- */

static bool is_lower(char c) {
        return c >= 'a' && c <= 'z';
}

static bool is_lower_or_digit(char c) {
        return is_lower(c) || (c >= '0' && c <= '9');
}

/* RFC 1035 as Kubernetes reads it, any length. */
static bool is_dns_1035(struct str name) {
        if (!name.n || !is_lower(name.p[0]) || !is_lower_or_digit(name.p[name.n - 1]))
                return false;
        for (size_t i = 0; i < name.n; i++)
                if (!is_lower_or_digit(name.p[i]) && name.p[i] != '-')
                        return false;
        return true;
}

static int64_t groups_at_most(const struct group_spec *s) {
        return (int64_t)s->replicas + group_budget_up(s->max_surge, s->replicas);
}

/* A pod's name is its host name, and the longest is that of the last member of the last group. */
static struct str longest_ending(const struct group_spec *s, struct arena *a) {
        int64_t last = groups_at_most(s) - 1;
        struct str group = arena_strf(a, "-%lld", (long long)(last < 0 ? 0 : last));

        return s->now.size > 1 ? arena_strf(a, "%.*s-%d", STR_FMT(group), s->now.size - 1) : group;
}

static void check_name(const struct group_spec *s, const struct fields *object) {
        struct fields meta = { .map = value_getc(object->map, "metadata"),
                               .path = STR("metadata"),
                               .a = object->a,
                               .problems = object->problems };
        struct str ending = longest_ending(s, object->a);

        if (!s->name.n)
                return;
        if (!is_dns_1035(s->name))
                fields_invalid(&meta, "name", NAME_TEXT);
        if (s->name.n + ending.n > GROUP_MAX_NAME_BYTES)
                fields_invalid(&meta, "name",
                               "must be no more than %zu characters: with as many groups and pods, NAME%.*s is a pod's "
                               "host name, which has %d at most",
                               GROUP_MAX_NAME_BYTES - ending.n, STR_FMT(ending), GROUP_MAX_NAME_BYTES);
}

static void check_pods(const struct group_spec *s, const struct fields *object) {
        struct fields spec = { .map = value_getc(object->map, "spec"),
                               .path = STR("spec"),
                               .a = object->a,
                               .problems = object->problems };
        int64_t pods = groups_at_most(s) * s->now.size;

        if ((int64_t)s->replicas * s->now.size > INT32_MAX)
                fields_invalid(&spec, "replicas",
                               "the product of replicas and worker replicas must not exceed 2147483647");
        else if (pods > GROUP_MAX_PODS)
                group_problems_add(object->problems, object->a, GROUP_UNSUPPORTED, STR("spec.replicas"),
                                   "replicas and maxSurge of this size are %lld pods, and truce makes no more than %d",
                                   (long long)pods, GROUP_MAX_PODS);
}

/* Percentages that round to 0 are not refused: whoever scales down by /scale would run into them unseen. */
static void check_budgets(const struct group_spec *s, const struct fields *object) {
        const struct value *u = value_path(object->map, "spec", "rolloutStrategy", "rollingUpdateConfiguration",
                                           "maxUnavailable", NULL);

        if (s->replicas && !s->max_unavailable.number && !s->max_surge.number)
                invalid(object, PATH_MAX_UNAVAILABLE, u, "must not be 0 when `maxSurge` is 0");
}

/* --- subgroups --- */

static const char *subgroup_fault(const struct group_template *t) {
        int32_t size = t->size, n = t->subgroup_size;

        if (n > size)
                return "subGroupSize cannot be larger than size";
        if (size % n && (size - 1) % n)
                return "size or size - 1 must be divisible by subGroupSize";
        if (t->subgroups == GROUP_SUBGROUPS_LEADER_EXCLUDED && (size - 1) % n)
                return "size-1 must be divisible by subGroupSize when using LeaderExcluded";
        return NULL;
}

static void check_subgroups(const struct group_spec *s, const struct fields *object) {
        const char *fault = s->now.subgroup_size ? subgroup_fault(&s->now) : NULL;

        if (fault)
                invalid(object, PATH_SUBGROUP_SIZE, value_int(object->a, s->now.subgroup_size, 0), fault);
        if (s->subgroup_exclusive_topology.n && !s->now.subgroup_size)
                invalid(object, STR("metadata.annotations[" GROUP_ANNOTATION_SUBGROUP_EXCLUSIVE "]"),
                        value_string(object->a, s->subgroup_exclusive_topology, 0),
                        "cannot have subgroup-exclusive-topology without subGroupSize set");
}

void group_spec_check(const struct group_spec *s, const struct fields *object) {
        check_name(s, object);
        check_pods(s, object);
        check_budgets(s, object);
        check_subgroups(s, object);
}

/* --- what may not change --- */

static const char *subgroup_change(int32_t before, int32_t now) {
        if (before == now)
                return NULL;
        if (!before)
                return "cannot enable subGroupSize after the lws is already created";
        return now ? "field is immutable" : "cannot remove subGroupSize after enabled";
}

void group_spec_check_update(const struct group_spec *s, const struct group_template *before, struct arena *a,
                             struct group_problems *problems) {
        struct fields object = { .a = a, .problems = problems };
        int32_t now = s->now.subgroup_size;
        const char *fault = subgroup_change(before->subgroup_size, now);

        if (fault)
                invalid(&object, PATH_SUBGROUP_SIZE, now ? value_int(a, now, 0) : NULL, fault);
        if (s->no_subdomain && before->subdomain == GROUP_SUBDOMAIN_UNIQUE)
                invalid(&object, PATH_SUBDOMAIN, NULL, "cannot set subdomainPolicy as null");
}
