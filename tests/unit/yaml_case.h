/* SPDX-License-Identifier: Apache-2.0 */
/* For tests whose cases are YAML files: one file, and which keys its maps may have. Include it after cmocka.h. */
#ifndef TRUCE_TEST_YAML_CASE_H
#define TRUCE_TEST_YAML_CASE_H

#include "../read_file.h"
#include "base/limits.h"
#include "base/yaml.h"

/* The only document of the file, in the arena. */
static inline const struct value *read_yaml(struct arena *a, const char *path) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        const struct yaml_document *docs = NULL;
        struct err err = { 0 };
        size_t count = 0;

        if (!read_file(path, &text) || yaml_parse(arena_str(a, buf_str(&text)), a, &docs, &count, &err) < 0)
                fail_msg("%s: %s", path, err.code ? err.msg : "cannot be read");
        assert_int_equal(count, 1);
        return docs[0].value;
}

static inline void only_keys(const char *name, const struct value *map, const char *const *known, size_t count) {
        for (size_t i = 0; i < value_count(map); i++) {
                size_t k = 0;

                while (k < count && !str_eqc(map->map.members[i].key, known[k]))
                        k++;
                if (k == count)
                        fail_msg("%s: unknown key %.*s", name, STR_FMT(map->map.members[i].key));
        }
}
#define ONLY_KEYS(p, map, ...)                                                                                         \
        only_keys((p)->name, map, (const char *const[]){ __VA_ARGS__ },                                                \
                  sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

#endif
