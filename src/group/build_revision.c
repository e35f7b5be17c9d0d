/* SPDX-License-Identifier: Apache-2.0 */
/* The ControllerRevision that holds a template: what a group that is not up to date is rebuilt from. */
#include "group/build_impl.h"

const struct value *group_build_revision(const struct group_spec *s, const struct group_template *t, int64_t number,
                                         struct arena *a) {
        const struct value *labels = build_set(a, NULL, GROUP_LABEL_NAME, s->name);
        struct str name = group_name_revision(a, s->name, t->hash, number);

        labels = build_set(a, labels, GROUP_LABEL_REVISION, t->hash);
        const struct value *metadata = build_metadata(s, name, labels, NULL, true, a);
        const struct value *revision = build_object(a, "apps/v1", "ControllerRevision", metadata);
        revision = value_with(a, revision, STR("data"), t->payload);
        return value_with(a, revision, STR("revision"), value_int(a, number, 0));
}
