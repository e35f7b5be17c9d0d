/* SPDX-License-Identifier: Apache-2.0 */
#include "git/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/limits.h"
#include "git/refs.h"

#define FRESH_NAME "fresh.git"
#define DEAD_NAME "dead.git"
#define LISTED_COMMITS 5

/* ---- folders ---- */

static char *path_join(const char *dir, const char *name) {
        struct buf b = buf_make(strlen(dir) + strlen(name) + 2);

        buf_addf(&b, "%s/%s", dir, name);
        return buf_take(&b);
}

static char *generation_path(const struct store *s, uint64_t number) {
        char name[40];

        snprintf(name, sizeof name, "gen-%llu.git", (unsigned long long)number);
        return path_join(s->dir, name);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
        (void)st;
        (void)kind;
        (void)walk;
        return remove(path);
}

static void remove_tree(const char *path) {
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* mkdir -p with mode 0700 for what is made. */
static int make_folders(const char *dir, struct err *err) {
        _cleanup_(mem_freep) char *path = str_dup(str_from(dir)); /* cut short in turn; `dir` may be shared by threads */

        for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
                if (slash)
                        *slash = '\0';
                if (mkdir(path, 0700) < 0 && errno != EEXIST)
                        return err_set_errno(err, errno, "the folder for Git objects, %s, cannot be made", path);
                if (!slash)
                        return 0;
                *slash = '/';
        }
}

int store_init(struct store *s, struct str store_dir, struct str key, struct err *err) {
        _cleanup_(buf_done) struct buf path = buf_make(GIT_MAX_PATH_BYTES);
        char hex[GIT_OID_HEX_BYTES + 1];
        struct git_id id;
        git_oid oid;
        int r;

        if (!store_dir.n)
                return err_set(err, ERR_INVAL,
                               "no folder for Git objects: set --data-dir, dataDir of the Agent document, or HOME");
        if (!str_starts(store_dir, STR("/")))
                return err_set(err, ERR_INVAL, "the folder for Git objects must be an absolute path, not \"%.*s\"",
                               STR_FMT(store_dir));
        r = git_odb_hash(&oid, key.p, key.n, GIT_OBJECT_BLOB);
        if (r < 0)
                return lib_fail(err, r, "naming the folder for Git objects");
        id = lib_id(&oid);
        git_id_hex(&id, hex);
        buf_addf(&path, "%.*s/%s", STR_FMT(store_dir), hex);
        r = buf_check(&path, "the path of the folder for Git objects", err);
        if (r == 0)
                r = make_folders(path.p, err);
        if (r == 0)
                s->dir = buf_take(&path);
        return r;
}

void store_done(struct store *s) {
        free(s->dir);
        s->dir = NULL;
}

int store_lock(const struct store *s, struct git_deadline d, int *ret_fd, struct err *err) {
        _cleanup_(mem_freep) char *path = path_join(s->dir, "lock");
        int fd, r = make_folders(s->dir, err); /* again: somebody may have cleared the cache */

        if (r < 0)
                return r;
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
                return err_set_errno(err, errno, "the lock of the Git store, %s, cannot be opened", path);
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR) {
                        r = err_set_errno(err, errno, "the lock of the Git store, %s, cannot be taken", path);
                        break;
                }
                r = git_deadline_check(d, "another fetch of the same repository was running", err);
                if (r < 0)
                        break;
                usleep(20 * 1000);
        }
        if (r < 0)
                close(fd);
        else
                *ret_fd = fd;
        return r;
}

/* The number in "gen-N.git"; 0 for any other name. */
static uint64_t number_of(const char *name) {
        struct str s = str_from(name);
        uint64_t number;

        if (!str_starts(s, STR("gen-")) || !str_ends(s, STR(".git")) || s.n < 9 ||
            !str_to_u64(str_sub(s, 4, s.n - 4), &number))
                return 0;
        return number;
}

/* The largest number that is there, or with `below` the largest under it; 0 when there is none. */
static uint64_t largest_number(const struct store *s, uint64_t below) {
        DIR *dir = opendir(s->dir);
        uint64_t largest = 0;
        struct dirent *e;

        while (dir && (e = readdir(dir))) {
                uint64_t number = number_of(e->d_name);

                if (number > largest && number < below)
                        largest = number;
        }
        if (dir)
                closedir(dir);
        return largest;
}

/* ---- generations ---- */

void generation_free(struct generation *g) {
        if (!g)
                return;
        git_odb_free(g->odb);
        git_repository_free(g->repo);
        if (g->use_fd >= 0)
                close(g->use_fd);
        free(g->path);
        free(g);
}

static int open_repository(struct generation *g, struct err *err) {
        int r = git_repository_open_ext(&g->repo, g->path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

        if (r == 0)
                r = git_repository_odb(&g->odb, g->repo);
        return r < 0 ? lib_fail(err, r, g->path) : 0;
}

int generation_open_path(struct str path, struct generation **ret, struct err *err) {
        _cleanup_(generation_freep) struct generation *g = mem_zalloc(sizeof *g);
        int r;

        g->use_fd = -1;
        g->path = str_dup(path);
        r = open_repository(g, err);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(g);
        return 0;
}

/* Takes the shared lock; false when the folder was removed meanwhile. */
static bool hold(struct generation *g) {
        struct stat held, named;

        g->use_fd = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (g->use_fd < 0 || flock(g->use_fd, LOCK_SH | LOCK_NB) < 0)
                return false;
        return fstat(g->use_fd, &held) == 0 && stat(g->path, &named) == 0 && held.st_ino == named.st_ino;
}

int store_open_newest(const struct store *s, struct generation **ret, struct err *err) {
        for (int tries = 0; tries < 10; tries++) {
                _cleanup_(generation_freep) struct generation *g = mem_zalloc(sizeof *g);
                int r;

                g->use_fd = -1;
                g->number = largest_number(s, UINT64_MAX);
                if (g->number == 0) {
                        *ret = NULL;
                        return 0;
                }
                g->path = generation_path(s, g->number);
                if (!hold(g))
                        continue; /* a newer one has just taken its place */
                r = open_repository(g, err);
                if (r < 0)
                        return r;
                *ret = TAKE_PTR(g);
                return 0;
        }
        return err_set(err, ERR_CONFLICT, "the Git store %s is being replaced again and again", s->dir);
}

int store_begin(const struct store *s, struct generation **ret, struct err *err) {
        _cleanup_(generation_freep) struct generation *g = mem_zalloc(sizeof *g);
        git_repository_init_options opts = GIT_REPOSITORY_INIT_OPTIONS_INIT;
        int r;

        g->use_fd = -1;
        g->number = largest_number(s, UINT64_MAX) + 1;
        g->path = path_join(s->dir, FRESH_NAME);
        remove_tree(g->path); /* what a process that died left behind */
        opts.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKDIR | GIT_REPOSITORY_INIT_NO_REINIT;
        r = git_repository_init_ext(&g->repo, g->path, &opts);
        if (r == 0)
                r = git_repository_odb(&g->odb, g->repo);
        if (r < 0)
                return lib_fail(err, r, "making a store for Git objects");
        *ret = TAKE_PTR(g);
        return 0;
}

int store_promote(const struct store *s, struct generation *g, struct err *err) {
        _cleanup_(mem_freep) char *path = generation_path(s, g->number);

        if (rename(g->path, path) < 0)
                return err_set_errno(err, errno, "the fresh Git store cannot be renamed to %s", path);

        /* libgit2 remembers the old path: open it again under the new one. */
        git_odb_free(g->odb);
        git_repository_free(g->repo);
        g->odb = NULL;
        g->repo = NULL;
        free(g->path);
        g->path = TAKE_PTR(path);
        if (!hold(g))
                return err_set(err, ERR_CONFLICT, "the Git store %s vanished", g->path);
        return open_repository(g, err);
}

static void remove_unused(const struct store *s, uint64_t number) {
        _cleanup_(mem_freep) char *path = generation_path(s, number), *dead = path_join(s->dir, DEAD_NAME);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return;
        /* Renamed first, so that nobody can open half of it. */
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && rename(path, dead) == 0)
                remove_tree(dead);
        close(fd);
}

void store_sweep(const struct store *s, uint64_t number) {
        static const char *const leftovers[] = { FRESH_NAME, DEAD_NAME };

        for (size_t i = 0; i < ARRAY_LEN(leftovers); i++) {
                _cleanup_(mem_freep) char *path = path_join(s->dir, leftovers[i]);

                if (access(path, F_OK) == 0)
                        remove_tree(path);
        }
        for (uint64_t n = largest_number(s, number); n > 0; n = largest_number(s, n))
                remove_unused(s, n);
}

struct store_size generation_size(const struct generation *g) {
        _cleanup_(mem_freep) char *dir_path = path_join(git_repository_commondir(g->repo), "objects/pack");
        struct store_size size = { 0 };
        DIR *dir = opendir(dir_path);
        struct dirent *e;

        while (dir && (e = readdir(dir))) {
                struct stat st;

                if (!str_ends(str_from(e->d_name), STR(".pack")) || fstatat(dirfd(dir), e->d_name, &st, 0) < 0)
                        continue;
                size.packs++;
                size.bytes += (uint64_t)st.st_size;
                if ((uint64_t)st.st_size > size.largest_bytes)
                        size.largest_bytes = (uint64_t)st.st_size;
        }
        if (dir)
                closedir(dir);
        return size;
}

bool store_is_untidy(struct store_size size) {
        uint64_t allowed = size.largest_bytes > STORE_SMALL_BYTES ? size.largest_bytes : STORE_SMALL_BYTES;

        return size.packs > STORE_MAX_PACKS || size.bytes - size.largest_bytes > allowed;
}

/* ---- objects ---- */

bool generation_has_commit(const struct generation *g, const struct git_id *commit) {
        git_oid oid = lib_oid(commit);
        git_object_t type;
        size_t n;

        /* On a miss libgit2 looks for new packs by itself. */
        return git_odb_read_header(&n, &type, g->odb, &oid) == 0 && type == GIT_OBJECT_COMMIT;
}

static int fail_object(struct err *err, int result, const struct git_id *id) {
        char what[GIT_OID_HEX_BYTES + 32], hex[GIT_OID_HEX_BYTES + 1];

        git_id_hex(id, hex);
        snprintf(what, sizeof what, "Git object %s", hex);
        if (result == GIT_ENOTFOUND)
                return err_set(err, ERR_CORRUPT, "%s is missing from the store", what);
        return lib_fail(err, result, what);
}

int generation_blob_size(const struct generation *g, const struct git_id *blob, uint64_t *ret_bytes, struct err *err) {
        git_oid oid = lib_oid(blob);
        git_object_t type;
        size_t n;
        int r = git_odb_read_header(&n, &type, g->odb, &oid);

        if (r < 0)
                return fail_object(err, r, blob);
        if (type != GIT_OBJECT_BLOB)
                return err_set(err, ERR_INVAL, "a Git object of type %s was read as a file",
                               git_object_type2string(type));
        *ret_bytes = n;
        return 0;
}

int generation_read_blob(const struct generation *g, const struct git_id *blob, size_t max_bytes, struct arena *a,
                         struct str *ret, struct err *err) {
        _cleanup_(git_odb_object_freep) git_odb_object *object = NULL;
        git_oid oid = lib_oid(blob);
        uint64_t bytes;
        int r = generation_blob_size(g, blob, &bytes, err);

        if (r < 0)
                return r;
        if (bytes > max_bytes)
                return err_set(err, ERR_LIMIT, "the file has %llu bytes, allowed are %zu", (unsigned long long)bytes,
                               max_bytes);
        r = git_odb_read(&object, g->odb, &oid);
        if (r < 0)
                return fail_object(err, r, blob);
        *ret = arena_str(a, (struct str){ git_odb_object_data(object), git_odb_object_size(object) });
        return 0;
}

/* All commits that begin with some digits; a full list is only made in the rare case that libgit2 finds several. */
struct search {
        const struct generation *g;
        struct str hex;
        struct git_ref found[LISTED_COMMITS];
        size_t n;
};

static int collect(const git_oid *oid, void *ctx) {
        struct search *s = ctx;
        struct git_id id = lib_id(oid);

        if (s->n < LISTED_COMMITS && git_id_has_prefix(&id, s->hex) && generation_has_commit(s->g, &id))
                s->found[s->n++] = (struct git_ref){ .id = id };
        return 0;
}

int generation_find_short(const struct generation *g, struct str hex, struct git_id *ret, struct err *err) {
        struct search s = { .g = g, .hex = hex };
        unsigned char bytes[GIT_OID_BYTES] = { 0 };
        git_oid found, prefix;
        int r;

        for (size_t i = 0; i < hex.n; i++) {
                char c = (char)(hex.p[i] | 32);
                int digit = c >= 'a' ? c - 'a' + 10 : hex.p[i] - '0';

                bytes[i / 2] |= (unsigned char)(i % 2 ? digit : digit << 4);
        }
        git_oid_fromraw(&prefix, bytes);
        r = git_odb_exists_prefix(&found, g->odb, &prefix, hex.n);
        if (r == 0)
                collect(&found, &s);
        else if (r == GIT_EAMBIGUOUS)
                git_odb_foreach(g->odb, collect, &s);
        return git_refs_find_short((struct git_ref_list){ s.found, s.n }, hex, ret, err);
}
