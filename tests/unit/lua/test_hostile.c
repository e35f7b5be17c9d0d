/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripts of tests/cases/lua/hostile: each says in its first line how it ends ("timeout", "limit", "error",
 * "returns", which is true; several with "or") and why it is there, and may say in its second one what is told. Each
 * runs in a process of its own, whose memory and processor time show whether it was contained: what is over after
 * MAX_MS or MAX_MEMORY_BYTES is over. In builds that measure themselves only the ends count.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "../../read_file.h"
#include "arena_test.h"
#include "base/json.h"
#include "base/limits.h"
#include "lua/script.h"

#define FOLDER           TRUCE_SOURCE_DIR "/tests/cases/lua/hostile"
#define MAX_MS           100
#define LONG_MAX_MS      50000 /* of those that end otherwise, however busy the machine is */
#define MAX_MEMORY_BYTES (16 * MIB)
#define MAX_STACK_BYTES  (1 * MIB) /* of C: script.h */
#define MAX_FILES        1000
/* A single step that is not interrupted: two strings of 4 MiB are compared, all memory is collected. */
#define MORE_MS           200
#define MORE_MEMORY_BYTES (6 * MIB)

enum { CONTAINED, OTHER_END, OTHER_WORDS, OTHER_VALUE, NO_SCRIPT, NOT_SANE };
static const char *const verdicts[] = { "",
                                        "ends otherwise",
                                        "says something else",
                                        "returns something else",
                                        "is no script",
                                        "leaves the next one something" };

#ifndef __has_feature /* clang's way of saying it */
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) ||               \
        __has_feature(thread_sanitizer)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static bool is_measured(void) {
        const char *preloaded = getenv("LD_PRELOAD");

        return !sanitized && !(preloaded && strstr(preloaded, "vgpreload"));
}

/* What follows `mark` in the text's first lines, to the end of the line. */
static struct str line_after(struct str text, const char *mark) {
        struct str line;

        while (str_next(&text, '\n', &line) && str_starts(line, STR("-- "))) {
                if (str_starts(line, str_from(mark)))
                        return str_sub(line, strlen(mark), line.n);
        }
        return (struct str){ 0 };
}

static const char *end_name(int r) {
        return r == 0 ? "returns" : r == ERR_TIMEOUT ? "timeout" : r == ERR_LIMIT ? "limit" : "error";
}

static int run_script(struct lua_script *s, int64_t max_ms, const struct value **ret, struct err *err) {
        struct lua_call call = { .script = s, .open_libs = true, .max_ms = max_ms, .now_s = 1893456000 };

        call.max_memory_bytes = MAX_MEMORY_BYTES;
        assert_int_equal(json_parse(STR("{\"status\":{\"list\":[1,null,{\"a\":1.5}]}}"), a, &call.object, NULL), 0);
        return lua_script_run(&call, a, ret, err);
}

/* Is it one of the ends that the script may have? */
static bool may_end(struct str text, const char *how) {
        struct str ends = line_after(text, "-- ");
        ptrdiff_t colon = str_find(ends, ':', 0);

        return colon > 0 && str_contains(str_sub(ends, 0, (size_t)colon), str_from(how));
}

static int judge(struct str text, int r, const struct value *result, const struct err *err) {
        struct str says = line_after(text, "-- says: ");

        if (!may_end(text, end_name(r)))
                return OTHER_END;
        if (r == 0)
                return value_truth(result, false) ? CONTAINED : OTHER_VALUE;
        for (const char *c = err->msg; *c; c++) {
                if ((unsigned char)*c < ' ')
                        return OTHER_WORDS;
        }
        return str_contains(str_from(err->msg), says) ? CONTAINED : OTHER_WORDS;
}

/* The script, and after it an ordinary one in the same process. */
static int run_file(const char *path) {
        _cleanup_(buf_done) struct buf text = buf_make(1 * MIB);
        struct lua_source source = { .name = STR("hostile.lua") },
                          sane = { .text = STR("return ('x'):rep(2)"), .name = STR("x") };
        const struct value *result = NULL;
        struct err err = { 0 };

        if (!read_file(path, &text))
                return NO_SCRIPT;
        source.text = buf_str(&text);
        struct lua_script *s = lua_script_new(&source, &err);
        if (!s) {
                fprintf(stderr, "%s\n", err.msg);
                return NO_SCRIPT;
        }
        int r = run_script(s, may_end(buf_str(&text), "timeout") ? MAX_MS : LONG_MAX_MS, &result, &err);
        int verdict = judge(buf_str(&text), r, result, &err);
        if (verdict != CONTAINED)
                fprintf(stderr, "%s: %s: %s\n", path, end_name(r),
                        r < 0    ? err.msg
                        : result ? value_canonical(a, result).p
                                 : "nil");
        lua_script_unref(s);
        s = lua_script_new(&sane, NULL);
        if (run_script(s, LONG_MAX_MS, &result, &err) < 0 || !str_eqc(value_text(result), "xx"))
                return NOT_SANE;
        lua_script_unref(s);
        return verdict;
}

/* NULL: does nothing. The exit status; > 255: it crashed. */
static int run_in_child(const char *path, struct rusage *ret_usage) {
        pid_t child = fork();
        int status;

        assert_true(child >= 0);
        if (child == 0) {
                const struct rlimit stack = { MAX_STACK_BYTES, MAX_STACK_BYTES };

                alarm(100);
                if (is_measured())
                        setrlimit(RLIMIT_STACK, &stack);
                _exit(path ? run_file(path) : CONTAINED);
        }
        assert_int_equal(wait4(child, &status, 0, ret_usage), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static long used_ms(const struct rusage *u) {
        return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000 + (u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1000;
}

static bool is_contained(const char *name) {
        _cleanup_(buf_done) struct buf path = buf_make(4096);
        struct rusage nothing, usage;

        buf_addf(&path, "%s/%s", FOLDER, name);
        run_in_child(NULL, &nothing);
        int verdict = run_in_child(path.p, &usage);
        if (verdict != CONTAINED)
                fprintf(stderr, "%s %s (%d)\n", name,
                        verdict < (int)ARRAY_LEN(verdicts) ? verdicts[verdict] : "crashes", verdict);
        if (!is_measured())
                return verdict == CONTAINED;
        long ms = used_ms(&usage), kib = usage.ru_maxrss - nothing.ru_maxrss;
        bool in_time = ms <= MAX_MS + MORE_MS, in_memory = kib <= (MAX_MEMORY_BYTES + MORE_MEMORY_BYTES) / KIB;
        if (getenv("SHOW"))
                printf("%6ld ms %6ld KiB %s\n", ms, kib, name);
        if (!in_time)
                fprintf(stderr, "%s takes %ld ms\n", name, ms);
        if (!in_memory)
                fprintf(stderr, "%s takes %ld KiB\n", name, kib);
        return verdict == CONTAINED && in_time && in_memory;
}

static int by_name(const void *left, const void *right) {
        return strcmp(*(char *const *)left, *(char *const *)right);
}

static size_t list_files(char *ret_names[MAX_FILES]) {
        DIR *dir = opendir(FOLDER);
        struct dirent *entry;
        size_t count = 0;

        assert_non_null(dir);
        while (count < MAX_FILES && (entry = readdir(dir))) {
                if (str_ends(str_from(entry->d_name), STR(".lua")))
                        ret_names[count++] = str_dup(str_from(entry->d_name));
        }
        closedir(dir);
        qsort(ret_names, count, sizeof *ret_names, by_name);
        return count;
}

static void each_is_contained(void **state) {
        char *names[MAX_FILES];
        size_t count = list_files(names), failed = 0;

        (void)state;
        for (size_t i = 0; i < count; i++) {
                failed += !is_contained(names[i]);
                free(names[i]);
        }
        printf("%zu scripts\n", count);
        assert_true(count >= 70);
        assert_int_equal(failed, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(each_is_contained, setup, teardown) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
