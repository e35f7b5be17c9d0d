/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce completion bash|zsh`: scripts that complete verbs, flags and their values, made from the tables that give
 * --help. What a value is follows from a row's type and from its word in --help: FILE, DIR and PATH are looked for among
 * files, URL among folders (a repository may be one of this machine), choices are listed.
 *
 * A script does not run truce: what it knows is what was known when it was printed.
 */
#include <stdio.h>

#include "base/limits.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/verb.h"

#define MAX_FLAGS 256
/* What `truce owners` is asked about most. */
#define OBJECTS                                                                                                        \
        "deployment/ statefulset/ daemonset/ service/ configmap/ secret/ ingress/ job/ cronjob/ "                      \
        "horizontalpodautoscaler/ serviceaccount/ namespace/"

/* ---- a verb's flags ---- */

struct flags {
        const struct option_def *items[MAX_FLAGS];
        size_t count;
};

static bool is_there(const struct flags *f, const char *name) {
        for (size_t i = 0; i < f->count; i++)
                if (strcmp(f->items[i]->name, name) == 0)
                        return true;
        return false;
}

/* The first of a name is the one that counts. */
static void add_group(struct flags *f, const struct option_group *group) {
        for (size_t i = 0; i < group->count; i++) {
                const struct option_def *def = &group->defs[i];

                if (def->name && !def->hidden && f->count < MAX_FLAGS && !is_there(f, def->name))
                        f->items[f->count++] = def;
        }
}

static void flags_of(const struct verb *v, struct flags *ret) {
        const struct option_group shared[] = {
                { "", config_app_options, config_app_option_count, NULL },
                session_flags,
                { "", config_agent_options, config_agent_option_count, NULL },
        };

        ret->count = 0;
        if (v->flags)
                add_group(ret, v->flags);
        for (size_t i = 0; v->has_shared_flags && i < ARRAY_LEN(shared); i++)
                add_group(ret, &shared[i]);
}

/* --no-NAME is what one would say. */
static bool is_on(const struct option_def *def) {
        return def->type == OPTION_BOOL && def->fallback && strcmp(def->fallback, "true") == 0;
}

enum values { VALUES_NONE, VALUES_ANY, VALUES_FILES, VALUES_FOLDERS, VALUES_CHOICES };

static enum values values_of(const struct option_def *def) {
        static const struct {
                const char *word;
                enum values values;
        } words[] = {
                { "FILE", VALUES_FILES }, { "PATH", VALUES_FILES }, { "DIR", VALUES_FOLDERS }, { "URL", VALUES_FOLDERS }
        };

        if (def->type == OPTION_BOOL || def->bare)
                return VALUES_NONE;
        for (size_t i = 0; def->word && i < ARRAY_LEN(words); i++)
                if (strcmp(def->word, words[i].word) == 0)
                        return words[i].values;
        return def->choices ? VALUES_CHOICES : VALUES_ANY;
}

/* ---- bash ---- */

/* A line of the table: the flag, what its value is, choices. */
static void add_bash_flag(struct buf *out, const struct option_def *def) {
        static const char *const kinds[] = { "", " any", " file", " folder", " word" };
        _cleanup_(buf_done) struct buf values = buf_make(KIB);

        buf_addc(&values, kinds[values_of(def)]);
        for (size_t i = 0; !def->bare && def->choices && def->choices[i]; i++)
                buf_addf(&values, " %s", def->choices[i]);
        buf_addf(out, "--%s%s\n", def->name, values.p);
        if (is_on(def))
                buf_addf(out, "--no-%s\n", def->name);
        if (def->letter)
                buf_addf(out, "-%c%s\n", def->letter, values.p);
}

static void add_bash_verb(struct buf *out, const struct verb *v) {
        static const char *const operands[] = {
                [VERB_NOTHING] = "", [VERB_FILES] = "file", [VERB_FOLDERS] = "folder", [VERB_OBJECT] = "object"
        };
        struct flags flags;

        flags_of(v, &flags);
        buf_addf(out, "\t%s)\n\t\twords='", v->name);
        for (size_t i = 0; v->words && v->words[i]; i++)
                buf_addf(out, "%s%s", i ? " " : "", v->words[i]);
        buf_addf(out, "' operands='%s' flags='--help\n-h\n", operands[v->operands]);
        for (size_t i = 0; i < flags.count; i++)
                add_bash_flag(out, flags.items[i]);
        buf_addc(out, "' ;;\n");
}

static const char bash_head[] =
        "# bash completion of truce, printed by `truce completion bash`\n"
        "\n"
        "# What follows the verb $1: sets words (for the first operand), operands and flags, a line each: the flag, what\n"
        "# its value is, and the words for it.\n"
        "_truce_table() {\n"
        "\tcase $1 in\n";

static const char bash_tail[] =
        "\tesac\n"
        "}\n"
        "\n"
        "# Sets kind and choices: what the value of flag $1 is.\n"
        "_truce_flag() {\n"
        "\tlocal name rest\n"
        "\tkind='' choices=''\n"
        "\twhile read -r name kind rest; do\n"
        "\t\tif [ \"$name\" = \"$1\" ]; then\n"
        "\t\t\tchoices=$rest\n"
        "\t\t\treturn\n"
        "\t\tfi\n"
        "\tdone <<<\"$flags\"\n"
        "\tkind=''\n"
        "}\n"
        "\n"
        "# Replies with what of kind $1 begins with $2; $3 are the words.\n"
        "_truce_reply() {\n"
        "\tcase $1 in\n"
        "\tfile) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
        "\tfolder) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- \"$2\") ;;\n"
        "\tword) mapfile -t COMPREPLY < <(compgen -W \"$3\" -- \"$2\") ;;\n"
        "\tobject) compopt -o nospace && mapfile -t COMPREPLY < <(compgen -W '" OBJECTS "' -- \"$2\") ;;\n"
        "\tesac\n"
        "}\n"
        "\n"
        "# How many operands stand between the verb and the cursor?\n"
        "_truce_operands() {\n"
        "\tlocal i word\n"
        "\tcount=0\n"
        "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
        "\t\tword=${COMP_WORDS[i]}\n"
        "\t\tcase $word in\n"
        "\t\t-*)\n"
        "\t\t\t_truce_flag \"$word\"\n"
        "\t\t\tif [ \"${COMP_WORDS[i + 1]}\" = = ]; then\n"
        "\t\t\t\t((i += 2))\n"
        "\t\t\telif [ -n \"$kind\" ]; then\n"
        "\t\t\t\t((i++))\n"
        "\t\t\tfi\n"
        "\t\t\t;;\n"
        "\t\t*) ((++count)) ;;\n"
        "\t\tesac\n"
        "\tdone\n"
        "}\n"
        "\n"
        "_truce() {\n"
        "\tlocal cur=${COMP_WORDS[COMP_CWORD]} flag='' words='' operands='' flags='' kind='' choices='' count=0\n"
        "\tCOMPREPLY=()\n"
        "\tif ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [ \"${COMP_WORDS[1]}\" = help ]; }; then\n"
        "\t\t_truce_reply word \"$cur\" \"$_truce_verbs\"\n"
        "\t\treturn\n"
        "\tfi\n"
        "\t_truce_table \"${COMP_WORDS[1]}\"\n"
        "\t[ -n \"$flags\" ] || return\n"
        "\t# --flag=value comes in three words.\n"
        "\tif [ \"$cur\" = = ]; then\n"
        "\t\tflag=${COMP_WORDS[COMP_CWORD - 1]} cur=''\n"
        "\telif [ \"${COMP_WORDS[COMP_CWORD - 1]}\" = = ]; then\n"
        "\t\tflag=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "\telse\n"
        "\t\tflag=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "\tfi\n"
        "\t_truce_flag \"$flag\"\n"
        "\tif [ -n \"$kind\" ]; then\n"
        "\t\t_truce_reply \"$kind\" \"$cur\" \"$choices\"\n"
        "\t\treturn\n"
        "\tfi\n"
        "\tif [[ $cur == -* ]]; then\n"
        "\t\t_truce_reply word \"$cur\" \"$(while read -r name kind; do echo \"$name\"; done <<<\"$flags\")\"\n"
        "\t\treturn\n"
        "\tfi\n"
        "\t_truce_operands\n"
        "\tif [ -n \"$words\" ] && ((count == 0)); then\n"
        "\t\t_truce_reply word \"$cur\" \"$words\"\n"
        "\telse\n"
        "\t\t_truce_reply \"$operands\" \"$cur\"\n"
        "\tfi\n"
        "}\n"
        "\n"
        "complete -F _truce truce\n";

static void print_bash(struct buf *out) {
        buf_addc(out, bash_head);
        for (size_t i = 0; i < cli_verb_count; i++)
                add_bash_verb(out, &cli_verbs[i]);
        buf_addc(out, bash_tail);
        buf_addc(out, "_truce_verbs='help --help --version");
        for (size_t i = 0; i < cli_verb_count; i++)
                buf_addf(out, " %s", cli_verbs[i].name);
        buf_addc(out, "'\n");
}

/* ---- zsh ---- */

/* Inside of '…', in a part that ends at one of `ends`. */
static void add_quoted(struct buf *out, const char *text, const char *ends) {
        for (; *text; text++) {
                if (*text == '\'') {
                        buf_addc(out, "'\\''");
                        continue;
                }
                if (*text == '\\' || strchr(ends, *text))
                        buf_addch(out, '\\');
                buf_addch(out, *text);
        }
}

/* ":WORD:ACTION" of what takes a value. */
static void add_zsh_value(struct buf *out, const struct option_def *def) {
        enum values values = values_of(def);

        if (values == VALUES_NONE && !def->bare)
                return;
        buf_addc(out, def->bare ? "::" : ":");
        add_quoted(out, def->word ? def->word : def->type == OPTION_DURATION ? "TIME" : "value", ":");
        buf_addc(out, values == VALUES_FILES ? ":_files" : values == VALUES_FOLDERS ? ":_files -/" : ":");
        for (size_t i = 0; def->choices && def->choices[i]; i++)
                buf_addf(out, "%s%s", i ? " " : "(", def->choices[i]);
        buf_addc(out, def->choices ? ")" : "");
}

static void add_zsh_flag(struct buf *out, const struct option_def *def) {
        const char *equals = def->type == OPTION_BOOL ? "" : def->bare ? "=-" : "=";

        buf_addc(out, "\t\t'");
        if (def->letter)
                buf_addf(out, "(-%c --%s)'{-%c%s,--%s%s}'", def->letter, def->name, def->letter, *equals ? "+" : "",
                         def->name, equals);
        else
                buf_addf(out, "%s--%s%s", def->type == OPTION_LIST ? "*" : "", def->name, equals);
        buf_addch(out, '[');
        add_quoted(out, def->help, "[]");
        buf_addch(out, ']');
        add_zsh_value(out, def);
        buf_addc(out, "'\n");
        if (is_on(def))
                buf_addf(out, "\t\t'--no-%s[--%s=false]'\n", def->name, def->name);
}

static void add_zsh_operands(struct buf *out, const struct verb *v) {
        static const char *const actions[] = {
                [VERB_FILES] = "'*:file:_files'", [VERB_FOLDERS] = "'*:folder:_files -/'",
                [VERB_OBJECT] = "'1:object:_truce_objects'"
        };

        if (v->words) {
                buf_addc(out, "\t\t'1:what:(");
                for (size_t i = 0; v->words[i]; i++)
                        buf_addf(out, "%s%s", i ? " " : "", v->words[i]);
                buf_addc(out, ")'\n");
        }
        if (v->operands != VERB_NOTHING)
                buf_addf(out, "\t\t%s\n", actions[v->operands]);
}

static void add_zsh_verb(struct buf *out, const struct verb *v) {
        struct flags flags;

        flags_of(v, &flags);
        buf_addf(out, "\t%s) specs+=(\n", v->name);
        for (size_t i = 0; i < flags.count; i++)
                add_zsh_flag(out, flags.items[i]);
        add_zsh_operands(out, v);
        buf_addc(out, "\t) ;;\n");
}

static const char zsh_head[] =
        "#compdef truce\n"
        "# zsh completion of truce, printed by `truce completion zsh`\n"
        "\n"
        "_truce_objects() {\n"
        "\tcompadd \"$@\" -S '' -- " OBJECTS "\n"
        "}\n"
        "\n"
        "# The flags and operands of the verb $1.\n"
        "_truce_table() {\n"
        "\tspecs=('(- *)'{-h,--help}'[what it does, and its flags]')\n"
        "\tcase $1 in\n"
        "\thelp) specs=('1:verb:_truce_verbs') ;;\n";

static const char zsh_verbs[] =
        "\tesac\n"
        "}\n"
        "\n"
        "_truce_verbs() {\n"
        "\tlocal -a verbs=(\n"
        "\t\t'help:the flags of a verb'\n";

static const char zsh_tail[] =
        "\t)\n"
        "\t_describe -t verbs verb verbs\n"
        "}\n"
        "\n"
        "_truce() {\n"
        "\tlocal curcontext=$curcontext state line\n"
        "\tlocal -a specs\n"
        "\t_arguments -C '(- *)'{-h,--help}'[what there is]' '(- *)--version[print the version]' \\\n"
        "\t\t'1:verb:_truce_verbs' '*::argument:->argument' && return 0\n"
        "\t[[ $state = argument ]] || return 1\n"
        "\tcurcontext=${curcontext%:*:*}:truce-$words[1]:\n"
        "\t_truce_table $words[1]\n"
        "\t_arguments $specs\n"
        "}\n"
        "\n"
        "if [[ $funcstack[1] = _truce ]]; then\n"
        "\t_truce \"$@\"\n"
        "else\n"
        "\tcompdef _truce truce\n"
        "fi\n";

static void print_zsh(struct buf *out) {
        buf_addc(out, zsh_head);
        for (size_t i = 0; i < cli_verb_count; i++)
                add_zsh_verb(out, &cli_verbs[i]);
        buf_addc(out, zsh_verbs);
        for (size_t i = 0; i < cli_verb_count; i++) {
                buf_addf(out, "\t\t'%s:", cli_verbs[i].name);
                add_quoted(out, cli_verbs[i].help, ":");
                buf_addc(out, "'\n");
        }
        buf_addc(out, zsh_tail);
}

/* ---- the verb ---- */

static void print_help(void) {
        cli_print_head("completion");
        puts("bash: truce completion bash >~/.local/share/bash-completion/completions/truce\n"
             "zsh:  truce completion zsh >DIR/_truce, where DIR is in $fpath\n"
             "Where truce was installed with its files, both are in place.");
}

int cli_completion(int argc, char **argv) {
        static const struct {
                const char *shell;
                void (*print)(struct buf *out);
        } shells[] = { { "bash", print_bash }, { "zsh", print_zsh } };
        _cleanup_(buf_done) struct buf out = buf_make(MIB);
        struct err err;

        if (options_want_help(argc, argv)) {
                print_help();
                return CLI_OK;
        }
        for (size_t i = 0; argc == 1 && i < ARRAY_LEN(shells); i++)
                if (strcmp(argv[0], shells[i].shell) == 0)
                        shells[i].print(&out);
        if (!out.n) {
                err_set(&err, ERR_INVAL, "usage: truce completion bash, or truce completion zsh");
                return session_fail(&err);
        }
        fputs(out.p, stdout);
        return CLI_OK;
}
