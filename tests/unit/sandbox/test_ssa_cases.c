/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays tests/cases/ssa: what a real API server made of each step (recorded by tests/cluster/record_ssa.py, which
 * explains the form), compared with what ssa.c makes of it. Each step starts from the recorded object, so that one
 * difference does not hide the next. SSA_CASES=NAME in the environment runs one case only.
 *
 * managedFields must be equal to the last time. Objects too: what an apply merged is decoded and defaulted before it is
 * compared. Of a creation only what was sent is looked for, as the server adds addresses and the like.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/limits.h"
#include "sandbox/codec.h"
#include "sandbox/ssa.h"
#include "sandbox/strategy.h"

#define CASES       TRUCE_SOURCE_DIR "/tests/cases/ssa"
#define MAX_OBJECTS 32

/* SSA_CASES_DIR: another folder of cases (random ones, say). */
static const char *cases(void) {
        const char *other = getenv("SSA_CASES_DIR");

        return other ? other : CASES;
}

struct player {
        const char *name;
        struct arena *a;
        struct type_table *types;
        const struct value *crd;
        const struct value *objects[MAX_OBJECTS]; /* as recorded last */
        size_t count;
        size_t step, differences;
};

static const struct value *read_json(struct player *p, const char *file) {
        FILE *f = fopen(arena_strf(p->a, "%s/%s.json", cases(), file).p, "r");
        char *text = arena_alloc(p->a, 4 * MIB);
        const struct value *v = NULL;
        struct err err = { 0 };

        if (!f)
                fail_msg("no %s", file);
        size_t n = fread(text, 1, 4 * MIB, f);
        fclose(f);
        if (json_parse((struct str){ text, n }, p->a, &v, &err) < 0)
                fail_msg("%s: %s", file, err.msg);
        return v;
}

static struct str text_of(const struct value *v, const char *name) {
        return value_text(value_getc(v, name));
}

static struct str name_of(const struct value *object) {
        return value_text(value_path(object, "metadata", "name", NULL));
}

static struct str shown(struct player *p, const struct value *v) {
        return v ? value_canonical(p->a, v) : STR("nothing");
}

static void differs(struct player *p, const char *what, struct str got, struct str want) {
        p->differences++;
        printf("%s step %zu: %s\n got  %.*s\n want %.*s\n", p->name, p->step, what, STR_FMT(got), STR_FMT(want));
}

/* --- what a step is about --- */

struct target {
        struct str api_version, kind, name;
        const struct type *type;
        const struct strategy *strategy;
        bool custom;
        const struct value *live; /* as recorded last, in the step's version; NULL: none yet */
};

static const struct type *type_in(struct player *p, struct str api_version, struct str kind) {
        const struct type *type = type_table_find(p->types, api_version, kind);
        struct err err = { 0 };

        if (type || !str_eqc(schema_group(api_version), "ssa.example.com"))
                return type;
        if (type_from_crd(p->crd, schema_version(api_version), p->types, p->a, &type, &err) < 0)
                return NULL;
        return type;
}

struct versions_ctx {
        struct player *p;
        struct target *t;
};

static const struct type *version_type(void *ctx, struct str api_version) {
        struct versions_ctx *c = ctx;

        return type_in(c->p, api_version, c->t->kind);
}

/* kind in lower case, in the plural */
static struct str plural_of(struct player *p, struct str kind) {
        char *s = (char *)arena_strf(p->a, "%.*ss", STR_FMT(kind)).p;

        for (size_t i = 0; i < kind.n; i++)
                if (s[i] >= 'A' && s[i] <= 'Z')
                        s[i] = (char)(s[i] + 'a' - 'A');
        return str_from(s);
}

static size_t find_object(struct player *p, struct str kind, struct str name) {
        size_t at = 0;

        while (at < p->count &&
               !(str_eq(text_of(p->objects[at], "kind"), kind) && str_eq(name_of(p->objects[at]), name)))
                at++;
        return at;
}

static struct target find_target(struct player *p, const struct value *step) {
        const struct value *body = value_getc(step, "body");
        struct str of = text_of(step, "of"), api_version = text_of(body, "apiVersion"), kind = text_of(body, "kind");
        struct target t = { .api_version = api_version, .kind = kind, .name = text_of(step, "name") };

        if (of.n) {
                ptrdiff_t blank = str_find(of, ' ', 0);

                t.api_version = str_sub(of, 0, (size_t)blank);
                t.kind = str_sub(of, (size_t)blank + 1, of.n);
        }
        if (t.name.n == 0)
                t.name = name_of(body);
        t.custom = str_eqc(schema_group(t.api_version), "ssa.example.com");
        t.type = type_in(p, t.api_version, t.kind);
        if (!t.type)
                fail_msg("%s step %zu: no type %.*s", p->name, p->step, STR_FMT(t.kind));
        t.strategy =
                t.custom ? &strategy_custom_status : strategy_find(schema_group(t.api_version), plural_of(p, t.kind));
        size_t at = find_object(p, t.kind, t.name);
        if (at < p->count)
                t.live = value_with(p->a, p->objects[at], STR("apiVersion"), value_string(p->a, t.api_version, 0));
        return t;
}

static void remember(struct player *p, const struct value *object) {
        size_t at = find_object(p, text_of(object, "kind"), name_of(object));

        assert_true(at < MAX_OBJECTS);
        p->objects[at] = object;
        p->count += at == p->count;
}

static struct ssa_request request_of(const struct value *step, const struct target *t,
                                     const struct ssa_versions *versions) {
        struct str as = text_of(step, "as"), sub = text_of(step, "sub");

        return (struct ssa_request){
                .manager = as.n ? as : STR("recorder"),
                .subresource = sub,
                .api_version = t->api_version,
                .force = value_truth(value_getc(step, "force"), false),
                .now = text_of(step, "now"),
                .reset = strategy_reset_fields(t->strategy, sub),
                .versions = versions,
        };
}

/* --- comparing --- */

static const struct value *entries_of(const struct value *object) {
        return value_path(object, "metadata", "managedFields", NULL);
}

static const struct value *without(struct player *p, const struct value *object, const char *name) {
        const struct str path[] = { STR("metadata"), str_from(name) };

        return value_with_path(p->a, object, path, 2, NULL);
}

static const struct value *without_volatile(struct player *p, const struct value *object) {
        static const char *const names[] = { "uid", "resourceVersion", "creationTimestamp", "generation" };

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                object = without(p, object, names[i]);
        return object;
}

static void expect_entries(struct player *p, const struct value *got, const struct value *want) {
        if (got != want && !value_equal(got, want))
                differs(p, "managedFields", shown(p, got), shown(p, want));
}

/* Is all of `part` in `whole`? */
static bool contains(const struct value *whole, const struct value *part) {
        if (part->kind == VALUE_NULL)
                return true;
        if (part->kind == VALUE_LIST) {
                for (size_t i = 0; i < part->list.count; i++)
                        if (i >= value_count(whole) || !contains(whole->list.items[i], part->list.items[i]))
                                return false;
                return value_count(whole) == part->list.count;
        }
        if (part->kind != VALUE_MAP)
                return value_equal(whole, part);
        for (size_t i = 0; i < part->map.count; i++) {
                const struct value *v = value_get(whole, part->map.members[i].key);

                if (value_count(part->map.members[i].value) && (!v || !contains(v, part->map.members[i].value)))
                        return false;
        }
        return true;
}

static const struct value *decoded(struct player *p, const struct target *t, const struct value *merged) {
        struct causes strict = { .arena = p->a };
        struct err err = { 0 };
        const struct value *object;

        if (codec_decode(t->type, merged, t->custom, p->a, &object, &strict, &err) < 0) {
                differs(p, "decoding", str_from(err.msg), STR("success"));
                object = merged;
        }
        causes_done(&strict);
        object = value_with(p->a, object, STR("apiVersion"), value_string(p->a, t->api_version, 0));
        object = value_with(p->a, object, STR("kind"), value_string(p->a, t->kind, 0));
        if (t->custom)
                object = codec_prune(t->type, object, p->a);
        return codec_default(t->type, t->api_version, t->kind, object, p->a);
}

/* What is stored of an apply's result: decoded, defaulted, what this endpoint may not change put back. */
static const struct value *stored(struct player *p, const struct target *t, const struct ssa_request *how,
                                  const struct value *merged) {
        const struct value *object = decoded(p, t, merged);

        object = t->live ? strategy_update(t->strategy, how->subresource, t->live, object, p->a)
                         : strategy_create(t->strategy, object, p->a);
        return without_volatile(p, object);
}

static void expect_object(struct player *p, const struct target *t, const struct ssa_request *how,
                          const struct value *merged, const struct value *expect) {
        const struct value *want = value_getc(expect, "object"), *got = merged;

        if (merged != t->live)
                got = stored(p, t, how, merged);
        const struct value *bare = without(p, got, "managedFields");
        const struct value *want_bare = without(p, want, "managedFields");

        if (t->live ? !value_equal(bare, want_bare) : !contains(want_bare, bare))
                differs(p, "object", shown(p, bare), shown(p, want_bare));
        if (t->live && (ssa_settle(t->live, got, p->a) != t->live) != value_truth(value_getc(expect, "wrote"), true))
                differs(p, "settled", ssa_settle(t->live, got, p->a) != t->live ? STR("written") : STR("kept"),
                        STR("the contrary"));
}

static void expect_conflicts(struct player *p, const struct ssa_conflicts *c, const struct value *expect) {
        const struct value *causes = value_getc(expect, "causes");
        struct str message = ssa_conflict_message(c, p->a);

        if (!str_eq(message, text_of(expect, "message")))
                differs(p, "message", message, text_of(expect, "message"));
        if (value_count(causes) != c->count) {
                differs(p, "causes", arena_strf(p->a, "%zu", c->count), shown(p, causes));
                return;
        }
        for (size_t i = 0; i < c->count; i++) {
                struct str cause = ssa_conflict_cause(&c->items[i], p->a);
                struct str field = field_path_text(p->a, c->items[i].path);
                bool found = false;

                for (size_t j = 0; j < c->count; j++)
                        found = found || (str_eq(text_of(causes->list.items[j], "message"), cause) &&
                                          str_eq(text_of(causes->list.items[j], "field"), field));
                if (!found)
                        differs(p, "cause", field, shown(p, causes));
        }
}

static void expect_failure(struct player *p, int res, const struct err *err, const struct ssa_conflicts *c,
                           const struct value *expect) {
        int64_t code = 0;

        value_to_i64(value_getc(expect, "code"), &code);
        if (code == 422 && res >= 0)
                return; /* found by validation, later */
        if (res >= 0 || err->http_status != code)
                differs(p, "status",
                        arena_strf(p->a, "%d %s", res < 0 ? err->http_status : 200, res < 0 ? err->msg : ""),
                        shown(p, expect));
        else if (res == ERR_CONFLICT)
                expect_conflicts(p, c, expect);
        else if (!str_eqc(text_of(expect, "message"), err->msg))
                differs(p, "message", str_from(err->msg), text_of(expect, "message"));
}

/* --- the steps --- */

static const struct value *sent_body(struct player *p, const struct value *step) {
        const struct value *body = value_getc(step, "body");
        const struct str path[] = { STR("metadata"), STR("namespace") };

        return value_with_path(p->a, body, path, 2, value_string(p->a, arena_strf(p->a, "ssa-%s", p->name), 0));
}

static bool succeeds(const struct value *expect) {
        int64_t code = 0;

        return value_to_i64(value_getc(expect, "code"), &code) && code < 300;
}

static void play_apply(struct player *p, const struct value *step, struct target *t, const struct ssa_request *how) {
        const struct value *expect = value_getc(step, "expect"), *merged = NULL;
        struct ssa_conflicts conflicts = { 0 };
        struct err err = { 0 };
        int res = ssa_apply(t->type, t->live, sent_body(p, step), how, p->a, &merged, &conflicts, &err);

        if (!succeeds(expect)) {
                expect_failure(p, res, &err, &conflicts, expect);
                return;
        }
        if (res < 0) {
                differs(p, "status", res == ERR_CONFLICT ? ssa_conflict_message(&conflicts, p->a) : str_from(err.msg),
                        STR("success"));
                return;
        }
        expect_object(p, t, how, merged, expect);
        expect_entries(p, entries_of(ssa_settle(t->live, stored(p, t, how, merged), p->a)),
                       entries_of(value_getc(expect, "object")));
}

/*
 * What the writer made: the recorded object with the managedFields that its body or patch left there. Of a creation the
 * body, as admission and the like come later.
 */
static const struct value *written(struct player *p, const struct value *step, const struct target *t) {
        const struct value *object = value_path(step, "expect", "object", NULL), *body = value_getc(step, "body");
        const struct value *sent = entries_of(body);
        const struct str path[] = { STR("metadata"), STR("managedFields") };
        bool patch = !str_eqc(text_of(step, "do"), "create") && !str_eqc(text_of(step, "do"), "update");

        if (!t->live)
                return decoded(p, t, sent_body(p, step));
        if (!sent && patch)
                sent = entries_of(t->live);
        return value_with_path(p->a, object, path, 2, value_is(sent, VALUE_NULL) ? NULL : sent);
}

static void play_update(struct player *p, const struct value *step, struct target *t, const struct ssa_request *how) {
        const struct value *want = value_path(step, "expect", "object", NULL);
        const struct value *got;

        if (!succeeds(value_getc(step, "expect")))
                return;
        got = ssa_update(t->type, t->live, written(p, step, t), how, p->a);
        expect_entries(p, entries_of(ssa_settle(t->live, got, p->a)), entries_of(want));
        if (t->live &&
            (ssa_settle(t->live, got, p->a) != t->live) != value_truth(value_path(step, "expect", "wrote", NULL), true))
                differs(p, "settled", shown(p, entries_of(got)), shown(p, entries_of(t->live)));
}

/* A Scale does not spell out 0 replicas. */
static const struct value *scale_of(struct player *p, const struct value *parent, const struct value *entries) {
        static const struct str api_version = { "apiVersion", 10 };
        const struct str replicas[] = { STR("spec"), STR("replicas") };
        const struct str managed[] = { STR("metadata"), STR("managedFields") };
        const struct str name[] = { STR("metadata"), STR("name") };
        const struct value *scale =
                value_with(p->a, &value_empty_map, api_version, value_stringc(p->a, "autoscaling/v1"));

        scale = value_with(p->a, scale, STR("kind"), value_stringc(p->a, "Scale"));
        scale = value_with_path(p->a, scale, name, 2, value_path(parent, "metadata", "name", NULL));
        scale = value_with_path(p->a, scale, managed, 2, entries);
        const struct value *count = value_path(parent, "spec", "replicas", NULL);
        int64_t number;

        return value_with_path(p->a, scale, replicas, 2, value_to_i64(count, &number) && number ? count : NULL);
}

static void play_scale(struct player *p, const struct value *step, struct target *t, struct ssa_request *how) {
        const struct value *expect = value_getc(step, "expect"), *want = value_getc(expect, "object"), *scale;
        struct field_path replicas;
        struct ssa_conflicts conflicts = { 0 };
        struct err err = { 0 };
        int res = 0;

        assert_int_equal(field_path_from_dotted(STR(".spec.replicas"), p->a, &replicas, NULL), 0);
        struct ssa_scale_version versions[] = { { STR("apps/v1"), replicas },
                                                { STR("ssa.example.com/v1"), replicas },
                                                { STR("ssa.example.com/v1beta1"), replicas } };
        struct ssa_scale s = { versions, 3, t->api_version };
        const struct value *live = scale_of(p, t->live, ssa_scale_entries(&s, t->live, p->a));
        const struct type *type = type_table_find(p->types, STR("autoscaling/v1"), STR("Scale"));

        how->api_version = STR("autoscaling/v1");
        how->reset = NULL;
        how->versions = NULL;
        if (str_eqc(text_of(step, "do"), "apply"))
                res = ssa_apply(type, live, value_getc(step, "body"), how, p->a, &scale, &conflicts, &err);
        else
                scale = ssa_update(type, live, scale_of(p, want, entries_of(live)), how, p->a);
        if (!succeeds(expect) || res < 0) {
                expect_failure(p, res, &err, &conflicts, expect);
                return;
        }
        const struct str managed[] = { STR("metadata"), STR("managedFields") };
        const struct value *got =
                value_with_path(p->a, want, managed, 2, ssa_scale_adopt(&s, t->live, entries_of(scale), p->a));

        expect_entries(p, entries_of(ssa_settle(t->live, got, p->a)), entries_of(want));
}

static void play(struct player *p, const struct value *step) {
        struct target t;
        struct versions_ctx ctx = { p, &t };

        if (!value_getc(step, "expect") && !value_getc(step, "crd"))
                fail_msg("%s step %zu is not recorded", p->name, p->step);
        if (str_eqc(text_of(step, "do"), "crd")) {
                p->crd = read_json(p, arena_strf(p->a, "crd/%.*s", STR_FMT(text_of(step, "crd"))).p);
                return;
        }
        t = find_target(p, step);
        struct ssa_versions versions = { .ctx = &ctx, .type = version_type, .gone_fails = t.custom };
        struct ssa_request how = request_of(step, &t, &versions);

        if (str_eqc(how.subresource, "scale"))
                play_scale(p, step, &t, &how);
        else if (str_eqc(text_of(step, "do"), "apply"))
                play_apply(p, step, &t, &how);
        else
                play_update(p, step, &t, &how);
        if (succeeds(value_getc(step, "expect")))
                remember(p, value_path(step, "expect", "object", NULL));
}

static size_t run_case(const char *name, size_t *steps) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(type_table_freep) struct type_table *types = type_table_new();
        struct player p = { .name = name, .a = a, .types = types };
        const struct value *list = value_getc(read_json(&p, name), "steps");

        assert_true(value_count(list) > 0);
        for (p.step = 0; p.step < list->list.count; p.step++)
                play(&p, list->list.items[p.step]);
        *steps += p.step;
        return p.differences;
}

static bool is_wanted(const char *name) {
        const char *only = getenv("SSA_CASES");

        return str_ends(str_from(name), STR(".json")) && (!only || str_starts(str_from(name), str_from(only)));
}

static void the_server_and_we_agree(void **state) {
        struct dirent **entries;
        int count = scandir(cases(), &entries, NULL, alphasort);
        size_t steps = 0, differences = 0;

        (void)state;
        assert_true(count > 0);
        for (int i = 0; i < count; i++) {
                char *name = entries[i]->d_name;

                if (is_wanted(name)) {
                        name[strlen(name) - 5] = '\0';
                        differences += run_case(name, &steps);
                }
                free(entries[i]);
        }
        free(entries);
        print_message("%zu steps\n", steps);
        assert_int_equal(differences, 0);
        assert_true(getenv("SSA_CASES") || getenv("SSA_CASES_DIR") || steps >= 150);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_server_and_we_agree),
        };

        return cmocka_run_group_tests_name("ssa cases", tests, NULL, NULL);
}
