/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUnit's XML as Jenkins, GitLab and GitHub's actions read it (testsuites, testsuite, testcase, failure, error), and
 * JSON.
 */
#include "base/value.h"
#include "cli/report_impl.h"
#include "cli/words.h"
#include "diff/text.h"

#define REPORT_MAX_BYTES (256 * MIB)

static const char *const results[] = {
        [REPORT_PASSED] = "passed", [REPORT_FAILED] = "failed", [REPORT_ERROR] = "error"
};

/* ---- JUnit ---- */

/* What XML 1.0 has no way to write is escaped by text_add(). */
static void add_xml(struct buf *out, struct str text) {
        _cleanup_(buf_done) struct buf safe = buf_make(REPORT_MAX_BYTES);

        text_add(&safe, text);
        for (size_t i = 0; i < safe.n; i++) {
                char c = safe.p[i];

                if (c == '&' || c == '<' || c == '>' || c == '"')
                        buf_addf(out, "&#%d;", c);
                else
                        buf_addch(out, c);
        }
}

static void add_attribute(struct buf *out, const char *name, struct str value) {
        buf_addf(out, " %s=\"", name);
        add_xml(out, value);
        buf_addch(out, '"');
}

static void add_seconds(struct buf *out, int64_t us) {
        buf_addf(out, " time=\"%lld.%06lld\"", (long long)(us / 1000000), (long long)(us % 1000000));
}

/* `wanted Degraded: "…", got Healthy: "…"`, or the first line of what was complained of. */
static void add_summary(struct buf *out, const struct report_case *c) {
        _cleanup_(buf_done) struct buf text = buf_make(REPORT_MAX_BYTES);
        struct str rest = str_trim(c->complaints), line = { 0 };

        if (c->is_health && c->result == REPORT_FAILED) {
                buf_addc(&text, "wanted ");
                report_add_health(&c->wanted, &text);
                buf_addc(&text, ", got ");
                report_add_health(&c->got, &text);
        } else if (str_next(&rest, '\n', &line)) {
                buf_add(&text, line);
        }
        add_attribute(out, "message", buf_str(&text));
}

static void add_failure(struct buf *out, const struct report_case *c) {
        const char *element = c->result == REPORT_ERROR ? "error" : "failure";
        struct str rest = str_trim(c->complaints), line;
        size_t lines = 0;

        buf_addf(out, "      <%s", element);
        add_summary(out, c);
        buf_addch(out, '>');
        while (str_next(&rest, '\n', &line)) {
                buf_addc(out, lines++ ? "\n" : "");
                add_xml(out, line);
        }
        buf_addf(out, "</%s>\n", element);
}

static void add_case(struct buf *out, const struct report_case *c) {
        buf_addc(out, "    <testcase");
        add_attribute(out, "classname", c->suite);
        add_attribute(out, "name", c->name);
        add_attribute(out, "file", c->file.n ? c->file : c->path);
        if (c->line)
                buf_addf(out, " line=\"%u\"", c->line);
        add_seconds(out, c->took_us);
        if (c->result == REPORT_PASSED) {
                buf_addc(out, "/>\n");
                return;
        }
        buf_addc(out, ">\n");
        add_failure(out, c);
        buf_addc(out, "    </testcase>\n");
}

/* Cases of one suite follow one another. */
static size_t suite_end(const struct report *r, size_t from) {
        size_t to = from;

        while (to < r->count && str_eq(r->cases[to].suite, r->cases[from].suite))
                to++;
        return to;
}

static void add_counts(struct buf *out, const struct report *r, size_t from, size_t to) {
        size_t failed = 0, errors = 0;
        int64_t us = 0;

        for (size_t i = from; i < to; i++) {
                failed += r->cases[i].result == REPORT_FAILED;
                errors += r->cases[i].result == REPORT_ERROR;
                us += r->cases[i].took_us;
        }
        buf_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\"", to - from, failed, errors);
        add_seconds(out, us);
}

void report_print_junit(const struct report *r, FILE *out) {
        _cleanup_(buf_done) struct buf text = buf_make(REPORT_MAX_BYTES);

        buf_addc(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"truce test\"");
        add_counts(&text, r, 0, r->count);
        buf_addc(&text, ">\n");
        for (size_t from = 0; from < r->count;) {
                size_t to = suite_end(r, from);

                buf_addc(&text, "  <testsuite");
                add_attribute(&text, "name", r->cases[from].suite);
                add_counts(&text, r, from, to);
                buf_addc(&text, ">\n");
                for (; from < to; from++)
                        add_case(&text, &r->cases[from]);
                buf_addc(&text, "  </testsuite>\n");
        }
        buf_addc(&text, "</testsuites>\n");
        fwrite(text.p, 1, text.n, out);
}

/* ---- JSON ---- */

static void add_text(struct value_map_builder *b, const char *key, struct str text, struct arena *a) {
        value_map_add(b, str_from(key), value_string(a, text, 0), 0);
}

static void add_number(struct value_map_builder *b, const char *key, size_t number, struct arena *a) {
        value_map_add(b, str_from(key), value_int(a, (int64_t)number, 0), 0);
}

static void add_health(struct value_map_builder *b, const char *key, const struct report_health *h, struct arena *a) {
        struct value_map_builder health = { 0 };

        add_text(&health, "status", h->status, a);
        add_text(&health, "message", h->message, a);
        value_map_add(b, str_from(key), value_map_end(&health, a, 0), 0);
}

static const struct value *case_value(const struct report_case *c, struct arena *a) {
        struct value_map_builder b = { 0 };

        add_text(&b, "suite", c->suite, a);
        add_text(&b, "name", c->name, a);
        add_text(&b, "file", c->file.n ? c->file : c->path, a);
        add_number(&b, "line", c->line, a);
        add_text(&b, "result", str_from(results[c->result]), a);
        if (c->complaints.n)
                add_text(&b, "text", str_trim(c->complaints), a);
        if (c->is_health && c->result != REPORT_ERROR) {
                add_health(&b, "wanted", &c->wanted, a);
                add_health(&b, "got", &c->got, a);
                add_text(&b, "rule", c->rule, a);
        }
        return value_map_end(&b, a, 0);
}

void report_print_json(const struct report *r, FILE *out) {
        _cleanup_(buf_done) struct buf text = buf_make(REPORT_MAX_BYTES);
        struct value_list_builder cases = { 0 }, notes = { 0 };
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < r->count; i++)
                value_list_add(&cases, case_value(&r->cases[i], r->arena));
        for (size_t i = 0; i < r->note_count; i++)
                value_list_add(&notes, value_string(r->arena, r->notes[i], 0));
        add_number(&b, "rules", r->rules, r->arena);
        add_number(&b, "suites", r->suites, r->arena);
        add_number(&b, "actionSuites", r->action_suites, r->arena);
        add_number(&b, "failed", r->failed, r->arena);
        add_number(&b, "errors", r->errors, r->arena);
        value_map_add(&b, STR("cases"), value_list_end(&cases, r->arena, 0), 0);
        value_map_add(&b, STR("notes"), value_list_end(&notes, r->arena, 0), 0);
        words_add_json(value_map_end(&b, r->arena, 0), &text);
        fwrite(text.p, 1, text.n, out);
}
