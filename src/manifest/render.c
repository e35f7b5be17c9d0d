/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/render.h"

#include "base/limits.h"
#include "git/deadline.h"
#include "git/tree.h"
#include "manifest/cache_impl.h"
#include "manifest/duplicates_impl.h"
#include "base/glob.h"
#include "manifest/order.h"

/* One file, wherever it comes from. */
struct input {
        struct str path;     /* from the root of the repository */
        struct str relative; /* to the source's path: what globs see */
        uint64_t bytes;
        struct git_id blob;  /* from Git only */
        struct str text;     /* from memory only */
};

struct rendering {
        const struct manifest_source *source;
        struct git_source *git; /* NULL: the inputs hold their text */
        struct git_deadline deadline;
        struct manifest_cache *cache;
        struct manifest_set *set;
        struct object_list objects, refused;
        struct problem_list errors, warnings;
};

void manifest_set_free(struct manifest_set *set) {
        if (!set)
                return;
        for (size_t i = 0; i < set->blob_count; i++)
                manifest_blob_unref(set->blobs[i]);
        for (size_t i = 0; i < set->part_count; i++)
                manifest_set_free(set->parts[i]);
        free(set->parts);
        free(set->blobs);
        free(set->objects);
        free(set->refused);
        free(set->errors);
        free(set->warnings);
        arena_free(set->arena);
        free(set);
}

static void rendering_done(struct rendering *r) {
        manifest_set_free(r->set);
        free(r->objects.items);
        free(r->refused.items);
        free(r->errors.items);
        free(r->warnings.items);
}

/* Which files. */

static struct str base_name(struct str path) {
        for (size_t i = path.n; i > 0; i--)
                if (path.p[i - 1] == '/')
                        return str_sub(path, i, path.n);
        return path;
}

static bool passes_globs(const struct manifest_source *s, struct str relative) {
        if (s->exclude.n > 0 && glob_match(s->exclude, relative))
                return false;
        return s->include.n == 0 || glob_match(s->include, relative);
}

static bool has_manifest_suffix(struct str path) {
        return str_ends(path, STR(".yaml")) || str_ends(path, STR(".yml")) || str_ends(path, STR(".json"));
}

static bool is_wanted(const struct manifest_source *s, struct str relative) {
        if (!passes_globs(s, relative))
                return false;
        return has_manifest_suffix(relative) || (s->any_extension && s->include.n > 0);
}

/* What a file of this name means, when it is not for us; NULL: nothing. */
static const char *foreign_tool(struct str relative) {
        static const struct {
                const char *name;
                const char *tool;
        } marks[] = {
                { "kustomization.yaml", "Kustomize" },
                { "kustomization.yml", "Kustomize" },
                { "Kustomization", "Kustomize" },
                { "Chart.yaml", "Helm" },
        };

        for (size_t i = 0; i < ARRAY_LEN(marks); i++)
                if (str_eqc(base_name(relative), marks[i].name))
                        return marks[i].tool;
        return str_ends(relative, STR(".jsonnet")) ? "Jsonnet" : NULL;
}

static int refuse_foreign(const struct manifest_source *s, const struct input *in, struct err *err) {
        const char *tool = foreign_tool(in->relative);

        if (!tool || !passes_globs(s, in->relative))
                return 0;
        return err_set(err, ERR_UNSUPPORTED,
                       "%.*s: %s is not implemented yet, so the folder is not rendered (--exclude, or directory.exclude, can leave "
                       "the file out)", STR_FMT(in->path), tool);
}

static int check_source(const struct manifest_source *s, struct err *err) {
        int r = glob_check(s->include, err);

        if (r < 0)
                return err_wrap(err, r, "include");
        r = glob_check(s->exclude, err);
        return r < 0 ? err_wrap(err, r, "exclude") : 0;
}

/* Looks at all names and sizes before anything is read. */
static int check_inputs(const struct manifest_source *s, const struct input *inputs, size_t count, struct err *err) {
        uint64_t max = s->max_bytes ? s->max_bytes : MANIFEST_MAX_TOTAL_BYTES, total = 0;

        for (size_t i = 0; i < count; i++) {
                int r = refuse_foreign(s, &inputs[i], err);

                if (r < 0)
                        return r;
                if (is_wanted(s, inputs[i].relative))
                        total += inputs[i].bytes;
        }
        if (total > max)
                return err_set(err, ERR_LIMIT, "the manifests have %llu bytes together, at most %llu are allowed",
                               (unsigned long long)total, (unsigned long long)max);
        return 0;
}

/* One file into the set. */

static void add_problems(struct problem_list *to, const struct manifest_problem *from, size_t count, struct str file) {
        for (size_t i = 0; i < count; i++) {
                struct manifest_problem p = from[i];

                p.file = file;
                problem_list_add(to, p);
        }
}

/* Keys that a document has twice: a warning each, or errors that refuse the object. */
static void note_duplicate_keys(struct rendering *r, const struct manifest_object *o) {
        for (size_t i = 0; i < o->duplicate_key_count; i++) {
                const struct yaml_note *n = &o->duplicate_keys[i];

                problem_list_add(r->source->strict_yaml ? &r->errors : &r->warnings, (struct manifest_problem){
                        .code = r->source->strict_yaml ? ERR_INVAL : ERR_OK,
                        .file = o->file,
                        .line = n->line,
                        .object = manifest_title(o, r->set->arena),
                        .message = arena_strf(r->set->arena, "the key %s is given twice, first in line %u%s",
                                              manifest_quoted(r->set->arena, n->key).p, n->first_line,
                                              r->source->strict_yaml ? "" : "; the last one counts"),
                });
        }
}

static void add_objects(struct rendering *r, const struct manifest_object *from, size_t count, bool refused,
                        struct str file) {
        const struct yaml_note *told = NULL;

        for (size_t i = 0; i < count; i++) {
                struct manifest_object o = from[i];
                bool bad = refused || (r->source->strict_yaml && o.duplicate_key_count > 0);

                o.file = file;
                /* Items of one list share their document's notes. */
                if (o.duplicate_keys != told)
                        note_duplicate_keys(r, &o);
                told = o.duplicate_keys;
                object_list_add(bad ? &r->refused : &r->objects, &o);
        }
}

/* The set takes the reference. */
static void add_blob(struct rendering *r, struct manifest_blob *blob, struct str path) {
        struct manifest_set *set = r->set;
        struct str file = arena_str(set->arena, path);
        const struct manifest_parsed *p = &blob->parsed;

        set->blobs = mem_grow(set->blobs, &set->blob_cap, set->blob_count + 1, sizeof(*set->blobs));
        set->blobs[set->blob_count++] = blob;

        add_objects(r, p->objects, p->object_count, false, file);
        add_objects(r, p->refused, p->refused_count, true, file);
        add_problems(&r->errors, p->errors, p->error_count, file);
        add_problems(&r->warnings, p->warnings, p->warning_count, file);
        set->complete &= p->complete;
        if (p->irrelevant)
                problem_list_add(&r->warnings, (struct manifest_problem){ .file = file,
                        .message = STR("holds no manifest, or says that it is to be skipped: left out") });
}

/* A file that cannot be had, while the others can. */
static int add_unreadable(struct rendering *r, const struct input *in, int code, struct err *err) {
        if (code != ERR_UNSUPPORTED && code != ERR_LIMIT)
                return err_wrap(err, code, "%.*s", STR_FMT(in->path));

        problem_list_add(&r->errors, (struct manifest_problem){
                .code = (enum err_code)code,
                .file = arena_str(r->set->arena, in->path),
                .message = arena_str(r->set->arena, str_from(err->msg)),
        });
        r->set->complete = false;
        return 0;
}

static enum manifest_format format_of(struct str path) {
        return str_ends(path, STR(".json")) ? MANIFEST_JSON : MANIFEST_YAML;
}

static int read_and_parse(struct rendering *r, const struct input *in, struct manifest_blob **ret_blob,
                          struct err *err) {
        _cleanup_(arena_freep) struct arena *scratch = arena_new(0);
        struct str text = in->text;
        int code = r->git ? git_source_read(r->git, &in->blob, GIT_MAX_BLOB_BYTES, scratch, &text, err)
                          : 0;

        if (code < 0)
                return code;
        *ret_blob = manifest_blob_new(text, format_of(in->path));
        r->set->parsed_count++;
        if (r->cache && r->git)
                manifest_cache_add(r->cache, &in->blob, format_of(in->path), *ret_blob);
        return 0;
}

static int add_file(struct rendering *r, const struct input *in, struct err *err) {
        struct manifest_blob *blob = NULL;
        struct err why;
        int code;

        r->set->file_count++;
        r->set->bytes += in->bytes;
        if (r->cache && r->git)
                blob = manifest_cache_find(r->cache, &in->blob, format_of(in->path));
        if (!blob) {
                code = read_and_parse(r, in, &blob, &why);
                if (code < 0) {
                        code = add_unreadable(r, in, code, &why);
                        if (code < 0 && err)
                                *err = why;
                        return code;
                }
        }
        add_blob(r, blob, in->path);
        if (r->objects.count + r->refused.count > MANIFEST_MAX_OBJECTS)
                return err_set(err, ERR_LIMIT, "more than %d objects", MANIFEST_MAX_OBJECTS);
        return 0;
}

/* The set as a whole. */

static int cmp_problem(const void *x, const void *y) {
        const struct manifest_problem *a = x, *b = y;
        int r = str_cmp(a->file, b->file);

        if (r == 0 && a->line != b->line)
                return a->line < b->line ? -1 : 1;
        return r ? r : str_cmp(a->message, b->message);
}

static void sort(void *items, size_t count, size_t size, int (*cmp)(const void *a, const void *b)) {
        if (count > 1)
                qsort(items, count, size, cmp);
}

static struct manifest_set *rendering_end(struct rendering *r) {
        struct manifest_set *set = TAKE_PTR(r->set);

        settle_duplicates(&r->objects, &r->refused, r->source->default_namespace, &r->errors, &r->warnings, set->arena);
        sort(r->objects.items, r->objects.count, sizeof(*r->objects.items), manifest_apply_cmp);
        sort(r->refused.items, r->refused.count, sizeof(*r->refused.items), manifest_apply_cmp);
        sort(r->errors.items, r->errors.count, sizeof(*r->errors.items), cmp_problem);
        sort(r->warnings.items, r->warnings.count, sizeof(*r->warnings.items), cmp_problem);

        set->objects = TAKE_PTR(r->objects.items);
        set->object_count = r->objects.count;
        set->refused = TAKE_PTR(r->refused.items);
        set->refused_count = r->refused.count;
        set->errors = TAKE_PTR(r->errors.items);
        set->error_count = r->errors.count;
        set->warnings = TAKE_PTR(r->warnings.items);
        set->warning_count = r->warnings.count;
        return set;
}

static int render(struct rendering *r, const struct input *inputs, size_t count, struct manifest_set **ret_set,
                  struct err *err) {
        int code = check_inputs(r->source, inputs, count, err);

        r->set = mem_zalloc(sizeof(*r->set));
        r->set->arena = arena_new(0);
        r->set->complete = true;
        for (size_t i = 0; code == 0 && i < count; i++) {
                if (!is_wanted(r->source, inputs[i].relative))
                        continue;
                if (r->git)
                        code = git_deadline_check(r->deadline, "rendering", err);
                if (code == 0)
                        code = add_file(r, &inputs[i], err);
        }
        if (code < 0)
                return code;

        *ret_set = rendering_end(r);
        return 0;
}

/* The path below the folder; as it is when a link made it stand elsewhere. */
static struct str below(struct str dir, struct str path) {
        if (dir.n > 0 && path.n > dir.n && str_starts(path, dir) && path.p[dir.n] == '/')
                return str_sub(path, dir.n + 1, path.n);
        return path;
}

int manifest_render(struct git_source *git, const struct git_id *commit, const struct manifest_source *source,
                    struct manifest_cache *cache, struct git_deadline deadline, struct manifest_set **ret_set,
                    struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(rendering_done) struct rendering r = {
                .source = source, .git = git, .deadline = deadline, .cache = cache,
        };
        const struct git_file *files;
        struct input *inputs;
        struct str dir;
        size_t count;
        int code = check_source(source, err);

        if (code < 0)
                return code;
        code = tree_clean_path(source->path, a, &dir, err);
        if (code < 0)
                return code;
        code = git_source_list(git, commit, dir, source->recurse, a, &files, &count, err);
        if (code < 0)
                return code;

        inputs = arena_alloc(a, count * sizeof(*inputs));
        for (size_t i = 0; i < count; i++)
                inputs[i] = (struct input){
                        .path = files[i].path,
                        .relative = below(dir, files[i].path),
                        .bytes = files[i].bytes,
                        .blob = files[i].blob,
                };
        return render(&r, inputs, count, ret_set, err);
}

int manifest_render_files(const struct manifest_file *files, size_t count, const struct manifest_source *source,
                          struct manifest_set **ret_set, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(rendering_done) struct rendering r = { .source = source };
        struct input *inputs = arena_alloc(a, count * sizeof(*inputs));
        int code = check_source(source, err);

        if (code < 0)
                return code;
        for (size_t i = 0; i < count; i++)
                inputs[i] = (struct input){
                        .path = files[i].path,
                        .relative = files[i].path,
                        .bytes = files[i].text.n,
                        .text = files[i].text,
                };
        return render(&r, inputs, count, ret_set, err);
}
