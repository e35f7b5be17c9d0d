/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce health KIND/NAME`: how an object of the cluster is, by which rule. `truce health -f FILE`: the same of objects
 * in files, without a cluster. It needs no application: the rules are those of the configuration (--config,
 * --health-dir), then truce's own.
 */
#include "cli/health_impl.h"

#include <stdio.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/objects.h"
#include "cli/verb.h"
#include "cli/words.h"
#include "diff/mask.h"

#define OUT_MAX_BYTES (256 * 1024 * 1024)
#define CLASS_GROUP   "storage.k8s.io"
#define CLASS_KIND    "StorageClass"

static const char *const outputs[] = { "table", "json", "yaml", NULL };
static const struct option_def health_options[] = {
        { .name = "output",
          .letter = 'o',
          .type = OPTION_CHOICE,
          .at = offsetof(struct health_flags, output),
          .choices = outputs,
          .help = "how to print it" },
        { .name = "filename",
          .letter = 'f',
          .type = OPTION_LIST,
          .at = offsetof(struct health_flags, files),
          .word = "FILE",
          .help = "judge the objects of this file or folder, or of standard input (-), without a cluster; may be given "
                  "again" },
        { .name = "watch",
          .letter = 'w',
          .type = OPTION_BOOL,
          .at = offsetof(struct health_flags, watch),
          .help = "go on, and print each change with its time" },
        { .name = "guard",
          .type = OPTION_BOOL,
          .at = offsetof(struct health_flags, guard),
          .fallback = "true",
          .help = "ask the freshness guard before the rule, as the agent does" },
};
const struct option_group cli_health_flags = { "Health", health_options, ARRAY_LEN(health_options), NULL };

/* ---- judging and printing ---- */

/* What a rule prints is for who writes it. */
static void say_printed(void *ctx, struct str line) {
        _cleanup_(buf_done) struct buf text = buf_make(LUA_MAX_STRING_BYTES + KIB);

        (void)ctx;
        buf_addc(&text, "print: ");
        buf_add(&text, line);
        session_say(buf_str(&text));
}

void health_verb_judge(const struct health_verb *v, const struct value *object, int64_t now_ms, struct arena *a,
                       struct health *ret) {
        struct health_question q = { .object = mask_if_secret(object, a), .now_ms = now_ms, .guard = v->flags.guard,
                                     .print = say_printed, .storage_class = v->class };

        health_judge(v->session.config->health, &q, a, ret);
}

static const struct value *value_of(const struct health_row *rows, size_t count, bool as_list, struct arena *a) {
        struct value_list_builder list = { 0 };

        if (!as_list)
                return health_view_value(rows, a);
        for (size_t i = 0; i < count; i++)
                value_list_add(&list, health_view_value(&rows[i], a));
        return value_list_end(&list, a, 0);
}

static int print(const struct health_verb *v, const struct health_row *rows, size_t count, bool as_list,
                 struct arena *a, struct err *err) {
        _cleanup_(buf_done) struct buf out = buf_make(OUT_MAX_BYTES);

        if (v->flags.output == HEALTH_JSON)
                words_add_json(value_of(rows, count, as_list, a), &out);
        else if (v->flags.output == HEALTH_YAML)
                yaml_print(value_of(rows, count, as_list, a), &out);
        else
                health_view_table(rows, count, words_in_color(STDOUT_FILENO), a, &out);
        fwrite(out.p, 1, out.n, stdout);
        return buf_check(&out, "the answer", err);
}

/* ---- objects of files ---- */

static int check_object(const struct objects_item *item, struct err *err) {
        if (!value_is(item->value, VALUE_MAP) || !value_text(value_getc(item->value, "apiVersion")).n ||
            !value_text(value_getc(item->value, "kind")).n)
                return err_set(err, ERR_INVAL, "%.*s:%u: it is no object: apiVersion or kind is missing",
                               STR_FMT(item->file), item->value->line);
        return 0;
}

/* The StorageClass that the object's rule would like to see, should it be among them. */
static const struct value *find_class(const struct objects *o, const struct value *object) {
        struct str name = health_storage_class(object);

        for (size_t i = 0; name.n && i < o->count; i++) {
                struct health_row row = health_row_of(o->items[i].value);

                if (str_eqc(row.group, CLASS_GROUP) && str_eqc(row.kind, CLASS_KIND) && str_eq(row.name, name))
                        return o->items[i].value;
        }
        return NULL;
}

static int judge_objects(struct health_verb *v, const struct objects *o, struct err *err) {
        struct health_row *rows = arena_alloc(o->arena, (o->count + 1) * sizeof *rows);

        for (size_t i = 0; i < o->count; i++) {
                int r = check_object(&o->items[i], err);

                if (r < 0)
                        return r;
                rows[i] = health_row_of(o->items[i].value);
                rows[i].file = o->items[i].file;
                v->class = find_class(o, o->items[i].value);
                health_verb_judge(v, o->items[i].value, health_verb_now_ms(), o->arena, &rows[i].health);
                v->bad |= health_view_is_bad(rows[i].health.code);
        }
        if (!o->count)
                return err_set(err, ERR_NOTFOUND, "there is no object in it");
        return print(v, rows, o->count, true, o->arena, err);
}

static int judge_files(struct health_verb *v, struct err *err) {
        struct objects o = { .arena = v->arena };
        int r = 0;

        for (size_t i = 0; r == 0 && i < v->flags.files.count; i++)
                r = objects_read(&o, v->flags.files.items[i], err);
        if (r == 0)
                r = judge_objects(v, &o, err);
        objects_done(&o);
        return r;
}

/* ---- an object of the cluster ---- */

struct asking {
        struct health_verb *v;
        void (*done)(void *ctx);
        void *ctx;
};

static void on_discovered(void *ctx, struct kube_discovery *d, const struct err *err) {
        struct health_verb *v = ctx;

        if (err)
                v->err = *err;
        else
                v->discovery = kube_discovery_ref(d);
        loop_stop(v->session.loop);
}

/* Where the object is, or would be. */
static int locate(struct health_verb *v, struct err *err) {
        struct session *s = &v->session;
        struct str ns = s->app_flags.ns.n ? s->app_flags.ns : str_from(s->kube->namespace);

        v->client = kube_client_new(s->transport, s->loop);
        kube_discovery_fetch(v->client, NULL, on_discovered, v);
        loop_run(s->loop);
        if (!v->discovery) {
                *err = v->err;
                return err->code;
        }
        v->resource = kube_discovery_find_word(v->discovery, v->operand.kind);
        if (!v->resource)
                return err_set(err, ERR_NOTFOUND, "the cluster has no kind called '%.*s'", STR_FMT(v->operand.kind));
        v->at = kube_resource_location(v->resource, ns, v->operand.name);
        return 0;
}

static void on_class(void *ctx, const struct kube_result *result) {
        struct asking *asking = ctx;
        struct health_verb *v = asking->v;

        v->class_op = NULL;
        if (!result->err.code)
                json_parse(result->body, v->arena, &v->class, NULL);
        asking->done(asking->ctx);
}

bool health_verb_ask(struct health_verb *v, const struct value *object, void (*done)(void *ctx), void *ctx) {
        struct asking *asking = arena_alloc(v->arena, sizeof *asking);
        struct str name = health_storage_class(object);
        const struct kube_location at = { .group = STR(CLASS_GROUP), .version = STR("v1"), .plural = STR("storageclasses"),
                                          .name = arena_str(v->arena, name) };

        if (!name.n || str_eq(name, v->class_name))
                return name.n && v->class_op;
        *asking = (struct asking){ v, done, ctx };
        kube_op_cancel(v->class_op);
        v->class_name = at.name;
        v->class = NULL;
        v->class_op = kube_client_get(v->client, &at, 0, on_class, asking);
        return true;
}

static void on_object(void *ctx, const struct kube_result *result) {
        struct health_verb *v = ctx;

        v->err = result->err;
        if (!result->err.code)
                json_parse(result->body, v->arena, &v->object, &v->err);
        loop_stop(v->session.loop);
}

static void stop(void *loop) {
        loop_stop(loop);
}

static int judge_live(struct health_verb *v, struct err *err) {
        struct health_row row;

        kube_client_get(v->client, &v->at, 0, on_object, v);
        loop_run(v->session.loop);
        if (v->err.code) {
                *err = v->err;
                return err->code;
        }
        if (health_verb_ask(v, v->object, stop, v->session.loop))
                loop_run(v->session.loop);
        row = health_row_of(v->object);
        health_verb_judge(v, v->object, health_verb_now_ms(), v->arena, &row.health);
        v->bad = health_view_is_bad(row.health.code);
        return print(v, &row, 1, false, v->arena, err);
}

static int judge_cluster(struct health_verb *v, struct err *err) {
        int r = session_connect(&v->session, err);

        if (r == 0)
                r = locate(v, err);
        if (r == 0)
                r = v->flags.watch ? health_watch(v, err) : judge_live(v, err);
        return r;
}

/* ---- the verb ---- */

static int read_words(struct health_verb *v, struct err *err) {
        const struct session *s = &v->session;

        if (!v->flags.files.count)
                return operand_read(s->operands, s->operand_count, "health", &v->operand, err);
        if (s->operand_count)
                return err_set(err, ERR_INVAL, "%.*s: either an object of the cluster, or --filename",
                               STR_FMT(s->operands[0]));
        if (v->flags.watch)
                return err_set(err, ERR_INVAL, "--watch is for an object of the cluster");
        return 0;
}

static int run(struct health_verb *v, struct err *err) {
        int r = read_words(v, err);

        if (r == 0)
                r = v->flags.files.count ? judge_files(v, err) : judge_cluster(v, err);
        return r;
}

int cli_health(int argc, char **argv) {
        struct health_verb v = { .session = { .apps_optional = true, .operand_max = 2 }, .arena = arena_new(0) };
        const struct option_group own = option_group_of(&cli_health_flags, &v.flags);
        struct err err;

        v.session.offline = &v.flags.files;
        int r = session_configure(&v.session, "health", argc, argv, &own, &err);
        if (r == 0 && !v.session.help)
                r = run(&v, &err);
        kube_discovery_unref(v.discovery);
        kube_client_free(v.client);
        session_close(&v.session);
        arena_free(v.arena);
        if (r < 0)
                return session_fail(&err);
        return v.bad ? CLI_DIFFERENT : CLI_OK;
}
