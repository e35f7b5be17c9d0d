/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lua scripts that judge an object, in a sandbox: Lua 5.4, a fresh state for each evaluation, the object as the global
 * `obj`, what the script returns as a value.
 *
 * A script can do nothing but compute. It sees no file, process, network, environment, clock (os.time() says what it is
 * given), address or randomness (math.random is the same in each evaluation, and pairs() goes by keys in order), and it
 * ends: after LUA_MAX_MS of processor time, or when it needs more than LUA_MAX_MEMORY_BYTES. Both ends are final. The
 * evaluation is left where it stands and its memory is dropped as a whole; no pcall, error handler, coroutine,
 * metamethod or variable to be closed runs again.
 *
 * Open in both modes: the base functions, string, table, math, utf8, methods of strings. With `open_libs` also the
 * global `os` (time, date, difftime, as require("os") gives them in both) and coroutine. In no mode: io, debug,
 * package, dofile, loadfile, warn, string.dump and pack, coroutine.close, the rest of os. Different from plain Lua:
 *
 *  - Lua 5.1: unpack, table.getn, table.maxn, string.gfind, math.pow, math.mod, math.log10, math.ldexp, math.frexp are
 *    there; loadstring says what to use instead; string.format("%d") cuts what is no integer.
 *  - load takes text only, up to LUA_MAX_LOADED_BYTES.
 *  - require gives "os", the libraries that are open, and `modules`; each runs once an evaluation.
 *  - print goes to the caller's `print`, and nowhere without one. collectgarbage counts; to collect does nothing.
 *  - setmetatable refuses __gc and __mode; one that is set later has no effect. getmetatable("") is false.
 *  - tostring of a table or function is its kind, without an address. table functions and pairs of no __pairs are raw.
 *  - os.time and os.date speak UTC, always.
 *  - A string has at most LUA_MAX_STRING_BYTES, a function's call some 16,000 values.
 * As in Lua 5.4, 6 / 2 is 3.0 in a text; 6 // 2 and "%d" are 3.
 *
 * The object comes in as Argo CD gives it: maps and lists are tables, a list's items in order from 1; a null is nothing
 * (a key is absent; a list's null is left out, so that ipairs goes on behind it). Whole numbers below 2^53 are
 * integers, however they are written; what does not fit an int64 is a float.
 *
 * Thread rule: a script may be run by many threads at once. A run needs up to 1 MiB of C stack.
 */
#ifndef TRUCE_LUA_SCRIPT_H
#define TRUCE_LUA_SCRIPT_H

#include "base/limits.h" /* LUA_MAX_… */
#include "base/value.h"

/* Compiled once, immutable, counted atomically. */
struct lua_script;

struct lua_source {
        struct str text; /* Lua, not bytecode; a UTF-8 byte order mark is skipped */
        struct str name; /* in messages: a file, or "argocd-cm.yaml" */
        uint32_t line;   /* of the text's first line in that file; 0 counts as 1. Messages say NAME:LINE of the file */
};

/* NULL on failure: INVAL "NAME:LINE: …" for what is no Lua or is bytecode, LIMIT. The source is copied. */
struct lua_script *lua_script_new(const struct lua_source *source, struct err *err);
struct lua_script *lua_script_ref(struct lua_script *s);
void lua_script_unref(struct lua_script *s);
DEFINE_CLEANUP(struct lua_script *, lua_script_unref)

/* What require(name) gives: the script is run when it is first asked for, and what it returns is kept. */
struct lua_module {
        const char *name;
        struct lua_script *script;
};

/* lines[n] != 0: line n of the script's text (from 1; not of the file) was run. The array is the caller's. */
struct lua_coverage {
        uint8_t *lines;
        size_t count;
};

struct lua_call {
        struct lua_script *script;
        const struct value *object; /* the global `obj`; NULL: nil */
        bool open_libs;             /* useOpenLibs */
        const struct lua_module *modules;
        size_t module_count;
        int64_t now_s;           /* Unix seconds: os.time(), os.date() */
        size_t max_memory_bytes; /* 0: LUA_MAX_MEMORY_BYTES */
        /*
         * Of the thread's processor time; 0: LUA_MAX_MS. While others have the processor the clock on the wall goes on
         * further: no script is to blame for what it was not let do. (Argo CD's limit is one of the wall.)
         */
        int64_t max_ms;
        struct lua_coverage *coverage;             /* NULL: none */
        /*
         * About the nanoseconds of work that it was, also of one that failed: instructions, blocks and bytes are counted, not
         * time, so that the same script makes the same of the same object on any machine. NULL: nobody asks.
         */
        uint64_t *work_ns;
        void (*print)(void *ctx, struct str line); /* what the script prints, a line at a time; NULL: dropped */
        void *print_ctx;
};

/*
 * Runs it in a fresh state. 0: *ret is the first value returned, in the arena; NULL for nil or nothing. A table whose
 * keys are 1 to n is a list, an empty one too, else it is a map whose number keys are text; metatables are not asked.
 * INVAL: the script raised an error ("NAME:LINE: text"), or returned what is no data. TIMEOUT: out of time. LIMIT: out
 * of memory, or what was returned passes LUA_MAX_RETURNED_*. Messages are one line without control characters.
 */
int lua_script_run(const struct lua_call *call, struct arena *a, const struct value **ret, struct err *err);

#endif
