/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON pointers as rules, on Git's object and a live one. The input is in parts, with a line "--" between them: pointers,
 * one a line; Git's object; the live one; what jq found in Git's; and in the live one (all four JSON).
 *
 * A pointer is read or refused, and is the same when written and read again. What is ignored is there where it is said to
 * be, is neither the object itself nor its status, and is not there any more in what is compared.
 */
#include "fuzz.h"

#include "base/json.h"
#include "base/limits.h"
#include "diff/ignore.h"
#include "own/path_read.h"

#define PARTS 5
#define MAX_POINTERS 64

static void cut_parts(struct str input, struct str *parts) {
        struct str rest = input, line;
        size_t n = 0;

        for (size_t i = 0; i < PARTS; i++)
                parts[i] = (struct str){ input.p, 0 };
        parts[0].p = input.p;
        while (n < PARTS && str_next(&rest, '\n', &line)) {
                if (str_eqc(line, "--")) {
                        n++;
                        if (n < PARTS)
                                parts[n].p = rest.p;
                        continue;
                }
                parts[n].n = (size_t)(line.p + line.n - parts[n].p);
        }
}

static void check_pointer(struct pointer p, struct arena *a) {
        struct buf text = buf_make(SIZE_MAX / 4);
        struct pointer again;

        HOLDS(p.count > 0);
        for (size_t i = 0; i < p.count; i++)
                pointer_add_token(&text, p.tokens[i]);
        HOLDS(ignore_pointer_read(buf_str(&text), a, &again, NULL) == 0 && again.count == p.count);
        for (size_t i = 0; i < p.count; i++)
                HOLDS(str_eq(p.tokens[i], again.tokens[i]));
        buf_done(&text);
}

static size_t read_pointers(struct str lines, struct arena *a, struct pointer *ret) {
        struct str line;
        size_t count = 0;

        while (count < MAX_POINTERS && str_next(&lines, '\n', &line)) {
                struct err err = { 0 };
                int r = ignore_pointer_read(line, a, &ret[count], &err);

                HOLDS(r == 0 || (r == ERR_INVAL && err.msg[0]));
                if (r == 0)
                        check_pointer(ret[count++], a);
        }
        return count;
}

static const struct value *read_json(struct str text, struct arena *a) {
        const struct value *v = NULL;

        return text.n && json_parse(text, a, &v, NULL) == 0 ? v : NULL;
}

static bool begins_with(struct field_path p, const char *name) {
        return p.count && str_eqc(p.elements[0].name, name);
}

static void check_path(const struct ignore_input *in, const struct ignored_path *p) {
        HOLDS(p->path.count > 0 && p->rule && (p->in_git || p->in_live));
        HOLDS(!p->in_git || field_path_find(in->desired, p->path, in->type));
        HOLDS(!p->in_live || field_path_find(in->live, p->path, in->type));
        HOLDS(!begins_with(p->path, "status"));
        if (p->path.count == 1)
                HOLDS(!begins_with(p->path, "kind") && !begins_with(p->path, "apiVersion") && !begins_with(p->path, "metadata"));
}

/* A list may hold an item twice, where nobody checked it; then the first one goes. */
static void check_tolerance(const struct ignore_input *in, const struct ignore_result *found, struct arena *a) {
        const struct managed nobody = { 0 };
        struct tolerance t = tolerate(in->desired, in->live, &nobody, found->paths, found->count, in->type, a);

        for (size_t i = 0; i < found->count; i++) {
                struct field_path p = found->paths[i].path;

                if (found->paths[i].at_sync || field_path_has_index(p) || p.elements[p.count - 1].kind != PATH_FIELD)
                        continue;
                for (size_t k = 0; k < p.count; k++)
                        if (p.elements[k].kind != PATH_FIELD)
                                p.count = 0;
                HOLDS(!p.count || (!field_path_find(t.desired, p, in->type) && !field_path_find(t.live, p, in->type)));
        }
}

static void apply(const struct ignore_input *in, struct arena *a) {
        struct ignore_result found = ignore_paths(in, a);

        HOLDS(found.count <= IGNORE_MAX_PATHS);
        for (size_t i = 0; i < found.count; i++)
                check_path(in, &found.paths[i]);
        for (size_t i = 1; i < found.count; i++)
                HOLDS(!field_path_equal(found.paths[i - 1].path, found.paths[i].path));
        if (in->live)
                check_tolerance(in, &found, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct arena *a = arena_new(0);
        struct pointer pointers[MAX_POINTERS];
        struct str parts[PARTS];

        cut_parts((struct str){ (const char *)data, n }, parts);
        size_t count = read_pointers(parts[0], a, pointers);
        const struct value *git = read_json(parts[1], a), *desired = git ? git : &value_empty_map;
        const struct ignore_finding finding = { read_json(parts[3], a), read_json(parts[4], a) };
        const struct ignore_rule rules[] = {
                { .name = "pointers", .pointers = pointers, .pointer_count = count },
                { .name = "jq", .program_count = 1 },
        };
        struct ignore_input in = {
                .desired = desired, .live = read_json(parts[2], a), .rules = rules, .rule_count = ARRAY_LEN(rules),
                .findings = &finding,
        };

        apply(&in, a);
        in.type = schema_builtin(a, value_text(value_getc(desired, "apiVersion")), value_text(value_getc(desired, "kind")));
        apply(&in, a);
        arena_free(a);
        return 0;
}
