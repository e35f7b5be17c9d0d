/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over every file of the folders named on the command line. */
#include <dirent.h>

#include "../read_file.h"
#include "fuzz.h"

#define FILE_MAX_BYTES (16 * 1024 * 1024)

/* The exact size on the heap, so that a sanitizer sees a read behind the end. */
static void run(const struct buf *content) {
        uint8_t *data = mem_alloc(content->n);

        memcpy(data, content->p, content->n);
        LLVMFuzzerTestOneInput(data, content->n);
        free(data);
}

/* Returns how many files there were, or -1. */
static int run_folder(const char *folder) {
        DIR *dir = opendir(folder);
        struct dirent *entry;
        int count = 0;

        if (!dir)
                return -1;
        while ((entry = readdir(dir))) {
                _cleanup_(buf_done) struct buf path = buf_make(4096), content = buf_make(FILE_MAX_BYTES);

                if (entry->d_name[0] == '.')
                        continue;
                buf_addf(&path, "%s/%s", folder, entry->d_name);
                /* Should it abort, the last name printed is the one. */
                fprintf(stderr, "%s\n", path.p);
                if (!read_file(path.p, &content))
                        exit(EXIT_FAILURE);
                run(&content);
                count++;
        }
        closedir(dir);
        return count;
}

int main(int argc, char **argv) {
        for (int i = 1; i < argc; i++) {
                int count = run_folder(argv[i]);

                if (count <= 0) {
                        fprintf(stderr, "%s: no corpus\n", argv[i]);
                        return EXIT_FAILURE;
                }
                printf("%s: %d inputs\n", argv[i], count);
        }
        return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
