/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of verbs (cli.c): what --help and completion.c know of each.
 *
 * Thread rule: constant.
 */
#ifndef TRUCE_CLI_VERB_H
#define TRUCE_CLI_VERB_H

#include "base/option.h"

/* What a verb takes beside flags. */
enum verb_operands {
        VERB_NOTHING,
        VERB_FILES,
        VERB_FOLDERS,
        VERB_OBJECT, /* KIND/NAME */
};

struct verb {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *help;
        const char *statuses; /* NULL: 0 done, 2 it could not be */
        const char *usage;    /* of the operands; NULL: none */
        const struct option_group *flags; /* its own, without target; NULL: none */
        bool has_shared_flags;            /* those of session.h as well */
        const char *const *words;         /* of which its first operand is one, ended by NULL; NULL: any */
        enum verb_operands operands;      /* after that */
};

extern const struct verb cli_verbs[];
extern const size_t cli_verb_count;

/* The flags of single verbs. */
extern const struct option_group cli_adopt_flags, cli_check_flags, cli_demo_flags, cli_diff_flags, cli_groups_flags,
        cli_health_flags, cli_owners_flags, cli_render_flags, cli_sandbox_flags, cli_status_flags, cli_sync_flags, cli_test_flags;
/* --config, of those that read documents. */
extern const struct option_group session_flags;

#endif
