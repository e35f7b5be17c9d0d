/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data cases of the objects that are made for a LeaderWorkerSet: the YAML files in tests/cases/group/build, whose
 * README.md says what they hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>

#include "group/build.h"
#include "group/spec.h"
#include "yaml_case.h"

#define CASES    TRUCE_SOURCE_DIR "/tests/cases/group/build"
#define AT_LEAST 25

struct playing {
        struct arena *a;
        const char *name;
        struct group_spec spec;
};

static int32_t number(const struct value *map, const char *key, int32_t otherwise) {
        int64_t n = otherwise;

        value_to_i64(value_getc(map, key), &n);
        return (int32_t)n;
}

static void read_set(struct playing *p, const struct value *set) {
        const struct value *metadata = value_getc(set, "metadata");
        struct group_problems problems = { 0 };

        metadata = value_with(p->a, metadata, STR("name"), value_stringc(p->a, "demo"));
        metadata = value_with(p->a, metadata, STR("namespace"), value_stringc(p->a, "serving"));
        metadata = value_with(p->a, metadata, STR("uid"), value_stringc(p->a, "u1"));
        set = value_with(p->a, set, STR("metadata"), metadata);
        set = value_with(p->a, set, STR("apiVersion"), value_stringc(p->a, "leaderworkerset.x-k8s.io/v1"));
        set = value_with(p->a, set, STR("kind"), value_stringc(p->a, "LeaderWorkerSet"));
        if (group_spec_read(set, p->a, &p->spec, &problems) < 0)
                fail_msg("%s: %.*s: %.*s", p->name, STR_FMT(problems.items[0].path), STR_FMT(problems.items[0].text));
        p->spec.now.hash = STR("0123456789");
}

static struct group_place read_place(const struct playing *p, const struct value *place) {
        const struct value *incarnation = value_getc(place, "incarnation");

        ONLY_KEYS(p, place, "group", "worker", "incarnation", "topology", "subgroup-topology", "gated", "template");
        return (struct group_place){
                .group = number(place, "group", 0),
                .worker = number(place, "worker", 0),
                .incarnation = incarnation ? value_text(incarnation) : STR("1a2b3c4d"),
                .topology_value = value_text(value_getc(place, "topology")),
                .subgroup_topology_value = value_text(value_getc(place, "subgroup-topology")),
                .gated = value_truth(value_getc(place, "gated"), false),
        };
}

static const struct value *build(const struct playing *p, const struct value *row) {
        const struct value *pod = value_getc(row, "pod"), *claim = value_getc(row, "claim");
        const struct group_template *t = &p->spec.now;
        struct group_place at = read_place(p, pod ? pod : claim);

        if (pod)
                return group_build_pod(&p->spec, t, &at, p->a);
        if (claim) {
                size_t i = (size_t)number(claim, "template", 0);

                assert_true(i < value_count(t->claims));
                return group_build_claim(&p->spec, t, t->claims->list.items[i], &at, p->a);
        }
        return group_build_service(&p->spec, number(row, "service", -1), p->a);
}

/* Is all of `wanted` in `got`? Maps may have more members; null stands for a member that is absent. */
static bool holds(const struct value *got, const struct value *wanted) {
        if (!value_is(wanted, VALUE_MAP))
                return value_is(wanted, VALUE_NULL) ? !got : value_equal(got, wanted);
        if (!value_is(got, VALUE_MAP))
                return false;
        for (size_t i = 0; i < wanted->map.count; i++)
                if (!holds(value_get(got, wanted->map.members[i].key), wanted->map.members[i].value))
                        return false;
        return true;
}

static void play_row(const struct playing *p, const struct value *row) {
        const struct value *got = build(p, row), *is = value_getc(row, "is"), *has = value_getc(row, "has");
        struct buf text = buf_make(MIB);

        ONLY_KEYS(p, row, "pod", "claim", "service", "is", "has");
        assert_true(is || has);
        if ((is && !value_equal(got, is)) || (has && !holds(got, has))) {
                value_print_pretty(got, 2, &text);
                print_error("%s\n", text.p);
                fail_msg("%s:%u: that was made", p->name, row->line);
        }
        buf_done(&text);
}

static void play(const char *name) {
        struct playing p = { .a = arena_new(0), .name = name };
        const struct value *doc = read_yaml(p.a, arena_strf(p.a, CASES "/%s", name).p), *rows = value_getc(doc, "made");

        ONLY_KEYS(&p, doc, "set", "made");
        read_set(&p, value_getc(doc, "set"));
        assert_true(value_count(rows) > 0);
        for (size_t i = 0; i < value_count(rows); i++)
                play_row(&p, rows->list.items[i]);
        arena_free(p.a);
}

static void objects_are_made_as_the_cases_say(void **state) {
        DIR *dir = opendir(CASES);
        size_t count = 0;

        (void)state;
        assert_non_null(dir);
        for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
                if (!str_ends(str_from(e->d_name), STR(".yaml")))
                        continue;
                play(e->d_name);
                count++;
        }
        closedir(dir);
        assert_true(count >= AT_LEAST);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(objects_are_made_as_the_cases_say),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
