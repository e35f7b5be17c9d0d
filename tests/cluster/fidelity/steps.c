/* SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"

#include <string.h>

#include "base/yaml.h"

#define MERGE_TYPE     "application/merge-patch+json"
#define JSON_TYPE      "application/json"
#define PATCH_TYPE     "application/json-patch+json"
#define STRATEGIC_TYPE "application/strategic-merge-patch+json"
#define APPLY_TYPE     "application/apply-patch+yaml"

const char *const verb_names[VERBS] = { "create",    "get",    "list",  "update", "merge",  "json",            "strategic",
                                        "apply", "apply-dry", "status", "scale", "delete", "deletecollection", "watch" };

void episode_begin(struct episode *e, const struct kind *kind, uint64_t seed, struct arena *a,
                   unsigned *tried) {
        static const char *const names[SUBJECTS] = { "one", "two", "three" };

        *e = (struct episode){ .kind = kind, .random = { seed }, .arena = a, .tried = tried };
        for (int i = 0; i < SUBJECTS; i++)
                e->subjects[i].name = str_from(names[i]);
}

bool kind_has_verb(const struct kind *k, enum verb verb) {
        return (verb != SCALE || k->scale) && (verb != STATUS || k->status);
}

static bool chance(struct episode *e, unsigned percent) {
        return random_chance(&e->random, percent);
}

static unsigned below(struct episode *e, unsigned bound) {
        return random_below(&e->random, bound);
}

/* Half of the steps are server-side applies; of the rest what was asked least comes next, most of the time. */
static enum verb draw_verb(struct episode *e) {
        enum verb verb, rarest;

        if (chance(e, 62))
                return chance(e, 87) ? APPLY : APPLY_DRY;
        rarest = below(e, VERBS);
        for (int i = 0; i < 3; i++) {
                verb = below(e, VERBS);
                if (kind_has_verb(e->kind, verb) && e->tried[verb] < e->tried[rarest])
                        rarest = verb;
        }
        if (!kind_has_verb(e->kind, rarest) && chance(e, 97))
                return APPLY;
        if ((rarest == DELETECOLLECTION || rarest == DELETE) && e->steps < 30)
                return UPDATE;
        return rarest;
}

/* --- paths --- */

static struct buf path_of(const struct episode *e, const struct subject *s, const char *sub) {
        struct buf out = buf_make(65536);

        buf_addf(&out, "%s/%.*s/namespaces/@Fns@/%.*s", str_find(e->kind->api_version, '/', 0) < 0 ? "/api" : "/apis",
                 STR_FMT(e->kind->api_version), STR_FMT(e->kind->plural));
        if (s)
                buf_addf(&out, "/%.*s", STR_FMT(s->name));
        buf_addf(&out, "%s?", sub);
        return out;
}

static void add_query(struct buf *path, const char *name, const char *value) {
        if (path->p[path->n - 1] != '?')
                buf_addch(path, '&');
        buf_addf(path, "%s=%s", name, value);
}

static const char *const manager_names[MANAGERS] = { "m1", "m2", "truce" };

/* What every write may have. */
static void add_write_options(struct episode *e, struct buf *path) {
        static const char *const validations[] = { "Ignore", "Warn", "Strict", "Strict", "odd" };
        static const char *const managers[] = { "m1", "m2", "truce", "other", "" };

        if (chance(e, 40))
                add_query(path, "fieldValidation", validations[below(e, chance(e, 95) ? 4 : 5)]);
        if (!strstr(path->p, "dryRun") && chance(e, 6))
                add_query(path, "dryRun", chance(e, 90) ? "All" : "Some");
        if (!strstr(path->p, "fieldManager") && chance(e, 60))
                add_query(path, "fieldManager", managers[below(e, chance(e, 95) ? 4 : 5)]);
}

static void finish_path(struct episode *e, struct buf *path, struct step *s) {
        if (path->p[path->n - 1] == '?')
                buf_truncate(path, path->n - 1);
        s->path = arena_str(e->arena, buf_str(path));
        buf_done(path);
}

/* --- bodies --- */

static void set_body(struct episode *e, struct step *s, const char *type, const struct value *body) {
        s->content_type = type;
        s->body = value_canonical(e->arena, body);
        /* Not where managedFields are sent: the server keeps their text as it is, doubled keys and all. */
        if (chance(e, 3) && !str_contains(s->body, STR("managedFields")))
                s->body = body_double_key(&e->random, e->arena, s->body);
}

static const struct value *with_meta(struct episode *e, const struct value *body, const char *key,
                                     const struct value *value) {
        return value_with_path(e->arena, body, (const struct str[]){ STR("metadata"), str_from(key) }, 2, value);
}

static struct str random_version(struct episode *e) {
        return e->version_count ? e->versions[below(e, e->version_count < VERSIONS ? e->version_count : VERSIONS)] : STR("1");
}

/* Now and then the version or uid is told: the right one, an old one, a wrong one. */
static const struct value *with_expectations(struct episode *e, const struct subject *s, const struct value *body) {
        if (chance(e, 8))
                body = with_meta(e, body, "resourceVersion", value_string(e->arena, random_version(e), 0));
        if (chance(e, 4))
                body = with_meta(e, body, "uid",
                                 chance(e, 50) && s->live ? value_path(s->live, "metadata", "uid", NULL)
                                                          : value_stringc(e->arena, "11111111-0000-0000-0000-000000000000"));
        return body;
}

static void make_create(struct episode *e, struct subject *s, struct step *step) {
        const struct value *body = body_new(e->kind, &e->random, e->arena, s->name, chance(e, 92));
        struct buf path = path_of(e, NULL, "");

        if (chance(e, 25))
                body = body_fault(&e->random, e->arena, body);
        if (chance(e, 8))
                body = with_meta(e, with_meta(e, body, "name", NULL), "generateName",
                                 value_stringc(e->arena, chance(e, 90) ? "made-" : "Bad_"));
        body = with_expectations(e, s, body);
        step->method = KUBE_POST;
        set_body(e, step, JSON_TYPE, body);
        add_write_options(e, &path);
        finish_path(e, &path, step);
}

static void make_get(struct episode *e, struct subject *s, struct step *step) {
        static const char *const accepts[] = { "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
                                               "application/json;as=Table;g=meta.k8s.io;v=v1,application/json" };
        struct buf path = path_of(e, s, chance(e, 5) ? "/status" : "");

        step->method = KUBE_GET;
        if (chance(e, 25))
                step->accept = accepts[below(e, 2)];
        finish_path(e, &path, step);
}

static void add_selectors(struct episode *e, struct buf *path) {
        static const char *const labels[] = { "app%3Da", "app%3Da,tier!%3Dfront", "tier", "!tier", "app+in+(a,b)", "app+notin+(a)",
                                              "app%3D%3Db", "x+y", "app%3E1" };
        static const char *const fields[] = { "metadata.name%3Done", "metadata.name!%3Done", "metadata.namespace%3D@Fns@",
                                              "spec.x%3D1", "metadata.name%3Dtwo,metadata.namespace%3D@Fns@" };

        if (chance(e, 40))
                add_query(path, "labelSelector", labels[below(e, chance(e, 90) ? 7 : 9)]);
        if (chance(e, 25))
                add_query(path, "fieldSelector", fields[below(e, 5)]);
}

static void make_list(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, NULL, "");

        (void)s;
        step->method = KUBE_GET;
        if (e->continue_label.n) {
                add_query(&path, "limit", "1");
                add_query(&path, "continue", e->continue_label.p);
                e->continue_label = (struct str){ 0 };
        } else {
                add_selectors(e, &path);
                if (chance(e, 40))
                        add_query(&path, "limit", chance(e, 70) ? "1" : chance(e, 90) ? "2" : "-1");
        }
        if (chance(e, 15))
                step->accept = chance(e, 50) ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
                                             : "application/json;as=Table;g=meta.k8s.io;v=v1";
        finish_path(e, &path, step);
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
                body = with_meta(e, body, "managedFields",
                                 body_edit_managers(&e->random, e->arena, value_path(body, "metadata", "managedFields", NULL)));
        if (chance(e, 20))
                body = with_meta(e, body, "resourceVersion", NULL);
        else if (chance(e, 15))
                body = with_meta(e, body, "resourceVersion", value_string(e->arena, random_version(e), 0));
        return body;
}

static void make_update(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, s, "");

        step->method = KUBE_PUT;
        set_body(e, step, JSON_TYPE,
                 s->live ? edited_live(e, s)
                         : with_expectations(e, s, body_new(e->kind, &e->random, e->arena, s->name, true)));
        add_write_options(e, &path);
        finish_path(e, &path, step);
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

static void make_patch(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, s, "");

        step->method = KUBE_PATCH;
        set_body(e, step, type_of(step->verb), patch_of(e, s, step->verb, false));
        add_write_options(e, &path);
        finish_path(e, &path, step);
}

static bool is_shared(const struct subject *s) {
        const struct value *entries = value_path(s->live, "metadata", "managedFields", NULL);

        for (size_t i = 1; i < value_count(entries); i++)
                if (!str_eq(value_text(value_getc(entries->list.items[i], "manager")),
                            value_text(value_getc(entries->list.items[0], "manager"))))
                        return true;
        return false;
}

/* Mostly what the manager applied last, with a little change, as a Git repository goes on. */
static const struct value *applied_body(struct episode *e, struct subject *s, int manager) {
        const struct value *body = s->applied[manager];

        if (!body || chance(e, 25))
                body = body_new(e->kind, &e->random, e->arena, s->name, chance(e, 75));
        else if (chance(e, 60))
                body = body_change(e->kind, &e->random, e->arena, body, 1);
        else if (chance(e, 70))
                body = body_drop(&e->random, e->arena, body);
        s->applied[manager] = body;
        if (chance(e, 10))
                body = body_fault(&e->random, e->arena, body);
        return chance(e, 30) ? with_expectations(e, s, body) : body;
}

static void set_apply_body(struct episode *e, struct step *step, const struct value *body) {
        set_body(e, step, APPLY_TYPE, body);
        if (chance(e, 15)) {
                struct buf yaml = buf_make(1 << 20);

                yaml_print(body, &yaml);
                step->body = arena_str(e->arena, buf_str(&yaml));
                buf_done(&yaml);
        }
}

static void make_apply(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, s, "");
        int manager = (int)below(e, MANAGERS);

        step->method = KUBE_PATCH;
        step->shared = is_shared(s);
        set_apply_body(e, step, applied_body(e, s, manager));
        if (chance(e, 98))
                add_query(&path, "fieldManager", manager_names[manager]);
        if (chance(e, 40))
                add_query(&path, "force", chance(e, 90) ? "true" : "false");
        if (step->verb == APPLY_DRY)
                add_query(&path, "dryRun", "All");
        add_write_options(e, &path);
        finish_path(e, &path, step);
}

static void make_status(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, s, "/status");
        enum verb how = (enum verb[]){ UPDATE, MERGE, JSON, STRATEGIC, APPLY, APPLY }[below(e, 6)];
        const struct value *body = s->live && how == UPDATE ? edited_live(e, s)
                                                            : body_new(e->kind, &e->random, e->arena, s->name, false);

        step->method = how == UPDATE ? KUBE_PUT : KUBE_PATCH;
        body = body_change_status(e->kind, &e->random, e->arena, body);
        if (how == APPLY) {
                add_query(&path, "fieldManager", manager_names[below(e, MANAGERS)]);
                if (chance(e, 50))
                        add_query(&path, "force", "true");
                set_apply_body(e, step, body);
        } else
                set_body(e, step, how == UPDATE ? JSON_TYPE : type_of(how),
                         how == UPDATE ? body : patch_of(e, s, how, true));
        add_write_options(e, &path);
        finish_path(e, &path, step);
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
        const struct value *o = value_with(e->arena, NULL, STR("op"), value_stringc(e->arena, chance(e, 50) ? "replace" : "add"));

        o = value_with(e->arena, o, STR("path"), value_stringc(e->arena, "/spec/replicas"));
        value_list_add(&b, value_with(e->arena, o, STR("value"), value_int(e->arena, (int64_t)below(e, 4) - 1, 0)));
        return value_list_end(&b, e->arena, 0);
}

static void make_scale(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, s, "/scale");
        unsigned how = below(e, 5);

        step->method = (enum kube_method[]){ KUBE_GET, KUBE_PUT, KUBE_PATCH, KUBE_PATCH, KUBE_PATCH }[how];
        if (how == 3) {
                add_query(&path, "fieldManager", manager_names[below(e, MANAGERS)]);
                if (chance(e, 50))
                        add_query(&path, "force", "true");
        }
        if (how)
                set_body(e, step, (const char *[]){ NULL, JSON_TYPE, MERGE_TYPE, APPLY_TYPE, PATCH_TYPE }[how],
                         how == 4 ? scale_operations(e) : scale_body(e, s, how == 1 || how == 3));
        if (how)
                add_write_options(e, &path);
        finish_path(e, &path, step);
}

static const struct value *delete_options(struct episode *e, const struct subject *s) {
        static const char *const policies[] = { "Background", "Foreground", "Orphan", "Odd" };
        const struct value *body = value_with(e->arena, NULL, STR("kind"), value_stringc(e->arena, "DeleteOptions"));
        const struct str uid[] = { STR("preconditions"), STR("uid") };
        const struct str version[] = { STR("preconditions"), STR("resourceVersion") };

        body = value_with(e->arena, body, STR("apiVersion"), value_stringc(e->arena, "v1"));
        if (chance(e, 30) && s && s->live)
                body = value_with_path(e->arena, body, uid, 2,
                                       chance(e, 60) ? value_path(s->live, "metadata", "uid", NULL)
                                                     : value_stringc(e->arena, "11111111-0000-0000-0000-000000000000"));
        if (chance(e, 30))
                body = value_with_path(e->arena, body, version, 2, value_string(e->arena, random_version(e), 0));
        if (chance(e, 50))
                body = value_with(e->arena, body, STR("propagationPolicy"),
                                  value_stringc(e->arena, policies[below(e, chance(e, 90) ? 3 : 4)]));
        if (chance(e, 10))
                body = value_with(e->arena, body, STR("orphanDependents"), chance(e, 50) ? &value_true : &value_false);
        if (chance(e, 20))
                body = value_with(e->arena, body, STR("gracePeriodSeconds"), value_int(e->arena, (int64_t)below(e, 4) - 1, 0));
        return chance(e, 10) ? body_fault(&e->random, e->arena, body) : body;
}

static void make_delete(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, s, "");

        step->method = KUBE_DELETE;
        if (chance(e, 70))
                set_body(e, step, JSON_TYPE, delete_options(e, s));
        else if (chance(e, 30))
                add_query(&path, "propagationPolicy", chance(e, 50) ? "Foreground" : "Background");
        else if (chance(e, 20))
                add_query(&path, "gracePeriodSeconds", "0");
        if (chance(e, 10))
                add_query(&path, "dryRun", "All");
        finish_path(e, &path, step);
}

static void make_deletecollection(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, NULL, "");

        (void)s;
        step->method = KUBE_DELETE;
        add_selectors(e, &path);
        if (chance(e, 20))
                set_body(e, step, JSON_TYPE, delete_options(e, NULL));
        if (chance(e, 15))
                add_query(&path, "dryRun", "All");
        finish_path(e, &path, step);
}

static void make_watch(struct episode *e, struct subject *s, struct step *step) {
        struct buf path = path_of(e, NULL, "");

        (void)s;
        step->method = KUBE_GET;
        add_query(&path, "watch", "1");
        if (e->version_count && chance(e, 95))
                add_query(&path, "resourceVersion", random_version(e).p);
        else
                add_query(&path, "resourceVersion", "odd");
        if (chance(e, 40))
                add_selectors(e, &path);
        finish_path(e, &path, step);
}

typedef void (*make_fn)(struct episode *e, struct subject *s, struct step *step);

static const struct {
        make_fn make;
        bool collection;
} makers[VERBS] = {
        [CREATE] = { make_create, false },
        [GET] = { make_get, false },
        [LIST] = { make_list, true },
        [UPDATE] = { make_update, false },
        [MERGE] = { make_patch, false },
        [JSON] = { make_patch, false },
        [STRATEGIC] = { make_patch, false },
        [APPLY] = { make_apply, false },
        [APPLY_DRY] = { make_apply, false },
        [STATUS] = { make_status, false },
        [SCALE] = { make_scale, false },
        [DELETE] = { make_delete, false },
        [DELETECOLLECTION] = { make_deletecollection, true },
        [WATCH] = { make_watch, true },
};

/* Objects are mostly there: steps on one that is not begin with making it. */
void episode_next(struct episode *e, struct step *ret_step) {
        int at = chance(e, 70) ? 0 : (int)below(e, SUBJECTS);
        struct subject *s = &e->subjects[at];
        enum verb verb = draw_verb(e);

        if (!s->live && !makers[verb].collection && chance(e, 75))
                verb = chance(e, 30) ? CREATE : APPLY;
        *ret_step = (struct step){ .number = ++e->steps, .verb = verb, .subject = makers[verb].collection ? -1 : at };
        makers[verb].make(e, s, ret_step);
        e->tried[verb]++;
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
                e->continue_label =
                        arena_str(e->arena, value_text(value_path(body, "metadata", "continue", NULL)));
        if (!subject || str_contains(s->path, STR("dryRun=All")))
                return;
        if (status == 404 || (s->verb == DELETE && status == 200 && str_eqc(kind, "Status")))
                subject->live = NULL;
        else if (status < 300 && str_eq(kind, e->kind->name) &&
                 str_eq(value_text(value_path(body, "metadata", "name", NULL)), subject->name))
                learn_object(e, subject, body);
}
