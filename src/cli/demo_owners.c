/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns what in deploy/web: a few rows of what `truce owners` prints, from the agent of the demo itself. */
#include "cli/demo_impl.h"
#include "cli/owners_view.h"

#define PATH_COLUMNS 36

static const char *const shown[] = {
        ".spec.replicas",
        ".spec.template.spec.containers[name=\"web\"].image",
        ".metadata.annotations[\"deployment.kubernetes.io/revision\"]",
        ".spec.strategy",
};

static void print_row(struct demo *d, const struct app_explanation *x, const struct explain_row *r) {
        _cleanup_(buf_done) struct buf path = buf_make(4096), owner = buf_make(4096), fate = buf_make(4096);

        owners_view_path(r->path, PATH_COLUMNS, &path);
        owners_view_owner(r, &owner);
        buf_addc(&fate, owners_view_fate(r));
        if (r->fate != EXPLAIN_NOBODYS) {
                buf_addc(&fate, ": ");
                owners_view_by(x, r, &fate);
        }
        screen_row(d->screen, SCREEN_PLAIN, buf_str(&path), buf_str(&owner), buf_str(&fate));
}

static const struct explain_row *find_row(const struct explanation *rows, struct field_path p) {
        for (size_t i = 0; i < rows->count; i++)
                if (field_path_covers(rows->rows[i].path, p))
                        return &rows->rows[i];
        return NULL;
}

/* The story has come true when truce enforces the image and leaves replicas to the autoscaler. */
static int check_fates(const struct explain_row *const *rows, struct err *err) {
        if (!rows[0] || rows[0]->fate != EXPLAIN_NOTED || rows[0]->note != DECIDE_YIELDED)
                return err_set(err, ERR_INTERNAL, "truce does not yield the replicas of deploy/web");
        if (!rows[1] || rows[1]->fate != EXPLAIN_ENFORCED)
                return err_set(err, ERR_INTERNAL, "truce does not enforce the image of deploy/web");
        return 0;
}

/* The demo has no ignore rules, so this comes before app_explain() returns. */
static void explained(void *ctx, const struct err *err) {
        if (err)
                *(struct err *)ctx = *err;
}

static int explain_web(struct demo *d, struct arena *a, struct app_explanation *ret, struct err *err) {
        struct kube_location at = demo_web_location(d, NULL);
        const struct value *live;
        int r = demo_get(d, &at, a, &live, err);

        if (r < 0)
                return r;
        struct err unknown = { 0 };
        r = app_explain(agent_app(d->agent, 0), d->web_id, value_canonical(a, live), a, ret, explained, &unknown, err);
        if (r == 0 && unknown.code) {
                *err = unknown;
                r = unknown.code;
        }
        return r;
}

int demo_print_owners(struct demo *d, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct explain_row *rows[ARRAY_LEN(shown)];
        struct app_explanation x;
        struct field_path p;
        int r = explain_web(d, a, &x, err);

        if (r < 0)
                return r;
        struct explanation all = explain_short(&x.paths, a);
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                r = field_path_read(str_from(shown[i]), a, &p, err);
                if (r < 0)
                        return r;
                rows[i] = find_row(&all, p);
        }
        r = check_fates(rows, err);
        if (r < 0)
                return r;
        screen_row(d->screen, SCREEN_QUIET, STR("path"), STR("owner"), STR("truce"));
        for (size_t i = 0; i < ARRAY_LEN(shown); i++)
                if (rows[i])
                        print_row(d, &x, rows[i]);
        return 0;
}
