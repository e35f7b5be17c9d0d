/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/test_health.h"

#include <stdlib.h>
#include <time.h>

#include "agent/config.h"
#include "cli/health_suite.h"
#include "diff/mask.h"
#include "diff/text.h"
#include "health/rules.h"
#include "kube/gvk.h"

#define PRINTED_MAX_BYTES (512 * 1024) /* LUA_MAX_PRINTED_BYTES, escaped */
#define TEXT_MAX_BYTES    (1024 * 1024)

/* A health.lua that was found. */
struct own_rule {
        struct str file, title, text; /* text empty: it is not used */
};

struct running {
        const struct test_health *t;
        const struct test_found *found;
        struct arena *a;              /* the report's */
        struct health_rules *rules;
        struct own_rule *own;         /* of each folder; those without a script are empty */
};

static int64_t now_us(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* "keda.sh/ScaledObject", "Pod". */
static struct str title_of(const struct test_folder *f, struct arena *a) {
        return f->group.n ? arena_strf(a, "%.*s/%.*s", STR_FMT(f->group), STR_FMT(f->kind)) : f->kind;
}

/* "FILE:LINE: …" of a message that begins so; else the file alone is known. */
static uint32_t line_of(struct str message, struct str file) {
        struct str rest = str_sub(message, file.n + 1, message.n), digits;
        uint64_t line = 0;

        if (str_starts(message, file) && str_next(&rest, ':', &digits))
                str_to_u64(digits, &line);
        return (uint32_t)line;
}

/* What messages hold of files may be any text. */
static struct str safe_text(const struct running *r, struct str text) {
        _cleanup_(buf_done) struct buf safe = buf_make(TEXT_MAX_BYTES);

        text_add(&safe, text);
        return arena_str(r->a, buf_str(&safe));
}

static void add_error(const struct running *r, struct str suite, struct str name, struct str file,
                      const char *message) {
        _cleanup_(buf_done) struct buf text = buf_make(TEXT_MAX_BYTES);

        text_add(&text, str_from(message));
        report_add(r->t->report, &(struct report_case){
                .suite = suite, .name = name, .path = file, .file = file,
                .line = line_of(str_from(message), file), .result = REPORT_ERROR, .is_health = true,
                .complaints = arena_str(r->a, buf_str(&text)),
        });
}

/* ---- rules ---- */

static const struct own_rule *same_title(const struct running *r, size_t before, struct str title) {
        for (size_t i = 0; i < before; i++)
                if (r->own[i].text.n && str_eq(r->own[i].title, title))
                        return &r->own[i];
        return NULL;
}

static int add_rule(struct running *r, size_t i, struct err *err) {
        const struct test_folder *f = &r->found->folders[i];
        struct own_rule *own = &r->own[i];
        const struct own_rule *other = same_title(r, i, own->title);
        struct str text;
        int result;

        if (other)
                return err_set(err, ERR_INVAL,
                               "%.*s:1: a second rule for %.*s, beside %.*s: test one folder of rules at a time",
                               STR_FMT(own->file), STR_FMT(own->title), STR_FMT(other->file));
        result = config_read_file(own->file, r->a, &text, err);
        if (result == 0 && !str_trim(text).n)
                return err_set(err, ERR_INVAL, "%.*s:1: it is empty", STR_FMT(own->file));
        if (result == 0)
                result = health_rules_add(r->rules, &(struct health_source){
                        .group = f->group, .kind = f->kind, .open_libs = true,
                        .lua = { .text = text, .name = own->file, .line = 1 } }, err);
        if (result == 0)
                own->text = text;
        return result;
}

/* Argo CD runs what it brings with open libraries, and these folders are in its layout. */
static void add_rules(struct running *r) {
        for (size_t i = 0; i < r->found->folder_count; i++) {
                const struct test_folder *f = &r->found->folders[i];
                struct err err;

                r->own[i].title = title_of(f, r->a);
                if (!f->has_script)
                        continue;
                r->own[i].file = arena_strf(r->a, "%.*s/" TEST_SCRIPT, STR_FMT(f->path));
                r->t->report->rules++;
                if (add_rule(r, i, &err) < 0)
                        add_error(r, r->own[i].title, STR(TEST_SCRIPT), r->own[i].file, err.msg);
                else if (!f->has_suite)
                        report_note(r->t->report,
                                    arena_strf(r->a, "%.*s has no suite: there is no " TEST_SUITE " beside it",
                                               STR_FMT(r->own[i].file)));
        }
}

/* Of which file is a rule that a view, or an answer, names? */
static const struct own_rule *own_rule_named(const struct running *r, struct str name) {
        for (size_t i = 0; i < r->found->folder_count; i++) {
                const struct own_rule *own = &r->own[i];

                if (own->text.n && str_starts(name, own->file) && (name.n == own->file.n || name.p[own->file.n] == ':'))
                        return own;
        }
        return NULL;
}

/* ---- cases ---- */

static struct lua_coverage *coverage_for(const struct running *r, struct gvk gvk) {
        struct health_rule_view view;
        const struct own_rule *own;

        if (!r->t->coverage || !health_rules_find(r->rules, gvk.group, gvk.kind, &view) || !view.text.n)
                return NULL;
        own = view.user ? own_rule_named(r, str_from(view.name)) : NULL;
        return coverage_of(r->t->coverage, own ? own->file : str_from(view.name), view.text);
}

static void on_print(void *printed, struct str line) {
        buf_addc(printed, "\nprint: ");
        text_add(printed, line);
}

/* `printed` gets what the rule prints, a line each, each behind a line feed. */
static void judge(const struct running *r, const struct suite_health_case *c, const struct value *object,
                  struct buf *printed, struct arena *a, struct health *ret) {
        struct gvk gvk = gvk_from(value_text(value_getc(object, "apiVersion")), value_text(value_getc(object, "kind")));
        struct health_question q = {
                .object = mask_if_secret(object, a), /* as the agent shows it to rules */
                .now_ms = c->has_now ? c->now_ms : r->t->now_ms,
                .guard = c->guard,
                .coverage = coverage_for(r, gvk),
                .print = on_print,
                .print_ctx = printed,
        };

        health_judge(r->rules, &q, a, ret);
}

static struct str said_by(const struct running *r, const struct health *got) {
        struct str rule = str_from(got->rule);

        if (got->guard)
                return STR("the freshness guard");
        return arena_str(r->a, rule.n ? rule : STR("no rule"));
}

static void explain(const struct running *r, size_t folder, const struct suite_health_case *c, struct str printed,
                    struct report_case *ret) {
        _cleanup_(buf_done) struct buf text = buf_make(TEXT_MAX_BYTES);
        const struct own_rule *beside = &r->own[folder];

        buf_addc(&text, "wanted ");
        report_add_health(&ret->wanted, &text);
        buf_addc(&text, "\ngot    ");
        report_add_health(&ret->got, &text);
        buf_addf(&text, "\n%.*s:%u, judged by ", STR_FMT(ret->file), c->line);
        text_add(&text, ret->rule);
        if (beside->text.n && !c->guard && own_rule_named(r, ret->rule) != beside)
                buf_addc(&text, ", not by the rule beside the suite");
        buf_add(&text, printed);
        ret->complaints = arena_str(r->a, buf_str(&text));
}

static void run_case(const struct running *r, size_t folder, const struct suite_health_case *c,
                     struct report_case *ret) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf printed = buf_make(PRINTED_MAX_BYTES);
        const struct value *object;
        struct health got = { 0 };
        struct err err;

        if (suite_health_sample(c->input, a, &object, &err) < 0) {
                ret->result = REPORT_ERROR;
                ret->complaints = safe_text(r, arena_strf(a, "%.*s:%u: %s", STR_FMT(ret->file), c->line, err.msg));
                return;
        }
        judge(r, c, object, &printed, a, &got);
        ret->wanted = (struct report_health){ str_from(health_name(c->code)), arena_str(r->a, c->message) };
        ret->got = (struct report_health){ str_from(health_name(got.code)), arena_str(r->a, got.message) };
        ret->rule = said_by(r, &got);
        ret->result = got.code == c->code && str_eq(got.message, c->message) ? REPORT_PASSED : REPORT_FAILED;
        if (ret->result == REPORT_FAILED)
                explain(r, folder, c, buf_str(&printed), ret);
}

static void report_one(const struct running *r, size_t folder, struct str file, const struct suite_health_case *c) {
        const struct test_folder *f = &r->found->folders[folder];
        struct report_case result = {
                .suite = r->own[folder].title, .name = arena_str(r->a, c->name),
                .path = arena_strf(r->a, "%.*s: %.*s", STR_FMT(f->path), STR_FMT(c->name)),
                .file = file, .line = c->line, .is_health = true,
        };
        int64_t began = now_us();

        if (c->wrong) {
                result.result = REPORT_ERROR;
                result.line = c->wrong_line;
                result.complaints = safe_text(r, arena_strf(r->a, "%.*s:%u: %s", STR_FMT(file), c->wrong_line, c->wrong));
        } else {
                run_case(r, folder, c, &result);
        }
        result.took_us = now_us() - began;
        report_add(r->t->report, &result);
}

static void run_suite(const struct running *r, size_t folder) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct test_folder *f = &r->found->folders[folder];
        struct str file = arena_strf(r->a, "%.*s/" TEST_SUITE, STR_FMT(f->path));
        struct suite_health suite;
        struct err err;

        if (suite_health_read(f->path, a, &suite, &err) < 0) {
                add_error(r, r->own[folder].title, STR(TEST_SUITE), file, err.msg);
                return;
        }
        for (size_t i = 0; i < suite.note_count; i++)
                report_note(r->t->report, arena_strf(r->a, "%.*s:%.*s", STR_FMT(file), STR_FMT(suite.notes[i])));
        for (size_t i = 0; i < suite.count; i++)
                report_one(r, folder, file, &suite.cases[i]);
}

/* Cases beside a rule that cannot be used would be judged by another one. */
void test_health_run(const struct test_health *t, const struct test_found *found) {
        struct running r = { .t = t, .found = found, .a = t->report->arena };

        if (!found->folder_count)
                return;
        r.own = arena_zalloc(r.a, found->folder_count * sizeof *r.own);
        r.rules = health_rules_new();
        add_rules(&r);
        for (size_t i = 0; i < found->folder_count; i++) {
                if (!found->folders[i].has_suite)
                        continue;
                t->report->suites++;
                if (!found->folders[i].has_script || r.own[i].text.n)
                        run_suite(&r, i);
                else
                        report_note(t->report,
                                    arena_strf(r.a, "%.*s/" TEST_SUITE " is not run: the rule beside it cannot be",
                                               STR_FMT(found->folders[i].path)));
        }
        health_rules_unref(r.rules);
}
