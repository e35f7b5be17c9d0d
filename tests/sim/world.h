/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of one scenario with one seed: loop, sandbox, network, repository, agent, and the story that is played.
 *
 * The agent dies and is born only between turns of the loop (world_restart() is asked for, and done by the driver), as a
 * process does; all else happens inside callbacks.
 */
#ifndef TRUCE_SIM_WORLD_H
#define TRUCE_SIM_WORLD_H

#include "agent/agent.h"
#include "repo.h"
#include "sandbox/sandbox.h"
#include "scenario.h"
#include "trace.h"
#include "wire.h"

#define SIM_USER "truce"
#define SIM_NAMESPACE "truce"
#define SIM_INSTALLATION "sim"

/* Where an agent dies, or a sweep's steps are taken. */
enum moment { MOMENT_NEVER, MOMENT_BEFORE_WRITE, MOMENT_AFTER_COMMIT, MOMENT_LATE_WRITE, MOMENT_BEFORE_REQUEST };

struct run_spec {
        const struct scenario *scenario;
        uint64_t seed;
        enum moment moment;
        uint64_t moment_at; /* the n-th one, from 1 */
        bool chaos;         /* a little of every fault; checks in between are left out */
        FILE *live;         /* trace as it comes */
        bool log;           /* the agent's log to standard error */
};

struct run_result {
        bool failed;
        uint64_t hash;
        int64_t virtual_ms;
        uint64_t events, requests, writes, commits;
        uint64_t busy_requests; /* those before everything was quiet */
        uint64_t group_writes;  /* of the group reconciler, each judged */
        bool struck;            /* the moment of the spec came */
};

struct check;

struct world {
        const struct run_spec *spec;
        const struct value *doc;
        struct arena *arena; /* of the run */
        struct loop *loop;
        struct sandbox *sandbox;
        struct wire *wire;
        struct repo *repo;  /* https://git.example/shop.git */
        struct repo *infra; /* https://git.example/infra.git */
        struct config *config;
        const struct value *next_agent; /* Agent settings from the next restart on; NULL: as they are */
        struct agent *agent;
        struct jq_engine *jq;
        struct check *check;
        struct trace trace;
        char *failure;      /* the first one */
        struct buf told;    /* what the agent said of objects and troubles, a line each */
        struct map *heads;  /* ref, "infra/" before those of that repository → name of the commit that was pushed there last */
        struct map *marks;  /* names of steps that were taken → anything */
        struct map *met;    /* objects that somebody wrote, for expect.c → anything */

        /* story */
        size_t next_step;
        int64_t waited_ms; /* the next step is due then, now that what it waited for is there; 0: it is not */
        int64_t jitter_ms;
        int64_t step_ms;      /* when the last step was taken */
        uint64_t settled, settled_at_step;
        const struct value **hooked; /* steps that wait for a request; NULL: taken */
        size_t hooked_count;
        uint64_t *hook_seen;         /* requests that matched so far */
        struct sandbox_fault *fault; /* of the request that is being sent, for the step `fault` */
        bool *late;
        int64_t last_change_ms;

        /* what the driver does between turns */
        bool restart_due;
        int64_t down_ms, birth_ms;

        int64_t read_ms; /* when an inventory was asked for last */

        /* counters of requests and commits of the agent */
        uint64_t requests, watches, writes, commits;
        uint64_t all_requests, all_writes, all_commits; /* not set back by the step `count` */
        uint64_t busy_requests;
        bool struck;
        int log_fd;
};

/* Plays it. What failed is printed with trace and command. */
void world_run(const struct run_spec *spec, struct run_result *ret_result);

/* --- for steps, checks and expectations --- */

/* Ends the run; only the first one counts. */
void world_fail(struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Something happened that the agent may have to react to. */
void world_changed(struct world *w);
/* The agent dies at the end of this turn, and another is born `down_ms` later. */
/* From its next start on the agent has these settings. Borrowed. */
void world_reconfigure(struct world *w, const struct value *agent);
void world_restart(struct world *w, int64_t down_ms);
/* Neither faults of the runner's own nor a death: all that the scenario says must come about. */
bool world_is_plain(const struct world *w);
/* Virtual ms since the run began. */
int64_t world_now_ms(const struct world *w);

#endif
