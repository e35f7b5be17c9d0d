/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_objects NAMESPACE FILE…: what truce makes for group 0 of LeaderWorkerSets, as a v1 List of JSON a file: its
 * Service and revision, then each member's claims and Pod, gated. A file holds one LeaderWorkerSet, or has it under the
 * key "set" as the cases of tests/cases/group/build do. For scripts.
 */
#include "../read_file.h"

#include "base/limits.h"
#include "base/yaml.h"
#include "group/build.h"
#include "group/spec.h"

static const struct value *filled(const struct value *set, const char *ns, struct arena *a) {
        const struct value *metadata = value_getc(set, "metadata");

        if (!value_getc(metadata, "name"))
                metadata = value_with(a, metadata, STR("name"), value_stringc(a, "demo"));
        metadata = value_with(a, metadata, STR("namespace"), value_stringc(a, ns));
        metadata = value_with(a, metadata, STR("uid"), value_stringc(a, "f00dcafe-0000-4000-8000-000000000001"));
        set = value_with(a, set, STR("metadata"), metadata);
        set = value_with(a, set, STR("apiVersion"), value_stringc(a, "leaderworkerset.x-k8s.io/v1"));
        return value_with(a, set, STR("kind"), value_stringc(a, "LeaderWorkerSet"));
}

static void add_member(const struct group_spec *s, int32_t worker, struct arena *a, struct value_list_builder *list) {
        struct group_place at = {
                .worker = worker,
                .incarnation = STR("1a2b3c4d"),
                .topology_value = STR("r1"),
                .gated = true,
        };

        for (size_t i = 0; i < value_count(s->now.claims); i++)
                value_list_add(list, group_build_claim(s, &s->now, s->now.claims->list.items[i], &at, a));
        value_list_add(list, group_build_pod(s, &s->now, &at, a));
}

static int print_objects(const struct value *set, struct arena *a, struct err *err) {
        struct value_list_builder list = { 0 };
        struct group_problems problems = { 0 };
        struct group_spec s;

        if (group_spec_read(set, a, &s, &problems) < 0)
                return err_set(err, ERR_INVAL, "%.*s: %.*s", STR_FMT(problems.items[0].path),
                               STR_FMT(problems.items[0].text));
        value_list_add(&list, group_build_service(&s, s.now.subdomain == GROUP_SUBDOMAIN_UNIQUE ? 0 : -1, a));
        value_list_add(&list, group_build_revision(&s, &s.now, 1, a));
        for (int32_t w = 0; w < s.now.size; w++)
                add_member(&s, w, a, &list);
        const struct value *v = value_with(a, NULL, STR("items"), value_list_end(&list, a, 0));
        v = value_with(a, v, STR("apiVersion"), value_stringc(a, "v1"));
        v = value_with(a, v, STR("kind"), value_stringc(a, "List"));
        printf("%s\n", value_canonical(a, v).p);
        return 0;
}

static int print_file(const char *path, const char *ns, struct arena *a, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        const struct yaml_document *docs;
        size_t count;

        if (!read_file(path, &text))
                return err_set(err, ERR_NOTFOUND, "it cannot be read");
        int r = yaml_parse(buf_str(&text), a, &docs, &count, err);
        if (r < 0)
                return r;
        if (count != 1)
                return err_set(err, ERR_INVAL, "it holds %zu documents", count);
        const struct value *set = value_getc(docs[0].value, "set");
        return print_objects(filled(set ? set : docs[0].value, ns, a), a, err);
}

int main(int argc, char **argv) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct err err;

        for (int i = 2; i < argc; i++)
                if (print_file(argv[i], argv[1], a, &err) < 0) {
                        fprintf(stderr, "%s: %s\n", argv[i], err.msg);
                        return EXIT_FAILURE;
                }
        return EXIT_SUCCESS;
}
