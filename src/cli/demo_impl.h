/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of `truce demo` share; private to cli/demo*.c.
 *
 * One loop carries the sandbox, its HTTP face, the agent and the story. The story is plain code that runs from the top:
 * where it waits, demo_wait() runs the loop. So hooks of the agent and events of the watch only write down what they
 * see (struct told, struct web); in the live part, after the story, they also print a line.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_CLI_DEMO_IMPL_H
#define TRUCE_CLI_DEMO_IMPL_H

#include "agent/agent.h"
#include "cli/demo_screen.h"
#include "cli/demo_shop.h"
#include "cli/sandbox_files.h"
#include "kube/kubeconfig.h"


struct demo_flags {
        struct str kubeconfig, context, ns;
        bool cluster; /* work on the cluster that kubectl would use */
        bool exit;
        int64_t pause_ms;
};

/* What the agent said since demo_forget(). Texts live in the arena. */
struct told {
        struct arena *arena;
        size_t created;
        size_t definition_at, custom_at; /* which creation these were, from 1; 0: none yet */
        int64_t observed_ms;             /* loop time; 0: not yet */
        bool is_healed;
        int64_t heal_ms;
        char in_force[GIT_OID_HEX_BYTES + 1];
        size_t objects;
        bool is_rejected;
        int64_t rejected_ms;
        struct str rejection; /* "web.yaml:17: …" */
        int64_t failed_ms;
        struct str failure, failure_place, configured;
        struct str trouble; /* what failed last, of any object or of the whole */
};
/* deploy/web as the watch showed it last. */
struct web {
        struct arena *arena;
        const struct value *object; /* NULL: it is not there */
        int64_t replicas, generation;
        struct str image;
};

/* A change of its replicas of which nobody knows yet whether it stays. */
struct scaling {
        struct loop_timer *timer;
        int64_t from, to;
        uint64_t writes;
        char who[128];
};

struct demo {
        struct demo_flags flags;
        struct arena *arena;
        struct screen *screen;
        struct shop *shop;
        struct loop *loop;
        struct loop_signal *term, *interrupt;
        unsigned interrupts;
        struct str agent_ns, web_id;

        /* the cluster: the sandbox, or a real one */
        struct sandbox *sandbox;
        struct sandbox_http *http;
        struct sandbox_user users[2];
        struct kube_config *kube;
        struct str kubeconfig, where;
        struct kube_transport *transport, *agent_transport;
        struct kube_client *client;
        bool namespaces_are_ours;

        struct kube_watch *watch;
        struct web web;
        struct config *config;
        struct agent *agent;
        struct told told;
        bool live;
        struct scaling scaling;
};

/* --- demo_cluster.c --- */

/* Starts the sandbox or connects. Flags, shop and loop must be there. */
int demo_open_cluster(struct demo *d, struct err *err);
/* Removes what the story made on a real cluster. */
int demo_clean_cluster(struct demo *d, struct err *err);
void demo_close_cluster(struct demo *d);
/* One change as `manager`, or one look; they run the loop until the answer is there. */
int demo_patch(struct demo *d, const struct kube_location *at, enum kube_patch kind, const char *body,
               const char *manager, struct err *err);
int demo_get(struct demo *d, const struct kube_location *at, struct arena *a, const struct value **ret_object,
             struct err *err);
struct kube_location demo_web_location(const struct demo *d, const char *subresource);
struct kube_location demo_core_location(const char *plural, struct str namespace, struct str name);
/* Writes of objects that the agent, which must run, has sent so far; not of its own records. */
uint64_t demo_writes(const struct demo *d);

/* --- demo_agent.c --- */

int demo_start_agent(struct demo *d, struct err *err);
void demo_stop_agent(struct demo *d);
void demo_forget(struct demo *d);

/* --- demo_web.c --- */

void demo_watch_web(struct demo *d);
void demo_unwatch_web(struct demo *d);
/* The manager that owns spec.replicas, as managedFields say; the newest of several, truce only when it is alone. */
void demo_replicas_owner(const struct value *object, struct buf *out);

/* --- demo_owners.c --- */

int demo_print_owners(struct demo *d, struct err *err);

/* --- demo_live.c: one line each, once the story is over --- */

void demo_live_outcome(struct demo *d, const struct outcome *o);
void demo_live_revision(struct demo *d, const struct agent_revision *r, const struct desired_set *set, bool rejected);
void demo_live_web(struct demo *d, const struct web *before);

/* --- demo_story.c --- */

/* TIMEOUT or INTERNAL with the step that did not come true, CANCELLED when it was interrupted. */
int demo_story(struct demo *d, struct err *err);

/*
 * Runs the loop until is_true() says so. TIMEOUT after `ms`, CANCELLED at once when somebody pressed Ctrl-C. `what`
 * completes "waiting for …".
 */
int demo_wait(struct demo *d, int64_t ms, bool (*is_true)(const struct demo *d), const char *what, struct err *err);
/* Lets time pass; CANCELLED as above. */
int demo_rest(struct demo *d, int64_t ms, struct err *err);

#endif
