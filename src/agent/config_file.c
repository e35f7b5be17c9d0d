/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files and folders. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/config_impl.h"
#include "base/limits.h"

static void close_fd(int *fd) {
        if (*fd >= 0)
                close(*fd);
}

static void close_dir(DIR **d) {
        if (*d)
                closedir(*d);
}

static int read_all(int fd, struct buf *out, struct err *err) {
        char chunk[16 * KIB];
        ssize_t n;

        while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return err_set_errno(err, errno, "it cannot be read");
                buf_add(out, (struct str){ chunk, (size_t)n });
                if (out->overflow)
                        break;
        }
        return buf_check(out, "the file", err);
}

int config_read_file(struct str path, struct arena *a, struct str *ret_text, struct err *err) {
        _cleanup_(buf_done) struct buf b = buf_make(CONFIG_MAX_FILE_BYTES);
        struct str name = arena_str(a, path);
        _cleanup_(close_fd) int fd = open(name.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return err_set_errno(err, errno, "%s cannot be opened", name.p);
        /* A pipe without a writer would hang the start. */
        if (!S_ISREG(st.st_mode))
                return err_set(err, ERR_INVAL, "%s is no regular file", name.p);
        r = read_all(fd, &b, err);
        if (r < 0)
                return err_wrap(err, r, "%s", name.p);

        *ret_text = arena_str(a, buf_str(&b));
        return 0;
}

/* Names that begin with "." are left out: a mounted ConfigMap has links of that sort beside its files. */
static bool is_config_name(struct str name) {
        return !str_starts(name, STR(".")) && (str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml")) ||
                                               str_ends(name, STR(".json")));
}

static int cmp_str(const void *a, const void *b) {
        return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static int list_folder(struct str path, struct arena *a, const struct str **ret_files, size_t *ret_count,
                       struct err *err) {
        _cleanup_(close_dir) DIR *d = opendir(path.p);
        struct str *files = arena_alloc(a, CONFIG_MAX_FILES * sizeof(*files));
        struct dirent *e;
        size_t count = 0;

        if (!d)
                return err_set_errno(err, errno, "%s cannot be listed", path.p);
        while ((e = readdir(d))) {
                if (!is_config_name(str_from(e->d_name)))
                        continue;
                if (count == CONFIG_MAX_FILES)
                        return err_set(err, ERR_LIMIT, "%s holds more than %d files", path.p, CONFIG_MAX_FILES);
                files[count++] = arena_strf(a, "%s/%s", path.p, e->d_name);
        }
        qsort(files, count, sizeof(*files), cmp_str);
        *ret_files = files;
        *ret_count = count;
        return 0;
}

int config_list_files(struct str path, struct arena *a, const struct str **ret_files, size_t *ret_count,
                      struct err *err) {
        struct str name = arena_str(a, path), *one;
        struct stat st;

        while (name.n > 1 && name.p[name.n - 1] == '/')
                name = arena_str(a, str_sub(name, 0, name.n - 1));
        if (stat(name.p, &st) < 0)
                return err_set_errno(err, errno, "%s", name.p);
        if (S_ISDIR(st.st_mode))
                return list_folder(name, a, ret_files, ret_count, err);

        one = arena_alloc(a, sizeof(*one));
        *one = name;
        *ret_files = one;
        *ret_count = 1;
        return 0;
}

static void stamp_file(struct str path, struct buf *out) {
        struct stat st;

        buf_add(out, path);
        if (stat(path.p, &st) < 0)
                buf_addf(out, " %d\n", errno);
        else
                buf_addf(out, " %llu %llu %lld %lld.%09ld %o %u %u\n", (unsigned long long)st.st_dev,
                         (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                         st.st_mtim.tv_nsec, st.st_mode, st.st_uid, st.st_gid);
}

struct hash128 config_stamp(const struct str *paths, size_t count) {
        static const struct hash_key no_key;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf text = buf_make(CONFIG_MAX_FILES * 8 * KIB);

        for (size_t i = 0; i < count; i++) {
                const struct str *files;
                size_t n = 0;
                struct err err;

                if (config_list_files(paths[i], a, &files, &n, &err) < 0)
                        buf_addf(&text, "%s\n", err.msg);
                for (size_t k = 0; k < n; k++)
                        stamp_file(files[k], &text);
        }
        return hash128(&no_key, buf_str(&text));
}

/* --- folders of health rules -------------------------------------------------------------------------------------- */

#define SCRIPT "health.lua"

struct script_list {
        struct arena *a;
        struct config_script *scripts;
        size_t count;
};

static bool is_folder(struct str path) {
        struct stat st;

        return stat(path.p, &st) == 0 && S_ISDIR(st.st_mode);
}

/* What a folder's name says of groups and kinds. */
static struct str glob_of(struct str name, struct arena *a) {
        char *text = (char *)arena_str(a, name).p;

        for (size_t i = 0; i < name.n; i++)
                if (text[i] == '_')
                        text[i] = '*';
        return (struct str){ text, name.n };
}

static int add_script(struct script_list *l, struct str folder, struct str group, struct str kind, struct err *err) {
        struct str path = arena_strf(l->a, "%.*s/" SCRIPT, STR_FMT(folder));

        if (access(path.p, F_OK) < 0)
                return 0;
        if (l->count == CONFIG_MAX_FILES)
                return err_set(err, ERR_LIMIT, "it holds more than %d health rules", CONFIG_MAX_FILES);
        l->scripts[l->count++] = (struct config_script){ path, glob_of(group, l->a), glob_of(kind, l->a) };
        return 0;
}

/* Calls `found` for each folder in `path`, with its name. */
static int each_folder(struct script_list *l, struct str path, struct str above,
                       int (*found)(struct script_list *l, struct str path, struct str above, struct str name, struct err *err),
                       struct err *err) {
        _cleanup_(close_dir) DIR *d = opendir(path.p);
        struct dirent *e;
        int r = 0;

        if (!d)
                return err_set_errno(err, errno, "%s cannot be listed", path.p);
        while (r == 0 && (e = readdir(d))) {
                struct str folder = arena_strf(l->a, "%.*s/%s", STR_FMT(path), e->d_name);

                if (e->d_name[0] != '.' && is_folder(folder))
                        r = found(l, folder, above, arena_str(l->a, str_from(e->d_name)), err);
        }
        return r;
}

static int found_kind(struct script_list *l, struct str path, struct str group, struct str kind, struct err *err) {
        return add_script(l, path, group, kind, err);
}

/* A kind of the core group, or a group. */
static int found_first(struct script_list *l, struct str path, struct str above, struct str name, struct err *err) {
        int r = add_script(l, path, above, name, err);

        return r < 0 ? r : each_folder(l, path, name, found_kind, err);
}

static int by_path(const void *x, const void *y) {
        const struct config_script *a = x, *b = y;

        return str_cmp(a->path, b->path);
}

int config_list_scripts(struct str dir, struct arena *a, const struct config_script **ret_scripts, size_t *ret_count,
                        struct err *err) {
        struct script_list l = { .a = a, .scripts = arena_alloc(a, CONFIG_MAX_FILES * sizeof *l.scripts) };
        int r = each_folder(&l, arena_str(a, dir), STR(""), found_first, err);

        if (r < 0)
                return r;
        qsort(l.scripts, l.count, sizeof *l.scripts, by_path);
        *ret_scripts = l.scripts;
        *ret_count = l.count;
        return 0;
}

struct hash128 config_health_stamp(struct str dir) {
        static const struct hash_key no_key;
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf text = buf_make(CONFIG_MAX_FILES * 8 * KIB);
        const struct config_script *scripts;
        size_t count = 0;
        struct err err;

        if (!dir.n)
                return (struct hash128){ 0 };
        if (config_list_scripts(dir, a, &scripts, &count, &err) < 0)
                buf_addf(&text, "%s\n", err.msg);
        for (size_t i = 0; i < count; i++)
                stamp_file(scripts[i].path, &text);
        return hash128(&no_key, buf_str(&text));
}
