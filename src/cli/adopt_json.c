/* SPDX-License-Identifier: Apache-2.0 */
/* `truce adopt` for programs. */
#include "cli/adopt_impl.h"

struct making {
        struct arena *a;
        struct value_map_builder map;
};

static void add(struct making *m, const char *key, const struct value *v) {
        if (v)
                value_map_add(&m->map, str_from(key), v, 0);
}

static void add_text(struct making *m, const char *key, struct str text) {
        if (text.n)
                add(m, key, value_string(m->a, text, 0));
}

static void add_count(struct making *m, const char *key, size_t count) {
        add(m, key, value_int(m->a, (int64_t)count, 0));
}

static const struct value *made(struct making *m) {
        return value_map_end(&m->map, m->a, 0);
}

static const char *hand_name(enum hand_kind kind) {
        static const char *const names[] = { [HAND_CHANGES] = "changes", [HAND_NEW] = "new",   [HAND_SHARED] = "shared",
                                             [HAND_OURS] = "truce",      [HAND_STAYS] = "stays", [HAND_GOES] = "goes" };

        return names[kind];
}

static const struct value *share_value(const struct adopt_share *s, struct arena *a) {
        struct making m = { .a = a };

        add_text(&m, "kind", str_from(hand_name(s->kind)));
        add_text(&m, "owner", s->owner);
        add_text(&m, "operation", s->operation);
        add_text(&m, "subresource", s->subresource);
        add_count(&m, "paths", s->paths);
        return made(&m);
}

static const struct value *path_value(const struct adopt_path *p, struct arena *a) {
        struct making m = { .a = a };

        add_text(&m, "path", p->spelled);
        add_text(&m, "kind", str_from(hand_name(p->kind)));
        add_text(&m, "owner", p->owner);
        add_text(&m, "why", p->why);
        if (p->atomic)
                add(&m, "atomic", value_bool(a, true, 0));
        return made(&m);
}

static const char *matter_name(enum adopt_matter_kind kind) {
        static const char *const names[] = { [ADOPT_VALUE] = "value", [ADOPT_STAYS] = "stays", [ADOPT_GOES] = "goes",
                                             [ADOPT_DECIDE] = "decide", [ADOPT_LOOK] = "look" };

        return names[kind];
}

static const struct value *matter_value(const struct adopt_matter *x, struct arena *a) {
        struct making m = { .a = a };
        bool changes = x->kind == ADOPT_VALUE || x->kind == ADOPT_GOES;

        add_text(&m, "kind", str_from(matter_name(x->kind)));
        add_text(&m, "path", x->spelled);
        add(&m, "live", x->before);
        add(&m, changes ? "then" : "git", x->after);
        add_text(&m, "owner", x->owner);
        add_text(&m, "truce", x->word);
        add_text(&m, "rule", x->rule);
        add_text(&m, "settle", x->paste);
        if (x->line)
                add_count(&m, "line", x->line);
        if (x->atomic)
                add(&m, "atomic", value_bool(a, true, 0));
        return made(&m);
}

static const struct value *name_value(struct str group, struct str kind, struct str ns, struct str name, struct arena *a) {
        struct making m = { .a = a };

        add(&m, "group", value_string(a, group, 0));
        add_text(&m, "kind", kind);
        add_text(&m, "namespace", ns);
        add_text(&m, "name", name);
        return made(&m);
}

#define LIST_OF(name, count, make)                                                                              \
        struct value_list_builder name = { 0 };                                                                        \
        for (size_t i_##name = 0; i_##name < (count); i_##name++)                                                      \
                value_list_add(&name, make)

static const struct value *object_value(const struct adopt_object *o, bool all, struct arena *a) {
        struct making m = { .a = a };
        LIST_OF(shares, o->share_count, share_value(&o->shares[i_shares], a));
        LIST_OF(matters, o->matter_count, matter_value(&o->matters[i_matters], a));

        add(&m, "object", name_value(o->group, o->kind, o->ns, o->name, a));
        add_text(&m, "application", app_config(o->app)->name);
        add_text(&m, "file", o->file);
        if (o->line)
                add_count(&m, "line", o->line);
        add_text(&m, "today", o->today);
        add_text(&m, "sync", str_from(adopt_fate_word(o->fate)));
        add(&m, "held", value_bool(a, o->fate == ADOPT_HELD, 0));
        add_text(&m, "reason", o->reason);
        add(&m, "owners", value_list_end(&shares, a, 0));
        add(&m, "matters", value_list_end(&matters, a, 0));
        if (all) {
                LIST_OF(paths, o->path_count, path_value(&o->paths[i_paths], a));
                add(&m, "paths", value_list_end(&paths, a, 0));
        }
        return made(&m);
}

static const struct value *step_value(const struct adopt_step *s, struct arena *a) {
        struct making m = { .a = a };

        add_text(&m, "text", s->text);
        add_text(&m, "command", s->command);
        return made(&m);
}

static const struct value *tracker_value(const struct adopt_tracker *t, struct arena *a) {
        struct making m = { .a = a };
        LIST_OF(steps, t->step_count, step_value(&t->steps[i_steps], a));
        LIST_OF(extras, t->extra_count, 
                name_value(t->extras[i_extras].group, t->extras[i_extras].kind, t->extras[i_extras].ns,
                           t->extras[i_extras].name, a));

        add_text(&m, "tracker", t->words);
        add_text(&m, "tool", str_from(t->who.tool ? t->who.tool : "kubectl"));
        add_text(&m, "namespace", t->who.ns);
        add_text(&m, "name", t->who.name);
        add_text(&m, "state", str_from(adopt_state_word(t->state)));
        add_text(&m, "note", t->note);
        add(&m, "holds", value_bool(a, t->holds, 0));
        add_count(&m, "objects", t->objects);
        add(&m, "notInGit", value_list_end(&extras, a, 0));
        add(&m, "steps", value_list_end(&steps, a, 0));
        return made(&m);
}

const struct value *adopt_value(const struct adopt_report *r, bool all, struct arena *a) {
        struct making m = { .a = a };
        LIST_OF(objects, r->count, object_value(r->objects[i_objects], all, a));
        LIST_OF(trackers, r->tracker_count, tracker_value(r->trackers[i_trackers], a));

        add(&m, "objects", value_list_end(&objects, a, 0));
        add(&m, "trackers", value_list_end(&trackers, a, 0));
        add_text(&m, "notListed", r->unread);
        add_count(&m, "decisions", adopt_decisions(r));
        add_count(&m, "problems", r->problems);
        return made(&m);
}
