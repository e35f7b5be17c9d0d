/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would differ from one run of a seed to the next is taken over at link time (ld --wrap): the process's hash key,
 * which orders maps; random bytes, which become the installation's key; and CLOCK_BOOTTIME, which Git's deadlines use.
 * All three follow from the seed and the virtual clock. Call twins_begin() while no struct map exists.
 */
#ifndef TRUCE_SIM_TWINS_H
#define TRUCE_SIM_TWINS_H

#include "base/loop.h"

void twins_begin(const struct loop *l, uint64_t seed);
void twins_end(void);
/* Random bytes are random from now on: a scenario that shows that two runs of a seed are compared. */
void twins_unseed(void);

#endif
