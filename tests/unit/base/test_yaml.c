/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/limits.h"
#include "arena_test.h"

static const struct yaml_document *docs;
static size_t count;
static struct err err;

static int parse(struct str text) {
        err = (struct err){ 0 };
        return yaml_parse(text, a, &docs, &count, &err);
}

/* The one document of the text. */
static const struct value *only(const char *text) {
        if (parse(str_from(text)) < 0)
                fail_msg("%s: %s", text, err.msg);
        assert_int_equal(count, 1);
        return docs[0].value;
}

static void assert_reads(const char *text, const char *canonical) {
        assert_string_equal(value_canonical(a, only(text)).p, canonical);
}

static void assert_refuses(struct str text, int code, const char *msg) {
        if (parse(text) != code)
                fail_msg("%.*s is not refused as it should be: %s", STR_FMT(text), err.msg);
        assert_int_equal(err.code, code);
        if (!str_starts(str_from(err.msg), str_from(msg)))
                fail_msg("unexpected message: %s", err.msg);
}

static void every_value_knows_its_line(void **state) {
        const struct value *v = only("# comment\n\na: 1\nb:\n  c: x\n  d:\n  - 1\n  -\n    e: [1,\n      2]\n");

        (void)state;
        assert_int_equal(v->line, 3);
        assert_int_equal(value_getc(v, "a")->line, 3);
        assert_int_equal(value_member_find(v, STR("b"))->line, 4);
        assert_int_equal(value_getc(v, "b")->line, 5);
        assert_int_equal(value_member_find(value_getc(v, "b"), STR("d"))->line, 6);
        assert_int_equal(value_path(v, "b", "d", NULL)->line, 7);
        assert_int_equal(value_path(v, "b", "d", NULL)->list.items[1]->line, 9);
        assert_int_equal(value_getc(value_path(v, "b", "d", NULL)->list.items[1], "e")->list.items[1]->line, 10);
}

static void null_and_bool_know_their_lines_too(void **state) {
        const struct value *v = only("a:\nb: ~\nc: true\n");

        (void)state;
        assert_int_equal(value_getc(v, "a")->line, 1);
        assert_int_equal(value_getc(v, "b")->line, 2);
        assert_int_equal(value_getc(v, "c")->line, 3);
}

static void crlf_is_one_line_break(void **state) {
        const struct value *v = only("a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 2\r\n");

        (void)state;
        assert_int_equal(value_getc(v, "b")->line, 2);
        assert_int_equal(value_getc(v, "c")->line, 5);
        assert_true(str_eqc(value_text(value_getc(v, "b")), "x\ny\n"));
}

/* ASCII text as UTF-16 with its mark. */
static struct str as_utf16(const char *text, bool big, struct buf *out) {
        buf_clear(out);
        buf_add(out, big ? STR("\xfe\xff") : STR("\xff\xfe"));
        for (; *text; text++) {
                char unit[2] = { big ? '\0' : *text, big ? *text : '\0' };

                buf_add(out, (struct str){ unit, 2 });
        }
        return buf_str(out);
}

static void utf16_counts_lines_like_utf8(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(KIB);

        (void)state;
        for (int big = 0; big < 2; big++) {
                assert_int_equal(parse(as_utf16("a: 1\nb:\n- x\nc: 2\n", big, &text)), 0);
                assert_int_equal(value_getc(docs[0].value, "c")->line, 4);
                assert_refuses(as_utf16("a: 1\nb: [\n", big, &text), ERR_PARSE, "line 3: ");
                as_utf16("a: 1\nb: 2\n", big, &text);
                buf_add(&text, big ? STR("\xd8\0\0x") : STR("\0\xd8x\0"));
                assert_refuses(buf_str(&text), ERR_PARSE, "line 3: ");
        }
}

static void documents_know_where_they_begin(void **state) {
        (void)state;
        assert_int_equal(parse(STR("# x\na: 1\n---\n# y\nb: 2\n--- # z\n---\nc: 3\n...\n%YAML 1.1\n---\nd: 4\n")), 0);
        assert_int_equal(count, 5);
        assert_int_equal(docs[0].line, 2);
        assert_int_equal(docs[1].line, 3);
        assert_int_equal(docs[2].line, 6);
        assert_null(docs[2].value);
        assert_int_equal(docs[3].line, 7);
        assert_int_equal(docs[4].line, 10);
        assert_int_equal(value_getc(docs[4].value, "d")->line, 12);
}

static void nothing_is_no_value_but_null_is(void **state) {
        (void)state;
        assert_int_equal(parse(STR("")), 0);
        assert_int_equal(count, 0);
        assert_int_equal(parse(STR("# only a comment\n")), 0);
        assert_int_equal(count, 0);
        assert_int_equal(parse((struct str){ 0 }), 0);
        assert_null(only("---\n"));
        assert_null(only("--- # comment\n"));
        assert_int_equal(only("--- ~")->kind, VALUE_NULL);
        assert_int_equal(only("null")->kind, VALUE_NULL);
        assert_int_equal(only("--- !!null")->kind, VALUE_NULL);
        assert_int_equal(only("--- ''")->kind, VALUE_STRING);
}

static void documents_before_a_broken_one_are_kept(void **state) {
        static const struct str broken[] = {
                STR("[\n"), STR("x: *y\n"), STR("x: .nan\n"), STR("x: !!int y\n"), STR("x: \xff\n"), STR("x: \x01\n"),
                STR("x: \0\n"),
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
                _cleanup_(buf_done) struct buf text = buf_make(KIB);

                buf_addc(&text, "a: 1\n---\nb: 2\n---\n");
                buf_add(&text, broken[i]);
                buf_addc(&text, "---\nc: 3\n");
                assert_int_equal(parse(buf_str(&text)), ERR_PARSE);
                assert_int_equal(count, 2);
                assert_int_equal(value_getc(docs[1].value, "b")->i64, 2);
                assert_true(str_starts(str_from(err.msg), STR("line ")));
        }
}

static void the_line_of_a_mistake_is_named(void **state) {
        (void)state;
        assert_refuses(STR("a: 1\nb: c: d\n"), ERR_PARSE, "line 2: mapping values are not allowed");
        assert_refuses(STR("a: 1\n\nb: *x\n"), ERR_PARSE, "line 3: an alias that no anchor defines (text that begins with \"*\" needs quotes)");
        /* It may be a password that lacks its quotes. */
        assert_refuses(STR("password: *hunter2\n"), ERR_PARSE,
                       "line 1: an alias that no anchor defines (text that begins with \"*\" needs quotes)");
        assert_refuses(STR("a: &x\n  b: *x\n"), ERR_PARSE, "line 2: anchor 'x' value contains itself");
        assert_refuses(STR("a: 1\nb: [x, .inf]\n"), ERR_PARSE, "line 2: has no JSON form: a number that is not finite");
        assert_refuses(STR("a: 1\nb:\n  ~: x\n"), ERR_PARSE, "line 3: has no JSON form: a key that is null");
        assert_refuses(STR("18446744073709551615: x\n"), ERR_PARSE, "line 1: has no JSON form: a key");
        assert_refuses(STR("a: 1\n? [x]\n: y\n"), ERR_PARSE, "line 2: a map or list is no key");
        assert_refuses(STR("a: 1\nb: !!int x\n"), ERR_PARSE, "line 2: a scalar tagged !!int is a !!str");
        assert_refuses(STR("a: !!binary '*'\n"), ERR_PARSE, "line 1: a scalar tagged !!binary is not base64");
        assert_refuses(STR("a:\n  <<: 1\n"), ERR_PARSE, "line 2: map merge requires map or sequence of maps");
        assert_refuses(STR("a: 1\nb: [http://x/?y]\n"), ERR_PARSE, "line 2: a ? between [] or {} needs quotes");
        assert_refuses(STR("a: 1\nb: \xff\n"), ERR_PARSE, "line 2: ");
        assert_refuses(STR("a: 1\r\nb: \x01\r\n"), ERR_PARSE, "line 2: control characters are not allowed");
        assert_refuses(STR("%YAML 1.2\n---\na: 1\n"), ERR_PARSE, "line 1: found incompatible YAML document");
}

static void the_code_alone_is_enough(void **state) {
        (void)state;
        assert_int_equal(yaml_parse(STR("a: [\n"), a, &docs, &count, NULL), ERR_PARSE);
        assert_int_equal(yaml_parse(STR("a: !!int x\n"), a, &docs, &count, NULL), ERR_PARSE);
        assert_int_equal(yaml_parse(STR("a: !!binary x\n"), a, &docs, &count, NULL), ERR_PARSE);
        assert_int_equal(yaml_parse(STR("a: \xff\n"), a, &docs, &count, NULL), ERR_PARSE);
        assert_int_equal(yaml_parse(STR("a: .nan\n"), a, &docs, &count, NULL), ERR_PARSE);
}

static void messages_never_quote_a_value(void **state) {
        (void)state;
        assert_int_equal(parse(STR("password: !!int hunter2\n")), ERR_PARSE);
        assert_null(strstr(err.msg, "hunter2"));
        assert_int_equal(parse(STR("password: !!binary hunter2\n")), ERR_PARSE);
        assert_null(strstr(err.msg, "hunter2"));
        assert_int_equal(parse(STR("password: 'hunter2\n")), ERR_PARSE);
        assert_null(strstr(err.msg, "hunter2"));
}

static void duplicate_keys_are_noted_with_both_lines(void **state) {
        const struct value *v = only("a: 1\nb:\n  c: 1\n  c: 2\na: 2\nd: {e: 1, e: 2}\na: 3\n");

        (void)state;
        assert_string_equal(value_canonical(a, v).p, "{\"a\":3,\"b\":{\"c\":2},\"d\":{\"e\":2}}");
        assert_int_equal(docs[0].note_count, 4);
        assert_true(str_eqc(docs[0].notes[0].key, "c"));
        assert_int_equal(docs[0].notes[0].first_line, 3);
        assert_int_equal(docs[0].notes[0].line, 4);
        assert_true(str_eqc(docs[0].notes[1].key, "e"));
        assert_true(str_eqc(docs[0].notes[2].key, "a"));
        assert_int_equal(docs[0].notes[2].first_line, 1);
        assert_int_equal(docs[0].notes[2].line, 5);
        assert_int_equal(docs[0].notes[3].first_line, 5);
        assert_int_equal(docs[0].notes[3].line, 7);
        assert_int_equal(value_member_find(v, STR("a"))->line, 7);
}

static void keys_that_become_the_same_text_are_duplicates(void **state) {
        (void)state;
        assert_reads("1: a\n'1': b\n0x1: c\n1.0: d\n", "{\"1\":\"d\"}");
        assert_int_equal(docs[0].note_count, 3);
        assert_reads("true: a\nyes: b\n", "{\"true\":\"b\"}");
        assert_int_equal(docs[0].note_count, 1);
}

static void notes_stay_with_their_document(void **state) {
        (void)state;
        assert_int_equal(parse(STR("a: 1\na: 2\n---\nb: 1\n---\nc: 1\nc: 2\n")), 0);
        assert_int_equal(docs[0].note_count, 1);
        assert_int_equal(docs[1].note_count, 0);
        assert_int_equal(docs[2].note_count, 1);
        assert_int_equal(docs[2].notes[0].line, 7);
}

static void overriding_a_merge_is_no_duplicate(void **state) {
        (void)state;
        assert_reads("v: &x {p: 1, q: 2}\nw:\n  <<: *x\n  p: 3\n", "{\"v\":{\"p\":1,\"q\":2},\"w\":{\"p\":3,\"q\":2}}");
        assert_int_equal(docs[0].note_count, 0);
        only("x: &x {p: 1}\ny:\n  p: 3\n  <<: *x\n  p: 4\n");
        assert_int_equal(docs[0].note_count, 1);
        assert_int_equal(docs[0].notes[0].first_line, 3);
        assert_int_equal(docs[0].notes[0].line, 5);
}

static void aliases_carry_the_lines_of_their_anchor(void **state) {
        const struct value *v = only("x: &x\n  p: 1\nw: *x\nz:\n  <<: *x\n");

        (void)state;
        assert_ptr_equal(value_getc(v, "x"), value_getc(v, "w"));
        assert_int_equal(value_path(v, "w", "p", NULL)->line, 2);
        assert_int_equal(value_member_find(value_getc(v, "z"), STR("p"))->line, 2);
        assert_int_equal(value_member_find(v, STR("w"))->line, 3);
}

static void a_directive_goes_with_the_document_after_it(void **state) {
        (void)state;
        assert_int_equal(parse(STR("%YAML 1.1\n---\na: 1\n...\n%TAG !e! tag:yaml.org,2002:\n---\nb: !e!str 1\n")), 0);
        assert_int_equal(count, 2);
        assert_true(str_eqc(value_text(value_getc(docs[1].value, "b")), "1"));
}

static void content_on_the_marker_s_line_is_kept(void **state) {
        (void)state;
        assert_int_equal(parse(STR("a: 1\n--- {b: 2}\n--- [c]\n--- |\n  text\n")), 0);
        assert_int_equal(count, 4);
        assert_int_equal(value_getc(docs[1].value, "b")->i64, 2);
        assert_true(str_eqc(value_text(docs[3].value), "text\n"));
}

static struct str nested(const char *open, const char *close, size_t depth, struct buf *out) {
        buf_clear(out);
        for (size_t i = 0; i < depth; i++)
                buf_addc(out, open);
        buf_addc(out, "1");
        for (size_t i = 0; i < depth; i++)
                buf_addc(out, close);
        return buf_str(out);
}

static void depth_is_capped(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);

        (void)state;
        assert_int_equal(parse(nested("[", "]", YAML_MAX_DEPTH, &text)), 0);
        assert_int_equal(parse(nested("- ", "", YAML_MAX_DEPTH, &text)), 0);
        assert_int_equal(parse(nested("{a: ", "}", YAML_MAX_DEPTH, &text)), 0);
        assert_refuses(nested("[", "]", YAML_MAX_DEPTH + 1, &text), ERR_LIMIT, "line 1: nests deeper than 128");
        assert_refuses(nested("- ", "", YAML_MAX_DEPTH + 1, &text), ERR_LIMIT, "line 1: nests deeper than 128");
        assert_refuses(nested("{a: ", "}", YAML_MAX_DEPTH + 1, &text), ERR_LIMIT, "line 1: nests deeper than 128");
        assert_refuses(nested("[", "]", 200, &text), ERR_LIMIT, "line 1: nests deeper than 128");
}

/* libyaml's scanner is quadratic in depth: read to its end, this text takes minutes. The test's time-out says so. */
static void four_hundred_kilobytes_of_brackets_are_refused_at_once(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);
        static const char *const opens[] = { "[", "{", "- ", "? ", "{a: ", "[{" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(opens); i++)
                assert_refuses(nested(opens[i], "", 400 * KIB / strlen(opens[i]), &text), ERR_LIMIT,
                               "line 1: nests deeper than 128");
}

static void depth_counts_through_aliases(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB), inner = buf_make(MIB);

        (void)state;
        nested("[", "]", 60, &inner);
        buf_addf(&text, "- &a %s\n- [[[[[*a]]]]]\n", inner.p);
        assert_int_equal(parse(buf_str(&text)), 0);
        nested("[", "]", 127, &inner);
        buf_clear(&text);
        buf_addf(&text, "- &a %s\n- *a\n", inner.p);
        assert_int_equal(parse(buf_str(&text)), 0);
        buf_addf(&text, "- [*a]\n");
        assert_refuses(buf_str(&text), ERR_LIMIT, "line 3: nests deeper than 128, aliases expanded");
}

static void billion_laughs_are_refused(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);

        (void)state;
        buf_addc(&text, "a: &a [x,x,x,x,x,x,x,x,x]\n");
        for (char c = 'b'; c <= 'i'; c++)
                buf_addf(&text, "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c - 1, c - 1, c - 1, c - 1,
                         c - 1, c - 1, c - 1, c - 1, c - 1);
        assert_refuses(buf_str(&text), ERR_LIMIT, "line 4: document contains excessive aliasing");
}

/* Merging copies members, so a chain of merges would double what it holds on every line. */
static void laughs_through_merges_are_refused(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);

        (void)state;
        buf_addc(&text, "m0: &m0 {a: 1, b: 2}\n");
        for (int i = 1; i < 40; i++)
                buf_addf(&text, "m%d: &m%d\n  x%d: {<<: *m%d}\n  y%d: {<<: *m%d}\n", i, i, i, i - 1, i, i - 1);
        assert_int_equal(parse(buf_str(&text)), ERR_LIMIT);
        assert_true(arena_bytes(a) < 64 * MIB);
}

/* A list of `n` nodes, most of them through aliases (but not so many that upstream's rule about aliases would bite). */
static struct str list_of_nodes(size_t n, struct buf *out) {
        size_t plain = n - 1 - 1000 - 780 * 1001;

        buf_clear(out);
        buf_addc(out, "- &a [1");
        for (int i = 1; i < 999; i++)
                buf_addc(out, ",1");
        buf_addc(out, "]\n");
        while (plain--)
                buf_addc(out, "- 1\n");
        for (int i = 0; i < 780; i++)
                buf_addc(out, "- *a\n");
        return buf_str(out);
}

static void nodes_of_a_file_are_capped(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(16 * MIB);

        (void)state;
        assert_int_equal(parse(list_of_nodes(YAML_MAX_NODES, &text)), 0);
        buf_addc(&text, "---\n1\n");
        assert_refuses(buf_str(&text), ERR_LIMIT, "line 219002: more than 1000000 nodes, aliases expanded");
        assert_int_equal(count, 1);
        assert_refuses(list_of_nodes(YAML_MAX_NODES + 1, &text), ERR_LIMIT, "line 219001: more than 1000000 nodes");
        assert_int_equal(count, 0);
}

static void documents_of_a_file_are_capped(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(MIB);

        (void)state;
        for (size_t i = 0; i < YAML_MAX_DOCUMENTS; i++)
                buf_addc(&text, "---\n");
        assert_int_equal(parse(buf_str(&text)), 0);
        assert_int_equal(count, YAML_MAX_DOCUMENTS);
        buf_addc(&text, "---\n");
        assert_refuses(buf_str(&text), ERR_LIMIT, "line 100001: more than 100000 documents");
}

static struct str scalar_of(size_t n, struct buf *out) {
        buf_clear(out);
        buf_addc(out, "a: \"");
        while (out->n < n + 4)
                buf_add(out, str_sub(STR("0123456789abcdef"), 0, n + 4 - out->n));
        buf_addc(out, "\"\n");
        return buf_str(out);
}

static void scalars_are_capped(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(16 * MIB);

        (void)state;
        assert_int_equal(parse(scalar_of(YAML_MAX_SCALAR_BYTES, &text)), 0);
        assert_int_equal(value_text(value_getc(docs[0].value, "a")).n, YAML_MAX_SCALAR_BYTES);
        assert_refuses(scalar_of(YAML_MAX_SCALAR_BYTES + 1, &text), ERR_LIMIT, "line 1: a scalar is larger");
        assert_refuses(scalar_of(10 * MIB, &text), ERR_LIMIT, "line 1: a scalar is larger than 3145728 bytes");
}

static void the_file_is_capped(void **state) {
        size_t n = YAML_MAX_DOCUMENT_BYTES + 1;
        char *text = mem_alloc(n);

        (void)state;
        memset(text, '\n', n);
        assert_int_equal(parse((struct str){ text, n - 1 }), 0);
        assert_refuses((struct str){ text, n }, ERR_LIMIT, "YAML is larger than 16777216 bytes");
        free(text);
}

static void many_anchors_do_not_slow_a_file_down(void **state) {
        _cleanup_(buf_done) struct buf text = buf_make(16 * MIB);

        (void)state;
        for (int i = 0; i < 100000; i++)
                buf_addf(&text, "- &a%d x\n- *a%d\n", i, i / 2);
        assert_int_equal(parse(buf_str(&text)), 0);
        assert_int_equal(value_count(docs[0].value), 200000);
}

static void assert_prints(const char *json, const char *yaml) {
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        const struct value *v;

        assert_int_equal(json_parse(str_from(json), a, &v, NULL), 0);
        yaml_print(v, &out);
        assert_string_equal(out.p, yaml);
        assert_true(value_equal(only(out.p), v));
}

static void values_print_in_block_style(void **state) {
        (void)state;
        assert_prints("{\"b\":[1,{\"x\":1,\"y\":[2]},[3,[4]]],\"a\":{\"c\":null,\"d\":{}},\"e\":[]}",
                      "a:\n  c: null\n  d: {}\nb:\n- 1\n- x: 1\n  \"y\":\n  - 2\n- - 3\n  - - 4\ne: []\n");
        assert_prints("[]", "[]\n");
        assert_prints("{}", "{}\n");
        assert_prints("null", "null\n");
        assert_prints("\"x\"", "x\n");
        assert_prints("1.50", "1.50\n");
}

static void text_that_could_be_misread_is_quoted(void **state) {
        static const char *const texts[] = {
                "yes", "No", "ON", "off", "y", "n", "true", "null", "~", "", "12", "0644", "0x1F", "1e3", "1_0", ".5",
                ".inf", "-1", "+1", "12:30", "12:30:45", "2001-01-01", "2001-01-01T00:00:00Z", "<<", "=", "-", "- a",
                "? a", ": a", "a: b", "a:", "a #b", "#a", "&a", "*a", "!a", "|", ">", "'a'", "%a", "@a", "`a", "[a]",
                "{a}", "a ", " a", "a\\tb", "a\\rb", "\\u0000", "\\u0085", "\\u2028", "\\ufeff", "\\uffff", "\\u007f",
                "...", "---", "1,000",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                _cleanup_(buf_done) struct buf out = buf_make(KIB);
                const struct value *v;

                assert_int_equal(json_parse(arena_strf(a, "{\"k\":\"%s\"}", texts[i]), a, &v, NULL), 0);
                yaml_print(v, &out);
                if (!str_starts(buf_str(&out), STR("k: \"")))
                        fail_msg("not quoted: %s", out.p);
                assert_true(value_equal(only(out.p), v));
        }
}

static void ordinary_text_is_not_quoted(void **state) {
        static const char *const texts[] = {
                "a", "web-1", "example/web:1.10", "http://x.y/z", "a b c", "v1", "apps/v1", "500m", "10Gi", "1.2.3",
                "a=b", "10.0.0.1", "a,b", "/var/run", "x@y", "a(b)",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                _cleanup_(buf_done) struct buf out = buf_make(KIB);

                yaml_print(value_stringc(a, texts[i]), &out);
                assert_true(str_eq(str_trim(buf_str(&out)), str_from(texts[i])));
                assert_true(str_eqc(value_text(only(out.p)), texts[i]));
        }
}

static void lines_print_as_a_block(void **state) {
        (void)state;
        assert_prints("{\"a\":\"x\\n  y\\n\"}", "a: |\n  x\n    y\n");
        assert_prints("{\"a\":\"x\\ny\"}", "a: |-\n  x\n  y\n");
        assert_prints("{\"a\":\"x\\n\\ny\\n\\n\\n\",\"b\":1}", "a: |+\n  x\n\n  y\n\n\nb: 1\n");
        assert_prints("[\"x\\ny\\n\"]", "- |\n  x\n  y\n");
        assert_prints("[[\"x\\ny\\n\"]]", "- - |\n    x\n    y\n");
        assert_prints("\"x\\ny\\n\"", "|\n  x\n  y\n");
        assert_prints("{\"a\":\"  x\\ny\\n\"}", "a: \"  x\\ny\\n\"\n");
        assert_prints("{\"a\":\"\\nx\\n\"}", "a: \"\\nx\\n\"\n");
        assert_prints("{\"a\":\"x \\ny\\n\"}", "a: \"x \\ny\\n\"\n");
        assert_prints("{\"a\":\"# x\\n- y\\n---\\n...\\n\"}", "a: |\n  # x\n  - y\n  ---\n  ...\n");
}

static void keys_are_quoted_like_text(void **state) {
        (void)state;
        assert_prints("{\"y\":1}", "\"y\": 1\n");
        assert_prints("{\"1\":1}", "\"1\": 1\n");
        assert_prints("{\"\":1}", "\"\": 1\n");
        assert_prints("{\"a: b\":1}", "\"a: b\": 1\n");
        assert_prints("{\"a\\nb\":1}", "\"a\\nb\": 1\n");
        assert_prints("{\"app.kubernetes.io/name\":1}", "app.kubernetes.io/name: 1\n");
}

static void a_key_too_long_for_one_line_is_read_back(void **state) {
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        char key[3000];

        (void)state;
        memset(key, 'k', sizeof key);
        for (size_t n = 900; n <= sizeof key; n += 50) {
                const struct value *list = value_with(a, NULL, (struct str){ key, n }, only("[1, {a: b}]"));

                buf_clear(&out);
                yaml_print(list, &out);
                assert_true(value_equal(only(out.p), list));
        }
}

static void what_a_reader_does_not_see_is_escaped(void **state) {
        static const char *const texts[][2] = {
                { "a\u202eb", "\"a\\u202eb\"\n" },         { "a\nb\u200b", "\"a\\nb\\u200b\"\n" },
                { "a\U000e0041", "\"a\\U000e0041\"\n" },   { "é 漢\nb", "|-\n  é 漢\n  b\n" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                _cleanup_(buf_done) struct buf out = buf_make(1024);
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                const struct yaml_document *docs;
                size_t count;

                yaml_print(value_stringc(a, texts[i][0]), &out);
                assert_string_equal(out.p, texts[i][1]);
                assert_int_equal(yaml_parse(buf_str(&out), a, &docs, &count, NULL), 0);
                assert_true(str_eqc(value_text(docs[0].value), texts[i][0]));
        }
}

static void a_text_knows_how_its_lines_lie(void **state) {
        static const struct {
                const char *text;
                enum value_layout layout;
                uint32_t line;
        } cases[] = {
                { "a: |\n  b\n  c\n", VALUE_BLOCK, 1 },    { "a:\n  |-\n  b\n", VALUE_BLOCK, 2 },
                { "a: >\n  b\n  c\n", VALUE_FOLDED, 1 },   { "a: b\n", VALUE_IN_PLACE, 1 },
                { "a: b\n  c\n", VALUE_FOLDED, 1 },         { "a:\n  b\n", VALUE_IN_PLACE, 2 },
                { "a: 'b'\n", VALUE_IN_PLACE, 1 },          { "a: 'b\n\n  c'\n", VALUE_FOLDED, 1 },
                { "a: \"b\\nc\"\n", VALUE_FOLDED, 1 },      { "a: \"b \\\n  c\"\n", VALUE_FOLDED, 1 },
                { "a: \"b\\tc\" # d\n", VALUE_IN_PLACE, 1 },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                const struct yaml_document *docs;
                size_t count;

                assert_int_equal(yaml_parse(str_from(cases[i].text), a, &docs, &count, NULL), 0);
                const struct value *v = value_getc(docs[0].value, "a");
                assert_int_equal(v->layout, cases[i].layout);
                assert_int_equal(v->line, cases[i].line);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_text_knows_how_its_lines_lie),
                cmocka_unit_test(what_a_reader_does_not_see_is_escaped),
                cmocka_unit_test_setup_teardown(every_value_knows_its_line, setup, teardown),
                cmocka_unit_test_setup_teardown(null_and_bool_know_their_lines_too, setup, teardown),
                cmocka_unit_test_setup_teardown(crlf_is_one_line_break, setup, teardown),
                cmocka_unit_test_setup_teardown(utf16_counts_lines_like_utf8, setup, teardown),
                cmocka_unit_test_setup_teardown(documents_know_where_they_begin, setup, teardown),
                cmocka_unit_test_setup_teardown(nothing_is_no_value_but_null_is, setup, teardown),
                cmocka_unit_test_setup_teardown(documents_before_a_broken_one_are_kept, setup, teardown),
                cmocka_unit_test_setup_teardown(the_line_of_a_mistake_is_named, setup, teardown),
                cmocka_unit_test_setup_teardown(the_code_alone_is_enough, setup, teardown),
                cmocka_unit_test_setup_teardown(messages_never_quote_a_value, setup, teardown),
                cmocka_unit_test_setup_teardown(duplicate_keys_are_noted_with_both_lines, setup, teardown),
                cmocka_unit_test_setup_teardown(keys_that_become_the_same_text_are_duplicates, setup, teardown),
                cmocka_unit_test_setup_teardown(notes_stay_with_their_document, setup, teardown),
                cmocka_unit_test_setup_teardown(overriding_a_merge_is_no_duplicate, setup, teardown),
                cmocka_unit_test_setup_teardown(aliases_carry_the_lines_of_their_anchor, setup, teardown),
                cmocka_unit_test_setup_teardown(a_directive_goes_with_the_document_after_it, setup, teardown),
                cmocka_unit_test_setup_teardown(content_on_the_marker_s_line_is_kept, setup, teardown),
                cmocka_unit_test_setup_teardown(depth_is_capped, setup, teardown),
                cmocka_unit_test_setup_teardown(four_hundred_kilobytes_of_brackets_are_refused_at_once, setup, teardown),
                cmocka_unit_test_setup_teardown(depth_counts_through_aliases, setup, teardown),
                cmocka_unit_test_setup_teardown(billion_laughs_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(laughs_through_merges_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(nodes_of_a_file_are_capped, setup, teardown),
                cmocka_unit_test_setup_teardown(documents_of_a_file_are_capped, setup, teardown),
                cmocka_unit_test_setup_teardown(scalars_are_capped, setup, teardown),
                cmocka_unit_test_setup_teardown(the_file_is_capped, setup, teardown),
                cmocka_unit_test_setup_teardown(many_anchors_do_not_slow_a_file_down, setup, teardown),
                cmocka_unit_test_setup_teardown(values_print_in_block_style, setup, teardown),
                cmocka_unit_test_setup_teardown(text_that_could_be_misread_is_quoted, setup, teardown),
                cmocka_unit_test_setup_teardown(ordinary_text_is_not_quoted, setup, teardown),
                cmocka_unit_test_setup_teardown(lines_print_as_a_block, setup, teardown),
                cmocka_unit_test_setup_teardown(keys_are_quoted_like_text, setup, teardown),
                cmocka_unit_test_setup_teardown(a_key_too_long_for_one_line_is_read_back, setup, teardown),
        };

        return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
