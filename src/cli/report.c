/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_impl.h"

#include <stdlib.h>

#include "base/value.h"
#include "diff/text.h"

#define MESSAGE_MAX_BYTES (256 * KIB)

void report_add_json_string(struct buf *out, struct str text) {
        _cleanup_(buf_done) struct buf json = buf_make(out->max);

        value_print_string(text, &json);
        text_add_json(out, buf_str(&json));
}

void report_add_health(const struct report_health *h, struct buf *out) {
        if (!h->status.n && !h->message.n) {
                buf_addc(out, "no health");
                return;
        }
        text_add(out, h->status.n ? h->status : STR("no health"));
        buf_addc(out, ": ");
        report_add_json_string(out, h->message);
}

/* ---- plain ---- */

static void plain_case(const struct report *r, const struct report_case *c, FILE *out) {
        _cleanup_(buf_done) struct buf path = buf_make(MESSAGE_MAX_BYTES);
        struct str rest = c->complaints, line;

        (void)r;
        text_add(&path, c->path);
        fprintf(out, "%s - %s\n", c->result == REPORT_PASSED ? "ok" : "not ok", path.p);
        while (str_next(&rest, '\n', &line))
                if (line.n)
                        fprintf(out, "    %.*s\n", STR_FMT(line));
}

static void print_count(FILE *out, size_t n, const char *one, const char *many) {
        fprintf(out, "%zu %s", n, n == 1 ? one : many);
}

static void print_actions(const struct report *r, FILE *out) {
        print_count(out, r->action_suites, "suite", "suites");
        fputs(" of actions passed over: truce has none\n", out);
}

static void plain_end(const struct report *r, FILE *out) {
        for (size_t i = 0; i < r->note_count; i++)
                fprintf(out, "note: %.*s\n", STR_FMT(r->notes[i]));
        if (r->action_suites)
                print_actions(r, out);
        if (r->rules || r->suites) {
                print_count(out, r->rules, "rule, ", "rules, ");
                print_count(out, r->suites, "suite, ", "suites, ");
        }
        print_count(out, r->count, "case", "cases");
        fprintf(out, ", %zu failed", r->failed);
        if (r->errors)
                fprintf(out, ", %zu could not be run", r->errors);
        fputc('\n', out);
}

/* ---- TAP 14 ---- */

/* In a description "#" begins a directive, and "\" escapes it. */
static void add_tap(struct buf *out, struct str text) {
        _cleanup_(buf_done) struct buf safe = buf_make(out->max);

        text_add(&safe, text);
        for (size_t i = 0; i < safe.n; i++) {
                if (safe.p[i] == '#' || safe.p[i] == '\\')
                        buf_addch(out, '\\');
                buf_addch(out, safe.p[i]);
        }
}

static void tap_begin(const struct report *r, FILE *out) {
        (void)r;
        fputs("TAP version 14\n", out);
}

static void add_tap_health(struct buf *out, const char *key, const struct report_health *h) {
        buf_addf(out, "  %s: {status: ", key);
        report_add_json_string(out, h->status);
        buf_addc(out, ", message: ");
        report_add_json_string(out, h->message);
        buf_addc(out, "}\n");
}

static void add_tap_line(struct buf *out, const char *key, struct str text) {
        buf_addf(out, "  %s: ", key);
        report_add_json_string(out, text);
        buf_addch(out, '\n');
}

static void add_tap_diagnosis(struct buf *out, const struct report_case *c) {
        buf_addf(out, "  ---\n  severity: %s\n", c->result == REPORT_ERROR ? "error" : "fail");
        add_tap_line(out, "message", str_trim(c->complaints));
        if (c->is_health && c->result == REPORT_FAILED) {
                add_tap_health(out, "wanted", &c->wanted);
                add_tap_health(out, "got", &c->got);
                add_tap_line(out, "rule", c->rule);
        }
        if (c->file.n) {
                add_tap_line(out, "file", c->file);
                buf_addf(out, "  line: %u\n", c->line);
        }
        buf_addc(out, "  ...\n");
}

static void tap_case(const struct report *r, const struct report_case *c, FILE *out) {
        _cleanup_(buf_done) struct buf text = buf_make(MESSAGE_MAX_BYTES);

        buf_addf(&text, "%s %zu - ", c->result == REPORT_PASSED ? "ok" : "not ok", r->count);
        add_tap(&text, c->path);
        buf_addch(&text, '\n');
        if (c->result != REPORT_PASSED)
                add_tap_diagnosis(&text, c);
        fwrite(text.p, 1, text.n, out);
}

static void tap_end(const struct report *r, FILE *out) {
        for (size_t i = 0; i < r->note_count; i++)
                fprintf(out, "# %.*s\n", STR_FMT(r->notes[i]));
        if (r->action_suites) {
                fputs("# ", out);
                print_actions(r, out);
        }
        fprintf(out, "1..%zu\n", r->count);
}

/* ---- all ---- */

static const struct {
        void (*begin)(const struct report *r, FILE *out);
        void (*one)(const struct report *r, const struct report_case *c, FILE *out);
        void (*end)(const struct report *r, FILE *out);
} styles[] = {
        [REPORT_PLAIN] = { NULL, plain_case, plain_end },
        [REPORT_TAP] = { tap_begin, tap_case, tap_end },
        [REPORT_JUNIT] = { NULL, NULL, report_print_junit },
        [REPORT_JSON] = { NULL, NULL, report_print_json },
};

void report_begin(const struct report *r) {
        for (size_t i = 0; i < r->sink_count; i++)
                if (styles[r->sinks[i].format].begin)
                        styles[r->sinks[i].format].begin(r, r->sinks[i].out);
}

void report_add(struct report *r, const struct report_case *c) {
        r->cases = mem_grow(r->cases, &r->cap, r->count + 1, sizeof *r->cases);
        r->cases[r->count++] = *c;
        r->failed += c->result == REPORT_FAILED;
        r->errors += c->result == REPORT_ERROR;
        for (size_t i = 0; i < r->sink_count; i++)
                if (styles[r->sinks[i].format].one)
                        styles[r->sinks[i].format].one(r, c, r->sinks[i].out);
}

void report_note(struct report *r, struct str text) {
        _cleanup_(buf_done) struct buf safe = buf_make(MESSAGE_MAX_BYTES);

        text_add(&safe, text);
        r->notes = mem_grow(r->notes, &r->note_cap, r->note_count + 1, sizeof *r->notes);
        r->notes[r->note_count++] = arena_str(r->arena, buf_str(&safe));
}

void report_end(const struct report *r) {
        for (size_t i = 0; i < r->sink_count; i++)
                styles[r->sinks[i].format].end(r, r->sinks[i].out);
}

void report_done(struct report *r) {
        free(r->cases);
        free(r->notes);
}
