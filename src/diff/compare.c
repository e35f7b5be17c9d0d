/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/compare_impl.h"

static const char *const silent_metadata[] = {
        "managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink",
};

static const struct value *strip(struct arena *a, const struct value *object) {
        const struct value *metadata = value_getc(object, "metadata");

        if (!object)
                return NULL;
        for (size_t i = 0; i < ARRAY_LEN(silent_metadata); i++)
                if (value_getc(metadata, silent_metadata[i]))
                        metadata = value_with(a, metadata, str_from(silent_metadata[i]), NULL);
        if (metadata != value_getc(object, "metadata"))
                object = value_with(a, object, STR("metadata"), metadata);
        return value_getc(object, "status") ? value_with(a, object, STR("status"), NULL) : object;
}

/* The object's own word on its owners is whole (it has times); a table kept in a cache may be reduced. */
static int read_owners(const struct value *object, const struct managed *table, struct arena *a,
                       struct managed *ret_managed, struct err *err) {
        if (value_path(object, "metadata", "managedFields", NULL) || !table)
                return object ? managed_parse(object, a, ret_managed, err) : 0;
        *ret_managed = *table;
        return 0;
}

static const struct fieldset *our_set(const struct managed *m) {
        const struct managed_entry *e = managed_ours(m);

        return e && e->set ? e->set : &fieldset_empty;
}

static int walk_open(struct walk *w, const struct diff_input *in, struct arena *a, struct err *err) {
        const struct value *objects[] = { in->before, in->after, in->desired };
        int res;

        w->in = in;
        w->arena = a;
        res = read_owners(in->before, in->before_owners, a, &w->before_owners, err);
        if (res < 0)
                return err_wrap(err, res, "the live object");
        res = read_owners(in->after, in->after_owners, a, &w->after_owners, err);
        if (res < 0)
                return err_wrap(err, res, "the server's answer");
        w->ours_before = our_set(&w->before_owners);
        w->ours_after = our_set(&w->after_owners);
        w->blind = w->before_owners.count == 0 && w->after_owners.count == 0;

        mask_objects(objects, ARRAY_LEN(objects), in->secret, in->mask, a);
        w->before = strip(a, objects[0]);
        w->after = in->after == in->before ? w->before : strip(a, objects[1]);
        w->desired = objects[2];
        /* An answer without managedFields: what we asked for is what we own. */
        if (w->after && w->after_owners.count == 0)
                w->ours_after = fieldset_of_value(w->desired ? w->desired : &value_empty_map, in->type, a, NULL);
        return 0;
}

/* What is due for a hand-over is left as it is, whatever a dry-run without the hand-over said. */
static void mask_handovers(struct walk *w) {
        for (size_t i = 0; w->before && w->after && i < w->in->note_count; i++) {
                const struct decide_note *n = &w->in->notes[i];

                if (n->kind != DECIDE_HANDOVER_DUE)
                        continue;
                const struct value *live = field_path_find(w->before, n->path, w->in->type);
                if (!live)
                        w->after = field_path_prune(w->arena, w->after, n->path, w->in->type);
                else
                        field_path_set(w->arena, w->after, n->path, w->in->type, live, &w->after, NULL);
        }
}

static uint32_t line_of(const struct walk *w, struct field_path path) {
        if (w->in->line_of)
                return w->in->line_of(w->in->line_ctx, path);
        return diff_line_in(w->desired, path, w->in->type);
}

/* Which of two entries wrote later? RFC 3339 times of one server compare as text. */
static bool is_later(const struct managed_entry *x, const struct managed_entry *y) {
        return str_cmp(x->time, y->time) > 0;
}

/* The likeliest writer of the live value: the latest of those who own it, others before us. */
static const struct managed_entry *writer_of(const struct managed *m, const struct schema *type, struct field_path path) {
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES], *best = NULL;
        size_t count = managed_owners(m, type, path, owners, MANAGED_MAX_ENTRIES);

        if (count == 0)
                count = managed_touching(m, type, path, owners, MANAGED_MAX_ENTRIES);
        for (size_t i = 0; i < count && i < MANAGED_MAX_ENTRIES; i++) {
                bool worse = best && managed_is_ours(owners[i]) && !managed_is_ours(best);
                bool better = !best || (managed_is_ours(best) && !managed_is_ours(owners[i]));

                if (better || (!worse && is_later(owners[i], best)))
                        best = owners[i];
        }
        return best;
}

static struct diff_owner owner_of(const struct managed *m, const struct schema *type, struct field_path path) {
        const struct managed_entry *e = writer_of(m, type, path);

        if (!e)
                return (struct diff_owner){ .class = POLICY_UNKNOWN };
        return (struct diff_owner){
                .manager = e->manager,
                .operation = e->operation,
                .subresource = e->subresource,
                .time = e->time,
                .class = policy_classify(e->manager, e->operation, e->subresource),
        };
}

static struct field_path keep_path(struct arena *a, struct field_path p) {
        struct path_element *elements = arena_alloc(a, p.count * sizeof *elements);

        if (p.count)
                memcpy(elements, p.elements, p.count * sizeof *elements);
        return (struct field_path){ elements, p.count };
}

/* The place in Git's file: what is gone from it is looked for where it stood. */
static uint32_t entry_line(const struct walk *w, enum diff_kind kind, struct field_path path) {
        if (kind == DIFF_REMOVED && path.count)
                path.count--;
        return line_of(w, path);
}

void walk_emit(struct walk *w, enum diff_kind kind, const struct value *before, const struct value *after) {
        struct diff_entry e = { .kind = kind, .before = before, .after = after, .class = walk_class(w) };

        if (w->count == DIFF_MAX_ENTRIES) {
                w->left_out++;
                return;
        }
        e.path = keep_path(w->arena, walk_path(w));
        if (kind != DIFF_REMOVED)
                e.git = field_path_find(w->desired, e.path, w->in->type);
        if (before)
                e.owner = owner_of(&w->before_owners, w->in->type, e.path);
        if (e.class == DIFF_OURS)
                e.line = entry_line(w, kind, e.path);
        w->entries = mem_grow(w->entries, &w->cap, w->count + 1, sizeof *w->entries);
        w->entries[w->count++] = e;
}

/* Does an entry already show what the note is about? Then the entry carries it. */
static bool merge_note(struct walk *w, const struct decide_note *n) {
        bool merged = false;

        if (n->kind != DECIDE_TAKEN && n->kind != DECIDE_LEAVING && n->kind != DECIDE_REMOVED)
                return false;
        for (size_t i = 0; i < w->count; i++) {
                struct diff_entry *e = &w->entries[i];

                if (!field_path_covers(n->path, e->path) && !field_path_covers(e->path, n->path))
                        continue;
                if (!e->why)
                        e->why = n;
                if (n->kind == DECIDE_REMOVED && field_path_covers(n->path, e->path))
                        e->class = DIFF_OURS; /* its going is our doing */
                merged = true;
        }
        return merged;
}

/* There is nothing there; or it may differ, and does not. */
static bool is_idle(const struct decide_note *n, const struct value *live, const struct value *git) {
        if (!live || !git)
                return !live && !git;
        return n->kind == DECIDE_IGNORED && value_equal(live, git);
}

static void add_notes(struct walk *w, struct diff *d) {
        struct diff_note *notes = arena_zalloc(w->arena, w->in->note_count * sizeof *notes);

        for (size_t i = 0; i < w->in->note_count; i++) {
                const struct decide_note *n = &w->in->notes[i];
                const struct value *live = field_path_find(w->before, n->path, w->in->type);
                const struct value *git = field_path_find(w->desired, n->path, w->in->type);

                if (merge_note(w, n) || is_idle(n, live, git))
                        continue;
                notes[d->note_count++] = (struct diff_note){
                        .kind = n->kind,
                        .path = n->path,
                        .owner = n->owner,
                        .subresource = n->subresource,
                        .rule = n->rule,
                        .live = live,
                        .git = git,
                        .line = git ? line_of(w, n->path) : 0,
                };
        }
        d->notes = notes;
}

static void close_entries(struct walk *w, struct diff *d) {
        struct diff_entry *entries = arena_alloc(w->arena, w->count * sizeof *entries);

        if (w->count)
                memcpy(entries, w->entries, w->count * sizeof *entries);
        d->entries = entries;
        d->count = w->count;
        d->left_out = w->left_out;
}

static void name_object(struct diff *d, const struct diff_input *in) {
        const struct value *object = in->after ? in->after : in->before;
        const struct value *metadata = value_getc(object, "metadata");

        d->group = schema_group(value_text(value_getc(object, "apiVersion")));
        d->kind = value_text(value_getc(object, "kind"));
        d->ns = value_text(value_getc(metadata, "namespace"));
        d->name = value_text(value_getc(metadata, "name"));
        d->file = in->file;
        d->secret = in->secret || mask_is_secret(in->before) || mask_is_secret(in->after);
        d->created = !in->before;
        d->removed = !in->after;
}

static int check_input(const struct diff_input *in, struct err *err) {
        if (!in->before && !in->after)
                return err_set(err, ERR_INVAL, "nothing to compare");
        if ((in->before && in->before->kind != VALUE_MAP) || (in->after && in->after->kind != VALUE_MAP))
                return err_set(err, ERR_INVAL, "an object to compare is no map");
        return 0;
}

int diff_compare(const struct diff_input *in, struct arena *a, struct diff *ret_diff, struct err *err) {
        int res = check_input(in, err);
        struct walk *w = arena_zalloc(a, sizeof *w);
        struct diff d = { 0 };

        if (res == 0)
                res = walk_open(w, in, a, err);
        if (res < 0)
                return res;
        mask_handovers(w);
        name_object(&d, in);
        if (d.created || d.removed)
                walk_emit(w, d.created ? DIFF_ADDED : DIFF_REMOVED, w->before, w->after);
        else
                walk_values(w, w->before, w->after, in->type);
        add_notes(w, &d);
        close_entries(w, &d);
        free(w->entries);
        *ret_diff = d;
        return 0;
}

bool diff_differs(const struct diff *d) {
        for (size_t i = 0; i < d->count; i++)
                if (d->entries[i].class != DIFF_ADMISSION)
                        return true;
        return d->left_out > 0;
}

uint32_t diff_line_in(const struct value *root, struct field_path path, const struct schema *type) {
        uint32_t line = root ? root->line : 0;

        for (size_t i = 0; root && i < path.count; i++) {
                const struct path_element *e = &path.elements[i];
                const struct value_member *m = e->kind == PATH_FIELD ? value_member_find(root, e->name) : NULL;

                root = m ? m->value : e->kind == PATH_FIELD ? NULL : path_item_find(root, e, type, NULL);
                type = e->kind == PATH_FIELD ? schema_field(type, e->name) : schema_item(type);
                if (m && m->line)
                        line = m->line;
                else if (root && root->line)
                        line = root->line;
        }
        return line;
}

const char *diff_kind_name(enum diff_kind kind) {
        static const char *const names[] = { "changed", "added", "removed", "reordered" };

        return names[kind];
}

const char *diff_class_name(enum diff_class class) {
        static const char *const names[] = { "ours", "admission", "foreign" };

        return names[class];
}
