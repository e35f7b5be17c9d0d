/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that no API server would hold: the cases' own, with fields dropped, doubled and of other types. Whatever they
 * are, a judgement is one: a known word, a bounded message of UTF-8, a rule with a name.
 */
#include "health_test.h"

#include <dirent.h>
#include <stdio.h>

#define CASES          TRUCE_SOURCE_DIR "/tests/cases/health"
#define FILE_MAX_BYTES (1024 * 1024)
#define ROUNDS         100

static uint64_t next(uint64_t *seed) {
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return *seed >> 33;
}

/* A value of any type: what a field that is read as another must survive. */
static const struct value *odd_value(struct arena *a, uint64_t *seed) {
        static const char *const texts[] = { "",
                                             "True",
                                             "False",
                                             "-1",
                                             "9223372036854775807",
                                             "1.5",
                                             "[]",
                                             "{}",
                                             "[{}]",
                                             "null",
                                             "[null, 1, {type: Ready}]",
                                             "2026-01-01T12:00:00Z",
                                             "Err\\e[31m",
                                             "true",
                                             "99999999999999999999",
                                             "{type: {}, status: []}" };

        return object_of(a, arena_strf(a, "- %s", texts[next(seed) % ARRAY_LEN(texts)]).p)->list.items[0];
}

static const struct value *mutated(const struct value *v, struct arena *a, uint64_t *seed) {
        uint64_t what = next(seed) % 40;

        if (what == 0)
                return odd_value(a, seed);
        if (v->kind == VALUE_LIST) {
                struct value_list_builder b = { 0 };

                for (size_t i = 0; i < v->list.count; i++)
                        for (uint64_t times = next(seed) % 20 ? 1 : next(seed) % 6; times > 0; times--)
                                value_list_add(&b, mutated(v->list.items[i], a, seed));
                return value_list_end(&b, a, 0);
        }
        if (v->kind == VALUE_MAP) {
                struct value_map_builder b = { 0 };

                for (size_t i = 0; i < v->map.count; i++)
                        if (next(seed) % 20)
                                value_map_add(&b, v->map.members[i].key, mutated(v->map.members[i].value, a, seed), 0);
                return value_map_end(&b, a, 0);
        }
        return v;
}

static void assert_sound(const struct health *h) {
        assert_in_range(h->code, HEALTH_NONE, HEALTH_UNKNOWN);
        assert_true(h->message.n <= HEALTH_MAX_MESSAGE_BYTES && str_is_utf8(h->message));
        assert_false(str_contains(h->message, STR("\x1b")));
        assert_non_null(h->rule);
        assert_true(h->again_ms >= 0);
        assert_true(!h->terminal || h->code == HEALTH_DEGRADED);
        assert_true(h->failure == ERR_OK || h->code == HEALTH_UNKNOWN);
}

static void mutate(struct health_rules *r, const struct value *object, uint64_t seed) {
        for (int i = 0; i < ROUNDS; i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                struct health_question q = { .object = mutated(object, a, &seed), .now_ms = NOON_MS, .guard = i % 2 };
                struct health h, again;

                q.applied_ms = i % 3 ? 0 : NOON_MS - 1000;
                q.storage_class = i % 5 ? NULL : mutated(object, a, &seed);
                health_judge(r, &q, a, &h);
                health_judge(r, &q, a, &again);
                assert_sound(&h);
                if (h.code != again.code || !str_eq(h.message, again.message))
                        fail_msg("%s: %s \"%.*s\", then %s \"%.*s\"", h.rule, health_name(h.code), STR_FMT(h.message),
                                 health_name(again.code), STR_FMT(again.message));
                (void)health_marks_of(q.object);
                (void)health_publishes_generation(q.object);
        }
}

static void mutate_file(struct health_rules *r, const char *file) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        char *text = arena_zalloc(a, FILE_MAX_BYTES);
        FILE *f = fopen(arena_strf(a, CASES "/%s", file).p, "r");
        const struct yaml_document *docs;
        size_t n, count;

        assert_non_null(f);
        n = fread(text, 1, FILE_MAX_BYTES - 1, f);
        fclose(f);
        assert_int_equal(yaml_parse((struct str){ text, n }, a, &docs, &count, NULL), 0);
        for (size_t i = 0; i < count; i++)
                mutate(r, value_getc(docs[i].value, "object"), i);
}

static void whatever_an_object_is_it_is_judged(void **state) {
        _cleanup_(health_rules_unrefp) struct health_rules *r = health_rules_new();
        DIR *dir = opendir(CASES);
        struct dirent *entry;

        (void)state;
        assert_non_null(dir);
        while ((entry = readdir(dir)))
                if (str_ends(str_from(entry->d_name), STR(".yaml")))
                        mutate_file(r, entry->d_name);
        closedir(dir);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(whatever_an_object_is_it_is_judged) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
