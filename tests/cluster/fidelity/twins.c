/* SPDX-License-Identifier: Apache-2.0 */
#include "twins.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "base/loop.h"
#include "sandbox/sandbox.h"

#define USER_AGENT    "fidelity/1"
#define WATCH_MORE_MS 15   /* for events that should not come */
#define WATCH_MAX_MS  3000 /* for those that should; longer at each further attempt */
#define WATCH_TRIES   3
#define CLOCK_EDGE_MS 30   /* no request begins so shortly before a second ends */

static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

struct twins {
        CURLM *multi;
        const char *server, *ca_file;
        char authorization[512];
        struct loop *loop;
        struct sandbox *sandbox;
};

/* One exchange with the real server. */
struct exchange {
        struct buf body, warnings;
        size_t lines, wanted_lines;
        int64_t enough_at_ms; /* a watch ends then; 0: not known yet */
        int64_t max_ms;       /* … or so long after it began */
        bool watch, done;
};

static void give_up(const char *what) {
        fprintf(stderr, "fidelity: %s\n", what);
        exit(1);
}

static int64_t wall_ms(void) {
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct twins *twins_new(uint64_t seed) {
        struct twins *t = mem_zalloc(sizeof *t);
        const char *token = getenv("TRUCE_TEST_TOKEN");

        t->server = getenv("TRUCE_TEST_SERVER");
        t->ca_file = getenv("TRUCE_TEST_CA");
        if (!t->server || !t->ca_file || !token)
                give_up("the environment names no server: start me with tests/cluster/with-cluster.sh");
        snprintf(t->authorization, sizeof t->authorization, "Authorization: Bearer %s", token);
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || !(t->multi = curl_multi_init()))
                give_up("curl cannot start");
        t->loop = loop_new_virtual(seed, wall_ms());
        t->sandbox = sandbox_new(t->loop, &(struct sandbox_options){ .no_controllers = true, .keep_namespaces = true });
        return t;
}

void twins_free(struct twins *t) {
        if (!t)
                return;
        sandbox_free(t->sandbox);
        loop_free(t->loop);
        curl_multi_cleanup(t->multi);
        curl_global_cleanup();
        free(t);
}

static size_t take_bytes(char *p, size_t size, size_t count, void *ctx) {
        struct exchange *x = ctx;

        buf_add(&x->body, (struct str){ p, size * count });
        for (size_t i = 0; i < size * count; i++)
                x->lines += p[i] == '\n';
        if (x->watch && x->lines >= x->wanted_lines && !x->enough_at_ms)
                x->enough_at_ms = wall_ms() + WATCH_MORE_MS;
        return x->body.overflow ? 0 : size * count;
}

/* Warning: 299 - "text", with \" and \\ inside. */
static void take_warning(struct buf *out, struct str header) {
        ptrdiff_t from = str_find(header, '"', 0);

        for (size_t i = (size_t)from + 1; from >= 0 && i < header.n && header.p[i] != '"'; i++) {
                if (header.p[i] == '\\' && i + 1 < header.n)
                        i++;
                buf_addch(out, header.p[i]);
        }
        buf_addch(out, '\n');
}

static size_t take_header(char *p, size_t size, size_t count, void *ctx) {
        struct exchange *x = ctx;
        struct str header = str_trim((struct str){ p, size * count });

        if (header.n > 8 && (str_starts(header, STR("warning:")) || str_starts(header, STR("Warning:"))))
                take_warning(&x->warnings, header);
        return size * count;
}

static struct curl_slist *headers_of(struct twins *t, const struct twin_request *r) {
        struct curl_slist *headers = curl_slist_append(NULL, t->authorization);
        char text[256];

        snprintf(text, sizeof text, "Accept: %s", r->accept ? r->accept : "application/json");
        headers = curl_slist_append(headers, text);
        snprintf(text, sizeof text, "Content-Type: %s", r->content_type ? r->content_type : "application/json");
        return curl_slist_append(headers, text);
}

static void prepare(struct twins *t, CURL *easy, const struct twin_request *r, struct exchange *x, const char *url,
                    struct curl_slist *headers) {
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_CAINFO, t->ca_file);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(easy, CURLOPT_USERAGENT, USER_AGENT);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(easy, CURLOPT_TIMEOUT, 60L);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, methods[r->method]);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
        curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
        curl_easy_setopt(easy, CURLOPT_HEADERDATA, x);
        if (r->content_type) {
                curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
                curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->body.p);
        }
}

static void run(struct twins *t, struct exchange *x) {
        int64_t deadline = wall_ms() + x->max_ms;
        int active = 1, left;

        while (active && !(x->watch && (wall_ms() > deadline || (x->enough_at_ms && wall_ms() >= x->enough_at_ms)))) {
                curl_multi_perform(t->multi, &active);
                if (active)
                        curl_multi_poll(t->multi, NULL, 0, x->watch ? 5 : 1000, NULL);
        }
        for (CURLMsg *m; (m = curl_multi_info_read(t->multi, &left));)
                x->done |= m->msg == CURLMSG_DONE && m->data.result == CURLE_OK;
}

static void ask_real(struct twins *t, const struct twin_request *r, struct exchange *x, struct arena *a,
                     struct twin_answer *ret_answer) {
        CURL *easy = curl_easy_init();
        struct curl_slist *headers = headers_of(t, r);
        struct str url = arena_strf(a, "%s%.*s", t->server, STR_FMT(r->path));
        long status = 0;
        const char *type = NULL;

        x->body = buf_make(KUBE_MAX_REPLY_BYTES);
        x->warnings = buf_make(KUBE_MAX_REPLY_BYTES);
        prepare(t, easy, r, x, url.p, headers);
        curl_multi_add_handle(t->multi, easy);
        run(t, x);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
        *ret_answer = (struct twin_answer){ .status = x->done || x->watch ? (int)status : 0,
                                            .content_type = arena_str(a, str_from(type)),
                                            .body = arena_str(a, buf_str(&x->body)),
                                            .warnings = arena_str(a, buf_str(&x->warnings)) };
        curl_multi_remove_handle(t->multi, easy);
        curl_slist_free_all(headers);
        curl_easy_cleanup(easy);
        buf_done(&x->body);
        buf_done(&x->warnings);
}

static void take_line(void *ctx, struct str line) {
        struct exchange *x = ctx;

        buf_add(&x->body, line);
        x->lines++;
}

static void take_end(void *ctx) {
        struct exchange *x = ctx;

        x->done = true;
}

static struct str warnings_of(const struct sandbox_reply *reply, struct arena *a) {
        _cleanup_(buf_done) struct buf out = buf_make(KUBE_MAX_REPLY_BYTES);

        for (size_t i = 0; i < reply->warning_count; i++)
                buf_addf(&out, "%.*s\n", STR_FMT(reply->warnings[i]));
        return arena_str(a, buf_str(&out));
}

/* Sets the sandbox's clock to the given moment. */
static void set_clock(struct twins *t, int64_t at_ms) {
        int64_t now = loop_wall_ms(t->loop);

        if (at_ms > now)
                loop_run_for(t->loop, at_ms - now);
}

static void ask_sandbox(struct twins *t, const struct twin_request *r, struct exchange *x, struct arena *a,
                        struct twin_answer *ret_answer) {
        const struct sandbox_watcher watcher = { .line = take_line, .end = take_end };
        const struct sandbox_request request = {
                .method = r->method,
                .path = r->path,
                .content_type = str_from(r->content_type ? r->content_type : "application/json"),
                .accept = str_from(r->accept ? r->accept : "application/json"),
                .user_agent = STR(USER_AGENT),
                .body = r->body,
                .user = STR("admin"),
                .groups = &STR("system:masters"),
                .group_count = 1,
        };
        struct sandbox_reply reply = { 0 };

        x->body = buf_make(KUBE_MAX_REPLY_BYTES);
        sandbox_serve(t->sandbox, &request, a, &reply);
        *ret_answer = (struct twin_answer){ .status = reply.status,
                                            .content_type = reply.content_type,
                                            .body = reply.body,
                                            .warnings = warnings_of(&reply, a) };
        if (reply.watch) {
                sandbox_watch_start(reply.watch, &watcher, x);
                sandbox_watch_close(reply.watch);
                ret_answer->body = arena_str(a, buf_str(&x->body));
        }
        buf_done(&x->body);
}

/* Both sides stamp the same second when none ends on the way. */
static void leave_edge(void) {
        int64_t left = 1000 - wall_ms() % 1000;

        if (left < CLOCK_EDGE_MS)
                nanosleep(&(struct timespec){ .tv_nsec = left * 1000000 }, NULL);
}

/* When a second ended on the way, the answer may tell which of the two was stamped. */
static int64_t moment_of(const struct twin_answer *answer, int64_t before_ms, int64_t after_ms) {
        time_t end = (time_t)(after_ms / 1000);
        struct tm parts;
        char text[64];

        if (before_ms / 1000 == end)
                return before_ms;
        gmtime_r(&end, &parts);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
        return str_contains(answer->body, str_from(text)) ? (int64_t)end * 1000 : before_ms;
}

void twins_ask(struct twins *t, const struct twin_request requests[SIDE_COUNT], struct arena *a,
               struct twin_answer ret_answers[SIDE_COUNT]) {
        struct exchange real = { 0 }, sandbox = { 0 };
        int64_t now;

        leave_edge();
        now = wall_ms();
        ask_real(t, &requests[SIDE_REAL], &real, a, &ret_answers[SIDE_REAL]);
        set_clock(t, moment_of(&ret_answers[SIDE_REAL], now, wall_ms()));
        ask_sandbox(t, &requests[SIDE_SANDBOX], &sandbox, a, &ret_answers[SIDE_SANDBOX]);
}

void twins_ask_real(struct twins *t, const struct twin_request *r, struct arena *a, struct twin_answer *ret_answer) {
        struct exchange real = { 0 };

        ask_real(t, r, &real, a, ret_answer);
}

void twins_watch(struct twins *t, const struct twin_request requests[SIDE_COUNT], struct arena *a,
                 struct twin_answer ret_answers[SIDE_COUNT]) {
        struct exchange sandbox = { .watch = true };
        bool late = true;

        ask_sandbox(t, &requests[SIDE_SANDBOX], &sandbox, a, &ret_answers[SIDE_SANDBOX]);
        for (int tries = 0; late && tries < WATCH_TRIES; tries++) {
                struct exchange real = { .watch = true,
                                         .wanted_lines = sandbox.lines,
                                         .max_ms = (int64_t)WATCH_MAX_MS << tries };

                if (!sandbox.lines)
                        real.enough_at_ms = wall_ms() + (4 * WATCH_MORE_MS << 3 * tries);
                ask_real(t, &requests[SIDE_REAL], &real, a, &ret_answers[SIDE_REAL]);
                late = !ret_answers[SIDE_REAL].status || (!real.done && real.lines < real.wanted_lines);
        }
}
