/* SPDX-License-Identifier: Apache-2.0 */
/* Label selectors: are they well-formed, and do they match? */
#include "sandbox/validate_impl.h"

static const char *const set_operators[] = { "In", "NotIn", NULL };
static const char *const existence_operators[] = { "Exists", "DoesNotExist", NULL };

static void check_requirement(struct check *c, const struct at *at, const struct value *r) {
        struct str operator= text_of(r, "operator");
        const struct value *values = get(r, "values");

        if (is_one_of(operator, set_operators)) {
                if (!value_count(values))
                        fault_required(c, AT(at, "values"), "must be specified when `operator` is 'In' or 'NotIn'");
        } else if (is_one_of(operator, existence_operators)) {
                if (value_count(values))
                        fault_forbidden(c, AT(at, "values"),
                                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        } else
                fault_invalid_str(c, AT(at, "operator"), operator, "not a valid selector operator");
        check_text(c, AT(at, "key"), TEXT_LABEL_KEY, text_of(r, "key"));
        for (EACH(i, values))
                check_text(c, AT_INDEX(AT(at, "values"), i), TEXT_LABEL_VALUE, value_text(item_of(values, i)));
}

void check_selector(struct check *c, const struct at *at, const struct value *selector) {
        const struct value *expressions = get(selector, "matchExpressions");

        check_labels(c, AT(at, "matchLabels"), get(selector, "matchLabels"));
        for (EACH(i, expressions))
                check_requirement(c, AT_INDEX(AT(at, "matchExpressions"), i), item_of(expressions, i));
}

static bool requirement_is_usable(const struct value *r) {
        struct str operator= text_of(r, "operator");
        const struct value *values = get(r, "values");

        if (is_one_of(operator, set_operators) ? !value_count(values)
                                               : !is_one_of(operator, existence_operators) || value_count(values))
                return false;
        for (EACH(i, values))
                if (!text_keeps(TEXT_LABEL_VALUE, value_text(item_of(values, i))))
                        return false;
        return text_keeps(TEXT_LABEL_KEY, text_of(r, "key"));
}

bool selector_is_usable(const struct value *selector) {
        const struct value *expressions = get(selector, "matchExpressions");

        for (EACH_MEMBER(m, get(selector, "matchLabels")))
                if (!text_keeps(TEXT_LABEL_KEY, m->key) || !text_keeps(TEXT_LABEL_VALUE, value_text(m->value)))
                        return false;
        for (EACH(i, expressions))
                if (!requirement_is_usable(item_of(expressions, i)))
                        return false;
        return true;
}

static bool requirement_matches(const struct value *r, const struct value *labels) {
        const struct value *has = value_get(labels, text_of(r, "key")), *values = get(r, "values");
        struct str operator= text_of(r, "operator");
        bool found = false;

        if (is_one_of(operator, existence_operators))
                return (has != NULL) == str_eqc(operator, "Exists");
        for (EACH(i, values))
                found = found || (has && str_eq(value_text(has), value_text(item_of(values, i))));
        return found == str_eqc(operator, "In");
}

bool selector_matches(const struct value *selector, const struct value *labels) {
        const struct value *expressions = get(selector, "matchExpressions");

        if (!selector)
                return false;
        for (EACH_MEMBER(m, get(selector, "matchLabels")))
                if (!value_get(labels, m->key) || !str_eq(value_text(value_get(labels, m->key)), value_text(m->value)))
                        return false;
        for (EACH(i, expressions))
                if (!requirement_matches(item_of(expressions, i), labels))
                        return false;
        return true;
}

struct str selector_json(const struct value *selector, struct arena *a) {
        static const char *const fields[] = { "matchLabels", "matchExpressions", NULL };
        static const char *const requirement[] = { "key", "operator", "values", NULL };
        const struct value *expressions = get(selector, "matchExpressions");
        struct str all = STR(""), labels;

        if (!selector)
                return STR("null");
        if (!value_count(expressions))
                return go_json_fields(selector, fields, a);
        for (EACH(i, expressions)) {
                struct str one = go_json_fields(item_of(expressions, i), requirement, a);

                all = arena_strf(a, "%.*s%s%.*s", STR_FMT(all), i ? "," : "", STR_FMT(one));
        }
        labels = count_of(selector, "matchLabels")
                         ? arena_strf(a, "\"matchLabels\":%s,", go_json(get(selector, "matchLabels"), a).p)
                         : STR("");
        return arena_strf(a, "{%.*s\"matchExpressions\":[%.*s]}", STR_FMT(labels), STR_FMT(all));
}
