/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sync` and `diff` share: an agent that looks at Git once and ends when every application is settled (and, as
 * `wait` says, observed, or healthy), or when something makes that impossible. An application whose repository or
 * inventory cannot be read has ended, too, and holds up no other.
 *
 * Who waits for health goes on looking at Git: a newer commit is synced, and then it is that one that is waited for.
 * Healthy is what Argo CD's `app wait` takes for it: Suspended is not, unless the object is marked so. What is Degraded
 * for good ends the wait.
 */
#ifndef TRUCE_CLI_ONESHOT_H
#define TRUCE_CLI_ONESHOT_H

#include "cli/session.h"

enum oneshot_wait {
        ONESHOT_SETTLED, /* everything was done once that can be */
        ONESHOT_APPLIED, /* everything is applied and seen back, or never will be */
        ONESHOT_HEALTHY, /* and is healthy, or never will be */
};

struct oneshot {
        struct session session;
        struct agent *agent;
        struct agent_hooks hooks;    /* the verb's; `trouble` is told what ended an application */
        void *ctx;
        enum decide_mode mode;
        bool watch_only;             /* objects are not decided on; for app_explain() */
        bool foretell;               /* outcomes come with what an adoption would be */
        enum oneshot_wait wait;
        int64_t timeout_ms;          /* 0: none */
        struct loop_timer *timer;
        bool *ended;                 /* of each application: nothing more is to be expected of it */
        struct err *lacking;         /* of each: its repository lacks --revision, it seems; code 0: not so */
        size_t rejected;             /* those that ended without a commit in force, or an inventory */
        bool over;                   /* all has ended */
        bool synced;                 /* all was synced then: what changes afterwards is no matter of this run */
        bool healthy;                /* all was Healthy then */
        bool timed_out;
        struct err err;              /* why it could not be done; code 0 otherwise */
};

/*
 * Connects and starts; on success call loop via oneshot_run(). Of an application of several sources --revision stands in for
 * the targetRevision of those whose repository has it; is there none, the application is told on stderr as left out.
 * NOTFOUND when that leaves none.
 */
int oneshot_open(struct oneshot *o, struct err *err);
/* Runs until the end; o->err, o->timed_out and o->rejected say how it ended. */
void oneshot_run(struct oneshot *o);
/*
 * After it: what --revision made of the applications of documents. Those whose repository does not have it are told on
 * stderr as left out; one whose repository cannot be read at all is told to the hook `trouble`. NOTFOUND when none has it.
 */
int oneshot_check_revision(struct oneshot *o, struct err *err);
void oneshot_close(struct oneshot *o);

#endif
