/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A LeaderWorkerSet of any shape (JSON). Whatever it is, what is read of it is within its bounds, and each problem is a
 * line that can be shown. One without a problem has pods that can be named and counted; its payload, stored in a
 * ControllerRevision, is read back as the same revision, from which nothing forbids going on to itself.
 */
#include "fuzz.h"

#include "base/json.h"
#include "group/spec.h"

static void check_line(struct str s) {
        HOLDS(s.n > 0 && str_is_utf8(s));
        for (size_t i = 0; i < s.n; i++)
                HOLDS((unsigned char)s.p[i] >= ' ');
}

static void check_template(const struct group_template *t) {
        HOLDS(t->size >= 1 && t->subgroup_size >= 0);
        HOLDS((t->subgroup_size > 0) == (t->subgroups != GROUP_SUBGROUPS_NONE));
        HOLDS(value_is(t->leader, VALUE_MAP) && value_is(t->worker, VALUE_MAP) && value_is(t->payload, VALUE_MAP));
        HOLDS(!t->claims || value_count(t->claims) > 0);
        HOLDS(t->hash.n == GROUP_HASH_BYTES);
}

static void check_spec(const struct group_spec *s) {
        HOLDS(s->replicas >= 0 && s->replicas <= GROUP_MAX_REPLICAS && s->partition >= 0);
        HOLDS(s->max_unavailable.number >= 0 && (!s->max_unavailable.percent || s->max_unavailable.number <= 100));
        HOLDS(s->max_surge.number >= 0 && (!s->max_surge.percent || s->max_surge.number <= 100));
        HOLDS(s->options.gang_timeout_ms >= 0 && s->options.unreachable_ms >= 0 && s->options.stuck_ms >= 0);
        HOLDS(s->options.max_restarts >= -1);
        check_template(&s->now);
}

static void check_stored(const struct group_spec *s, struct arena *a) {
        struct group_problems problems = { 0 };
        struct group_template again;

        HOLDS(group_revision_read(value_with(a, NULL, STR("data"), s->now.payload), a, &again, NULL) == 0);
        HOLDS(group_template_equal(&s->now, &again) && str_eq(s->now.hash, again.hash));
        HOLDS(value_equal(s->now.leader, again.leader) && value_equal(s->now.claims, again.claims));
        group_spec_check_update(s, &again, a, &problems);
        HOLDS(!problems.count || s->no_subdomain);
}

static void check_fine(const struct group_spec *s) {
        int64_t groups = (int64_t)s->replicas + group_budget_up(s->max_surge, s->replicas);

        HOLDS(s->name.n > 0 && s->name.n < GROUP_MAX_NAME_BYTES);
        HOLDS(groups * s->now.size <= GROUP_MAX_PODS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct arena *a = arena_new(0);
        const struct value *object = NULL;
        struct group_problems problems;
        struct group_spec s, once_more;

        if (json_parse((struct str){ (const char *)data, n }, a, &object, NULL) == 0) {
                int r = group_spec_read(object, a, &s, &problems);

                HOLDS(r == (problems.count ? ERR_INVAL : 0));
                for (size_t i = 0; i < problems.count; i++) {
                        check_line(problems.items[i].path);
                        check_line(problems.items[i].text);
                }
                check_spec(&s);
                group_spec_read(object, a, &once_more, &problems);
                HOLDS(str_eq(s.now.hash, once_more.now.hash));
                if (r == 0) {
                        check_fine(&s);
                        check_stored(&s, a);
                }
        }
        arena_free(a);
        return 0;
}
