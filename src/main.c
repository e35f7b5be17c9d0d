/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program. What must be set before anything else, threads above all, is set here.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

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

/*
 * Where a standard descriptor is closed, the next file that is opened would become it, and get what is printed. What takes
 * its place refuses to be read or written just as a closed one does.
 */
static void fill_standard_descriptors(void) {
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
                        (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
        const struct rlimit none = { 0, 0 };

        setrlimit(RLIMIT_CORE, &none); /* a core dump would hold credentials */
        fill_standard_descriptors();
        set_up_memory();
        return cli_main(argc, argv);
}
