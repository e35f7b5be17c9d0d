/* SPDX-License-Identifier: Apache-2.0 */
/* Asks every question in tests/cases/health, whose README.md says what they hold. */
#include "health_test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/when.h"

#define CASES          TRUCE_SOURCE_DIR "/tests/cases/health"
#define AT_LEAST       180
#define FILE_MAX_BYTES (1024 * 1024)

static const struct value *need(const struct value *doc, const char *key, const char *name) {
        const struct value *v = value_getc(doc, key);

        if (!v)
                fail_msg("%s: no %s", name, key);
        return v;
}

static void only_keys(const struct value *map, const char *known, const char *name) {
        for (size_t i = 0; i < value_count(map); i++) {
                struct str rest = str_from(known), word;
                bool found = false;

                while (str_next(&rest, ' ', &word))
                        found |= str_eq(word, map->map.members[i].key);
                if (!found)
                        fail_msg("%s: unknown key %.*s", name, STR_FMT(map->map.members[i].key));
        }
}

static int64_t moment(const struct value *map, const char *key, int64_t otherwise, const char *name) {
        const struct value *v = value_getc(map, key);
        int64_t ms = otherwise;

        if (v && !when_parse(value_text(v), &ms))
                fail_msg("%s: %s is no time", name, key);
        return ms;
}

static void compare(const struct value *want, const struct health *h, const char *name) {
        struct str message = value_text(value_getc(want, "message")), rule = value_text(value_getc(want, "rule"));

        only_keys(want, "status message terminal again guard rule failed", name);
        if (!str_eqc(value_text(need(want, "status", name)), health_name(h->code)) || !str_eq(message, h->message))
                fail_msg("%s: got %s \"%.*s\"", name, health_name(h->code), STR_FMT(h->message));
        if (value_truth(value_getc(want, "terminal"), false) != h->terminal)
                fail_msg("%s: terminal is %d", name, h->terminal);
        if (value_truth(value_getc(want, "guard"), false) != h->guard)
                fail_msg("%s: guard is %d", name, h->guard);
        if (value_truth(value_getc(want, "failed"), false) != (h->failure != ERR_OK))
                fail_msg("%s: failure is %d", name, h->failure);
        if (moment(want, "again", 0, name) != h->again_ms)
                fail_msg("%s: again at %lld", name, (long long)h->again_ms);
        if (rule.n > 0 && !str_eqc(rule, h->rule))
                fail_msg("%s: judged by %s", name, h->rule);
}

static void ask(struct health_rules *r, const struct value *doc, struct arena *a) {
        const char *name = value_text(value_getc(doc, "name")).p;
        struct health_question q = {
                .object = need(doc, "object", name),
                .now_ms = moment(doc, "now", NOON_MS, name),
                .guard = value_truth(value_getc(doc, "guard"), false),
                .applied_ms = moment(doc, "applied", 0, name),
                .storage_class = value_getc(doc, "storageClass"),
        };
        struct health h;

        assert_non_null(name);
        only_keys(doc, "name object now guard applied storageClass want", name);
        health_judge(r, &q, a, &h);
        compare(need(doc, "want", name), &h, name);
}

static size_t ask_file(struct health_rules *r, const char *file) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str path = arena_strf(a, CASES "/%s", file);
        char *text = arena_zalloc(a, FILE_MAX_BYTES);
        const struct yaml_document *docs;
        struct err err = { 0 };
        FILE *f = fopen(path.p, "r");
        size_t n, count;

        assert_non_null(f);
        n = fread(text, 1, FILE_MAX_BYTES - 1, f);
        fclose(f);
        if (yaml_parse((struct str){ text, n }, a, &docs, &count, &err) < 0)
                fail_msg("%s: %s", file, err.msg);
        for (size_t i = 0; i < count; i++)
                ask(r, docs[i].value, a);
        return count;
}

static void every_case_is_answered(void **state) {
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        DIR *dir = opendir(CASES);
        struct dirent *entry;
        size_t count = 0;

        (void)state;
        assert_non_null(dir);
        while ((entry = readdir(dir)))
                if (str_ends(str_from(entry->d_name), STR(".yaml")))
                        count += ask_file(r, entry->d_name);
        closedir(dir);
        print_message("%zu cases\n", count);
        assert_true(count >= AT_LEAST);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(every_case_is_answered) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
