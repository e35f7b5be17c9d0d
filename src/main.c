/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program. What must be set before anything else, threads above all, is set here.
 */
#include <malloc.h>
#include <sys/resource.h>

#include "cli/cli.h"

/*
 * Memory: one heap for all threads and large blocks given back at once. A thread's own heap would keep what one render
 * needed for good.
 */
static void set_up_memory(void) {
        mallopt(M_ARENA_MAX, 1);
        mallopt(M_MMAP_THRESHOLD, 64 * 1024);
        mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

int main(int argc, char **argv) {
        const struct rlimit none = { 0, 0 };

        setrlimit(RLIMIT_CORE, &none); /* a core dump would hold credentials */
        set_up_memory();
        return cli_main(argc, argv);
}
