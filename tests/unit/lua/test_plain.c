/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts of tests/cases/lua/plain return the same text in the sandbox as in Lua itself, with all of its libraries.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "../../read_file.h"
#include "arena_test.h"
#include "base/limits.h"
#include "lua/script.h"

static struct str run_plain(struct str text) {
        lua_State *L = luaL_newstate();
        struct str result;

        luaL_openlibs(L);
        if (luaL_loadbufferx(L, text.p, text.n, "@case", "t") != LUA_OK || lua_pcall(L, 0, 1, 0) != LUA_OK)
                fail_msg("%s", lua_tostring(L, -1));
        result.p = luaL_checklstring(L, -1, &result.n);
        result = arena_str(a, result);
        lua_close(L);
        return result;
}

static struct str run_in_sandbox(struct str text) {
        struct lua_source source = { .text = text, .name = STR("case") };
        struct err err;
        _cleanup_(lua_script_unrefp) struct lua_script *s = lua_script_new(&source, &err);
        struct lua_call call = { .script = s, .max_ms = 60 * 1000, .max_memory_bytes = 64 * MIB };
        const struct value *result = NULL;

        assert_non_null(s);
        if (lua_script_run(&call, a, &result, &err) < 0)
                fail_msg("%s", err.msg);
        return value_text(result);
}

/* Names the first line that differs. */
static void assert_same(const char *name, struct str plain, struct str sandbox) {
        struct str left, right = { 0 };
        size_t line = 0;

        assert_true(plain.n > 0);
        while (str_next(&plain, '\n', &left)) {
                line++;
                if (!str_next(&sandbox, '\n', &right) || !str_eq(left, right))
                        fail_msg("%s, line %zu of the result: %.*s instead of %.*s", name, line, STR_FMT(right),
                                 STR_FMT(left));
        }
        assert_int_equal(sandbox.n, 0);
}

static void check_file(const char *name) {
        _cleanup_(buf_done) struct buf path = buf_make(4096), text = buf_make(1 * MIB);

        buf_addf(&path, "%s/tests/cases/lua/plain/%s", TRUCE_SOURCE_DIR, name);
        assert_true(read_file(path.p, &text));
        assert_same(name, run_plain(buf_str(&text)), run_in_sandbox(buf_str(&text)));
}

static void it_is_as_in_plain_lua(void **state) {
        DIR *dir = opendir(TRUCE_SOURCE_DIR "/tests/cases/lua/plain");
        struct dirent *entry;
        int count = 0;

        (void)state;
        assert_non_null(dir);
        while ((entry = readdir(dir))) {
                if (!str_ends(str_from(entry->d_name), STR(".lua")))
                        continue;
                check_file(entry->d_name);
                count++;
        }
        closedir(dir);
        assert_true(count >= 5);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(it_is_as_in_plain_lua, setup, teardown) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
