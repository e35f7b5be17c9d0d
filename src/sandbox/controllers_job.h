/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Job during one look: controllers_job.c counts and decides, controllers_job_pods.c makes, frees and deletes its
 * Pods.
 *
 * A Pod carries the finalizer batch.kubernetes.io/job-tracking until its end is counted in the Job's status, so that no
 * end is lost or counted twice.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_CONTROLLERS_JOB_H
#define TRUCE_SANDBOX_CONTROLLERS_JOB_H

#include "sandbox/controllers_impl.h"

#define JOB_FINALIZER   "batch.kubernetes.io/job-tracking"
#define JOB_INDEX       "batch.kubernetes.io/job-completion-index"
#define JOB_MAX_INDEXES 10000

struct job {
        struct look *l;
        struct version *v;
        const struct value *spec, *conditions;
        struct version **pods; /* all of them */
        size_t pod_count;
        struct version **active; /* neither ended nor leaving; oldest first */
        size_t active_count;
        int64_t ready, terminating;
        int64_t succeeded, failed;                        /* counted before this look */
        size_t new_succeeded, new_failed;                 /* ends that are not counted yet */
        const struct value *succeeded_uids, *failed_uids; /* lists of those, or NULL */
        int64_t last_failure_ms;
        int64_t completions; /* 0: any success is enough */
        bool *done;          /* Indexed: which indexes succeeded; NULL otherwise */
};

void job_gather(struct job *j);
bool job_has_finalizer(const struct value *pod);
/* Takes the finalizer from Pods whose end is counted. */
bool job_free_ended(struct job *j);
/* Deletes active Pods beyond `keep`; `uncounted`: their end is no failure. */
bool job_delete_active(struct job *j, size_t keep, bool uncounted);
bool job_make_pods(struct job *j, size_t n);
/* "0-2,5", or NULL when the Job is not Indexed. */
const struct value *job_indexes(const struct job *j);
/* A Pod that is kept by the finalizer of a Job that is gone. */
bool job_free_orphan(struct look *l, struct version *pod);

#endif
