/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/align.h"

#include "base/buf.h"

/* The part between common beginning and end. */
struct middle {
        size_t from, n, m;
        align_equal equal;
        const void *ctx;
};

/*
 * The classical table: cell (i, j) is the length of the longest common subsequence of what begins at i and at j.
 * Walking it from the start takes the earliest match, so equal inputs give equal results.
 */
static void align_middle(const struct middle *mid, size_t *to) {
        size_t width = mid->m + 1;
        uint32_t *cells = mem_zalloc((mid->n + 1) * width * sizeof *cells);

        for (size_t i = mid->n; i-- > 0;) {
                for (size_t j = mid->m; j-- > 0;) {
                        uint32_t down = cells[(i + 1) * width + j], right = cells[i * width + j + 1];
                        bool same = mid->equal(mid->ctx, mid->from + i, mid->from + j);

                        cells[i * width + j] = same ? cells[(i + 1) * width + j + 1] + 1 : down > right ? down : right;
                }
        }
        for (size_t i = 0, j = 0; i < mid->n && j < mid->m;) {
                if (mid->equal(mid->ctx, mid->from + i, mid->from + j)) {
                        to[mid->from + i++] = mid->from + j++;
                        continue;
                }
                if (cells[(i + 1) * width + j] >= cells[i * width + j + 1])
                        i++;
                else
                        j++;
        }
        free(cells);
}

const size_t *align(size_t n, size_t m, align_equal equal, const void *ctx, struct arena *a) {
        size_t *to = arena_alloc(a, n * sizeof *to), from = 0;

        for (size_t i = 0; i < n; i++)
                to[i] = ALIGN_NONE;
        for (; from < n && from < m && equal(ctx, from, from); from++)
                to[from] = from;
        while (n > from && m > from && equal(ctx, n - 1, m - 1)) {
                n--;
                m--;
                to[n] = m;
        }
        struct middle mid = { .from = from, .n = n - from, .m = m - from, .equal = equal, .ctx = ctx };
        if (mid.n && mid.m && mid.n <= ALIGN_MAX_CELLS / mid.m)
                align_middle(&mid, to);
        return to;
}
