/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata, the fields beside the template, and then what must fit together. */
#include "group/spec.h"

#include "group/names.h"
#include "group/spec_impl.h"

static const char *const startups[] = { "LeaderCreated", "LeaderReady" };

static struct str copied(const struct fields *in, const char *key) {
        return arena_str(in->a, fields_text(in, key));
}

static const struct value *copied_map(const struct fields *in) {
        return in->map ? value_dup(in->a, in->map) : NULL;
}

static struct str topology(const struct group_spec *s, const char *annotation) {
        return value_text(value_getc(s->annotations, annotation));
}

/* Upstream takes it for said when it is there; who writes "false" means it. */
static bool restarts_after_start(const struct value *annotations) {
        const struct value *v = value_getc(annotations, GROUP_ANNOTATION_AFTER_START);

        return v && !str_eqc(value_text(v), "false");
}

static void read_metadata(const struct fields *object, struct group_spec *s) {
        struct fields meta = fields_required(object, "metadata"), labels = fields_of(&meta, "labels"),
                      annotations = fields_of(&meta, "annotations");
        const struct value *generation = fields_get_kind(&meta, "generation", VALUE_INT);

        s->ns = copied(&meta, "namespace");
        s->name = arena_str(object->a, fields_required_text(&meta, "name"));
        s->uid = copied(&meta, "uid");
        s->resource_version = copied(&meta, "resourceVersion");
        s->generation = generation ? generation->i64 : 0;
        s->deleting = fields_get(&meta, "deletionTimestamp") != NULL;
        s->labels = copied_map(&labels);
        s->annotations = copied_map(&annotations);
        s->exclusive_topology = topology(s, GROUP_ANNOTATION_EXCLUSIVE);
        s->subgroup_exclusive_topology = topology(s, GROUP_ANNOTATION_SUBGROUP_EXCLUSIVE);
        s->restart_after_start_annotation = restarts_after_start(s->annotations);
        s->options = group_options_read(&annotations);
}

/* --- rolloutStrategy --- */

/* "25%"; what is longer than a share can be is above it. */
static bool read_percent(struct str text, int32_t *ret_percent) {
        int64_t n = 0;

        if (text.n < 2 || text.p[text.n - 1] != '%')
                return false;
        for (size_t i = 0; i < text.n - 1; i++) {
                if (text.p[i] < '0' || text.p[i] > '9')
                        return false;
                n = n > 100 ? n : 10 * n + (text.p[i] - '0');
        }
        *ret_percent = (int32_t)n;
        return true;
}

static void read_share(const struct fields *in, const char *key, struct group_budget *budget) {
        struct str text = value_text(fields_get(in, key));
        int32_t percent = 0;

        if (!read_percent(text, &percent))
                fields_invalid(in, key,
                               "a valid percent string must be a numeric string followed by an ending '%%' (e.g. '1%%',"
                               "  or '93%%', regex used for validation is '[0-9]+%%')");
        else if (percent > 100)
                fields_invalid(in, key, "must not be greater than 100%%");
        else
                *budget = (struct group_budget){ .percent = true, .number = percent };
}

static struct group_budget read_budget(const struct fields *in, const char *key, int32_t otherwise) {
        static const struct fields_range range = { 0, INT32_MAX, "must be greater than or equal to 0",
                                                   "must be less than or equal to 2147483647" };
        const struct value *v = fields_get(in, key);
        struct group_budget budget = { .number = otherwise };

        if (value_is(v, VALUE_STRING))
                read_share(in, key, &budget);
        else if (v && v->kind != VALUE_INT && v->kind != VALUE_UINT)
                fields_bad_type(in, key, "integer,string");
        else
                budget.number = fields_number(in, key, otherwise, &range);
        return budget;
}

static void read_rollout(const struct fields *spec, struct group_spec *s) {
        static const char *const known[] = { "rollingUpdateConfiguration", "type", NULL };
        static const char *const known_rolling[] = { "maxSurge", "maxUnavailable", "partition", NULL };
        static const char *const types[] = { "RollingUpdate" };
        static const struct fields_range partitions = { 0, INT32_MAX, "must be greater than or equal to 0",
                                                        "must be less than or equal to 2147483647" };
        struct fields strategy = fields_of(spec, "rolloutStrategy"),
                      rolling = fields_of(&strategy, "rollingUpdateConfiguration");

        fields_word(&strategy, "type", types, ARRAY_LEN(types), 0);
        s->partition = fields_number(&rolling, "partition", 0, &partitions);
        s->max_unavailable = read_budget(&rolling, "maxUnavailable", 1);
        s->max_surge = read_budget(&rolling, "maxSurge", 0);
        fields_check_known(&rolling, known_rolling);
        fields_check_known(&strategy, known);
}

static void read_spec(const struct fields *object, struct group_spec *s) {
        static const char *const known[] = { "leaderWorkerTemplate", "networkConfig", "replicas",
                                             "rolloutStrategy",      "startupPolicy", NULL };
        static const struct fields_range replicas = { 0, GROUP_MAX_REPLICAS, "replicas must be equal or greater than 0",
                                                      "replicas must be equal or less than 1000000" };
        struct fields spec = fields_required(object, "spec");
        struct fields network = { .map = value_getc(spec.map, "networkConfig") };

        s->replicas = fields_number(&spec, "replicas", 1, &replicas);
        s->startup = fields_word(&spec, "startupPolicy", startups, ARRAY_LEN(startups), GROUP_STARTUP_LEADER_CREATED);
        read_rollout(&spec, s);
        group_template_read(spec.map, object->a, &s->now, object->problems);
        s->no_subdomain = !fields_get(&network, "subdomainPolicy");
        fields_check_known(&spec, known);
}

int group_spec_read(const struct value *object, struct arena *a, struct group_spec *ret_spec,
                    struct group_problems *ret_problems) {
        struct group_problems problems = { 0 };
        struct fields top = { .map = value_is(object, VALUE_MAP) ? object : &value_empty_map,
                              .a = a,
                              .problems = &problems };
        struct group_spec s = { 0 };

        read_metadata(&top, &s);
        read_spec(&top, &s);
        group_spec_check(&s, &top);
        *ret_spec = s;
        *ret_problems = problems;
        return problems.count ? ERR_INVAL : 0;
}
