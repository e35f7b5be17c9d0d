/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health: the words, what is said of one object, and what marks of people's change about it.
 *
 * The words are Argo CD's. Their order is that of aggregation, best first; NONE is "this kind has no health" and harms
 * nothing. Who says it: a person's Lua, a bundled one, a rule in C (health/rules.h). What it adds up to is
 * health/total.h, what is shown of it over time health/settle.h. docs/health-rules.md has the rules in C as a table.
 *
 * Thread rule: the whole layer is pure; the caller says what time it is.
 */
#ifndef TRUCE_HEALTH_HEALTH_H
#define TRUCE_HEALTH_HEALTH_H

#include "base/value.h"

/* Longer messages are cut with "…". */
#define HEALTH_MAX_MESSAGE_BYTES 2048

/*
 * Annotations, read in Git's form of an object or in the live one. The first is Argo CD's, with its meaning.
 * STRICT_CRONJOB: the value "strict" makes a CronJob whose last run failed Degraded.
 */
#define HEALTH_IGNORE_ANNOTATION    "argocd.argoproj.io/ignore-healthcheck"
#define HEALTH_SUSPENDED_ANNOTATION "truce.dev/suspended-is-healthy"
#define HEALTH_CRONJOB_ANNOTATION   "truce.dev/cronjob-health"

enum health_code {
        HEALTH_NONE,
        HEALTH_HEALTHY,
        HEALTH_SUSPENDED,
        HEALTH_PROGRESSING,
        HEALTH_MISSING,
        HEALTH_DEGRADED,
        HEALTH_UNKNOWN,
};

/* "Healthy" …; "" for NONE. */
const char *health_name(enum health_code code);
/* Case-sensitive, as Argo CD; false for other words and for "". */
bool health_from_name(struct str name, enum health_code *ret_code);

/* `rule` is "apps/Deployment, built in", "health/keda.sh/ScaledObject", or a person's "argocd-cm.yaml:14". */
struct health {
        enum health_code code;
        struct str message;    /* in the arena; UTF-8 of which line feeds and tabs are the only control characters */
        const char *rule;      /* who says so, see below; lives as long as the rules */
        bool guard;            /* the freshness guard says so; what the rule says is not believed */
        bool terminal;         /* a Degraded that does not go away by itself: shown at once (health/settle.h) */
        int64_t again_ms;      /* look again at this Unix time, as a deadline passes; 0: only when the object changes */
        enum err_code failure; /* the rule failed (code is UNKNOWN): INVAL, TIMEOUT, LIMIT; OK: it did not */
        uint64_t work_ns;      /* of its script, as struct lua_call has it; 0: it has none, or it was not run */
};

/* What people's annotations say about an object in its application. */
struct health_marks {
        bool ignored;              /* not counted */
        bool suspended_is_healthy; /* Suspended counts as Healthy */
};
struct health_marks health_marks_of(const struct value *object);

/*
 * Does the status tell which generation it is about, so that the freshness guard can see that it is old? False for
 * kinds that publish none, or one that means nothing (KServe's InferenceService copies a child's).
 */
bool health_publishes_generation(const struct value *object);

#endif
