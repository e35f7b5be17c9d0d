/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completedIndexes and failedIndexes of a Job's status: "1,3-5", rising, below spec.completions.
 *
 * Source: validateIndexesFormat and validateFailedIndexesNotOverlapCompleted in k8s.io/kubernetes
 * pkg/apis/batch/validation.
 */
#include "sandbox/validate_job.h"

struct interval {
        int64_t from, to;
};

/* False with what is wrong. */
static bool read_number(struct str text, int64_t completions, struct arena *a, int64_t *ret, struct str *ret_why) {
        bool is_number = str_to_i64(text, ret);

        if (!is_number)
                *ret_why = arena_strf(a, "cannot convert string to integer for index: %.*s", STR_FMT(quoted(text, a)));
        else if (*ret >= completions)
                *ret_why = arena_strf(a, "too large index: %.*s", STR_FMT(quoted(text, a)));
        return is_number && *ret < completions;
}

static struct str no_order(int64_t before, int64_t now, struct arena *a) {
        return arena_strf(a, "non-increasing order, previous: %lld, current: %lld", (long long)before, (long long)now);
}

static bool read_interval(struct str text, int64_t completions, struct arena *a, struct interval *ret,
                          struct str *ret_why) {
        ptrdiff_t dash = str_find(text, '-', 0);
        struct str first = dash < 0 ? text : str_sub(text, 0, (size_t)dash);

        if (dash >= 0 && str_find(text, '-', (size_t)dash + 1) >= 0) {
                *ret_why =
                        arena_strf(a,
                                   "the fragment %.*s violates the requirement that an index interval can have at most "
                                   "two parts separated by '-'",
                                   STR_FMT(quoted(text, a)));
                return false;
        }
        if (!read_number(first, completions, a, &ret->from, ret_why))
                return false;
        ret->to = ret->from;
        if (dash < 0)
                return true;
        if (!read_number(str_sub(text, (size_t)dash + 1, text.n), completions, a, &ret->to, ret_why))
                return false;
        if (ret->from >= ret->to)
                *ret_why = no_order(ret->from, ret->to, a);
        return ret->from < ret->to;
}

/* The next of a list, where nothing is one as well but in an empty list. */
static bool next_part(struct str *list, struct str *ret) {
        ptrdiff_t comma = str_find(*list, ',', 0);

        if (!list->p)
                return false;
        *ret = comma < 0 ? *list : str_sub(*list, 0, (size_t)comma);
        *list = comma < 0 ? (struct str){ 0 } : str_sub(*list, (size_t)comma + 1, list->n);
        return true;
}

static struct str parts_of(struct str list) {
        return list.n ? list : (struct str){ 0 };
}

struct str job_indexes_fault(struct str list, int64_t completions, struct arena *a, int64_t *ret_count) {
        struct interval one = { 0 };
        struct str text, why = { 0 };
        bool is_first = true;
        int64_t last = 0, count = 0;

        *ret_count = 0;
        for (list = parts_of(list); next_part(&list, &text);) {
                if (!read_interval(text, completions, a, &one, &why))
                        return why;
                if (!is_first && last >= one.from)
                        return no_order(last, one.from, a);
                is_first = false;
                last = one.to;
                count += one.to - one.from + 1;
        }
        *ret_count = count;
        return (struct str){ 0 };
}

/* The smallest index that is in both; -1: none. What cannot be read is passed over. */
static int64_t common_index(struct str done, struct str failed, int64_t completions, struct arena *a) {
        struct interval d, f;
        struct str text, why;

        for (done = parts_of(done); next_part(&done, &text);) {
                struct str others = parts_of(failed), other;

                if (!read_interval(text, completions, a, &d, &why))
                        continue;
                while (next_part(&others, &other))
                        if (read_interval(other, completions, a, &f, &why) && d.from <= f.to && f.from <= d.to)
                                return d.from > f.from ? d.from : f.from;
        }
        return -1;
}

static void check_format(struct check *c, const char *field, struct str list, int64_t completions) {
        int64_t count;
        struct str why = job_indexes_fault(list, completions, c->a, &count);

        if (why.n)
                fault_invalid_str(c, AT_STR(AT(NULL, "status"), str_from(field)), list,
                                  arena_strf(c->a, "error parsing %s: %.*s", field, STR_FMT(why)).p);
}

void check_job_indexes(struct check *c, const struct value *now, const struct value *before) {
        const struct value *spec = get(c->object, "spec"), *failed = get(now, "failedIndexes");
        struct str done = text_of(now, "completedIndexes");
        bool other_done = !str_eq(done, text_of(before, "completedIndexes"));
        bool other_failed = !same(failed, get(before, "failedIndexes"));
        bool per_index = get(spec, "backoffLimitPerIndex"), counts = get(spec, "completions");
        const struct at *at = AT(NULL, "status");
        int64_t completions = int_of(spec, "completions"), common;

        if (other_done && counts)
                check_format(c, "completedIndexes", done, completions);
        if (other_failed && counts && per_index && failed)
                check_format(c, "failedIndexes", failed->text, completions);
        if (other_done && done.n && !str_eqc(text_of(spec, "completionMode"), "Indexed"))
                fault_invalid_str(c, AT(at, "completedIndexes"), done,
                                  "cannot set non-empty completedIndexes when non-indexed completion mode");
        if (other_failed && !per_index && failed)
                fault_invalid_str(c, AT(at, "failedIndexes"), failed->text,
                                  "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
        common = (other_failed || other_done) && counts && failed ? common_index(done, failed->text, completions, c->a)
                                                                  : -1;
        if (common >= 0)
                fault_invalid_str(
                        c, AT(at, "failedIndexes"), failed->text,
                        arena_strf(c->a, "failedIndexes and completedIndexes overlap at index: %lld", (long long)common)
                                .p);
}
