/* SPDX-License-Identifier: Apache-2.0 */
/* For the programs of the tests that are given files to read. */
#ifndef TRUCE_TESTS_READ_FILE_H
#define TRUCE_TESTS_READ_FILE_H

#include <stdio.h>

#include "base/buf.h"

/* Appends the content. False: it cannot be opened, or has more bytes than `out` may hold. */
static inline bool read_file(const char *path, struct buf *out) {
        char part[65536];
        size_t n;
        FILE *f = fopen(path, "rb");

        if (!f)
                return false;
        while ((n = fread(part, 1, sizeof part, f)) > 0)
                buf_add(out, (struct str){ part, n });
        fclose(f);
        return !out->overflow;
}

#endif
