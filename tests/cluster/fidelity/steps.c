/* SPDX-License-Identifier: Apache-2.0 */
#include "steps_impl.h"

void episode_begin(struct episode *e, const struct kind *kind, uint64_t seed, struct arena *a) {
        static const char *const names[SUBJECTS] = { "one", "two", "three" };

        *e = (struct episode){ .kind = kind, .random = { seed }, .arena = a };
        deck_deal(&e->deck, kind, &e->random);
        for (int i = 0; i < SUBJECTS; i++)
                e->subjects[i].name = kind->cluster ? arena_strf(a, "@F%d@", i) : str_from(names[i]);
}

/* --- for all that make steps --- */

struct buf step_path(const struct episode *e, const struct subject *s, const char *sub) {
        struct buf out = buf_make(65536);

        buf_addf(&out, "%s/%.*s/%s%.*s", str_find(e->kind->api_version, '/', 0) < 0 ? "/api" : "/apis",
                 STR_FMT(e->kind->api_version), e->kind->cluster ? "" : "namespaces/@Fns@/", STR_FMT(e->kind->plural));
        if (s)
                buf_addf(&out, "/%.*s", STR_FMT(s->name));
        buf_addf(&out, "%s?", sub);
        return out;
}

void step_query(struct buf *path, const char *name, const char *value) {
        if (path->p[path->n - 1] != '?')
                buf_addch(path, '&');
        buf_addf(path, "%s=%s", name, value);
}

void step_finish(struct episode *e, struct buf *path, struct step *s) {
        if (path->p[path->n - 1] == '?')
                buf_truncate(path, path->n - 1);
        s->path = arena_str(e->arena, buf_str(path));
        buf_done(path);
}

void step_add_labels(struct episode *e, struct buf *path, const char *selector) {
        const char *own = e->kind->cluster ? "episode%3D@Fns@" : "";

        if (*own || *selector)
                step_query(path, "labelSelector",
                           arena_strf(e->arena, "%s%s%s", own, *own && *selector ? "," : "", selector).p);
}

void step_add_selectors(struct episode *e, struct buf *path) {
        static const char *const labels[] = { "app%3Da",      "app%3Da,tier!%3Dfront", "tier",       "!tier",
                                              "app+in+(a,b)", "app+notin+(a)",         "app%3D%3Db", "x+y",
                                              "app%3E1" };
        static const struct {
                const char *before, *after;
                bool name;
        } fields[] = {
                { "metadata.name%3D", "", true },
                { "metadata.name!%3D", "", true },
                { "metadata.namespace%3D@Fns@", "", false },
                { "spec.x%3D1", "", false },
                { "metadata.name%3D", ",metadata.namespace%3D@Fns@", true },
        };
        unsigned i = below(e, ARRAY_LEN(fields));

        step_add_labels(e, path, chance(e, 40) ? labels[below(e, chance(e, 90) ? 7 : 9)] : "");
        if (chance(e, 25))
                step_query(path, "fieldSelector",
                           arena_strf(e->arena, "%s%s%s", fields[i].before, fields[i].name ? e->subjects[0].name.p : "",
                                      fields[i].after)
                                   .p);
}

void step_set_body(struct episode *e, struct step *s, const char *type, const struct value *body) {
        s->content_type = type;
        s->body = value_canonical(e->arena, body);
        /* Not where managedFields are sent: the server keeps their text as it is, doubled keys and all. */
        if (chance(e, 3) && !str_contains(s->body, STR("managedFields")))
                s->body = body_double_key(&e->random, e->arena, s->body);
}

struct str step_random_version(struct episode *e) {
        return e->version_count ? e->versions[below(e, e->version_count < VERSIONS ? e->version_count : VERSIONS)]
                                : STR("1");
}

bool subject_is_shared(const struct subject *s) {
        const struct value *entries = value_path(s->live, "metadata", "managedFields", NULL);

        for (size_t i = 1; i < value_count(entries); i++)
                if (!str_eq(value_text(value_getc(entries->list.items[i], "manager")),
                            value_text(value_getc(entries->list.items[0], "manager"))))
                        return true;
        return false;
}

/* --- drawing --- */

typedef void (*make_fn)(struct episode *e, struct subject *s, struct step *step);

static const struct {
        make_fn make;
        bool collection;
} makers[VERBS] = {
        [CREATE] = { ask_create, false },
        [GET] = { ask_get, false },
        [LIST] = { ask_list, true },
        [UPDATE] = { ask_update, false },
        [MERGE] = { ask_patch, false },
        [JSON] = { ask_patch, false },
        [STRATEGIC] = { ask_patch, false },
        [APPLY] = { ask_apply, false },
        [APPLY_DRY] = { ask_apply, false },
        [STATUS] = { ask_status, false },
        [SCALE] = { ask_scale, false },
        [DELETE] = { ask_delete, false },
        [DELETECOLLECTION] = { ask_deletecollection, true },
        [WATCH] = { ask_watch, true },
};

/* Most of the requests go to one object, and most applies to one that has several managers. */
static int draw_subject(struct episode *e, enum verb verb) {
        int at = chance(e, 70) ? 0 : (int)below(e, SUBJECTS);

        if ((verb == APPLY || verb == APPLY_DRY) && chance(e, 95))
                for (int i = 0; i < SUBJECTS; i++)
                        if (subject_is_shared(&e->subjects[i]))
                                return i;
        return at;
}

/* Objects are mostly there: steps on one that is not begin with making it. */
static void prefer_making(struct episode *e, int subject) {
        if (chance(e, subject ? 50 : 15))
                return;
        if (!deck_prefer(&e->deck, chance(e, 75) ? CREATE : APPLY) && !subject)
                deck_prefer(&e->deck, APPLY);
}

bool episode_next(struct episode *e, struct step *ret_step) {
        enum verb verb;
        int at;

        if (e->deck.next == e->deck.count)
                return false;
        at = draw_subject(e, deck_top(&e->deck));
        if (!e->subjects[at].live && !makers[deck_top(&e->deck)].collection)
                prefer_making(e, at);
        verb = deck_top(&e->deck);
        deck_take(&e->deck);
        *ret_step = (struct step){ .number = ++e->steps, .verb = verb, .subject = makers[verb].collection ? -1 : at };
        makers[verb].make(e, &e->subjects[at], ret_step);
        return true;
}

static void learn_object(struct episode *e, struct subject *s, const struct value *object) {
        struct str version = value_text(value_path(object, "metadata", "resourceVersion", NULL));

        s->live = value_dup(e->arena, object);
        if (version.n)
                e->versions[e->version_count++ % VERSIONS] = arena_str(e->arena, version);
}

void episode_learn(struct episode *e, const struct step *s, int status, const struct value *body) {
        struct subject *subject = s->subject >= 0 ? &e->subjects[s->subject] : NULL;
        struct str kind = value_text(value_getc(body, "kind"));

        if (s->verb == LIST)
                e->continue_label = arena_str(e->arena, value_text(value_path(body, "metadata", "continue", NULL)));
        if (!subject || str_contains(s->path, STR("dryRun=All")))
                return;
        if (s->verb == APPLY && (status < 300 || status == 409))
                subject->applied[subject->offering] = subject->offered;
        if (status == 404 || (s->verb == DELETE && status == 200 && str_eqc(kind, "Status")))
                subject->live = NULL;
        else if (status < 300 && str_eq(kind, e->kind->name) &&
                 str_eq(value_text(value_path(body, "metadata", "name", NULL)), subject->name))
                learn_object(e, subject, body);
}
