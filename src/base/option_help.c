/* SPDX-License-Identifier: Apache-2.0 */
/* --help from option tables. */
#include "base/option.h"

#define HELP_COLUMNS 100
#define HELP_INDENT 30

static const char *value_word(const struct option_def *def) {
        static const char *const words[] = {
                [OPTION_BOOL] = NULL,        [OPTION_TEXT] = "TEXT",   [OPTION_NUMBER] = "N",
                [OPTION_DURATION] = "TIME",  [OPTION_CHOICE] = "WORD", [OPTION_LIST] = "TEXT",
        };
        return def->word ? def->word : words[def->type];
}

static void add_words(struct buf *out, const char *text, size_t *column) {
        struct str rest = str_from(text), word;

        while (str_next(&rest, ' ', &word)) {
                if (*column > HELP_INDENT && *column + 1 + word.n > HELP_COLUMNS) {
                        buf_addf(out, "\n%*s", HELP_INDENT, "");
                        *column = HELP_INDENT;
                } else if (*column > HELP_INDENT) {
                        buf_addch(out, ' ');
                        *column += 1;
                }
                buf_add(out, word);
                *column += word.n;
        }
}

static void add_details(struct buf *out, const struct option_def *def, size_t *column) {
        _cleanup_(buf_done) struct buf b = buf_make(1024);

        for (int i = 0; def->choices && def->choices[i]; i++)
                buf_addf(&b, "%s%s", i ? ", " : "(one of ", def->choices[i]);
        if (def->choices)
                buf_addc(&b, ")");
        if (def->type == OPTION_BOOL && def->fallback && strcmp(def->fallback, "true") == 0)
                buf_addf(&b, "[default true; --no-%s]", def->name);
        else if (def->bare)
                buf_addf(&b, " [without one %s]", def->bare);
        else if (def->type != OPTION_BOOL && (def->fallback || def->choices))
                buf_addf(&b, "%s[default %s]", b.n ? " " : "", def->fallback ? def->fallback : def->choices[0]);
        add_words(out, b.p, column);
}

static void help_option(struct buf *out, const struct option_def *def) {
        size_t start = out->n, column;
        const char *word = value_word(def);

        if (def->letter)
                buf_addf(out, "  -%c, --%s", def->letter, def->name);
        else
                buf_addf(out, "      --%s", def->name);
        if (word)
                buf_addf(out, def->bare ? "[=%s]" : " %s", word);

        column = out->n - start;
        if (column + 2 > HELP_INDENT) {
                buf_addch(out, '\n');
                column = 0;
        }
        buf_addf(out, "%*s", (int)(HELP_INDENT - column), "");
        column = HELP_INDENT;
        add_words(out, def->help, &column);
        add_details(out, def, &column);
        buf_addch(out, '\n');
}

static bool has_flags(const struct option_group *group) {
        for (size_t i = 0; i < group->count; i++)
                if (group->defs[i].name && !group->defs[i].hidden)
                        return true;
        return false;
}

void options_help(const struct option_group *groups, size_t count, struct buf *out) {
        for (size_t i = 0; i < count; i++) {
                if (!has_flags(&groups[i]))
                        continue;
                buf_addf(out, "%s%s:\n", out->n ? "\n" : "", groups[i].title);
                for (size_t j = 0; j < groups[i].count; j++)
                        if (groups[i].defs[j].name && !groups[i].defs[j].hidden)
                                help_option(out, &groups[i].defs[j]);
        }
}
