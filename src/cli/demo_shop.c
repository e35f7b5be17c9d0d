/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_shop.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/value.h"
#include "git/author.h"

#define GROUP     "shop.example.io" /* as it stands in examples/shop */
#define MAX_FILES 32

/* Made by the build from examples/shop. */
static const struct {
        const char *name, *text;
} files[] = {
#include "cli/demo_files.inc"
};
_Static_assert(ARRAY_LEN(files) <= MAX_FILES, "examples/shop has more files than this");

struct shop {
        struct arena *arena;
        struct str ns;
        const char *dir, *repository, *config;
};

static struct str replace(struct arena *a, struct str text, struct str from, struct str to) {
        _cleanup_(buf_done) struct buf out = buf_make(MIB);

        for (size_t at = 0; at < text.n;) {
                if (str_starts(str_sub(text, at, text.n), from)) {
                        buf_add(&out, to);
                        at += from.n;
                } else {
                        buf_addch(&out, text.p[at++]);
                }
        }
        return arena_str(a, buf_str(&out));
}

static struct str text_of(const struct shop *s, size_t i, struct arena *a) {
        return replace(a, str_from(files[i].text), STR(GROUP), arena_strf(a, "%.*s.example.io", STR_FMT(s->ns)));
}

int shop_new(struct str ns, struct shop **ret, struct err *err) {
        const char *tmp = getenv("TMPDIR");
        struct arena *a = arena_new(0);
        _cleanup_(mem_freep) char *dir = str_dup(arena_strf(a, "%s/truce-demo-XXXXXX", tmp && *tmp ? tmp : "/tmp"));
        struct shop *s;

        if (strchr(dir, ' ')) {
                arena_free(a);
                return err_set(err, ERR_INVAL, "TMPDIR is '%s': repositories below a folder with blanks are not read",
                               tmp);
        }
        if (!mkdtemp(dir)) {
                int r = err_set_errno(err, errno, "cannot make a folder %s (TMPDIR says where)", dir);

                arena_free(a);
                return r;
        }
        /* A repository's URL begins at the root, wherever TMPDIR does. */
        _cleanup_(mem_freep) char *real = realpath(dir, NULL);
        s = mem_zalloc(sizeof *s);
        s->arena = a;
        s->ns = arena_str(a, ns);
        s->dir = arena_str(a, str_from(real ? real : dir)).p;
        s->repository = arena_strf(a, "%s/shop", s->dir).p;
        s->config = arena_strf(a, "%s/truce.yaml", s->dir).p;
        int r = git_author_init(s->repository, err);
        if (r < 0) {
                shop_free(s);
                return r;
        }
        *ret = s;
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
        (void)st;
        (void)kind;
        (void)walk;
        return remove(path);
}

void shop_free(struct shop *s) {
        if (!s)
                return;
        nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        arena_free(s->arena);
        free(s);
}

const char *shop_dir(const struct shop *s) {
        return s->dir;
}

const char *shop_repository(const struct shop *s) {
        return s->repository;
}

const char *shop_config(const struct shop *s) {
        return s->config;
}

static int write_file(const char *path, struct str text, struct err *err) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd < 0)
                return err_set_errno(err, errno, "cannot write %s", path);
        ssize_t n = write(fd, text.p, text.n);
        int why = n < 0 ? errno : ENOSPC;
        return close(fd) < 0 || n != (ssize_t)text.n ? err_set_errno(err, why, "cannot write %s", path) : 0;
}

static void add_key(struct buf *out, const char *key, struct str text) {
        if (text.n == 0)
                return;
        buf_addf(out, "  %s: ", key);
        value_print_string(text, out);
        buf_addch(out, '\n');
}

int shop_write_config(struct shop *s, struct str kubeconfig, struct str context, struct str agent_ns, struct err *err) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * KIB);

        buf_addc(&out, "# Written by truce demo.\napiVersion: truce.dev/v1alpha1\nkind: Agent\n"
                       "metadata: {name: truce}\nspec:\n  pollInterval: 1s\n  allowFileRepositories: true\n");
        add_key(&out, "kubeconfig", kubeconfig);
        add_key(&out, "context", context);
        add_key(&out, "namespace", agent_ns);
        add_key(&out, "dataDir", arena_strf(s->arena, "%s/data", s->dir));
        buf_addf(&out,
                 "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n"
                 "spec:\n  project: default\n  source: {repoURL: ");
        value_print_string(arena_strf(s->arena, "file://%s", s->repository), &out);
        buf_addf(&out,
                 ", path: ., targetRevision: main}\n"
                 "  destination: {server: \"https://kubernetes.default.svc\", namespace: \"%.*s\"}\n"
                 "  syncPolicy:\n    automated: {prune: true, selfHeal: true}\n    syncOptions: "
                 "[CreateNamespace=true]\n",
                 STR_FMT(s->ns));
        int r = buf_check(&out, "configuration", err);
        return r < 0 ? r : write_file(s->config, buf_str(&out), err);
}

static int change(struct str *text, const struct shop_change *c, struct arena *a, struct err *err) {
        if (!str_contains(*text, str_from(c->from)))
                return err_set(err, ERR_NOTFOUND, "%s holds no '%s'", c->file, c->from);
        *text = replace(a, *text, str_from(c->from), str_from(c->to));
        return 0;
}

int shop_commit(struct shop *s, const char *subject, const struct shop_change *changes, size_t count,
                struct git_id *ret_commit, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct git_author_file commit[MAX_FILES];

        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                commit[i] = (struct git_author_file){ str_from(files[i].name), text_of(s, i, a) };
                for (size_t c = 0; c < count; c++) {
                        if (strcmp(changes[c].file, files[i].name) != 0)
                                continue;
                        int r = change(&commit[i].content, &changes[c], a, err);
                        if (r < 0)
                                return r;
                }
        }
        return git_author_commit(s->repository, subject, commit, ARRAY_LEN(files), ret_commit, err);
}

unsigned shop_line(const struct shop *s, const char *file, const char *text) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                struct str rest = text_of(s, i, a), line;

                if (strcmp(files[i].name, file) != 0)
                        continue;
                for (unsigned number = 1; str_next(&rest, '\n', &line); number++)
                        if (str_contains(line, str_from(text)))
                                return number;
        }
        return 0;
}
