/* SPDX-License-Identifier: Apache-2.0 */
/* APIService, CustomResourceDefinition, Lease. */
#include "health/builtin.h"

void builtin_api_service(const struct rule *r) {
        const struct value *available = rule_condition(r, "Available");

        if (rule_condition_is(available, "True"))
                rule_say_only(r, HEALTH_HEALTHY);
        else if (available)
                rule_say_text(r, HEALTH_PROGRESSING, rule_says(available, r->a));
        else
                rule_say_no_status(r);
}

void builtin_definition(const struct rule *r) {
        const struct value *established = rule_condition(r, "Established");
        const struct value *accepted = rule_condition(r, "NamesAccepted");
        const struct value *approved = rule_condition(r, "KubernetesAPIApprovalPolicyConformant");
        struct str says;

        if (rule_is_true(r, "Terminating", &says))
                rule_say_text(r, HEALTH_PROGRESSING, says);
        else if (rule_condition_is(accepted, "False"))
                rule_say_text(r, HEALTH_DEGRADED, rule_says(accepted, r->a));
        else if (rule_is_true(r, "NonStructuralSchema", &says))
                rule_say_text(r, HEALTH_DEGRADED, says);
        else if (rule_condition_is(approved, "False"))
                rule_say_text(r, HEALTH_DEGRADED, rule_says(approved, r->a));
        else if (rule_condition_is(established, "True") && rule_condition_is(accepted, "True"))
                rule_say_only(r, HEALTH_HEALTHY);
        else if (established)
                rule_say_text(r, HEALTH_PROGRESSING, rule_says(established, r->a));
        else
                rule_say_no_status(r);
}

void builtin_lease(const struct rule *r) {
        const char *holder = rule_word(r, rule_text(r->spec, "holderIdentity"));
        int64_t renewed_ms, seconds = rule_count(r->spec, "leaseDurationSeconds");

        if (!holder[0])
                rule_say(r, HEALTH_HEALTHY, "held by nobody");
        else if (seconds == 0 || !rule_time(r->spec, "renewTime", &renewed_ms))
                rule_say(r, HEALTH_HEALTHY, "held by %s", holder);
        else if (r->q->now_ms <= renewed_ms + seconds * 1000) {
                rule_say(r, HEALTH_HEALTHY, "held by %s", holder);
                r->h->again_ms = renewed_ms + seconds * 1000 + 1;
        } else
                rule_say(r, HEALTH_DEGRADED, "%s held it and has not renewed it since %s", holder,
                         rule_word(r, rule_text(r->spec, "renewTime")));
}
