/* SPDX-License-Identifier: Apache-2.0 */
#include "git/tree.h"

#include "base/buf.h"
#include "base/map.h"
#include "git/url.h"

/* Pointer files are smaller than this by definition. */
#define LFS_POINTER_MAX_BYTES 1024
#define GITMODULES_MAX_BYTES (1 * MIB)

/* One tree, read once per listing and kept sorted by name for lookups. */
struct folder {
        const struct tree_entry *entries;
        size_t count;
};

/* A place in the repository: the folders from the root down to it. */
struct place {
        struct git_id trees[GIT_MAX_PATH_DEPTH + 1];
        struct str names[GIT_MAX_PATH_DEPTH + 1]; /* names[0] is unused: the root has none */
        size_t depth;
};

struct walk {
        const struct tree_ops *ops;
        void *ctx;
        struct git_id root;
        bool recurse;
        struct arena *out;      /* the caller's: results */
        struct arena *scratch;  /* everything else */
        struct map *folders;    /* tree id → struct folder */
        size_t entries_left;
        size_t folders_left;
        size_t text_left;
        struct git_file *files;
        size_t n, cap;
};

/* What a path ends in. */
enum end { END_FILE, END_FOLDER, END_NOTHING };

struct target {
        enum end end;
        struct git_id blob;
        struct place place; /* the folder itself, or the one that holds the file */
};

/* ---- names ---- */

/* For messages: control characters and bytes that are no UTF-8 escaped. */
static struct str visible(struct str s, struct arena *a) {
        _cleanup_(buf_done) struct buf b = buf_make(4 * GIT_MAX_PATH_BYTES + 16);
        bool utf8 = str_is_utf8(s);

        s = str_sub(s, 0, GIT_MAX_PATH_BYTES);
        for (size_t i = 0; i < s.n; i++) {
                unsigned char c = (unsigned char)s.p[i];

                if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
                        buf_addf(&b, "\\x%02x", c);
                else
                        buf_addch(&b, (char)c);
        }
        return arena_str(a, buf_str(&b));
}

static bool has_control(struct str s) {
        for (size_t i = 0; i < s.n; i++) {
                if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
                        return true;
        }
        return false;
}

static int check_text(struct str path, struct arena *a, struct err *err) {
        const char *why = has_control(path) ? "a control character" : "bytes that are no UTF-8";

        if (!has_control(path) && str_is_utf8(path))
                return 0;
        struct str shown = visible(path, a);
        return err_set(err, ERR_INVAL, "the name \"%.*s\" in the repository holds %s", STR_FMT(shown), why);
}

/* Trees are made by anybody: a name that means something else to the file system is a trap. */
static int check_name(struct str name, struct str path, struct arena *a, struct err *err) {
        int r = check_text(path, a, err);

        if (r < 0)
                return r;
        if (name.n == 0 || str_eq(name, STR(".")) || str_eq(name, STR("..")) || str_find(name, '/', 0) >= 0)
                return err_set(err, ERR_INVAL, "the repository holds an entry with the illegal name \"%.*s\"",
                               STR_FMT(path));
        if (path.n > GIT_MAX_PATH_BYTES)
                return err_set(err, ERR_LIMIT, "a path in the repository is longer than %d bytes: %.*s…",
                               GIT_MAX_PATH_BYTES, 80, path.p);
        return 0;
}

int tree_clean_path(struct str dir, struct arena *a, struct str *ret, struct err *err) {
        _cleanup_(buf_done) struct buf b = buf_make(GIT_MAX_PATH_BYTES);
        struct str rest = dir, part;
        size_t depth = 0;
        int r = dir.n <= GIT_MAX_PATH_BYTES ? check_text(dir, a, err) : 0;

        if (r < 0)
                return r;
        if (str_starts(dir, STR("/")))
                return err_set(err, ERR_INVAL, "path \"%.*s\": must be relative to the root of the repository",
                               STR_FMT(dir));
        while (str_next(&rest, '/', &part)) {
                if (part.n == 0 || str_eq(part, STR(".")))
                        continue;
                if (str_eq(part, STR("..")))
                        return err_set(err, ERR_INVAL, "path \"%.*s\" holds \"..\"", STR_FMT(dir));
                if (b.n)
                        buf_addch(&b, '/');
                buf_add(&b, part);
                depth++;
        }
        r = buf_check(&b, "the path", err);
        if (r == 0)
                r = check_text(buf_str(&b), a, err); /* a long one that cleaning made short */
        if (r < 0)
                return r;
        if (depth > GIT_MAX_PATH_DEPTH)
                return err_set(err, ERR_LIMIT, "the path is %zu folders deep, allowed are %d", depth,
                               GIT_MAX_PATH_DEPTH);
        *ret = arena_str(a, buf_str(&b));
        return 0;
}

static struct str join(struct arena *a, struct str dir, struct str name) {
        return dir.n ? arena_strf(a, "%.*s/%.*s", STR_FMT(dir), STR_FMT(name)) : arena_str(a, name);
}

static struct str place_path(const struct place *p, struct arena *a) {
        struct str path = STR("");

        for (size_t i = 1; i <= p->depth; i++)
                path = join(a, path, p->names[i]);
        return path;
}

/* ---- trees ---- */

static int by_name(const void *a, const void *b) {
        const struct tree_entry *x = a, *y = b;

        return str_cmp(x->name, y->name);
}

static int open_folder(struct walk *w, const struct git_id *tree, const struct folder **ret, struct err *err) {
        struct str key = { (const char *)tree->bytes, GIT_OID_BYTES };
        struct folder *f = map_find(w->folders, key);
        const struct tree_entry *entries = NULL;
        struct tree_entry *sorted;
        size_t count = 0;
        int r;

        if (f) {
                *ret = f;
                return 0;
        }
        r = w->ops->entries(w->ctx, tree, w->entries_left, w->scratch, &entries, &count, err);
        if (r < 0)
                return r;
        w->entries_left -= count < w->entries_left ? count : w->entries_left;

        sorted = arena_alloc(w->scratch, count * sizeof *sorted);
        if (count) {
                memcpy(sorted, entries, count * sizeof *sorted);
                qsort(sorted, count, sizeof *sorted, by_name);
        }
        f = arena_alloc(w->scratch, sizeof *f);
        *f = (struct folder){ sorted, count };
        map_set(w->folders, key, f);
        *ret = f;
        return 0;
}

static const struct tree_entry *find_entry(const struct folder *f, struct str name) {
        const struct tree_entry key = { .name = name };

        return f->count ? bsearch(&key, f->entries, f->count, sizeof key, by_name) : NULL;
}

/* ---- links ---- */

static int refuse(struct walk *w, struct str path, enum err_code code, const char *why, struct err *err) {
        struct str shown = visible(path, w->scratch);

        return err_set(err, code, "\"%.*s\" in the repository %s", STR_FMT(shown), why);
}

static int refuse_submodule(struct walk *w, struct str path, struct err *err) {
        const struct folder *root;
        const struct tree_entry *e;
        struct str text = STR(""), url = STR("");
        struct str shown = visible(path, w->scratch);

        if (open_folder(w, &w->root, &root, NULL) == 0 && (e = find_entry(root, STR(".gitmodules"))) &&
            e->kind == TREE_FILE &&
            w->ops->content(w->ctx, &e->id, GITMODULES_MAX_BYTES, w->scratch, &text, NULL) == 0)
                url = tree_submodule_url(text, path, w->scratch);
        return err_set(
                err, ERR_UNSUPPORTED,
                "\"%.*s\" is a submodule (%.*s): submodules are not fetched; make it an application of its own, or "
                "move it out of the folder",
                STR_FMT(shown), STR_FMT(url.n ? url : STR("no URL in .gitmodules")));
}

static int read_link(struct walk *w, const struct git_id *blob, struct str link, struct str *ret, struct err *err) {
        int r = w->ops->content(w->ctx, blob, GIT_MAX_PATH_BYTES, w->scratch, ret, err);

        if (r < 0)
                return err_wrap(err, r, "link \"%.*s\"", STR_FMT(visible(link, w->scratch)));
        if (str_starts(*ret, STR("/")))
                return refuse(w, link, ERR_INVAL, "is an absolute link: links must stay inside the repository", err);
        return 0;
}

/*
 * The components still to walk: a link puts its target in front of what is left. Kept as a stack of texts, so that no
 * text is ever copied; its height is the number of links within links.
 */
struct todo {
        struct str texts[GIT_MAX_LINK_HOPS + 1];
        size_t n;
};

static bool next_part(struct todo *t, struct str *ret_part) {
        while (t->n > 0) {
                if (str_next(&t->texts[t->n - 1], '/', ret_part))
                        return true;
                t->n--;
        }
        return false;
}

/* Anything but blanks of a path ("." and empty parts) left? */
static bool is_last(struct todo t) {
        struct str part;

        while (next_part(&t, &part)) {
                if (part.n > 0 && !str_eq(part, STR(".")))
                        return false;
        }
        return true;
}

static int go_up(struct walk *w, struct place *p, struct str link, struct err *err) {
        if (p->depth == 0)
                return refuse(w, link, ERR_INVAL, "is a link that leaves the repository", err);
        p->depth--;
        return 0;
}

static int go_down(struct walk *w, struct place *p, const struct tree_entry *e, struct str path, struct err *err) {
        if (p->depth == GIT_MAX_PATH_DEPTH)
                return refuse(w, path, ERR_LIMIT, "leads more than 64 folders deep", err);
        p->depth++;
        p->trees[p->depth] = e->id;
        p->names[p->depth] = e->name;
        return 0;
}

/* One entry on the way: goes down, puts a link's target in front, or comes to an end (t->end changes). */
static int take_step(struct walk *w, struct target *t, struct todo *todo, unsigned *hops, struct str name,
                     struct str link, struct err *err) {
        const struct folder *f;
        const struct tree_entry *e;
        int r = open_folder(w, &t->place.trees[t->place.depth], &f, err);

        if (r < 0)
                return r;
        e = find_entry(f, name);
        if (e && e->kind == TREE_FOLDER)
                return go_down(w, &t->place, e, link, err);
        if (e && e->kind == TREE_SUBMODULE)
                return refuse_submodule(w, join(w->scratch, place_path(&t->place, w->scratch), name), err);
        if (e && e->kind == TREE_LINK) {
                if ((*hops)++ == GIT_MAX_LINK_HOPS)
                        return refuse(w, link, ERR_INVAL, "is a link in circles, or through more than 16 links", err);
                r = read_link(w, &e->id, join(w->scratch, place_path(&t->place, w->scratch), name),
                              &todo->texts[todo->n], err);
                todo->n++;
                return r;
        }
        /* A file with more to come is as dangling as a name that is not there. */
        t->end = e && is_last(*todo) ? END_FILE : END_NOTHING;
        if (t->end == END_FILE)
                t->blob = e->id;
        return 0;
}

/* Follows `path` from t->place. `link` is what messages name. */
static int follow(struct walk *w, struct target *t, struct str path, unsigned hops, struct str link, struct err *err) {
        struct todo todo = { .texts = { path }, .n = 1 };
        struct str part;
        int r = 0;

        t->end = END_FOLDER;
        while (r == 0 && t->end == END_FOLDER && next_part(&todo, &part)) {
                if (part.n == 0 || str_eq(part, STR(".")))
                        continue;
                if (str_eq(part, STR("..")))
                        r = go_up(w, &t->place, link, err);
                else
                        r = take_step(w, t, &todo, &hops, part, link, err);
        }
        return r;
}

/* ---- the walk ---- */

static int add_file(struct walk *w, struct str path, const struct git_id *blob, struct err *err) {
        uint64_t bytes;
        int r;

        if (w->n == GIT_MAX_TREE_FILES)
                return err_set(err, ERR_LIMIT, "the folder holds more than %d files", GIT_MAX_TREE_FILES);
        if (path.n > w->text_left)
                return err_set(err, ERR_LIMIT, "the names of the files take more than %d MiB",
                               TREE_MAX_TEXT_BYTES / MIB);
        w->text_left -= path.n;
        r = w->ops->size(w->ctx, blob, &bytes, err);
        if (r < 0)
                return err_wrap(err, r, "\"%.*s\"", STR_FMT(path));
        w->files = mem_grow(w->files, &w->cap, w->n + 1, sizeof *w->files);
        w->files[w->n++] = (struct git_file){ arena_str(w->out, path), *blob, bytes };
        return 0;
}

static int visit_link(struct walk *w, const struct place *at, const struct tree_entry *e, struct str path,
                      struct err *err) {
        struct target t = { .place = *at };
        struct str to;
        int r = read_link(w, &e->id, path, &to, err);

        if (r == 0)
                r = follow(w, &t, to, 1, path, err);
        if (r < 0)
                return r;
        return t.end == END_FILE ? add_file(w, path, &t.blob, err) : 0;
}

static int visit_folder(struct walk *w, struct place *at, struct str path, struct err *err);

static int visit_entry(struct walk *w, struct place *at, const struct tree_entry *e, struct str dir, struct err *err) {
        struct str path = join(w->scratch, dir, e->name);
        int r = check_name(e->name, path, w->scratch, err);

        if (r < 0)
                return r;
        switch (e->kind) {
        case TREE_FILE:
                return add_file(w, path, &e->id, err);
        case TREE_LINK:
                return visit_link(w, at, e, path, err);
        case TREE_SUBMODULE:
                return refuse_submodule(w, path, err);
        case TREE_FOLDER:
                break;
        }
        if (!w->recurse)
                return 0;
        r = go_down(w, at, e, path, err);
        if (r < 0)
                return r;
        r = visit_folder(w, at, path, err);
        at->depth--;
        return r;
}

/* `path` is how the folder is reached and shown; `at` where it really is. */
static int visit_folder(struct walk *w, struct place *at, struct str path, struct err *err) {
        const struct folder *f;
        int r;

        if (w->folders_left-- == 0)
                return err_set(err, ERR_LIMIT, "there are more than %d folders", GIT_MAX_TREE_FILES);
        r = open_folder(w, &at->trees[at->depth], &f, err);
        for (size_t i = 0; r == 0 && i < f->count; i++)
                r = visit_entry(w, at, &f->entries[i], path, err);
        return r;
}

static int find_dir(struct walk *w, struct str dir, struct target *t, struct err *err) {
        int r = follow(w, t, dir, 0, dir, err);

        if (r == 0 && t->end == END_NOTHING)
                r = refuse(w, dir, ERR_NOTFOUND, "does not exist", err);
        if (r == 0 && t->end == END_FILE)
                r = refuse(w, dir, ERR_INVAL, "is a file, not a folder", err);
        return r;
}

static int by_path(const void *a, const void *b) {
        const struct git_file *x = a, *y = b;

        return str_cmp(x->path, y->path);
}

static int run(struct walk *w, struct str dir, struct err *err) {
        struct target start = { .place = { .depth = 0 } };
        struct str clean;
        int r = tree_clean_path(dir, w->out, &clean, err);

        start.place.trees[0] = w->root;
        if (r == 0)
                r = find_dir(w, clean, &start, err);
        if (r == 0)
                r = visit_folder(w, &start.place, clean, err);
        if (r == 0 && w->n)
                qsort(w->files, w->n, sizeof *w->files, by_path);
        return r;
}

int tree_list(const struct tree_ops *ops, void *ctx, const struct git_id *root, struct str dir, bool recurse,
              struct arena *a, const struct git_file **ret_files, size_t *ret_count, struct err *err) {
        struct walk w = {
                .ops = ops, .ctx = ctx, .root = *root, .recurse = recurse, .out = a,
                .scratch = arena_new(0), .folders = map_new(NULL),
                .entries_left = TREE_MAX_ENTRIES, .folders_left = GIT_MAX_TREE_FILES,
                .text_left = TREE_MAX_TEXT_BYTES,
        };
        int r = run(&w, dir, err);

        if (r == 0) {
                struct git_file *files = arena_alloc(a, w.n * sizeof *files);

                if (w.n)
                        memcpy(files, w.files, w.n * sizeof *files);
                *ret_files = files;
                *ret_count = w.n;
        }
        free(w.files);
        map_free(w.folders);
        arena_free(w.scratch);
        return r;
}

/* ---- submodules and LFS ---- */

/* "key = value" of one line; false for anything else. Quotes around the value go. */
static bool split_setting(struct str line, struct str *ret_key, struct str *ret_value) {
        ptrdiff_t eq = str_find(line, '=', 0);

        if (eq < 0)
                return false;
        *ret_key = str_trim(str_sub(line, 0, (size_t)eq));
        *ret_value = str_trim(str_sub(line, (size_t)eq + 1, line.n));
        if (ret_value->n >= 2 && ret_value->p[0] == '"' && str_ends(*ret_value, STR("\"")))
                *ret_value = str_sub(*ret_value, 1, ret_value->n - 1);
        return true;
}

struct str tree_submodule_url(struct str gitmodules, struct str path, struct arena *a) {
        struct str line, key, value, url = STR("");
        bool here = false;

        while (str_next(&gitmodules, '\n', &line)) {
                line = str_trim(line);
                if (str_starts(line, STR("["))) {
                        if (here && url.n)
                                break;
                        here = false;
                        url = STR("");
                } else if (split_setting(line, &key, &value)) {
                        here = here || (str_eq(key, STR("path")) && str_eq(value, path));
                        if (str_eq(key, STR("url")))
                                url = value;
                }
        }
        return here ? git_url_redact(url, a) : STR("");
}

bool tree_is_lfs_pointer(struct str content) {
        return content.n < LFS_POINTER_MAX_BYTES && (str_starts(content, STR("version https://git-lfs")) ||
                                                     str_starts(content, STR("version https://hawser.github.com/")));
}

int tree_refuse_lfs(struct str content, struct err *err) {
        struct str line, oid = STR("");

        while (str_next(&content, '\n', &line)) {
                if (str_starts(line, STR("oid ")))
                        oid = str_sub(line, 4, 4 + 7 + 12);
        }
        if (has_control(oid) || !str_is_utf8(oid))
                oid = STR("");
        return err_set(err, ERR_UNSUPPORTED,
                       "the file is a Git LFS pointer (%.*s…), its content is not in the repository: store manifests "
                       "without LFS (git lfs untrack, then git add --renormalize)", STR_FMT(oid));
}
