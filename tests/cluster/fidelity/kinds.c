/* SPDX-License-Identifier: Apache-2.0 */
/* Reads kinds.yaml. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pointer.h"
#include "base/yaml.h"
#include "bodies.h"

#define FILE_MAX_BYTES (1 << 20)

static void give_up(const char *path, const char *why) {
        fprintf(stderr, "fidelity: %s: %s\n", path, why);
        exit(1);
}

const struct yaml_document *yaml_load(const char *path, struct arena *a, size_t *ret_count) {
        _cleanup_(mem_freep) char *text = mem_alloc(FILE_MAX_BYTES);
        const struct yaml_document *documents;
        FILE *f = fopen(path, "re");
        struct err err = { 0 };
        size_t n;

        if (!f)
                give_up(path, "cannot be opened");
        n = fread(text, 1, FILE_MAX_BYTES, f);
        fclose(f);
        if (yaml_parse(arena_str(a, (struct str){ text, n }), a, &documents, ret_count, &err) < 0)
                give_up(path, err.msg);
        return documents;
}

static void read_parts(const char *path, struct arena *a, const struct value *map, struct part *parts, size_t *count) {
        for (size_t i = 0; map && i < map->map.count; i++) {
                struct pointer p;

                if (pointer_parse(map->map.members[i].key, a, &p, NULL) < 0)
                        give_up(path, map->map.members[i].key.p);
                parts[(*count)++] = (struct part){ p.tokens, p.count, map->map.members[i].value };
        }
}

static bool has_subresource(const struct value *kind, const char *name) {
        const struct value *list = value_getc(kind, "subresources");

        for (size_t i = 0; i < value_count(list); i++)
                if (str_eqc(value_text(list->list.items[i]), name))
                        return true;
        return false;
}

static void read_kind(const char *path, struct arena *a, const struct value *common, const struct value *from,
                      struct kind *k) {
        const struct value *parts = value_getc(from, "parts"), *more = value_getc(from, "more");
        const struct value *status = value_getc(from, "status");
        struct part *list = arena_alloc(
                a, (2 * value_count(common) + value_count(parts) + 3 * value_count(more)) * sizeof *list);
        struct part *status_list = arena_alloc(a, (value_count(status) + 1) * sizeof *status_list);

        k->name = value_text(value_getc(from, "kind"));
        k->api_version = value_text(value_getc(from, "apiVersion"));
        k->plural = value_text(value_getc(from, "plural"));
        k->base = value_getc(from, "base");
        k->account = value_getc(from, "account");
        k->status = has_subresource(from, "status");
        k->scale = has_subresource(from, "scale");
        k->cluster = value_truth(value_getc(from, "cluster"), false);
        k->no_deletecollection = str_eqc(value_text(value_getc(from, "without")), "deletecollection");
        k->custom = str_contains(k->api_version, STR("fidelity"));
        read_parts(path, a, common, list, &k->part_count);
        k->common_count = k->part_count;
        read_parts(path, a, parts, list, &k->part_count);
        for (int i = 0; i < 3; i++) /* what a kind has of its own comes more often than what it shares */
                read_parts(path, a, more, list, &k->part_count);
        read_parts(path, a, status, status_list, &k->status_part_count);
        k->parts = list;
        k->status_parts = status_list;
}

void kinds_load(const char *path, struct arena *a, struct kinds *ret_kinds) {
        size_t count;
        const struct yaml_document *documents = yaml_load(path, a, &count);
        const struct value *list = count ? value_getc(documents[0].value, "kinds") : NULL;

        *ret_kinds = (struct kinds){ arena_zalloc(a, value_count(list) * sizeof(struct kind)), value_count(list) };
        for (size_t i = 0; i < ret_kinds->count; i++)
                read_kind(path, a, value_getc(documents[0].value, "common"), list->list.items[i], &ret_kinds->list[i]);
}
