/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/desired.h"

#include "git/refs.h"
#include "health/health.h"
#include "manifest/order.h"

struct str desired_revision_text(const struct git_id *commits, size_t count, struct arena *a) {
        struct str text = { 0 };

        for (size_t i = 0; i < count; i++) {
                char hex[GIT_OID_HEX_BYTES + 1];

                git_id_hex(&commits[i], hex);
                text = arena_strf(a, "%.*s%s%s", STR_FMT(text), i ? "+" : "", hex);
        }
        return text;
}

bool desired_revision_read(struct str text, struct git_id *ret_commits, size_t count) {
        struct str hex;
        size_t n = 0;

        while (str_next(&text, '+', &hex)) {
                if (n == count || !git_id_from_hex(hex, &ret_commits[n++]))
                        return false;
        }
        return n == count;
}

static void read_marks(struct desired *d, const struct value *object) {
        const struct value *annotations = value_path(object, "metadata", "annotations", NULL);
        struct health_marks marks = health_marks_of(object);

        d->hook = value_text(value_getc(annotations, "argocd.argoproj.io/hook")).n ||
                  value_text(value_getc(annotations, "helm.sh/hook")).n;
        d->health_ignored = marks.ignored;
        d->suspended_is_healthy = marks.suspended_is_healthy;
}

static void copy_object(struct desired_set *set, const struct manifest_object *o, enum desired_state state) {
        struct arena *a = set->arena;
        struct desired *d = &set->objects[set->count++];

        *d = (struct desired){
                .id = arena_str(a, o->id),
                .gvk = { arena_str(a, o->group), arena_str(a, o->version), arena_str(a, o->kind) },
                .ns = arena_str(a, o->ns),
                .name = arena_str(a, o->name),
                .text = arena_str(a, o->canonical),
                .file = arena_str(a, o->file),
                .line = o->line,
                .source = set->keep_sources ? o->value : NULL,
                .rank = manifest_apply_rank(o->group, o->kind),
                .state = state == DESIRED_OK && o->skip_reconcile ? DESIRED_SKIPPED : state,
                .secret = o->secret,
                .kept = manifest_is_kept(o) || o->along,
                .along = o->along,
        };
        read_marks(d, o->value);
        set->from_git += !o->along;
}

static int in_apply_order(const void *a, const void *b) {
        const struct desired *x = a, *y = b;

        return x->rank != y->rank ? x->rank - y->rank : str_cmp(x->id, y->id);
}

static struct manifest_problem *copy_problems(struct arena *a, const struct manifest_problem *first, size_t first_count,
                                              const struct manifest_problem *second, size_t second_count) {
        struct manifest_problem *all = arena_alloc(a, (first_count + second_count + 1) * sizeof *all);

        for (size_t i = 0; i < first_count + second_count; i++) {
                const struct manifest_problem *p = i < first_count ? &first[i] : &second[i - first_count];

                all[i] = (struct manifest_problem){ p->code, arena_str(a, p->file), p->line, arena_str(a, p->object),
                                                    arena_str(a, p->message) };
        }
        return all;
}

/* Of which commits it is. */
static void set_revision(struct desired_set *d, const struct git_id *commits, size_t count) {
        struct git_id *copy = arena_alloc(d->arena, (count + 1) * sizeof *copy);

        memcpy(copy, commits, count * sizeof *copy);
        d->commits = copy;
        d->commit_count = count;
        d->revision = desired_revision_text(commits, count, d->arena);
}

static void copy_objects(struct desired_set *d, const struct manifest_bound *bound) {
        size_t count = bound->object_count + bound->parked_count + bound->refused_count;

        d->objects = arena_alloc(d->arena, (count + 1) * sizeof *d->objects);
        for (size_t i = 0; i < bound->object_count; i++)
                copy_object(d, &bound->objects[i], DESIRED_OK);
        for (size_t i = 0; i < bound->parked_count; i++)
                copy_object(d, &bound->parked[i], DESIRED_PARKED);
        for (size_t i = 0; i < bound->refused_count; i++)
                copy_object(d, &bound->refused[i], DESIRED_REFUSED);
        qsort(d->objects, d->count, sizeof *d->objects, in_apply_order);

        d->by_id = map_new(NULL);
        for (size_t i = 0; i < d->count; i++) {
                if (d->objects[i].id.n)
                        map_set(d->by_id, d->objects[i].id, &d->objects[i]);
        }
}

struct desired_set *desired_set_new(struct manifest_set *set, struct manifest_bound *bound, const struct git_id *commits,
                                    size_t commit_count, bool keep_sources) {
        struct desired_set *d = mem_zalloc(sizeof *d);

        d->arena = arena_new(0);
        set_revision(d, commits, commit_count);
        d->complete = set->complete;
        d->empty_source = arena_str(d->arena, set->empty_part);
        d->keep_sources = keep_sources;
        copy_objects(d, bound);
        d->error_count = set->error_count + bound->error_count;
        d->errors = copy_problems(d->arena, set->errors, set->error_count, bound->errors, bound->error_count);
        d->warning_count = set->warning_count + bound->warning_count;
        d->warnings = copy_problems(d->arena, set->warnings, set->warning_count, bound->warnings, bound->warning_count);
        if (keep_sources) {
                d->kept_set = set;
                d->kept_bound = bound;
        } else {
                manifest_bound_free(bound);
                manifest_set_free(set);
        }
        return d;
}

void desired_set_free(struct desired_set *set) {
        if (!set)
                return;
        map_free(set->by_id);
        manifest_bound_free(set->kept_bound);
        manifest_set_free(set->kept_set);
        arena_free(set->arena);
        free(set);
}

const struct desired *desired_find(const struct desired_set *set, struct str id) {
        return set ? map_find(set->by_id, id) : NULL;
}

struct str desired_title(const struct desired *d, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(4096);

        object_key_print(&out, &(struct object_key){ d->gvk.group, d->gvk.kind, d->ns, d->name });
        return arena_str(a, buf_str(&out));
}
