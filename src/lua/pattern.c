/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/pattern_impl.h"

#include <limits.h>

enum item_kind {
        ITEM_CHARACTER, /* `a` */
        ITEM_ANY,
        ITEM_CLASS,    /* `a` is its letter */
        ITEM_SET,      /* sets[index] */
        ITEM_OPEN,     /* captures[index] */
        ITEM_CLOSE,    /* the same */
        ITEM_POSITION, /* the same */
        ITEM_AGAIN,    /* what captures[index] has */
        ITEM_BALANCED, /* from `a` to its `b` */
        ITEM_FRONTIER, /* sets[index] */
        ITEM_END,      /* of the subject */
        ITEM_DONE,
};

enum repeat { ONCE, OPTIONAL, ANY_NUMBER, AT_LEAST_ONE, FEWEST };

struct item {
        uint8_t kind, repeat, a, b;
        uint32_t index;
};

struct set {
        uint8_t bits[(UCHAR_MAX + 1) / CHAR_BIT];
};

struct pattern {
        unsigned captures;
        bool anchored;
        struct set *sets;
        struct item items[];
};

/* --- characters --------------------------------------------------------------------------------------------------- */

static bool is_letter(unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(unsigned char c) {
        return c >= '0' && c <= '9';
}

static bool is_graph(unsigned char c) {
        return c > ' ' && c < 0x7f;
}

/* `letter` in lower case. */
static bool is_in_class(unsigned char letter, unsigned char c) {
        switch (letter) {
        case 'a':
                return is_letter(c);
        case 'c':
                return c < ' ' || c == 0x7f;
        case 'd':
                return is_digit(c);
        case 'g':
                return is_graph(c);
        case 'l':
                return c >= 'a' && c <= 'z';
        case 'p':
                return is_graph(c) && !is_letter(c) && !is_digit(c);
        case 's':
                return c == ' ' || (c >= '\t' && c <= '\r');
        case 'u':
                return c >= 'A' && c <= 'Z';
        case 'w':
                return is_letter(c) || is_digit(c);
        case 'x':
                return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        default:
                return c == '\0';
        }
}

static bool is_class(unsigned char c) {
        return c && strchr("acdglpsuwxzACDGLPSUWXZ", c);
}

/* An upper case letter is all but the class. */
static bool class_has(unsigned char letter, unsigned char c) {
        bool inverted = letter >= 'A' && letter <= 'Z';

        return is_in_class(inverted ? (unsigned char)(letter + 'a' - 'A') : letter, c) != inverted;
}

static bool set_has(const struct set *set, unsigned char c) {
        return set->bits[c / CHAR_BIT] >> (c % CHAR_BIT) & 1;
}

static void set_add(struct set *set, unsigned char c) {
        set->bits[c / CHAR_BIT] |= (uint8_t)(1u << (c % CHAR_BIT));
}

/* --- compiling ---------------------------------------------------------------------------------------------------- */

struct compiler {
        lua_State *L;
        struct pattern *pattern;
        const char *at, *end;
        size_t items, sets;
        bool closed[PATTERN_MAX_CAPTURES];
};

static void add_class(struct set *set, unsigned char letter) {
        for (unsigned c = 0; c <= UCHAR_MAX; c++) {
                if (class_has(letter, (unsigned char)c))
                        set_add(set, (unsigned char)c);
        }
}

static void add_range(struct set *set, unsigned char first, unsigned char last) {
        for (unsigned c = first; c <= last; c++)
                set_add(set, (unsigned char)c);
}

static unsigned char next_of_set(struct compiler *c) {
        if (c->at >= c->end)
                luaL_error(c->L, "malformed pattern (missing ']')");
        return (unsigned char)*c->at++;
}

/* One character, class or range of a set. No range ends in a class, which the manual leaves open. */
static void add_element(struct compiler *c, struct set *set) {
        unsigned char first = next_of_set(c);

        if (first == '%') {
                unsigned char escaped = next_of_set(c);

                if (is_class(escaped))
                        add_class(set, escaped);
                else
                        set_add(set, escaped);
        } else if (c->end - c->at >= 2 && c->at[0] == '-' && c->at[1] != ']' && c->at[1] != '%') {
                add_range(set, first, (unsigned char)c->at[1]);
                c->at += 2;
        } else {
                set_add(set, first);
        }
}

/* From behind the "[" to behind the "]", which is a character where it is the first one. */
static uint32_t compile_set(struct compiler *c) {
        struct set *set = &c->pattern->sets[c->sets];
        bool inverted = c->at < c->end && *c->at == '^';

        memset(set, 0, sizeof *set);
        c->at += inverted;
        do
                add_element(c, set);
        while (c->at < c->end && *c->at != ']');
        next_of_set(c);
        for (size_t i = 0; inverted && i < sizeof set->bits; i++)
                set->bits[i] = (uint8_t)~set->bits[i];
        return (uint32_t)c->sets++;
}

static struct item *add_item(struct compiler *c, enum item_kind kind) {
        struct item *item = &c->pattern->items[c->items++];

        *item = (struct item){ .kind = (uint8_t)kind };
        return item;
}

static void compile_repeat(struct compiler *c, struct item *item) {
        static const char signs[] = "?*+-";
        static const uint8_t repeats[] = { OPTIONAL, ANY_NUMBER, AT_LEAST_ONE, FEWEST };
        const char *sign = c->at < c->end && *c->at ? strchr(signs, *c->at) : NULL;

        if (!sign)
                return;
        item->repeat = repeats[sign - signs];
        c->at++;
}

static void compile_open(struct compiler *c) {
        bool position = c->at < c->end && *c->at == ')';
        struct item *item = add_item(c, position ? ITEM_POSITION : ITEM_OPEN);

        if (c->pattern->captures >= PATTERN_MAX_CAPTURES)
                luaL_error(c->L, "too many captures");
        item->index = c->pattern->captures++;
        c->closed[item->index] = position;
        c->at += position;
}

static void compile_close(struct compiler *c) {
        unsigned i = c->pattern->captures;

        while (i > 0 && c->closed[i - 1])
                i--;
        if (i == 0)
                luaL_error(c->L, "invalid pattern capture");
        c->closed[i - 1] = true;
        add_item(c, ITEM_CLOSE)->index = i - 1;
}

static void compile_balanced(struct compiler *c) {
        struct item *item = add_item(c, ITEM_BALANCED);

        if (c->end - c->at < 2)
                luaL_error(c->L, "malformed pattern (missing arguments to '%%b')");
        item->a = (uint8_t)c->at[0];
        item->b = (uint8_t)c->at[1];
        c->at += 2;
}

static void compile_frontier(struct compiler *c) {
        if (c->at >= c->end || *c->at++ != '[')
                luaL_error(c->L, "missing '[' after '%%f' in pattern");
        add_item(c, ITEM_FRONTIER)->index = compile_set(c);
}

static void compile_again(struct compiler *c, char digit) {
        unsigned i = (unsigned)(digit - '1');

        if (digit == '0' || i >= c->pattern->captures || !c->closed[i])
                luaL_error(c->L, "invalid capture index %%%c", digit);
        add_item(c, ITEM_AGAIN)->index = i;
}

/* Behind a "%". */
static void compile_escape(struct compiler *c) {
        if (c->at >= c->end)
                luaL_error(c->L, "malformed pattern (ends with '%%')");
        char what = *c->at++;

        if (what == 'b') {
                compile_balanced(c);
        } else if (what == 'f') {
                compile_frontier(c);
        } else if (is_digit((unsigned char)what)) {
                compile_again(c, what);
        } else {
                struct item *item = add_item(c, is_class((unsigned char)what) ? ITEM_CLASS : ITEM_CHARACTER);

                item->a = (uint8_t)what;
                compile_repeat(c, item);
        }
}

static void compile_single(struct compiler *c, char what) {
        uint32_t set = what == '[' ? compile_set(c) : 0;
        struct item *item = add_item(c, what == '[' ? ITEM_SET : what == '.' ? ITEM_ANY : ITEM_CHARACTER);

        item->a = (uint8_t)what;
        item->index = set;
        compile_repeat(c, item);
}

static void compile_item(struct compiler *c) {
        char what = *c->at++;

        if (what == '(')
                compile_open(c);
        else if (what == ')')
                compile_close(c);
        else if (what == '%')
                compile_escape(c);
        else if (what == '$' && c->at == c->end)
                add_item(c, ITEM_END);
        else
                compile_single(c, what);
}

static size_t count_sets(struct str text) {
        size_t count = 0;

        for (size_t i = 0; i < text.n; i++)
                count += text.p[i] == '[';
        return count;
}

const struct pattern *pattern_compile(lua_State *L, struct str text, bool anchors) {
        if (text.n > PATTERN_MAX_BYTES)
                luaL_error(L, "a pattern has at most %d KiB", PATTERN_MAX_BYTES / 1024);
        run_charge(run_of(L), 10 * text.n);
        size_t item_bytes = (text.n + 1) * sizeof(struct item), set_bytes = count_sets(text) * sizeof(struct set);
        struct pattern *p = lua_newuserdatauv(L, sizeof *p + item_bytes + set_bytes, 0);
        struct compiler c = { .L = L, .pattern = p, .at = text.p, .end = text.p + text.n };

        p->captures = 0;
        p->sets = (struct set *)((char *)p->items + item_bytes);
        p->anchored = anchors && text.n && text.p[0] == '^';
        c.at += p->anchored;
        while (c.at < c.end)
                compile_item(&c);
        for (unsigned i = 0; i < p->captures; i++) {
                if (!c.closed[i])
                        luaL_error(L, "unfinished capture");
        }
        add_item(&c, ITEM_DONE);
        return p;
}

bool pattern_is_anchored(const struct pattern *p) {
        return p->anchored;
}

unsigned pattern_captures(const struct pattern *p) {
        return p->captures;
}

/* --- matching ----------------------------------------------------------------------------------------------------- */

#define STEPS_PER_CHARGE 1024
#define NS_PER_STEP      8

static void count_steps(struct pattern_match *m, size_t steps) {
        m->steps += (unsigned)steps;
        if (m->steps < STEPS_PER_CHARGE)
                return;
        run_charge(run_of(m->L), (uint64_t)m->steps * NS_PER_STEP);
        m->steps = 0;
}

static bool single_has(const struct pattern_match *m, const struct item *item, const char *at) {
        unsigned char c;

        if (at >= m->end)
                return false;
        c = (unsigned char)*at;
        switch (item->kind) {
        case ITEM_CHARACTER:
                return c == item->a;
        case ITEM_CLASS:
                return class_has(item->a, c);
        case ITEM_SET:
                return set_has(&m->pattern->sets[item->index], c);
        default:
                return true;
        }
}

static const char *match_items(struct pattern_match *m, const struct item *item, const char *at);

/* As many as there are, then ever fewer, until the rest matches. */
static const char *match_most(struct pattern_match *m, const struct item *item, const char *at) {
        const char *last = at, *end;

        while (single_has(m, item, last)) {
                last++;
                count_steps(m, 1);
        }
        for (; last >= at; last--) {
                end = match_items(m, item + 1, last);
                if (end)
                        return end;
        }
        return NULL;
}

static const char *match_fewest(struct pattern_match *m, const struct item *item, const char *at) {
        for (;; at++) {
                const char *end = match_items(m, item + 1, at);

                if (end || !single_has(m, item, at))
                        return end;
        }
}

/* An item that is to be repeated, and all behind it. */
static const char *match_repeated(struct pattern_match *m, const struct item *item, const char *at) {
        switch (item->repeat) {
        case ANY_NUMBER:
                return match_most(m, item, at);
        case AT_LEAST_ONE:
                return single_has(m, item, at) ? match_most(m, item, at + 1) : NULL;
        case FEWEST:
                return match_fewest(m, item, at);
        default: /* OPTIONAL, with it */
                return single_has(m, item, at) ? match_items(m, item + 1, at + 1) : NULL;
        }
}

/* Behind the `b` that belongs to the `a` here, or NULL. */
static const char *skip_balanced(struct pattern_match *m, const struct item *item, const char *at) {
        size_t open = 1;

        if (at >= m->end || (uint8_t)*at != item->a)
                return NULL;
        for (const char *p = at + 1; p < m->end; p++) {
                count_steps(m, 1);
                if ((uint8_t)*p == item->b) {
                        if (--open == 0)
                                return p + 1;
                } else if ((uint8_t)*p == item->a) {
                        open++;
                }
        }
        return NULL;
}

static bool is_frontier(const struct pattern_match *m, const struct item *item, const char *at) {
        const struct set *set = &m->pattern->sets[item->index];
        unsigned char before = at > m->begin ? (unsigned char)at[-1] : '\0';

        return !set_has(set, before) && set_has(set, at < m->end ? (unsigned char)*at : '\0');
}

static const char *skip_again(struct pattern_match *m, const struct item *item, const char *at) {
        const struct pattern_capture *capture = &m->captures[item->index];

        if (capture->bytes == PATTERN_POSITION || capture->bytes > m->end - at)
                return NULL;
        count_steps(m, (size_t)capture->bytes / 8);
        return memcmp(capture->from, at, (size_t)capture->bytes) == 0 ? at + capture->bytes : NULL;
}

/* A capture keeps what it had when the rest does not match: a match further back may have set it. */
static const char *match_capture(struct pattern_match *m, const struct item *item, const char *at) {
        struct pattern_capture *capture = &m->captures[item->index], before = *capture;

        if (item->kind == ITEM_CLOSE)
                capture->bytes = at - capture->from;
        else
                *capture = (struct pattern_capture){ at, PATTERN_POSITION };
        const char *end = match_items(m, item + 1, at);
        if (!end)
                *capture = before;
        return end;
}

/* An item that is no character: where it ends, or NULL. */
static const char *skip_item(struct pattern_match *m, const struct item *item, const char *at) {
        switch (item->kind) {
        case ITEM_AGAIN:
                return skip_again(m, item, at);
        case ITEM_BALANCED:
                return skip_balanced(m, item, at);
        case ITEM_FRONTIER:
                return is_frontier(m, item, at) ? at : NULL;
        case ITEM_END:
                return at == m->end ? at : NULL;
        default:
                return single_has(m, item, at) ? at + 1 : NULL;
        }
}

static bool has_ways(const struct item *item) {
        return item->repeat != ONCE || item->kind == ITEM_OPEN || item->kind == ITEM_CLOSE ||
               item->kind == ITEM_POSITION;
}

static const char *match_ways(struct pattern_match *m, const struct item *item, const char *at) {
        if (++m->depth > PATTERN_MAX_DEPTH)
                luaL_error(m->L, "pattern too complex");
        const char *end = item->repeat != ONCE ? match_repeated(m, item, at) : match_capture(m, item, at);
        m->depth--;
        return end;
}

/* `item` and all behind it, from `at` on: where that ends, or NULL. */
static const char *match_items(struct pattern_match *m, const struct item *item, const char *at) {
        for (; at && item->kind != ITEM_DONE; item++) {
                count_steps(m, 1);
                const char *end = has_ways(item) ? match_ways(m, item, at) : skip_item(m, item, at);
                if (has_ways(item) && (end || item->repeat != OPTIONAL))
                        return end;
                /* What is optional may be left out. */
                if (item->repeat != OPTIONAL)
                        at = end;
        }
        return at;
}

const char *pattern_match_at(struct pattern_match *m, const char *at) {
        m->depth = 0;
        return match_items(m, m->pattern->items, at);
}

const char *pattern_search(struct pattern_match *m, const char *at, const char **ret_end) {
        const struct item *first = m->pattern->items;

        for (; at <= m->end; at++) {
                /* A character that must come first is looked for as such. */
                if (!m->pattern->anchored && first->kind == ITEM_CHARACTER && first->repeat == ONCE)
                        at = memchr(at, first->a, (size_t)(m->end - at));
                if (!at)
                        return NULL;
                *ret_end = pattern_match_at(m, at);
                if (*ret_end)
                        return at;
                if (m->pattern->anchored)
                        return NULL;
        }
        return NULL;
}

void pattern_push(const struct pattern_match *m, unsigned i, const char *from, const char *to) {
        if (i >= m->pattern->captures) {
                if (i > 0)
                        luaL_error(m->L, "invalid capture index %%%d", (int)i + 1);
                lua_pushlstring(m->L, from, (size_t)(to - from));
                return;
        }
        const struct pattern_capture *capture = &m->captures[i];
        if (capture->bytes == PATTERN_POSITION)
                lua_pushinteger(m->L, capture->from - m->begin + 1);
        else
                lua_pushlstring(m->L, capture->from, (size_t)capture->bytes);
}

int pattern_push_all(const struct pattern_match *m, const char *from, const char *to) {
        unsigned count = m->pattern->captures ? m->pattern->captures : 1;

        luaL_checkstack(m->L, (int)count, "too many captures");
        for (unsigned i = 0; i < count; i++)
                pattern_push(m, i, from, to);
        return (int)count;
}
