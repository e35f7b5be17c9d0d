/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suite.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/ignore.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "diff/compare.h"
#include "diff/text.h"
#include "manifest/document.h"
#include "own/overlay.h"

#define NO_REPOSITORY "https://git.invalid/suite.git"

struct judging {
        const struct suite_case *c;
        struct arena *a;
        struct buf *out;
        bool failed;                      /* it could not be judged */
        struct config *config;
        struct manifest_object desired;
        const struct value *live, *expected, *crd;
        const struct schema *type;
        bool custom;                      /* the type is crd.yaml's */
        struct managed owners;
        struct ignore_answer ignored;
        bool answered;
        const struct err *unknown;
        struct decision decision;         /* of an automated sync */
        struct str differences;           /* a path each line, sorted as they are compared */
};

static void complain(struct judging *j, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void complain(struct judging *j, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        struct str rest = buf_str(&text), line;

        while (str_next(&rest, '\n', &line)) {
                text_add(j->out, line);
                buf_addch(j->out, '\n');
        }
}

static void give_up(struct judging *j, const char *what, const struct err *err) {
        complain(j, "%s: %s", what, err->msg);
        j->failed = true;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static struct str file_of(const struct judging *j, const char *name) {
        return arena_strf(j->a, "%.*s/%s", STR_FMT(j->c->folder), name);
}

static bool there_is(const struct judging *j, const char *name) {
        return faccessat(AT_FDCWD, file_of(j, name).p, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool read_text(struct judging *j, const char *name, struct str *ret) {
        struct err err;

        if (config_read_file(file_of(j, name), j->a, ret, &err) == 0)
                return true;
        give_up(j, name, &err);
        return false;
}

/* One document; NULL where the file is left out. */
static const struct value *read_value(struct judging *j, const char *name) {
        const struct yaml_document *docs;
        struct str text;
        struct err err = { 0 };
        size_t count;

        if (!there_is(j, name) || !read_text(j, name, &text))
                return NULL;
        if (yaml_parse(text, j->a, &docs, &count, &err) == 0 && count == 1 && docs[0].value && !docs[0].note_count)
                return docs[0].value;
        if (!err.code && count == 1 && docs[0].note_count)
                err_set(&err, ERR_INVAL, "the key '%.*s' is there twice, in lines %u and %u", STR_FMT(docs[0].notes[0].key),
                        docs[0].notes[0].first_line, docs[0].notes[0].line);
        if (!err.code)
                err_set(&err, ERR_INVAL, "it must hold one document");
        give_up(j, name, &err);
        return NULL;
}

static void read_desired(struct judging *j) {
        struct manifest_parsed p;
        struct str text;
        struct err err;

        if (!read_text(j, "desired.yaml", &text))
                return;
        manifest_parse(text, MANIFEST_YAML, j->a, &p);
        if (p.object_count == 1 && !p.error_count) {
                const char *annotation;

                j->desired = p.objects[0];
                if (ignore_check_annotations(j->desired.value, &annotation, &err) < 0)
                        give_up(j, "desired.yaml", &err);
                return;
        }
        err_set(&err, ERR_INVAL, "%s", p.error_count ? arena_str(j->a, p.errors[0].message).p : "it must hold one object");
        give_up(j, "desired.yaml", &err);
}

static void read_rules(struct judging *j) {
        const struct config_app_flags flags = { .name = STR("suite"), .repo = STR(NO_REPOSITORY), .path = STR("."),
                                                .self_heal = true };
        struct str text = { 0 };
        struct err err = { 0 };
        int r;

        if (there_is(j, "rules.yaml") && !read_text(j, "rules.yaml", &text))
                return;
        r = text.n ? config_load_text(text, STR("rules.yaml"), &j->config, &err) : 0;
        if (!j->config)
                j->config = config_new();
        if (r == 0 && !j->config->app_count && !j->config->refused_count)
                r = config_add_flags(j->config, &flags, &err);
        config_settle(j->config);
        if (r < 0)
                give_up(j, "rules.yaml", &err);
        else if (j->config->app_count > 1)
                give_up(j, "rules.yaml",
                        &(struct err){ .code = ERR_INVAL, .msg = "it holds more than one Application" });
        else if (!j->config->app_count)
                give_up(j, "rules.yaml", &(struct err){ .code = ERR_INVAL, .msg = "its Application is refused; see truce config check" });
}

static void read_type(struct judging *j) {
        const struct value *crd = j->crd = read_value(j, "crd.yaml");
        struct str api_version = value_text(value_getc(j->desired.value, "apiVersion"));
        struct err err;

        j->custom = crd;
        if (!crd)
                j->type = schema_builtin(j->a, api_version, j->desired.kind);
        else if (schema_from_crd(crd, schema_version(api_version), j->a, &j->type, &err) < 0)
                give_up(j, "crd.yaml", &err);
}

static const struct value *with_metadata(struct judging *j, const struct value *object, const char *name,
                                         const struct value *value) {
        const struct str path[] = { STR("metadata"), str_from(name) };

        return value_with_path(j->a, object, path, ARRAY_LEN(path), value);
}

/* What truce would own, had it applied the object: what Git says and the object has. */
static const struct value *assumed_owners(struct judging *j) {
        struct value_map_builder entry = { 0 };
        struct value_list_builder list = { 0 };
        const struct fieldset *set = fieldset_intersect(j->a, fieldset_of_value(j->desired.value, j->type, j->a, NULL),
                                                        fieldset_of_value(j->live, j->type, j->a, NULL));

        value_map_add(&entry, STR("manager"), value_stringc(j->a, OWN_MANAGER), 0);
        value_map_add(&entry, STR("operation"), value_stringc(j->a, "Apply"), 0);
        value_map_add(&entry, STR("apiVersion"), value_getc(j->desired.value, "apiVersion"), 0);
        value_map_add(&entry, STR("fieldsType"), value_stringc(j->a, "FieldsV1"), 0);
        value_map_add(&entry, STR("fieldsV1"), fieldset_to_value(j->a, set), 0);
        value_list_add(&list, value_map_end(&entry, j->a, 0));
        return value_list_end(&list, j->a, 0);
}

/* Files of people need not carry what every live object has. */
static void complete_live(struct judging *j) {
        static const char *const marks[] = { "uid", "resourceVersion" };
        struct err err;

        for (size_t i = 0; i < ARRAY_LEN(marks); i++)
                if (!value_path(j->live, "metadata", marks[i], NULL))
                        j->live = with_metadata(j, j->live, marks[i], value_stringc(j->a, "1"));
        if (!value_path(j->live, "metadata", "managedFields", NULL))
                j->live = with_metadata(j, j->live, "managedFields", assumed_owners(j));
        if (managed_parse(j->live, j->a, &j->owners, &err) < 0)
                give_up(j, "live.yaml", &err);
}

/* An object of a cluster has truce's marks, which nobody writes into Git: truce puts them on what it applies. */
static void mark_desired(struct judging *j) {
        const struct managed_entry *ours = managed_ours(&j->owners);

        for (size_t i = 0; ours && !ours->broken && i < IGNORE_MARKS; i++) {
                struct field_path mark = ignore_marks()[i];
                const struct value *held = field_path_find(j->live, mark, j->type);

                if (held && fieldset_contains(ours->set, mark) && !field_path_find(j->desired.value, mark, j->type))
                        field_path_set(j->a, j->desired.value, mark, j->type, held, &j->desired.value, NULL);
        }
}

/* A case that expects nothing would always be as it says. */
static void check_expected(struct judging *j) {
        size_t count = 0;

        for (size_t i = 0; value_is(j->expected, VALUE_MAP) && i < j->expected->map.count; i++)
                count += !str_eqc(j->expected->map.members[i].key, "about");
        if (!count)
                give_up(j, "expected.yaml", &(struct err){ .code = ERR_INVAL, .msg = "it expects nothing" });
}

static void read_case(struct judging *j) {
        read_desired(j);
        read_rules(j);
        j->live = read_value(j, "live.yaml");
        j->expected = read_value(j, "expected.yaml");
        if (!j->expected && !j->failed)
                give_up(j, "expected.yaml", &(struct err){ .code = ERR_NOTFOUND, .msg = "there is none" });
        if (!j->failed)
                check_expected(j);
        if (!j->failed)
                read_type(j);
        if (!j->failed && j->live)
                complete_live(j);
        if (!j->failed && j->live)
                mark_desired(j);
}

/* --- deciding ----------------------------------------------------------------------------------------------------- */

static void on_answered(void *ctx, const struct err *err) {
        struct judging *j = ctx;

        j->answered = true;
        if (err)
                give_up(j, "rules.yaml", err);
        loop_stop(j->c->loop);
}

static void seek_ignored(struct judging *j) {
        const struct manifest_object *o = &j->desired;
        struct ignore_search *s = ignore_begin(
                &(struct ignore_object){ .app = &j->config->apps[0], .group = o->group, .kind = o->kind, .ns = o->ns,
                                         .name = o->name, .place = STR("desired.yaml:1"), .secret = o->secret, .desired = o->value, .live = j->live,
                                         .type = j->type },
                j->a);

        if (ignore_asks(s)) {
                ignore_ask(s, j->c->jq, on_answered, j);
                while (!j->answered)
                        loop_run(j->c->loop);
        }
        if (!j->failed)
                j->ignored = ignore_answer(s);
}

/* What is compared by its parts: the item of a list, a map. */
static bool has_parts(const struct value *v, const struct schema *type) {
        return value_count(v) > 0 && schema_is_granular(type, v);
}

/* What the API server would refuse: paths that another manager owns and that stand otherwise. */
static size_t foreseen_causes(struct judging *j, const struct decision *d, struct decide_cause **ret) {
        const struct fieldset *sent = fieldset_of_value(d->body, j->type, j->a, NULL);
        size_t count = 0, cap = 0;

        for (size_t i = 0; i < j->owners.count; i++) {
                const struct managed_entry *e = &j->owners.entries[i];
                const struct field_path *paths;
                size_t n = e->broken || managed_is_ours(e)
                                   ? 0
                                   : fieldset_paths(fieldset_intersect(j->a, e->set, sent), j->a, &paths);

                for (size_t k = 0; k < n; k++) {
                        const struct value *want = field_path_find(d->body, paths[k], j->type);
                        const struct value *have = field_path_find(j->live, paths[k], j->type);

                        if (want && have && (value_equal(want, have) || has_parts(want, field_path_type(j->type, paths[k]))))
                                continue;
                        *ret = mem_grow(*ret, &cap, count + 1, sizeof **ret);
                        (*ret)[count++] = (struct decide_cause){ e->manager, e->subresource, field_path_text(j->a, paths[k]) };
                }
        }
        return count;
}

static int settle_conflicts(struct judging *j, const struct decide_input *in, struct decision *d, struct err *err) {
        _cleanup_(mem_freep) struct decide_cause *causes = NULL;
        struct decision before = *d;
        size_t count = 0;

        if (j->live && !d->force && (d->verdict == DECIDE_APPLY || d->verdict == DECIDE_DRY_RUN))
                count = foreseen_causes(j, d, &causes);
        return count ? decide_conflict(in, &before, causes, count, j->a, d, err) : 0;
}

static bool decide_as(struct judging *j, enum decide_mode mode, struct decision *ret) {
        struct decide_input in = {
                .desired = j->desired.value,
                .live = j->live,
                .managed = j->live ? &j->owners : NULL,
                .type = j->type,
                .policy = &j->ignored.policy,
                .application = j->config->apps[0].name,
                .kept = ignore_marks(),
                .kept_count = IGNORE_MARKS,
                .ignored = j->ignored.paths,
                .ignored_count = j->ignored.count,
                .remove_extra = j->config->apps[0].self_heal && !j->config->apps[0].report_extra,
                .crd = j->crd,
                .mode = mode,
        };
        struct err err;

        in.known_fields = config_known_fields_of(&j->config->apps[0], j->desired.group, j->desired.kind, j->a,
                                                 &in.known_field_count);
        int r = decide(&in, j->a, ret, &err);

        if (r == 0)
                r = settle_conflicts(j, &in, ret, &err);
        if (r < 0)
                give_up(j, "it cannot be decided on", &err);
        return r == 0;
}

/*
 * Kubernetes' own types store no empty maps of free keys (labels, annotations): what Git sets to {} is not there. Custom
 * kinds do.
 */
static const struct value *as_stored(struct judging *j, const struct value *v, const struct schema *type) {
        const struct value *kept = v;

        for (size_t i = 0; value_is(v, VALUE_MAP) && i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];
                const struct schema *below = schema_field(type, m->key);
                bool empty = value_is(m->value, VALUE_MAP) && m->value->map.count == 0 && schema_form(below) == SCHEMA_MAP;
                const struct value *stored = empty ? NULL : as_stored(j, m->value, below);

                if (stored != m->value)
                        kept = value_with(j->a, kept, m->key, stored);
        }
        return kept;
}

/* The object as an apply would leave it, as far as is known without a server. */
static const struct value *foreseen(struct judging *j, const struct decision *d) {
        struct path_list leaving = { 0 };

        for (size_t i = 0; i < d->note_count; i++)
                if (d->notes[i].kind == DECIDE_LEAVING)
                        path_list_add(&leaving, j->a, d->notes[i].path);
        const struct value *left = field_paths_remove(j->a, j->live, leaving.paths, leaving.count, j->type);
        const struct value *body = j->custom ? d->body : as_stored(j, d->body, j->type);
        return decide_without_removed(d, body ? own_overlay(j->a, left, body, j->type) : left, j->type, j->a);
}

static void compare(struct judging *j) {
        _cleanup_(buf_done) struct buf lines = buf_make(MIB);
        struct decision d;
        struct diff diff;
        struct err err;

        if (!decide_as(j, DECIDE_DIFF, &d) || (d.verdict == DECIDE_NOTHING && !d.removes))
                return;
        struct diff_input in = {
                .before = j->live, .after = j->live ? foreseen(j, &d) : d.body, .desired = j->desired.value,
                .before_owners = j->live ? &j->owners : NULL, .type = j->type, .secret = j->desired.secret, .notes = d.notes,
                .note_count = d.note_count,
        };
        if (diff_compare(&in, j->a, &diff, &err) < 0) {
                give_up(j, "it cannot be compared", &err);
                return;
        }
        for (size_t i = 0; i < diff.count; i++) {
                field_path_print(diff.entries[i].path, &lines);
                buf_addch(&lines, '\n');
        }
        j->differences = arena_str(j->a, buf_str(&lines));
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

static bool has_line(struct str lines, struct str line) {
        struct str one;

        while (str_next(&lines, '\n', &one))
                if (str_eq(one, line))
                        return true;
        return false;
}

static bool are_texts(struct judging *j, const struct value *want, const char *what) {
        bool good = value_is(want, VALUE_LIST);

        for (size_t i = 0; good && i < want->list.count; i++)
                good = value_text(want->list.items[i]).n > 0;
        if (!good)
                complain(j, "expected.yaml: %s must be a list of strings", what);
        return good;
}

/* Both ways: what is expected and missing, what is there and not expected. */
static void expect_lines(struct judging *j, const struct value *want, const char *what, struct str have) {
        _cleanup_(buf_done) struct buf wanted = buf_make(MIB);
        struct str rest = have, line;

        if (!are_texts(j, want, what))
                return;
        for (size_t i = 0; i < want->list.count; i++) {
                struct str text = value_text(want->list.items[i]);

                buf_addf(&wanted, "%.*s\n", STR_FMT(text));
                if (!has_line(have, text))
                        complain(j, "%s lacks %.*s", what, STR_FMT(text));
        }
        while (str_next(&rest, '\n', &line))
                if (line.n && !has_line(buf_str(&wanted), line))
                        complain(j, "%s has %.*s", what, STR_FMT(line));
}

static void expect_ignored(struct judging *j, const struct value *want) {
        _cleanup_(buf_done) struct buf lines = buf_make(MIB);

        for (size_t i = 0; i < j->ignored.count; i++) {
                field_path_print(j->ignored.paths[i].path, &lines);
                buf_addch(&lines, '\n');
        }
        expect_lines(j, want, "ignored", buf_str(&lines));
}

/* What is another owner's, stands otherwise, and is left alone without a rule that says so. */
static void expect_reported(struct judging *j, const struct value *want) {
        _cleanup_(buf_done) struct buf lines = buf_make(MIB);

        for (size_t i = 0; i < j->decision.note_count; i++) {
                if (j->decision.notes[i].kind != DECIDE_REPORTED)
                        continue;
                field_path_print(j->decision.notes[i].path, &lines);
                buf_addch(&lines, '\n');
        }
        expect_lines(j, want, "reported", buf_str(&lines));
}

static void expect_differences(struct judging *j, const struct value *want) {
        expect_lines(j, want, "differences", j->differences);
}

static void expect_differs(struct judging *j, const struct value *want) {
        if (!value_is(want, VALUE_BOOL))
                complain(j, "expected.yaml: differs must be true or false");
        else if (want->boolean != (j->differences.n > 0))
                complain(j, "it %s%s%.*s", j->differences.n ? "differs" : "does not differ", j->differences.n ? ": " : "",
                         STR_FMT(str_trim(j->differences)));
}

static void expect_verdict(struct judging *j, const struct value *want) {
        const char *have = decide_verdict_name(j->decision.verdict);

        if (!str_eqc(value_text(want), have))
                complain(j, "the verdict is %s, not %.*s (%.*s)", have, STR_FMT(value_text(want)),
                         STR_FMT(j->decision.reason));
}

/* All that `want` says must be in what is sent; lists whole. */
static bool holds(const struct value *have, const struct value *want) {
        if (!value_is(want, VALUE_MAP) || !value_is(have, VALUE_MAP))
                return have && value_equal(have, want);
        for (size_t i = 0; i < want->map.count; i++)
                if (!holds(value_get(have, want->map.members[i].key), want->map.members[i].value))
                        return false;
        return true;
}

static const struct value *masked(struct judging *j, const struct value *object) {
        mask_objects(&object, 1, j->desired.secret, &j->config->mask, j->a);
        return object;
}

static void expect_sent(struct judging *j, const struct value *want) {
        if (!j->decision.body)
                complain(j, "nothing is sent");
        else if (!holds(j->decision.body, want))
                complain(j, "sent is %.*s", STR_FMT(value_canonical(j->a, masked(j, j->decision.body))));
}

static void expect_not_sent(struct judging *j, const struct value *want) {
        for (size_t i = 0; are_texts(j, want, "notSent") && i < want->list.count; i++) {
                struct str text = value_text(want->list.items[i]);
                struct pointer p;

                if (pointer_parse(text, j->a, &p, NULL) < 0)
                        complain(j, "expected.yaml: notSent: %.*s is no JSON pointer", STR_FMT(text));
                else if (pointer_find(j->decision.body, p))
                        complain(j, "%.*s is sent", STR_FMT(text));
        }
}

static void expect_problems(struct judging *j, const struct value *want) {
        _cleanup_(buf_done) struct buf lines = buf_make(MIB);

        for (size_t i = 0; i < j->config->problem_count; i++) {
                config_problem_print(&j->config->problems[i], &lines);
                buf_addch(&lines, '\n');
        }
        for (size_t i = 0; i < j->ignored.rule_count; i++)
                if (j->ignored.advice[i])
                        buf_addf(&lines, "%s: %s\n", j->config->apps[0].ignores.rules[j->ignored.rules[i]].place,
                                 j->ignored.advice[i]);
        for (size_t i = 0; are_texts(j, want, "told") && i < want->list.count; i++)
                if (!str_contains(buf_str(&lines), value_text(want->list.items[i])))
                        complain(j, "rules.yaml: nothing is told that holds \"%.*s\"",
                                 STR_FMT(value_text(want->list.items[i])));
}

static void nothing_more(struct judging *j, const struct value *want) {
        (void)j;
        (void)want;
}

static const struct {
        const char *key;
        void (*judge)(struct judging *j, const struct value *want);
} expectations[] = {
        { "about", nothing_more },       { "differs", expect_differs }, { "differences", expect_differences },
        { "ignored", expect_ignored },   { "verdict", expect_verdict }, { "sent", expect_sent },
        { "notSent", expect_not_sent },  { "told", expect_problems },   { "reported", expect_reported },
};

static void judge_member(struct judging *j, const struct value_member *m) {
        for (size_t i = 0; i < ARRAY_LEN(expectations); i++)
                if (str_eqc(m->key, expectations[i].key)) {
                        expectations[i].judge(j, m->value);
                        return;
                }
        complain(j, "expected.yaml:%u: unknown key %.*s", m->line, STR_FMT(m->key));
}

void suite_run(const struct suite_case *c, struct buf *complaints) {
        struct judging j = { .c = c, .a = c->arena, .out = complaints };

        read_case(&j);
        if (!j.failed)
                seek_ignored(&j);
        if (!j.failed && decide_as(&j, DECIDE_AUTO, &j.decision))
                compare(&j);
        for (size_t i = 0; !j.failed && value_is(j.expected, VALUE_MAP) && i < j.expected->map.count; i++)
                judge_member(&j, &j.expected->map.members[i]);
        config_free(j.config);
}

bool suite_is_case(struct str folder, struct arena *a) {
        return access(arena_strf(a, "%.*s/desired.yaml", STR_FMT(folder)).p, F_OK) == 0 ||
               access(arena_strf(a, "%.*s/expected.yaml", STR_FMT(folder)).p, F_OK) == 0;
}
