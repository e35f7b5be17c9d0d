/* SPDX-License-Identifier: Apache-2.0 */
#include "act.h"

#include <ctype.h>
#include <stdio.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/yaml.h"
#include "check.h"
#include "expect.h"
#include "twins.h"

#define APPLY_TYPE "application/apply-patch+yaml"
#define MERGE_TYPE "application/merge-patch+json"
#define JSON_TYPE "application/json"
#define LWS_DEFINITION TRUCE_SOURCE_DIR "/deploy/lws/crd.yaml"

/* ---- objects and their paths ---- */

static bool is_version(struct str s) {
        return s.n > 1 && s.p[0] == 'v' && isdigit((unsigned char)s.p[1]);
}

bool ref_parse(struct str text, struct ref *ret_ref) {
        struct str kind, name, part;

        *ret_ref = (struct ref){ .version = STR("v1") };
        if (!str_next(&text, ' ', &kind) || text.n == 0 || !str_next(&kind, '.', &ret_ref->plural))
                return false;
        name = text;
        struct str rest = kind;
        if (str_next(&rest, '.', &part) && is_version(part)) {
                ret_ref->version = part;
                kind = rest;
        }
        ret_ref->group = kind;
        ptrdiff_t slash = str_find(name, '/', 0);
        if (slash >= 0)
                ret_ref->ns = str_sub(name, 0, (size_t)slash);
        ret_ref->name = str_sub(name, (size_t)(slash + 1), name.n);
        return true;
}

static struct str collection_path(const struct ref *r, struct arena *a) {
        struct str at = r->group.n ? arena_strf(a, "/apis/%.*s/%.*s", STR_FMT(r->group), STR_FMT(r->version))
                                   : arena_strf(a, "/api/%.*s", STR_FMT(r->version));

        if (r->ns.n)
                at = arena_strf(a, "%s/namespaces/%.*s", at.p, STR_FMT(r->ns));
        return arena_strf(a, "%s/%.*s", at.p, STR_FMT(r->plural));
}

struct str ref_path(const struct ref *r, struct arena *a) {
        return arena_strf(a, "%s/%.*s", collection_path(r, a).p, STR_FMT(r->name));
}

const struct value *ref_get(const struct world *w, struct str text) {
        struct ref r;

        return ref_parse(text, &r) ? sandbox_get(w->sandbox, r.group, r.plural, r.ns, r.name) : NULL;
}

struct str act_plural(struct str kind, struct arena *a) {
        struct str lower = arena_str(a, kind);

        for (size_t i = 0; i < lower.n; i++)
                ((char *)lower.p)[i] = (char)tolower((unsigned char)lower.p[i]);
        if (str_ends(lower, STR("s")))
                return arena_strf(a, "%ses", lower.p);
        if (str_ends(lower, STR("cy")) || str_ends(lower, STR("ry")))
                return arena_strf(a, "%.*sies", (int)lower.n - 1, lower.p);
        return arena_strf(a, "%ss", lower.p);
}

static struct ref ref_of_object(const struct value *object, struct arena *a) {
        struct str version = value_text(value_getc(object, "apiVersion"));
        ptrdiff_t slash = str_find(version, '/', 0);

        return (struct ref){
                .plural = act_plural(value_text(value_getc(object, "kind")), a),
                .group = slash < 0 ? STR("") : str_sub(version, 0, (size_t)slash),
                .version = str_sub(version, (size_t)(slash + 1), version.n),
                .ns = value_text(value_path(object, "metadata", "namespace", NULL)),
                .name = value_text(value_path(object, "metadata", "name", NULL)),
        };
}

/* ---- requests ---- */

int ask(struct world *w, enum kube_method method, struct str path, const char *type, struct str body, struct str user,
        struct arena *a, struct sandbox_reply *reply) {
        struct sandbox_reply mine;
        const struct sandbox_request req = {
                .method = method, .path = path, .content_type = str_from(type), .accept = STR(JSON_TYPE),
                .user_agent = STR("sim"), .body = body, .user = user,
        };

        reply = reply ? reply : &mine;
        *reply = (struct sandbox_reply){ 0 };
        sandbox_serve(w->sandbox, &req, a, reply);
        return reply->status;
}

struct deed {
        struct world *w;
        const struct value *step, *what; /* what: the verb's value */
        struct arena *a;
};

static void send(const struct deed *d, enum kube_method method, struct str path, const char *type, struct str body,
                 const char *manager) {
        struct str user = scenario_text(d->step, "as", "admin");
        struct sandbox_reply reply;

        path = arena_strf(d->a, "%s%sfieldManager=%.*s", path.p, str_find(path, '?', 0) < 0 ? "?" : "&",
                          STR_FMT(scenario_text(d->step, "manager", manager)));
        int status = ask(d->w, method, path, type, body, user, d->a, &reply);
        if (status >= 300 && !d->w->spec->chaos && !scenario_bool(d->step, "mayFail", false))
                world_fail(d->w, "the step in line %u is refused: %d %.*s", d->step->line, status, STR_FMT(reply.body));
}

/* That it is one was seen when the file was read. */
static struct ref the_ref(const struct deed *d) {
        struct ref r;

        ref_parse(value_text(d->what), &r);
        return r;
}

static void each_object(const struct deed *d, void (*fn)(const struct deed *d, const struct value *object)) {
        if (d->what->kind != VALUE_LIST)
                fn(d, d->what);
        for (size_t i = 0; d->what->kind == VALUE_LIST && i < d->what->list.count; i++)
                fn(d, d->what->list.items[i]);
}

static void apply_one(const struct deed *d, const struct value *object) {
        struct ref r = ref_of_object(object, d->a);

        send(d, KUBE_PATCH, arena_strf(d->a, "%s?force=true", ref_path(&r, d->a).p), APPLY_TYPE, value_canonical(d->a, object),
             "kubectl");
}

static void do_apply(const struct deed *d) {
        each_object(d, apply_one);
}

static void create_one(const struct deed *d, const struct value *object) {
        struct ref r = ref_of_object(object, d->a);

        send(d, KUBE_POST, collection_path(&r, d->a), JSON_TYPE, value_canonical(d->a, object), "kubectl-create");
}

static void do_create(const struct deed *d) {
        each_object(d, create_one);
}

static void patch_at(const struct deed *d, const char *subresource, const struct value *merge, const char *manager) {
        struct ref r = the_ref(d);

        send(d, KUBE_PATCH, arena_strf(d->a, "%s%s", ref_path(&r, d->a).p, subresource), MERGE_TYPE,
             value_canonical(d->a, merge), manager);
}

static void do_patch(const struct deed *d) {
        patch_at(d, "", value_getc(d->step, "merge"), "kubectl-edit");
}

static void do_status(const struct deed *d) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("status"), value_getc(d->step, "set"), 0);
        patch_at(d, "/status", value_map_end(&b, d->a, 0), "kube-controller-manager");
}

static void do_scale(const struct deed *d) {
        const struct str path[] = { STR("spec"), STR("replicas") };

        patch_at(d, "/scale", value_with_path(d->a, NULL, path, 2, value_getc(d->step, "to")), "kube-controller-manager");
}

static void do_delete(const struct deed *d) {
        struct ref r = the_ref(d);

        send(d, KUBE_DELETE, arena_strf(d->a, "%s?propagationPolicy=Background", ref_path(&r, d->a).p), NULL, STR(""), "x");
}

/* A step that did nothing would show nothing; in a sweep there are moments at which it cannot. */
static void nothing_done(const struct deed *d, const char *why) {
        if (world_is_plain(d->w) && !scenario_bool(d->step, "mayFail", false))
                world_fail(d->w, "the step in line %u does nothing: %s", d->step->line, why);
}

/* The object as it is, without what the server adds, under a new uid. */
static void do_recreate(const struct deed *d) {
        static const char *const server[] = { "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields",
                                              "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink" };
        const struct value *object = ref_get(d->w, value_text(d->what));
        struct ref r = the_ref(d);

        if (!object) {
                nothing_done(d, "there is no such object");
                return;
        }
        object = value_with(d->a, value_dup(d->a, object), STR("status"), NULL);
        for (size_t i = 0; i < ARRAY_LEN(server); i++) {
                const struct str path[] = { STR("metadata"), str_from(server[i]) };

                object = value_with_path(d->a, object, path, 2, NULL);
        }
        do_delete(d);
        if (!ref_get(d->w, value_text(d->what)))
                send(d, KUBE_POST, collection_path(&r, d->a), JSON_TYPE, value_canonical(d->a, object), "kubectl-create");
}

static enum kube_method method_of(struct str name) {
        static const char *const names[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (str_eqc(name, names[i]))
                        return (enum kube_method)i;
        }
        return KUBE_GET;
}

/* "PATCH /api/v1/…" with a body, as it stands there. One of truce's own is seen by the checks as the agent's are. */
static void do_request(const struct deed *d) {
        struct str path = value_text(d->what), method, user = scenario_text(d->step, "as", "admin");
        const struct value *body = value_getc(d->step, "body");
        struct sandbox_reply reply;

        str_next(&path, ' ', &method);
        const struct sandbox_request req = {
                .method = method_of(method), .path = path, .content_type = scenario_text(d->step, "type", JSON_TYPE), .user = user,
                .body = !body ? STR("") : value_is(body, VALUE_STRING) ? body->text : value_canonical(d->a, body),
        };
        if (str_eqc(user, SIM_USER))
                check_request(d->w->check, &req, false);
        int status = ask(d->w, req.method, path, req.content_type.p, req.body, user, d->a, &reply);
        if (status >= 300 && !d->w->spec->chaos && !scenario_bool(d->step, "mayFail", false))
                world_fail(d->w, "the step in line %u is refused: %d %.*s", d->step->line, status, STR_FMT(reply.body));
}

/* The definition that the cluster serves from then on. */
static void do_serve(const struct deed *d) {
        _cleanup_(buf_done) struct buf text = buf_make(1 * MIB);
        const struct yaml_document *docs;
        struct err err = { 0 };
        size_t count = 0;
        int r = scenario_read(LWS_DEFINITION, &text, &err);

        if (r == 0)
                r = yaml_parse(buf_str(&text), d->a, &docs, &count, &err);
        for (size_t i = 0; r == 0 && i < count; i++)
                r = sandbox_add(d->w->sandbox, docs[i].value, &err);
        if (r < 0)
                world_fail(d->w, "%s: %s", LWS_DEFINITION, err.msg);
}

/* ---- Git ---- */

static bool is_infra(const struct deed *d) {
        return str_eqc(scenario_text(d->step, "repo", "shop"), "infra");
}

static struct repo *repo_of(const struct deed *d) {
        return is_infra(d) ? d->w->infra : d->w->repo;
}

static struct str head_of(const struct deed *d, struct str ref) {
        return is_infra(d) ? arena_strf(d->a, "infra/%.*s", STR_FMT(ref)) : ref;
}

static void do_push(const struct deed *d) {
        struct str name = value_text(d->what), ref = scenario_text(d->step, "ref", "refs/heads/main");
        const struct value *files = value_get(value_getc(d->w->doc, "commits"), name);

        struct git_id id = repo_commit(repo_of(d), arena_str(d->a, name).p, files);
        if (scenario_bool(d->step, "tag", false))
                id = git_memory_tag(repo_memory(repo_of(d)), &id);
        git_memory_set_ref(repo_memory(repo_of(d)), arena_str(d->a, ref).p, &id);
        map_set(d->w->heads, head_of(d, ref), (void *)arena_str(d->w->arena, name).p);
}

static void do_remove_ref(const struct deed *d) {
        if (!map_remove(d->w->heads, head_of(d, value_text(d->what))))
                nothing_done(d, "there is no such ref");
        git_memory_set_ref(repo_memory(repo_of(d)), arena_str(d->a, value_text(d->what)).p, NULL);
}

static enum err_code code_of(struct str name) {
        for (int code = ERR_INTERNAL; code < 0; code++) {
                if (str_eqc(name, err_code_name(code)))
                        return (enum err_code)code;
        }
        return ERR_UNREACHABLE;
}

static void do_break_git(const struct deed *d) {
        static const char *const ops[GIT_MEMORY_OP_COUNT] = { "resolve", "fetch", "describe", "list", "read" };
        struct str op = scenario_text(d->step, "op", "resolve");

        for (int i = 0; i < GIT_MEMORY_OP_COUNT; i++) {
                if (str_eqc(op, ops[i]))
                        git_memory_fail(repo_memory(repo_of(d)), (enum git_memory_op)i, code_of(scenario_text(d->step, "code", "")),
                                        arena_str(d->a, value_text(d->what)).p, (unsigned)scenario_int(d->step, "times", 0));
        }
}

static void do_slow_git(const struct deed *d) {
        int64_t ms = scenario_ms(d->step, "slowGit", 0), timeout_ms = d->w->config->agent.git_timeout_ms;

        git_memory_delay(repo_memory(repo_of(d)), GIT_MEMORY_RESOLVE, ms);
        loop_virtual_slow_pool(d->w->loop, LOOP_POOL_GIT, ms < timeout_ms ? ms : timeout_ms);
}

/* ---- misfortune ---- */

static void do_rules(const struct deed *d) {
        struct err err = { 0 };

        if (sandbox_set_rules(d->w->sandbox, d->what, &err) < 0)
                world_fail(d->w, "line %u: %s", d->step->line, err.msg);
}

static void do_restart(const struct deed *d) {
        wire_keep_writes(d->w->wire, scenario_bool(d->step, "keepWrites", false));
        world_reconfigure(d->w, value_getc(d->step, "agent"));
        world_restart(d->w, scenario_ms(d->step, "down", 0));
}

static void do_compact(const struct deed *d) {
        sandbox_compact(d->w->sandbox);
}

static void do_drop_watches(const struct deed *d) {
        sandbox_drop_watches(d->w->sandbox);
}

static void do_server(const struct deed *d) {
        wire_cut(d->w->wire, str_eqc(value_text(d->what), "away"));
}

static void do_watches(const struct deed *d) {
        wire_blind(d->w->wire, str_eqc(value_text(d->what), "blind"));
}

struct wire_rates act_rates(const struct value *map) {
        return (struct wire_rates){
                .lose = scenario_per_mille(map, "lose"),         .lose_reply = scenario_per_mille(map, "loseReply"),
                .late = scenario_per_mille(map, "late"),         .error = scenario_per_mille(map, "error"),
                .conflict = scenario_per_mille(map, "conflict"), .drop = scenario_per_mille(map, "drop"),
                .hold = scenario_per_mille(map, "hold"),         .merge = scenario_per_mille(map, "merge"),
                .delay_ms = scenario_ms(map, "delay", 20),       .late_ms = scenario_ms(map, "lateBy", 3000),
                .hold_ms = scenario_ms(map, "holdFor", 5000),
        };
}

static void do_faults(const struct deed *d) {
        struct wire_rates rates = act_rates(d->what);

        if (!d->w->spec->chaos)
                wire_set_rates(d->w->wire, &rates);
}

static void do_fault(const struct deed *d) {
        struct sandbox_fault *f = d->w->fault;

        f->lose_request = scenario_bool(d->what, "lose", false);
        f->lose_reply = scenario_bool(d->what, "loseReply", false);
        f->status = (int)scenario_int(d->what, "status", 0);
        f->retry_after_s = scenario_int(d->what, "retryAfter", 0);
        f->delay_ms += scenario_ms(d->what, "delay", 0);
        f->reply_delay_ms += scenario_ms(d->what, "replyDelay", 0);
        *d->w->late = scenario_bool(d->what, "late", false);
}

/* ---- looking ---- */

/* Where the agent dies, or what is lost, decides what is there in between: then only the end counts. */
static void do_check(const struct deed *d) {
        if (d->w->spec->moment == MOMENT_NEVER && !d->w->spec->chaos)
                expect_all(d->w, d->what, "check");
}

static void do_count(const struct deed *d) {
        d->w->requests = d->w->writes = d->w->commits = 0;
}

static void do_unseed(const struct deed *d) {
        (void)d;
        twins_unseed();
}

static void do_nothing(const struct deed *d) {
        (void)d;
}

/* ---- the table ---- */

struct verb {
        void (*fn)(const struct deed *d);
        bool is_no_change; /* the agent has nothing to react to */
        struct word words[5]; /* the verb, and further keys */
};

#define REPOS { "repo", WORD_TEXT, .among = " shop infra " }
#define GIT_OPS " resolve fetch describe list read "
#define GIT_CODES " UNREACHABLE TIMEOUT CORRUPT UNAUTH FORBIDDEN NOTFOUND PARSE LIMIT "
#define NEEDED .is_needed = true

static const struct verb verbs[] = {
        { do_apply, false, { { "apply", WORD_OBJECTS } } },
        { do_create, false, { { "create", WORD_OBJECTS } } },
        { do_patch, false, { { "patch", WORD_REF }, { "merge", WORD_MAP, NEEDED } } },
        { do_status, false, { { "status", WORD_REF }, { "set", WORD_MAP, NEEDED } } },
        { do_scale, false, { { "scale", WORD_REF }, { "to", WORD_NUMBER, NEEDED } } },
        { do_delete, false, { { "delete", WORD_REF } } },
        { do_recreate, false, { { "recreate", WORD_REF } } },
        { do_request, false, { { "request", WORD_TEXT }, { "body", WORD_ANY }, { "type", WORD_TEXT } } },
        { do_serve, false, { { "serve", WORD_TEXT, .among = " LeaderWorkerSet " } } },
        { do_push, false, { { "push", WORD_COMMIT }, { "ref", WORD_TEXT }, { "tag", WORD_FLAG }, REPOS } },
        { do_remove_ref, false, { { "removeRef", WORD_TEXT }, REPOS } },
        { do_break_git, false, { { "breakGit", WORD_TEXT }, { "op", WORD_TEXT, .among = GIT_OPS },
                                 { "code", WORD_TEXT, .among = GIT_CODES }, { "times", WORD_NUMBER }, REPOS } },
        { do_slow_git, false, { { "slowGit", WORD_TIME }, REPOS } },
        { do_rules, false, { { "rules", WORD_MAP } } },
        { do_restart, false, { { "restart", WORD_FLAG }, { "down", WORD_TIME }, { "keepWrites", WORD_FLAG },
                                { "agent", WORD_MAP } } },
        { do_compact, false, { { "compact", WORD_FLAG } } },
        { do_drop_watches, false, { { "dropWatches", WORD_FLAG } } },
        { do_server, false, { { "server", WORD_TEXT, .among = " away back " } } },
        { do_watches, false, { { "watches", WORD_TEXT, .among = " blind back " } } },
        { do_faults, false, { { "faults", WORD_MAP, .in = words_of_rates } } },
        { do_fault, false, { { "fault", WORD_MAP, .in = words_of_fault } } },
        { do_unseed, true, { { "unseeded", WORD_FLAG } } },
        { do_check, true, { { "check", WORD_MAPS, .in = words_of_expectation } } },
        { do_count, true, { { "count", WORD_FLAG } } },
        { do_nothing, true, { { "wait", WORD_FLAG } } },
};

static const struct verb *verb_of(const struct value *step) {
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
                if (value_getc(step, verbs[i].words[0].name))
                        return &verbs[i];
        }
        return NULL;
}

const struct word *act_words(const struct value *step) {
        const struct verb *v = verb_of(step);

        return v ? v->words : NULL;
}

void act(struct world *w, const struct value *step) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct verb *v = verb_of(step);
        struct deed d = { w, step, value_getc(step, v->words[0].name), a };
        struct str mark = scenario_text(step, "mark", "");

        trace_add(&w->trace, "story     line %u: %.*s", step->line, STR_FMT(value_canonical(a, step)));
        if (mark.n)
                map_set(w->marks, mark, w);
        if (!v->is_no_change)
                world_changed(w);
        v->fn(&d);
}
