/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims and volumes. Source: k8s.io/kubernetes pkg/api/persistentvolumeclaim/util.go,
 * pkg/registry/core/persistentvolume/strategy.go.
 */
#include "sandbox/codec.h"
#include "sandbox/prepare.h"

/* ---- a claim's source of data, which can be told in two ways ---- */

static const struct value *source_of(const struct value *spec, const char *field) {
        const struct value *v = value_getc(spec, field);

        return value_is(v, VALUE_MAP) ? v : NULL;
}

static bool is_claim_or_snapshot(const struct value *source) {
        struct str group = value_text(value_getc(source, "apiGroup")), kind = value_text(value_getc(source, "kind"));

        return (group.n == 0 && str_eqc(kind, "PersistentVolumeClaim")) ||
               (str_eqc(group, "snapshot.storage.k8s.io") && str_eqc(kind, "VolumeSnapshot"));
}

static bool is_elsewhere(const struct value *ref) {
        return value_text(value_getc(ref, "namespace")).n > 0;
}

/* The other way of telling the same. */
static const struct value *without_namespace(const struct value *ref, struct arena *a) {
        return value_with(a, ref, STR("namespace"), NULL);
}

int prepare_claim(struct call *c, const struct value *live, const struct value **object) {
        const struct value *before = value_getc(live, "spec"), *spec = value_getc(*object, "spec");
        const struct value *source = source_of(spec, "dataSource"), *ref = source_of(spec, "dataSourceRef");

        if (!value_is(spec, VALUE_MAP))
                return 0;
        /* Another namespace's is behind a feature gate. */
        if (is_elsewhere(ref) && !source_of(before, "dataSourceRef"))
                ref = NULL;
        if (!ref && !is_claim_or_snapshot(source) && !source_of(before, "dataSource") &&
            !source_of(before, "dataSourceRef"))
                source = NULL;
        if (source && !ref)
                ref = source;
        else if (ref && !source && !is_elsewhere(ref))
                source = without_namespace(ref, c->a);
        spec = value_with(c->a, spec, STR("dataSource"), source);
        *object = value_with(c->a, *object, STR("spec"), value_with(c->a, spec, STR("dataSourceRef"), ref));
        return 0;
}

/* ---- when a volume's phase changed ---- */

static const struct value *with_transition(const struct value *object, const struct value *time, struct arena *a) {
        static const struct str path[] = { { "status", 6 }, { "lastPhaseTransitionTime", 23 } };

        return value_with_path(a, object, path, 2, time);
}

int prepare_new_volume(struct call *c, const struct value **object) {
        static const struct str path[] = { { "status", 6 }, { "phase", 5 } };

        *object = value_with_path(c->a, *object, path, 2, value_stringc(c->a, "Pending"));
        *object = with_transition(*object, value_string(c->a, c->now, 0), c->a);
        return 0;
}

int prepare_volume_status(struct call *c, const struct value *live, const struct value **object) {
        const struct value *old = value_path(live, "status", "lastPhaseTransitionTime", NULL);
        const struct value *now = value_path(*object, "status", "lastPhaseTransitionTime", NULL);
        bool same_phase = str_eq(value_text(value_path(live, "status", "phase", NULL)),
                                 value_text(value_path(*object, "status", "phase", NULL)));

        if (same_phase && !now)
                *object = with_transition(*object, old, c->a);
        else if (!same_phase && (!now || (old && value_equal(now, old))))
                *object = with_transition(*object, value_string(c->a, c->now, 0), c->a);
        return 0;
}
