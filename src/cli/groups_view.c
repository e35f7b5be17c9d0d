/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/groups_view.h"

#include "agent/groups.h"
#include "cli/grid.h"
#include "diff/text.h"
#include "group/conditions.h"
#include "group/status.h"

#define REVISION_DIGITS 6

/* --- what is going on ----------------------------------------------------------------------------------------- */

/* What a person should hear of first. */
static const char *const conditions[] = { GROUP_CONDITION_STALLED,  GROUP_CONDITION_BLOCKED,
                                          GROUP_CONDITION_DEGRADED, GROUP_CONDITION_STUCK,
                                          GROUP_CONDITION_WAITING,  GROUP_CONDITION_BACKOFF,
                                          GROUP_CONDITION_UPDATING, GROUP_CONDITION_PROGRESSING,
                                          GROUP_CONDITION_AVAILABLE };

/* As it is about to be written. */
static const struct value *newest_status(const struct groups_view *v) {
        for (size_t i = 0; i < v->plan->action_count; i++)
                if (v->plan->actions[i].kind == GROUP_STATUS)
                        return v->plan->actions[i].body;
        return v->status;
}

static const struct value *true_condition(const struct value *status, const char *type) {
        const struct value *list = value_getc(status, "conditions");

        return conditions_on(list, str_from(type)) ? conditions_find(list, str_from(type)) : NULL;
}

static struct str now_of(const struct groups_view *v, struct arena *a) {
        const struct value *status = newest_status(v), *c = NULL;

        if (v->foreign.n)
                return arena_strf(a, "run by another controller: %.*s", STR_FMT(v->foreign));
        if (!v->ours)
                return STR("not run by truce: it lacks the annotation " GROUPS_ANNOTATION ": " GROUPS_EMBEDDED);
        for (size_t i = 0; !c && i < ARRAY_LEN(conditions); i++)
                c = true_condition(status, conditions[i]);
        return c ? value_text(value_getc(c, "message")) : STR("not looked at yet");
}

struct sums {
        int64_t existing, ready, updated, restarts;
};

static struct sums sum_up(const struct group_plan *plan) {
        struct sums sums = { 0 };

        for (size_t i = 0; i < plan->row_count; i++) {
                const struct group_row *row = &plan->rows[i];

                sums.existing += row->members > 0;
                sums.ready += row->ready;
                sums.updated += row->updated && row->members > 0;
                sums.restarts += row->restarts;
        }
        return sums;
}

/* --- for people ----------------------------------------------------------------------------------------------- */

static struct str title(const struct groups_view *v, struct arena *a) {
        _cleanup_(buf_done) struct buf text = buf_make(4096);

        text_add(&text, v->spec->ns);
        buf_addch(&text, '/');
        text_add(&text, v->spec->name);
        return arena_str(a, buf_str(&text));
}

size_t groups_view_width(const struct groups_view *v) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        return text_columns(title(v, a));
}

void groups_view_head(size_t width, struct buf *out) {
        size_t from = out->n;

        buf_addc(out, "LWS");
        text_pad(out, from, width);
        buf_addc(out, "  GROUPS  READY  UPDATED  RESTARTS  NOW\n");
}

static void add_number(struct buf *out, size_t columns, const char *fmt, long long a, long long b) {
        size_t from = out->n;

        buf_addc(out, "  ");
        buf_addf(out, "%lld", a);
        if (fmt)
                buf_addf(out, "/%lld", b);
        text_pad(out, from, columns + 2);
}

static void add_sums(const struct groups_view *v, size_t width, struct arena *a, struct buf *out) {
        struct sums sums = sum_up(v->plan);
        size_t from = out->n;

        buf_add(out, title(v, a));
        text_pad(out, from, width);
        add_number(out, 6, "/", sums.existing, v->spec->replicas);
        add_number(out, 5, NULL, sums.ready, 0);
        add_number(out, 7, "/", sums.updated, v->spec->replicas);
        add_number(out, 8, NULL, sums.restarts, 0);
        buf_addc(out, "  ");
        text_add(out, now_of(v, a));
        buf_addch(out, '\n');
}

static struct str safe(struct str text, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        text_add(&out, text);
        return arena_str(a, buf_str(&out));
}

static struct str state_of(const struct group_row *row, struct arena *a) {
        return row->surge ? arena_strf(a, "%.*s (surge)", STR_FMT(row->state)) : safe(row->state, a);
}

static struct str revision_of(const struct group_row *row, struct arena *a) {
        if (!row->revision.n)
                return STR("-");
        return arena_strf(a, "%s %.*s", row->updated ? "new" : "old",
                          STR_FMT(safe(str_sub(row->revision, 0, REVISION_DIGITS), a)));
}

static void add_row(struct grid *t, const struct group_row *row, struct arena *a) {
        const struct str cells[] = {
                arena_strf(a, "%d", row->index),
                row->ready ? STR("yes") : STR("no"),
                arena_strf(a, "%d/%d", row->ready_members, row->size),
                revision_of(row, a),
                arena_strf(a, "%d", row->restarts),
                state_of(row, a),
                safe(row->waiting_for, a),
        };

        grid_add(t, cells, !row->ready);
}

void groups_view_table(const struct groups_view *v, size_t width, bool color, struct buf *out) {
        static const struct str head[] = { STR("GROUP"),    STR("READY"), STR("MEMBERS"),    STR("REVISION"),
                                           STR("RESTARTS"), STR("STATE"), STR("WAITING-FOR") };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct grid t = grid_make(a, ARRAY_LEN(head));

        add_sums(v, width, a, out);
        grid_add(&t, head, false);
        for (size_t i = 0; i < v->plan->row_count; i++)
                add_row(&t, &v->plan->rows[i], a);
        if (v->plan->row_count)
                grid_print(&t, "  ", color, out);
        if (v->scaler.n)
                buf_addf(out, "  replicas %d are set by %.*s\n", v->spec->replicas, STR_FMT(safe(v->scaler, a)));
}

/* --- for machines --------------------------------------------------------------------------------------------- */

static void put_text(struct value_map_builder *b, const char *key, struct str text, struct arena *a) {
        value_map_add(b, str_from(key), value_string(a, text, 0), 0);
}

static void put_int(struct value_map_builder *b, const char *key, int64_t number, struct arena *a) {
        value_map_add(b, str_from(key), value_int(a, number, 0), 0);
}

static void put_bool(struct value_map_builder *b, const char *key, bool truth, struct arena *a) {
        value_map_add(b, str_from(key), value_bool(a, truth, 0), 0);
}

static const struct value *row_value(const struct group_row *row, struct arena *a) {
        struct value_map_builder b = { 0 };

        put_int(&b, "index", row->index, a);
        put_text(&b, "revision", row->revision, a);
        put_bool(&b, "updated", row->updated, a);
        put_bool(&b, "ready", row->ready, a);
        put_bool(&b, "surge", row->surge, a);
        put_int(&b, "members", row->members, a);
        put_int(&b, "readyMembers", row->ready_members, a);
        put_int(&b, "size", row->size, a);
        put_int(&b, "restarts", row->restarts, a);
        put_text(&b, "state", row->state, a);
        put_text(&b, "waitingFor", row->waiting_for, a);
        return value_map_end(&b, a, 0);
}

static const struct value *action_value(const struct group_action *action, struct arena *a) {
        static const char *const verbs[] = { "create", "delete", "release", "status" };
        static const char *const objects[] = { "Pod", "Service", "PersistentVolumeClaim", "ControllerRevision" };
        struct value_map_builder b = { 0 };
        bool is_status = action->kind == GROUP_STATUS;

        put_text(&b, "verb", str_from(verbs[action->kind]), a);
        put_text(&b, "kind", is_status ? STR("LeaderWorkerSet") : str_from(objects[action->object]), a);
        put_text(&b, "name", action->name, a);
        put_text(&b, "why", str_from(action->why), a);
        return value_map_end(&b, a, 0);
}

const struct value *groups_view_value(const struct groups_view *v, struct arena *a) {
        struct value_map_builder b = { 0 };
        struct value_list_builder rows = { 0 }, actions = { 0 };
        struct sums sums = sum_up(v->plan);

        for (size_t i = 0; i < v->plan->row_count; i++)
                value_list_add(&rows, row_value(&v->plan->rows[i], a));
        for (size_t i = 0; i < v->plan->action_count; i++)
                value_list_add(&actions, action_value(&v->plan->actions[i], a));
        put_text(&b, "namespace", v->spec->ns, a);
        put_text(&b, "name", v->spec->name, a);
        put_bool(&b, "embedded", v->ours, a);
        put_text(&b, "otherController", v->foreign, a);
        put_text(&b, "scaler", v->scaler, a);
        put_int(&b, "replicas", v->spec->replicas, a);
        put_int(&b, "existing", sums.existing, a);
        put_int(&b, "ready", sums.ready, a);
        put_int(&b, "updated", sums.updated, a);
        put_int(&b, "restarts", sums.restarts, a);
        put_text(&b, "now", now_of(v, a), a);
        value_map_add(&b, STR("groups"), value_list_end(&rows, a, 0), 0);
        value_map_add(&b, STR("next"), value_list_end(&actions, a, 0), 0);
        return value_map_end(&b, a, 0);
}
