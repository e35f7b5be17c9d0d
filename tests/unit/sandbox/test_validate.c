/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation against what a real API server answered: tests/cases/sandbox_validate holds objects with faults and the
 * findings of the server (recorded by tests/cluster/record_validate.py). All must be found, with the same words, in the
 * same order; known.txt lists what is not, and may only become shorter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "sandbox/validate.h"
#include "sandbox/validate_regex.h"

#define CASES     TRUCE_SOURCE_DIR "/tests/cases/sandbox_validate"
#define KNOWN_MAX 9 /* lower it when a line goes from known.txt */

static struct str read_file(const char *path, struct arena *a) {
        _cleanup_(buf_done) struct buf b = buf_make(16 * MIB);
        FILE *f = fopen(path, "r");
        char part[65536];
        size_t n;

        if (!f)
                return STR("");
        while ((n = fread(part, 1, sizeof part, f)) > 0)
                buf_add(&b, (struct str){ part, n });
        (void)fclose(f);
        return arena_str(a, buf_str(&b));
}

/* --- changes --- */

static struct str unescaped(struct str s, struct arena *a) {
        struct str copy = arena_str(a, s);
        char *p = (char *)copy.p;
        size_t n = 0;

        for (size_t i = 0; i < s.n; i++, n++) {
                bool escape = s.p[i] == '~' && i + 1 < s.n;

                p[n] = escape ? (s.p[i + 1] == '1' ? '/' : '~') : s.p[i];
                i += escape;
        }
        p[n] = '\0';
        return (struct str){ p, n };
}

static const struct value *set_at(struct arena *a, const struct value *v, struct str pointer, const struct value *to);

static const struct value *set_item(struct arena *a, const struct value *list, struct str index, struct str rest,
                                    const struct value *to) {
        struct value_list_builder b = { 0 };
        uint64_t at = 0;

        assert_true(str_to_u64(index, &at));
        for (size_t i = 0; i < value_count(list) || i == at; i++) {
                const struct value *item = i < value_count(list) ? list->list.items[i] : NULL;

                if (i == at)
                        item = rest.n ? set_at(a, item, rest, to) : to;
                if (item)
                        value_list_add(&b, item);
        }
        return value_list_end(&b, a, 0);
}

static const struct value *set_at(struct arena *a, const struct value *v, struct str pointer, const struct value *to) {
        ptrdiff_t slash = str_find(pointer, '/', 1);
        struct str key = unescaped(str_sub(pointer, 1, slash < 0 ? pointer.n : (size_t)slash), a);
        struct str rest = slash < 0 ? STR("") : str_sub(pointer, (size_t)slash, pointer.n);

        if (value_is(v, VALUE_LIST) || (!v && str_eqc(key, "0")))
                return set_item(a, v, key, rest, to);
        return value_with(a, v, key, rest.n ? set_at(a, value_get(v, key), rest, to) : to);
}

/* {"$repeat": ["x", 1000]} stands for a long text. */
static const struct value *expanded(struct arena *a, const struct value *v) {
        const struct value *repeat = value_getc(v, "$repeat");
        _cleanup_(buf_done) struct buf b = buf_make(8 * MIB);
        int64_t times = 0;

        if (value_is(v, VALUE_MAP) && !repeat) {
                const struct value *copy = v;

                for (size_t i = 0; i < v->map.count; i++)
                        copy = value_with(a, copy, v->map.members[i].key, expanded(a, v->map.members[i].value));
                return copy;
        }
        if (!repeat)
                return v;
        assert_true(value_to_i64(repeat->list.items[1], &times));
        for (; times > 0; times--)
                buf_add(&b, value_text(repeat->list.items[0]));
        return value_string(a, buf_str(&b), 0);
}

static const struct value *changed(struct arena *a, const struct value *base, const struct value *sets) {
        for (size_t i = 0; i < value_count(sets); i++) {
                const struct value *pair = sets->list.items[i], *to = expanded(a, pair->list.items[1]);

                if (str_eqc(value_text(to), "!null"))
                        to = &value_null;
                else if (to->kind == VALUE_NULL)
                        to = NULL;
                base = set_at(a, base, value_text(pair->list.items[0]), to);
        }
        return base;
}

/* --- comparison --- */

static bool finds(const struct causes *c, const struct value *cause, size_t at, bool anywhere) {
        for (size_t i = 0; i < c->count; i++)
                if ((anywhere || i == at) && str_eq(c->items[i].reason, value_text(cause->list.items[0])) &&
                    str_eq(c->items[i].field, value_text(cause->list.items[1])) &&
                    str_eq(c->items[i].message, value_text(cause->list.items[2])))
                        return true;
        return false;
}

static bool equals(const struct causes *c, const struct value *expected, bool unordered) {
        if (c->count != value_count(expected))
                return false;
        for (size_t i = 0; i < value_count(expected); i++)
                if (!finds(c, expected->list.items[i], i, unordered))
                        return false;
        return true;
}

static void explain(const struct causes *c, const struct value *expected) {
        for (size_t i = 0; i < value_count(expected); i++)
                print_message("    server: %.*s %.*s: %.300s\n",
                              STR_FMT(value_text(expected->list.items[i]->list.items[0])),
                              STR_FMT(value_text(expected->list.items[i]->list.items[1])),
                              value_text(expected->list.items[i]->list.items[2]).p);
        for (size_t i = 0; i < c->count; i++)
                print_message("    ours:   %.*s %.*s: %.300s\n", STR_FMT(c->items[i].reason),
                              STR_FMT(c->items[i].field), c->items[i].message.p);
}

struct tally {
        size_t cases, missed, known, regained;
        struct str known_list;
};

static bool is_known(const struct tally *t, const char *file, struct str name, struct arena *a) {
        struct str line = arena_strf(a, "%.*s/%.*s", (int)(strlen(file) - 5), file, STR_FMT(name)),
                   rest = t->known_list, one;

        while (str_next(&rest, '\n', &one))
                if (str_eq(one, line))
                        return true;
        return false;
}

static struct str group_of(struct str api_version) {
        ptrdiff_t slash = str_find(api_version, '/', 0);

        return slash < 0 ? STR("") : str_sub(api_version, 0, (size_t)slash);
}

static void run_case(const char *file, const struct value *data, const struct value *test, struct tally *t) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(causes_done) struct causes found = { .arena = a };
        const struct value *base = value_getc(data, "base"), *object = changed(a, base, value_getc(test, "set"));
        const struct value *versions = value_path(data, "crd", "spec", "versions", NULL);
        struct type custom = { .kind = TYPE_STRUCT };
        struct str kind = value_text(value_getc(object, "kind")),
                   version = value_text(value_getc(object, "apiVersion"));
        struct str message, expected = value_text(value_getc(test, "message")),
                            name = value_text(value_getc(test, "name"));
        bool unordered = value_truth(value_getc(test, "unordered"), false), good;

        if (versions)
                custom.rules = value_path(versions->list.items[0], "schema", "openAPIV3Schema", NULL);
        codec_validate(&custom, version, kind, value_truth(value_getc(data, "live"), false) ? base : NULL, object,
                       value_text(value_getc(data, "subresource")).p, NULL, &found);
        message = causes_message(&found, kind, group_of(version),
                                 value_text(value_path(object, "metadata", "name", NULL)));
        good = equals(&found, value_getc(test, "causes"), unordered) &&
               (!expected.n || unordered || str_eq(message, expected));
        t->cases++;
        if (is_known(t, file, name, a)) {
                t->known++;
                t->regained += good;
                if (good)
                        print_message("%s/%.*s is known no more\n", file, STR_FMT(name));
                return;
        }
        if (good)
                return;
        t->missed++;
        print_message("%s/%.*s\n", file, STR_FMT(name));
        explain(&found, value_getc(test, "causes"));
        if (equals(&found, value_getc(test, "causes"), unordered))
                print_message("    server: %.300s\n    ours:   %.300s\n", expected.p, message.p);
}

static void run_file(const char *file, struct tally *t) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str path = arena_strf(a, CASES "/%s", file);
        const struct value *data = NULL, *tests;
        struct err err;

        if (json_parse(read_file(path.p, a), a, &data, &err) < 0)
                fail_msg("%s: %s", file, err.msg);
        tests = value_getc(data, "cases");
        for (size_t i = 0; i < value_count(tests); i++)
                run_case(file, data, tests->list.items[i], t);
}

static void the_server_and_we_find_the_same(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct tally t = { .known_list = read_file(CASES "/known.txt", a) };
        DIR *dir = opendir(CASES);

        (void)state;
        assert_non_null(dir);
        for (struct dirent *e = readdir(dir); e; e = readdir(dir))
                if (str_ends(str_from(e->d_name), STR(".json")))
                        run_file(e->d_name, &t);
        (void)closedir(dir);
        print_message("%zu cases, %zu missed, %zu known\n", t.cases, t.missed, t.known);
        assert_true(t.cases >= 250);
        assert_int_equal(t.missed, 0);
        assert_int_equal(t.regained, 0);
        assert_in_range(t.known, 0, KNOWN_MAX);
}

static void a_message_lists_equal_findings_once(void **state) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(causes_done) struct causes c = { .arena = a };

        (void)state;
        assert_string_equal(causes_message(&c, STR("Pod"), STR(""), STR("a")).p, "Pod \"a\" is invalid");
        causes_add(&c, "FieldValueRequired", STR("spec.x"), "Required value");
        assert_string_equal(causes_message(&c, STR("Pod"), STR(""), STR("a")).p,
                            "Pod \"a\" is invalid: spec.x: Required value");
        causes_add(&c, "FieldValueRequired", STR("spec.x"), "Required value");
        assert_string_equal(causes_message(&c, STR("Pod"), STR(""), STR("a")).p,
                            "Pod \"a\" is invalid: spec.x: Required value");
        causes_add(&c, "FieldValueRequired", STR("spec.y"), "Required value: %s", "why");
        assert_string_equal(causes_message(&c, STR("Deployment"), STR("apps"), STR("a")).p,
                            "Deployment.apps \"a\" is invalid: [spec.x: Required value, spec.y: Required value: why]");
}

static void patterns_match_as_in_go(void **state) {
        static const struct {
                const char *pattern, *text;
                enum regex_verdict verdict;
        } tests[] = {
                { "^a+$", "aaa", REGEX_MATCHES },
                { "^a+$", "aab", REGEX_DIFFERS },
                { "b", "abc", REGEX_MATCHES },
                { "^(a|bc)*d?$", "abcad", REGEX_MATCHES },
                { "^(a|bc)*d?$", "abcb", REGEX_DIFFERS },
                { "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b", REGEX_MATCHES },
                { "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-", REGEX_DIFFERS },
                { "^\\d{2,3}$", "1234", REGEX_DIFFERS },
                { "^\\d{2,3}$", "12", REGEX_MATCHES },
                { "^\\d{2,}x$", "12345x", REGEX_MATCHES },
                { "^a{0}b$", "b", REGEX_MATCHES },
                { "^a{0,2}b$", "aab", REGEX_MATCHES },
                { "^a{0,2}b$", "aaab", REGEX_DIFFERS },
                { "(?i)^ABC$", "aBc", REGEX_MATCHES },
                { "^[^,;]+$", "a;b", REGEX_DIFFERS },
                { "^.$", "é", REGEX_MATCHES },
                { "^x|y$", "ay", REGEX_MATCHES },
                { "^(x|y|z)$", "z", REGEX_MATCHES },
                { "\\bfoo\\b", "a foo b", REGEX_MATCHES },
                { "\\bfoo\\b", "afoo b", REGEX_DIFFERS },
                { "^[[:alpha:]]+$", "abC", REGEX_MATCHES },
                { "", "anything", REGEX_MATCHES },
                { "\\pL", "a", REGEX_UNKNOWN },
                { "(a", "a", REGEX_UNKNOWN },
                { "a{1001}", "a", REGEX_UNKNOWN },
        };

        (void)state;
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                enum regex_verdict verdict = regex_match(str_from(tests[i].pattern), str_from(tests[i].text), a);

                if (verdict != tests[i].verdict)
                        fail_msg("%s on %s: %d", tests[i].pattern, tests[i].text, verdict);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_server_and_we_find_the_same),
                cmocka_unit_test(a_message_lists_equal_findings_once),
                cmocka_unit_test(patterns_match_as_in_go),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
