/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lease.h"

#include "base/duration.h"
#include "base/when.h"

static struct str annotation(const struct value *live, const char *name) {
        return value_text(value_getc(value_path(live, "metadata", "annotations", NULL), name));
}

struct str lease_text(const struct value *live) {
        struct str until = annotation(live, LEASE_UNTIL);

        return until.n ? until : annotation(live, LEASE_FOR);
}

static struct str written_at(const struct managed *m, const char *name) {
        const struct path_element path[] = {
                path_field(STR("metadata")),
                path_field(STR("annotations")),
                path_field(str_from(name)),
        };

        for (size_t i = 0; i < m->count; i++)
                if (!m->entries[i].broken && fieldset_contains(m->entries[i].set, (struct field_path){ path, ARRAY_LEN(path) }))
                        return m->entries[i].time;
        return (struct str){ 0 };
}

static bool has_times(const struct managed *m) {
        for (size_t i = 0; i < m->count; i++)
                if (m->entries[i].time.n)
                        return true;
        return false;
}

/* A moment that is too far away: counted from its writing, or from now where nobody is known to have written it. */
static enum lease_state cut_short(const struct managed *m, int64_t now_ms, int64_t max_ms, int64_t *until_ms) {
        int64_t from_ms;

        if (!has_times(m))
                return LEASE_NEEDS_TIMES;
        if (!when_parse(written_at(m, LEASE_UNTIL), &from_ms))
                from_ms = now_ms;
        *until_ms = from_ms + max_ms;
        return LEASE_READ;
}

enum lease_state lease_read(const struct value *live, const struct managed *m, int64_t now_ms, int64_t max_ms,
                            int64_t *ret_until_ms) {
        struct str until = annotation(live, LEASE_UNTIL), duration = annotation(live, LEASE_FOR);
        int64_t length_ms, from_ms;

        if (until.n && !when_parse(until, ret_until_ms))
                return LEASE_BAD;
        if (until.n)
                return *ret_until_ms - now_ms > max_ms ? cut_short(m, now_ms, max_ms, ret_until_ms) : LEASE_READ;
        if (!duration.n)
                return LEASE_NONE;
        if (!duration_parse(duration, &length_ms))
                return LEASE_BAD;
        if (!has_times(m))
                return LEASE_NEEDS_TIMES;
        if (!when_parse(written_at(m, LEASE_FOR), &from_ms))
                return LEASE_BAD;
        *ret_until_ms = from_ms + (length_ms < max_ms ? length_ms : max_ms);
        return LEASE_READ;
}
