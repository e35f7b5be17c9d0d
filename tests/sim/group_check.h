/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold of LeaderWorkerSets that truce runs, looked at in every commit, whoever made it. It keeps its own books,
 * by uid, of what the sandbox stored: nothing that the agent thinks counts.
 *
 *  - Of a group one life at a time: a member is made when nothing of another life is left.
 *  - Only what the set controls at that moment is deleted or changed by the reconciler.
 *  - No member is deleted without a cause: its revision is not the wanted one, its index is above the replicas, or
 *    something happened to its life. Below the partition only the latter two count.
 *  - A group that is ready goes only as long as replicas − maxUnavailable others are, unless something happened to the
 *    set a minute before.
 *  - Never more groups live than replicas + maxSurge.
 *  - A gate comes off when all members are there.
 *  - The reconciler writes nothing of a LeaderWorkerSet but its status, and counts no more restarts than there were
 *    causes.
 *
 * What somebody asked for in the last minute counts as asked for, as the agent may not have seen yet that it is over.
 */
#ifndef TRUCE_SIM_GROUP_CHECK_H
#define TRUCE_SIM_GROUP_CHECK_H

#include "world.h"

struct group_check;

struct group_check *group_check_new(struct world *w);
void group_check_free(struct group_check *g);
/* `late`: the agent gave up on that request before. True: it was the reconciler's write, which nothing else judges. */
bool group_check_commit(struct group_check *g, const struct sandbox_commit *c, bool late);
/* Has every set become what is asked for? If not, *ret_why says what is missing, borrowed until the next call. */
bool group_check_settled(struct group_check *g, const char **ret_why);
/* Commits that were judged. */
uint64_t group_check_count(const struct group_check *g);

#endif
