/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/script.h"

#include "base/limits.h"
#include "lua/run_impl.h"

#define COMPILE_MAX_MEMORY_BYTES (64 * MIB)
#define CODE_MAX_BYTES           (16 * MIB)

/* What the parser is given: a line feed for each line before the script's first one, then its text. */
struct reading {
        struct str text;
        uint32_t lines_before;
};

static const char *read_piece(lua_State *L, void *ctx, size_t *ret_bytes) {
        static const char feeds[] = "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";
        struct reading *reading = ctx;
        struct str piece = { feeds, sizeof feeds - 1 };

        (void)L;
        if (reading->lines_before) {
                if (piece.n > reading->lines_before)
                        piece.n = reading->lines_before;
                reading->lines_before -= (uint32_t)piece.n;
        } else {
                piece = reading->text;
                reading->text = (struct str){ 0 };
        }
        *ret_bytes = piece.n;
        return piece.n ? piece.p : NULL;
}

static int write_piece(lua_State *L, const void *p, size_t n, void *ctx) {
        struct buf *code = ctx;

        (void)L;
        buf_add(code, (struct str){ p, n });
        return code->overflow;
}

static void *allocate(void *ctx, void *block, size_t old, size_t n) {
        struct memory *m = ctx;

        if (n == 0) {
                if (block)
                        memory_free(m, block, old);
                return NULL;
        }
        return block ? memory_resize(m, block, old, n) : memory_alloc(m, n);
}

static int translate(struct lua_script *s, struct str text, lua_State *L, struct err *err) {
        _cleanup_(buf_done) struct buf code = buf_make(CODE_MAX_BYTES);
        struct reading reading = { .text = text, .lines_before = s->line - 1 };
        int r = lua_load(L, read_piece, &reading, s->chunk, "t");

        if (r != LUA_OK)
                return message_set(err, r == LUA_ERRMEM ? ERR_LIMIT : ERR_INVAL, s->name, L);
        lua_dump(L, write_piece, &code, 0);
        r = buf_check(&code, "a script's bytecode", err);
        if (r < 0)
                return err_wrap(err, r, "%s", s->name);
        s->code_bytes = code.n;
        s->code = buf_take(&code);
        return 0;
}

static int compile(struct lua_script *s, struct str text, struct err *err) {
        struct memory memory = { .max_bytes = COMPILE_MAX_MEMORY_BYTES };
        lua_State *L = lua_newstate(allocate, &memory);
        int r = L ? translate(s, text, L, err) : err_set(err, ERR_LIMIT, "%s: no memory for a state", s->name);

        memory_done(&memory);
        return r;
}

static int check_source(const struct lua_source *source, struct err *err) {
        char name[LUA_MAX_MESSAGE_BYTES + 1];

        message_clean(source->name, name);
        if (source->text.n > LUA_MAX_SCRIPT_BYTES)
                return err_set(err, ERR_LIMIT, "%s: a script has at most %d KiB", name, LUA_MAX_SCRIPT_BYTES / KIB);
        if (source->line > LUA_MAX_LINE)
                return err_set(err, ERR_LIMIT, "%s: a script begins before line %d", name, LUA_MAX_LINE);
        if (source->text.n && source->text.p[0] == LUA_SIGNATURE[0])
                return err_set(err, ERR_INVAL, "%s:%u: is bytecode; a script is text", name,
                               source->line ? source->line : 1);
        return 0;
}

struct lua_script *lua_script_new(const struct lua_source *source, struct err *err) {
        _cleanup_(lua_script_unrefp) struct lua_script *s = NULL;
        struct str text = source->text;
        char name[LUA_MAX_MESSAGE_BYTES + 1];

        if (str_starts(text, STR("\xef\xbb\xbf")))
                text = str_sub(text, 3, text.n);
        if (check_source(&(struct lua_source){ text, source->name, source->line }, err) < 0)
                return NULL;
        message_clean(source->name, name);
        s = mem_zalloc(sizeof *s);
        atomic_init(&s->references, 1);
        s->line = source->line ? source->line : 1;
        s->name = str_dup(str_from(name));
        s->chunk = mem_alloc(strlen(name) + 2);
        s->chunk[0] = '@';
        memcpy(s->chunk + 1, name, strlen(name) + 1);
        if (compile(s, text, err) < 0)
                return NULL;
        return TAKE_PTR(s);
}

struct lua_script *lua_script_ref(struct lua_script *s) {
        atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
        return s;
}

void lua_script_unref(struct lua_script *s) {
        if (!s || atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1)
                return;
        free(s->chunk);
        free(s->name);
        free(s->code);
        free(s);
}
