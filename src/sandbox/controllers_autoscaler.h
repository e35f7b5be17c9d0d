/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HorizontalPodAutoscalers in three parts: what Pods use (controllers_metrics.c), how fast a size may change
 * (controllers_pace.c), and the look at one autoscaler (controllers_autoscaler.c).
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_CONTROLLERS_AUTOSCALER_H
#define TRUCE_SANDBOX_CONTROLLERS_AUTOSCALER_H

#include "sandbox/controllers_impl.h"

/* What a size was recommended to be, and until when. */
struct recommendation {
        int64_t replicas, until_ms; /* INT64_MAX: still */
};

struct scale_event {
        int64_t change, at_ms;
};

/* What an autoscaler remembers between looks. */
struct scaler {
        struct recommendation *recommendations;
        size_t recommendation_count, recommendation_cap;
        struct scale_event *events;
        size_t event_count, event_cap;
};

struct autoscale {
        struct look *l;
        struct version *v;
        const struct value *spec, *status; /* the status as it will be written */
        struct scaler *memory;
        struct version *target;
        const struct value *scale;
        int64_t current, least, most;
        const char *why; /* of the size that was decided, as the Event says */
};

/* Sets a condition in a->status. */
void autoscale_condition(struct autoscale *s, const char *type, bool is_true, const char *reason,
                         const struct value *message);

/* One metric's proposal. */
struct proposal {
        int64_t replicas;            /* -1: cannot be said */
        const struct value *name;    /* "cpu resource utilization (percentage of request)" */
        const struct value *current; /* an item of currentMetrics */
        const char *reason;          /* why not */
        const struct value *why;
};
void autoscale_measure(struct autoscale *s, const struct value *metric, struct proposal *ret);

/* The size for a recommendation: stabilised, and within limits. Sets conditions and looks again when it may change. */
int64_t autoscale_pace(struct autoscale *s, int64_t desired);
void autoscale_note_event(struct autoscale *s, int64_t change);
/* The first recommendation is the size it found. */
void autoscale_begin(struct autoscale *s);

#endif
