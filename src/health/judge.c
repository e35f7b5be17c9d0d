/* SPDX-License-Identifier: Apache-2.0 */
/* One judgement: the guard, then the rule. */
#include "health/guard.h"
#include "health/rules_impl.h"

static void split_version(const struct value *object, struct str *ret_group, struct str *ret_kind) {
        struct str version = rule_text(object, "apiVersion");
        ptrdiff_t slash = str_find(version, '/', 0);

        *ret_group = str_sub(version, 0, slash < 0 ? 0 : (size_t)slash);
        *ret_kind = rule_text(object, "kind");
}

static void ask_rule(struct health_rules *r, const struct judge *judge, const struct health_question *q,
                     const struct value *object, struct arena *a, struct health *ret) {
        struct rule judged = rule_make(object, q, a, ret);

        if (judge->builtin)
                judge->builtin->judge(&judged);
        else
                rules_run(r, judge->user ? judge->user : judge->bundled, &judged);
}

void health_judge(struct health_rules *r, const struct health_question *q, struct arena *a, struct health *ret) {
        enum guard_answer answer = GUARD_ASK_RULE;
        struct health health = { 0 }, guarded = { 0 };
        const struct value *object = q->object;
        struct str group, kind;
        struct judge judge;

        split_version(object, &group, &kind);
        judge = rules_lookup(r, group, kind);
        health.rule = judge.user ? judge.user->name : judge.bundled ? judge.bundled->name : judge.builtin->name;
        guarded.rule = health.rule;
        guarded.guard = true;
        if (q->guard) {
                answer = guard_ask(q, a, &guarded);
                object = guard_view(object, a);
        }
        if (answer != GUARD_SAYS)
                ask_rule(r, &judge, q, object, a, &health);
        guarded.work_ns = health.work_ns;
        *ret = answer == GUARD_SAYS || (answer == GUARD_NOT_HEALTHY && health.code == HEALTH_HEALTHY) ? guarded
                                                                                                      : health;
}
