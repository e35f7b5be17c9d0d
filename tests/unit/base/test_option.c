/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

struct settings {
        struct str repo;
        int64_t poll_ms, workers;
        bool prune, quiet;
        int format;
        struct option_list config;
};

struct other {
        bool wait;
        int until;
        struct str name;
};

static const char *const formats[] = { "table", "json", "yaml", NULL };

static const struct option_def defs[] = {
        { .name = "repo", .key = "repo", .type = OPTION_TEXT, .at = offsetof(struct settings, repo), .min = 1, .max = 20,
          .word = "URL", .help = "the repository to follow" },
        { .name = "poll-interval", .key = "pollInterval", .type = OPTION_DURATION,
          .at = offsetof(struct settings, poll_ms), .fallback = "30s", .min = 1000, .max = 3600000,
          .help = "time between two looks at Git, which is a long story that has to be told in more than one line of "
                  "help so that it wraps" },
        { .name = "workers", .key = "limits.workers", .type = OPTION_NUMBER, .at = offsetof(struct settings, workers),
          .fallback = "2", .min = 1, .max = 16, .help = "threads" },
        { .name = "prune", .key = "limits.prune", .type = OPTION_BOOL, .at = offsetof(struct settings, prune),
          .fallback = "true", .help = "delete what left Git" },
        { .name = "quiet", .letter = 'q', .type = OPTION_BOOL, .at = offsetof(struct settings, quiet),
          .help = "say less" },
        { .name = "output", .key = "output", .letter = 'o', .type = OPTION_CHOICE,
          .at = offsetof(struct settings, format), .choices = formats, .help = "form of the output" },
        { .name = "config", .key = "config", .letter = 'c', .type = OPTION_LIST,
          .at = offsetof(struct settings, config), .word = "PATH", .help = "files" },
};

static const char *const untils[] = { "false", "applied", "healthy", NULL };

static const struct option_def other_defs[] = {
        { .name = "until", .type = OPTION_CHOICE, .at = offsetof(struct other, until), .choices = untils, .bare = "healthy",
          .word = "WHAT", .help = "until then" },
        { .name = "wait", .type = OPTION_BOOL, .at = offsetof(struct other, wait), .help = "wait" },
        { .name = "hush", .type = OPTION_TEXT, .at = offsetof(struct other, name), .help = "x", .hidden = true },
};

struct fixture {
        struct arena *a;
        struct settings s;
        struct other o;
        struct option_group groups[2];
        const struct str *operands;
        size_t operand_count;
        struct err err;
        struct buf said;
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof(*f));

        f->a = arena_new(0);
        f->groups[0] = (struct option_group){ "Options", defs, ARRAY_LEN(defs), &f->s };
        f->groups[1] = (struct option_group){ "Other", other_defs, ARRAY_LEN(other_defs), &f->o };
        f->said = buf_make(4096);
        options_default(f->groups, 2, f->a);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        arena_free(f->a);
        buf_done(&f->said);
        free(f);
        return 0;
}

/* Parses words parted by blanks. */
static int parse(struct fixture *f, const char *line) {
        struct str rest = arena_str(f->a, str_from(line)), word;
        char *argv[32];
        int argc = 0;

        while (str_next(&rest, ' ', &word))
                argv[argc++] = (char *)(uintptr_t)arena_str(f->a, word).p;
        return options_parse(f->groups, 2, argc, argv, f->a, &f->operands, &f->operand_count, &f->err);
}

static void say(void *ctx, uint32_t line, const char *message) {
        struct fixture *f = ctx;

        buf_addf(&f->said, "%u: %s\n", line, message);
}

static const struct value *json(struct fixture *f, const char *key, const struct value *value) {
        return value_with(f->a, NULL, str_from(key), value);
}

static void defaults_come_from_the_table(void **state) {
        struct fixture *f = *state;

        assert_int_equal(f->s.poll_ms, 30000);
        assert_int_equal(f->s.workers, 2);
        assert_true(f->s.prune);
        assert_int_equal(f->s.repo.n, 0);
        assert_int_equal(f->s.format, 0);
}

static void flags_are_read_in_every_form(void **state) {
        struct fixture *f = *state;

        assert_int_equal(parse(f, "--repo http://x a --poll-interval=5m -q -ojson --no-prune --wait b -- --repo c"), 0);
        assert_true(str_eqc(f->s.repo, "http://x"));
        assert_int_equal(f->s.poll_ms, 300000);
        assert_true(f->s.quiet);
        assert_true(f->o.wait);
        assert_false(f->s.prune);
        assert_int_equal(f->s.format, 1);
        assert_int_equal(f->operand_count, 4);
        assert_true(str_eqc(f->operands[1], "b"));
        assert_true(str_eqc(f->operands[2], "--repo"));
        assert_int_equal(parse(f, "-qo yaml --prune=true --wait=false"), 0);
        assert_int_equal(f->s.format, 2);
        assert_true(f->s.prune);
        assert_false(f->o.wait);
        assert_int_equal(parse(f, "-o=table"), 0);
        assert_int_equal(f->s.format, 0);
}

static void a_lone_dash_is_an_operand(void **state) {
        struct fixture *f = *state;

        assert_int_equal(parse(f, "-"), 0);
        assert_int_equal(f->operand_count, 1);
}

static void a_value_may_look_like_a_flag(void **state) {
        struct fixture *f = *state;

        assert_int_equal(parse(f, "--repo --wait"), 0);
        assert_true(str_eqc(f->s.repo, "--wait"));
        assert_false(f->o.wait);
}

static void a_choice_may_mean_something_without_a_value(void **state) {
        struct fixture *f = *state;

        assert_int_equal(parse(f, "--until applied"), 0);
        assert_int_equal(f->o.until, 2);
        assert_int_equal(f->operand_count, 1);
        assert_int_equal(parse(f, "--until=applied --repo x"), 0);
        assert_int_equal(f->o.until, 1);
        assert_int_equal(parse(f, "--until=false"), 0);
        assert_int_equal(f->o.until, 0);
        assert_int_equal(parse(f, "--until="), ERR_INVAL);
        assert_int_equal(parse(f, "--until=ready"), ERR_INVAL);
}

static void lists_grow_in_a_pass_and_start_anew_in_the_next(void **state) {
        struct fixture *f = *state;

        assert_int_equal(parse(f, "--config a -cb"), 0);
        assert_int_equal(f->s.config.count, 2);
        assert_int_equal(parse(f, "--config c"), 0);
        assert_int_equal(f->s.config.count, 1);
        assert_true(str_eqc(f->s.config.items[0], "c"));
}

static const struct {
        const char *line;
        const char *message;
} refused[] = {
        { "--rpo x", "unknown option --rpo, did you mean --repo?" },
        { "--zzzzzz", "unknown option --zzzzzz" },
        { "--hus x", "unknown option --hus" },
        { "-z", "unknown option -z" },
        { "--repo", "--repo needs a value" },
        { "-o", "--output needs a value" },
        { "--workers x", "--workers: must be a whole number" },
        { "--workers 17", "--workers: must be 1 to 16" },
        { "--workers=0", "--workers: must be 1 to 16" },
        { "--poll-interval soon", "--poll-interval: must be a duration such as 30s, 5m or 1h30m" },
        { "--poll-interval 999ms", "--poll-interval: must be 1s to 1h" },
        { "--output xml", "--output: must be one of table, json, yaml" },
        { "--prune=maybe", "--prune: must be true or false" },
        { "--no-repo", "unknown option --no-repo" },
        { "--no-prune=true", "unknown option --no-prune" },
        { "--repo=", "--repo: must be 1 to 20 bytes long" },
        { "--repo 123456789012345678901", "--repo: must be 1 to 20 bytes long" },
};

static void mistakes_are_named(void **state) {
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
                assert_int_equal(parse(f, refused[i].line), ERR_INVAL);
                assert_string_equal(f->err.msg, refused[i].message);
        }
}

static void bounds_are_inclusive(void **state) {
        struct fixture *f = *state;

        assert_int_equal(parse(f, "--workers 1"), 0);
        assert_int_equal(parse(f, "--workers 16"), 0);
        assert_int_equal(parse(f, "--poll-interval 1h --repo 12345678901234567890"), 0);
        assert_int_equal(f->s.workers, 16);
}

static void a_document_sets_nested_keys(void **state) {
        struct fixture *f = *state;
        const struct value *limits = json(f, "workers", value_int(f->a, 7, 3));
        const struct value *doc;

        limits = value_with(f->a, limits, STR("prune"), value_bool(f->a, false, 4));
        doc = json(f, "limits", limits);
        doc = value_with(f->a, doc, STR("pollInterval"), value_stringc(f->a, "90s"));
        doc = value_with(f->a, doc, STR("output"), value_stringc(f->a, "yaml"));
        doc = value_with(f->a, doc, STR("config"), value_stringc(f->a, "one"));
        doc = value_with(f->a, doc, STR("repo"), &value_null);

        assert_int_equal(options_read(f->groups, 2, doc, f->a, say, f), 0);
        assert_int_equal(f->s.workers, 7);
        assert_false(f->s.prune);
        assert_int_equal(f->s.poll_ms, 90000);
        assert_int_equal(f->s.format, 2);
        assert_int_equal(f->s.config.count, 1);
}

static void a_choice_of_true_takes_yamls(void **state) {
        static const char *const words[] = { "auto", "true", "false", NULL };
        struct fixture *f = *state;
        const struct option_def def = { .key = "elect", .type = OPTION_CHOICE, .choices = words, .help = "elect" };
        const struct option_group group = { "Elect", &def, 1, NULL };
        int chosen = 0;

        assert_int_equal(option_set_value(&def, &chosen, value_bool(f->a, true, 0), f->a, NULL), 0);
        assert_int_equal(chosen, 1);
        assert_int_equal(option_set_value(&def, &chosen, value_bool(f->a, false, 0), f->a, NULL), 0);
        assert_int_equal(chosen, 2);
        assert_int_equal(option_set_value(&def, &chosen, value_stringc(f->a, "auto"), f->a, NULL), 0);
        assert_int_equal(chosen, 0);
        assert_int_equal(option_set_value(&defs[5], &f->s, value_bool(f->a, true, 0), f->a, &f->err), ERR_INVAL);
        assert_string_equal(
                value_canonical(f->a, value_path(options_schema(&group, 1, f->a), "properties", "elect", "enum", NULL)).p,
                "[\"auto\",\"true\",true,\"false\",false,null]");
}

static void a_document_list_replaces(void **state) {
        struct fixture *f = *state;
        struct value_list_builder b = { 0 };

        value_list_add(&b, value_stringc(f->a, "x"));
        value_list_add(&b, value_stringc(f->a, "y"));
        assert_int_equal(parse(f, "--config before"), 0);
        assert_int_equal(options_read(f->groups, 2, json(f, "config", value_list_end(&b, f->a, 0)), f->a, say, f), 0);
        assert_int_equal(f->s.config.count, 2);
        assert_true(str_eqc(f->s.config.items[1], "y"));
}

static void all_mistakes_of_a_document_are_told_at_once(void **state) {
        struct fixture *f = *state;
        const struct value *doc = json(f, "pollIntervall", value_int(f->a, 1, 0));
        struct value_list_builder b = { 0 };

        value_list_add(&b, value_int(f->a, 1, 0));
        doc = value_with(f->a, doc, STR("limits"), json(f, "worker", value_int(f->a, 1, 0)));
        doc = value_with(f->a, doc, STR("output"), value_int(f->a, 1, 0));
        doc = value_with(f->a, doc, STR("config"), value_list_end(&b, f->a, 0));
        doc = value_with(f->a, doc, STR("xyzzy"), value_int(f->a, 1, 0));

        assert_int_equal(options_read(f->groups, 2, doc, f->a, say, f), 5);
        assert_string_equal(f->said.p, "0: config must be a list of strings\n"
                                       "0: unknown key limits.worker, did you mean limits.workers?\n"
                                       "0: output must be a string, not a number\n"
                                       "0: unknown key pollIntervall, did you mean pollInterval?\n"
                                       "0: unknown key xyzzy\n");
}

static void a_document_that_is_no_map_is_refused(void **state) {
        struct fixture *f = *state;

        assert_int_equal(options_read(f->groups, 2, value_int(f->a, 1, 9), f->a, say, f), 1);
        assert_string_equal(f->said.p, "9: must be a map\n");
        assert_int_equal(options_read(f->groups, 2, NULL, f->a, say, f), 0);
        assert_int_equal(options_read(f->groups, 2, json(f, "limits", value_int(f->a, 1, 9)), f->a, say, f), 1);
        assert_int_equal(options_read(f->groups, 2, json(f, "limits", &value_null), f->a, say, f), 0);
}

static void help_lists_every_option_with_default_and_wraps(void **state) {
        struct fixture *f = *state;
        struct str rest, line;

        options_help(f->groups, 2, &f->said);
        assert_int_equal(buf_check(&f->said, "help", NULL), 0);
        assert_non_null(strstr(f->said.p, "Options:\n      --repo URL              the repository to follow\n"));
        assert_non_null(strstr(f->said.p, "[default 30s]"));
        assert_non_null(strstr(f->said.p, "  -o, --output WORD           form of the output (one of table, json, yaml)"));
        assert_non_null(strstr(f->said.p, "[default table]"));
        assert_non_null(strstr(f->said.p, "\n      --wait "));
        assert_non_null(strstr(f->said.p, "\nOther:\n      --until[=WHAT]"));
        assert_non_null(strstr(f->said.p, "[default true; --no-prune]"));
        assert_null(strstr(f->said.p, "hush"));
        rest = buf_str(&f->said);
        while (str_next(&rest, '\n', &line))
                assert_true(line.n <= 100);
}

static void help_is_asked_for_before_the_operands_end(void **state) {
        char *const yes[] = { (char[]){ "x" }, (char[]){ "-h" } };
        char *const no[] = { (char[]){ "--" }, (char[]){ "--help" } };

        (void)state;
        assert_true(options_want_help(2, yes));
        assert_false(options_want_help(2, no));
}

static void nearest_finds_swaps_and_case_but_not_strangers(void **state) {
        static const char *const words[] = { "targetRevision", "path", "repoURL" };

        (void)state;
        assert_string_equal(option_nearest(STR("targetrevsion"), words, 3), "targetRevision");
        assert_string_equal(option_nearest(STR("ptah"), words, 3), "path");
        assert_string_equal(option_nearest(STR("repoUrl"), words, 3), "repoURL");
        assert_null(option_nearest(STR("x"), words, 3));
        assert_null(option_nearest(STR("image"), words, 3));
        assert_null(option_nearest(STR(""), words, 3));
        assert_null(option_nearest(STR("path"), words, 0));
}

static void nearest_survives_long_words(void **state) {
        static const char *const words[] = {
                "0123456789012345678901234567890123456789012345678901234567890123",
                "01234567890123456789012345678901234567890123456789012345678901234",
        };

        (void)state;
        assert_string_equal(option_nearest(str_from(words[0]), words, 2), words[0]);
        assert_null(option_nearest(str_from(words[1]), words, 2));
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(defaults_come_from_the_table),
                T(flags_are_read_in_every_form),
                T(a_lone_dash_is_an_operand),
                T(a_value_may_look_like_a_flag),
                T(a_choice_may_mean_something_without_a_value),
                T(lists_grow_in_a_pass_and_start_anew_in_the_next),
                T(mistakes_are_named),
                T(bounds_are_inclusive),
                T(a_document_sets_nested_keys),
                T(a_choice_of_true_takes_yamls),
                T(a_document_list_replaces),
                T(all_mistakes_of_a_document_are_told_at_once),
                T(a_document_that_is_no_map_is_refused),
                T(help_lists_every_option_with_default_and_wraps),
                T(help_is_asked_for_before_the_operands_end),
                T(nearest_finds_swaps_and_case_but_not_strangers),
                T(nearest_survives_long_words),
        };

        return cmocka_run_group_tests_name("option", tests, NULL, NULL);
}
