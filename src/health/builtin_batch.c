/* SPDX-License-Identifier: Apache-2.0 */
/* Job and CronJob. */
#include "health/builtin.h"

/* "2 active, 1 of 3 succeeded, 1 failed" */
static void say_counts(const struct rule *r) {
        int64_t active = rule_count(r->status, "active"), succeeded = rule_count(r->status, "succeeded");
        int64_t failed = rule_count(r->status, "failed");
        _cleanup_(buf_done) struct buf out = buf_make(HEALTH_MAX_MESSAGE_BYTES);

        buf_addf(&out, "%lld active, %lld", (long long)active, (long long)succeeded);
        if (value_getc(r->spec, "completions"))
                buf_addf(&out, " of %lld", (long long)rule_count(r->spec, "completions"));
        buf_addc(&out, " succeeded");
        if (failed > 0)
                buf_addf(&out, ", %lld failed", (long long)failed);
        rule_say_text(r, HEALTH_PROGRESSING, buf_str(&out));
}

/* A condition that is there and not "True" means nothing: a Job that was resumed keeps Suspended=False. */
void builtin_job(const struct rule *r) {
        const struct value *suspend = value_getc(r->spec, "suspend");
        struct str says;

        if (rule_is_true(r, "Failed", &says)) {
                rule_say_text(r, HEALTH_DEGRADED, says);
                r->h->terminal = true;
        } else if (rule_is_true(r, "Complete", &says)) {
                rule_say_text(r, HEALTH_HEALTHY, rule_text(rule_condition(r, "Complete"), "message"));
        } else if (rule_is_true(r, "Suspended", &says)) {
                if (value_truth(suspend, true))
                        rule_say_text(r, HEALTH_SUSPENDED, rule_text(rule_condition(r, "Suspended"), "message"));
                else
                        rule_say(r, HEALTH_PROGRESSING, "being resumed");
        } else if (rule_is_true(r, "FailureTarget", &says)) {
                rule_say(r, HEALTH_PROGRESSING, "failing, its pods are being ended: %.*s", STR_FMT(says));
        } else if (rule_is_true(r, "SuccessCriteriaMet", &says)) {
                rule_say(r, HEALTH_PROGRESSING, "succeeded, its pods are being ended");
        } else {
                say_counts(r);
        }
}

/*
 * The status of a CronJob names the last start and the last success, not the last failure: with nothing active, a start
 * that no success followed has failed (or its Job was deleted).
 */
static bool has_failed_last(const struct rule *r) {
        int64_t start_ms, success_ms;

        if (value_count(value_getc(r->status, "active")) > 0 || !rule_time(r->status, "lastScheduleTime", &start_ms))
                return false;
        return !rule_time(r->status, "lastSuccessfulTime", &success_ms) || success_ms < start_ms;
}

void builtin_cron_job(const struct rule *r) {
        const char *start = rule_word(r, rule_text(r->status, "lastScheduleTime"));
        const char *success = rule_word(r, rule_text(r->status, "lastSuccessfulTime"));
        bool strict = str_eqc(rule_annotation(r, HEALTH_CRONJOB_ANNOTATION), "strict");

        if (rule_flag(r->spec, "suspend"))
                rule_say(r, HEALTH_SUSPENDED, "suspended");
        else if (has_failed_last(r))
                rule_say(r, strict ? HEALTH_DEGRADED : HEALTH_HEALTHY, "last run (%s) failed, last success: %s", start,
                         success[0] ? success : "none");
        else if (value_count(value_getc(r->status, "active")) > 0)
                rule_say(r, HEALTH_HEALTHY, "running since %s", start);
        else if (!start[0])
                rule_say(r, HEALTH_HEALTHY, "not run yet");
        else
                rule_say_only(r, HEALTH_HEALTHY);
}
