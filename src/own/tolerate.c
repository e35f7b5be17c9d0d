/* SPDX-License-Identifier: Apache-2.0 */
#include "own/tolerate.h"

#include "own/path_read.h"

static const struct fieldset *set_of(const struct path_list *paths, struct arena *a) {
        const struct fieldset *set = &fieldset_empty;

        for (size_t i = 0; i < paths->count; i++)
                set = fieldset_insert(a, set, paths->paths[i]);
        return set;
}

static struct managed without(const struct managed *owners, const struct fieldset *paths, struct arena *a) {
        struct managed_entry *entries = arena_alloc(a, (owners->count + 1) * sizeof *entries);

        for (size_t i = 0; i < owners->count; i++) {
                entries[i] = owners->entries[i];
                if (managed_is_ours(&entries[i]) && !entries[i].broken)
                        entries[i].set = fieldset_subtract_whole(a, entries[i].set, paths);
        }
        return (struct managed){ entries, owners->count };
}

struct tolerance tolerate(const struct value *desired, const struct value *live, const struct managed *owners,
                          const struct ignored_path *paths, size_t count, const struct schema *type, struct arena *a) {
        struct path_list of_git = { 0 }, of_live = { 0 };

        for (size_t i = 0; i < count; i++) {
                const struct ignored_path *p = &paths[i];

                if (!p->at_sync && (p->in_git || !field_path_has_index(p->path)))
                        path_list_add(&of_git, a, p->path);
                if (!p->at_sync && (p->in_live || !field_path_has_index(p->path)))
                        path_list_add(&of_live, a, p->path);
        }
        if (!of_git.count && !of_live.count)
                return (struct tolerance){ desired, live, *owners };
        return (struct tolerance){
                .desired = field_paths_prune(a, desired, of_git.paths, of_git.count, type),
                .live = field_paths_prune(a, live, of_live.paths, of_live.count, type),
                .owners = without(owners, set_of(&of_live, a), a),
        };
}
