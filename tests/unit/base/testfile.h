/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files and folders for tests that run over data. Every failure ends the test. */
#ifndef TRUCE_TESTS_BASE_TESTFILE_H
#define TRUCE_TESTS_BASE_TESTFILE_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/buf.h"

#define TESTFILE_MAX_BYTES (64 * 1024 * 1024)

/* The file's bytes; `path` is relative to the repository's root. buf_done() it. */
static inline struct buf testfile_read(const char *path) {
        struct buf out = buf_make(TESTFILE_MAX_BYTES), full = buf_make(4096);
        char part[65536];
        size_t n;

        buf_addf(&full, "%s/%s", TRUCE_SOURCE_DIR, path);
        FILE *f = fopen(full.p, "rb");
        if (!f)
                fail_msg("cannot open %s", full.p);
        while ((n = fread(part, 1, sizeof part, f)) > 0)
                buf_add(&out, (struct str){ part, n });
        fclose(f);
        buf_done(&full);
        return out;
}

#endif
