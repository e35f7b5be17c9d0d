/* SPDX-License-Identifier: Apache-2.0 */
/* The annotations truce.dev/… of a LeaderWorkerSet: one table, one reader for each type. */
#include "base/duration.h"
#include "group/spec_impl.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)

#define RESET_MAX_BYTES 256

static void bad(const struct fields *in, const char *key, const char *text) {
        struct str path = arena_strf(in->a, "%.*s[%s]", STR_FMT(in->path), key);

        group_problems_add(in->problems, in->a, GROUP_INVALID, path, "Invalid value: %.*s: %s",
                           STR_FMT(fields_shown(fields_get(in, key), in->a)), text);
}

static int64_t read_duration(const struct fields *in, const char *key, int64_t otherwise_ms) {
        const struct value *v = fields_get(in, key);
        int64_t ms = otherwise_ms;

        if (v && !duration_parse(value_text(v), &ms))
                bad(in, key, "must be a duration, as 90s, 5m or 1h30m");
        return ms;
}

static int32_t read_budget(const struct fields *in, const char *key) {
        const struct value *v = fields_get(in, key);
        int64_t n = -1;

        if (!v)
                return -1;
        if (!str_to_i64(value_text(v), &n) || n < 0 || n > INT32_MAX) {
                bad(in, key, "must be a number of restarts, 0 to 2147483647");
                return -1;
        }
        return (int32_t)n;
}

static bool read_victims(const struct fields *in, const char *key) {
        const struct value *v = fields_get(in, key);
        struct str text = value_text(v);

        if (v && !str_eqc(text, "broken-first") && !str_eqc(text, "highest-ordinal"))
                bad(in, key, "must be broken-first or highest-ordinal");
        return str_eqc(text, "broken-first");
}

/* It is remembered in the status, beside much else. */
static struct str read_reset(const struct fields *in, const char *key) {
        struct str text = value_text(fields_get(in, key));

        if (text.n <= RESET_MAX_BYTES)
                return arena_str(in->a, text);
        bad(in, key, "must have 256 bytes at most");
        return STR("");
}

struct group_options group_options_read(const struct fields *annotations) {
        return (struct group_options){
                .victims_by_health = read_victims(annotations, "truce.dev/scale-down"),
                .gang_timeout_ms = read_duration(annotations, "truce.dev/gang-timeout", MINUTE_MS),
                .unreachable_ms = read_duration(annotations, "truce.dev/unreachable-timeout", MINUTE_MS),
                .stuck_ms = read_duration(annotations, "truce.dev/termination-timeout", 10 * MINUTE_MS),
                .max_restarts = read_budget(annotations, "truce.dev/max-group-restarts"),
                .budget_reset = read_reset(annotations, "truce.dev/reset-restarts"),
        };
}
