/* SPDX-License-Identifier: Apache-2.0 */
#include "group/names.h"

#include <inttypes.h>

#include "base/sha1.h"

struct str group_name_leader(struct arena *a, struct str lws, int32_t g) {
        return arena_strf(a, "%.*s-%" PRId32, STR_FMT(lws), g);
}

struct str group_name_worker(struct arena *a, struct str lws, int32_t g, int32_t w) {
        return arena_strf(a, "%.*s-%" PRId32 "-%" PRId32, STR_FMT(lws), g, w);
}

struct str group_name_pod(struct arena *a, struct str lws, int32_t g, int32_t w) {
        return w ? group_name_worker(a, lws, g, w) : group_name_leader(a, lws, g);
}

struct str group_name_revision(struct arena *a, struct str lws, struct str hash, int64_t number) {
        return arena_strf(a, "%.*s-%.*s-%" PRId64, STR_FMT(lws), STR_FMT(hash), number);
}

struct str group_name_claim(struct arena *a, struct str claim_template, struct str pod) {
        return arena_strf(a, "%.*s-%.*s", STR_FMT(claim_template), STR_FMT(pod));
}

static struct str hex_of(struct arena *a, struct str text) {
        char hex[SHA1_HEX_BYTES + 1];

        sha1_hex(text, hex);
        return arena_str(a, (struct str){ hex, SHA1_HEX_BYTES });
}

struct str group_key(struct arena *a, struct str ns, struct str leader) {
        return hex_of(a, arena_strf(a, "%.*s/%.*s", STR_FMT(ns), STR_FMT(leader)));
}

struct str group_subgroup_key(struct arena *a, struct str leader, int32_t index) {
        return hex_of(a, arena_strf(a, "%.*s/%" PRId32, STR_FMT(leader), index));
}

bool group_parent_ordinal(struct str name, struct str *ret_parent, int32_t *ret_ordinal) {
        size_t dash = name.n;
        uint64_t number;

        while (dash > 0 && name.p[dash - 1] != '-')
                dash--;
        if (!dash || !str_to_u64(str_sub(name, dash, name.n), &number) || number > INT32_MAX)
                return false;
        *ret_parent = str_sub(name, 0, dash - 1);
        *ret_ordinal = (int32_t)number;
        return true;
}
