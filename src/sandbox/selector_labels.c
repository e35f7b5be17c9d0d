/* SPDX-License-Identifier: Apache-2.0 */
/* metav1.LabelSelector, as it stands in objects. */
#include <stdlib.h>

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

/* One requirement, as text, under its key. */
struct part {
        struct str key, text;
};

/* By key; equal keys stay in their order. */
static void add_part(struct part *parts, size_t *count, struct part part) {
        size_t at = (*count)++;

        for (; at > 0 && str_cmp(parts[at - 1].key, part.key) > 0; at--)
                parts[at] = parts[at - 1];
        parts[at] = part;
}

static int by_text(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static struct str expression_text(const struct value *e, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(1 << 16);
        struct str op = value_text(value_getc(e, "operator"));
        const struct value *values = value_getc(e, "values");
        size_t count = value_is(values, VALUE_LIST) ? values->list.count : 0;
        struct str *sorted = arena_alloc(a, (count + 1) * sizeof *sorted);

        if (str_eqc(op, "DoesNotExist"))
                buf_addch(&out, '!');
        buf_add(&out, value_text(value_getc(e, "key")));
        if (!str_eqc(op, "In") && !str_eqc(op, "NotIn"))
                return arena_str(a, buf_str(&out));
        for (size_t i = 0; i < count; i++)
                sorted[i] = value_text(values->list.items[i]);
        qsort(sorted, count, sizeof *sorted, by_text);
        buf_addc(&out, str_eqc(op, "In") ? " in (" : " notin (");
        for (size_t i = 0; i < count; i++)
                buf_addf(&out, "%s%.*s", i ? "," : "", STR_FMT(sorted[i]));
        buf_addch(&out, ')');
        return arena_str(a, buf_str(&out));
}

static struct str equality_text(const struct value_member *m, struct arena *a) {
        return arena_strf(a, "%.*s=%.*s", STR_FMT(m->key), STR_FMT(value_text(m->value)));
}

struct str label_selector_text(const struct value *selector, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(1 << 16);
        const struct value *match = value_getc(selector, "matchLabels");
        const struct value *expressions = value_getc(selector, "matchExpressions");
        size_t labels = value_is(match, VALUE_MAP) ? match->map.count : 0, count = 0;
        size_t others = value_is(expressions, VALUE_LIST) ? expressions->list.count : 0;
        struct part *parts = arena_alloc(a, (labels + others + 1) * sizeof *parts);

        for (size_t i = 0; i < labels; i++) {
                const struct value_member *m = &match->map.members[i];

                add_part(parts, &count, (struct part){ m->key, equality_text(m, a) });
        }
        for (size_t i = 0; i < others; i++) {
                const struct value *e = expressions->list.items[i];

                add_part(parts, &count, (struct part){ value_text(value_getc(e, "key")), expression_text(e, a) });
        }
        for (size_t i = 0; i < count; i++)
                buf_addf(&out, "%s%.*s", i ? "," : "", STR_FMT(parts[i].text));
        return arena_str(a, buf_str(&out));
}
