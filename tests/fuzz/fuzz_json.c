/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: JSON is accepted or refused, never with a bug of ours; what is accepted survives printing. */
#include "fuzz.h"

#include "base/json.h"

static const struct value *parse(struct str text, struct arena *a) {
        const struct value *v = NULL;
        struct err err = { 0 };
        int r = json_parse(text, a, &v, &err);

        HOLDS(r == 0 || r == ERR_PARSE || r == ERR_LIMIT);
        HOLDS(r == err.code && (r == 0) == (v != NULL));
        return v;
}

static void check_print(const struct value *v, struct arena *a) {
        struct str canonical = value_canonical(a, v);
        const struct value *again = parse(canonical, a);
        struct hash_key key = { 1, 2 };

        HOLDS(again && value_equal(again, v));
        HOLDS(str_eq(value_canonical(a, again), canonical));
        HOLDS(hash128_eq(value_hash(&key, again), value_hash(&key, v)));
}

static void check_pretty(const struct value *v, struct arena *a) {
        _cleanup_(buf_done) struct buf pretty = buf_make(SIZE_MAX / 4);

        value_print_pretty(v, 2, &pretty);
        HOLDS(value_equal(parse(buf_str(&pretty), a), v));
        HOLDS(value_equal(value_dup(a, v), v));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct arena *a = arena_new(0);
        const struct value *v = parse((struct str){ (const char *)data, n }, a);

        if (v) {
                HOLDS(str_is_utf8((struct str){ (const char *)data, n }));
                check_print(v, a);
                check_pretty(v, a);
        }
        arena_free(a);
        return 0;
}
