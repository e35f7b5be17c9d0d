/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of what happens to an object becomes an Event: what its owners or the people around it should know of its fields.
 * What an agent finds when it starts is no news: a restart writes nothing.
 */
#include "agent/agent_impl.h"

#include "agent/events.h"
#include "diff/mask.h"

#define MESSAGE_MAX_BYTES 8192 /* before it is cut */

static const struct told {
        enum decide_note_kind kind;
        bool warning;
        const char *reason;
        const char *text; /* what stands before the paths; NULL: the rule says it all */
} table[] = {
        { DECIDE_PAUSED, true, "FieldFight", "fought over, left alone for a while" },
        { DECIDE_HELD, false, "FieldHeld", "its value stays for now" },
        { DECIDE_OVERRIDDEN, false, "OverrideKept", "a person's change is kept for a while" },
        { DECIDE_REPORTED, true, "OwnedByAnother", "differs from Git, and another one owns it" },
        { DECIDE_REMOVED, false, "AdditionRemoved", "not in Git, removed" },
        { DECIDE_TWO_SCALERS, true, "TwoScalers", NULL },
        { DECIDE_OUT_OF_RANGE, true, "ReplicasOutOfRange", NULL },
        { DECIDE_ZERO, true, "ReplicasZero", NULL },
};

static void add_note(struct buf *out, const struct decide_note *n, const struct told *t) {
        if (!t->text) {
                buf_addf(out, "%s%s", out->n ? "; " : "", n->rule);
                return;
        }
        buf_addf(out, "%s", out->n ? ", " : "");
        field_path_print_short(n->path, out);
        if (n->owner.n)
                buf_addf(out, " (%.*s)", STR_FMT(n->owner));
}

/* Of all notes of one kind; empty: there are none. */
static void compose(const struct outcome *o, const struct told *t, struct buf *out) {
        const char *rule = NULL;

        for (size_t i = 0; i < o->note_count; i++) {
                if (o->notes[i].kind != t->kind)
                        continue;
                add_note(out, &o->notes[i], t);
                rule = o->notes[i].rule;
        }
        if (rule && t->text)
                buf_addf(out, ": %s (%s)", t->text, rule);
}

static struct event_object about(const struct value *object) {
        return (struct event_object){
                .api_version = value_text(value_getc(object, "apiVersion")),
                .kind = value_text(value_getc(object, "kind")),
                .ns = value_text(value_path(object, "metadata", "namespace", NULL)),
                .name = value_text(value_path(object, "metadata", "name", NULL)),
                .uid = value_text(value_path(object, "metadata", "uid", NULL)),
                .resource_version = value_text(value_path(object, "metadata", "resourceVersion", NULL)),
        };
}

/* The server's own words, which may echo values of a Secret. */
static void tell_failure(struct events *events, const struct outcome *o) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf message = buf_make(MESSAGE_MAX_BYTES);
        const struct value *objects[] = { o->desired, o->before };
        struct event_object object = about(o->before ? o->before : o->desired);

        if (o->secret || o->mask)
                mask_scrub(objects, ARRAY_LEN(objects), o->secret, o->mask, str_from(o->err->msg), &message);
        else
                buf_addc(&message, o->err->msg);
        if (o->file.n)
                buf_addf(&message, o->desired ? " (Git: %s)" : " (it left Git: %s)",
                         config_place_text((struct config_place){ o->file, o->line }, a).p);
        events_tell(events, &object, true, "SyncFailed", buf_str(&message));
}

void agent_events_of(struct events *events, const struct outcome *o) {
        struct event_object object = about(o->after ? o->after : o->before);

        if (o->kind == OUTCOME_FAILED && (o->desired || o->before) && !o->mishap) {
                tell_failure(events, o);
                return;
        }
        if (!o->notes_are_new || (o->first_look && o->kind != OUTCOME_CREATED && o->kind != OUTCOME_CONFIGURED))
                return;
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                _cleanup_(buf_done) struct buf message = buf_make(MESSAGE_MAX_BYTES);

                compose(o, &table[i], &message);
                if (message.n)
                        events_tell(events, &object, table[i].warning, table[i].reason, buf_str(&message));
        }
}

/* What left Git and is still there, as its deletion failed; NULL: it is in Git, or not known. */
static const struct value *left_behind(const struct agent *agent, const struct app *app, const char *id, struct arena *a) {
        const struct inventory_entry *e = inventory_find(app_inventory(app), str_from(id));
        const struct cluster_kind *kind;
        const struct live *live;
        struct inventory_id parts;
        struct managed owners;

        if (!e || desired_find(app_desired(app), str_from(id)) || !inventory_id_split(str_from(e->id), &parts))
                return NULL;
        kind = cluster_find_kind(agent->cluster, (struct gvk){ parts.group, str_from(e->version), parts.kind });
        live = kind ? cluster_find(kind, parts.namespace, parts.name) : NULL;
        return live ? live_value(live, a, &owners) : NULL;
}

void agent_tell_outcome(struct agent *agent, const struct app *app, const struct outcome *o) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct outcome full = *o;

        if (o->kind == OUTCOME_FAILED && !o->desired) {
                full.mishap = app_is_mishap(o->err->code);
                full.before = left_behind(agent, app, o->id, a);
                full.secret = mask_is_secret(full.before);
        }
        agent_events_of(agent->events, &full);
}
