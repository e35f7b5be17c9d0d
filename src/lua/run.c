/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/run_impl.h"

#include <time.h>

#include "base/limits.h"

/* Instructions between two looks at the clock: some 10 µs. */
#define RUN_INTERVAL 1000
/* The same for each byte of the longest string: an instruction needs up to 20 ns a byte. */
#define RUN_INTERVAL_BYTES      (1024 * 1024)
#define RUN_FIRST_COLLECT_BYTES (2 * 1024 * 1024)
#define RUN_WORK_PER_BLOCK      20
#define RUN_BYTES_PER_NS        8

static const char metatables_key;

static int64_t clock_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void run_leave(struct run *r, enum err_code code) {
        r->ended = code;
        longjmp(r->out, 1);
}

void run_check_time(struct run *r) {
        r->work = 0;
        if (clock_ns() >= r->deadline_ns)
                run_leave(r, ERR_TIMEOUT);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void note_block(struct run *r, size_t n, bool is_string);

/* Lua's allocator, which never fails: who asks for too much is left. */
static void *allocate(void *ctx, void *block, size_t old, size_t n) {
        struct run *r = ctx;
        void *p;

        if (n == 0) {
                if (block)
                        memory_free(&r->memory, block, old);
                return NULL;
        }
        run_charge(r, RUN_WORK_PER_BLOCK + n / RUN_BYTES_PER_NS);
        /* Of a new block `old` is what it is for. */
        note_block(r, n, !block && old == LUA_TSTRING);
        p = block ? memory_resize(&r->memory, block, old, n) : memory_alloc(&r->memory, n);
        if (!p)
                run_leave(r, ERR_LIMIT);
        return p;
}

/* --- the hook ----------------------------------------------------------------------------------------------------- */

static void hook(lua_State *L, lua_Debug *ar);

static int interval(const struct run *r) {
        if (r->collect)
                return 1;
        if (r->longest_bytes <= RUN_INTERVAL_BYTES / RUN_INTERVAL)
                return RUN_INTERVAL;
        return r->longest_bytes < RUN_INTERVAL_BYTES ? (int)(RUN_INTERVAL_BYTES / r->longest_bytes) : 1;
}

/* May be called from the allocator: like lua_sethook(), which is made for signal handlers. */
static void set_hook(struct run *r) {
        int mask = LUA_MASKCOUNT | (r->call->coverage ? LUA_MASKLINE : 0);

        if (r->current)
                lua_sethook(r->current, hook, mask, interval(r));
}

void run_enter(struct run *r, lua_State *L) {
        r->current = L;
        set_hook(r);
}

static void note_block(struct run *r, size_t n, bool is_string) {
        bool longer = is_string && n > r->longest_bytes, full = r->memory.used_bytes + n >= r->collect_at_bytes;

        if (longer)
                r->longest_bytes = n;
        if (is_string && n > LUA_MAX_STRING_BYTES + 64)
                run_leave(r, ERR_LIMIT);
        if (full && !r->collect)
                r->collect = true;
        else if (!longer)
                return;
        set_hook(r);
}

/* The text's line that is at hand, should it be the script's. */
static void cover(struct run *r, lua_State *L, lua_Debug *ar) {
        const struct lua_script *s = r->call->script;
        struct lua_coverage *c = r->call->coverage;

        if (!lua_getinfo(L, "Sl", ar) || strcmp(ar->source, s->chunk) != 0 || ar->currentline < (int)s->line)
                return;
        size_t line = (size_t)ar->currentline - s->line + 1;
        if (line < c->count)
                c->lines[line] = 1;
}

static void note_place(struct run *r, lua_State *L, lua_Debug *ar) {
        if (!lua_getinfo(L, "Sl", ar) || ar->currentline <= 0)
                return;
        snprintf(r->ended_in, sizeof r->ended_in, "%s", ar->short_src);
        r->ended_line = ar->currentline;
}

static void forget_weakness(lua_State *L, int metatable) {
        static const char *const fields[] = { "__mode", "__gc" };

        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                lua_pushstring(L, fields[i]);
                lua_pushvalue(L, -1);
                if (lua_rawget(L, metatable) != LUA_TNIL) {
                        lua_pop(L, 1);
                        lua_pushnil(L);
                        lua_rawset(L, metatable);
                } else {
                        lua_pop(L, 2);
                }
        }
}

static void collect(struct run *r, lua_State *L) {
        r->collect = false;
        lua_rawgetp(L, LUA_REGISTRYINDEX, &metatables_key);
        lua_pushnil(L);
        while (lua_next(L, -2)) {
                lua_pop(L, 1);
                forget_weakness(L, lua_gettop(L));
        }
        lua_pop(L, 1);
        lua_gc(L, LUA_GCCOLLECT);

        /* As much again as is in use, and never more than half of what is left. */
        size_t used = r->memory.used_bytes, left = (r->memory.max_bytes - used) / 2;
        size_t more = used > RUN_FIRST_COLLECT_BYTES ? used : RUN_FIRST_COLLECT_BYTES;
        r->collect_at_bytes = used + (more < left ? more : left);
        set_hook(r);
}

static void hook(lua_State *L, lua_Debug *ar) {
        struct run *r = run_of(L);

        if (ar->event == LUA_HOOKLINE) {
                cover(r, L, ar);
                return;
        }
        r->work = 0;
        if (clock_ns() >= r->deadline_ns) {
                note_place(r, L, ar);
                run_leave(r, ERR_TIMEOUT);
        }
        if (r->collect)
                collect(r, L);
}

/* A table whose keys do not keep what they are. */
void run_open_metatables(lua_State *L) {
        lua_newtable(L);
        lua_createtable(L, 0, 1);
        lua_pushliteral(L, "k");
        lua_setfield(L, -2, "__mode");
        lua_setmetatable(L, -2);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &metatables_key);
}

void run_note_metatable(lua_State *L, int index) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &metatables_key);
        lua_pushvalue(L, index);
        lua_pushboolean(L, 1);
        lua_rawset(L, -3);
        lua_pop(L, 1);
}

/* --- an evaluation ------------------------------------------------------------------------------------------------ */

static const char *read_code(lua_State *L, void *ctx, size_t *ret_bytes) {
        struct str *code = ctx, piece = *code;

        (void)L;
        *code = (struct str){ 0 };
        *ret_bytes = piece.n;
        return piece.p;
}

void run_script(lua_State *L, const struct lua_script *script) {
        struct str code = { script->code, script->code_bytes };

        if (lua_load(L, read_code, &code, script->chunk, "b") != LUA_OK)
                lua_error(L);
        lua_call(L, 0, 1);
}

/* Under Lua's protection: whatever is raised here is an error of the script. */
static int body(lua_State *L) {
        struct run *r = lua_touserdata(L, 1);

        lua_settop(L, 0);
        run_open_metatables(L);
        libs_open(L);
        if (r->call->object)
                import_value(L, r->call->object);
        else
                lua_pushnil(L);
        lua_setglobal(L, "obj");
        run_enter(r, L);
        run_script(L, r->call->script);
        r->result = export_value(L);
        return 0;
}

static int evaluate(struct run *r, struct err *err) {
        const char *name = r->call->script->name;
        lua_State *L = lua_newstate(allocate, r);

        if (!L)
                return err_set(err, ERR_LIMIT, "%s: no memory for a state", name);
        *(struct run **)lua_getextraspace(L) = r;
        lua_gc(L, LUA_GCSTOP);
        lua_pushcfunction(L, body);
        lua_pushlightuserdata(L, r);
        if (lua_pcall(L, 1, 0, 0) != LUA_OK)
                return message_set(err, r->ended ? r->ended : ERR_INVAL, name, L);
        return 0;
}

static int explain_end(const struct run *r, struct err *err) {
        size_t from;
        const char *name = r->call->script->name, *whole = message_uncut(name, r->ended_in, &from);

        if (r->ended == ERR_LIMIT)
                return err_set(err, ERR_LIMIT, "%s: needs more than %zu KiB of memory", name,
                               r->memory.max_bytes / KIB);
        int64_t ms = r->call->max_ms > 0 ? r->call->max_ms : LUA_MAX_MS;
        if (!r->ended_line)
                return err_set(err, ERR_TIMEOUT, "%s: not done after %lld ms", name, (long long)ms);
        return err_set(err, ERR_TIMEOUT, "%s%s:%d: not done after %lld ms", whole, r->ended_in + from, r->ended_line,
                       (long long)ms);
}

int lua_script_run(const struct lua_call *call, struct arena *a, const struct value **ret, struct err *err) {
        struct run r = { .call = call, .arena = a };

        r.memory.max_bytes = call->max_memory_bytes ? call->max_memory_bytes : LUA_MAX_MEMORY_BYTES;
        r.collect_at_bytes = RUN_FIRST_COLLECT_BYTES;
        if (r.collect_at_bytes > r.memory.max_bytes / 2)
                r.collect_at_bytes = r.memory.max_bytes / 2;
        r.deadline_ns = clock_ns() + (call->max_ms > 0 ? call->max_ms : LUA_MAX_MS) * INT64_C(1000000);

        int result;
        if (setjmp(r.out) == 0)
                result = evaluate(&r, err);
        else
                result = explain_end(&r, err);
        memory_done(&r.memory);
        if (result == 0)
                *ret = r.result;
        return result;
}
