/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/convert.h"

#include "sandbox/codec.h"

struct renaming {
        const char *from, *to;
};

/* core/v1 Event and events.k8s.io/v1 Event. */
static const struct renaming event_fields[] = {
        { "involvedObject", "regarding" },
        { "message", "note" },
        { "reportingComponent", "reportingController" },
        { "source", "deprecatedSource" },
        { "firstTimestamp", "deprecatedFirstTimestamp" },
        { "lastTimestamp", "deprecatedLastTimestamp" },
        { "count", "deprecatedCount" },
};

static const struct value *rename_field(const struct value *v, const char *from, const char *to, struct arena *a) {
        const struct value *field = value_getc(v, from);

        if (!field)
                return v;
        return value_with(a, value_with(a, v, str_from(from), NULL), str_from(to), field);
}

static const struct value *convert_event(const struct value *v, bool to_core, struct arena *a) {
        for (size_t i = 0; i < ARRAY_LEN(event_fields); i++)
                v = to_core ? rename_field(v, event_fields[i].to, event_fields[i].from, a)
                            : rename_field(v, event_fields[i].from, event_fields[i].to, a);
        return v;
}

/* ---- HorizontalPodAutoscaler: v1 knows one number, v2 a list of metrics ---- */

static const struct value *map2(struct arena *a, const char *k1, const struct value *v1, const char *k2,
                                const struct value *v2) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, str_from(k1), v1, 0);
        value_map_add(&b, str_from(k2), v2, 0);
        return value_map_end(&b, a, 0);
}

static const struct value *cpu_metric(const struct value *percent, bool is_status, struct arena *a) {
        const struct value *number;
        const struct value *name = value_stringc(a, "cpu");

        if (is_status) {
                number = value_with(a, NULL, STR("averageUtilization"), percent);
                number = value_with(a, number, STR("averageValue"), value_stringc(a, "0"));
        } else {
                number = map2(a, "averageUtilization", percent, "type", value_stringc(a, "Utilization"));
        }
        const struct value *resource = map2(a, "name", name, is_status ? "current" : "target", number);
        const struct value *metric = map2(a, "resource", resource, "type", value_stringc(a, "Resource"));
        struct value_list_builder list = { 0 };
        value_list_add(&list, metric);
        return value_list_end(&list, a, 0);
}

static const struct value *percent_of(const struct value *metrics, const char *part) {
        for (size_t i = 0; value_is(metrics, VALUE_LIST) && i < metrics->list.count; i++) {
                const struct value *resource = value_getc(metrics->list.items[i], "resource");

                if (str_eqc(value_text(value_getc(resource, "name")), "cpu"))
                        return value_path(resource, part, "averageUtilization", NULL);
        }
        return NULL;
}

static const struct value *replace(const struct value *v, const char *section, const char *gone, const char *field,
                                   const struct value *value, struct arena *a) {
        const struct value *part = value_getc(v, section);

        if (!value_is(part, VALUE_MAP))
                return v;
        part = value_with(a, part, str_from(gone), NULL);
        if (value)
                part = value_with(a, part, str_from(field), value);
        return value_with(a, v, str_from(section), part);
}

static const struct value *autoscaler_to_v2(const struct value *v, struct arena *a) {
        const struct value *target = value_path(v, "spec", "targetCPUUtilizationPercentage", NULL);
        const struct value *current = value_path(v, "status", "currentCPUUtilizationPercentage", NULL);

        v = replace(v, "spec", "targetCPUUtilizationPercentage", "metrics",
                    target ? cpu_metric(target, false, a) : NULL, a);
        return replace(v, "status", "currentCPUUtilizationPercentage", "currentMetrics",
                       current ? cpu_metric(current, true, a) : &value_null, a);
}

static const struct value *autoscaler_to_v1(const struct value *v, struct arena *a) {
        const struct value *target = percent_of(value_path(v, "spec", "metrics", NULL), "target");
        const struct value *current = percent_of(value_path(v, "status", "currentMetrics", NULL), "current");

        v = replace(v, "spec", "metrics", "targetCPUUtilizationPercentage", target, a);
        v = replace(v, "spec", "behavior", "targetCPUUtilizationPercentage", target, a);
        v = replace(v, "status", "conditions", "", NULL, a);
        return replace(v, "status", "currentMetrics", "currentCPUUtilizationPercentage", current, a);
}

/* Which empty fields are written out is the version's own. */
static const struct value *as_printed(const struct kind *to, const struct value *object, struct arena *a) {
        struct causes strict = { .arena = a };

        codec_decode(kind_type(to), object, false, a, &object, &strict, NULL);
        causes_done(&strict);
        return object;
}

const struct value *convert(const struct kind *from, const struct kind *to, const struct value *object,
                            struct arena *a) {
        if (from == to)
                return object;
        object = value_with(a, object, STR("apiVersion"), value_string(a, to->api_version, 0));
        if (from->is_custom)
                return object;
        if (str_eqc(from->resource->kind, "Event"))
                object = convert_event(object, to->resource->group.n == 0, a);
        else if (str_eqc(from->resource->kind, "HorizontalPodAutoscaler"))
                object = str_eqc(to->resource->version, "v2") ? autoscaler_to_v2(object, a)
                                                              : autoscaler_to_v1(object, a);
        return as_printed(to, object, a);
}
