/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings as tables: one row says name, type, default, bounds and help, and yields the defaults, the parsing of
 * `--name value`, the reading of configuration documents, their check for unknown keys, and `--help`.
 *
 *   static const struct option_def run_options[] = {
 *           { .name = "poll-interval", .key = "pollInterval", .type = OPTION_DURATION, .at = offsetof(struct s, poll_ms),
 *             .fallback = "30s", .min = 1000, .max = 86400000, .word = "TIME", .help = "time between two looks at Git" },
 *   };
 *   struct option_group group = { "Options", run_options, ARRAY_LEN(run_options), &settings };
 *   options_default(&group, 1, arena);
 *   r = options_parse(&group, 1, argc, argv, arena, &operands, &operand_count, &err);
 *
 * A command takes several groups, each with its own target. Flags win over a document by being parsed last: parsing the
 * same arguments twice, before and after the document is read, is fine (lists are replaced by the first use in a pass).
 *
 * Flags: `--name value`, `--name=value`, `--flag`, `--flag=false`, `--no-flag`, `-o value`, `-ovalue`; `--` ends them,
 * operands may stand between. A choice with a bare meaning takes `--name` and `--name=value`. Unknown ones are INVAL
 * and name the nearest known one.
 *
 * Thread rule: tables are constant; a target belongs to the caller.
 */
#ifndef TRUCE_BASE_OPTION_H
#define TRUCE_BASE_OPTION_H

#include "base/value.h"

enum option_type {
        OPTION_BOOL,     /* bool */
        OPTION_TEXT,     /* struct str; min and max bound its bytes when max is not 0 */
        OPTION_NUMBER,   /* int64_t */
        OPTION_DURATION, /* int64_t, milliseconds */
        OPTION_CHOICE,   /* int: index into `choices` */
        OPTION_LIST,     /* struct option_list: each use adds one; in a document a list of strings or one string */
        OPTION_VALUE,    /* const struct value *: whatever the document holds, borrowed; only in documents */
};

struct option_list {
        const struct str *items;
        size_t count;
};

struct option_def {
        const char *name;            /* "poll-interval"; NULL: only in documents */
        const char *key;             /* "pollInterval", with dots for maps: "log.level"; NULL: only a flag */
        char letter;                 /* 'o' for -o; 0: none */
        enum option_type type;
        size_t at;                   /* offset in the target */
        const char *fallback;        /* the default, as it would be written; NULL: false, empty, 0, the first choice */
        int64_t min, max;            /* both 0: no bounds */
        const char *const *choices;  /* CHOICE: ended by NULL; "true" and "false" may come as such in a document */
        const char *bare;            /* CHOICE: what `--name` means without a value, which then must come as `--name=value`;
                                      * NULL: it needs one */
        const char *word;            /* what the value is called in --help; NULL: by type */
        const char *help;            /* one clause, no full stop */
        bool hidden;                 /* not in --help */
};

struct option_group {
        const char *title;           /* heading in --help */
        const struct option_def *defs;
        size_t count;
        void *target;
};

/* The same rows for another target. */
static inline struct option_group option_group_of(const struct option_group *group, void *target) {
        return (struct option_group){ group->title, group->defs, group->count, target };
}

/* Sets every target's fields to their defaults. A bad default is a bug and aborts. */
void options_default(const struct option_group *groups, size_t count, struct arena *a);

/*
 * Parses argv[0 … argc) (without the program's and the command's name). What is no flag is an operand, in the arena. INVAL
 * for an unknown flag, a missing or bad value, a value out of bounds; the message names the flag. Targets are then
 * partly set.
 */
int options_parse(const struct option_group *groups, size_t count, int argc, char *const *argv, struct arena *a,
                  const struct str **ret_operands, size_t *ret_operand_count, struct err *err);

/* Is `--help` or `-h` among the arguments, before any `--`? */
bool options_want_help(int argc, char *const *argv);

/* One value in words, or from a document. INVAL with what is wrong, without the option's name. */
int option_set_text(const struct option_def *def, void *target, struct str text, struct arena *a, struct err *err);
int option_set_value(const struct option_def *def, void *target, const struct value *value, struct arena *a,
                     struct err *err);

/*
 * Reads a map into the targets by `key`. Each problem is given to `complain` with the line it concerns and goes on; the
 * number of problems is returned. Unknown keys name the nearest known one. A null member is as absent.
 */
size_t options_read(const struct option_group *groups, size_t count, const struct value *map, struct arena *a,
                    void (*complain)(void *ctx, uint32_t line, const char *message), void *ctx);

/* The body of --help: headings, flags, help, defaults; lines of at most 100 columns. */
void options_help(const struct option_group *groups, size_t count, struct buf *out);

/*
 * A JSON Schema (draft-07) of the map that options_read() takes, in the arena: types, bounds, defaults, choices, and help as
 * description; unknown keys are refused. OPTION_VALUE has a description only: the caller knows the rest.
 */
const struct value *options_schema(const struct option_group *groups, size_t count, struct arena *a);

/*
 * The candidate nearest to `word` (edits, with swaps of neighbours as one; case does not count), or NULL when none is
 * near: more than a third of its length away, or 3.
 */
const char *option_nearest(struct str word, const char *const *candidates, size_t count);

#endif
