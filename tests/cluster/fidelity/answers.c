/* SPDX-License-Identifier: Apache-2.0 */
#include "answers.h"

#include "base/json.h"

static const struct value *parse(struct arena *a, struct str text) {
        const struct value *v;

        return json_parse(text, a, &v, NULL) == 0 ? v : NULL;
}

/* The whole lines of a stream as one list. What is no JSON is told as a string. */
static const struct value *events_of(struct arena *a, struct str lines) {
        struct value_list_builder b = { 0 };
        size_t from = 0;
        ptrdiff_t end;

        for (; (end = str_find(lines, '\n', from)) >= 0; from = (size_t)end + 1) {
                struct str line = str_sub(lines, from, (size_t)end);
                const struct value *v = parse(a, line);

                value_list_add(&b, v ? v : value_string(a, line, 0));
        }
        return value_list_end(&b, a, 0);
}

/* "ADDED one, MODIFIED one": what happened in which order. */
static struct str story_of(struct arena *a, const struct value *events) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        for (size_t i = 0; i < value_count(events); i++) {
                struct str name = value_text(value_path(events->list.items[i], "object", "metadata", "name", NULL));

                buf_addf(&out, "%s%.*s %.*s", i ? ", " : "",
                         STR_FMT(value_text(value_getc(events->list.items[i], "type"))), STR_FMT(name));
        }
        return arena_str(a, buf_str(&out));
}

/* Other events are told as such; only the same ones are compared further. */
static void compare_events(struct pairs *p, const struct twin_answer answers[SIDE_COUNT], struct arena *a,
                           struct differences *out) {
        const struct value *real = events_of(a, answers[SIDE_REAL].body),
                           *sandbox = events_of(a, answers[SIDE_SANDBOX].body);
        size_t before = out->count;

        compare_texts(p, "/events", story_of(a, real), story_of(a, sandbox), a, out);
        if (out->count == before)
                compare_bodies(p, "/events", real, sandbox, a, out);
}

static const struct value *compare_body(struct pairs *p, const struct twin_answer answers[SIDE_COUNT], struct arena *a,
                                        struct differences *out) {
        const struct value *real = parse(a, answers[SIDE_REAL].body), *sandbox = parse(a, answers[SIDE_SANDBOX].body);

        if (real && sandbox)
                compare_bodies(p, "", real, sandbox, a, out);
        else
                compare_texts(p, "text", answers[SIDE_REAL].body, answers[SIDE_SANDBOX].body, a, out);
        return real ? pairs_label(p, a, real) : NULL;
}

static void compare_heads(const struct twin_answer *real, const struct twin_answer *sandbox, struct arena *a,
                          struct differences *out) {
        if (real->status != sandbox->status)
                differences_add(out, a, STR("status"), arena_strf(a, "%d", real->status),
                                arena_strf(a, "%d", sandbox->status));
        if (!str_eq(real->content_type, sandbox->content_type))
                differences_add(out, a, STR("type"), real->content_type, sandbox->content_type);
}

const struct value *answers_compare(struct pairs *p, bool watch, const struct twin_answer answers[SIDE_COUNT],
                                    struct arena *a, struct differences *out) {
        const struct twin_answer *real = &answers[SIDE_REAL], *sandbox = &answers[SIDE_SANDBOX];
        const struct value *body = NULL;

        compare_heads(real, sandbox, a, out);
        if (watch && real->status == 200 && sandbox->status == 200)
                compare_events(p, answers, a, out);
        else
                body = compare_body(p, answers, a, out);
        compare_texts(p, "warnings", real->warnings, sandbox->warnings, a, out);
        return body;
}
