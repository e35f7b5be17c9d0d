/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern and a text, parted by the first line break: matching ends, and what is refused matches nothing. */
#include "fuzz.h"

#include "base/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct str all = { (const char *)data, n }, pattern = { 0 };
        int r;

        str_next(&all, '\n', &pattern);
        r = glob_check(pattern, NULL);
        HOLDS(r == 0 || r == ERR_INVAL || r == ERR_LIMIT);
        HOLDS(!glob_match(pattern, all) || r == 0);
        if (r == 0 && str_eqc(pattern, "*"))
                HOLDS(glob_match(pattern, all));
        return 0;
}
