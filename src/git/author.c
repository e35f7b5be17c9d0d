/* SPDX-License-Identifier: Apache-2.0 */
#include "git/author.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "git/lib.h"

#define AUTHOR_NAME  "truce demo"
#define AUTHOR_EMAIL "demo@truce.invalid"
#define BRANCH       "refs/heads/main"

DEFINE_CLEANUP(git_config *, git_config_free)
DEFINE_CLEANUP(git_index *, git_index_free)
DEFINE_CLEANUP(git_signature *, git_signature_free)

static int set_up(git_repository *repo, struct err *err) {
        _cleanup_(git_config_freep) git_config *config = NULL;
        int r = git_repository_set_head(repo, BRANCH);

        if (r == 0)
                r = git_repository_config(&config, repo);
        if (r == 0)
                r = git_config_set_string(config, "user.name", AUTHOR_NAME);
        if (r == 0)
                r = git_config_set_string(config, "user.email", AUTHOR_EMAIL);
        return r < 0 ? lib_fail(err, r, "cannot set up the repository") : 0;
}

int git_author_init(const char *dir, struct err *err) {
        _cleanup_(git_repository_freep) git_repository *repo = NULL;

        if (mkdir(dir, 0700) < 0)
                return err_set_errno(err, errno, "cannot make %s", dir);
        int r = git_repository_init(&repo, dir, 0);
        return r < 0 ? lib_fail(err, r, "cannot make a repository") : set_up(repo, err);
}

static int write_file(const char *dir, const struct git_author_file *f, struct err *err) {
        _cleanup_(buf_done) struct buf path = buf_make(GIT_MAX_PATH_BYTES);

        buf_addf(&path, "%s/%.*s", dir, STR_FMT(f->path));
        int fd = open(path.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return err_set_errno(err, errno, "cannot write %s", path.p);
        ssize_t n = write(fd, f->content.p, f->content.n);
        int why = n < 0 ? errno : ENOSPC;
        return close(fd) < 0 || n != (ssize_t)f->content.n ? err_set_errno(err, why, "cannot write %s", path.p) : 0;
}

static int add_files(git_index *index, const char *dir, const struct git_author_file *files, size_t count,
                     struct err *err) {
        for (size_t i = 0; i < count; i++) {
                _cleanup_(mem_freep) char *path = str_dup(files[i].path);

                if (files[i].path.n == 0 || str_find(files[i].path, '/', 0) >= 0)
                        return err_set(err, ERR_INVAL, "'%s' is no file of the root folder", path);
                int r = write_file(dir, &files[i], err);
                if (r < 0)
                        return r;
                r = git_index_add_bypath(index, path);
                if (r < 0)
                        return lib_fail(err, r, "cannot add a file");
        }
        return 0;
}

/* The commit that main points to; none in a fresh repository. */
static int find_parent(git_repository *repo, git_commit **ret) {
        git_oid head;
        int r = git_reference_name_to_id(&head, repo, BRANCH);

        *ret = NULL;
        if (r == GIT_ENOTFOUND)
                return 0;
        return r < 0 ? r : git_commit_lookup(ret, repo, &head);
}

static int commit_index(git_repository *repo, git_index *index, const char *subject, git_oid *ret) {
        _cleanup_(git_tree_freep) git_tree *tree = NULL;
        _cleanup_(git_commit_freep) git_commit *parent = NULL;
        _cleanup_(git_signature_freep) git_signature *who = NULL;
        git_oid oid;
        int r = git_index_write(index);

        if (r == 0)
                r = git_index_write_tree(&oid, index);
        if (r == 0)
                r = git_tree_lookup(&tree, repo, &oid);
        if (r == 0)
                r = find_parent(repo, &parent);
        if (r == 0)
                r = git_signature_now(&who, AUTHOR_NAME, AUTHOR_EMAIL);
        const git_commit *parents[] = { parent };
        if (r == 0)
                r = git_commit_create(ret, repo, BRANCH, who, who, NULL, subject, tree, parent ? 1 : 0, parents);
        return r;
}

int git_author_commit(const char *dir, const char *subject, const struct git_author_file *files, size_t count,
                      struct git_id *ret_commit, struct err *err) {
        _cleanup_(git_repository_freep) git_repository *repo = NULL;
        _cleanup_(git_index_freep) git_index *index = NULL;
        git_oid oid;
        int r = git_repository_open_ext(&repo, dir, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

        if (r == 0)
                r = git_repository_index(&index, repo);
        if (r < 0)
                return lib_fail(err, r, "cannot open the repository");
        r = add_files(index, dir, files, count, err);
        if (r < 0)
                return r;
        r = commit_index(repo, index, subject, &oid);
        if (r < 0)
                return lib_fail(err, r, "cannot commit");
        *ret_commit = lib_id(&oid);
        return 0;
}
