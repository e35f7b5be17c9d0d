/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One evaluation, and how it is bounded.
 *
 * run_leave() ends it from wherever it stands: it jumps out of the interpreter to lua_script_run(), which drops the
 * state's memory. Nothing of the script gets a say, as no error is raised. So whoever may call it (directly, by
 * run_charge(), or by anything of Lua that allocates) owns nothing outside of the state.
 *
 * Time is the thread's processor time. It is looked at
 *  - by the instruction hook, each RUN_INTERVAL instructions, or more often when there are long strings, as one
 *    instruction may look at each byte of them (comparison, a number's text);
 *  - by run_charge(), which whatever is written in C calls with about the nanoseconds that it is going to need, and the
 *    allocator for what is allocated.
 *
 * Lua's collector is stopped and never collects by itself: a weak table could make it quadratic, and would not be
 * interrupted. The hook collects when enough was allocated, after it has taken __mode and __gc out of all metatables.
 */
#ifndef TRUCE_LUA_RUN_IMPL_H
#define TRUCE_LUA_RUN_IMPL_H

#include <lua.h>
#include <lauxlib.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <time.h>

#include "lua/memory_impl.h"
#include "lua/script.h"

struct lua_script {
        atomic_uint references;
        char *chunk; /* "@NAME", as Lua has it in messages */
        char *name;
        uint32_t line; /* of the text's first one */
        char *code;    /* Lua's own bytecode, with line numbers */
        size_t code_bytes;
};

struct run {
        const struct lua_call *call;
        struct arena *arena; /* for the result */
        const struct value *result;
        size_t result_values, result_bytes;
        jmp_buf out;
        int ended;       /* TIMEOUT or LIMIT */
        bool ended_deep; /* in many calls */
        int ended_line;  /* of the file `ended_in`; 0: not known */
        char ended_in[LUA_IDSIZE];
        struct memory memory;
        lua_State *current; /* the coroutine that runs; NULL while the state is made */
        int64_t (*clock_ns)(clockid_t clock); /* CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID are asked for */
        int64_t cpu_begin_ns, max_ns;
        int64_t look_ns;         /* of the wall; it cannot be out of time before */
        uint64_t work;           /* about ns since the clock was looked at */
        uint64_t work_before;    /* and until then */
        size_t longest_bytes;    /* of all strings */
        size_t collect_at_bytes; /* of memory in use */
        bool collect;            /* at the next instruction */
        size_t printed_bytes;
};

static inline struct run *run_of(lua_State *L) {
        return *(struct run **)lua_getextraspace(L);
}

/* run.c */
/* lua_script_run(), with the time as a test has it. */
int run_by_clock(const struct lua_call *call, int64_t (*clock_ns)(clockid_t clock), struct arena *a,
                 const struct value **ret, struct err *err);
_Noreturn void run_leave(struct run *r, enum err_code code);
void run_check_time(struct run *r);

#define RUN_WORK_PER_LOOK 50000

/* `work`: about ns that are going to be needed. */
static inline void run_charge(struct run *r, uint64_t work) {
        r->work += work;
        if (r->work >= RUN_WORK_PER_LOOK)
                run_check_time(r);
}

/* Puts the hook on a coroutine that is going to run; it becomes the current one. */
void run_enter(struct run *r, lua_State *L);
/* What setmetatable() was given: the collector has to know. */
void run_note_metatable(lua_State *L, int index);
void run_open_metatables(lua_State *L);

/* Runs a script's main chunk; what it returns, one value, is on the stack. */
void run_script(lua_State *L, const struct lua_script *script);

/* libs.c: opens what a script finds in its state. */
void libs_open(lua_State *L);
/* base.c: sets the globals that are ours. */
void libs_open_base(lua_State *L);
/* os.c, coroutine.c, table.c: push the library. */
int libs_open_os(lua_State *L);
int libs_open_coroutine(lua_State *L);
int libs_open_table(lua_State *L);
/* string.c, format.c: for the library at the top. */
void libs_open_string(lua_State *L);
int libs_format(lua_State *L);
/* compat.c: adds to the libraries that are open. */
void libs_open_compat(lua_State *L);
/* require.c: the global `require`. */
void libs_open_require(lua_State *L);
void libs_can_require(lua_State *L, const char *name);

/* What tostring() says, without an address, on the stack; borrowed from there. Asks __tostring and __name. */
const char *libs_text(lua_State *L, int index, size_t *ret_bytes);

/* import.c: pushes a value. */
void import_value(lua_State *L, const struct value *v);
/* export.c: the value at the top of the stack, in the run's arena; raises when it is no data. */
const struct value *export_value(lua_State *L);

/* message.c: what an error object says, on one line, in *err. */
int message_set(struct err *err, enum err_code code, const char *name, lua_State *L);
/*
 * The script's name, when `text` begins with what Lua made of one that is too long for it; *ret_from is where the rest
 * of the text begins. Else "" and 0.
 */
const char *message_uncut(const char *name, const char *text, size_t *ret_from);
/* One line without control characters, at most LUA_MAX_MESSAGE_BYTES, for messages. */
void message_clean(struct str text, char ret_text[LUA_MAX_MESSAGE_BYTES + 1]);

#endif
