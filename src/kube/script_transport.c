/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/script_transport.h"

#include <assert.h>

#include "kube/inproc.h"

/* What a test scripted: a ready answer, or a function that makes one. */
struct rule {
        enum kube_method method;
        char *pattern;
        struct script_answer answer; /* owns its strings */
        unsigned used;
        script_answer_fn fn; /* NULL: `answer` */
        void *ctx;
};

/* Bytes on their way down an open stream. */
struct piece {
        struct piece *next;
        size_t n;
        char bytes[];
};

struct kube_call {
        struct inproc_call base; /* first: struct inproc_call * is struct kube_call * */
        struct script_request *request;
        struct script_answer answer; /* owns its strings */
        struct piece *first, **last;
        bool begun;         /* the first byte went out */
        bool ended;         /* script_end() was called */
        enum err_code code; /* of script_end() */
};

struct script {
        struct kube_transport transport; /* first: struct kube_transport * is struct script * */
        struct inproc inproc;
        struct rule **rules;
        size_t rule_count, rule_cap;
        struct script_request **requests;
        size_t request_count, request_cap;
        size_t unexpected;
};

static void copy_str(struct str *s) {
        s->p = str_dup(*s);
}

static void free_str(struct str s) {
        free((char *)s.p);
}

static struct script_answer copy_answer(const struct script_answer *answer) {
        struct script_answer copy = *answer;

        if (copy.status == 0)
                copy.status = 200;
        if (copy.content_type.n == 0)
                copy.content_type = STR("application/json");
        copy_str(&copy.content_type);
        copy_str(&copy.body);
        copy_str(&copy.warnings);
        return copy;
}

static void free_answer(struct script_answer *answer) {
        free_str(answer->content_type);
        free_str(answer->body);
        free_str(answer->warnings);
}

/* --- patterns --- */

/* "*" stands for any run of bytes: on a mismatch the last star takes one byte more. */
static bool matches_text(struct str pattern, struct str text) {
        size_t p = 0, t = 0, star = SIZE_MAX, from = 0;

        while (t < text.n) {
                if (p < pattern.n && pattern.p[p] == '*') {
                        star = p++;
                        from = t;
                } else if (p < pattern.n && pattern.p[p] == text.p[t]) {
                        p++;
                        t++;
                } else if (star != SIZE_MAX) {
                        p = star + 1;
                        t = ++from;
                } else {
                        return false;
                }
        }
        while (p < pattern.n && pattern.p[p] == '*')
                p++;
        return p == pattern.n;
}

static bool matches(const char *pattern, struct str path) {
        ptrdiff_t query = str_find(path, '?', 0);

        if (query >= 0 && !strchr(pattern, '?'))
                path = str_sub(path, 0, (size_t)query);
        return matches_text(str_from(pattern), path);
}

/* --- one call --- */

static void free_call(struct inproc_call *base) {
        struct kube_call *c = (struct kube_call *)base;

        while (c->first) {
                struct piece *next = c->first->next;

                free(c->first);
                c->first = next;
        }
        free_answer(&c->answer);
        free(c);
}

static bool is_streamed(const struct kube_call *c) {
        return inproc_is_streamed(&c->base, c->answer.status);
}

static void finish(struct inproc_call *base, const struct err *err) {
        struct kube_call *c = (struct kube_call *)base;
        struct kube_reply reply = { 0 };

        if (c->begun && !err) {
                reply.status = c->answer.status;
                reply.content_type = c->answer.content_type;
                reply.warnings = c->answer.warnings;
                reply.retry_after_ms = c->answer.retry_after_ms;
                if (!is_streamed(c))
                        reply.body = c->answer.body;
        }
        inproc_end(base, &reply, err);
}

static bool give_body(struct kube_call *c) {
        struct str body = c->answer.body;
        size_t piece = c->answer.chunk_bytes ? c->answer.chunk_bytes : body.n;

        for (size_t at = 0; at < body.n; at += piece)
                if (!inproc_give(&c->base, str_sub(body, at, at + piece)))
                        return false;
        return true;
}

static bool give_pieces(struct kube_call *c) {
        while (c->first) {
                struct piece *piece = c->first;

                c->first = piece->next;
                if (!c->first)
                        c->last = &c->first;
                bool goes_on = inproc_give(&c->base, (struct str){ piece->bytes, piece->n });
                free(piece);
                if (!goes_on)
                        return false;
        }
        return true;
}

static void step(struct inproc_call *base) {
        struct kube_call *c = (struct kube_call *)base;

        if (!c->begun) {
                c->begun = true;
                if (is_streamed(c) && !give_body(c))
                        return;
                if (!is_streamed(c) && c->answer.body.n > base->max_body_bytes) {
                        inproc_fail(base, ERR_LIMIT, "the reply is too large");
                        return;
                }
        }
        if (c->answer.error) {
                inproc_fail(base, c->answer.error, "the script broke the exchange");
                return;
        }
        if (!c->answer.stream || !is_streamed(c)) {
                finish(base, NULL);
                return;
        }
        if (!give_pieces(c) || !c->ended)
                return;
        if (c->code)
                inproc_fail(base, c->code, "the script broke the stream");
        else
                finish(base, NULL);
}

static const struct inproc_ops call_ops = { .step = step, .finish = finish, .free = free_call };

/* --- the transport --- */

static struct script_request *log_request(struct script *s, const struct kube_request *req) {
        struct script_request *r = mem_zalloc(sizeof *r);

        *r = (struct script_request){
                .method = req->method,
                .path = req->path,
                .body = req->body,
                .content_type = str_from(req->content_type),
                .accept = str_from(req->accept),
                .priority = req->priority,
                .watch = req->watch,
                .at_ms = loop_now_ms(s->inproc.loop),
        };
        copy_str(&r->path);
        copy_str(&r->body);
        copy_str(&r->content_type);
        copy_str(&r->accept);

        s->requests = mem_grow(s->requests, &s->request_cap, s->request_count + 1, sizeof *s->requests);
        s->requests[s->request_count++] = r;
        return r;
}

static bool rule_answers(struct rule *rule, const struct script_request *r, struct script_answer *ret) {
        struct script_answer made = { 0 };

        if (rule->method != r->method || !matches(rule->pattern, r->path))
                return false;
        if (rule->fn) {
                if (rule->fn(rule->ctx, r, &made) < 0)
                        return false;
                *ret = copy_answer(&made);
                return true;
        }
        if (rule->answer.times && rule->used == rule->answer.times)
                return false;

        rule->used++;
        *ret = copy_answer(&rule->answer);
        return true;
}

static struct script_answer find_answer(struct script *s, const struct script_request *r) {
        struct script_answer answer;

        for (size_t i = s->rule_count; i-- > 0;)
                if (rule_answers(s->rules[i], r, &answer))
                        return answer;

        s->unexpected++;
        return copy_answer(&(struct script_answer){ .error = ERR_INTERNAL });
}

static struct kube_call *script_start(struct kube_transport *t, const struct kube_request *req,
                                      const struct kube_handler *handler, void *ctx) {
        struct script *s = (struct script *)t;
        struct kube_call *c = mem_zalloc(sizeof *c);

        c->last = &c->first;
        c->request = log_request(s, req);
        c->answer = find_answer(s, c->request);
        inproc_begin(&s->inproc, &c->base, req, handler, ctx, c->answer.delay_ms);
        return c;
}

static void script_cancel(struct kube_transport *t, struct kube_call *c) {
        (void)t;
        c->request->cancelled = true;
        inproc_cancel(&c->base);
}

static void transport_free(struct kube_transport *t) {
        script_free((struct script *)t);
}

static const struct kube_transport_ops ops = {
        .start = script_start,
        .cancel = script_cancel,
        .free = transport_free,
};

struct script *script_new(struct loop *l) {
        struct script *s = mem_zalloc(sizeof *s);

        s->transport.ops = &ops;
        s->inproc = (struct inproc){ .ops = &call_ops, .loop = l };
        return s;
}

struct kube_transport *script_transport(struct script *s) {
        return &s->transport;
}

void script_clear(struct script *s) {
        for (size_t i = 0; i < s->rule_count; i++) {
                free_answer(&s->rules[i]->answer);
                free(s->rules[i]->pattern);
                free(s->rules[i]);
        }
        s->rule_count = 0;
}

void script_free(struct script *s) {
        if (!s)
                return;

        inproc_drop_all(&s->inproc);
        script_clear(s);
        free(s->rules);
        for (size_t i = 0; i < s->request_count; i++) {
                free_str(s->requests[i]->path);
                free_str(s->requests[i]->body);
                free_str(s->requests[i]->content_type);
                free_str(s->requests[i]->accept);
                free(s->requests[i]);
        }
        free(s->requests);
        free(s);
}

/* --- scripting --- */

static struct rule *rule_add(struct script *s, enum kube_method method, const char *pattern,
                             const struct script_answer *answer) {
        struct rule *rule = mem_zalloc(sizeof *rule);

        rule->method = method;
        rule->pattern = str_dup(str_from(pattern));
        rule->answer = copy_answer(answer);
        s->rules = mem_grow(s->rules, &s->rule_cap, s->rule_count + 1, sizeof *s->rules);
        s->rules[s->rule_count++] = rule;
        return rule;
}

void script_on(struct script *s, enum kube_method method, const char *pattern, const struct script_answer *answer) {
        rule_add(s, method, pattern, answer);
}

void script_on_call(struct script *s, enum kube_method method, const char *pattern, script_answer_fn fn, void *ctx) {
        struct rule *rule = rule_add(s, method, pattern, &(struct script_answer){ 0 });

        rule->fn = fn;
        rule->ctx = ctx;
}

static bool is_open_stream(const struct kube_call *c, const char *pattern) {
        return c->answer.stream && is_streamed(c) && !c->ended && matches(pattern, c->request->path);
}

static struct kube_call *find_stream(const struct script *s, const char *pattern) {
        const struct inproc_call *c = s->inproc.calls;

        while (c && !is_open_stream((const struct kube_call *)c, pattern))
                c = c->next;
        return (struct kube_call *)c;
}

size_t script_streams(const struct script *s, const char *pattern) {
        size_t n = 0;

        for (const struct inproc_call *c = s->inproc.calls; c; c = c->next)
                n += is_open_stream((const struct kube_call *)c, pattern);
        return n;
}

/* Before the first byte is out the step timer is running towards it and must not be moved. */
static void wake(struct kube_call *c) {
        if (c->begun)
                loop_timer_start(c->base.step, 0);
}

bool script_send_bytes(struct script *s, const char *pattern, struct str bytes) {
        struct kube_call *c = find_stream(s, pattern);
        if (!c)
                return false;

        struct piece *piece = mem_alloc(sizeof *piece + bytes.n);
        piece->next = NULL;
        piece->n = bytes.n;
        if (bytes.n)
                memcpy(piece->bytes, bytes.p, bytes.n);
        *c->last = piece;
        c->last = &piece->next;
        wake(c);
        return true;
}

bool script_send(struct script *s, const char *pattern, struct str line) {
        return script_send_bytes(s, pattern, line) && script_send_bytes(s, pattern, STR("\n"));
}

bool script_end(struct script *s, const char *pattern, enum err_code error) {
        struct kube_call *c = find_stream(s, pattern);
        if (!c)
                return false;

        c->ended = true;
        c->code = error;
        wake(c);
        return true;
}

/* --- the log --- */

size_t script_request_count(const struct script *s) {
        return s->request_count;
}

const struct script_request *script_request_at(const struct script *s, size_t i) {
        assert(i < s->request_count);
        return s->requests[i];
}

static bool is_logged_as(const struct script_request *r, enum kube_method method, const char *pattern) {
        return r->method == method && matches(pattern, r->path);
}

size_t script_count(const struct script *s, enum kube_method method, const char *pattern) {
        size_t n = 0;

        for (size_t i = 0; i < s->request_count; i++)
                n += is_logged_as(s->requests[i], method, pattern);
        return n;
}

const struct script_request *script_last(const struct script *s, enum kube_method method, const char *pattern) {
        for (size_t i = s->request_count; i-- > 0;)
                if (is_logged_as(s->requests[i], method, pattern))
                        return s->requests[i];
        return NULL;
}

size_t script_unexpected(const struct script *s) {
        return s->unexpected;
}
