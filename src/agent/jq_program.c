/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libjq, and nothing else of truce. An expression is compiled inside of `path(…)`, behind definitions that take away
 * what an expression must not do; they hide the built-in ones wherever the text may put itself. A module can only be
 * imported at the very beginning of a program, where our text stands.
 */
#include <jq.h>
#include <jv.h>

#include "agent/jq_impl.h"
#include "base/limits.h"
#include "base/value.h"

/* What an expression may say about its failure; error() takes anything. */
#define MAX_FAILURE_BYTES 300

/* On one line: errors name lines. The line feed before the parenthesis ends a comment. */
#define NOT_HERE(name) "def " name ": error(\"" name " is not available here\");"
static const char before[] = "{} as $ENV|def env:{};def debug:.;def stderr:.;def input_filename:null;" NOT_HERE("input")
        NOT_HERE("inputs") NOT_HERE("halt") "def halt_error(f):error(\"halt_error is not available here\");"
        "def halt_error:halt_error(5);" NOT_HERE("modulemeta") NOT_HERE("get_search_list") "path(";
static const char after[] = "\n)";

/* Of the process. A state sets its own each time it runs, so each is given it. */
static void (*on_no_memory)(void *ctx);

struct jq_program {
        jq_state *jq;
};

struct jq_object {
        jv value;
};

/* ---- compiling ---- */

/* jq's messages of one compilation. */
struct complaints {
        struct buf text;
        unsigned count;
};

/* Cuts everything from `mark` on. */
static struct str until(struct str s, const char *mark) {
        const char *found = memmem(s.p, s.n, mark, strlen(mark));

        return found ? str_sub(s, 0, (size_t)(found - s.p)) : s;
}

/* "jq: error: MESSAGE (Unix shell quoting issues?) at <top-level>, line 1:\nSOURCE" is MESSAGE to us. */
static void on_complaint(void *ctx, jv msg) {
        struct complaints *c = ctx;
        struct str s = jv_get_kind(msg) == JV_KIND_STRING ? str_from(jv_string_value(msg)) : STR("");

        if (str_starts(s, STR("jq: error: ")) && c->count++ < 3) {
                s = until(until(until(str_sub(s, strlen("jq: error: "), s.n), "\n"), " at <top-level>"), " (Unix shell");
                buf_addf(&c->text, "%s%.*s", c->text.n > 0 ? "; " : "", STR_FMT(s));
        }
        jv_free(msg);
}

/* Without these attributes libjq 1.6 fails an assertion when something is to be imported. */
static jq_state *state_new(struct complaints *c) {
        jq_state *jq = jq_init();

        jq_set_attr(jq, jv_string("JQ_ORIGIN"), jv_string("/dev/null"));
        jq_set_attr(jq, jv_string("PROGRAM_ORIGIN"), jv_string("/dev/null"));
        jq_set_attr(jq, jv_string("JQ_LIBRARY_PATH"), jv_array());
        jq_set_error_cb(jq, on_complaint, c);
        jq_set_nomem_handler(jq, on_no_memory, NULL);
        return jq;
}

static int check_text(struct str text, struct err *err) {
        if (text.n > JQ_MAX_PROGRAM_BYTES)
                return err_set(err, ERR_LIMIT, "this jq expression is longer than %d bytes", JQ_MAX_PROGRAM_BYTES);
        if (str_find(text, '\0', 0) >= 0 || !str_is_utf8(text))
                return err_set(err, ERR_INVAL, "this jq expression is not UTF-8 text");
        return 0;
}

int jq_program_new(struct str text, struct jq_program **ret_program, struct err *err) {
        _cleanup_(buf_done) struct buf whole = buf_make(JQ_MAX_PROGRAM_BYTES + sizeof before + sizeof after);
        struct complaints c = { .text = buf_make(1024) };
        int r = check_text(text, err);

        if (r < 0)
                return r;
        buf_addc(&whole, before);
        buf_add(&whole, text);
        buf_addc(&whole, after);

        jq_state *jq = state_new(&c);
        if (jq_compile(jq, whole.p)) {
                /* What is reported from now on goes nowhere, as `c` ends here. */
                jq_set_error_cb(jq, NULL, NULL);
                *ret_program = mem_zalloc(sizeof **ret_program);
                (*ret_program)->jq = jq;
        } else {
                r = err_set(err, ERR_INVAL, "this jq expression does not compile: %s",
                            c.text.n > 0 ? c.text.p : "jq does not say why");
                jq_teardown(&jq);
        }
        buf_done(&c.text);
        return r;
}

void jq_program_free(struct jq_program *p) {
        if (!p)
                return;
        jq_teardown(&p->jq);
        free(p);
}

void jq_on_no_memory(void (*out_of_memory)(void *ctx)) {
        on_no_memory = out_of_memory;
        jv_nomem_handler(out_of_memory, NULL);
}

/* ---- objects ---- */

int jq_object_new(struct str json, struct jq_object **ret_object, struct err *err) {
        if (json.n > KUBE_MAX_OBJECT_BYTES)
                return err_set(err, ERR_LIMIT, "the object is too large");

        jv value = jv_parse_sized(json.p, (int)json.n);
        if (!jv_is_valid(value)) {
                jv_free(value);
                return err_set(err, ERR_INVAL, "jq does not take the object");
        }
        *ret_object = mem_zalloc(sizeof **ret_object);
        (*ret_object)->value = value;
        return 0;
}

void jq_object_free(struct jq_object *o) {
        if (!o)
                return;
        jv_free(o->value);
        free(o);
}

/* ---- paths ---- */

/*
 * A path on its way from jq's spelling to ours. jq counts an index behind a slice from the slice's begin; ours are all
 * counted from the begin of the list.
 */
struct walk {
        struct buf *out;
        jv at;           /* what the path has come to */
        bool in_slice;   /* … of which only items `from` up to `to` count */
        int from, to;
        bool is_nowhere; /* this object has no such item */
        bool has_steps;
};

static void add_step_index(struct walk *w, int index) {
        buf_addf(w->out, "%s%d", w->has_steps ? "," : "", index);
        w->has_steps = true;
}

static int walk_key(struct walk *w, jv key, struct err *err) {
        if (w->in_slice || (jv_get_kind(w->at) != JV_KIND_OBJECT && jv_get_kind(w->at) != JV_KIND_NULL))
                return err_set(err, ERR_INVAL, "this jq expression selects a key of what is no map");
        if (w->has_steps)
                buf_addch(w->out, ',');
        w->has_steps = true;
        value_print_string((struct str){ jv_string_value(key), (size_t)jv_string_length_bytes(jv_copy(key)) }, w->out);
        w->at = jv_get_kind(w->at) == JV_KIND_OBJECT ? jv_object_get(w->at, jv_copy(key)) : w->at;
        if (!jv_is_valid(w->at)) {
                jv_free(w->at);
                w->at = jv_null();
        }
        return 0;
}

static int items_of(const struct walk *w) {
        if (w->in_slice)
                return w->to - w->from;
        return jv_get_kind(w->at) == JV_KIND_ARRAY ? jv_array_length(jv_copy(w->at)) : 0;
}

static int walk_index(struct walk *w, double number, struct err *err) {
        int count = items_of(w);

        if (jv_get_kind(w->at) != JV_KIND_ARRAY && jv_get_kind(w->at) != JV_KIND_NULL)
                return err_set(err, ERR_INVAL, "this jq expression selects an item of what is no list");
        if (number < 0)
                number += count;
        /* A slice ends where it ends; behind the end of a list there may be an item another time. NaN fails all three. */
        w->is_nowhere = !(number >= 0 && number < (w->in_slice ? count : INT32_MAX) && number == (int)number);
        if (w->is_nowhere)
                return 0;

        int index = (int)number + w->from;
        add_step_index(w, index);
        w->at = jv_get_kind(w->at) == JV_KIND_ARRAY ? jv_array_get(w->at, index) : w->at;
        if (!jv_is_valid(w->at)) {
                jv_free(w->at);
                w->at = jv_null();
        }
        w->in_slice = false;
        w->from = w->to = 0;
        return 0;
}

/* One end of a slice, as jq counts (jv_aux.c, parse_slice): from the end when negative, never outside. */
static double bound_of(jv slice, const char *name, double otherwise, int count, bool *is_bad) {
        jv bound = jv_object_get(jv_copy(slice), jv_string(name));
        double number = otherwise;

        if (jv_get_kind(bound) == JV_KIND_NUMBER)
                number = jv_number_value(bound);
        else if (jv_get_kind(bound) != JV_KIND_NULL)
                *is_bad = true;
        jv_free(bound);
        if (number < 0)
                number += count;
        if (!(number > 0))
                return 0;
        return number > count ? count : number;
}

static int walk_slice(struct walk *w, jv slice, struct err *err) {
        int count = items_of(w);
        bool is_bad = false;
        double start = bound_of(slice, "start", 0, count, &is_bad), end = bound_of(slice, "end", count, count, &is_bad);

        w->is_nowhere = jv_get_kind(w->at) == JV_KIND_NULL;
        if (w->is_nowhere)
                return 0;
        if (is_bad)
                return err_set(err, ERR_INVAL, "this jq expression does not select paths");
        if (jv_get_kind(w->at) != JV_KIND_ARRAY)
                return err_set(err, ERR_INVAL, "this jq expression selects a slice of what is no list");

        int first = (int)start, behind = (int)end < end ? (int)end + 1 : (int)end;
        w->to = w->from + (behind > first ? behind : first);
        w->from += first;
        w->in_slice = true;
        return 0;
}

static int walk_step(struct walk *w, jv step, struct err *err) {
        switch (jv_get_kind(step)) {
        case JV_KIND_STRING:
                return walk_key(w, step, err);
        case JV_KIND_NUMBER:
                return walk_index(w, jv_number_value(step), err);
        case JV_KIND_OBJECT:
                return walk_slice(w, step, err);
        default:
                return err_set(err, ERR_INVAL, "this jq expression does not select paths");
        }
}

/* What a path that ends in a slice selects: its items, each a path. The steps so far are those from `begin` on. */
static void add_items(struct walk *w, size_t begin, size_t *count) {
        _cleanup_(buf_done) struct buf so_far = buf_make(w->out->max);

        buf_add(&so_far, str_sub(buf_str(w->out), begin, w->out->n));
        buf_truncate(w->out, begin);
        for (int i = w->from; i < w->to && *count <= JQ_MAX_PATHS; i++) {
                if (i > w->from)
                        buf_addch(w->out, ',');
                buf_addf(w->out, "%s%s%d]", so_far.p, w->has_steps ? "," : "", i);
                ++*count;
        }
}

static int add_path(struct buf *out, jv path, jv object, size_t *count, struct err *err) {
        size_t begin = out->n;
        int r = 0;

        if (*count > 0)
                buf_addch(out, ',');
        size_t bracket = out->n;
        buf_addch(out, '[');

        struct walk w = { .out = out, .at = jv_copy(object) };
        jv_array_foreach(path, i, step) {
                if (r == 0 && !w.is_nowhere)
                        r = walk_step(&w, step, err);
                jv_free(step);
        }
        if (r == 0 && w.in_slice && !w.is_nowhere && w.to > w.from) {
                add_items(&w, bracket, count);
        } else if (r == 0 && (w.is_nowhere || w.in_slice)) {
                buf_truncate(out, begin);
        } else {
                buf_addch(out, ']');
                ++*count;
        }
        jv_free(w.at);
        return r;
}

/* ---- running ---- */

/* Not within a character: its other bytes all begin with the bits 10. */
static struct str cut(struct str s, size_t max_bytes) {
        if (s.n <= max_bytes)
                return s;
        while (max_bytes > 0 && ((unsigned char)s.p[max_bytes] & 0xc0) == 0x80)
                max_bytes--;
        return str_sub(s, 0, max_bytes);
}

static int say_failure(jv msg, struct err *err) {
        struct str s = jv_get_kind(msg) == JV_KIND_STRING ? str_from(jv_string_value(msg)) : STR("it raises an error");

        s = cut(until(s, "\n"), MAX_FAILURE_BYTES);
        int r = err_set(err, ERR_INVAL, "this jq expression fails on the object: %.*s", STR_FMT(s));
        jv_free(msg);
        return r;
}

static int check_room(const struct buf *out, size_t count, struct err *err) {
        if (count <= JQ_MAX_PATHS && !out->overflow)
                return 0;
        return err_set(err, ERR_LIMIT, "this jq expression selects more than %d paths, or too long ones", JQ_MAX_PATHS);
}

static int take_output(jv result, const struct jq_object *o, struct buf *out, size_t *count, struct err *err) {
        int r = jv_get_kind(result) == JV_KIND_ARRAY
                        ? add_path(out, result, o->value, count, err)
                        : err_set(err, ERR_INVAL, "this jq expression does not select paths");

        jv_free(result);
        return r < 0 ? r : check_room(out, *count, err);
}

int jq_program_run(struct jq_program *p, const struct jq_object *o, struct buf *out, struct err *err) {
        size_t count = 0;
        jv result;
        int r = 0;

        buf_addch(out, '[');
        jq_start(p->jq, jv_copy(o->value), 0);
        while (r == 0 && jv_is_valid(result = jq_next(p->jq)))
                r = take_output(result, o, out, &count, err);
        if (r < 0)
                return r;
        if (jv_invalid_has_msg(jv_copy(result)))
                return say_failure(jv_invalid_get_msg(result), err);
        jv_free(result);
        buf_addch(out, ']');
        return check_room(out, count, err);
}
