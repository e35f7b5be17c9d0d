/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data cases of tests/cases/diff: each folder holds before.yaml and after.yaml (what the server says, with
 * managedFields; either may be missing), git.yaml, and perhaps
 *
 *      notes.yaml    a list of {kind, path: [FieldsV1 elements], owner, subresource, rule} as a decision makes them
 *      crd.yaml      the kind's definition; without it the built-in table is used
 *      options.yaml  {done: true, unknown: true (no schema at all)}
 *
 * and what must come out: text, json, markdown, and (may be missing: nothing) summary. With DIFF_CASES_UPDATE=1 in the
 * environment the expectations are written instead: read them before you commit them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "diff/print.h"
#include "base/when.h"

#define CASES TRUCE_SOURCE_DIR "/tests/cases/diff"
#define NOW   "2025-11-29T20:00:00Z"

static char *read_file(struct arena *a, const char *name, const char *file) {
        struct str path = arena_strf(a, CASES "/%s/%s", name, file);
        FILE *f = fopen(path.p, "r");
        char *text = arena_zalloc(a, MIB);

        if (!f)
                return NULL;
        size_t n = fread(text, 1, MIB - 1, f);
        fclose(f);
        text[n] = '\0';
        return text;
}

static const struct value *read_yaml(struct arena *a, const char *name, const char *file) {
        const char *text = read_file(a, name, file);
        const struct yaml_document *docs;
        struct err err = { 0 };
        size_t count;

        if (!text)
                return NULL;
        if (yaml_parse(str_from(text), a, &docs, &count, &err) < 0)
                fail_msg("%s/%s: %s", name, file, err.msg);
        assert_int_equal(count, 1);
        return docs[0].value;
}

static enum decide_note_kind note_kind(struct str text) {
        for (int k = 0; k <= DECIDE_REMOVED; k++)
                if (str_eqc(text, decide_note_name((enum decide_note_kind)k)))
                        return (enum decide_note_kind)k;
        fail_msg("unknown kind of note %.*s", STR_FMT(text));
        return DECIDE_HELD;
}

static struct field_path read_path(struct arena *a, const struct value *elements) {
        struct field_path p = { 0 };

        for (size_t i = 0; i < value_count(elements); i++) {
                struct path_element e;

                assert_int_equal(path_element_parse(value_text(elements->list.items[i]), a, &e, NULL), 0);
                p = field_path_join(a, p, e);
        }
        return p;
}

static void read_notes(struct arena *a, const struct value *list, struct diff_input *in) {
        struct decide_note *notes = arena_zalloc(a, value_count(list) * sizeof *notes);

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *n = list->list.items[i];

                notes[i] = (struct decide_note){
                        .kind = note_kind(value_text(value_getc(n, "kind"))),
                        .path = read_path(a, value_getc(n, "path")),
                        .owner = value_text(value_getc(n, "owner")),
                        .subresource = value_text(value_getc(n, "subresource")),
                        .rule = value_text(value_getc(n, "rule")).p,
                };
                assert_non_null(notes[i].rule);
        }
        in->notes = notes;
        in->note_count = value_count(list);
}

static const struct schema *read_schema(struct arena *a, const char *name, const struct value *object,
                                        const struct value *options) {
        const struct value *crd = read_yaml(a, name, "crd.yaml");
        struct str api_version = value_text(value_getc(object, "apiVersion"));
        const struct schema *type;

        if (value_truth(value_getc(options, "unknown"), false))
                return NULL;
        if (!crd)
                return schema_builtin(a, api_version, value_text(value_getc(object, "kind")));
        assert_int_equal(schema_from_crd(crd, schema_version(api_version), a, &type, NULL), 0);
        return type;
}

static void expect(struct arena *a, const char *name, const char *file, struct str have) {
        const char *want = read_file(a, name, file);

        if (getenv("DIFF_CASES_UPDATE")) {
                struct str path = arena_strf(a, CASES "/%s/%s", name, file);
                FILE *f = have.n ? fopen(path.p, "w") : NULL;

                if (!f)
                        return;
                fwrite(have.p, 1, have.n, f);
                fclose(f);
                return;
        }
        if (!str_eq(have, str_from(want)))
                fail_msg("%s/%s\n--- expected\n%s\n--- have\n%.*s", name, file, want ? want : "", STR_FMT(have));
}

static void expect_format(struct arena *a, const char *name, const char *file, const struct diff *d,
                          struct diff_printer p) {
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        struct diff_totals totals = { .same = 3, .exit_code = diff_differs(d) };

        totals.created = d->created;
        totals.pruned = d->removed;
        totals.differ = diff_differs(d) && !d->created && !d->removed;
        totals.same += !diff_differs(d);
        diff_print_begin(&p, &out);
        diff_print_object(&p, d, &out);
        diff_print_end(&p, &totals, &out);
        assert_int_equal(buf_check(&out, "output", NULL), 0);
        if (p.format == DIFF_JSON) {
                const struct value *json;

                assert_int_equal(json_parse(buf_str(&out), a, &json, NULL), 0);
        }
        expect(a, name, file, buf_str(&out));
}

static void run_case(const char *name) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf summary = buf_make(KIB);
        const struct value *options = read_yaml(a, name, "options.yaml");
        struct diff_input in = {
                .before = read_yaml(a, name, "before.yaml"),
                .after = read_yaml(a, name, "after.yaml"),
                .desired = read_yaml(a, name, "git.yaml"),
                .file = STR("git.yaml"),
        };
        struct diff_printer p = { .style = { .done = value_truth(value_getc(options, "done"), false) } };
        struct err err = { 0 };
        struct diff d;

        in.type = read_schema(a, name, in.after ? in.after : in.before, options);
        read_notes(a, read_yaml(a, name, "notes.yaml"), &in);
        assert_true(when_parse(STR(NOW), &p.style.now_ms));
        if (diff_compare(&in, a, &d, &err) < 0)
                fail_msg("%s: %s", name, err.msg);

        expect_format(a, name, "expected.txt", &d, p);
        p.format = DIFF_JSON;
        expect_format(a, name, "expected.json", &d, p);
        p.format = DIFF_MARKDOWN;
        expect_format(a, name, "expected.md", &d, p);
        diff_summary(&d, &summary);
        buf_addc(&summary, summary.n ? "\n" : "");
        expect(a, name, "summary.txt", buf_str(&summary));
}

static void every_case_prints_what_it_should(void **state) {
        struct dirent **entries;
        int count = scandir(CASES, &entries, NULL, alphasort), ran = 0;

        (void)state;
        assert_true(count > 0);
        for (int i = 0; i < count; i++) {
                if (entries[i]->d_name[0] != '.') {
                        run_case(entries[i]->d_name);
                        ran++;
                }
                free(entries[i]);
        }
        free(entries);
        print_message("%d cases\n", ran);
        assert_true(ran >= 15);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_case_prints_what_it_should),
        };

        return cmocka_run_group_tests_name("diff cases", tests, NULL, NULL);
}
