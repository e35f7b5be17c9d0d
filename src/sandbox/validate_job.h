/* SPDX-License-Identifier: Apache-2.0 */
/* Private to validate_job_*.c. */
#ifndef TRUCE_SANDBOX_VALIDATE_JOB_H
#define TRUCE_SANDBOX_VALIDATE_JOB_H

#include "sandbox/validate_impl.h"

/* What is wrong with a list of indexes such as "1,3-5", in the server's words; empty: nothing. */
struct str job_indexes_fault(struct str list, int64_t completions, struct arena *a, int64_t *ret_count);

/* When an Indexed Job is done before all of it is. */
void check_success_policy(struct check *c, const struct at *at, const struct value *spec);
/* As the server's Go struct prints. */
struct str success_policy_text(const struct value *policy, struct arena *a);

/* Which indexes of an Indexed Job a status says are done or failed. */
void check_job_indexes(struct check *c, const struct value *now, const struct value *before);

#endif
