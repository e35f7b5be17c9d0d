/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/words.h"

#include "diff/print.h"
#include "diff/text.h"

#define SHORT_OID 7
#define SUBJECT_CHARACTERS 50

bool words_on_terminal(int fd) {
        const char *term = getenv("TERM");

        return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

bool words_in_color(int fd) {
        const char *no_color = getenv("NO_COLOR");

        return words_on_terminal(fd) && !(no_color && *no_color);
}

void words_add_json(const struct value *v, struct buf *out) {
        _cleanup_(buf_done) struct buf text = buf_make(out->max);

        value_print_pretty(v, 2, &text);
        text_add_json(out, buf_str(&text));
        buf_addch(out, '\n');
}

const char *words_outcome(enum outcome_kind kind) {
        static const char *const words[] = {
                [OUTCOME_UNCHANGED] = NULL,
                [OUTCOME_CREATED] = "created",
                [OUTCOME_CONFIGURED] = "configured",
                [OUTCOME_HANDED_OVER] = "handed over",
                [OUTCOME_DIFFERS] = "differs",
                [OUTCOME_MISSING] = "missing",
                [OUTCOME_EXTRA] = "extra",
                [OUTCOME_PRUNED] = "pruned",
                [OUTCOME_KEPT] = "kept",
                [OUTCOME_PARKED] = "parked",
                [OUTCOME_WAITING] = "waiting",
                [OUTCOME_SKIPPED] = NULL,
                [OUTCOME_REFUSED] = "refused",
                [OUTCOME_FAILED] = "failed",
        };

        return words[kind];
}

struct str words_ref(struct str ref) {
        static const struct str prefixes[] = { STR("refs/heads/"), STR("refs/tags/") };

        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
                if (str_starts(ref, prefixes[i]))
                        return str_sub(ref, prefixes[i].n, ref.n);
        }
        return ref.n == GIT_OID_HEX_BYTES ? str_sub(ref, 0, SHORT_OID) : ref;
}

void words_revision(const struct app *app, const struct agent_revision *r, struct buf *out) {
        const struct config_source *sources = app_config(app)->sources;

        for (size_t i = 0; i < r->count; i++)
                buf_addf(out, "%s%.*s%s%.*s @ %.*s", i ? " + " : "", STR_FMT(sources[i].title),
                         sources[i].title.n ? " " : "", STR_FMT(words_ref(r->commits[i].ref)), SHORT_OID, r->commits[i].id);
}

void words_revision_line(const struct app *app, const struct agent_revision *r, struct buf *out) {
        _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);

        words_revision(app, r, &line);
        text_add(out, buf_str(&line));
        if (r->count != 1)
                return;
        buf_addc(out, "  \"");
        text_add_cut(out, r->commits[0].subject, SUBJECT_CHARACTERS);
        buf_addc(out, "\"");
}

struct str words_nothing(const struct config_app *app, struct arena *a) {
        const struct config_source *source = &app->sources[0];
        bool globs = source->include.n || source->exclude.n;

        if (app->source_count > 1)
                return arena_strf(a, "there is no manifest in the folders of its %zu sources", app->source_count);
        return arena_strf(a, "there is no manifest in the folder \"%.*s\"%s%s", STR_FMT(source->path),
                          globs ? " that the globs let through" : "",
                          source->recurse ? "" : "; the folders below it are not read (--recurse, directory.recurse)");
}

uint32_t words_line(const struct outcome *o, struct field_path path) {
        return o->source ? diff_line_in(o->source, path, o->type) : o->line;
}

void words_add_line(uint32_t line, struct buf *out) {
        if (line)
                buf_addf(out, ":%u", line);
}

static uint32_t line_of(void *ctx, struct field_path path) {
        return words_line(ctx, path);
}

int words_compare(const struct outcome *o, struct arena *a, struct diff *ret) {
        const struct value *some = o->desired;
        struct diff_input in = {
                .before = o->before ? o->before : o->after ? NULL : some,
                .after = o->after ? o->after : some,
                .desired = o->desired,
                .before_owners = o->before_owners,
                .after_owners = o->after_owners,
                .type = o->type,
                .secret = o->secret,
                .mask = o->mask,
                .file = o->file,
                .notes = o->notes,
                .note_count = o->note_count,
                .line_of = line_of,
                .line_ctx = (void *)o,
        };

        return diff_compare(&in, a, ret, NULL);
}

void words_change(const struct outcome *o, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct diff d;

        if (o->before && o->after && words_compare(o, a, &d) == 0)
                diff_summary(&d, out);
}

#define BAR_CELLS 14
#define PROGRESS_MAX_BYTES 100

void words_health(const struct app *app, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct str message = app_health_message(app, a), line;
        size_t begin = out->n;

        while (str_next(&message, '\n', &line)) {
                if (out->n > begin)
                        buf_addch(out, ' ');
                text_add(out, line);
        }
}

void words_health_progress(const struct app *app, int64_t for_ms, struct buf *out) {
        _cleanup_(buf_done) struct buf who = buf_make(64 * 1024);
        struct app_health now;
        size_t all = 0;

        app_health(app, &now);
        for (unsigned code = HEALTH_HEALTHY; code <= HEALTH_UNKNOWN; code++)
                all += now.counts[code];
        for (size_t i = 0; i < BAR_CELLS; i++)
                buf_addc(out, i * all < now.counts[HEALTH_HEALTHY] * BAR_CELLS ? "█" : "░");
        words_health(app, &who);
        buf_addf(out, "  %.*s   %lld s", STR_FMT(str_sub(buf_str(&who), 0, PROGRESS_MAX_BYTES)), (long long)(for_ms / 1000));
}
