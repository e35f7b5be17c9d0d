/* SPDX-License-Identifier: Apache-2.0 */
/* Reads every object in tests/cases/group/spec, whose README.md says what the keys are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "group/spec.h"
#include "spec_cases.h"

#define AT_LEAST 90

static void only_keys(const struct value *map, const char *known, struct str name) {
        for (size_t i = 0; i < value_count(map); i++) {
                struct str rest = str_from(known), word;
                bool found = false;

                while (str_next(&rest, ' ', &word))
                        found |= str_eq(word, map->map.members[i].key);
                if (!found)
                        fail_msg("%.*s: unknown key %.*s", STR_FMT(name), STR_FMT(map->map.members[i].key));
        }
}

/* --- problems --- */

static struct str problem_text(const struct group_problem *p, struct arena *a) {
        return arena_strf(a, "%s%.*s: %.*s", p->kind == GROUP_UNSUPPORTED ? "unsupported " : "", STR_FMT(p->path),
                          STR_FMT(p->text));
}

static void compare_problems(const struct value *want, const struct group_problems *got, struct str name,
                             struct arena *a) {
        for (size_t i = 0; i < got->count || i < value_count(want); i++) {
                struct str is = i < got->count ? problem_text(&got->items[i], a) : STR("nothing");
                struct str wanted = i < value_count(want) ? value_text(want->list.items[i]) : STR("nothing");

                if (!str_eq(is, wanted))
                        fail_msg("%.*s: got\n  %.*s\nnot\n  %.*s", STR_FMT(name), STR_FMT(is), STR_FMT(wanted));
        }
}

/* --- what was read --- */

static struct str budget_text(struct group_budget b, struct arena *a) {
        return arena_strf(a, "%d%s", b.number, b.percent ? "%" : "");
}

static struct str subgroups_text(const struct group_template *t, struct arena *a) {
        if (t->subgroups == GROUP_SUBGROUPS_NONE)
                return STR("none");
        return arena_strf(a, "%s %d", t->subgroups == GROUP_SUBGROUPS_LEADER_WORKER ? "LeaderWorker" : "LeaderExcluded",
                          t->subgroup_size);
}

static struct str options_text(const struct group_options *o, struct arena *a) {
        return arena_strf(a, "%s gang %lld unreachable %lld stuck %lld restarts %d%s%.*s",
                          o->victims_by_health ? "broken-first" : "highest-ordinal", (long long)o->gang_timeout_ms,
                          (long long)o->unreachable_ms, (long long)o->stuck_ms, o->max_restarts,
                          o->budget_reset.n ? " reset " : "", STR_FMT(o->budget_reset));
}

struct description {
        struct value_map_builder b;
        struct arena *a;
};

static void say(struct description *d, const char *key, struct str text) {
        value_map_add(&d->b, str_from(key), value_string(d->a, text, 0), 0);
}

static void count(struct description *d, const char *key, int64_t n) {
        value_map_add(&d->b, str_from(key), value_int(d->a, n, 0), 0);
}

static void flag(struct description *d, const char *key, bool on) {
        value_map_add(&d->b, str_from(key), value_bool(d->a, on, 0), 0);
}

static void describe_template(struct description *d, const struct group_template *t) {
        static const char *const restarts[] = { "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None" };
        const char *whens[] = { "Retain", "Delete" };

        say(d, "restart", str_from(restarts[t->restart]));
        say(d, "subdomain", t->subdomain == GROUP_SUBDOMAIN_UNIQUE ? STR("UniquePerReplica") : STR("Shared"));
        say(d, "subgroups", subgroups_text(t, d->a));
        say(d, "retention",
            arena_strf(d->a, "%s %s", whens[t->delete_claims_when_deleted], whens[t->delete_claims_when_scaled]));
        count(d, "size", t->size);
        count(d, "claims", (int64_t)value_count(t->claims));
        flag(d, "leader is worker", t->leader == t->worker);
}

static const struct value *describe(const struct group_spec *s, struct arena *a) {
        struct description d = { .a = a };

        say(&d, "object",
            arena_strf(a, "%.*s/%.*s %.*s %.*s %lld", STR_FMT(s->ns), STR_FMT(s->name), STR_FMT(s->uid),
                       STR_FMT(s->resource_version), (long long)s->generation));
        say(&d, "topology",
            arena_strf(a, "%.*s %.*s", STR_FMT(s->exclusive_topology), STR_FMT(s->subgroup_exclusive_topology)));
        say(&d, "startup", s->startup == GROUP_STARTUP_LEADER_READY ? STR("LeaderReady") : STR("LeaderCreated"));
        say(&d, "rollout",
            arena_strf(a, "partition %d unavailable %.*s surge %.*s", s->partition,
                       STR_FMT(budget_text(s->max_unavailable, a)), STR_FMT(budget_text(s->max_surge, a))));
        say(&d, "options", options_text(&s->options, a));
        count(&d, "replicas", s->replicas);
        flag(&d, "deleting", s->deleting);
        flag(&d, "after start", s->restart_after_start_annotation);
        value_map_add(&d.b, STR("labels"), s->labels ? s->labels : &value_null, 0);
        describe_template(&d, &s->now);
        return value_map_end(&d.b, a, 0);
}

static void compare(const struct value *want, const struct value *is, struct str name, struct arena *a) {
        for (size_t i = 0; i < value_count(want); i++) {
                const struct value_member *m = &want->map.members[i];
                const struct value *v = value_get(is, m->key);

                if (!v || !value_equal(v, m->value))
                        fail_msg("%.*s: %.*s is %.*s", STR_FMT(name), STR_FMT(m->key),
                                 STR_FMT(v ? value_canonical(a, v) : STR("no key")));
        }
}

static void read_case(const struct value *doc, struct arena *a) {
        const struct value *problems = value_getc(doc, "problems"), *before = value_getc(doc, "before");
        struct str name = value_text(value_getc(doc, "name"));
        struct group_problems got = { 0 }, ignored = { 0 };
        struct group_template stored;
        struct group_spec s;
        int r = group_spec_read(spec_case_object(doc, a), a, &s, &got);

        only_keys(doc, "name id metadata spec bare before problems want", name);
        assert_int_equal(r, got.count ? ERR_INVAL : 0);
        if (before) {
                assert_int_equal(group_template_read(spec_case_spec(before, false, a), a, &stored, &ignored), 0);
                group_spec_check_update(&s, &stored, a, &got);
        }
        compare_problems(problems, &got, name, a);
        compare(value_getc(doc, "want"), describe(&s, a), name, a);
        if (!problems && !value_getc(doc, "want"))
                fail_msg("%.*s: wants nothing", STR_FMT(name));
}

static void every_case_is_read(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct spec_cases cases = spec_cases_load(SPEC_CASES, a);

        (void)state;
        for (size_t i = 0; i < cases.count; i++)
                read_case(cases.items[i], a);
        print_message("%zu cases\n", cases.count);
        assert_true(cases.count >= AT_LEAST);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(every_case_is_read) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
