/* SPDX-License-Identifier: Apache-2.0 */
/* What others ask of an application: how it stands, what it counts, why an object is as it is. */
#include "agent/app_impl.h"

bool app_is_settled(const struct app *app) {
        return app->settled;
}

bool app_has_applied(const struct app *app) {
        return app_applies(app) && !app->prune;
}

bool app_is_observed(const struct app *app) {
        return app->settled && app->awaited == 0;
}

static bool item_goes_on(const struct item *item) {
        switch (item->state) {
        case ITEM_SYNCED:
                return item_hold_is_to_end(item);
        case ITEM_FAILED:
        case ITEM_REFUSED:
                return item->retry_at_ms != 0;
        case ITEM_OUT_OF_SYNC:
        case ITEM_SKIPPED:
                return false;
        default:
                return true;
        }
}

bool app_is_final(const struct app *app) {
        size_t at = 0;
        void *p;

        if (!app_is_observed(app))
                return false;
        for (size_t i = 0; i < app->desired->count; i++) {
                const struct desired *d = &app->desired->objects[i];

                if (d->id.n == 0 && d->state != DESIRED_REFUSED) /* its kind is looked for */
                        return false;
        }
        while (map_next(app->items, &at, NULL, &p)) {
                if (item_goes_on(p))
                        return false;
        }
        return true;
}

void app_counts(const struct app *app, struct app_counts *ret_counts) {
        struct app_counts c = app->counts;
        size_t at = 0;
        void *p;

        c.objects = app->desired ? app->desired->count : 0;
        c.synced = c.out_of_sync = c.failed = c.parked = c.refused = 0;
        while (map_next(app->items, &at, NULL, &p)) {
                const struct item *item = p;

                c.synced += item->state == ITEM_SYNCED || item->state == ITEM_SKIPPED;
                c.out_of_sync += item->state == ITEM_OUT_OF_SYNC;
                c.failed += item->state == ITEM_FAILED;
                c.parked += item->state == ITEM_PARKED;
                c.refused += item->state == ITEM_REFUSED;
                c.yielded += item->yielded;
                c.reported += item->reported;
        }
        /* Without a known scope there is no id, and no item. */
        for (size_t i = 0; i < c.objects; i++) {
                const struct desired *d = &app->desired->objects[i];

                c.parked += d->id.n == 0 && d->state != DESIRED_REFUSED;
                c.refused += d->id.n == 0 && d->state == DESIRED_REFUSED;
        }
        *ret_counts = c;
}

int app_explain(struct app *app, struct str id, struct str whole, struct arena *a, struct app_explanation *ret,
                app_explained done, void *ctx, struct err *err) {
        struct item *item = map_find(app->items, id);
        struct cluster_kind *k = item ? cluster_find_kind(app->env.cluster, item->desired->gvk) : NULL;

        if (!item)
                return err_set(err, ERR_NOTFOUND, "no application wants it");
        if (item->desired->state == DESIRED_REFUSED || item->desired->state == DESIRED_SKIPPED)
                return err_set(err, ERR_UNSUPPORTED, "truce does not touch it: %s",
                               item->desired->state == DESIRED_SKIPPED ? "its annotation says skip-reconcile"
                                                                       : "it is refused, see truce diff");
        if (k && cluster_kind_state(k) == CLUSTER_KIND_FAILED)
                return err_set(err, ERR_UNSUPPORTED, "its kind cannot be read now: %s", cluster_kind_err(k)->msg);
        if (!k || cluster_kind_state(k) != CLUSTER_KIND_SYNCED)
                return err_set(err, ERR_UNSUPPORTED, "the cluster does not serve its kind");
        return op_explain(item, whole, a, ret, done, ctx, err);
}

static int cmp_report(const void *x, const void *y) {
        return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Lines of items, `text_of` gives an item's own: NULL, or a line each with its newline. */
static void print_lines(const struct app *app, const char *(*text_of)(const struct item *), size_t max, struct buf *out) {
        size_t at = 0, count = 0, cap = 0;
        _cleanup_(mem_freep) const char **all = NULL;
        void *p;

        while (map_next(app->items, &at, NULL, &p)) {
                const char *text = text_of(p);

                if (!text)
                        continue;
                all = mem_grow(all, &cap, count + 1, sizeof *all);
                all[count++] = text;
        }
        /* The map has no order, and the same lines must read the same. */
        if (count > 1)
                qsort(all, count, sizeof *all, cmp_report);
        for (size_t i = 0; i < count; i++) {
                struct str rest = str_from(all[i]), line;

                while (max > 0 && str_next(&rest, '\n', &line)) {
                        if (!line.n)
                                continue;
                        buf_addf(out, "%s%.*s", out->n ? "\n" : "", STR_FMT(line));
                        max--;
                }
        }
}

static const char *report_of(const struct item *item) {
        return item->report;
}

static const char *kept_of(const struct item *item) {
        return item->kept;
}

void app_reports(const struct app *app, size_t max, struct buf *out) {
        print_lines(app, report_of, max, out);
}

void app_kept(const struct app *app, size_t max, struct buf *out) {
        print_lines(app, kept_of, max, out);
}

enum app_sync_status app_sync_status(const struct app *app) {
        struct app_counts c;

        if (!app->desired || !app->inventory)
                return APP_UNKNOWN;
        app_counts(app, &c);
        return c.synced == c.objects && app->prune_done && !app->prune && !app->prune_err.code && !app->extra ? APP_SYNCED
                                                                                              : APP_OUT_OF_SYNC;
}
