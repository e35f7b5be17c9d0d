/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a server's listing of refs, in all protocol versions: parsed or refused, every ref has a legal name, and
 * a word taken from the same bytes finds what it should.
 */
#include "fuzz.h"

#include "git/pkt.h"

static void check_list(struct git_ref_list list, struct arena *a) {
        for (size_t i = 0; i < list.count; i++) {
                const struct git_ref *ref = &list.refs[i];
                enum git_word_kind kind;
                struct git_id id;

                HOLDS(ref->name.n > 0 && ref->name.n <= GIT_REVISION_MAX_BYTES);
                HOLDS(str_find(ref->name, '\n', 0) < 0 && str_find(ref->name, ':', 0) < 0);
                if (i < 16 && git_word_check(ref->name, &kind, &id, NULL) == 0)
                        HOLDS(git_refs_find(list, ref->name, a) != NULL);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct str body = { (const char *)data, n };
        struct arena *a = arena_new(0);
        struct pkt_advert advert;
        struct git_ref_list list;
        struct err err = { 0 };
        enum git_word_kind kind;
        struct git_id id;

        if (pkt_parse_advert(body, a, &advert, &err) == 0)
                check_list(advert.refs, a);
        if (pkt_parse_ls_refs(body, a, &list, &err) == 0) {
                check_list(list, a);
                if (git_word_check(str_sub(body, 0, 40), &kind, &id, &err) == 0 && kind != GIT_WORD_COMMIT &&
                    !git_refs_find(list, str_sub(body, 0, 40), a))
                        HOLDS(git_refs_not_found(list, str_sub(body, 0, 40), &err) == ERR_NOTFOUND);
        }
        arena_free(a);
        return 0;
}
