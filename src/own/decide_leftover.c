/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an earlier deployer left in managedFields (design §6.5, §6.8): the entry of client-side apply, of
 * before-first-apply, of Helm, of Argo CD once it is given up. Nobody writes under these names any more, yet each path
 * they share with us would stay when Git removes it. So when we own a path, the leftover loses it, by patches that move
 * no value. What a leftover alone owns stays its own; it is extra, and may be a default.
 *
 * Only entries of the version that is applied: a path of another version may be another field. The server rewrites our
 * entry when we apply; entries of versions that are no longer served it drops by itself.
 */
#include "own/decide_impl.h"

#include "base/json.h"

bool desk_is_person(const struct managed_entry *e) {
        enum policy_class class = policy_classify(e->manager, e->operation, e->subresource);

        return (class == POLICY_PERSON || class == POLICY_CLIENT) && !e->subresource.n && !e->broken;
}

static bool is_leftover(const struct decide_input *in, const struct managed_entry *e) {
        enum policy_class class = policy_classify(e->manager, e->operation, e->subresource);

        if (e->subresource.n || e->broken)
                return false;
        if (class == POLICY_CLIENT || class == POLICY_NOBODY)
                return true;
        if (e->operation == MANAGED_UPDATE && (str_eqc(e->manager, "helm") || str_eqc(e->manager, "Helm")))
                return true; /* Helm 3; Helm 4 applies on the server, and goes on owning what it applied */
        return in->adopt_argocd && str_starts(e->manager, STR("argocd-"));
}

bool desk_is_leftover(const struct desk *d, const struct managed_entry *e) {
        return is_leftover(d->in, e);
}

bool decide_may_tidy(const struct decide_input *in, const struct managed *owners) {
        for (size_t i = 0; i < owners->count; i++)
                if (desk_is_person(&owners->entries[i]) || is_leftover(in, &owners->entries[i]))
                        return true;
        return false;
}

bool desk_can_move(const struct desk *d, const struct managed_entry *e) {
        struct str version = value_text(value_getc(d->in->desired, "apiVersion"));

        return d->ours && !d->ours->broken && str_eq(d->ours->api_version, version) && str_eq(e->api_version, version);
}

/*
 * Do we own it as well? The `.` of a map or list, which an apply does not own when it has something in it, counts as
 * ours where we own something below: it would only keep an empty map.
 */
static bool is_shared(const struct desk *d, struct field_path p) {
        const struct fieldset *ours = fieldset_at(d->ours->set, p);

        return ours && (ours->member || p.elements[p.count - 1].kind == PATH_FIELD);
}

static const struct fieldset *shared_with(struct desk *d, const struct managed_entry *e) {
        const struct fieldset *shared = &fieldset_empty;
        const struct field_path *paths;
        size_t count = fieldset_paths(e->set, d->arena, &paths);

        for (size_t i = 0; i < count; i++)
                if (is_shared(d, paths[i]) && !desk_is_yielded(d, paths[i]) &&
                    desk_ask(d, e, paths[i]).action == POLICY_TAKE)
                        shared = fieldset_insert(d->arena, shared, paths[i]);
        return shared;
}

/*
 * The annotation is the memory of a client-side apply that is over. Left there it is a copy of an old object, Secrets
 * too, and the base from which the next such apply would compute what to delete. It goes with the leftover, unless what
 * people added is to stay.
 */
static void drop_last_applied(struct desk *d) {
        const struct path_element elements[] = { path_field(STR("metadata")), path_field(STR("annotations")),
                                                 path_field(STR(LAST_APPLIED)) };
        struct field_path p = field_path_dup(d->arena, (struct field_path){ elements, ARRAY_LEN(elements) });
        struct field_path parent = { p.elements, p.count - 1 };
        const struct managed_entry *owners[MANAGED_MAX_ENTRIES];
        size_t count = managed_owners(&d->managed, d->type, p, owners, MANAGED_MAX_ENTRIES);

        if (!d->in->remove_extra || !count || !field_path_find(d->in->live, p, d->type) || desk_is_yielded(d, p))
                return;
        for (size_t i = 0; i < count; i++)
                if (!desk_is_leftover(d, owners[i]) || !desk_can_move(d, owners[i]))
                        return;
        for (size_t i = 0; i < count; i++) {
                desk_strip(d, &d->strips, owners[i], fieldset_insert(d->arena, &fieldset_empty, p), true);
                if (fieldset_contains(owners[i]->set, parent))
                        desk_strip(d, &d->strips, owners[i], fieldset_insert(d->arena, &fieldset_empty, parent), false);
        }
        d->out.removes = true;
        desk_note(d, (struct decide_note){ .kind = DECIDE_REMOVED,
                                           .path = p,
                                           .owner = owners[0]->manager,
                                           .rule = "client-side apply is superseded" });
}

void desk_leftovers(struct desk *d) {
        for (size_t i = 0; i < d->managed.count; i++) {
                const struct managed_entry *e = &d->managed.entries[i];

                if (desk_is_leftover(d, e) && desk_can_move(d, e))
                        desk_strip(d, &d->strips, e, shared_with(d, e), false);
        }
        drop_last_applied(d);
}
