/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rule judges an object, and what it says.
 *
 * Lookup, first that fits: a user's exact rule; a user's glob, of several the one whose pattern "group/Kind" begins
 * with more literal bytes, of equals the one added first; a bundled exact rule, a bundled glob in the same way; a rule
 * in C; and for kinds that nobody knows the standard conditions as kstatus reads them (sigs.k8s.io/cli-utils, README of
 * pkg/kstatus): Stalled=True is Degraded, Reconciling=True Progressing, Ready=True Healthy, any other Ready
 * Progressing; without any of them there is no health.
 *
 * A glob is matched against "group/Kind", or "Kind" in the core group, as Argo CD does it: the pattern "*" (group "",
 * kind "*") fits everything, "*.example.com" with "*" the groups below example.com.
 *
 * The freshness guard goes before the rule. In this order it answers Progressing:
 *  - deletionTimestamp is set (Argo CD's hook finalizer excepted); after HEALTH_FINALIZERS_MS the message names the
 *    finalizers, for a Namespace at once what its conditions say is left;
 *  - status.observedGeneration (an integer, or text that is one) is below metadata.generation; not asked of Flux's
 *    kinds, whose controllers move it when they succeed, nor of LLMInferenceServices, whose nobody moves, and
 *    VirtualMachines, whose is that of their last start;
 *  - the kind always publishes it (a table) and has no status at all;
 *  - KServe's InferenceService, whose observedGeneration is copied from a child: Ready=True is believed when a
 *    condition moved since the last write, else 30 s after it (kserve#6081).
 *
 * Which condition decides only the rule knows, so it sees those of an old generation (their own observedGeneration is
 * below metadata.generation) with status "Unknown", reason "NotObserved" and a message that says so: in
 * status.conditions, and in each of status.parents, .listeners and .ancestors (Gateway API).
 *
 * Of an object whose controller is told to rest (spec.suspend or spec.paused true, the annotations of Cluster API and
 * Strimzi) only a Healthy from an old status is not believed: such controllers do not observe new generations. Nor does
 * the one of HorizontalPodAutoscalers while something is wrong.
 *
 * A script that ran out of time is in quarantine: its rule answers Unknown, without running it, until its
 * text, or its libraries, change (health_rules_inherit() takes the quarantine along).
 *
 * Life cycle: _new, _add for each rule of a user, _inherit, then judge; reference counted. Bundled scripts are compiled
 * when first needed.
 * Thread rule: once in use, readable from any thread; what changes inside is atomic.
 */
#ifndef TRUCE_HEALTH_RULES_H
#define TRUCE_HEALTH_RULES_H

#include "health/health.h"
#include "lua/script.h"

/* How long a deletion may take before its finalizers are named. */
#define HEALTH_FINALIZERS_MS INT64_C(120000)
/* A user's rules. */
#define HEALTH_MAX_RULES 10000

struct health_rules;

/* One rule of a user. group and kind are globs (base/glob.h); text and name are copied. */
struct health_source {
        struct str group, kind;
        struct lua_source lua;
        bool open_libs;   /* Argo CD's useOpenLibs */
        struct str place; /* the rule's name for people; empty: the script's, with its line. Copied */
};

struct health_rules *health_rules_new(void);
/* Before first use. INVAL with the place: the script does not compile, or a glob is broken; LIMIT. */
int health_rules_add(struct health_rules *r, const struct health_source *source, struct err *err);
/* Takes over from the rules before: quarantines of scripts whose text and libraries are the same, and what was compiled of bundled
 * ones. */
void health_rules_inherit(struct health_rules *r, const struct health_rules *old);
struct health_rules *health_rules_ref(struct health_rules *r);
void health_rules_unref(struct health_rules *r);
DEFINE_CLEANUP(struct health_rules *, health_rules_unref)

struct health_question {
        const struct value *object;    /* live; managedFields are read when they are there */
        int64_t now_ms;                /* Unix time */
        bool guard;                    /* the agent always asks it; a test of a rule does not, unless it says so */
        struct lua_coverage *coverage; /* of the rule's script; NULL: none */
        void (*print)(void *ctx, struct str line); /* what the script prints; NULL: dropped */
        void *print_ctx;
        /* What the object does not say itself; both may be left out. */
        int64_t applied_ms;                /* Unix time of our last write to it; 0: none known */
        const struct value *storage_class; /* of a PersistentVolumeClaim; NULL: not known */
};
/*
 * The name of the StorageClass that the rule of a live object would like to see: of a PersistentVolumeClaim that is Pending
 * and that neither a pod nor a volume is chosen for, as far as it tells. Empty: none. Borrowed from the object.
 */
struct str health_storage_class(const struct value *object);
/* Never fails: a rule that does is Unknown, with its error as the message. */
void health_judge(struct health_rules *r, const struct health_question *q, struct arena *a, struct health *ret);

/* Which rule judges a kind, for people. */
struct health_rule_view {
        const char *name; /* as struct health has it */
        struct str text;  /* Lua; empty: in C */
        bool bundled, user;
};
/* False: no rule, the standard conditions decide. What it returns lives as long as the rules. */
bool health_rules_find(const struct health_rules *r, struct str group, struct str kind, struct health_rule_view *ret);

/* The bundled rules, in bytewise order of their folders; false after the last one. All live for ever. */
bool health_bundled_at(size_t i, struct str *ret_group, struct str *ret_kind, struct str *ret_text);

#endif
