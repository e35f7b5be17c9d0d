/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our YAML against the answers of the real Go library, which tests/cases/yaml/regenerate.sh wrote down. A document that
 * Go refuses must be refused, one that it accepts must give an equal value.
 */
#include "base/testfile.h"

#include "base/json.h"
#include "base/yaml.h"

#define CASES "tests/cases/yaml/"
/* A data file that got lost or cut must not look like success. */
#define SCALARS_LEAST 3500
#define DOCUMENTS_LEAST 300
#define FILES_LEAST 60
#define STREAMS_LEAST 30

/*
 * Where we differ on purpose (base/yaml.h). Of the first the Go library makes something else than was meant, the second
 * is what JSON writes.
 */
static const char *const refused_here[] = {
        "[]: v", "{}: v", "[? a : b]: v", "{? a : b}: v", "{? a}: v", /* list or map as a key of the root map */
        "[y:]",  "[1:]",  "[-:]",         "[a:]",                     /* a colon right before ] or } */
        "{k: y:}", "{k: 1:}", "{k: -:}",  "{k: a:}",
};
static const struct str accepted_here = STR("\\/");

struct tally {
        unsigned asked, wrong;
};

static bool is_refused_here(struct str text) {
        for (size_t i = 0; i < ARRAY_LEN(refused_here); i++) {
                if (str_eqc(text, refused_here[i]))
                        return true;
        }
        return false;
}

static void print_mismatch(struct str text, struct str golden, int r, const struct value *ours, const struct err *err) {
        _cleanup_(buf_done) struct buf printed = buf_make(SIZE_MAX / 4);

        value_print(ours, &printed);
        print_error("input:  %.*s\nthe Go library: %.*s\nours:   %s\n", STR_FMT(text), STR_FMT(golden),
                    r < 0 ? err->msg : printed.p);
}

/* `golden` is JSON or "error". The Go library reads the first document only, and nothing behind it. */
static bool matches(struct str text, struct str golden) {
        struct arena *a = arena_new(0);
        const struct yaml_document *docs;
        const struct value *wanted = &value_null, *ours = &value_null;
        struct err err = { 0 };
        size_t count;
        int r = yaml_parse(text, a, &docs, &count, &err);
        bool good;

        if (count > 0 && docs[0].value)
                ours = docs[0].value;

        bool ours_failed = r < 0 && count == 0, golden_failed = str_eqc(golden, "error");
        if (!golden_failed)
                assert_int_equal(json_parse(golden, a, &wanted, NULL), 0);
        if (ours_failed)
                good = golden_failed != is_refused_here(text);
        else if (golden_failed)
                good = str_contains(text, accepted_here);
        else
                good = value_equal(ours, wanted);
        if (!good)
                print_mismatch(text, golden, ours_failed ? r : 0, ours, &err);
        arena_free(a);
        return good;
}

static struct str next_line(struct str *rest) {
        struct str line = { 0 };

        if (!str_next(rest, '\n', &line))
                fail_msg("fewer lines than expected");
        return line;
}

static void ask(struct tally *t, struct str text, struct str golden) {
        t->asked++;
        t->wrong += !matches(text, golden);
}

/* The template with the scalar in the place of its "@". */
static void fill(struct str template, struct str scalar, struct buf *out) {
        size_t at = (size_t)str_find(template, '@', 0);

        buf_clear(out);
        buf_add(out, str_sub(template, 0, at));
        buf_add(out, scalar);
        buf_add(out, str_sub(template, at + 1, template.n));
}

static void scalars_are_typed_as_the_go_library_types_them(void **state) {
        _cleanup_(buf_done) struct buf scalars = testfile_read(CASES "scalars.txt");
        _cleanup_(buf_done) struct buf templates = testfile_read(CASES "templates.txt");
        _cleanup_(buf_done) struct buf golden = testfile_read(CASES "scalars.golden");
        _cleanup_(buf_done) struct buf text = buf_make(1 << 20);
        struct str templates_left = buf_str(&templates), golden_left = buf_str(&golden), template, scalar;
        struct tally t = { 0 };

        (void)state;
        while (str_next(&templates_left, '\n', &template)) {
                struct str scalars_left = buf_str(&scalars);

                while (str_next(&scalars_left, '\n', &scalar)) {
                        fill(template, scalar, &text);
                        ask(&t, buf_str(&text), next_line(&golden_left));
                }
        }
        assert_int_equal(golden_left.n, 0);
        assert_int_equal(t.wrong, 0);
        assert_true(t.asked >= SCALARS_LEAST);
}

/* Cuts the part up to the next line of ===== off *rest. */
static struct str next_document(struct str *rest) {
        static const struct str mark = STR("=====\n");
        const char *at = rest->n ? memmem(rest->p, rest->n, mark.p, mark.n) : NULL;
        struct str document = at ? str_sub(*rest, 0, (size_t)(at - rest->p)) : *rest;

        *rest = str_sub(*rest, at ? document.n + mark.n : rest->n, rest->n);
        return document;
}

static void documents_give_the_values_of_the_go_library(void **state) {
        _cleanup_(buf_done) struct buf documents = testfile_read(CASES "documents.txt");
        _cleanup_(buf_done) struct buf golden = testfile_read(CASES "documents.golden");
        struct str rest = buf_str(&documents), golden_left = buf_str(&golden);
        struct tally t = { 0 };

        (void)state;
        while (rest.n)
                ask(&t, next_document(&rest), next_line(&golden_left));
        assert_int_equal(golden_left.n, 0);
        assert_int_equal(t.wrong, 0);
        assert_true(t.asked >= DOCUMENTS_LEAST);
}

/* One line of bytes.golden or streams.golden: {"file": …, "json": …} or {"file": …, "error": true}. */
struct answer {
        struct str file;
        const struct value *value; /* NULL: an error */
};

static struct answer parse_answer(struct str line, struct arena *a) {
        const struct value *v;

        assert_int_equal(json_parse(line, a, &v, NULL), 0);
        return (struct answer){ value_text(value_getc(v, "file")), value_getc(v, "json") };
}

static void files_of_any_bytes_give_the_values_of_the_go_library(void **state) {
        _cleanup_(buf_done) struct buf golden = testfile_read(CASES "bytes.golden");
        struct str golden_left = buf_str(&golden), line;
        struct arena *a = arena_new(0);
        struct tally t = { 0 };

        (void)state;
        while (str_next(&golden_left, '\n', &line)) {
                struct answer answer = parse_answer(line, a);
                _cleanup_(buf_done) struct buf path = buf_make(4096);

                buf_addf(&path, CASES "%.*s", STR_FMT(answer.file));
                _cleanup_(buf_done) struct buf text = testfile_read(path.p);
                ask(&t, buf_str(&text), answer.value ? value_canonical(a, answer.value) : STR("error"));
        }
        arena_free(a);
        assert_int_equal(t.wrong, 0);
        assert_true(t.asked >= FILES_LEAST);
}

/* Documents that hold something; Kubernetes' reader and libyaml count the empty ones differently. */
static size_t next_full(const struct yaml_document *docs, size_t count, size_t at) {
        while (at < count && (!docs[at].value || docs[at].value->kind == VALUE_NULL))
                at++;
        return at;
}

/* The answers to one file follow each other in *rest; what follows an error is for nobody to see. */
static bool stream_matches(struct str file, struct str *rest, struct arena *a) {
        _cleanup_(buf_done) struct buf path = buf_make(4096);
        const struct yaml_document *docs;
        size_t count, at = 0;
        bool good = true, failed = false;
        struct err err = { 0 };

        buf_addf(&path, CASES "%.*s", STR_FMT(file));
        _cleanup_(buf_done) struct buf text = testfile_read(path.p);
        int r = yaml_parse(buf_str(&text), a, &docs, &count, &err);

        for (struct str line, ahead = *rest; str_next(&ahead, '\n', &line); *rest = ahead) {
                struct answer answer = parse_answer(line, a);

                if (!str_eq(answer.file, file))
                        break;
                failed = failed || !answer.value;
                if (failed || answer.value->kind == VALUE_NULL)
                        continue;
                at = next_full(docs, count, at);
                good = good && at < count && value_equal(docs[at].value, answer.value);
                at++;
        }
        good = good && next_full(docs, count, at) == count && failed == (r < 0);
        if (!good)
                print_error("%s: %zu documents, %s\n", path.p, count, r < 0 ? err.msg : "no error");
        return good;
}

static void streams_give_the_documents_of_kubernetes_reader(void **state) {
        _cleanup_(buf_done) struct buf golden = testfile_read(CASES "streams.golden");
        struct str rest = buf_str(&golden);
        struct tally t = { 0 };

        (void)state;
        while (rest.n) {
                struct arena *a = arena_new(0);
                struct str line, ahead = rest;

                str_next(&ahead, '\n', &line);
                t.asked++;
                t.wrong += !stream_matches(parse_answer(line, a).file, &rest, a);
                arena_free(a);
        }
        assert_int_equal(t.wrong, 0);
        assert_true(t.asked >= STREAMS_LEAST);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(scalars_are_typed_as_the_go_library_types_them),
                cmocka_unit_test(documents_give_the_values_of_the_go_library),
                cmocka_unit_test(files_of_any_bytes_give_the_values_of_the_go_library),
                cmocka_unit_test(streams_give_the_documents_of_kubernetes_reader),
        };

        return cmocka_run_group_tests_name("yaml_golden", tests, NULL, NULL);
}
