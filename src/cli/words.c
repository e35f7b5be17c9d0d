/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/words.h"

#define SHORT_OID 7

const char *words_outcome(enum outcome_kind kind) {
        static const char *const words[] = {
                [OUTCOME_UNCHANGED] = NULL,
                [OUTCOME_CREATED] = "created",
                [OUTCOME_CONFIGURED] = "configured",
                [OUTCOME_HANDED_OVER] = "handed over",
                [OUTCOME_DIFFERS] = "differs",
                [OUTCOME_MISSING] = "missing",
                [OUTCOME_EXTRA] = "extra",
                [OUTCOME_PRUNED] = "pruned",
                [OUTCOME_KEPT] = "kept",
                [OUTCOME_PARKED] = "parked",
                [OUTCOME_WAITING] = "waiting",
                [OUTCOME_SKIPPED] = NULL,
                [OUTCOME_REFUSED] = "refused",
                [OUTCOME_FAILED] = "failed",
        };

        return words[kind];
}

struct str words_ref(struct str ref) {
        static const struct str prefixes[] = { STR("refs/heads/"), STR("refs/tags/") };

        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
                if (str_starts(ref, prefixes[i]))
                        return str_sub(ref, prefixes[i].n, ref.n);
        }
        return ref.n == GIT_OID_HEX_BYTES ? str_sub(ref, 0, SHORT_OID) : ref;
}
