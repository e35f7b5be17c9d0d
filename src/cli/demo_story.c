/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story: what happens to the shop, what truce does about it, and why. Every figure is measured and every claim is
 * looked up in the API server before it is printed; the first one that does not come true ends the story.
 */
#include <inttypes.h>

#include "cli/demo_impl.h"

#define SECOND       INT64_C(1000)
#define SLICE_MS     20
#define QUIET_MS     (2 * SECOND)
#define SHORT_OID    7
#define IMAGE        "web:1.4"
#define EDITED_IMAGE "web:debug"
#define NEXT_IMAGE   "web:1.5"
#define SCALED       6
#define BAD_SUBJECT  "shop: faster, and no banner"
#define AUDIT        " (audit id "

/* ---- waiting ---- */

int demo_wait(struct demo *d, int64_t ms, bool (*is_true)(const struct demo *d), const char *what, struct err *err) {
        int64_t begin = loop_now_ms(d->loop), now = begin;

        while (!is_true(d)) {
                if (d->interrupts)
                        return err_set(err, ERR_CANCELLED, "interrupted");
                if (now - begin >= ms)
                        return err_set(err, ERR_TIMEOUT, "not within %" PRId64 " s: %s%s%.*s", ms / SECOND, what,
                                       d->told.trouble.n ? "; " : "", STR_FMT(d->told.trouble));
                screen_waiting(d->screen, what, now - begin);
                loop_run_for(d->loop, SLICE_MS);
                now = loop_now_ms(d->loop);
        }
        return 0;
}

int demo_rest(struct demo *d, int64_t ms, struct err *err) {
        int64_t end = loop_now_ms(d->loop) + ms;

        while (!d->interrupts && loop_now_ms(d->loop) < end)
                loop_run_for(d->loop, SLICE_MS);
        return d->interrupts ? err_set(err, ERR_CANCELLED, "interrupted") : 0;
}

static bool is_observed(const struct demo *d) {
        return d->told.observed_ms != 0;
}

static bool is_made(const struct demo *d) {
        return is_observed(d) && d->told.objects && d->told.created == d->told.objects && d->web.object;
}

static bool is_scaled(const struct demo *d) {
        return d->web.replicas == SCALED;
}

static bool is_healed(const struct demo *d) {
        return d->told.is_healed && str_eqc(d->web.image, IMAGE);
}

static bool is_rejected(const struct demo *d) {
        return d->told.is_rejected;
}

static bool has_failed(const struct demo *d) {
        return d->told.failure.n != 0;
}

static bool has_next_image(const struct demo *d) {
        return is_observed(d) && str_eqc(d->web.image, NEXT_IMAGE);
}

static int check(bool holds, const char *claim, struct err *err) {
        return holds ? 0 : err_set(err, ERR_INTERNAL, "it does not hold that %s", claim);
}

static struct str since(const struct demo *d, int64_t begin_ms, int64_t end_ms, const char *what) {
        _cleanup_(buf_done) struct buf out = buf_make(64);

        buf_addc(&out, what);
        screen_add_time(&out, end_ms - begin_ms);
        return arena_str(d->arena, buf_str(&out));
}

/* ---- 1 ---- */

static int first_sync(struct demo *d, unsigned number, struct err *err) {
        int64_t begin = loop_now_ms(d->loop);
        int r = demo_start_agent(d, err);

        if (r == 0) {
                demo_watch_web(d);
                r = demo_wait(d, 60 * SECOND, is_made, "the first sync", err);
        }
        if (r == 0)
                r = check(d->told.definition_at && d->told.definition_at < d->told.custom_at,
                          "the definition was created before the object of its kind", err);
        if (r < 0)
                return r;
        screen_step(d->screen, number, "first sync", SCREEN_GOOD, since(d, begin, d->told.observed_ms, ""),
                    arena_strf(d->arena, "%zu created, and seen back in the cluster", d->told.created));
        screen_also(d->screen, SCREEN_QUIET,
                    "coupon.yaml has an object before its definition: the definition went first");
        return 0;
}

/* ---- 2 ---- */

/* In the sandbox its autoscaler sees load; on a cluster without metrics its part is played, as it would write. */
static int load_rises_by(struct demo *d, struct err *err) {
        const struct kube_location web = demo_web_location(d, ""), scale = demo_web_location(d, "scale");

        if (d->sandbox)
                return demo_patch(d, &web, KUBE_PATCH_MERGE,
                                  "{\"metadata\":{\"annotations\":{\"sandbox.truce.dev/load-cpu\":\"400m\"}}}", "load",
                                  err);
        return demo_patch(d, &scale, KUBE_PATCH_MERGE, "{\"spec\":{\"replicas\":6}}", "kube-controller-manager", err);
}

static int load_rises(struct demo *d, unsigned number, struct err *err) {
        int r = demo_rest(d, SECOND, err); /* what belongs to the first sync is written */
        uint64_t writes = demo_writes(d);

        if (r == 0)
                r = load_rises_by(d, err);
        if (r == 0)
                r = demo_wait(d, 60 * SECOND, is_scaled, "load has risen; the autoscaler looks every 15 s", err);
        if (r < 0)
                return r;
        int64_t generation = d->web.generation;
        r = demo_rest(d, QUIET_MS, err);
        if (r == 0)
                r = check(demo_writes(d) == writes, "truce wrote nothing while the autoscaler did", err);
        if (r == 0)
                r = check(is_scaled(d) && d->web.generation == generation, "the replicas stayed as they were", err);
        if (r < 0)
                return r;
        screen_step(d->screen, number, "load rises", SCREEN_GOOD, STR("0 writes"),
                    arena_strf(d->arena, "HPA %.*s/web scales deploy/web 2 → %d", STR_FMT(d->flags.ns), SCALED));
        if (!d->sandbox)
                screen_also(d->screen, SCREEN_QUIET, "played: the demo wrote it to /scale, as an autoscaler does");
        screen_also(d->screen, SCREEN_PLAIN, "Git still says replicas: 2  →  left to the HPA");
        screen_also(d->screen, SCREEN_QUIET,
                    "why: an HPA targets deploy/web, so the number is its; Git's 2 was the seed");
        return 0;
}

/* ---- 3 ---- */

static int a_person_edits(struct demo *d, unsigned number, struct err *err) {
        const struct kube_location web = demo_web_location(d, "");
        _cleanup_(buf_done) struct buf measure = buf_make(64);

        demo_forget(d);
        int r = demo_patch(d, &web, KUBE_PATCH_JSON,
                           "[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/0/image\","
                           "\"value\":\"" EDITED_IMAGE "\"}]",
                           "kubectl-edit", err);
        if (r == 0)
                r = demo_wait(d, 20 * SECOND, is_healed, "truce takes the edit back", err);
        if (r == 0)
                r = check(is_scaled(d), "the replicas are still the autoscaler's", err);
        if (r < 0)
                return r;
        buf_addc(&measure, "healed in ");
        screen_add_time(&measure, d->told.heal_ms);
        screen_step(d->screen, number, "a person edits", SCREEN_GOOD, buf_str(&measure),
                    STR("image " IMAGE " → " EDITED_IMAGE));
        screen_also(d->screen, SCREEN_QUIET,
                    "why: Git has this field, and kubectl-edit is a person's tool; replicas still "
                    "%" PRId64,
                    d->web.replicas);
        return 0;
}

/* ---- 4 ---- */

static int flag_is_on(struct demo *d, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct kube_location at = demo_core_location("configmaps", d->flags.ns, STR("flags"));
        const struct value *flags;
        int r = demo_get(d, &at, a, &flags, err);

        return r < 0 ? r
                     : check(str_eqc(value_text(value_path(flags, "data", "banner", NULL)), "on"),
                             "the other file of the bad commit was not applied", err);
}

static int a_bad_commit(struct demo *d, unsigned number, struct err *err) {
        static const struct shop_change bad[] = { { "web.yaml", "image: " IMAGE, "image: " NEXT_IMAGE ": fast" },
                                                  { "config.yaml", "banner: \"on\"", "banner: \"off\"" } };
        char hex[GIT_OID_HEX_BYTES + 1], good[sizeof hex];
        struct git_id commit;
        int64_t begin = loop_now_ms(d->loop);

        demo_forget(d);
        memcpy(good, d->told.in_force, sizeof good);
        int r = shop_commit(d->shop, BAD_SUBJECT, bad, ARRAY_LEN(bad), &commit, err);
        if (r == 0)
                r = demo_wait(d, 20 * SECOND, is_rejected, "truce sees the commit", err);
        if (r == 0)
                r = check(strcmp(d->told.in_force, good) == 0, "the last good commit stays in force", err);
        if (r == 0)
                r = flag_is_on(d, err);
        if (r < 0)
                return r;
        git_id_hex(&commit, hex);
        screen_step(d->screen, number, "a bad commit", SCREEN_GOOD, since(d, begin, d->told.rejected_ms, "after "),
                    arena_strf(d->arena, "%.*s \"" BAD_SUBJECT "\" is stopped", SHORT_OID, hex));
        screen_also(d->screen, SCREEN_BAD, "%.*s", STR_FMT(d->told.rejection));
        screen_also(d->screen, SCREEN_PLAIN, "nothing of it is applied, %.*s stays in force", SHORT_OID, good);
        screen_also(d->screen, SCREEN_QUIET, "why: config.yaml in it is fine and waits, too: Git has no half commits");
        return 0;
}

/* ---- 5 ---- */

/* The server's own words without the request's and the trail's. */
static struct str reason_of(struct str failure) {
        size_t from = 0, to = failure.n;

        for (size_t i = 0; i + 2 < failure.n; i++) {
                if (str_starts(str_sub(failure, i, failure.n), STR("): .")))
                        from = i + 4;
                if (str_starts(str_sub(failure, i, failure.n), STR(AUDIT)))
                        to = i;
        }
        return str_sub(failure, from, to > from ? to : failure.n);
}

static int fix_it(struct demo *d, struct err *err) {
        static const struct shop_change fix[] = { { "web.yaml", "image: " IMAGE, "image: " NEXT_IMAGE } };
        struct git_id commit;
        int64_t begin = loop_now_ms(d->loop);

        demo_forget(d);
        int r = shop_commit(d->shop, "shop: web 1.5", fix, ARRAY_LEN(fix), &commit, err);
        if (r == 0)
                r = demo_wait(d, 20 * SECOND, has_next_image, "truce applies the fix", err);
        if (r == 0)
                r = check(is_scaled(d), "the replicas are still the autoscaler's", err);
        if (r < 0)
                return r;
        struct str took = since(d, begin, d->told.observed_ms, "");
        screen_also(d->screen, SCREEN_PLAIN, "fixed in %.*s: %.*s, %.*s after the commit; replicas still %" PRId64,
                    SHORT_OID, d->told.in_force, STR_FMT(d->told.configured), STR_FMT(took), d->web.replicas);
        return 0;
}

static int a_typing_error(struct demo *d, unsigned number, struct err *err) {
        static const struct shop_change typing_error[] = { { "web.yaml", "image: " IMAGE, "imagee: " NEXT_IMAGE } };
        struct git_id commit;
        int64_t generation = d->web.generation, begin = loop_now_ms(d->loop);

        demo_forget(d);
        int r = shop_commit(d->shop, "shop: web 1.5", typing_error, ARRAY_LEN(typing_error), &commit, err);
        if (r == 0)
                r = demo_wait(d, 20 * SECOND, has_failed, "truce sees the commit", err);
        if (r == 0)
                r = check(d->web.generation == generation && str_eqc(d->web.image, IMAGE), "deploy/web stays as it was",
                          err);
        if (r < 0)
                return r;
        screen_step(d->screen, number, "a typing error", SCREEN_GOOD, since(d, begin, d->told.failed_ms, "after "),
                    STR("deploy/web is not applied, and stays as it was"));
        screen_also(d->screen, SCREEN_BAD, "%.*s: %.*s", STR_FMT(d->told.failure_place),
                    STR_FMT(reason_of(d->told.failure)));
        return fix_it(d, err);
}

/* ---- 6 ---- */

static int who_owns_what(struct demo *d, unsigned number, struct err *err) {
        screen_step(d->screen, number, "who owns what?", SCREEN_PLAIN, STR(""),
                    STR("truce owners deploy/web, in short"));
        return demo_print_owners(d, err);
}

/* ---- all of it ---- */

static const struct {
        const char *name;
        int (*play)(struct demo *d, unsigned number, struct err *err);
} steps[] = {
        { "first sync", first_sync },     { "load rises", load_rises },         { "a person edits", a_person_edits },
        { "a bad commit", a_bad_commit }, { "a typing error", a_typing_error }, { "who owns what", who_owns_what },
};

int demo_story(struct demo *d, struct err *err) {
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
                int r = steps[i].play(d, (unsigned)i + 1, err);

                if (r == 0 && i + 1 < ARRAY_LEN(steps))
                        r = demo_rest(d, d->flags.pause_ms, err);
                if (r < 0)
                        return err_wrap(err, r, "step %zu, %s", i + 1, steps[i].name);
        }
        return 0;
}
