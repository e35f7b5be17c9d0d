/* SPDX-License-Identifier: Apache-2.0 */
/* The headless Service that gives pods their DNS names, one for all groups or one each. */
#include "group/build_impl.h"

const struct value *group_build_service(const struct group_spec *s, int32_t group, struct arena *a) {
        struct str name = group < 0 ? s->name : group_name_leader(a, s->name, group);
        const struct value *selector = build_set(a, NULL, GROUP_LABEL_NAME, s->name);

        if (group >= 0)
                selector = build_set_number(a, selector, GROUP_LABEL_GROUP_INDEX, group);
        const struct value *spec = build_set(a, NULL, "clusterIP", STR("None"));
        spec = value_with(a, spec, STR("selector"), selector);
        /* Members look each other up before they are ready. */
        spec = value_with(a, spec, STR("publishNotReadyAddresses"), &value_true);
        /* What it selects by is what it is found by, too. */
        const struct value *metadata = build_metadata(s, name, selector, NULL, true, a);
        return value_with(a, build_object(a, "v1", "Service", metadata), STR("spec"), spec);
}
