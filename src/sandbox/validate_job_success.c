/* SPDX-License-Identifier: Apache-2.0 */
/* A Job's successPolicy. Source: validateSuccessPolicy in k8s.io/kubernetes pkg/apis/batch/validation. */
#include "base/limits.h"
#include "sandbox/validate_job.h"

#define MAX_RULES         20
#define MAX_INDEXES_BYTES (64 * KIB)

/* How many the list tells; 0 when it cannot be read. */
static int64_t check_succeeded_indexes(struct check *c, const struct at *at, struct str list, int64_t completions) {
        int64_t count;
        struct str why = job_indexes_fault(list, completions, c->a, &count);

        if (list.n > MAX_INDEXES_BYTES)
                fault_too_long(c, at, MAX_INDEXES_BYTES);
        if (why.n)
                fault_invalid_str(c, at, list,
                                  arena_strf(c->a, "error parsing succeededIndexes: %.*s", STR_FMT(why)).p);
        return count;
}

static void check_most(struct check *c, const struct at *at, int64_t count, int64_t most, const char *what) {
        if (count > most)
                fault_invalid_int(
                        c, at, count,
                        arena_strf(c->a, "must be less than or equal to %lld (the number of %s)", (long long)most, what)
                                .p);
}

static void check_rule(struct check *c, const struct at *at, const struct value *rule, int64_t completions) {
        const struct value *count = get(rule, "succeededCount"), *indexes = get(rule, "succeededIndexes");
        const struct at *count_at = AT(at, "succeededCount");
        int64_t told = 0;

        if (!count && !indexes)
                fault_required(c, at, "at least one of succeededCount or succeededIndexes must be specified");
        if (indexes)
                told = check_succeeded_indexes(c, AT(at, "succeededIndexes"), indexes->text, completions);
        if (!count)
                return;
        check_nonnegative(c, count_at, count->i64);
        check_most(c, count_at, count->i64, completions, "specified completions");
        if (indexes)
                check_most(c, count_at, count->i64, told, "indexes in the specified succeededIndexes field");
}

void check_success_policy(struct check *c, const struct at *at, const struct value *spec) {
        const struct value *policy = get(spec, "successPolicy"), *rules = get(policy, "rules");
        const struct at *rules_at = AT(at, "rules");

        if (!policy)
                return;
        if (!str_eqc(text_of(spec, "completionMode"), "Indexed")) {
                fault_invalid_raw(c, at, success_policy_text(policy, c->a), "requires indexed completion mode");
                return;
        }
        if (!list_count(rules))
                fault_required(c, rules_at, "at least one rules must be specified when the successPolicy is specified");
        if (list_count(rules) > MAX_RULES)
                fault_too_many(c, rules_at, list_count(rules), MAX_RULES);
        for (EACH(i, rules))
                check_rule(c, AT_INDEX(rules_at, i), item_of(rules, i), int_of(spec, "completions"));
}

struct str success_policy_text(const struct value *policy, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4 * KUBE_MAX_OBJECT_BYTES);
        const struct value *rules = get(policy, "rules");

        if (!policy)
                return STR("null");
        buf_addc(&out, rules ? "{\"Rules\":[" : "{\"Rules\":null");
        for (EACH(i, rules)) {
                const struct value *indexes = get(item_of(rules, i), "succeededIndexes"),
                                   *count = get(item_of(rules, i), "succeededCount");

                buf_addf(&out, "%s{\"SucceededIndexes\":%s,\"SucceededCount\":%s}", i ? "," : "",
                         indexes ? value_canonical(a, indexes).p : "null",
                         count ? value_canonical(a, count).p : "null");
        }
        buf_addc(&out, rules ? "]}" : "}");
        return arena_str(a, buf_str(&out));
}
