/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim FILE… [--seed N | --seeds A..B] [--crash] [--sweep] [--chaos] [--repeat] [--trace] [--log]
 *          [--moment KIND:N] [--share I/N]
 *
 *   --seeds     each scenario with each of these seeds (0: the story by the clock of its file)
 *   --crash     counts the writes of each scenario, then lets the agent die just before, just after, and while each one
 *               is on its way
 *   --sweep     takes the scenario's `sweep` steps before each request of the agent in turn
 *   --chaos     a little of every fault in all of it; checks in between are left out
 *   --repeat    runs everything twice and compares the hashes of the traces
 *   --trace     events on standard output as they come; --log: the agent's own log on standard error
 *   --moment    one run of --crash or --sweep: before:3, after:3, late:3, sweep:12
 *   --share     only each N-th run, from the I-th: parts of a whole run at the same time
 *
 * The last line of output ends with a hash of all that happened in all runs: another process gives the same one.
 *
 * Exit status: 0, 1 when a run failed, 2 for bad arguments or files, or when there was nothing to run.
 */
#include <time.h>

#include "base/option.h"
#include "config_of.h"
#include "world.h"

struct settings {
        struct str seed, seeds, moment, share;
        bool crash, sweep, chaos, repeat, trace, log;
};

static const struct option_def options[] = {
        { .name = "seed", .type = OPTION_TEXT, .at = offsetof(struct settings, seed), .help = "one seed" },
        { .name = "seeds", .type = OPTION_TEXT, .at = offsetof(struct settings, seeds), .help = "A..B" },
        { .name = "moment", .type = OPTION_TEXT, .at = offsetof(struct settings, moment), .help = "before:N and so on" },
        { .name = "share", .type = OPTION_TEXT, .at = offsetof(struct settings, share), .help = "I/N" },
        { .name = "crash", .type = OPTION_BOOL, .at = offsetof(struct settings, crash), .help = "die at each write" },
        { .name = "sweep", .type = OPTION_BOOL, .at = offsetof(struct settings, sweep), .help = "strike at each request" },
        { .name = "chaos", .type = OPTION_BOOL, .at = offsetof(struct settings, chaos), .help = "some of every fault" },
        { .name = "repeat", .type = OPTION_BOOL, .at = offsetof(struct settings, repeat), .help = "run all twice" },
        { .name = "trace", .type = OPTION_BOOL, .at = offsetof(struct settings, trace), .help = "print events" },
        { .name = "log", .type = OPTION_BOOL, .at = offsetof(struct settings, log), .help = "print the agent's log" },
};

/* The arguments, understood. */
struct orders {
        uint64_t first, last; /* seeds */
        enum moment moment;
        uint64_t moment_at;
        uint64_t share, shares; /* share < shares */
};

struct totals {
        const struct settings *settings;
        const struct orders *orders;
        uint64_t turn;
        uint64_t runs, failures, events, requests, group_writes;
        uint64_t hash;
        double virtual_hours;
};

static bool is_our_turn(struct totals *t) {
        return t->turn++ % t->orders->shares == t->orders->share;
}

static void run(struct totals *t, struct run_spec *spec, struct run_result *ret_result) {
        struct run_result again;

        spec->live = t->settings->trace ? stdout : NULL;
        spec->log = t->settings->log;
        world_run(spec, ret_result);
        t->runs++;
        t->failures += ret_result->failed;
        t->events += ret_result->events;
        t->requests += ret_result->requests;
        t->group_writes += ret_result->group_writes;
        t->virtual_hours += (double)ret_result->virtual_ms / 3600e3;
        t->hash = t->hash * 31 + ret_result->hash;
        if (spec->moment != MOMENT_NEVER && !ret_result->struck && !ret_result->failed) {
                t->failures++;
                fprintf(stderr, "FAILED %s, seed %llu: the moment %llu never came\n", spec->scenario->name,
                        (unsigned long long)spec->seed, (unsigned long long)spec->moment_at);
        }
        if (!t->settings->repeat || ret_result->failed)
                return;
        world_run(spec, &again);
        if (again.hash == ret_result->hash && again.events == ret_result->events)
                return;
        t->failures++;
        fprintf(stderr, "FAILED %s, seed %llu: a second run of the same seed went another way\n", spec->scenario->name,
                (unsigned long long)spec->seed);
}

/* Each of 1 … count in turn. */
static void run_moments(struct totals *t, struct run_spec spec, enum moment moment, uint64_t count) {
        struct run_result result;

        spec.moment = moment;
        for (spec.moment_at = 1; spec.moment_at <= count; spec.moment_at++) {
                if (is_our_turn(t))
                        run(t, &spec, &result);
        }
}

static void run_all_moments(struct totals *t, const struct run_spec *spec) {
        struct run_result count;

        world_run(spec, &count);
        if (count.failed) {
                t->failures++;
                return;
        }
        if (t->settings->crash) {
                run_moments(t, *spec, MOMENT_BEFORE_WRITE, count.writes);
                run_moments(t, *spec, MOMENT_AFTER_COMMIT, count.commits);
                run_moments(t, *spec, MOMENT_LATE_WRITE, count.writes);
        }
        if (t->settings->sweep && value_getc(spec->scenario->doc, "sweep"))
                run_moments(t, *spec, MOMENT_BEFORE_REQUEST, count.busy_requests);
}

static int play_file(struct totals *t, const char *file) {
        _cleanup_(scenario_freep) struct scenario *scenario = NULL;
        _cleanup_(config_freep) struct config *config = NULL;
        const struct settings *s = t->settings;
        const struct orders *o = t->orders;
        struct run_result result;
        struct err err = { 0 };

        if (scenario_load(file, &scenario, &err) < 0) {
                fprintf(stderr, "sim: %s\n", err.msg);
                return 2;
        }
        config = config_of(scenario->doc, NULL, &err);
        if (!config) {
                fprintf(stderr, "sim: %s: %s\n", file, err.msg);
                return 2;
        }
        for (uint64_t seed = o->first; seed <= o->last; seed++) {
                struct run_spec spec = { .scenario = scenario, .seed = seed, .chaos = s->chaos, .moment = o->moment,
                                         .moment_at = o->moment_at };

                if (s->crash || s->sweep)
                        run_all_moments(t, &spec);
                else if (is_our_turn(t))
                        run(t, &spec, &result);
        }
        return 0;
}

/* ---- arguments ---- */

static bool read_moment(struct str text, struct orders *o) {
        static const char *const names[] = { "", "before", "after", "late", "sweep" };
        struct str name;

        if (!str_next(&text, ':', &name) || !str_to_u64(text, &o->moment_at) || o->moment_at == 0)
                return false;
        for (size_t i = 1; i < ARRAY_LEN(names); i++) {
                if (str_eqc(name, names[i]))
                        o->moment = (enum moment)i;
        }
        return o->moment != MOMENT_NEVER;
}

static bool read_pair(struct str text, const char *between, uint64_t *ret_a, uint64_t *ret_b) {
        const char *at = memmem(text.p, text.n, between, strlen(between));

        if (!at)
                return false;
        size_t n = (size_t)(at - text.p);
        return str_to_u64(str_sub(text, 0, n), ret_a) && str_to_u64(str_sub(text, n + strlen(between), text.n), ret_b);
}

/* What is wrong with them; NULL: nothing. */
static const char *read_orders(const struct settings *s, struct orders *o) {
        *o = (struct orders){ .share = 1, .shares = 1 };
        if (s->seed.n && s->seeds.n)
                return "--seed and --seeds do not go together";
        if (s->seed.n && !str_to_u64(s->seed, &o->first))
                return "--seed takes a number";
        o->last = o->first;
        if (s->seeds.n && (!read_pair(s->seeds, "..", &o->first, &o->last) || o->first > o->last))
                return "--seeds takes A..B, the smaller one first";
        if (s->share.n && (!read_pair(s->share, "/", &o->share, &o->shares) || o->share == 0 || o->share > o->shares))
                return "--share takes I/N with I from 1 to N";
        o->share--;
        if (s->moment.n && !read_moment(s->moment, o))
                return "--moment takes before, after, late or sweep with a number from 1: before:3";
        if (s->moment.n && (s->crash || s->sweep))
                return "--moment is one run of --crash or --sweep, not all";
        return NULL;
}

static double seconds(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int tell_totals(const struct totals *t, double took) {
        printf("%llu runs, %llu failed; %llu events, %llu requests, %llu writes of groups; %.1f virtual hours in %.1f s: %.0f an s, %.1f runs an s; "
               "all %016llx\n",
               (unsigned long long)t->runs, (unsigned long long)t->failures, (unsigned long long)t->events,
               (unsigned long long)t->requests,
               (unsigned long long)t->group_writes, t->virtual_hours, took, t->virtual_hours / took, (double)t->runs / took,
               (unsigned long long)t->hash);
        if (t->failures)
                return 1;
        if (t->runs)
                return 0;
        fprintf(stderr, "sim: there was nothing to run\n");
        return 2;
}

static int play_files(const struct settings *s, const struct orders *o, const struct str *files, size_t count) {
        struct totals t = { .settings = s, .orders = o };
        double began = seconds();

        for (size_t i = 0; i < count; i++) {
                if (play_file(&t, files[i].p))
                        return 2;
        }
        return tell_totals(&t, seconds() - began);
}

int main(int argc, char **argv) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct settings settings;
        struct option_group group = { "Options", options, ARRAY_LEN(options), &settings };
        const struct str *files;
        struct orders orders;
        struct err err = { 0 };
        size_t count;

        setvbuf(stdout, NULL, _IOLBF, 0);
        options_default(&group, 1, a);
        if (options_parse(&group, 1, argc - 1, argv + 1, a, &files, &count, &err) < 0) {
                fprintf(stderr, "sim: %s\n", err.msg);
                return 2;
        }
        const char *wrong = count ? read_orders(&settings, &orders) : "which scenario?";
        if (wrong) {
                fprintf(stderr, "sim: %s\n"
                                "usage: sim FILE… [--seed N | --seeds A..B] [--crash] [--sweep] [--chaos] [--repeat] [--trace]\n"
                                "           [--log] [--moment KIND:N] [--share I/N]\n",
                        wrong);
                return 2;
        }
        return play_files(&settings, &orders, files, count);
}
