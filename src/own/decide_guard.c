/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that would lose data are refused before they are sent. */
#include "own/crd_guard.h"
#include "own/decide_impl.h"

/* Git says nothing of the conversion, and the live one is not ours to let go. */
static bool conversion_stays(const struct desk *d) {
        struct field_path p;

        if (field_path_from_dotted(STR("spec.conversion"), d->arena, &p, NULL) < 0 ||
            field_path_find(d->out.effective, p, d->type))
                return false;
        return !d->ours || d->ours->broken || !fieldset_touches(d->ours->set, p);
}

bool desk_guard(struct desk *d) {
        struct str reason;

        if (!crd_guard_concerns(d->in->desired) ||
            !crd_guard_refuses(d->in->live, d->out.effective, conversion_stays(d), d->arena, &reason))
                return false;
        d->out.verdict = DECIDE_REFUSE;
        d->out.reason = reason;
        return true;
}
