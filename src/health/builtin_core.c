/* SPDX-License-Identifier: Apache-2.0 */
/* PersistentVolumeClaim, PersistentVolume, Service, Ingress, Namespace, PodDisruptionBudget. */
#include "health/builtin.h"

#define SELECTED_NODE "volume.kubernetes.io/selected-node"
#define PROVISIONER   "volume.kubernetes.io/storage-provisioner"
#define OLD_CLASS     "volume.beta.kubernetes.io/storage-class" /* counts before the field, where it is set */

/*
 * A claim of a class that waits for a pod is not bound until one uses it, which may never be: fine, when that is known.
 * Argo CD has it Progressing for ever (argo-cd#12840).
 */
static bool waits_for_pod(const struct rule *r) {
        return str_eqc(rule_text(r->q->storage_class, "volumeBindingMode"), "WaitForFirstConsumer") &&
               health_storage_class(r->object).n > 0;
}

static struct str class_of(const struct value *claim) {
        const struct value *annotations = value_path(claim, "metadata", "annotations", NULL);
        struct str old = rule_text(annotations, OLD_CLASS);

        return old.n > 0 ? old : rule_text(value_getc(claim, "spec"), "storageClassName");
}

struct str health_storage_class(const struct value *object) {
        const struct value *annotations = value_path(object, "metadata", "annotations", NULL);
        bool waits = str_eqc(rule_text(object, "kind"), "PersistentVolumeClaim") &&
                     str_eqc(rule_text(object, "apiVersion"), "v1") &&
                     str_eqc(rule_text(value_getc(object, "status"), "phase"), "Pending") &&
                     rule_text(annotations, SELECTED_NODE).n == 0 &&
                     rule_text(value_getc(object, "spec"), "volumeName").n == 0;

        return waits ? class_of(object) : (struct str){ 0 };
}

static void judge_pending(const struct rule *r) {
        const char *class = rule_word(r, class_of(r->object));

        if (waits_for_pod(r))
                rule_say(r, HEALTH_HEALTHY, "waits for the first pod that uses it");
        else if (rule_annotation(r, PROVISIONER).n > 0)
                rule_say(r, HEALTH_PROGRESSING, "waiting for a volume of %s",
                         rule_word(r, rule_annotation(r, PROVISIONER)));
        else if (class[0])
                rule_say(r, HEALTH_PROGRESSING,
                         "not bound: no pod uses it yet, or storage class %s has no volume for it", class);
        else
                rule_say(r, HEALTH_PROGRESSING, "not bound to a volume yet");
}

static void say_phase(const struct rule *r, struct str phase) {
        if (phase.n == 0)
                rule_say_no_status(r);
        else
                rule_say(r, HEALTH_UNKNOWN, "phase %s", rule_word(r, phase));
}

void builtin_claim(const struct rule *r) {
        struct str phase = rule_text(r->status, "phase");

        if (str_eqc(phase, "Bound"))
                rule_say_only(r, HEALTH_HEALTHY);
        else if (str_eqc(phase, "Pending"))
                judge_pending(r);
        else if (str_eqc(phase, "Lost")) {
                rule_say(r, HEALTH_DEGRADED, "its volume %s is lost", rule_word(r, rule_text(r->spec, "volumeName")));
                r->h->terminal = true;
        } else
                say_phase(r, phase);
}

void builtin_volume(const struct rule *r) {
        struct str phase = rule_text(r->status, "phase"), says = rule_text(r->status, "message");

        if (str_eqc(phase, "Bound") || str_eqc(phase, "Available"))
                rule_say_text(r, HEALTH_HEALTHY, says);
        else if (str_eqc(phase, "Released"))
                rule_say(r, HEALTH_HEALTHY, "released: its claim is gone, its data is kept");
        else if (str_eqc(phase, "Pending"))
                rule_say_text(r, HEALTH_PROGRESSING, says.n > 0 ? says : STR("pending"));
        else if (str_eqc(phase, "Failed")) {
                rule_say_text(r, HEALTH_DEGRADED, says.n > 0 ? says : STR("could not be reclaimed"));
                r->h->terminal = true;
        } else
                say_phase(r, phase);
}

static bool has_address(const struct rule *r) {
        return value_count(value_path(r->status, "loadBalancer", "ingress", NULL)) > 0;
}

void builtin_service(const struct rule *r) {
        if (str_eqc(rule_text(r->spec, "type"), "LoadBalancer") && !has_address(r))
                rule_say(r, HEALTH_PROGRESSING, "waiting for its load balancer's address");
        else
                rule_say_only(r, HEALTH_HEALTHY);
}

void builtin_ingress(const struct rule *r) {
        if (has_address(r))
                rule_say_only(r, HEALTH_HEALTHY);
        else
                rule_say(r, HEALTH_PROGRESSING, "waiting for an address from its ingress controller");
}

void builtin_namespace(const struct rule *r) {
        struct str phase = rule_text(r->status, "phase");

        if (str_eqc(phase, "Active"))
                rule_say_only(r, HEALTH_HEALTHY);
        else if (str_eqc(phase, "Terminating"))
                rule_say_deletion(r);
        else
                say_phase(r, phase);
}

void builtin_disruption_budget(const struct rule *r) {
        const struct value *allowed = rule_condition(r, "DisruptionAllowed");
        int64_t generation = rule_generation(r->object), observed = 0;
        int64_t healthy = rule_count(r->status, "currentHealthy"), wanted = rule_count(r->status, "desiredHealthy");

        if (value_count(r->status) == 0)
                rule_say_no_status(r);
        else if (rule_observed(r->object, &observed) && observed < generation)
                rule_say_unobserved(r, observed, generation);
        else if (str_eqc(rule_text(allowed, "reason"), "SyncFailed"))
                rule_say_text(r, HEALTH_DEGRADED, rule_says(allowed, r->a));
        else if (healthy < wanted)
                rule_say(r, HEALTH_PROGRESSING, "%lld of %lld pods healthy", (long long)healthy, (long long)wanted);
        else if (rule_count(r->status, "expectedPods") == 0)
                rule_say(r, HEALTH_HEALTHY, "no pod matches");
        else if (rule_count(r->status, "disruptionsAllowed") == 0)
                rule_say(r, HEALTH_HEALTHY, "no pod may be evicted now");
        else
                rule_say_only(r, HEALTH_HEALTHY);
}
