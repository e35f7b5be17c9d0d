/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ignore rules cost when an application is looked at again and nothing has changed. bench_ignore TRUCE ROUNDS reads
 * objects (objects.sh), a line of JSON each, and decides on each of them as the agent does, with fingerprints, by turns
 * without rules and with 50 of several kinds. Of each the median round is shown, and its ratio to none. jq runs in a worker,
 * the program TRUCE, whose time is in the clock's alone.
 *
 * bench_ignore rules NAME prints the Application with these rules, for ignore.sh.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/ignore.h"
#include "base/json.h"
#include "base/limits.h"
#include "own/decide.h"

#define MAX_OBJECTS 20000
#define MAX_ROUNDS 101
#define RULES 50

enum kind_of_rule { POINTER, MANAGER, PROGRAM };

static const char *const kinds[][2] = {
        { "apps", "Deployment" }, { "", "ConfigMap" }, { "", "Service" }, { "*", "*" }, { "apps", "StatefulSet" },
};

static const char *const pointers[] = {
        "/spec/replicas", "/metadata/annotations/example.com~1note", "/spec/template/spec/containers/0/image",
        "/spec/template/metadata/annotations/checksum~1config", "/data/index",
};

static const char *const programs[] = {
        ".spec.template.spec.containers[] | select(.name == \"proxy\")", ".metadata.annotations[\"example.com/note\"]",
        ".spec.template.spec.containers[]?.env[]? | select(.name == \"INDEX\") | .value", ".spec.ports[]?.nodePort",
        ".data | select(. != null) | .text",
};

struct contender {
        const char *name;
        unsigned of_ten[3];       /* of ten rules, how many of each kind; all zero: no rules */
        struct config *config;
        double us[MAX_ROUNDS];    /* of one object, by the clock */
        double own_us_of[MAX_ROUNDS]; /* by the processor, without the worker */
};

static struct contender contenders[] = {
        { .name = "none" },
        { .name = "pointers", .of_ten = { 10, 0, 0 } },
        { .name = "managers", .of_ten = { 0, 10, 0 } },
        { .name = "pointers, managers", .of_ten = { 7, 3, 0 } },
        { .name = "jq", .of_ten = { 0, 0, 10 } },
        { .name = "mixed", .of_ten = { 5, 2, 3 } },
};

struct bench {
        struct loop *loop;
        struct jq_engine *jq;
        struct hash_key key;
        struct str git[MAX_OBJECTS], live[MAX_OBJECTS];
        struct hash128 applied[MAX_OBJECTS];
        size_t count;
        bool answered;
};

static void die(const char *what, const struct err *err) {
        fprintf(stderr, "bench_ignore: %s: %s\n", what, err->msg);
        exit(EXIT_FAILURE);
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

static enum kind_of_rule kind_at(const struct contender *c, size_t i) {
        unsigned turn = (unsigned)(i * 3 % 10);

        if (turn < c->of_ten[POINTER])
                return POINTER;
        return turn < c->of_ten[POINTER] + c->of_ten[MANAGER] ? MANAGER : PROGRAM;
}

static void add_rule(const struct contender *c, size_t i, struct buf *out) {
        size_t k = i / ARRAY_LEN(kinds) % ARRAY_LEN(pointers);

        buf_addf(out, "  - group: \"%s\"\n    kind: \"%s\"\n", kinds[i % ARRAY_LEN(kinds)][0], kinds[i % ARRAY_LEN(kinds)][1]);
        switch (kind_at(c, i)) {
        case POINTER:
                buf_addf(out, "    jsonPointers: [%s]\n", pointers[k]);
                break;
        case MANAGER:
                buf_addf(out, "    managedFieldsManagers: [operator-%zu]\n", i);
                break;
        default:
                buf_addf(out, "    jqPathExpressions: ['%s']\n", programs[k]);
        }
}

static void add_rules(const struct contender *c, struct buf *out) {
        buf_addf(out, "  ignoreDifferences:\n");
        for (size_t i = 0; i < RULES && c->of_ten[POINTER] + c->of_ten[MANAGER] + c->of_ten[PROGRAM]; i++)
                add_rule(c, i, out);
}

static int print_rules(const char *name) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);

        for (size_t i = 0; i < ARRAY_LEN(contenders); i++)
                if (str_eqc(str_from(contenders[i].name), name))
                        add_rules(&contenders[i], &text);
        printf("%.*s", STR_FMT(buf_str(&text)));
        return text.n ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void configure(struct contender *c) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        struct err err;

        buf_addf(&text, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: bench}\nspec:\n"
                        "  source: {repoURL: \"https://git.invalid/x.git\", path: .}\n");
        add_rules(c, &text);
        if (config_load_text(buf_str(&text), STR("bench.yaml"), &c->config, &err) < 0)
                die("rules", &err);
        config_settle(c->config);
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

static const struct value *read_json(struct str text, struct arena *a) {
        const struct value *v;
        struct err err;

        if (json_parse(text, a, &v, &err) < 0)
                die("objects", &err);
        return v;
}

static const struct schema *type_of(const struct value *v, struct arena *a) {
        return schema_builtin(a, value_text(value_getc(v, "apiVersion")), value_text(value_getc(v, "kind")));
}

/* As it is live when truce has applied it. */
static struct str applied(const struct value *git, struct arena *a) {
        const struct fieldset *set = fieldset_of_value(git, type_of(git, a), a, NULL);
        struct buf text = buf_make(MIB);
        struct str api_version = value_text(value_getc(git, "apiVersion")), fields, whole;

        fields = value_canonical(a, fieldset_to_value(a, set));
        buf_addf(&text, "[{\"manager\":\"truce\",\"operation\":\"Apply\",\"apiVersion\":\"%.*s\",\"fieldsType\":\"FieldsV1\","
                        "\"fieldsV1\":%.*s}]", STR_FMT(api_version), STR_FMT(fields));
        const struct str owners[] = { STR("metadata"), STR("managedFields") }, uid[] = { STR("metadata"), STR("uid") },
                         version[] = { STR("metadata"), STR("resourceVersion") };
        const struct value *live = value_with_path(a, git, owners, ARRAY_LEN(owners), read_json(buf_str(&text), a));
        live = value_with_path(a, live, uid, ARRAY_LEN(uid), value_stringc(a, "u"));
        live = value_with_path(a, live, version, ARRAY_LEN(version), value_stringc(a, "7"));
        whole = value_canonical(a, live);
        buf_done(&text);
        return whole;
}

static void read_objects(struct bench *b, struct arena *a) {
        char line[65536];

        while (b->count < MAX_OBJECTS && fgets(line, sizeof line, stdin)) {
                const struct value *git = read_json(str_trim(str_from(line)), a);

                b->git[b->count] = value_canonical(a, git);
                b->live[b->count++] = applied(git, a);
        }
}

/* --- deciding ----------------------------------------------------------------------------------------------------- */

static void on_answered(void *ctx, const struct err *err) {
        struct bench *b = ctx;

        if (err)
                die("jq", err);
        b->answered = true;
        loop_stop(b->loop);
}

static struct ignore_answer seek(struct bench *b, const struct config_app *app, const struct decide_input *in, struct arena *a) {
        const struct value *metadata = value_getc(in->desired, "metadata");
        struct str group = value_text(value_getc(in->desired, "apiVersion"));
        ptrdiff_t slash = str_find(group, '/', 0);
        const struct ignore_object o = {
                .app = app, .group = str_sub(group, 0, slash < 0 ? 0 : (size_t)slash),
                .kind = value_text(value_getc(in->desired, "kind")), .ns = value_text(value_getc(metadata, "namespace")),
                .name = value_text(value_getc(metadata, "name")), .desired = in->desired, .live = in->live, .type = in->type,
        };
        struct ignore_search *s = ignore_begin(&o, a);

        b->answered = !ignore_asks(s);
        if (!b->answered)
                ignore_ask(s, b->jq, on_answered, b);
        while (!b->answered)
                loop_run(b->loop);
        return ignore_answer(s);
}

static void decide_one(struct bench *b, const struct config_app *app, size_t i, bool first) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct decide_input in = { .desired = read_json(b->git[i], a), .live = read_json(b->live[i], a), .key = &b->key };
        struct managed owners;
        struct ignore_answer ignored;
        struct decision d;
        struct err err;

        in.type = type_of(in.desired, a);
        if (managed_parse(in.live, a, &owners, &err) < 0)
                die("owners", &err);
        in.managed = &owners;
        in.fingerprint = first ? NULL : &b->applied[i];
        if (app->ignores.count) {
                ignored = seek(b, app, &in, a);
                in.policy = &ignored.policy;
                in.ignored = ignored.paths;
                in.ignored_count = ignored.count;
        }
        if (decide(&in, a, &d, &err) < 0)
                die("decide", &err);
        if (d.verdict != DECIDE_NOTHING || (!first && !d.by_fingerprint))
                die("decide", &(struct err){ .msg = "there is something to do" });
        if (first && decide_fingerprint(&in, &d, in.live, &owners, a, &b->applied[i], &err) < 0)
                die("fingerprint", &err);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static double now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double own_us(void) {
        struct rusage u;

        getrusage(RUSAGE_SELF, &u);
        return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The first time makes the fingerprints: they are of what is compared, so each contender has its own. */
static void measure(struct bench *b, struct contender *c, size_t round) {
        double began, began_own;

        for (size_t i = 0; i < b->count; i++)
                decide_one(b, &c->config->apps[0], i, true);
        began = now_us();
        began_own = own_us();
        for (size_t i = 0; i < b->count; i++)
                decide_one(b, &c->config->apps[0], i, false);
        c->us[round] = (now_us() - began) / (double)b->count;
        c->own_us_of[round] = (own_us() - began_own) / (double)b->count;
}

static int by_size(const void *x, const void *y) {
        double a = *(const double *)x, b = *(const double *)y;

        return (a > b) - (a < b);
}

static double median(double *all, size_t count) {
        qsort(all, count, sizeof *all, by_size);
        return all[count / 2];
}

static void print_table(const struct bench *b, size_t rounds) {
        double none = median(contenders[0].us, rounds), none_own = median(contenders[0].own_us_of, rounds);

        printf("%zu objects, %d rules, median of %zu rounds; microseconds an object\n", b->count, RULES, rounds);
        printf("%-20s %10s %8s %10s %8s\n", "rules", "clock", "ratio", "own CPU", "ratio");
        for (size_t i = 0; i < ARRAY_LEN(contenders); i++) {
                double us = median(contenders[i].us, rounds), own = median(contenders[i].own_us_of, rounds);

                printf("%-20s %10.1f %8.2f %10.1f %8.2f\n", contenders[i].name, us, us / none, own, own / none_own);
        }
}

int main(int argc, char **argv) {
        static struct bench b;
        struct arena *a = arena_new(0);
        int64_t rounds = 0;
        struct err err;

        if (argc == 3 && str_eqc(str_from(argv[1]), "rules"))
                return print_rules(argv[2]);
        if (argc != 3 || !str_to_i64(str_from(argv[2]), &rounds) || rounds < 1 || rounds > MAX_ROUNDS) {
                fprintf(stderr, "usage: bench_ignore TRUCE ROUNDS < OBJECTS, or: bench_ignore rules NAME\n");
                return EXIT_FAILURE;
        }
        const char *const worker[] = { argv[1], JQ_WORKER_VERB, NULL };
        b.loop = loop_new(1, 1, &err);
        if (!b.loop)
                die("loop", &err);
        b.jq = jq_worker_new(b.loop, &(struct jq_worker_spec){ .argv = worker });
        hash_random(&b.key, sizeof b.key);
        read_objects(&b, a);
        for (size_t i = 0; i < ARRAY_LEN(contenders); i++)
                configure(&contenders[i]);
        for (int64_t r = -1; r < rounds; r++) /* one to warm up */
                for (size_t i = 0; i < ARRAY_LEN(contenders); i++)
                        measure(&b, &contenders[i], r < 0 ? 0 : (size_t)r);
        print_table(&b, (size_t)rounds);
        for (size_t i = 0; i < ARRAY_LEN(contenders); i++)
                config_free(contenders[i].config);
        jq_engine_free(b.jq);
        loop_free(b.loop);
        arena_free(a);
        return EXIT_SUCCESS;
}
