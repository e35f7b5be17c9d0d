/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean …?" */
#include "base/option.h"

#define NEAREST_MAX_BYTES 64

static char lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t min3(size_t a, size_t b, size_t c) {
        size_t m = a < b ? a : b;

        return m < c ? m : c;
}

/* Optimal string alignment distance; both words are at most NEAREST_MAX_BYTES long. */
static size_t distance(struct str a, struct str b) {
        size_t d[3][NEAREST_MAX_BYTES + 1];

        for (size_t j = 0; j <= b.n; j++)
                d[0][j] = j;
        for (size_t i = 1; i <= a.n; i++) {
                size_t *row = d[i % 3], *above = d[(i + 2) % 3], *above2 = d[(i + 1) % 3];

                row[0] = i;
                for (size_t j = 1; j <= b.n; j++) {
                        bool same = lower(a.p[i - 1]) == lower(b.p[j - 1]);

                        row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same);
                        if (i > 1 && j > 1 && lower(a.p[i - 1]) == lower(b.p[j - 2]) &&
                            lower(a.p[i - 2]) == lower(b.p[j - 1]) && above2[j - 2] + 1 < row[j])
                                row[j] = above2[j - 2] + 1;
                }
        }
        return d[a.n % 3][b.n];
}

const char *option_nearest(struct str word, const char *const *candidates, size_t count) {
        size_t best = word.n / 3 < 3 ? word.n / 3 : 3;
        const char *nearest = NULL;

        if (word.n > NEAREST_MAX_BYTES)
                return NULL;
        for (size_t i = 0; i < count; i++) {
                struct str c = str_from(candidates[i]);
                size_t apart = c.n > word.n ? c.n - word.n : word.n - c.n; /* no distance is less */
                size_t d = c.n <= NEAREST_MAX_BYTES && apart <= best ? distance(word, c) : SIZE_MAX;

                if (d < best || (d == best && !nearest)) {
                        best = d;
                        nearest = candidates[i];
                }
        }
        return nearest;
}
