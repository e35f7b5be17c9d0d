/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/join.h"

#include "base/limits.h"
#include "manifest/duplicates_impl.h"
#include "manifest/order.h"

struct joining {
        struct manifest_set *set;
        struct str title;                /* of the part at hand */
        const char *file;                /* the one that was prefixed last: objects of a file share its name */
        struct str prefixed;
        struct object_list objects, refused;
        struct problem_list errors, warnings;
};

static struct str prefixed(struct joining *j, struct str file) {
        if (j->title.n == 0)
                return file;
        if (file.n && file.p != j->file) {
                j->file = file.p;
                j->prefixed = arena_strf(j->set->arena, "%.*s:%.*s", STR_FMT(j->title), STR_FMT(file));
        }
        return file.n ? j->prefixed : file;
}

static void add_objects(struct joining *j, struct object_list *to, const struct manifest_object *from, size_t count,
                        unsigned source) {
        for (size_t i = 0; i < count; i++) {
                struct manifest_object o = from[i];

                o.file = prefixed(j, o.file);
                o.source = source;
                object_list_add(to, &o);
        }
}

static void add_problems(struct joining *j, struct problem_list *to, const struct manifest_problem *from, size_t count) {
        for (size_t i = 0; i < count; i++) {
                struct manifest_problem p = from[i];

                p.file = prefixed(j, p.file);
                problem_list_add(to, p);
        }
}

/* The joined set takes it. */
static void add_part(struct joining *j, const struct manifest_part *part, unsigned source) {
        struct manifest_set *set = j->set;
        const struct manifest_set *from = part->set;

        j->title = part->title;
        j->file = NULL;
        add_objects(j, &j->objects, from->objects, from->object_count, source);
        add_objects(j, &j->refused, from->refused, from->refused_count, source);
        add_problems(j, &j->errors, from->errors, from->error_count);
        add_problems(j, &j->warnings, from->warnings, from->warning_count);
        if (from->object_count + from->refused_count == 0 && set->empty_part.n == 0)
                set->empty_part = arena_str(set->arena, part->title);
        set->complete &= from->complete;
        set->file_count += from->file_count;
        set->bytes += from->bytes;
        set->parsed_count += from->parsed_count;
        set->parts[set->part_count++] = part->set;
}

static void sort(struct object_list *l) {
        if (l->count > 1)
                qsort(l->items, l->count, sizeof *l->items, manifest_apply_cmp);
}

static void joining_end(struct joining *j, struct str default_namespace) {
        struct manifest_set *set = j->set;

        settle_duplicates(&j->objects, &j->refused, default_namespace, &j->errors, &j->warnings, set->arena);
        sort(&j->objects);
        sort(&j->refused);
        set->objects = j->objects.items;
        set->object_count = j->objects.count;
        set->refused = j->refused.items;
        set->refused_count = j->refused.count;
        set->errors = j->errors.items;
        set->error_count = j->errors.count;
        set->warnings = j->warnings.items;
        set->warning_count = j->warnings.count;
}

int manifest_make_along(struct str text, struct str file, uint32_t line, struct manifest_set **ret_set, struct err *err) {
        struct manifest_file in = { STR("along.yaml"), text };
        struct manifest_source source = { 0 };
        struct manifest_set *set;
        int r = manifest_render_files(&in, 1, &source, &set, err);

        if (r < 0)
                return r;
        if (set->object_count != 1 || set->error_count) {
                r = err_set(err, ERR_INVAL, "%.*s", STR_FMT(set->error_count ? set->errors->message : STR("it is no object")));
                manifest_set_free(set);
                return r;
        }
        set->objects->file = arena_str(set->arena, file);
        set->objects->line = line;
        set->objects->along = true;
        *ret_set = set;
        return 0;
}

int manifest_join(const struct manifest_part *parts, size_t count, struct str default_namespace,
                  struct manifest_set **ret_set, struct err *err) {
        struct joining j = { .set = count == 1 ? parts->set : mem_zalloc(sizeof *j.set) };

        if (count > 1) {
                j.set->arena = arena_new(0);
                j.set->complete = true;
                j.set->parts = mem_zalloc(count * sizeof *j.set->parts);
                for (size_t i = 0; i < count; i++)
                        add_part(&j, &parts[i], (unsigned)i);
                joining_end(&j, default_namespace);
        }
        if (j.set->object_count + j.set->refused_count > MANIFEST_MAX_OBJECTS) {
                manifest_set_free(j.set);
                return err_set(err, ERR_LIMIT, "more than %d objects", MANIFEST_MAX_OBJECTS);
        }
        *ret_set = j.set;
        return 0;
}
