/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/test_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

struct level {
        struct str *folders;
        size_t count, cap;
        bool is_case, has_script, has_suite, has_actions;
};

static int by_text(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static int by_path(const void *a, const void *b) {
        return str_cmp(((const struct test_folder *)a)->path, ((const struct test_folder *)b)->path);
}

/* ---- what a folder is about ---- */

static struct str last_part(struct str path, struct str *ret_before) {
        size_t at = path.n;

        while (at > 0 && path.p[at - 1] != '/')
                at--;
        *ret_before = str_sub(path, 0, at ? at - 1 : 0);
        return str_sub(path, at, path.n);
}

/*
 * Groups have a dot (the API server refuses definitions whose has none), but for those of Kubernetes itself. They are names
 * of DNS: a folder for temporary files may have a dot, too.
 */
static bool is_group(struct str name) {
        static const char *const known[] = { "apps", "autoscaling", "batch", "extensions", "policy" };

        for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (str_eqc(name, known[i]))
                        return true;
        for (size_t i = 0; i < name.n; i++)
                if (name.p[i] >= 'A' && name.p[i] <= 'Z')
                        return false;
        return str_find(name, '.', 0) >= 0 || str_find(name, '_', 0) == 0;
}

/* Argo CD's spelling: a folder cannot be called "*". */
static struct str glob_of(struct str name, struct arena *a) {
        char *p = arena_alloc(a, name.n + 1);

        for (size_t i = 0; i < name.n; i++)
                p[i] = name.p[i];
        for (size_t i = 0; i < name.n; i++)
                if (p[i] == '_')
                        p[i] = '*';
        p[name.n] = '\0';
        return (struct str){ p, name.n };
}

/* By where it really is: `truce test .` is about the same rules. */
static void name_folder(struct test_folder *f, struct arena *a) {
        _cleanup_(mem_freep) char *real = realpath(f->path.p, NULL);
        struct str before, path = real ? str_from(real) : f->path;
        struct str kind = last_part(path, &before), group = last_part(before, &before);

        f->kind = glob_of(kind, a);
        f->group = is_group(group) ? glob_of(group, a) : STR("");
}

/* ---- walking ---- */

static bool is_folder(int dir, const char *name) {
        struct stat st;

        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void take_entry(struct level *l, struct str path, DIR *dir, const char *name, struct arena *a) {
        static const struct {
                const char *name;
                size_t flag;
        } marks[] = {
                { "desired.yaml", offsetof(struct level, is_case) },
                { "expected.yaml", offsetof(struct level, is_case) },
                { TEST_SCRIPT, offsetof(struct level, has_script) },
                { TEST_SUITE, offsetof(struct level, has_suite) },
                { "action_test.yaml", offsetof(struct level, has_actions) },
        };

        for (size_t i = 0; i < ARRAY_LEN(marks); i++)
                if (strcmp(name, marks[i].name) == 0)
                        *(bool *)((char *)l + marks[i].flag) = true;
        if (name[0] == '.' || strcmp(name, "testdata") == 0 || !is_folder(dirfd(dir), name))
                return;
        l->folders = mem_grow(l->folders, &l->cap, l->count + 1, sizeof *l->folders);
        l->folders[l->count++] = arena_strf(a, "%.*s/%s", STR_FMT(path), name);
}

static int read_level(struct test_found *f, struct str path, struct level *l, struct err *err) {
        struct dirent *e;
        DIR *dir = opendir(path.p);

        if (!dir)
                return err_set_errno(err, errno, "%s", path.p);
        while ((e = readdir(dir)) && l->count <= TEST_MAX_FOLDERS)
                take_entry(l, path, dir, e->d_name, f->arena);
        closedir(dir);
        return 0;
}

static int add_folder(struct test_found *f, struct str path, const struct level *l, int depth, struct err *err) {
        if (f->case_count + f->folder_count >= TEST_MAX_FOLDERS)
                return err_set(err, ERR_LIMIT, "more than %d cases or suites", TEST_MAX_FOLDERS);
        if (l->is_case) {
                f->cases = mem_grow(f->cases, &f->case_cap, f->case_count + 1, sizeof *f->cases);
                f->cases[f->case_count++] = path;
                return 0;
        }
        f->folders = mem_grow(f->folders, &f->folder_cap, f->folder_count + 1, sizeof *f->folders);
        f->folders[f->folder_count] = (struct test_folder){ .path = path, .has_script = l->has_script,
                                                            .has_suite = l->has_suite, .depth = depth };
        name_folder(&f->folders[f->folder_count++], f->arena);
        return 0;
}

/* What is below a case or a suite of actions belongs to it. */
static int walk(struct test_found *f, struct str path, int depth, struct err *err) {
        struct level l = { 0 };
        int r;

        if (depth > TEST_MAX_DEPTH)
                return err_set(err, ERR_LIMIT, "%s: more than %d folders deep", path.p, TEST_MAX_DEPTH);
        r = read_level(f, path, &l, err);
        if (r == 0 && (l.is_case || l.has_script || l.has_suite))
                r = add_folder(f, path, &l, depth, err);
        f->action_suites += r == 0 && l.has_actions && !l.is_case;
        for (size_t i = 0; r == 0 && !l.is_case && !l.has_actions && i < l.count; i++)
                r = walk(f, l.folders[i], depth + 1, err);
        free(l.folders);
        return r;
}

/* Where folders of groups lie in the one that was named, that one is no group, whatever it is called. */
static void tell_the_top(struct test_folder *folders, size_t count) {
        bool has_groups = false;

        for (size_t i = 0; i < count; i++)
                has_groups |= folders[i].depth == 2;
        for (size_t i = 0; has_groups && i < count; i++)
                if (folders[i].depth == 1)
                        folders[i].group = STR("");
}

int test_find(struct test_found *f, struct str folder, struct err *err) {
        struct str path = arena_str(f->arena, folder);
        size_t before = f->folder_count;
        int r;

        while (path.n > 1 && path.p[path.n - 1] == '/')
                path = arena_str(f->arena, str_sub(path, 0, path.n - 1));
        r = walk(f, path, 0, err);
        tell_the_top(f->folders + before, f->folder_count - before);
        if (f->case_count > 1)
                qsort(f->cases, f->case_count, sizeof *f->cases, by_text);
        if (f->folder_count > 1)
                qsort(f->folders, f->folder_count, sizeof *f->folders, by_path);
        return r;
}

void test_found_done(struct test_found *f) {
        free(f->cases);
        free(f->folders);
}
