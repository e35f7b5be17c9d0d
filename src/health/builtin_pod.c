/* SPDX-License-Identifier: Apache-2.0 */
/* Pod. */
#include "health/builtin.h"

#define IGNORE_RESTART_POLICY "argocd.argoproj.io/ignore-restart-policy"

static bool is_hook(const struct rule *r) {
        return rule_annotation(r, "argocd.argoproj.io/hook").n > 0 || rule_annotation(r, "helm.sh/hook").n > 0;
}

/* Meant to run for ever, not to end. */
static bool is_lasting(const struct rule *r) {
        return str_eqc(rule_text(r->spec, "restartPolicy"), "Always") ||
               (str_eqc(rule_annotation(r, IGNORE_RESTART_POLICY), "true") && !is_hook(r));
}

/* Argo CD's three patterns: ErrImagePull, CreateContainerError, CrashLoopBackOff and their like. */
static bool is_failure(struct str reason) {
        return str_starts(reason, STR("Err")) || str_ends(reason, STR("Error")) || str_ends(reason, STR("BackOff"));
}

static void add_reason(const struct rule *r, struct buf *out, const struct value *container,
                       const struct value *state) {
        buf_addf(out, "%s: %s", rule_word(r, rule_text(container, "name")), rule_word(r, rule_text(state, "reason")));
        if (rule_text(state, "message").n > 0)
                buf_addf(out, ": %s", rule_word(r, rule_text(state, "message")));
}

/* "web: CrashLoopBackOff: back-off …" of the containers that wait for a bad reason; false: none does. */
static bool failing(const struct rule *r, const char *statuses, struct buf *out) {
        const struct value *list = value_getc(r->status, statuses);
        _cleanup_(buf_done) struct buf one = buf_make(HEALTH_MAX_MESSAGE_BYTES);
        size_t count = 0;

        if (!value_is(list, VALUE_LIST))
                return false;
        for (size_t i = 0; i < list->list.count; i++) {
                const struct value *waiting = value_path(list->list.items[i], "state", "waiting", NULL);

                if (!is_failure(rule_text(waiting, "reason")))
                        continue;
                buf_clear(&one);
                add_reason(r, &one, list->list.items[i], waiting);
                rule_name(out, &count, "; ", buf_str(&one));
        }
        rule_name_rest(out, count);
        return count > 0;
}

/* Appends why a container ended badly; false: it did not. */
static bool add_end(const struct rule *r, const struct value *container, struct buf *out) {
        const struct value *end = value_path(container, "state", "terminated", NULL);
        const char *name = rule_word(r, rule_text(container, "name"));

        if (rule_text(end, "message").n > 0)
                buf_addf(out, "%s: %s", name, rule_word(r, rule_text(end, "message")));
        else if (str_eqc(rule_text(end, "reason"), "OOMKilled"))
                buf_addf(out, "%s: OOMKilled", name);
        else if (rule_count(end, "exitCode") != 0)
                buf_addf(out, "%s: exit code %lld", name, (long long)rule_count(end, "exitCode"));
        return out->n > 0;
}

static bool add_first_end(const struct rule *r, const char *statuses, struct buf *out) {
        const struct value *list = value_getc(r->status, statuses);

        if (!value_is(list, VALUE_LIST))
                return false;
        for (size_t i = 0; i < list->list.count; i++)
                if (add_end(r, list->list.items[i], out))
                        return true;
        return false;
}

/* The pod's own words: "Evicted: The node was low on memory". */
static struct str own_words(const struct rule *r) {
        const char *reason = rule_word(r, rule_text(r->status, "reason"));
        const char *message = rule_word(r, rule_text(r->status, "message"));

        return arena_strf(r->a, "%s%s%s", reason, reason[0] && message[0] ? ": " : "", message);
}

static void judge_failed(const struct rule *r) {
        _cleanup_(buf_done) struct buf why = buf_make(HEALTH_MAX_MESSAGE_BYTES);

        if (rule_text(r->status, "message").n > 0 ||
            (!add_first_end(r, "initContainerStatuses", &why) && !add_first_end(r, "containerStatuses", &why)))
                rule_say_text(r, HEALTH_DEGRADED, own_words(r));
        else
                rule_say_text(r, HEALTH_DEGRADED, buf_str(&why));
        r->h->terminal = true;
}

/* Argo CD does not look at init containers; they do not change what the pod is here either, but the message names them.
 */
static void judge_pending(const struct rule *r) {
        _cleanup_(buf_done) struct buf why = buf_make(HEALTH_MAX_MESSAGE_BYTES);
        const struct value *scheduled = rule_condition(r, "PodScheduled");

        if (failing(r, "initContainerStatuses", &why))
                rule_say_text(r, HEALTH_PROGRESSING, buf_str(&why));
        else if (rule_condition_is(scheduled, "False"))
                rule_say_text(r, HEALTH_PROGRESSING, rule_says(scheduled, r->a));
        else if (own_words(r).n > 0)
                rule_say_text(r, HEALTH_PROGRESSING, own_words(r));
        else
                rule_say(r, HEALTH_PROGRESSING, "pending");
}

static bool has_crashed(const struct rule *r) {
        const struct value *list = value_getc(r->status, "containerStatuses");

        if (!value_is(list, VALUE_LIST))
                return false;
        for (size_t i = 0; i < list->list.count; i++)
                if (value_path(list->list.items[i], "lastState", "terminated", NULL))
                        return true;
        return false;
}

static void judge_running(const struct rule *r) {
        const struct value *ready = rule_condition(r, "Ready");

        if (!is_lasting(r))
                rule_say(r, HEALTH_PROGRESSING, "runs until it ends");
        else if (rule_condition_is(ready, "True"))
                rule_say_text(r, HEALTH_HEALTHY, rule_text(r->status, "message"));
        else if (has_crashed(r))
                rule_say(r, HEALTH_DEGRADED, "not ready, and a container has ended before");
        else if (ready)
                rule_say_text(r, HEALTH_PROGRESSING, rule_says(ready, r->a));
        else
                rule_say(r, HEALTH_PROGRESSING, "not ready");
}

void builtin_pod(const struct rule *r) {
        struct str phase = rule_text(r->status, "phase");
        _cleanup_(buf_done) struct buf why = buf_make(HEALTH_MAX_MESSAGE_BYTES);

        if (is_lasting(r) && failing(r, "containerStatuses", &why))
                rule_say_text(r, HEALTH_DEGRADED, buf_str(&why));
        else if (str_eqc(phase, "Pending"))
                judge_pending(r);
        else if (str_eqc(phase, "Succeeded"))
                rule_say_text(r, HEALTH_HEALTHY, rule_text(r->status, "message"));
        else if (str_eqc(phase, "Failed"))
                judge_failed(r);
        else if (str_eqc(phase, "Running"))
                judge_running(r);
        else if (phase.n == 0)
                rule_say_no_status(r);
        else
                rule_say(r, HEALTH_UNKNOWN, "phase %s", rule_word(r, phase));
}
