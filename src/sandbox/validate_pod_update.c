/* SPDX-License-Identifier: Apache-2.0 */
/* What an update may change in a Pod. Source: ValidatePodUpdate. */
#include "sandbox/go_struct.h"
#include "sandbox/validate_pod.h"

/* The same containers, images aside; false: their number changed. */
static bool check_same_containers(struct check *c, const struct at *at, const struct value *now,
                                  const struct value *before) {
        if (list_count(now) != list_count(before)) {
                fault_forbidden(c, at, "pod updates may not add or remove containers");
                return false;
        }
        for (EACH(i, now))
                if (!text_of(item_of(now, i), "image").n)
                        fault_required(c, AT(AT_INDEX(at, i), "image"), "");
        check_trimmed_images(c, at, now);
        return true;
}

static bool check_deadline_change(struct check *c, const struct at *at, const struct value *now,
                                  const struct value *before) {
        int64_t after_s = 0, before_s = 0;
        bool had = value_to_i64(before, &before_s);

        if (!value_to_i64(now, &after_s)) {
                if (had)
                        fault_invalid_raw(c, at, STR("null"), "must not update from a positive integer to nil value");
                return true;
        }
        if (after_s < 0 || after_s > INT32_MAX)
                fault_invalid_int(c, at, after_s, "must be between 0 and 2147483647, inclusive");
        else if (had && before_s < after_s)
                fault_invalid_int(c, at, after_s, "must be less than or equal to previous value");
        else
                return true;
        return false;
}

static bool toleration_kept(struct check *c, const struct value *old, const struct value *now) {
        const struct value *bare = value_with(c->a, old, STR("tolerationSeconds"), NULL);

        for (EACH(i, now))
                if (same(bare, value_with(c->a, item_of(now, i), STR("tolerationSeconds"), NULL)))
                        return true;
        return false;
}

static void check_added_tolerations(struct check *c, const struct at *at, const struct value *now,
                                    const struct value *before) {
        for (EACH(i, before))
                if (!toleration_kept(c, item_of(before, i), now)) {
                        fault_forbidden(c, at, "existing toleration can not be modified except its tolerationSeconds");
                        return;
                }
        check_tolerations(c, at, now);
}

static const struct value *with_images_of(struct check *c, const struct value *now, const struct value *before) {
        struct value_list_builder b = { 0 };

        for (EACH(i, now))
                value_list_add(&b, value_with(c->a, item_of(now, i), STR("image"), get(item_of(before, i), "image")));
        return value_list_end(&b, c->a, 0);
}

/* ---- what a pod that waits for gates may have changed besides ---- */

static bool has_all(const struct value *now, const struct value *before) {
        for (EACH_MEMBER(m, before))
                if (!same(value_get(now, m->key), m->value))
                        return false;
        return true;
}

/* All that was there is there, in its place. */
static bool only_adds(const struct value *now, const struct value *before, const char *list) {
        const struct value *new_items = get(now, list), *old_items = get(before, list);

        if (list_count(new_items) < list_count(old_items))
                return false;
        for (EACH(i, old_items))
                if (!same_semantically(item_of(new_items, i), item_of(old_items, i)))
                        return false;
        return true;
}

static struct str terms_text(struct check *c, const struct value *terms) {
        struct str text = STR("");

        for (EACH(i, terms))
                text = arena_strf(c->a, "%.*s%s%.*s", STR_FMT(text), i ? "," : "",
                                  STR_FMT(go_struct_json("core.NodeSelectorTerm", item_of(terms, i), c->a)));
        return terms ? arena_strf(c->a, "[%.*s]", STR_FMT(text)) : STR("null");
}

static void check_affinity_change(struct check *c, const struct at *at, const struct value *now,
                                  const struct value *before) {
        const struct value *old_terms =
                get(get(before, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
        const struct value *terms =
                get(get(now, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");

        at = AT(AT(at, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
        if (list_count(old_terms) && list_count(old_terms) != list_count(terms)) {
                fault_invalid_raw(c, at, terms_text(c, terms),
                                  "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
                return;
        }
        for (EACH(i, old_terms))
                if (!only_adds(item_of(terms, i), item_of(old_terms, i), "matchExpressions") ||
                    !only_adds(item_of(terms, i), item_of(old_terms, i), "matchFields"))
                        fault_invalid_raw(c, AT_INDEX(at, i),
                                          go_struct_json("core.NodeSelectorTerm", item_of(terms, i), c->a),
                                          "only additions are allowed (no mutations or deletions)");
}

static const struct value *with_affinity_of(struct check *c, const struct value *now, const struct value *before) {
        const struct value *affinity = get(now, "affinity"), *old = get(before, "affinity");
        const struct value *node = get(old, "nodeAffinity");

        if (affinity && !old && !get(affinity, "podAffinity") && !get(affinity, "podAntiAffinity"))
                return value_with(c->a, now, STR("affinity"), NULL);
        if (!affinity && !node)
                return now;
        return value_with(c->a, now, STR("affinity"), value_with(c->a, affinity, STR("nodeAffinity"), node));
}

static const struct value *check_gated_change(struct check *c, const struct at *at, const struct value *now,
                                              const struct value *before) {
        const struct value *selector = get(now, "nodeSelector"), *old = get(before, "nodeSelector");
        const struct value *node = get(get(now, "affinity"), "nodeAffinity");
        const struct value *old_node = get(get(before, "affinity"), "nodeAffinity");

        if (!same_semantically(selector, old)) {
                if (!has_all(selector, old))
                        fault_invalid(c, AT(at, "nodeSelector"), selector,
                                      "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
                now = value_with(c->a, now, STR("nodeSelector"), old);
        }
        if (same(node, old_node))
                return now;
        check_affinity_change(c, AT(AT(at, "affinity"), "nodeAffinity"), node, old_node);
        return with_affinity_of(c, now, before);
}

/* ---- the whole ---- */

static bool has_gate(const struct value *gates, size_t from, struct str name) {
        for (size_t i = from; i < list_count(gates); i++)
                if (str_eq(text_of(item_of(gates, i), "name"), name))
                        return true;
        return false;
}

/* Gates may go; new ones may not come. Of equal ones the server knows the last. */
static void check_gates_change(struct check *c, const struct at *at, const struct value *now,
                               const struct value *before) {
        for (EACH(i, now)) {
                struct str name = text_of(item_of(now, i), "name");

                if (!has_gate(before, 0, name) && !has_gate(now, i + 1, name))
                        fault_forbidden(c, AT(AT_INDEX(at, i), "name"),
                                        arena_strf(c->a,
                                                   "only deletion is allowed, but found new scheduling gate '%.*s'",
                                                   STR_FMT(name))
                                                .p);
        }
}

/* The new spec with what may change put back. */
static const struct value *put_back(struct check *c, const struct value *now, const struct value *before) {
        static const char *const free_fields[] = { "activeDeadlineSeconds", "tolerations", "schedulingGates" };
        static const char *const containers[] = { "containers", "initContainers" };

        for (size_t i = 0; i < sizeof free_fields / sizeof *free_fields; i++)
                now = value_with(c->a, now, str_from(free_fields[i]), get(before, free_fields[i]));
        for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
                if (list_count(get(now, containers[i])))
                        now = value_with(c->a, now, str_from(containers[i]),
                                         with_images_of(c, get(now, containers[i]), get(before, containers[i])));
        if (int_of(before, "terminationGracePeriodSeconds") < 0 && int_of(now, "terminationGracePeriodSeconds") == 1)
                now = value_with(c->a, now, STR("terminationGracePeriodSeconds"),
                                 get(before, "terminationGracePeriodSeconds"));
        return now;
}

void check_pod_update(struct check *c) {
        const struct value *now = get(c->object, "spec"), *before = get(c->live, "spec");
        const struct at *at = AT(NULL, "spec");

        if (!check_same_containers(c, AT(at, "containers"), get(now, "containers"), get(before, "containers")) ||
            !check_same_containers(c, AT(at, "initContainers"), get(now, "initContainers"),
                                   get(before, "initContainers")) ||
            !check_deadline_change(c, AT(at, "activeDeadlineSeconds"), get(now, "activeDeadlineSeconds"),
                                   get(before, "activeDeadlineSeconds")))
                return;
        check_added_tolerations(c, AT(at, "tolerations"), get(now, "tolerations"), get(before, "tolerations"));
        check_gates_change(c, AT(at, "schedulingGates"), get(now, "schedulingGates"), get(before, "schedulingGates"));
        if (go_struct_same("core.PodSpec", before, now, c->a))
                return;
        now = put_back(c, now, before);
        if (list_count(get(before, "schedulingGates")))
                now = check_gated_change(c, at, now, before);
        if (go_struct_same("core.PodSpec", before, now, c->a))
                return;
        fault_forbidden(
                c, at,
                arena_strf(c->a,
                           "pod updates may not change fields other than "
                           "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
                           "`spec.tolerations` (only additions to existing tolerations),"
                           "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
                           "negative)\n%s",
                           go_struct_diff("core.PodSpec", before, now, c->a).p)
                        .p);
}
