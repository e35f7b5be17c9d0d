/* SPDX-License-Identifier: Apache-2.0 */
#include "health/health.h"

#include "health/guard.h"

static const char *const names[] = {
        [HEALTH_NONE] = "",
        [HEALTH_HEALTHY] = "Healthy",
        [HEALTH_SUSPENDED] = "Suspended",
        [HEALTH_PROGRESSING] = "Progressing",
        [HEALTH_MISSING] = "Missing",
        [HEALTH_DEGRADED] = "Degraded",
        [HEALTH_UNKNOWN] = "Unknown",
};

const char *health_name(enum health_code code) {
        return names[code];
}

bool health_from_name(struct str name, enum health_code *ret_code) {
        for (size_t i = HEALTH_HEALTHY; i < ARRAY_LEN(names); i++)
                if (str_eqc(name, names[i])) {
                        *ret_code = (enum health_code)i;
                        return true;
                }
        return false;
}

static bool is_marked(const struct value *object, const char *annotation) {
        return str_eqc(value_text(value_path(object, "metadata", "annotations", annotation, NULL)), "true");
}

struct health_marks health_marks_of(const struct value *object) {
        return (struct health_marks){
                .ignored = is_marked(object, HEALTH_IGNORE_ANNOTATION),
                .suspended_is_healthy = is_marked(object, HEALTH_SUSPENDED_ANNOTATION),
        };
}
