/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `truce status`: what is in force, and why a newer commit is not, read from the status texts beside the inventories. It
 * needs no running agent.
 */
#include <stdio.h>

#include "agent/store.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "cli/words.h"
#include "diff/text.h"
#include "base/when.h"
#include "kube/list.h"

struct status {
        struct session session;
        struct kube_client *client;
        struct kube_list *list;
        struct arena *arena;
        struct value_list_builder rows;
        struct err err;
};

struct status_flags {
        int output;
};

static const char *const outputs[] = { "table", "json", NULL };
static const struct option_def status_options[] = {
        { .name = "output", .letter = 'o', .type = OPTION_CHOICE, .at = offsetof(struct status_flags, output),
          .choices = outputs, .help = "how to print it" },
};
const struct option_group cli_status_flags = { "Status", status_options, ARRAY_LEN(status_options), NULL };

static const struct value *damaged_row(const struct value *map, struct arena *a) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("application"),
                      value_getc(value_path(map, "metadata", "labels", NULL), STORE_LABEL_INVENTORY), 0);
        value_map_add(&b, STR("sync"), value_stringc(a, "damaged"), 0);
        return value_map_end(&b, a, 0);
}

static int on_item(void *ctx, struct str object, struct err *err) {
        struct status *s = ctx;
        const struct value *map, *row;
        int r = json_parse(object, s->arena, &map, err);

        if (r < 0)
                return r;
        struct str text = value_text(value_path(map, "data", "status", NULL));
        if (text.n == 0)
                return 0;
        if (json_parse(text, s->arena, &row, NULL) < 0)
                row = damaged_row(map, s->arena);
        value_list_add(&s->rows, row);
        return 0;
}

static void on_done(void *ctx, struct str resource_version, const struct kube_status *status, const struct err *err) {
        struct status *s = ctx;

        (void)resource_version;
        (void)status;
        s->list = NULL;
        if (err)
                s->err = *err;
        loop_stop(s->session.loop);
}

/* A cell of the table: what stands in a ConfigMap is not ours alone to write. */
static void add_cell(struct buf *row, struct str text, size_t columns) {
        size_t from = row->n;

        text_add(row, text);
        text_pad(row, from, columns);
        buf_addch(row, ' ');
}

/* The commits of several sources stand there as "1a2b3c4+5d6e7f8". */
static struct str revisions_of(const struct value *list, struct arena *a) {
        struct str text = { 0 };

        for (size_t i = 0; i < value_count(list); i++)
                text = arena_strf(a, "%.*s%s%.*s", STR_FMT(text), i ? "+" : "",
                                  STR_FMT(str_sub(value_text(value_getc(list->list.items[i], "commit")), 0, 7)));
        return text;
}

static struct str revision_of(const struct value *row, struct arena *a) {
        const struct value *revisions = value_getc(row, "revisions");
        struct str ref = words_ref(value_text(value_getc(row, "ref")));

        if (value_is(revisions, VALUE_LIST))
                return revisions_of(revisions, a);
        if (!ref.n)
                return STR("-");
        return arena_strf(a, "%.*s @ %.*s", STR_FMT(ref), STR_FMT(str_sub(value_text(value_getc(row, "commit")), 0, 7)));
}

/* "synced/all/failed": why an application is out of sync, as far as it is known here. */
static void add_failed(struct buf *out, struct str counts) {
        struct str synced, all;
        int64_t failed;

        if (str_next(&counts, '/', &synced) && str_next(&counts, '/', &all) && str_to_i64(counts, &failed) && failed > 0)
                buf_addf(out, "\n  not applied: %lld of %.*s; truce diff says why", (long long)failed, STR_FMT(all));
}

static void add_lines(const char *word, struct str lines, struct buf *out) {
        struct str line;

        while (str_next(&lines, '\n', &line)) {
                buf_addf(out, "\n  %s: ", word);
                text_add(out, line);
        }
}

/* Who is to blame; messages of controllers may have line breaks. */
static void add_health(struct str message, struct buf *out) {
        struct str line;
        bool first = true;

        for (; str_next(&message, '\n', &line); first = false) {
                buf_addc(out, first ? "\n  health: " : " ");
                text_add(out, line);
        }
}

static void print_row(const struct value *row, int64_t now_ms) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);
        struct str health = value_text(value_getc(row, "health"));
        int64_t objects = 0, changed = 0;

        value_to_i64(value_getc(row, "objects"), &objects);
        value_to_i64(value_getc(row, "changed"), &changed);
        add_cell(&out, value_text(value_getc(row, "application")), 20);
        add_cell(&out, revision_of(row, a), 28);
        add_cell(&out, value_text(value_getc(row, "sync")), 10);
        add_cell(&out, health.n ? health : STR("-"), 11);
        buf_addf(&out, "%8lld  ", (long long)objects);
        if (changed)
                when_print_age(changed, now_ms, &out);
        add_failed(&out, value_text(value_getc(row, "counts")));
        struct str error = value_text(value_getc(row, "error"));
        if (error.n) {
                buf_addc(&out, "\n  error: ");
                text_add(&out, error);
        }
        add_health(value_text(value_getc(row, "healthMessage")), &out);
        struct str config = value_text(value_getc(row, "config"));
        if (config.n) {
                buf_addc(&out, "\n  configuration: the one before is in force, as the newest cannot be used: ");
                text_add(&out, config);
        }
        /* Paths of others that differ from Git (`truce owners` prints the rule that settles each), and what waits. */
        add_lines("report", value_text(value_getc(row, "reports")), &out);
        add_lines("kept", value_text(value_getc(row, "kept")), &out);
        printf("%s\n", out.p);
}

static void print_table(const struct value *rows, int64_t now_ms) {
        printf("%-20s %-28s %-10s %-11s %8s  %s\n", "APPLICATION", "REVISION", "SYNC", "HEALTH", "OBJECTS", "LAST CHANGE");
        for (size_t i = 0; i < value_count(rows); i++)
                print_row(rows->list.items[i], now_ms);
}

/* After the table: a line is long. */
static void print_fights(const struct value *rows) {
        for (size_t i = 0; i < value_count(rows); i++) {
                const struct value *lines = value_getc(rows->list.items[i], "fights");

                for (size_t k = 0; k < value_count(lines); k++) {
                        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

                        text_add(&out, value_text(lines->list.items[k]));
                        printf("fight: %s\n", out.p);
                }
        }
}

static void list_inventories(struct status *s) {
        static const struct kube_list_handler handler = { on_item, NULL, on_done };
        struct str selector = arena_strf(s->arena, STORE_LABEL_INSTALLATION "=%.*s",
                                         STR_FMT(s->session.config->agent.installation_id));
        struct kube_list_spec spec = {
                .at = { .version = STR("v1"), .plural = STR("configmaps"), .namespace = s->session.config->agent.ns },
                .label_selector = selector,
        };

        s->client = kube_client_new(s->session.transport, s->session.loop);
        s->list = kube_list_start(s->client, &spec, &handler, s);
        loop_run(s->session.loop);
}

static int show(struct status *s, const struct status_flags *flags) {
        const struct value *rows = value_list_end(&s->rows, s->arena, 0);

        if (flags->output == 1) {
                _cleanup_(buf_done) struct buf out = buf_make(64 * 1024 * 1024);

                words_add_json(rows, &out);
                fwrite(out.p, 1, out.n, stdout);
        } else if (value_count(rows)) {
                print_table(rows, loop_wall_ms(s->session.loop));
                print_fights(rows);
        } else {
                printf("no application of installation '%.*s' has been synced yet\n",
                       STR_FMT(s->session.config->agent.installation_id));
        }
        return CLI_OK;
}

int cli_status(int argc, char **argv) {
        struct status s = { .session = { .apps_optional = true, .only_files = true } };
        struct status_flags flags = { 0 };
        const struct option_group own = option_group_of(&cli_status_flags, &flags);
        int result = CLI_OK, r = session_configure(&s.session, "status", argc, argv, &own, &s.err);

        s.arena = arena_new(0);
        if (r == 0 && !s.session.help)
                r = session_connect(&s.session, &s.err);
        if (r == 0 && !s.session.help) {
                list_inventories(&s);
                result = s.err.code ? session_fail(&s.err) : show(&s, &flags);
        } else if (r < 0) {
                result = session_fail(&s.err);
        }
        value_list_drop(&s.rows);
        kube_client_free(s.client);
        session_close(&s.session);
        arena_free(s.arena);
        return result;
}
