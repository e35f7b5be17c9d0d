/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/value.h"
#include "cli/words.h"

#define COVERAGE_MAX_BYTES (256 * MIB)

struct coverage_script {
        struct str file;
        struct lua_coverage *lines; /* [0] is no line */
};

static size_t count_lines(struct str text) {
        size_t lines = 1;

        for (size_t i = 0; i < text.n; i++)
                lines += text.p[i] == '\n';
        return lines - (text.n && text.p[text.n - 1] == '\n');
}

struct lua_coverage *coverage_of(struct coverage *c, struct str file, struct str text) {
        struct lua_coverage *lines;
        size_t count = count_lines(text) + 1;

        for (size_t i = 0; i < c->count; i++)
                if (str_eq(c->scripts[i].file, file))
                        return c->scripts[i].lines;
        lines = arena_alloc(c->arena, sizeof *lines);
        *lines = (struct lua_coverage){ .lines = arena_zalloc(c->arena, count), .count = count };
        c->scripts = mem_grow(c->scripts, &c->cap, c->count + 1, sizeof *c->scripts);
        c->scripts[c->count++] = (struct coverage_script){ arena_str(c->arena, file), lines };
        return lines;
}

static const struct value *script_value(const struct coverage_script *s, struct arena *a) {
        struct value_list_builder run = { 0 };
        struct value_map_builder b = { 0 };

        for (size_t i = 1; i < s->lines->count; i++)
                if (s->lines->lines[i])
                        value_list_add(&run, value_int(a, (int64_t)i, 0));
        value_map_add(&b, STR("file"), value_string(a, s->file, 0), 0);
        value_map_add(&b, STR("lines"), value_int(a, (int64_t)s->lines->count - 1, 0), 0);
        value_map_add(&b, STR("run"), value_list_end(&run, a, 0), 0);
        return value_map_end(&b, a, 0);
}

static int write_file(struct str path, struct str text, struct arena *a, struct err *err) {
        struct str name = arena_str(a, path);
        FILE *f = fopen(name.p, "we");

        if (!f)
                return err_set_errno(err, errno, "cannot write %s", name.p);
        errno = 0;
        fwrite(text.p, 1, text.n, f);
        bool failed = ferror(f) != 0;
        failed |= fclose(f) != 0;
        return failed ? err_set_errno(err, errno, "cannot write %s", name.p) : 0;
}

int coverage_write(const struct coverage *c, struct str path, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(COVERAGE_MAX_BYTES);
        struct value_list_builder scripts = { 0 };
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < c->count; i++)
                value_list_add(&scripts, script_value(&c->scripts[i], c->arena));
        value_map_add(&b, STR("scripts"), value_list_end(&scripts, c->arena, 0), 0);
        words_add_json(value_map_end(&b, c->arena, 0), &text);
        return write_file(path, buf_str(&text), c->arena, err);
}

void coverage_done(struct coverage *c) {
        free(c->scripts);
}
