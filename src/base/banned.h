/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that have no bound or a hidden state: using one is a compile error. Included before every file by the build. */
#ifndef TRUCE_BASE_BANNED_H
#define TRUCE_BASE_BANNED_H

/* The system headers come first: once a name is poisoned, even its declaration would be an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <alloca.h>

#undef alloca
#pragma GCC poison strcpy strcat sprintf vsprintf strtok strncpy atoi atol gets alloca system popen

#endif
