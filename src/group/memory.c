/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text is a row of clauses, "key value" each, separated by ", "; a group's row begins with "; group N: ". One table
 * for what is of the whole and one for what is of a group say how each member is written and read, so that both
 * directions cannot differ. Texts that may hold anything are JSON strings.
 */
#include "group/memory.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/when.h"

enum clause_kind {
        CLAUSE_NUMBER, /* int32_t; -1 is not written */
        CLAUSE_COUNT,  /* int32_t; 0 is not written */
        CLAUSE_WORD,   /* struct str without blanks; empty is not written */
        CLAUSE_QUOTED, /* struct str, any text; empty is not written */
        CLAUSE_TIME,   /* int64_t, ms; 0 is not written */
        CLAUSE_FLAG,   /* bool; its key alone */
};

struct clause {
        const char *key; /* one word */
        enum clause_kind kind;
        size_t offset;
};

static const struct clause set_clauses[] = {
        { "revision", CLAUSE_WORD, offsetof(struct group_memory, revision) },
        { "partition", CLAUSE_NUMBER, offsetof(struct group_memory, partition) },
        { "groups", CLAUSE_NUMBER, offsetof(struct group_memory, groups) },
        { "replicas", CLAUSE_NUMBER, offsetof(struct group_memory, replicas) },
        { "rolling", CLAUSE_FLAG, offsetof(struct group_memory, rolling) },
        { "reset", CLAUSE_QUOTED, offsetof(struct group_memory, budget_reset) },
};

static const struct clause group_clauses[] = {
        { "restarts", CLAUSE_COUNT, offsetof(struct group_restarts, count) },
        { "in-a-row", CLAUSE_COUNT, offsetof(struct group_restarts, streak) },
        { "last", CLAUSE_TIME, offsetof(struct group_restarts, last_ms) },
        { "revision", CLAUSE_WORD, offsetof(struct group_restarts, revision) },
        { "incarnation", CLAUSE_WORD, offsetof(struct group_restarts, incarnation) },
        { "spent", CLAUSE_FLAG, offsetof(struct group_restarts, spent) },
        { "waiting-since", CLAUSE_TIME, offsetof(struct group_restarts, waiting_ms) },
        { "let-go", CLAUSE_COUNT, offsetof(struct group_restarts, yields) },
        { "let-go-at", CLAUSE_TIME, offsetof(struct group_restarts, yielded_ms) },
        { "let-go-of", CLAUSE_WORD, offsetof(struct group_restarts, yielded) },
        { "why", CLAUSE_QUOTED, offsetof(struct group_restarts, why) },
};

#define WHY_CLAUSES 1 /* at the end: for people, and the first to go where room is short */

struct group_memory group_memory_unknown(void) {
        return (struct group_memory){ .partition = -1, .groups = -1, .replicas = -1 };
}

/* Writing */

static bool is_written(const struct clause *c, const void *at) {
        switch (c->kind) {
        case CLAUSE_NUMBER:
                return *(const int32_t *)at >= 0;
        case CLAUSE_COUNT:
                return *(const int32_t *)at > 0;
        case CLAUSE_WORD:
        case CLAUSE_QUOTED:
                return ((const struct str *)at)->n > 0;
        case CLAUSE_TIME:
                return *(const int64_t *)at >= 1000;
        case CLAUSE_FLAG:
                return *(const bool *)at;
        }
        return false;
}

static void add_clauses(struct buf *out, const struct clause *clauses, size_t count, const void *from) {
        const char *separator = "";

        for (size_t i = 0; i < count; i++) {
                const void *at = (const char *)from + clauses[i].offset;

                if (!is_written(&clauses[i], at))
                        continue;
                buf_addc(out, separator);
                separator = ", ";
                buf_addc(out, clauses[i].key);
                if (clauses[i].kind != CLAUSE_FLAG)
                        buf_addch(out, ' ');
                if (clauses[i].kind == CLAUSE_WORD)
                        buf_add(out, *(const struct str *)at);
                else if (clauses[i].kind == CLAUSE_QUOTED)
                        value_print_string(*(const struct str *)at, out);
                else if (clauses[i].kind == CLAUSE_TIME)
                        when_print(*(const int64_t *)at, out);
                else if (clauses[i].kind != CLAUSE_FLAG)
                        buf_addf(out, "%" PRId32, *(const int32_t *)at);
        }
}

static bool is_empty(const struct group_restarts *r) {
        for (size_t i = 0; i < ARRAY_LEN(group_clauses); i++)
                if (is_written(&group_clauses[i], (const char *)r + group_clauses[i].offset))
                        return false;
        return true;
}

/* Does it decide anything now? What does not is dropped first. */
static bool matters(const struct group_restarts *r) {
        return r->spent || r->streak || r->yields || r->waiting_ms;
}

static bool add_group(struct buf *out, const struct group_restarts *r, size_t clauses) {
        size_t before = out->n;

        buf_addf(out, "; group %" PRId32 ": ", r->group);
        add_clauses(out, group_clauses, clauses, r);
        if (out->n <= GROUP_MEMORY_MAX_BYTES)
                return true;
        buf_truncate(out, before);
        return false;
}

static size_t count_important(const struct group_memory *m) {
        size_t important = 0;

        for (size_t i = 0; i < m->restart_count; i++)
                important += matters(&m->restarts[i]);
        return important;
}

/* Those that matter, and `spare` others, with so many of their clauses. False: there is no room for all of them. */
static bool add_groups(struct buf *out, const struct group_memory *m, size_t spare, size_t clauses) {
        size_t written = 0;

        for (size_t i = 0; i < m->restart_count && written < GROUP_MEMORY_MAX_GROUPS; i++) {
                const struct group_restarts *r = &m->restarts[i];

                if (is_empty(r) || (!matters(r) && !spare))
                        continue;
                if (!add_group(out, r, clauses))
                        return false;
                spare -= !matters(r);
                written++;
        }
        return true;
}

struct str group_memory_text(const struct group_memory *m, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(2 * (size_t)GROUP_MEMORY_MAX_BYTES);
        size_t important = count_important(m);

        add_clauses(&out, set_clauses, ARRAY_LEN(set_clauses), m);
        for (size_t i = 0; i < m->absent_count; i++)
                buf_addf(&out, "%s%" PRId32, i ? " " : ", absent ", m->absent[i]);
        size_t before = out.n, spare = important < GROUP_MEMORY_MAX_GROUPS ? GROUP_MEMORY_MAX_GROUPS - important : 0;
        if (!add_groups(&out, m, spare, ARRAY_LEN(group_clauses))) {
                buf_truncate(&out, before);
                add_groups(&out, m, 0, ARRAY_LEN(group_clauses) - WHY_CLAUSES);
        }
        return arena_str(a, buf_str(&out));
}

/* Reading */

struct reader {
        struct str rest;
        struct arena *a;
};

static bool take(struct reader *r, struct str token) {
        if (!str_starts(r->rest, token))
                return false;
        r->rest = str_sub(r->rest, token.n, r->rest.n);
        return true;
}

static bool ends_word(char c) {
        return c == ' ' || c == ',' || c == ';';
}

static struct str take_word(struct reader *r) {
        size_t n = 0;

        while (n < r->rest.n && !ends_word(r->rest.p[n]))
                n++;
        struct str word = str_sub(r->rest, 0, n);
        r->rest = str_sub(r->rest, n, r->rest.n);
        return word;
}

static bool take_number(struct reader *r, int32_t *ret_number) {
        int64_t number;

        if (!str_to_i64(take_word(r), &number) || number < 0 || number > INT32_MAX)
                return false;
        *ret_number = (int32_t)number;
        return true;
}

static bool take_quoted(struct reader *r, struct str *ret_text) {
        const struct value *v;
        size_t n = 1;

        if (!r->rest.n || r->rest.p[0] != '"')
                return false;
        while (n < r->rest.n && r->rest.p[n] != '"')
                n += r->rest.p[n] == '\\' ? 2 : 1;
        if (n >= r->rest.n || json_parse(str_sub(r->rest, 0, n + 1), r->a, &v, NULL) < 0)
                return false;
        r->rest = str_sub(r->rest, n + 1, r->rest.n);
        *ret_text = value_text(v);
        return true;
}

static bool take_value(struct reader *r, const struct clause *c, void *at) {
        if (c->kind == CLAUSE_FLAG)
                return *(bool *)at = true;
        if (!take(r, STR(" ")))
                return false;
        switch (c->kind) {
        case CLAUSE_NUMBER:
        case CLAUSE_COUNT:
                return take_number(r, at);
        case CLAUSE_WORD:
                *(struct str *)at = arena_str(r->a, take_word(r));
                return ((struct str *)at)->n > 0;
        case CLAUSE_QUOTED:
                return take_quoted(r, at);
        case CLAUSE_TIME:
                return when_parse(take_word(r), at);
        case CLAUSE_FLAG:
                break;
        }
        return false;
}

static bool take_clause(struct reader *r, const struct clause *clauses, size_t count, void *into) {
        struct str key = take_word(r);

        for (size_t i = 0; i < count; i++)
                if (str_eqc(key, clauses[i].key))
                        return take_value(r, &clauses[i], (char *)into + clauses[i].offset);
        return false;
}

static bool take_absent(struct reader *r, struct group_memory *m) {
        size_t most = 1;

        for (size_t i = 0; i < r->rest.n && r->rest.p[i] != ';'; i++)
                most += r->rest.p[i] == ' ';
        int32_t *list = arena_alloc(r->a, most * sizeof *list);
        m->absent = list;
        while (take(r, STR(" "))) {
                if (!take_number(r, &list[m->absent_count]))
                        return false;
                if (m->absent_count && list[m->absent_count - 1] >= list[m->absent_count])
                        return false;
                m->absent_count++;
        }
        return m->absent_count > 0;
}

static bool take_set(struct reader *r, struct group_memory *m) {
        do {
                if (take(r, STR("absent"))) {
                        if (!take_absent(r, m))
                                return false;
                } else if (!take_clause(r, set_clauses, ARRAY_LEN(set_clauses), m)) {
                        return false;
                }
        } while (take(r, STR(", ")));
        return true;
}

static bool take_group(struct reader *r, struct group_restarts *g) {
        int64_t number;
        ptrdiff_t colon = str_find(r->rest, ':', 0);

        if (colon < 0 || !str_to_i64(str_sub(r->rest, 0, (size_t)colon), &number) || number < 0 || number > INT32_MAX)
                return false;
        g->group = (int32_t)number;
        r->rest = str_sub(r->rest, (size_t)colon, r->rest.n);
        if (!take(r, STR(": ")))
                return false;
        do {
                if (!take_clause(r, group_clauses, ARRAY_LEN(group_clauses), g))
                        return false;
        } while (take(r, STR(", ")));
        return true;
}

int group_memory_read(struct str text, struct arena *a, struct group_memory *ret_memory) {
        struct reader r = { text, a };
        struct group_memory m = group_memory_unknown();

        if (text.n > (size_t)2 * GROUP_MEMORY_MAX_BYTES || !take_set(&r, &m))
                return ERR_PARSE;
        size_t most = 0;
        for (size_t i = 0; i < r.rest.n; i++)
                most += r.rest.p[i] == ';';
        m.restarts = arena_zalloc(a, most * sizeof *m.restarts);
        while (take(&r, STR("; group "))) {
                struct group_restarts *g = &m.restarts[m.restart_count];

                if (!take_group(&r, g))
                        return ERR_PARSE;
                if (m.restart_count && g[-1].group >= g->group)
                        return ERR_PARSE;
                m.restart_count++;
        }
        if (r.rest.n)
                return ERR_PARSE;
        *ret_memory = m;
        return 0;
}
