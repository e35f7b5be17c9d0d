/* SPDX-License-Identifier: Apache-2.0 */
/* From what the engine says of an object to what `truce adopt` tells of it. */
#include "cli/adopt_impl.h"

#include "diff/mask.h"
#include "kube/gvk.h"

#define TEXT_MAX_BYTES (64 * 1024)

/* --- the report ------------------------------------------------------------------------------------------------- */

static struct tracker copy_of(const struct tracker *who, struct arena *a) {
        struct tracker t = *who;

        t.app = arena_str(a, who->app);
        t.owner = arena_str(a, who->owner);
        t.name = arena_str(a, who->name);
        t.ns = arena_str(a, who->ns);
        return t;
}

struct adopt_tracker *adopt_tracker_of(struct adopt_report *r, const struct tracker *who, struct str words) {
        struct adopt_tracker *t;

        for (size_t i = 0; i < r->tracker_count; i++)
                if (str_eq(r->trackers[i]->words, words))
                        return r->trackers[i];
        t = arena_zalloc(r->arena, sizeof *t);
        t->words = arena_str(r->arena, words);
        if (who)
                t->who = copy_of(who, r->arena);
        r->trackers = mem_grow(r->trackers, &r->tracker_cap, r->tracker_count + 1, sizeof(*r->trackers));
        r->trackers[r->tracker_count++] = t;
        return t;
}

bool adopt_is_tracked(const struct adopt_object *o, const struct adopt_tracker *t) {
        for (size_t i = 0; i < o->tracker_count; i++)
                if (o->trackers[i] == t)
                        return true;
        return false;
}

bool adopt_is_desired(const struct adopt_report *r, struct str group, struct str kind, struct str ns, struct str name) {
        for (size_t i = 0; i < agent_app_count(r->agent); i++) {
                const struct desired_set *set = app_desired(agent_app(r->agent, i));

                for (size_t k = 0; set && k < set->count; k++) {
                        const struct desired *d = &set->objects[k];

                        if (str_eq(d->gvk.group, group) && str_eq(d->gvk.kind, kind) && str_eq(d->ns, ns) &&
                            str_eq(d->name, name))
                                return true;
                }
        }
        return false;
}

void adopt_add_extra(struct adopt_report *r, struct adopt_tracker *t, struct str group, struct str kind, struct str ns,
                     struct str name) {
        for (size_t i = 0; i < t->extra_count; i++) {
                const struct adopt_extra *x = &t->extras[i];

                if (str_eq(x->group, group) && str_eq(x->kind, kind) && str_eq(x->ns, ns) && str_eq(x->name, name))
                        return;
        }
        t->extras = mem_grow(t->extras, &t->extra_cap, t->extra_count + 1, sizeof *t->extras);
        t->extras[t->extra_count++] = (struct adopt_extra){ arena_str(r->arena, group), arena_str(r->arena, kind),
                                                            arena_str(r->arena, ns), arena_str(r->arena, name) };
}

static struct adopt_object *object_of(struct adopt_report *r, struct app *app, const struct outcome *o) {
        _cleanup_(buf_done) struct buf key = buf_make(TEXT_MAX_BYTES);
        struct adopt_object *x, *old;

        buf_addf(&key, "%.*s\n%s", STR_FMT(app_config(app)->instance), o->id);
        x = old = map_find(r->by_id, buf_str(&key));
        if (!x) {
                x = arena_alloc(r->arena, sizeof *x);
                map_set(r->by_id, buf_str(&key), x);
                r->objects = mem_grow(r->objects, &r->cap, r->count + 1, sizeof(*r->objects));
                r->objects[r->count++] = x;
        }
        for (size_t i = 0; old && i < old->tracker_count; i++)
                old->trackers[i]->objects--;
        *x = (struct adopt_object){ .app = app };
        return x;
}

/* --- who has it today ------------------------------------------------------------------------------------------- */

/* Who wrote it first, as far as managedFields tell: status is nobody's doing. */
static struct str writer_of(const struct managed *m) {
        const struct managed_entry *first = NULL;

        for (size_t i = 0; m && i < m->count; i++) {
                const struct managed_entry *e = &m->entries[i];

                if (e->subresource.n || managed_is_ours(e) || managed_is_keeper(e))
                        continue;
                if (!first || str_cmp(e->time, first->time) < 0)
                        first = e;
        }
        return first ? first->manager : STR("");
}

/* "Argo CD application "shop", Flux Kustomization "apps"". */
static struct str marks_of(const struct tracker *who, struct arena *a) {
        struct str all = who->owner;

        while ((who = who->next))
                all = arena_strf(a, "%.*s, %.*s", STR_FMT(all), STR_FMT(who->owner));
        return all;
}

static struct str today_of(const struct adoption *ad, struct arena *a) {
        const struct value *annotations = value_path(ad->in->live, "metadata", "annotations", NULL);

        if (ad->ours || ad->tracker.kind == TRACKER_OURS)
                return STR("truce");
        if (ad->tracker.kind != TRACKER_NONE)
                return marks_of(&ad->tracker, a);
        return value_getc(annotations, ADOPT_LAST_APPLIED) ? STR("kubectl apply") : writer_of(ad->in->managed);
}

static bool is_lifted_by_others(const struct tracker *who) {
        return who->kind == TRACKER_ARGOCD || who->kind == TRACKER_OTHER_TOOL;
}

static void add_tracker(struct adopt_object *x, struct adopt_tracker *t, bool holds) {
        if (adopt_is_tracked(x, t))
                return;
        x->trackers[x->tracker_count++] = t;
        t->objects++;
        t->holds |= holds;
}

/* The first that holds it today, and all behind that: the others let go by configuration. */
static void find_trackers(struct adopt_report *r, struct adopt_object *x, const struct adoption *ad) {
        size_t count = 1;
        bool holds = false;

        for (const struct tracker *who = ad->tracker.next; who; who = who->next)
                count++;
        x->trackers = arena_alloc(r->arena, count * sizeof(*x->trackers));
        for (const struct tracker *who = &ad->tracker; who && is_lifted_by_others(who) && !ad->ours; who = who->next) {
                holds |= ad->held_by.n && str_eq(who->owner, ad->held_by);
                add_tracker(x, adopt_tracker_of(r, who, who->owner), holds);
        }
        if (!x->tracker_count && str_eqc(x->today, "kubectl apply"))
                add_tracker(x, adopt_tracker_of(r, NULL, x->today), false);
}

/* --- hands ------------------------------------------------------------------------------------------------------ */

static const char *why(const struct hand *h) {
        if (h->note)
                return h->note->rule;
        return h->kind == HAND_STAYS ? "not in Git" : h->kind == HAND_GOES ? "gone with what held it" : "";
}

static struct adopt_share share_of(struct adopt_report *r, const struct hand *h) {
        struct adopt_share s = { .kind = h->kind };

        if (!h->owner)
                return s;
        s.owner = adopt_owner_words(r, h->owner->manager, h->owner->subresource);
        s.operation = h->owner->operation == MANAGED_APPLY ? STR("Apply") : STR("Update");
        s.subresource = arena_str(r->arena, h->owner->subresource);
        return s;
}

static void add_share(struct adopt_share *shares, size_t *count, const struct adopt_share *one) {
        for (size_t i = 0; i < *count; i++) {
                if (shares[i].kind == one->kind && str_eq(shares[i].owner, one->owner) &&
                    str_eq(shares[i].operation, one->operation)) {
                        shares[i].paths++;
                        return;
                }
        }
        shares[*count] = *one;
        shares[(*count)++].paths = 1;
}

/* A deployer that applies on the server goes on owning what it applied. */
static void gather_appliers(struct adopt_report *r, struct adopt_object *x, const struct managed *then,
                            const struct hand *hands, size_t count) {
        struct str *names = arena_alloc(r->arena, (then->count + 1) * sizeof *names);

        for (size_t i = 0; i < then->count; i++) {
                const struct managed_entry *e = &then->entries[i];
                bool shares = false;

                if (e->operation != MANAGED_APPLY || e->subresource.n || e->broken ||
                    policy_classify(e->manager, e->operation, e->subresource) != POLICY_GITOPS)
                        continue;
                for (size_t k = 0; k < count && !shares; k++)
                        shares = hands[k].kind == HAND_SHARED && fieldset_covers(e->set, NULL, hands[k].path);
                if (shares)
                        names[x->applier_count++] = arena_str(r->arena, e->manager);
        }
        x->appliers = names;
}

static void gather_hands(struct adopt_report *r, struct adopt_object *x, const struct adoption *ad) {
        const struct hand *hands;
        size_t count = foretell_hands(ad->in, ad->foretold, r->arena, &hands);
        struct adopt_share *shares = arena_alloc(r->arena, (count + 1) * sizeof *shares);
        struct adopt_path *paths = arena_alloc(r->arena, (count + 1) * sizeof *paths);

        for (size_t i = 0; i < count; i++) {
                struct adopt_share one = share_of(r, &hands[i]);

                add_share(shares, &x->share_count, &one);
                paths[i] = (struct adopt_path){ adopt_path_words(r, hands[i].path), adopt_path_spelled(r, hands[i].path),
                                                hands[i].kind, one.owner,
                                                arena_str(r->arena, str_from(why(&hands[i]))), hands[i].atomic };
        }
        gather_appliers(r, x, &ad->foretold->owners, hands, count);
        x->shares = shares;
        x->paths = paths;
        x->path_count = count;
}

/* --- an outcome ------------------------------------------------------------------------------------------------- */

static enum adopt_fate fate_of(const struct outcome *o) {
        const struct adoption *ad = o->adoption;

        switch (o->kind) {
        case OUTCOME_MISSING:
                return ADOPT_CREATED;
        case OUTCOME_REFUSED:
                return ADOPT_REFUSED;
        case OUTCOME_FAILED:
                return ADOPT_FAILED;
        case OUTCOME_PARKED:
                return ADOPT_PARKED;
        case OUTCOME_WAITING:
        case OUTCOME_SKIPPED:
                return ADOPT_SKIPPED;
        default:
                if (!ad || !ad->foretold)
                        return ADOPT_FAILED;
                return ad->held_by.n ? ADOPT_HELD : ad->ours || ad->tracker.kind == TRACKER_OURS ? ADOPT_OURS : ADOPT_TAKEN;
        }
}

/* The server's words may echo values of a Secret. */
static struct str reason_of(struct adopt_report *r, const struct outcome *o) {
        _cleanup_(buf_done) struct buf safe = buf_make(TEXT_MAX_BYTES);
        const struct value *objects[] = { o->desired, o->before };

        if (!o->err)
                return arena_str(r->arena, str_from(o->reason));
        if (!o->secret && !o->mask)
                return arena_str(r->arena, str_from(o->err->msg));
        mask_scrub(objects, ARRAY_LEN(objects), o->secret, o->mask, str_from(o->err->msg), &safe);
        return adopt_text(r, &safe);
}

void adopt_gather(struct adopt_report *r, struct app *app, const struct outcome *o) {
        struct adopt_object *x;
        struct object_key key;

        if (o->kind == OUTCOME_EXTRA || o->kind == OUTCOME_KEPT || !object_key_from_id(str_from(o->id), &key))
                return;
        x = object_of(r, app, o);
        x->group = arena_str(r->arena, key.group);
        x->kind = arena_str(r->arena, key.kind);
        x->ns = arena_str(r->arena, key.namespace);
        x->name = arena_str(r->arena, key.name);
        x->file = arena_str(r->arena, o->file);
        x->line = o->line;
        x->fate = fate_of(o);
        x->reason = reason_of(r, o);
        if (!o->adoption || !o->adoption->in || !o->adoption->in->live)
                return;
        x->today = arena_str(r->arena, today_of(o->adoption, r->arena));
        find_trackers(r, x, o->adoption);
        if (o->adoption->foretold) {
                if (o->adoption->foretold->open.n)
                        x->reason = arena_str(r->arena, o->adoption->foretold->open);
                gather_hands(r, x, o->adoption);
                adopt_gather_matters(r, x, o);
        } else if (x->fate == ADOPT_FAILED && !x->reason.n) {
                x->reason = STR("the API server refuses the apply as long as what people added is there: what changes hands "
                                "cannot be foretold");
        }
}

static int by_name(const struct adopt_object *x, const struct adopt_object *y) {
        const struct str these[] = { x->group, x->kind, x->ns, x->name }, those[] = { y->group, y->kind, y->ns, y->name };
        int order = 0;

        for (size_t i = 0; i < ARRAY_LEN(these) && !order; i++)
                order = str_cmp(these[i], those[i]);
        return order;
}

static int by_place(const void *a, const void *b) {
        const struct adopt_object *x = *(struct adopt_object *const *)a, *y = *(struct adopt_object *const *)b;
        int order = str_cmp(app_config(x->app)->instance, app_config(y->app)->instance);

        if (!order)
                order = str_cmp(x->file, y->file);
        if (!order)
                order = (x->line > y->line) - (x->line < y->line);
        return order ? order : by_name(x, y); /* a list in one line */
}

static int by_words(const void *a, const void *b) {
        const struct adopt_tracker *x = *(struct adopt_tracker *const *)a, *y = *(struct adopt_tracker *const *)b;

        return str_cmp(x->words, y->words);
}

/* One whose objects all changed hands while they were read. */
static void drop_idle_trackers(struct adopt_report *r) {
        size_t kept = 0;

        for (size_t i = 0; i < r->tracker_count; i++)
                if (r->trackers[i]->objects)
                        r->trackers[kept++] = r->trackers[i];
        r->tracker_count = kept;
}

void adopt_sort(struct adopt_report *r) {
        drop_idle_trackers(r);
        if (r->count)
                qsort(r->objects, r->count, sizeof(*r->objects), by_place);
        if (r->tracker_count)
                qsort(r->trackers, r->tracker_count, sizeof(*r->trackers), by_words);
}
