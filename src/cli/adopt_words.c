/* SPDX-License-Identifier: Apache-2.0 */
/* The words of `truce adopt`. */
#include "cli/adopt_impl.h"

#include "cli/owners_view.h"
#include "diff/print.h"

#define PATH_COLUMNS 46
#define TEXT_MAX_BYTES (64 * 1024)

struct str adopt_text(struct adopt_report *r, struct buf *b) {
        return arena_str(r->arena, buf_str(b));
}

struct str adopt_owner_words(struct adopt_report *r, struct str owner, struct str subresource) {
        _cleanup_(buf_done) struct buf b = buf_make(TEXT_MAX_BYTES);

        if (owner.n)
                diff_owner_print(owner, subresource, &b);
        return adopt_text(r, &b);
}

struct str adopt_path_words(struct adopt_report *r, struct field_path p) {
        _cleanup_(buf_done) struct buf b = buf_make(TEXT_MAX_BYTES);

        owners_view_path(p, PATH_COLUMNS, &b);
        return adopt_text(r, &b);
}

struct str adopt_path_spelled(struct adopt_report *r, struct field_path p) {
        _cleanup_(buf_done) struct buf b = buf_make(TEXT_MAX_BYTES);

        field_path_spell(p, &b);
        return adopt_text(r, &b);
}

struct str adopt_rule_words(struct adopt_report *r, const char *rule, const char *place) {
        if (!place)
                return arena_strf(r->arena, "built-in: %s", rule);
        if (strcmp(place, rule) == 0)
                return arena_str(r->arena, str_from(rule));
        return arena_strf(r->arena, "%s (%s)", rule, place);
}

const char *adopt_fate_word(enum adopt_fate fate) {
        static const char *const words[] = {
                [ADOPT_TAKEN] = "taken on",   [ADOPT_HELD] = "refused",   [ADOPT_CREATED] = "created",
                [ADOPT_OURS] = "truce's",     [ADOPT_REFUSED] = "refused", [ADOPT_FAILED] = "not applied",
                [ADOPT_PARKED] = "parked",    [ADOPT_SKIPPED] = "left out",
        };

        return words[fate];
}

const char *adopt_state_word(enum adopt_state state) {
        static const char *const words[] = { [ADOPT_UNREAD] = "not known", [ADOPT_GONE] = "gone",
                                             [ADOPT_SUSPENDED] = "writes nothing by itself", [ADOPT_LIVE] = "live" };

        return words[state];
}

static bool asks(const struct adopt_matter *m) {
        return m->kind == ADOPT_DECIDE || (m->kind == ADOPT_GOES && !m->bookkeeping);
}

bool adopt_object_asks(const struct adopt_object *o) {
        bool any = o->fate == ADOPT_REFUSED || o->fate == ADOPT_FAILED || o->fate == ADOPT_HELD;

        for (size_t i = 0; i < o->matter_count; i++)
                any |= asks(&o->matters[i]);
        return any;
}

/* What a tracker holds is one decision, however many objects that is. */
size_t adopt_decisions(const struct adopt_report *r) {
        size_t count = 0;

        for (size_t i = 0; i < r->count; i++) {
                const struct adopt_object *o = r->objects[i];

                count += o->fate == ADOPT_REFUSED || o->fate == ADOPT_FAILED;
                for (size_t k = 0; k < o->matter_count; k++)
                        count += asks(&o->matters[k]);
        }
        for (size_t i = 0; i < r->tracker_count; i++)
                count += r->trackers[i]->holds;
        return count;
}
