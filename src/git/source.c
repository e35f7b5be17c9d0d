/* SPDX-License-Identifier: Apache-2.0 */
#include "git/source.h"

bool git_id_eq(const struct git_id *a, const struct git_id *b) {
        return memcmp(a->bytes, b->bytes, GIT_OID_BYTES) == 0;
}

bool git_id_is_zero(const struct git_id *id) {
        static const struct git_id zero;

        return git_id_eq(id, &zero);
}

void git_id_hex(const struct git_id *id, char ret_hex[GIT_OID_HEX_BYTES + 1]) {
        static const char digits[] = "0123456789abcdef";

        for (size_t i = 0; i < GIT_OID_BYTES; i++) {
                ret_hex[2 * i] = digits[id->bytes[i] >> 4];
                ret_hex[2 * i + 1] = digits[id->bytes[i] & 15];
        }
        ret_hex[GIT_OID_HEX_BYTES] = '\0';
}
