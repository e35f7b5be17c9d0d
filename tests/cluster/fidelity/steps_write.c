/* SPDX-License-Identifier: Apache-2.0 */
/* What writes: create, update, patches, applies, status and scale. */
#include "steps_impl.h"

#include <string.h>

#include "base/yaml.h"

#define MERGE_TYPE     "application/merge-patch+json"
#define PATCH_TYPE     "application/json-patch+json"
#define STRATEGIC_TYPE "application/strategic-merge-patch+json"
#define APPLY_TYPE     "application/apply-patch+yaml"

static const char *const manager_names[MANAGERS] = { "m1", "m2", "truce" };

/* What every write may have. */
static void add_write_options(struct episode *e, struct buf *path) {
        static const char *const validations[] = { "Ignore", "Warn", "Strict", "Strict", "odd" };
        static const char *const managers[] = { "m1", "m2", "truce", "other", "" };

        if (chance(e, 40))
                step_query(path, "fieldValidation", validations[below(e, chance(e, 95) ? 4 : 5)]);
        if (!strstr(path->p, "dryRun") && chance(e, 6))
                step_query(path, "dryRun", chance(e, 90) ? "All" : "Some");
        if (!strstr(path->p, "fieldManager") && chance(e, 60))
                step_query(path, "fieldManager", managers[below(e, chance(e, 95) ? 4 : 5)]);
}

static const struct value *with_meta(struct episode *e, const struct value *body, const char *key,
                                     const struct value *value) {
        return value_with_path(e->arena, body, (const struct str[]){ STR("metadata"), str_from(key) }, 2, value);
}

/* Marked as the episode's where its lists need that. */
static const struct value *marked(struct episode *e, const struct value *body) {
        static const struct str label[] = { { "metadata", 8 }, { "labels", 6 }, { "episode", 7 } };

        return e->kind->cluster ? value_with_path(e->arena, body, label, 3, value_stringc(e->arena, "@Fns@")) : body;
}

static const struct value *new_body(struct episode *e, const struct subject *s, bool base) {
        return marked(e, body_new(e->kind, &e->random, e->arena, s->name, base));
}

/* Now and then the version or uid is told: the right one, an old one, a wrong one. */
static const struct value *with_expectations(struct episode *e, const struct subject *s, const struct value *body) {
        if (chance(e, 8))
                body = with_meta(e, body, "resourceVersion", value_string(e->arena, step_random_version(e), 0));
        if (chance(e, 4))
                body = with_meta(e, body, "uid",
                                 chance(e, 50) && s->live
                                         ? value_path(s->live, "metadata", "uid", NULL)
                                         : value_stringc(e->arena, "11111111-0000-0000-0000-000000000000"));
        return body;
}

void ask_create(struct episode *e, struct subject *s, struct step *step) {
        const struct value *body = new_body(e, s, chance(e, 92));
        struct buf path = step_path(e, NULL, "");

        if (chance(e, 25))
                body = body_fault(&e->random, e->arena, body);
        if (!e->generated && chance(e, 15)) {
                body = with_meta(e, with_meta(e, body, "name", NULL), "generateName",
                                 value_stringc(e->arena, chance(e, 90) ? "made-" : "Bad_"));
                e->generated = true;
        }
        body = with_expectations(e, s, body);
        step->method = KUBE_POST;
        step_set_body(e, step, JSON_TYPE, body);
        add_write_options(e, &path);
        step_finish(e, &path, step);
}

static const struct value *edited_live(struct episode *e, const struct subject *s) {
        const struct value *body = s->live;

        if (chance(e, 85))
                body = body_change(e->kind, &e->random, e->arena, body, 1 + below(e, 2));
        if (chance(e, 25))
                body = body_drop(&e->random, e->arena, body);
        if (chance(e, 15))
                body = body_fault(&e->random, e->arena, body);
        if (chance(e, 15))
                body = with_meta(
                        e, body, "managedFields",
                        body_edit_managers(&e->random, e->arena, value_path(body, "metadata", "managedFields", NULL)));
        if (chance(e, 20))
                body = with_meta(e, body, "resourceVersion", NULL);
        else if (chance(e, 15))
                body = with_meta(e, body, "resourceVersion", value_string(e->arena, step_random_version(e), 0));
        return body;
}

void ask_update(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, s, "");

        step->method = KUBE_PUT;
        step_set_body(e, step, JSON_TYPE, s->live ? edited_live(e, s) : with_expectations(e, s, new_body(e, s, true)));
        add_write_options(e, &path);
        step_finish(e, &path, step);
}

static const struct value *patch_of(struct episode *e, const struct subject *s, enum verb verb, bool status) {
        const struct value *patch;

        if (verb == JSON)
                return body_json_patch(e->kind, &e->random, e->arena, s->live, status);
        patch = verb == MERGE ? body_merge_patch(e->kind, &e->random, e->arena, status)
                              : body_strategic_patch(e->kind, &e->random, e->arena, status);
        if (s->live && chance(e, 10))
                patch = with_meta(e, patch, "managedFields",
                                  body_edit_managers(&e->random, e->arena,
                                                     value_path(s->live, "metadata", "managedFields", NULL)));
        return with_expectations(e, s, patch);
}

static const char *type_of(enum verb verb) {
        return verb == JSON ? PATCH_TYPE : verb == MERGE ? MERGE_TYPE : STRATEGIC_TYPE;
}

void ask_patch(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, s, "");

        step->method = KUBE_PATCH;
        step_set_body(e, step, type_of(step->verb), patch_of(e, s, step->verb, false));
        add_write_options(e, &path);
        step_finish(e, &path, step);
}

/* Mostly what the manager applied last, with a little change, as a Git repository goes on. */
static const struct value *applied_body(struct episode *e, struct subject *s, int manager) {
        const struct value *body = s->applied[manager];

        if (!subject_is_shared(s) && chance(e, 70))
                body = marked(e, body_plain(e->kind, &e->random, e->arena, s->name));
        else if (!body || chance(e, 25))
                body = new_body(e, s, chance(e, 75));
        else if (chance(e, 60))
                body = body_change(e->kind, &e->random, e->arena, body, 1);
        else if (chance(e, 70))
                body = body_drop(&e->random, e->arena, body);
        s->offered = body;
        s->offering = manager;
        if (chance(e, 10))
                body = body_fault(&e->random, e->arena, body);
        return chance(e, 30) ? with_expectations(e, s, body) : body;
}

static void set_apply_body(struct episode *e, struct step *step, const struct value *body) {
        step_set_body(e, step, APPLY_TYPE, body);
        if (chance(e, 15)) {
                struct buf yaml = buf_make(1 << 20);

                yaml_print(body, &yaml);
                step->body = arena_str(e->arena, buf_str(&yaml));
                buf_done(&yaml);
        }
}

/* An object of one manager gets another one most of the time. */
static int draw_manager(struct episode *e, const struct subject *s) {
        const struct value *entries = value_path(s->live, "metadata", "managedFields", NULL);
        int manager = (int)below(e, MANAGERS);

        if (value_count(entries) && !subject_is_shared(s) && chance(e, 90) &&
            str_eqc(value_text(value_getc(entries->list.items[0], "manager")), manager_names[manager]))
                manager = (manager + 1) % MANAGERS;
        return manager;
}

void ask_apply(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, s, "");
        int manager = draw_manager(e, s);

        step->method = KUBE_PATCH;
        step->shared = subject_is_shared(s);
        set_apply_body(e, step, applied_body(e, s, manager));
        if (chance(e, 98))
                step_query(&path, "fieldManager", manager_names[manager]);
        if (chance(e, subject_is_shared(s) ? 40 : 75))
                step_query(&path, "force", chance(e, 90) ? "true" : "false");
        if (step->verb == APPLY_DRY)
                step_query(&path, "dryRun", "All");
        add_write_options(e, &path);
        step_finish(e, &path, step);
}

void ask_status(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, s, "/status");
        enum verb how = (enum verb[]){ UPDATE, MERGE, JSON, STRATEGIC, APPLY, APPLY }[below(e, 6)];
        const struct value *body = s->live && how == UPDATE ? edited_live(e, s) : new_body(e, s, false);

        step->method = how == UPDATE ? KUBE_PUT : KUBE_PATCH;
        body = body_change_status(e->kind, &e->random, e->arena, body);
        if (how == APPLY) {
                step->shared = subject_is_shared(s);
                step_query(&path, "fieldManager", manager_names[below(e, MANAGERS)]);
                if (chance(e, 50))
                        step_query(&path, "force", "true");
                set_apply_body(e, step, body);
        } else
                step_set_body(e, step, how == UPDATE ? JSON_TYPE : type_of(how),
                              how == UPDATE ? body : patch_of(e, s, how, true));
        add_write_options(e, &path);
        step_finish(e, &path, step);
}

static const struct value *scale_body(struct episode *e, struct subject *s, bool whole) {
        const struct value *body = NULL, *meta;
        const struct str replicas[] = { STR("spec"), STR("replicas") };

        if (whole) {
                body = value_with(e->arena, body, STR("apiVersion"), value_stringc(e->arena, "autoscaling/v1"));
                body = value_with(e->arena, body, STR("kind"), value_stringc(e->arena, "Scale"));
                body = with_meta(e, body, "name", value_string(e->arena, s->name, 0));
                body = with_expectations(e, s, body);
        }
        meta = value_path(s->live, "metadata", "resourceVersion", NULL);
        if (whole && meta && chance(e, 30))
                body = with_meta(e, body, "resourceVersion", meta);
        body = value_with_path(e->arena, body, replicas, 2, value_int(e->arena, below(e, 5), 0));
        return chance(e, 15) ? body_fault(&e->random, e->arena, body) : body;
}

static const struct value *scale_operations(struct episode *e) {
        struct value_list_builder b = { 0 };
        const struct value *o =
                value_with(e->arena, NULL, STR("op"), value_stringc(e->arena, chance(e, 50) ? "replace" : "add"));

        o = value_with(e->arena, o, STR("path"), value_stringc(e->arena, "/spec/replicas"));
        value_list_add(&b, value_with(e->arena, o, STR("value"), value_int(e->arena, (int64_t)below(e, 4) - 1, 0)));
        return value_list_end(&b, e->arena, 0);
}

void ask_scale(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = step_path(e, s, "/scale");
        unsigned how = below(e, 5);

        step->method = (enum kube_method[]){ KUBE_GET, KUBE_PUT, KUBE_PATCH, KUBE_PATCH, KUBE_PATCH }[how];
        if (how == 3) {
                step->shared = subject_is_shared(s);
                step_query(&path, "fieldManager", manager_names[below(e, MANAGERS)]);
                if (chance(e, 50))
                        step_query(&path, "force", "true");
        }
        if (how)
                step_set_body(e, step, (const char *[]){ NULL, JSON_TYPE, MERGE_TYPE, APPLY_TYPE, PATCH_TYPE }[how],
                              how == 4 ? scale_operations(e) : scale_body(e, s, how == 1 || how == 3));
        if (how)
                add_write_options(e, &path);
        step_finish(e, &path, step);
}
