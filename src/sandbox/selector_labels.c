/* SPDX-License-Identifier: Apache-2.0 */
/* metav1.LabelSelector, as it stands in objects. */
#include "sandbox/selector.h"

static bool list_holds(const struct value *list, struct str text) {
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eq(value_text(list->list.items[i]), text))
                        return true;
        return false;
}

static bool expression_matches(const struct value *e, const struct value *labels) {
        const struct value *label = value_get(labels, value_text(value_getc(e, "key")));
        bool listed = label && list_holds(value_getc(e, "values"), value_text(label));
        struct str op = value_text(value_getc(e, "operator"));

        if (str_eqc(op, "In"))
                return listed;
        if (str_eqc(op, "NotIn"))
                return !listed;
        return str_eqc(op, "Exists") ? label != NULL : label == NULL;
}

bool label_selector_matches(const struct value *selector, const struct value *labels) {
        const struct value *match = value_getc(selector, "matchLabels");
        const struct value *expressions = value_getc(selector, "matchExpressions");

        if (!value_is(selector, VALUE_MAP))
                return false;
        for (size_t i = 0; value_is(match, VALUE_MAP) && i < match->map.count; i++) {
                const struct value *label = value_get(labels, match->map.members[i].key);

                if (!label || !value_equal(label, match->map.members[i].value))
                        return false;
        }
        for (size_t i = 0; value_is(expressions, VALUE_LIST) && i < expressions->list.count; i++)
                if (!expression_matches(expressions->list.items[i], labels))
                        return false;
        return true;
}

static void add_expression(struct buf *out, const struct value *e) {
        struct str op = value_text(value_getc(e, "operator"));
        const struct value *values = value_getc(e, "values");

        if (str_eqc(op, "DoesNotExist"))
                buf_addch(out, '!');
        buf_add(out, value_text(value_getc(e, "key")));
        if (!str_eqc(op, "In") && !str_eqc(op, "NotIn"))
                return;
        buf_addc(out, str_eqc(op, "In") ? " in (" : " notin (");
        for (size_t i = 0; value_is(values, VALUE_LIST) && i < values->list.count; i++)
                buf_addf(out, "%s%.*s", i ? "," : "", STR_FMT(value_text(values->list.items[i])));
        buf_addch(out, ')');
}

struct str label_selector_text(const struct value *selector, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(1 << 16);
        const struct value *match = value_getc(selector, "matchLabels");
        const struct value *expressions = value_getc(selector, "matchExpressions");

        for (size_t i = 0; value_is(match, VALUE_MAP) && i < match->map.count; i++)
                buf_addf(&out, "%s%.*s=%.*s", out.n ? "," : "", STR_FMT(match->map.members[i].key),
                         STR_FMT(value_text(match->map.members[i].value)));
        for (size_t i = 0; value_is(expressions, VALUE_LIST) && i < expressions->list.count; i++) {
                if (out.n)
                        buf_addch(&out, ',');
                add_expression(&out, expressions->list.items[i]);
        }
        return arena_str(a, buf_str(&out));
}
