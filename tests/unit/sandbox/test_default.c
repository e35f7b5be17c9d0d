/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a real API server stored for the inputs of tests/cases/sandbox_default (see tests/cluster/record_defaults.py),
 * against decode, prune and default. Status and what strategies and allocators fill in are other modules' work.
 */
#include "codec_test.h"

/* Made by the registry's strategies, allocators and admission, not by decoding and defaulting. */
static const struct {
        const char *kind, *path;
} made_elsewhere[] = {
        { NULL, "status" },
        { NULL, "metadata.generation" },
        { NULL, "metadata.namespace" },
        { NULL, "metadata.selfLink" },
        { NULL, "metadata.generateName" },
        { "DaemonSet", "metadata.annotations" },
        { "Job", "spec.selector" },
        { "Job", "spec.template.metadata.labels" },
        { "Namespace", "spec" },
        { "Node", "spec.taints" },
        { "PersistentVolume", "metadata.finalizers" },
        { "PersistentVolumeClaim", "metadata.finalizers" },
        { "Pod", "spec.preemptionPolicy" },
        { "Pod", "spec.priority" },
        { "Pod", "spec.tolerations" },
        { "Service", "spec.clusterIP" },
        { "Service", "spec.clusterIPs" },
        { "Service", "spec.ipFamilies" },
        { "Service", "spec.ipFamilyPolicy" },
        { "Service", "spec.ports[0].nodePort" },
};

static bool is_made_elsewhere(struct str kind, struct str path) {
        for (size_t i = 0; i < ARRAY_LEN(made_elsewhere); i++)
                if ((!made_elsewhere[i].kind || str_eqc(kind, made_elsewhere[i].kind)) &&
                    str_eqc(path, made_elsewhere[i].path))
                        return true;
        return false;
}

/* --- differences, told with their paths --- */

struct comparison {
        struct str kind, name;
        unsigned differences;
};

static void tell(struct comparison *c, struct str path, const struct value *want, const struct value *have) {
        struct str wanted = want ? value_canonical(a, want) : STR("(absent)");
        struct str got = have ? value_canonical(a, have) : STR("(absent)");

        if (is_made_elsewhere(c->kind, path))
                return;
        c->differences++;
        print_message("%.*s %.*s: %.*s: the server has %.*s, we have %.*s\n", STR_FMT(c->kind), STR_FMT(c->name),
                      STR_FMT(path), STR_FMT(wanted), STR_FMT(got));
}

static void compare(struct comparison *c, struct str path, const struct value *want, const struct value *have);

static void compare_maps(struct comparison *c, struct str path, const struct value *want, const struct value *have) {
        for (size_t i = 0; i < want->map.count; i++) {
                struct str key = want->map.members[i].key;
                struct str inner = arena_strf(a, "%.*s%s%.*s", STR_FMT(path), path.n ? "." : "", STR_FMT(key));

                compare(c, inner, want->map.members[i].value, value_get(have, key));
        }
        for (size_t i = 0; i < have->map.count; i++) {
                struct str key = have->map.members[i].key;

                if (!value_get(want, key))
                        tell(c, arena_strf(a, "%.*s%s%.*s", STR_FMT(path), path.n ? "." : "", STR_FMT(key)), NULL,
                             have->map.members[i].value);
        }
}

static void compare(struct comparison *c, struct str path, const struct value *want, const struct value *have) {
        if (is_made_elsewhere(c->kind, path))
                return;
        if (value_is(want, VALUE_MAP) && value_is(have, VALUE_MAP)) {
                compare_maps(c, path, want, have);
                return;
        }
        if (value_is(want, VALUE_LIST) && value_is(have, VALUE_LIST) && want->list.count == have->list.count) {
                for (size_t i = 0; i < want->list.count; i++)
                        compare(c, arena_strf(a, "%.*s[%zu]", STR_FMT(path), i), want->list.items[i],
                                have->list.items[i]);
                return;
        }
        if (!value_equal(want, have) || (want && !str_eq(value_canonical(a, want), value_canonical(a, have))))
                tell(c, path, want, have);
}

/* --- cases --- */

static unsigned compare_case(const struct type *custom, const struct value *one) {
        const struct value *input = value_getc(one, "input"), *object = NULL;
        struct comparison c = { .kind = value_text(value_getc(input, "kind")),
                                .name = value_text(value_path(input, "metadata", "name", NULL)) };
        struct str api_version = value_text(value_getc(input, "apiVersion"));
        const struct type *t = type_table_find(types, api_version, c.kind);
        struct err err = { 0 };

        t = t ? t : custom;
        assert_non_null(t);
        if (codec_decode(t, input, t == custom, a, &object, NULL, &err) < 0)
                fail_msg("%.*s: %s", STR_FMT(c.name), err.msg);
        object = codec_default(t, api_version, c.kind, object, a);
        compare(&c, STR(""), value_getc(one, "stored"), object);
        /* Defaulting what was defaulted changes nothing. */
        assert_true(value_equal(codec_default(t, api_version, c.kind, object, a), object));
        return c.differences;
}

static void objects_are_what_a_real_server_stored(void **state) {
        static const char *const files[] = { "core", "custom", "other", "workloads" };
        unsigned cases = 0, differences = 0;

        (void)state;
        for (size_t f = 0; f < ARRAY_LEN(files); f++) {
                const struct value *list = read_cases(arena_strf(a, "sandbox_default/%s.json", files[f]).p);
                const struct value *crd = value_getc(list->list.items[0], "input");
                const struct type *custom = NULL;

                if (strcmp(files[f], "custom") == 0)
                        assert_int_equal(type_from_crd(crd, STR("v1"), types, a, &custom, NULL), 0);
                for (size_t i = 0; i < list->list.count; i++, cases++)
                        differences += compare_case(custom, list->list.items[i]);
        }
        assert_true(cases >= 100);
        assert_int_equal(differences, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                codec_test(objects_are_what_a_real_server_stored),
        };

        return cmocka_run_group_tests_name("default", tests, NULL, NULL);
}
