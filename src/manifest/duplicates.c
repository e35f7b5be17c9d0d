/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/duplicates_impl.h"

/* An object and where it stands. */
struct entry {
        const struct manifest_object *o;
        struct str ns;
        bool fine;      /* in `objects` */
        bool duplicate;
        bool extra;     /* not the first of its key, or an earlier source's */
};

static int cmp_key(const struct entry *a, const struct entry *b) {
        int r = str_cmp(a->o->kind, b->o->kind);

        if (r == 0)
                r = str_cmp(a->o->name, b->o->name);
        if (r == 0)
                r = str_cmp(a->ns, b->ns);
        return r ? r : str_cmp(a->o->group, b->o->group);
}

static int cmp_entry(const void *x, const void *y) {
        const struct entry *a = x, *b = y;
        int r = cmp_key(a, b);

        if (r == 0 && a->o->source != b->o->source)
                return a->o->source < b->o->source ? -1 : 1;
        if (r == 0)
                r = str_cmp(a->o->file, b->o->file);
        if (r == 0 && a->o->line != b->o->line)
                return a->o->line < b->o->line ? -1 : 1;
        return r;
}

static void add_entries(struct entry *entries, size_t *count, const struct object_list *l, struct str default_ns,
                        bool fine) {
        for (size_t i = 0; i < l->count; i++) {
                const struct manifest_object *o = &l->items[i];
                struct str ns = o->ns.n == 0 && !o->bound ? default_ns : o->ns;

                entries[(*count)++] = (struct entry){ .o = o, .ns = ns, .fine = fine };
        }
}

static void report(const struct entry *first, const struct entry *second, struct problem_list *errors,
                   struct arena *a) {
        problem_list_add(errors, (struct manifest_problem){
                .code = ERR_INVAL,
                .file = second->o->file,
                .line = second->o->line,
                .object = manifest_title(second->o, a),
                .message = arena_strf(a, "defined twice, first at %.*s:%u; neither is applied",
                                      STR_FMT(first->o->file), first->o->line),
        });
}

static void report_outdone(const struct entry *loser, const struct entry *winner, struct problem_list *warnings,
                           struct arena *a) {
        bool along = loser->o->along; /* of an Application of the cluster no line is known */
        struct str line = loser->o->line ? arena_strf(a, ":%u", loser->o->line) : STR("");

        problem_list_add(warnings, (struct manifest_problem){
                .file = winner->o->file,
                .line = winner->o->line,
                .object = manifest_title(winner->o, a),
                .message = arena_strf(a, "%s, too, at %.*s%.*s: %s", along ? "the application says what it is" : "an earlier source has it",
                                      STR_FMT(loser->o->file), STR_FMT(line),
                                      along ? "what Git has counts" : "the later one counts"),
        });
}

/* Entries of one key. Those of the last source are at the end. */
static void mark_key(struct entry *entries, size_t count, struct problem_list *errors, struct problem_list *warnings,
                     struct arena *a) {
        unsigned last = entries[count - 1].o->source;
        size_t first = 0;

        while (entries[first].o->source != last)
                first++;
        for (size_t i = 0; i < first; i++) {
                entries[i].extra = true;
                report_outdone(&entries[i], &entries[first], warnings, a);
        }
        for (size_t i = first + 1; i < count; i++) {
                entries[first].duplicate = entries[i].duplicate = entries[i].extra = true;
                report(&entries[first], &entries[i], errors, a);
        }
}

static bool mark(struct entry *entries, size_t count, struct problem_list *errors, struct problem_list *warnings,
                 struct arena *a) {
        bool any = false;

        for (size_t from = 0, to; from < count; from = to) {
                to = from + 1;
                while (to < count && cmp_key(&entries[from], &entries[to]) == 0)
                        to++;
                any |= to - from > 1;
                mark_key(&entries[from], to - from, errors, warnings, a);
        }
        return any;
}

/* Both lists anew; the entries point into the old ones, which go last. */
static void rebuild(const struct entry *entries, size_t count, struct object_list *objects,
                    struct object_list *refused) {
        struct object_list fine = { 0 }, bad = { 0 };

        for (size_t i = 0; i < count; i++)
                if (!entries[i].extra)
                        object_list_add(entries[i].fine && !entries[i].duplicate ? &fine : &bad, entries[i].o);
        free(objects->items);
        free(refused->items);
        *objects = fine;
        *refused = bad;
}

void settle_duplicates(struct object_list *objects, struct object_list *refused, struct str default_ns,
                       struct problem_list *errors, struct problem_list *warnings, struct arena *a) {
        struct entry *entries = mem_alloc((objects->count + refused->count + 1) * sizeof(*entries));
        size_t count = 0;

        add_entries(entries, &count, objects, default_ns, true);
        add_entries(entries, &count, refused, default_ns, false);
        qsort(entries, count, sizeof(*entries), cmp_entry);
        if (mark(entries, count, errors, warnings, a))
                rebuild(entries, count, objects, refused);
        free(entries);
}
