/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of rolls: the YAML files in tests/cases/group/rollout, whose README.md says what they hold. */
#include "group/rollout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>

#include "arena_test.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "group/spec.h"
#include "group/status.h"
#include "group/conditions.h"
#include "rollout_sim.h"
#include "../../read_file.h"

#define CASES      TRUCE_SOURCE_DIR "/tests/cases/group/rollout"
#define AT_LEAST   50
#define PASSES_MAX 6 /* until nothing moves any more, without an event */

struct play {
        const char *file;
        struct str about;
        const struct value *doc;
        struct sim s;
        const struct value *status; /* the last one built */
        size_t step;
};

#define FAIL(p, fmt, ...) fail_msg("%s: %.*s: step %zu: " fmt, (p)->file, STR_FMT((p)->about), (p)->step, __VA_ARGS__)

/* --- reading ---------------------------------------------------------------------------------------------------- */

static void only_keys(const struct play *p, const struct value *map, const char *const *known, size_t count) {
        for (size_t i = 0; i < value_count(map); i++) {
                size_t k = 0;

                while (k < count && !str_eqc(map->map.members[i].key, known[k]))
                        k++;
                if (k == count)
                        FAIL(p, "unknown key %.*s", STR_FMT(map->map.members[i].key));
        }
}
#define ONLY_KEYS(p, map, ...)                                                                                         \
        only_keys(p, map, (const char *const[]){ __VA_ARGS__ },                                                        \
                  sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static int32_t number_of(const struct play *p, struct str text) {
        int64_t n;

        if (!str_to_i64(text, &n) || n < INT32_MIN || n > INT32_MAX)
                FAIL(p, "%.*s is no number", STR_FMT(text));
        return (int32_t)n;
}

static struct str text_of(const struct value *v) {
        int64_t n;

        return value_to_i64(v, &n) ? arena_strf(a, "%lld", (long long)n) : value_text(v);
}

static struct group_budget budget_of(const struct play *p, struct str text) {
        bool percent = str_ends(text, STR("%"));

        return (struct group_budget){ percent, number_of(p, percent ? str_sub(text, 0, text.n - 1) : text) };
}

static void read_setting(const struct play *p, const char *key, int32_t *number) {
        const struct value *v = value_getc(p->doc, key);

        if (v)
                *number = number_of(p, text_of(v));
}

static void read_budget(const struct play *p, const char *key, struct group_budget *b) {
        const struct value *v = value_getc(p->doc, key);

        if (v)
                *b = budget_of(p, text_of(v));
}

/* Groups that run when the case begins have been made by a pass: it recorded them. */
static void read_start(struct play *p) {
        struct sim *s = &p->s;
        struct str groups = text_of(value_getc(p->doc, "groups"));

        s->in = (struct group_rollout_in){
                .max_unavailable = { false, 1 }, .now_partition = -1, .now_groups = -1, .recorded_replicas = -1
        };
        s->wanted = 'A';
        read_setting(p, "replicas", &s->in.replicas);
        read_setting(p, "partition", &s->in.partition);
        read_budget(p, "maxUnavailable", &s->in.max_unavailable);
        read_budget(p, "maxSurge", &s->in.max_surge);
        s->by_hand = value_truth(value_getc(p->doc, "byHand"), false);
        if (!groups.n)
                return;
        sim_read_groups(s, groups.p);
        s->before = s->wanted;
        s->in.now_partition = s->in.partition;
        s->in.now_groups = s->in.recorded_replicas = s->in.replicas;
        read_setting(p, "recordedPartition", &s->in.now_partition);
        read_setting(p, "recordedGroups", &s->in.now_groups);
        if (value_getc(p->doc, "template"))
                s->wanted = s->before = text_of(value_getc(p->doc, "template")).p[0];
}

/* --- events ----------------------------------------------------------------------------------------------------- */

static void forget(struct play *p) {
        p->s.in.now_partition = p->s.in.now_groups = p->s.in.recorded_replicas = -1;
        p->s.in.rolling = false;
}

static void do_to_group(struct play *p, struct str verb, int32_t i) {
        struct sim *s = &p->s;

        if (i < 0 || i >= SIM_MAX)
                FAIL(p, "group %d", (int)i);
        if (str_eqc(verb, "make"))
                sim_make(s, i);
        else if (!s->groups[i].exists)
                FAIL(p, "group %d does not exist", (int)i);
        else if (str_eqc(verb, "ready"))
                s->groups[i].ready = true;
        else if (str_eqc(verb, "unready"))
                s->groups[i].ready = false;
        else if (str_eqc(verb, "lose"))
                s->groups[i].exists = s->groups[i].ready = false;
        else if (str_eqc(verb, "replace"))
                sim_replace(s, i);
        else
                FAIL(p, "unknown event %.*s", STR_FMT(verb));
}

static void do_event(struct play *p, struct str event) {
        struct str rest = str_trim(event), verb, word;
        struct sim *s = &p->s;

        if (!str_next(&rest, ' ', &verb))
                return;
        if (str_eqc(verb, "template"))
                s->wanted = rest.p[0];
        else if (str_eqc(verb, "scale"))
                s->in.replicas = number_of(p, rest);
        else if (str_eqc(verb, "partition"))
                s->in.partition = number_of(p, rest);
        else if (str_eqc(verb, "maxUnavailable"))
                s->in.max_unavailable = budget_of(p, rest);
        else if (str_eqc(verb, "maxSurge"))
                s->in.max_surge = budget_of(p, rest);
        else if (str_eqc(verb, "forget"))
                forget(p);
        else if (str_eqc(verb, "record-partition"))
                s->in.now_partition = number_of(p, rest);
        else
                while (str_next(&rest, ' ', &word))
                        do_to_group(p, verb, number_of(p, word));
}

/* --- judging ---------------------------------------------------------------------------------------------------- */

static struct str state_of(const struct sim *s) {
        char groups[2 * SIM_MAX + 1];

        sim_text(s, groups);
        return arena_strf(a, "p%d/%d%s%s", (int)s->last.partition, (int)s->last.groups, *groups ? " " : "", groups);
}

/* All states that groups and numbers go through, without repeats, until nothing moves. */
static const struct value *settle(struct play *p) {
        struct value_list_builder states = { 0 };
        struct str state = STR(""), old;
        int passes = 0;

        do {
                old = state;
                sim_ask(&p->s);
                sim_carry_out(&p->s);
                state = state_of(&p->s);
                if (!str_eq(state, old))
                        value_list_add(&states, value_string(a, state, 0));
                if (++passes > PASSES_MAX)
                        FAIL(p, "no end: %.*s", STR_FMT(state));
        } while (!str_eq(state, old));
        return value_list_end(&states, a, 0);
}

static const char *phase_of(const struct value *status) {
        static const char *const order[] = { "UpdateInProgress", "Available", "Progressing" };

        for (size_t i = 0; i < ARRAY_LEN(order); i++)
                if (conditions_on(value_getc(status, "conditions"), str_from(order[i])))
                        return order[i];
        return "nothing";
}

static void build_status(struct play *p) {
        struct group_spec spec = { .name = STR("demo"), .replicas = p->s.in.replicas, .generation = 1 };
        struct group_status_in in = { .s = &spec, .before = p->status, .now_ms = 1000 };

        sim_look(&p->s);
        in.count = group_count_of(p->s.view, p->s.in.count, p->s.in.replicas, p->s.in.partition);
        in.update_in_progress = in.count.behind > 0;
        p->status = group_status_build(&in, a);
}

/* "4/1 UpdateInProgress": ready and updated groups, and the condition that says what goes on. */
static void expect_status(struct play *p, const struct value *want) {
        struct str have;

        build_status(p);
        have = arena_strf(a, "%.*s/%.*s %s", STR_FMT(text_of(value_getc(p->status, "readyReplicas"))),
                          STR_FMT(text_of(value_getc(p->status, "updatedReplicas"))), phase_of(p->status));
        if (want && !str_eq(have, value_text(want)))
                FAIL(p, "status %.*s, not %.*s", STR_FMT(have), STR_FMT(value_text(want)));
}

/* One text is the last state, a list is all of them. */
static void expect_states(const struct play *p, const struct value *want, const struct value *have) {
        const struct value *last = have->list.items[have->list.count - 1];

        if (value_is(want, VALUE_LIST) ? !value_equal(want, have) : want && !value_equal(want, last))
                FAIL(p, "\n  have %.*s\n  want %.*s", STR_FMT(value_canonical(a, have)),
                     STR_FMT(value_canonical(a, want)));
}

static void run_step(struct play *p, const struct value *step) {
        struct str rest = value_text(value_getc(step, "do")), event;
        const struct value *clamped = value_getc(step, "clamped");

        ONLY_KEYS(p, step, "do", "want", "status", "clamped");
        while (str_next(&rest, ';', &event))
                do_event(p, event);
        expect_states(p, value_getc(step, "want"), settle(p));
        expect_status(p, value_getc(step, "status"));
        if (p->s.last.clamped != value_truth(clamped, false))
                FAIL(p, "clamped: %d", p->s.last.clamped);
}

static void run_case(const char *file, const struct value *doc) {
        struct play p = { .file = file, .doc = doc, .about = value_text(value_getc(doc, "about")) };
        const struct value *steps = value_getc(doc, "steps");

        ONLY_KEYS(&p, doc, "about", "id", "replicas", "partition", "maxUnavailable", "maxSurge", "groups", "byHand",
                  "recordedPartition", "recordedGroups", "template", "steps");
        assert_true(p.about.n > 0 && value_count(steps) > 0);
        read_start(&p);
        for (p.step = 1; p.step <= value_count(steps); p.step++)
                run_step(&p, steps->list.items[p.step - 1]);
}

/* --- running ---------------------------------------------------------------------------------------------------- */

static size_t run_file(const char *name) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        const struct yaml_document *docs;
        struct err err = { 0 };
        size_t count, ran = 0;

        assert_true(read_file(arena_strf(a, CASES "/%s", name).p, &text));
        if (yaml_parse(buf_str(&text), a, &docs, &count, &err) < 0)
                fail_msg("%s: %s", name, err.msg);
        for (size_t i = 0; i < count; i++)
                if (docs[i].value) {
                        run_case(name, docs[i].value);
                        ran++;
                }
        return ran;
}

static void every_trace_goes_as_it_says(void **state) {
        struct dirent **entries;
        int count = scandir(CASES, &entries, NULL, alphasort);
        size_t ran = 0;

        (void)state;
        assert_true(count > 0);
        for (int i = 0; i < count; i++) {
                if (str_ends(str_from(entries[i]->d_name), STR(".yaml")))
                        ran += run_file(entries[i]->d_name);
                free(entries[i]);
        }
        free(entries);
        print_message("%zu traces\n", ran);
        assert_true(ran >= AT_LEAST);
}

/* All groups there and updated, `unready` of the replicas are not ready. */
static int32_t groups_wanted(int32_t replicas, int32_t surge, int32_t unavailable, int32_t unready) {
        struct group_rollout_group groups[8] = { 0 };
        struct group_rollout_in in = { .replicas = replicas,
                                       .max_surge = { false, surge },
                                       .max_unavailable = { false, unavailable },
                                       .rolling = true,
                                       .now_partition = 1,
                                       .now_groups = replicas + surge,
                                       .recorded_replicas = replicas,
                                       .groups = groups,
                                       .count = (size_t)replicas + (size_t)surge };

        for (size_t i = 0; i < in.count; i++)
                groups[i] = (struct group_rollout_group){ true, (int32_t)i >= unready, true };
        return group_rollout_step(&in).groups;
}

static void the_surge_goes_as_far_as_what_is_unready_allows(void **state) {
        (void)state;
        assert_int_equal(groups_wanted(1, 1, 0, 1), 2);
        assert_int_equal(groups_wanted(1, 1, 0, 0), 1);
        assert_int_equal(groups_wanted(4, 2, 1, 2), 5);
        assert_int_equal(groups_wanted(2, 2, 1, 2), 3);
        assert_int_equal(groups_wanted(1, 1, 1, 1), 1);
        assert_int_equal(groups_wanted(3, 0, 0, 1), 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_surge_goes_as_far_as_what_is_unready_allows),
                cmocka_unit_test_setup_teardown(every_trace_goes_as_it_says, setup, teardown),
        };

        return cmocka_run_group_tests_name("traces of rolls", tests, NULL, NULL);
}
