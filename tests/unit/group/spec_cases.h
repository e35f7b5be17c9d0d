/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of tests/cases/group/spec, and the LeaderWorkerSet that one of them is about. */
#ifndef TRUCE_TEST_GROUP_SPEC_CASES_H
#define TRUCE_TEST_GROUP_SPEC_CASES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../read_file.h"
#include "base/limits.h"
#include "base/yaml.h"

#define SPEC_CASES     TRUCE_SOURCE_DIR "/tests/cases/group/spec"
#define SPEC_CASES_MAX 500

struct spec_cases {
        const struct value *items[SPEC_CASES_MAX];
        size_t count;
};

/* Adds the documents of a YAML file. */
static inline void spec_cases_add_file(struct spec_cases *cases, const char *path, struct arena *a) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        const struct yaml_document *docs = NULL;
        struct err err = { 0 };
        size_t count = 0;

        if (!read_file(path, &text) || yaml_parse(arena_str(a, buf_str(&text)), a, &docs, &count, &err) < 0) {
                fprintf(stderr, "%s: %s\n", path, err.msg);
                abort();
        }
        for (size_t i = 0; i < count && cases->count < SPEC_CASES_MAX; i++)
                if (docs[i].value)
                        cases->items[cases->count++] = docs[i].value;
}

static inline struct spec_cases spec_cases_load(const char *folder, struct arena *a) {
        struct spec_cases cases = { .count = 0 };
        DIR *dir = opendir(folder);
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (str_ends(str_from(entry->d_name), STR(".yaml")))
                        spec_cases_add_file(&cases, arena_strf(a, "%s/%s", folder, entry->d_name).p, a);
        if (dir)
                closedir(dir);
        return cases;
}

/* The spec with a template of workers, where it has none. */
static inline const struct value *spec_case_spec(const struct value *spec, bool bare, struct arena *a) {
        const struct str path[] = { STR("leaderWorkerTemplate"), STR("workerTemplate"), STR("spec"),
                                    STR("containers") };
        struct value_list_builder containers = { 0 };
        const struct value *container = value_with(a, NULL, STR("name"), value_stringc(a, "main"));

        if (bare)
                return spec;
        value_list_add(&containers, value_with(a, container, STR("image"), value_stringc(a, "busybox")));
        return value_with_path(a, spec, path, 4, value_list_end(&containers, a, 0));
}

static inline const struct value *spec_case_object(const struct value *doc, struct arena *a) {
        const struct value *meta = value_getc(doc, "metadata"), *bare = value_getc(doc, "bare");
        const struct value *spec = spec_case_spec(value_getc(doc, "spec"), value_truth(bare, false), a);
        const struct value *object = value_with(a, NULL, STR("spec"), spec);

        if (!meta)
                meta = value_with(a, value_with(a, NULL, STR("name"), value_stringc(a, "demo")), STR("namespace"),
                                  value_stringc(a, "shop"));
        object = value_with(a, object, STR("metadata"), meta);
        object = value_with(a, object, STR("kind"), value_stringc(a, "LeaderWorkerSet"));
        return value_with(a, object, STR("apiVersion"), value_stringc(a, "leaderworkerset.x-k8s.io/v1"));
}

#endif
