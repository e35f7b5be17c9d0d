/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script, a NUL and an object as JSON, which may be missing: whatever they are, the evaluation ends in time and
 * memory, with a value or with one line that says why.
 */
#include "fuzz.h"

#include "base/json.h"
#include "lua/script.h"

#define MAX_MS           50
#define MAX_MEMORY_BYTES (4 * MIB)

static void check_message(const struct err *err) {
        HOLDS(err->code == ERR_INVAL || err->code == ERR_TIMEOUT || err->code == ERR_LIMIT);
        HOLDS(str_starts(str_from(err->msg), STR("fuzz.lua")) || err->code == ERR_INVAL);
        for (const char *c = err->msg; *c; c++)
                HOLDS((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void run(struct lua_script *s, const struct value *object, struct arena *a) {
        struct lua_call call = {
                .script = s, .object = object, .open_libs = true, .now_s = 1893456000, .max_ms = MAX_MS
        };
        const struct value *result = NULL, *again;
        struct err err = { 0 };

        call.max_memory_bytes = MAX_MEMORY_BYTES;
        int r = lua_script_run(&call, a, &result, &err);
        HOLDS(r == err.code);
        if (r < 0)
                check_message(&err);
        else if (result)
                HOLDS(json_parse(value_canonical(a, result), a, &again, NULL) == 0 && value_equal(result, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct str all = { (const char *)data, n };
        ptrdiff_t end = str_find(all, '\0', 0);
        struct lua_source source = { .text = str_sub(all, 0, end < 0 ? n : (size_t)end), .name = STR("fuzz.lua") };
        struct arena *a = arena_new(0);
        const struct value *object = NULL;
        struct err err = { 0 };
        struct lua_script *s = lua_script_new(&source, &err);

        if (end >= 0 && json_parse(str_sub(all, (size_t)end + 1, n), a, &object, NULL) < 0)
                object = NULL;
        if (s)
                run(s, object, a);
        else
                check_message(&err);
        lua_script_unref(s);
        arena_free(a);
        return 0;
}
