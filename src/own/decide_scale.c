/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of replicas: left to who scales them, held for a while after that one is gone, seeded at creation. What is
 * odd about them in Git is remarked, and changes nothing.
 */
#include "own/decide_impl.h"

#define MAX_SCALERS 16

/* Who writes a number that is scaled: what the server recorded, else the controller that acts for autoscalers. */
static struct str scaler_manager(const struct desk *d) {
        for (size_t i = 0; i < d->managed.count; i++) {
                const struct managed_entry *e = &d->managed.entries[i];

                if (str_eqc(e->subresource, "scale") && !policy_is_person(e->manager))
                        return e->manager;
        }
        return STR("kube-controller-manager");
}

/* The one who scales is asked about as an owner: a rule may take the number from it. */
static struct policy_answer ask_for_scaler(const struct desk *d, const struct scale_path *s) {
        struct managed_entry e = {
                .manager = scaler_manager(d), .operation = MANAGED_UPDATE, .subresource = STR("scale")
        };

        return desk_ask(d, &e, s->path);
}

void desk_scale_open(struct desk *d) {
        struct scale_subject s = {
                .desired = d->in->desired,
                .live = d->in->live,
                .crd = d->in->crd,
                .type = d->type,
                .managed = &d->managed,
        };

        d->scaled_count = scaler_paths(d->in->scalers, &s, d->arena, &d->scaled);
        struct scale_path *ruled = arena_alloc(d->arena, (d->scaled_count + 1) * sizeof *ruled);
        for (size_t i = 0; i < d->scaled_count; i++) {
                ruled[i] = d->scaled[i];
                if (scale_state_yields(&ruled[i].state) && ask_for_scaler(d, &ruled[i]).action == POLICY_TAKE)
                        ruled[i].state = (struct scale_state){ .verdict = SCALE_NONE };
                d->out.has_scaler |= scale_state_yields(&ruled[i].state);
        }
        d->scaled = ruled;
}

const struct scale_path *desk_scaled_at(const struct desk *d, struct field_path p) {
        for (size_t i = 0; i < d->scaled_count; i++)
                if (field_path_covers(p, d->scaled[i].path))
                        return &d->scaled[i];
        return NULL;
}

bool desk_meets_scaled(const struct desk *d, struct field_path p) {
        for (size_t i = 0; i < d->scaled_count; i++)
                if (field_path_covers(p, d->scaled[i].path) || field_path_covers(d->scaled[i].path, p))
                        return true;
        return false;
}

static struct str state_text(struct desk *d, const struct scale_state *s) {
        _cleanup_(buf_done) struct buf b = buf_make(2048);

        scale_state_print(s, &b);
        return arena_str(d->arena, buf_str(&b));
}

/* --- remarks ---------------------------------------------------------------------------------------------------- */

/* "HorizontalPodAutoscaler shop/web (app/hpa.yaml:3)": a live one stands in Git perhaps, too. */
static struct str place_text(struct desk *d, const struct scaler *s) {
        const struct scaler *git =
                s->file.n ? s : scaler_index_get(d->in->scalers, s->group, s->kind, s->ns, s->name, SCALER_DESIRED);
        struct str name = arena_strf(d->arena, "%.*s %.*s/%.*s", STR_FMT(s->kind), STR_FMT(s->ns), STR_FMT(s->name));

        if (!git || !git->file.n)
                return name;
        return arena_strf(d->arena, "%.*s (%.*s:%u)", STR_FMT(name), STR_FMT(git->file), git->line);
}

static void remark(struct desk *d, enum decide_note_kind kind, const struct scale_path *s, struct str text) {
        desk_note(d, (struct decide_note){ .kind = kind,
                                           .path = s->path,
                                           .owner = state_text(d, &s->state),
                                           .subresource = STR("scale"),
                                           .rule = text.p });
}

/* We made it, and Git does not have it any more: when an HPA is renamed, the old one is pruned a moment later. */
static bool is_going(const struct desk *d, const struct scaler *s) {
        return s->tracked && !scaler_index_get(d->in->scalers, s->group, s->kind, s->ns, s->name, SCALER_DESIRED);
}

static void remark_rivals(struct desk *d, const struct scale_path *s) {
        const struct scaler *all[MAX_SCALERS];
        struct scale_target target = scale_target_of(d->in->desired);
        size_t count = scaler_find_all(d->in->scalers, &target, s->component, all, MAX_SCALERS), told = 0;
        struct str text = { 0 };

        for (size_t i = 0; i < count && i < MAX_SCALERS; i++)
                if (!is_going(d, all[i]))
                        text = arena_strf(d->arena, "%.*s%s%.*s", STR_FMT(text), told++ ? " and " : "",
                                          STR_FMT(place_text(d, all[i])));
        if (told < 2)
                return;
        remark(d, DECIDE_TWO_SCALERS, s, arena_strf(d->arena, "%.*s set it in turns: one has to go", STR_FMT(text)));
}

/*
 * A 0 in Git is how an application is put to sleep; an autoscaler that does not scale to 0 makes it a number that is
 * never in force.
 */
static void remark_zero(struct desk *d, const struct scale_path *s) {
        struct str place = place_text(d, s->state.scaler);

        remark(d, DECIDE_ZERO, s,
               arena_strf(d->arena,
                          "Git's 0 is not applied, the number is that of %.*s: to stop it, take that away too",
                          STR_FMT(place)));
}

static void remark_range(struct desk *d, const struct scale_path *s, int64_t git) {
        const struct scaler *scaler = s->state.scaler;
        struct str place = place_text(d, scaler);

        if (git >= scaler->min_replicas && (scaler->max_replicas < 0 || git <= scaler->max_replicas))
                return;
        if (scaler->max_replicas < 0)
                remark(d, DECIDE_OUT_OF_RANGE, s,
                       arena_strf(d->arena, "Git's %lld is less than the minimum of %.*s, %lld", (long long)git,
                                  STR_FMT(place), (long long)scaler->min_replicas));
        else
                remark(d, DECIDE_OUT_OF_RANGE, s,
                       arena_strf(d->arena, "Git's %lld is outside of %lld to %lld, the limits of %.*s", (long long)git,
                                  (long long)scaler->min_replicas, (long long)scaler->max_replicas, STR_FMT(place)));
}

static void remark_scaled(struct desk *d, const struct scale_path *s) {
        const struct scaler *scaler = s->state.scaler;
        int64_t git;

        if (!scaler)
                return;
        remark_rivals(d, s);
        if (!value_to_i64(field_path_find(d->in->desired, s->path, d->type), &git) || scaler->paused)
                return;
        if (git == 0 && scaler->min_replicas > 0 && scaler->idle_replicas != 0)
                remark_zero(d, s);
        else if (git != scaler->idle_replicas)
                remark_range(d, s, git);
}

/* --- yielding --------------------------------------------------------------------------------------------------- */

static bool is_ours(const struct desk *d, struct field_path p) {
        return d->ours && !d->ours->broken && fieldset_covers(d->ours->set, d->type, p);
}

/*
 * Would Git's number, which no scaler leaves to itself any more, come back if there were no hold? Where it is ours nobody
 * has set another one, and what this commit asks for is not kept waiting.
 */
static bool may_be_held(const struct desk *d, const struct scale_path *s) {
        return !scale_state_yields(&s->state) && field_path_find(d->in->desired, s->path, d->type) && !is_ours(d, s->path) &&
               !desk_is_set_by_commit(d, s->path);
}

uint64_t decide_hold_id(struct field_path p, struct arena *a) {
        static const struct hash_key no_key;

        return hash64(&no_key, field_path_text(a, p));
}

bool desk_in_hold(const struct desk *d, struct field_path p) {
        uint64_t id = d->in->replicas_hold ? decide_hold_id(p, d->arena) : 0;

        for (size_t i = 0; i < d->in->unheld_count; i++)
                if (d->in->unheld[i] == id)
                        return false;
        return d->in->replicas_hold;
}

void desk_hold(struct desk *d, struct field_path p, const char *rule) {
        uint64_t *grown = arena_alloc(d->arena, (d->out.held_count + 1) * sizeof *grown);

        desk_yield_path(d, p, (struct decide_note){ .kind = DECIDE_HELD, .owner = STR(OWN_KEEPER), .rule = rule });
        if (d->out.held_count)
                memcpy(grown, d->out.held, d->out.held_count * sizeof *grown);
        grown[d->out.held_count++] = decide_hold_id(p, d->arena);
        d->out.held = grown;
}

static void yield_to_scaler(struct desk *d, const struct scale_path *s) {
        struct policy_answer answer = ask_for_scaler(d, s);

        desk_yield_path(d, s->path,
                        (struct decide_note){ .kind = desk_note_kind(&answer),
                                              .owner = state_text(d, &s->state),
                                              .subresource = STR("scale"),
                                              .rule = answer.rule,
                                              .place = answer.place });
}

void desk_yield_scaled(struct desk *d) {
        for (size_t i = 0; i < d->scaled_count; i++) {
                const struct scale_path *s = &d->scaled[i];

                if (scale_state_yields(&s->state))
                        yield_to_scaler(d, s);
                remark_scaled(d, s);
        }
}

/* A number that a rule leaves to others is no scaler's, and does not come back. */
void desk_hold_scaled(struct desk *d) {
        for (size_t i = 0; i < d->scaled_count; i++) {
                const struct scale_path *s = &d->scaled[i];

                if (desk_in_hold(d, s->path) && may_be_held(d, s) && !desk_is_yielded(d, s->path))
                        desk_hold(d, s->path, "its scaler went away a short while ago");
        }
}

static const struct value *with_seed(struct desk *d, const struct value *body, const struct scale_path *s) {
        const struct value *git = field_path_find(d->in->desired, s->path, d->type);
        const struct value *seed = value_int(d->arena, scaler_seed(s->state.scaler, git), 0);

        field_path_set(d->arena, body, s->path, d->type, seed, &body, NULL);
        return body;
}

const struct value *desk_newborn(struct desk *d) {
        struct scale_target self = scale_target_of(d->in->desired);
        const struct value *body = d->out.effective;
        struct field_path p;

        for (size_t i = 0; i < d->scaled_count; i++)
                if (scale_state_yields(&d->scaled[i].state))
                        body = with_seed(d, body, &d->scaled[i]);
        for (size_t i = 0; scaler_omits_on_create(self.group, self.kind, i, d->arena, &p); i++) {
                d->out.omits |= field_path_find(body, p, d->type) != NULL;
                body = field_path_prune(d->arena, body, p, d->type);
        }
        return body;
}

static bool takes_back(const struct desk *d, const struct scale_path *s) {
        return may_be_held(d, s) && !desk_is_yielded(d, s->path) &&
               (s->state.verdict == SCALE_STALE || managed_keeper_of(&d->managed, d->type, s->path));
}

bool desk_takes_replicas_back(const struct desk *d) {
        for (size_t i = 0; i < d->scaled_count && !d->in->replicas_hold; i++)
                if (takes_back(d, &d->scaled[i]))
                        return true;
        return false;
}
