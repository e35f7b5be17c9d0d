/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/objects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"

#define MAX_FOLDER_DEPTH 32

/* ---- a file ---- */

static bool is_standard_input(const char *path) {
        return strcmp(path, "-") == 0;
}

int objects_read_text(const char *path, struct arena *a, struct str *ret_text, struct err *err) {
        _cleanup_(buf_done) struct buf text = buf_make(YAML_MAX_DOCUMENT_BYTES);
        char piece[64 * KIB];
        int fd = is_standard_input(path) ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = 0;

        if (fd < 0)
                return err_set_errno(err, errno, "cannot read %s", path);
        while (!text.overflow && (n = read(fd, piece, sizeof piece)) > 0)
                buf_add(&text, (struct str){ piece, (size_t)n });
        int why = errno;
        close(fd);
        if (n < 0)
                return err_set_errno(err, why, "cannot read %s", path);
        *ret_text = arena_str(a, buf_str(&text));
        return buf_check(&text, path, err);
}

int objects_read_documents(const char *path, struct arena *a, const struct yaml_document **ret_docs, size_t *ret_count,
                           struct err *err) {
        struct str text;
        struct err why = { 0 };
        int r = objects_read_text(path, a, &text, err);

        if (r < 0)
                return r;
        r = yaml_parse(text, a, ret_docs, ret_count, &why);
        if (r == 0)
                return 0;
        struct str message = str_from(why.msg);
        uint32_t line = yaml_take_line(&message);
        return err_set(err, why.code, "%s:%u: %.*s", path, line ? line : 1, STR_FMT(message));
}

/* ---- objects ---- */

/* What the API server itself calls a list, a DeploymentList, says only there what its items are. */
static const struct value *item_of(const struct value *list, size_t i, struct arena *a) {
        const struct value *item = value_getc(list, "items")->list.items[i];
        struct str kind = value_text(value_getc(list, "kind"));

        if (!value_is(item, VALUE_MAP) || value_getc(item, "kind") || kind.n == strlen("List"))
                return item;
        item = value_with(a, item, STR("apiVersion"), value_getc(list, "apiVersion"));
        return value_with(a, item, STR("kind"), value_string(a, str_sub(kind, 0, kind.n - strlen("List")), item->line));
}

static void collect(struct objects *o, const struct value *object, struct str file) {
        struct str kind = value_text(value_getc(object, "kind"));
        const struct value *items = value_getc(object, "items");

        if (str_ends(kind, STR("List")) && value_is(items, VALUE_LIST)) {
                for (size_t i = 0; i < items->list.count; i++)
                        collect(o, item_of(object, i, o->arena), file);
                return;
        }
        o->items = mem_grow(o->items, &o->cap, o->count + 1, sizeof *o->items);
        o->items[o->count].value = object;
        o->items[o->count++].file = file;
}

static int collect_file(struct objects *o, struct str path, struct err *err) {
        const struct yaml_document *docs;
        size_t count;
        int r = objects_read_documents(path.p, o->arena, &docs, &count, err);

        for (size_t i = 0; r == 0 && i < count; i++)
                if (docs[i].value)
                        collect(o, docs[i].value, path);
        return r;
}

static bool is_manifest(const char *name) {
        struct str s = str_from(name);

        return str_ends(s, STR(".yaml")) || str_ends(s, STR(".yml")) || str_ends(s, STR(".json"));
}

static int not_hidden(const struct dirent *entry) {
        return entry->d_name[0] != '.';
}

static int collect_path(struct objects *o, struct str path, unsigned depth, struct err *err);

static int collect_folder(struct objects *o, struct str path, unsigned depth, struct err *err) {
        struct dirent **entries = NULL;
        int count = scandir(path.p, &entries, not_hidden, alphasort), r = 0;

        if (count < 0)
                return err_set_errno(err, errno, "cannot read %s", path.p);
        if (depth > MAX_FOLDER_DEPTH)
                r = err_set(err, ERR_LIMIT, "%s: folders nest deeper than %d", path.p, MAX_FOLDER_DEPTH);
        for (int i = 0; i < count; i++) {
                struct str below = arena_strf(o->arena, "%s/%s", path.p, entries[i]->d_name);
                struct stat st;
                bool is_wanted = stat(below.p, &st) == 0 && (S_ISDIR(st.st_mode) || is_manifest(below.p));

                if (r == 0 && is_wanted)
                        r = collect_path(o, below, depth + 1, err);
                free(entries[i]);
        }
        free(entries);
        return r;
}

static int collect_path(struct objects *o, struct str path, unsigned depth, struct err *err) {
        struct stat st;

        if (is_standard_input(path.p))
                return collect_file(o, path, err);
        if (stat(path.p, &st) < 0)
                return err_set_errno(err, errno, "cannot read %s", path.p);
        return S_ISDIR(st.st_mode) ? collect_folder(o, path, depth, err) : collect_file(o, path, err);
}

int objects_read(struct objects *o, struct str path, struct err *err) {
        return collect_path(o, arena_str(o->arena, path), 0, err);
}

void objects_done(struct objects *o) {
        free(o->items);
}
