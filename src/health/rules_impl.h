/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct health_rules, for the lookup and for the judgement. */
#ifndef TRUCE_HEALTH_RULES_IMPL_H
#define TRUCE_HEALTH_RULES_IMPL_H

#include <stdatomic.h>

#include "health/builtin.h"
#include "health/rules.h"

/* A text that is compiled once: when it is added, or when it is first needed. */
struct compiled {
        struct lua_source source;
        _Atomic(struct lua_script *) script;
};

/* One rule in Lua. */
struct lua_rule {
        struct str pattern; /* "group/Kind", or "Kind" in the core group */
        size_t literal;     /* bytes before its first wildcard; pattern.n: it has none */
        const char *name;
        bool open_libs;
        struct compiled code;
        atomic_bool timed_out; /* in quarantine for that */
};

struct health_rules {
        atomic_size_t refs;
        struct lua_rule *users, *bundled;
        size_t user_count, user_cap, bundled_count;
        struct compiled *modules;
        size_t module_count;
};

/* Who judges a kind: one of the three. */
struct judge {
        struct lua_rule *user, *bundled;
        const struct builtin *builtin; /* the standard conditions when nobody knows the kind */
};
struct judge rules_lookup(const struct health_rules *r, struct str group, struct str kind);

/* The script, borrowed; NULL with INVAL. */
struct lua_script *compiled_script(struct compiled *c, struct err *err);

/* Runs it and reads what it returns. */
void rules_run(struct health_rules *r, struct lua_rule *rule, const struct rule *judged);

#endif
