/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs that talk to a cluster share: flags and documents → configuration, a loop, a connection, an agent.
 *
 *   struct session s = { 0 };
 *   r = session_open(&s, "sync", argc, argv, &own_flags, &err);
 *   …
 *   session_close(&s);
 */
#ifndef TRUCE_CLI_SESSION_H
#define TRUCE_CLI_SESSION_H

#include "agent/agent.h"
#include "agent/config_cluster.h"
#include "kube/kubeconfig.h"

struct session {
        const char *verb;
        struct arena *arena;
        struct option_list config_paths;
        struct hash128 stamp;   /* of the documents, from before they were read: config_stamp() */
        struct hash128 health_stamp; /* of the folder of health rules, in the same way */
        struct config_app_flags app_flags;
        struct config *config;
        struct kube_config *kube;
        struct loop *loop;
        struct kube_transport *transport;
        size_t operand_max;     /* set before: what the verb takes beside flags; -n is then the operand's namespace, too */
        const struct str *operands;
        size_t operand_count;
        bool apps_optional;     /* set before: no application need be configured */
        bool only_files;        /* set before: documents of the cluster are not waited for */
        const struct option_list *offline; /* set before: where it holds something after parsing, the same */
        bool takes_revision;    /* set before: --revision is for applications of documents as well */
        struct str revision;    /* what stands in for theirs; empty: nothing does */
        const struct str *own_revisions; /* then: theirs (of each the first source's), in the order of config->apps */
        int argc;               /* what it was configured from: session_reread() */
        char **argv;
        const struct option_group *own;
        struct config_snapshot *snapshot; /* of the cluster's documents; NULL: none count */
        bool documents_are_bad; /* nothing of the documents is used */
        bool is_settled;        /* flags and documents were read to their end; health_stamp counts */
        bool help;              /* --help was asked for and printed: end with CLI_OK */
};

/*
 * Reads flags and documents. `own` are the verb's flags (count 0: none). Problems of the documents are printed to stderr.
 * INVAL for usage and documents. With s->help set, nothing else is. Where the configuration names a namespace whose objects
 * are documents as well, it connects and waits for them; then errors of session_fetch(), too.
 */
int session_configure(struct session *s, const char *verb, int argc, char **argv, const struct option_group *own,
                      struct err *err);

/*
 * What the same arguments give now, with these documents of the cluster (NULL: none), on any thread: `ret` is for
 * session_close(), with problems in its config when there is one. INVAL for documents that cannot be used.
 */
int session_reread(const struct session *s, struct config_snapshot *snapshot, struct session *ret, struct err *err);

/* Then the connection: kubeconfig, loop, transport; nothing when there is one. `agent_name` goes into the User-Agent. */
int session_connect(struct session *s, struct err *err);

/*
 * Connects, and waits for the documents that the cluster has in the namespace that s->config names: s->snapshot. Errors of
 * session_connect(), and the first one with which the API server answers.
 */
int session_fetch(struct session *s, struct err *err);

/* Agent and what it made must have been freed. */
void session_close(struct session *s);

/* "truce: TEXT" on stderr, made fit for a terminal. */
void session_say(struct str text);
/* The same of an error; returns CLI_ERROR. */
int session_fail(const struct err *err);

#endif
