/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of health*.c: the verb `truce health`. */
#ifndef TRUCE_CLI_HEALTH_IMPL_H
#define TRUCE_CLI_HEALTH_IMPL_H

#include "cli/health_view.h"
#include "cli/operand.h"
#include "cli/session.h"
#include "health/rules.h"
#include "kube/discovery.h"

enum health_output { HEALTH_TABLE, HEALTH_JSON, HEALTH_YAML };

struct health_flags {
        int output;
        struct option_list files;
        bool watch, guard;
};

struct health_verb {
        struct session session;
        struct health_flags flags;
        struct arena *arena;
        struct operand operand;
        struct kube_client *client;
        struct kube_discovery *discovery;
        const struct kube_resource *resource;
        struct kube_location at;
        const struct value *object;
        struct str class_name;  /* of the StorageClass that was asked for; empty: none was */
        const struct value *class; /* NULL: it is not known */
        struct kube_op *class_op;
        struct err err;
        bool bad;               /* worse than Suspended was printed, or printed last */
};

/* Unix time, in ms. */
int64_t health_verb_now_ms(void);
/*
 * The StorageClass that the object's rule would like to see is asked for, each once: done(ctx) when the answer is there. False:
 * there is nothing to ask for. Without the right to read it the object is judged without.
 */
bool health_verb_ask(struct health_verb *v, const struct value *object, void (*done)(void *ctx), void *ctx);
void health_verb_judge(const struct health_verb *v, const struct value *object, int64_t now_ms, struct arena *a,
                       struct health *ret);

/*
 * Prints each change of the object at v->at until SIGINT or SIGTERM comes: a line, in JSON an object a line, in YAML a
 * document. An object that is not there is Missing. Errors that will not pass end it.
 */
int health_watch(struct health_verb *v, struct err *err);

#endif
