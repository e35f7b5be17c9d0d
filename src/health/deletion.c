/* SPDX-License-Identifier: Apache-2.0 */
/* What an object that is being deleted waits for. */
#include "health/rule_impl.h"

/* What the namespace controller says is in the way (k8s.io/kubernetes, pkg/controller/namespace/deletion). */
static const char *const namespace_conditions[] = {
        "NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
        "NamespaceDeletionContentFailure",   "NamespaceContentRemaining",
        "NamespaceFinalizersRemaining",
};

static void name_conditions(const struct rule *r, struct buf *out) {
        size_t count = 0;

        for (size_t i = 0; i < ARRAY_LEN(namespace_conditions); i++) {
                const struct value *c = rule_condition(r, namespace_conditions[i]);

                if (rule_condition_is(c, "True"))
                        rule_name(out, &count, "; ",
                                  rule_text(c, "message").n > 0 ? rule_text(c, "message") : rule_says(c, r->a));
        }
        rule_name_rest(out, count);
}

static void name_finalizers(const struct rule *r, struct buf *out) {
        const struct value *list = value_path(r->object, "metadata", "finalizers", NULL);
        size_t count = 0;

        if (!value_is(list, VALUE_LIST) || list->list.count == 0)
                return;
        buf_addc(out, list->list.count > 1 ? "finalizers " : "finalizer ");
        for (size_t i = 0; i < list->list.count; i++)
                rule_name(out, &count, ", ", value_text(list->list.items[i]));
        rule_name_rest(out, count);
}

void rule_say_deletion(const struct rule *r) {
        const char *since = rule_word(r, value_text(value_path(r->object, "metadata", "deletionTimestamp", NULL)));
        _cleanup_(buf_done) struct buf what = buf_make((size_t)2 * HEALTH_MAX_MESSAGE_BYTES);
        int64_t since_ms;

        if (str_eqc(rule_text(r->object, "kind"), "Namespace"))
                name_conditions(r, &what);
        if (what.n > 0) {
                rule_say(r, HEALTH_PROGRESSING, "being deleted: %s", what.p);
                return;
        }
        if (rule_time(value_getc(r->object, "metadata"), "deletionTimestamp", &since_ms) &&
            r->q->now_ms - since_ms < HEALTH_FINALIZERS_MS) {
                rule_say(r, HEALTH_PROGRESSING, "being deleted");
                r->h->again_ms = since_ms + HEALTH_FINALIZERS_MS;
                return;
        }
        name_finalizers(r, &what);
        if (what.n > 0)
                rule_say(r, HEALTH_PROGRESSING, "being deleted since %s, waits for %s", since, what.p);
        else if (since[0])
                rule_say(r, HEALTH_PROGRESSING, "being deleted since %s", since);
        else
                rule_say(r, HEALTH_PROGRESSING, "being deleted");
}
