/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_json FILE…: the documents of YAML files as truce reads them, a line of JSON for each file: a list. For scripts. */
#include "../read_file.h"

#include "base/limits.h"
#include "base/yaml.h"

static int print_file(const char *path, struct arena *a, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        struct value_list_builder list = { 0 };
        const struct yaml_document *docs;
        size_t count;
        int r;

        if (!read_file(path, &text))
                return err_set(err, ERR_NOTFOUND, "it cannot be read");
        r = yaml_parse(buf_str(&text), a, &docs, &count, err);
        for (size_t i = 0; r == 0 && i < count; i++)
                if (docs[i].value)
                        value_list_add(&list, docs[i].value);
        struct str json = value_canonical(a, value_list_end(&list, a, 0));
        if (r == 0)
                printf("%.*s\n", STR_FMT(json));
        return r;
}

int main(int argc, char **argv) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct err err;

        for (int i = 1; i < argc; i++)
                if (print_file(argv[i], a, &err) < 0) {
                        fprintf(stderr, "%s: %s\n", argv[i], err.msg);
                        return EXIT_FAILURE;
                }
        return EXIT_SUCCESS;
}
