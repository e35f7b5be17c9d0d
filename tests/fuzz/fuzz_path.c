/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path as people write it. Any bytes are read or refused; what is read can be spelled and is the same when read again,
 * covers itself, and is found nowhere in an object that lacks it.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "own/path_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct arena *a = arena_new(0);
        struct field_path p, again;
        struct path_list found = { 0 };
        struct err err = { 0 };
        int r = field_path_read((struct str){ (const char *)data, n }, a, &p, &err);

        HOLDS(r == 0 || r == ERR_INVAL || r == ERR_LIMIT);
        if (r == 0) {
                struct buf text = buf_make(64 * KIB);

                HOLDS(p.count > 0 && field_pattern_fit(p, p) == PATTERN_COVERS);
                field_path_spell(p, &text);
                r = field_path_read(buf_str(&text), a, &again, &err);
                /* Spelling may be longer than what is read. */
                HOLDS(text.n > FIELD_PATH_MAX_BYTES ? r == ERR_LIMIT : r == 0 && field_path_equal(p, again));
                field_pattern_find(p, &value_null, NULL, a, &found);
                field_pattern_find_in(p, fieldset_insert(a, &fieldset_empty, p), a, &found);
                HOLDS(found.count == 1 && field_path_equal(found.paths[0], p));
                buf_done(&text);
        }
        arena_free(a);
        return 0;
}
