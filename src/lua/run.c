/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/run_impl.h"

#include "base/limits.h"

/* Instructions between two looks at the clock: some 10 µs. */
#define RUN_INTERVAL      1000
#define RUN_INTERVAL_WORK 10000
/* The same for each byte of the longest string: an instruction needs up to 10 ns a byte. */
#define RUN_INTERVAL_BYTES      (1024 * 1024)
#define RUN_FIRST_COLLECT_BYTES (2 * 1024 * 1024)
#define RUN_LAST_COLLECT_SHARE  16
/*
 * Values that a function has on its stack when that is to grow. Some of what Lua does there is quadratic in their
 * number, without an instruction in between: the call of a table that is called by calling itself.
 */
#define RUN_MAX_VALUES     16000
#define RUN_STACK_BYTES    (64 * 1024) /* less is never for the stack of so many */
#define DEEP_CALLS         1000        /* who was out of memory this deep has called too much */
#define PLACE_MAX_LEVELS   20
#define RUN_WORK_PER_BLOCK 20
#define RUN_BYTES_PER_NS   8

static const char metatables_key;

static int64_t system_clock_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* The place that the script has come to. Allocates nothing, so it may be looked for from anywhere. */
static void note_place(struct run *r) {
        lua_Debug ar;

        for (int level = 0; level < PLACE_MAX_LEVELS && r->current && lua_getstack(r->current, level, &ar); level++) {
                if (!lua_getinfo(r->current, "Sl", &ar) || ar.currentline <= 0)
                        continue;
                snprintf(r->ended_in, sizeof r->ended_in, "%s", ar.short_src);
                r->ended_line = ar.currentline;
                return;
        }
}

void run_leave(struct run *r, enum err_code code) {
        lua_Debug ar;

        r->ended = code;
        r->ended_deep = r->current && lua_getstack(r->current, DEEP_CALLS, &ar);
        note_place(r);
        longjmp(r->out, 1);
}

/*
 * What counts is the thread's processor time: a script is not to blame for what it was not let do. To ask for it is a
 * system call, so the wall is looked at, until as much has passed there as is left; no thread can have used more.
 */
void run_check_time(struct run *r) {
        int64_t now_ns = r->clock_ns(CLOCK_MONOTONIC), left_ns;

        r->work_before += r->work;
        r->work = 0;
        if (now_ns < r->look_ns)
                return;
        left_ns = r->max_ns - (r->clock_ns(CLOCK_THREAD_CPUTIME_ID) - r->cpu_begin_ns);
        if (left_ns <= 0)
                run_leave(r, ERR_TIMEOUT);
        r->look_ns = now_ns + left_ns;
}

static void begin_time(struct run *r, int64_t max_ms) {
        r->max_ns = max_ms * INT64_C(1000000);
        r->cpu_begin_ns = r->clock_ns(CLOCK_THREAD_CPUTIME_ID);
        r->look_ns = r->clock_ns(CLOCK_MONOTONIC) + r->max_ns;
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
        if (n >= RUN_STACK_BYTES && r->current && lua_gettop(r->current) > RUN_MAX_VALUES)
                run_leave(r, ERR_LIMIT);
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
        /* A step in a large table may take long, too. */
        size_t interval = RUN_INTERVAL / (1 + r->memory.used_bytes / MIB);

        if (r->collect)
                return 1;
        if (r->longest_bytes > RUN_INTERVAL_BYTES / interval)
                interval = RUN_INTERVAL_BYTES / r->longest_bytes;
        return interval ? (int)interval : 1;
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

        /* As much again as is in use, or half of what is left; or there will be no end of collecting, for nothing. */
        size_t used = r->memory.used_bytes, left = r->memory.max_bytes - used;
        size_t more = used > RUN_FIRST_COLLECT_BYTES ? used : RUN_FIRST_COLLECT_BYTES;
        more = more < left / 2 ? more : left / 2;
        if (more < r->memory.max_bytes / RUN_LAST_COLLECT_SHARE)
                more = r->memory.max_bytes / RUN_LAST_COLLECT_SHARE;
        r->collect_at_bytes = used + more;
        set_hook(r);
}

static void hook(lua_State *L, lua_Debug *ar) {
        struct run *r = run_of(L);

        if (ar->event == LUA_HOOKLINE) {
                cover(r, L, ar);
                return;
        }
        r->work += RUN_INTERVAL_WORK;
        run_check_time(r);
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
        char place[LUA_MAX_MESSAGE_BYTES + LUA_IDSIZE];

        if (r->ended_line)
                snprintf(place, sizeof place, "%s%s:%d", whole, r->ended_in + from, r->ended_line);
        else
                snprintf(place, sizeof place, "%s", name);
        if (r->ended == ERR_TIMEOUT)
                return err_set(err, ERR_TIMEOUT, "%s: not done after %lld ms", place, (long long)(r->max_ns / 1000000));
        if (r->ended_deep)
                return err_set(err, ERR_LIMIT, "%s: more than %d calls inside of each other take all its memory", place,
                               DEEP_CALLS);
        return err_set(err, ERR_LIMIT, "%s: needs more than %zu KiB of memory", place, r->memory.max_bytes / KIB);
}

int run_by_clock(const struct lua_call *call, int64_t (*clock_ns)(clockid_t clock), struct arena *a,
                 const struct value **ret, struct err *err) {
        struct run r = { .call = call, .arena = a, .clock_ns = clock_ns };

        r.memory.max_bytes = call->max_memory_bytes ? call->max_memory_bytes : LUA_MAX_MEMORY_BYTES;
        r.collect_at_bytes = RUN_FIRST_COLLECT_BYTES;
        if (r.collect_at_bytes > r.memory.max_bytes / 2)
                r.collect_at_bytes = r.memory.max_bytes / 2;
        begin_time(&r, call->max_ms > 0 ? call->max_ms : LUA_MAX_MS);

        int result;
        if (setjmp(r.out) == 0)
                result = evaluate(&r, err);
        else
                result = explain_end(&r, err);
        memory_done(&r.memory);
        if (call->work_ns)
                *call->work_ns = r.work_before + r.work;
        if (result == 0)
                *ret = r.result;
        return result;
}

int lua_script_run(const struct lua_call *call, struct arena *a, const struct value **ret, struct err *err) {
        return run_by_clock(call, system_clock_ns, a, ret, err);
}
