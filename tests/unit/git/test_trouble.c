/* SPDX-License-Identifier: Apache-2.0 */
/* The remote against a server that refuses, misleads, breaks off or falls silent. */
#include "git/remote.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "http_backend.h"

#define SOON 30000
#define DEADLINE_MS 600
/* The promise is one second after the deadline; a loaded machine gets more before a test calls it broken. */
#define LATE_MS 10000

struct fixture {
        struct scratch s;
        struct backend b;
        struct arena *a;
        struct git_source *source;
        struct err err;
        char url[256];
};

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        scratch_init(&f->s);
        scratch_repo(&f->s, "served.git");
        scratch_write(&f->s, "served.git/a.yaml", "a: 1\n");
        free(scratch_commit(&f->s, "served.git", "first"));
        backend_start(&f->b, f->s.dir);
        snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/served.git", f->b.port);
        f->a = arena_new(0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        git_source_free(f->source);
        backend_stop(&f->b);
        arena_free(f->a);
        scratch_done(&f->s);
        free(f);
        return 0;
}

static struct git_remote_options options(struct fixture *f) {
        return (struct git_remote_options){ .url = str_from(f->url),
                                            .store_dir = str_from(scratch_path(&f->s, "store")) };
}

static void open_with(struct fixture *f, struct git_remote_options o) {
        git_source_free(TAKE_PTR(f->source));
        if (git_remote_open(&o, &f->source, &f->err) < 0)
                fail_msg("%s", f->err.msg);
}

static void open_source(struct fixture *f) {
        open_with(f, options(f));
}

static void set_mode(struct fixture *f, enum backend_mode mode) {
        atomic_store(&f->b.shared->mode, (int)mode);
}

static int resolve_until(struct fixture *f, struct git_deadline d, struct git_revision *ret) {
        return git_source_resolve(f->source, STR("main"), d, f->a, ret, &f->err);
}

static int resolve(struct fixture *f) {
        struct git_revision rev;

        return resolve_until(f, scratch_deadline(SOON), &rev);
}

static void assert_said(struct fixture *f, const char *text) {
        if (!strstr(f->err.msg, text))
                fail_msg("\"%s\" is not in: %s", text, f->err.msg);
}

/* ---- credentials ---- */

/* "user:s3cret/word" */
#define BASIC "Basic dXNlcjpzM2NyZXQvd29yZA=="

static void want_authorization(struct fixture *f, const char *value) {
        snprintf(f->b.shared->authorization, BACKEND_TEXT_BYTES, "%s", value);
}

static void a_password_opens_the_door(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);
        struct git_revision rev;

        want_authorization(f, BASIC);
        o.credentials = (struct git_credentials){ .username = STR("user"), .password = STR("s3cret/word") };
        open_with(f, o);
        assert_int_equal(resolve_until(f, scratch_deadline(SOON), &rev), 0);
        assert_int_equal(git_source_fetch(f->source, &rev, scratch_deadline(SOON), &f->err), 0);
        assert_int_equal(atomic_load(&f->b.shared->authorized), atomic_load(&f->b.shared->requests));
}

/* Nothing on the disk may hold the password either. */
static int assert_no_secret(const char *path, const struct stat *st, int kind, struct FTW *walk) {
        _cleanup_(mem_freep) char *text = mem_zalloc((size_t)st->st_size + 1);
        int fd = kind == FTW_F ? open(path, O_RDONLY) : -1;

        (void)walk;
        if (fd < 0)
                return 0;
        ssize_t n = read(fd, text, (size_t)st->st_size);
        close(fd);
        assert_true(n <= 0 || !memmem(text, (size_t)n, "s3cret", 6));
        return 0;
}

static void credentials_inside_the_url_work_and_are_never_shown(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        want_authorization(f, BASIC);
        snprintf(f->url, sizeof f->url, "http://user:s3cret%%2Fword@127.0.0.1:%d/served.git", f->b.port);
        open_source(f);
        assert_int_equal(resolve_until(f, scratch_deadline(SOON), &rev), 0);
        assert_int_equal(git_source_fetch(f->source, &rev, scratch_deadline(SOON), &f->err), 0);
        nftw(scratch_path(&f->s, "store"), assert_no_secret, 16, FTW_PHYS);
        want_authorization(f, "Basic other");
        assert_int_equal(resolve(f), ERR_UNAUTH);
        assert_null(strstr(f->err.msg, "s3cret"));
        assert_null(strchr(f->err.msg, '@'));
}

static void a_token_opens_the_door(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);

        want_authorization(f, "Bearer t0ken-t0ken");
        o.credentials.bearer_token = STR("t0ken-t0ken");
        open_with(f, o);
        assert_int_equal(resolve(f), 0);
}

static void a_wrong_password_is_tried_once(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);

        want_authorization(f, BASIC);
        o.credentials = (struct git_credentials){ .username = STR("user"), .password = STR("wr0ng-one") };
        open_with(f, o);
        assert_int_equal(resolve(f), ERR_UNAUTH);
        assert_int_equal(f->err.http_status, 401);
        assert_said(f, "was refused");
        assert_null(strstr(f->err.msg, "wr0ng"));
        assert_int_equal(atomic_load(&f->b.shared->requests), 1);
}

static void missing_credentials_are_named_as_such(void **state) {
        struct fixture *f = *state;

        want_authorization(f, BASIC);
        open_source(f);
        assert_int_equal(resolve(f), ERR_UNAUTH);
        assert_said(f, "needs credentials, and none are configured");
}

static void a_server_that_echoes_the_secret_is_masked(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);

        set_mode(f, BACKEND_STATUS);
        atomic_store(&f->b.shared->status, 403);
        snprintf(f->b.shared->body, BACKEND_TEXT_BYTES,
                 "token t0ken-t0ken may not, Basic dXNlcjpzM2NyZXQvd29yZA== neither");
        o.credentials.bearer_token = STR("t0ken-t0ken");
        open_with(f, o);
        assert_int_equal(resolve(f), ERR_FORBIDDEN);
        assert_said(f, "token *** may not");
        o.credentials = (struct git_credentials){ .username = STR("user"), .password = STR("s3cret/word") };
        open_with(f, o);
        assert_int_equal(resolve(f), ERR_FORBIDDEN);
        assert_said(f, "Basic *** neither");
        /* What it says is cut there in the middle of the secret. */
        snprintf(f->b.shared->body, BACKEND_TEXT_BYTES, "%0*d Basic dXNlcjpzM2NyZXQvd29yZA==", 139, 0);
        assert_int_equal(resolve(f), ERR_FORBIDDEN);
        assert_null(strstr(f->err.msg, "dXNlcjpz"));
}

static void credentials_never_travel_in_the_clear(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);

        o.url = STR("http://user:s3cret@git.example.com/x.git");
        assert_int_equal(git_remote_open(&o, &f->source, &f->err), ERR_INVAL);
        assert_said(f, "in the clear");
        assert_null(strstr(f->err.msg, "s3cret"));
        o.allow_plain_credentials = true;
        open_with(f, o);
}

static void a_credential_with_a_line_break_is_refused(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);

        o.credentials.bearer_token = STR("abc\r\nX-Evil: 1");
        assert_int_equal(git_remote_open(&o, &f->source, &f->err), ERR_INVAL);
        assert_null(strstr(f->err.msg, "Evil"));
}

/* ---- answers ---- */

static void statuses_become_codes(void **state) {
        static const struct {
                int status;
                enum err_code code;
                const char *text;
        } rows[] = {
                { 403, ERR_FORBIDDEN, "forbidden" },     { 404, ERR_NOTFOUND, "repository not found" },
                { 410, ERR_NOTFOUND, "gone" },           { 429, ERR_THROTTLED, "too many" },
                { 500, ERR_INTERNAL, "the server failed" }, { 503, ERR_UNREACHABLE, "not available" },
                { 400, ERR_INVAL, "refused the request" }, { 204, ERR_PARSE, "unexpected" },
                { 407, ERR_UNREACHABLE, "proxy" },
        };
        struct fixture *f = *state;

        set_mode(f, BACKEND_STATUS);
        snprintf(f->b.shared->body, BACKEND_TEXT_BYTES, "because\nof \x1b[31mthis");
        open_source(f);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                atomic_store(&f->b.shared->status, rows[i].status);
                assert_int_equal(resolve(f), rows[i].code);
                assert_int_equal(f->err.http_status, rows[i].status);
                assert_int_equal(f->err.retry_after_ms, 7000);
                assert_said(f, rows[i].text);
                assert_null(strchr(f->err.msg, '\x1b'));
                assert_null(strchr(f->err.msg, '\n'));
        }
}

/* Nothing bears the word: all refs are asked for, and by then the repository is gone. */
static void a_repository_that_goes_between_two_questions_is_not_found(void **state) {
        struct fixture *f = *state;
        struct git_revision rev;

        set_mode(f, BACKEND_STATUS);
        atomic_store(&f->b.shared->normal_left, 2);
        atomic_store(&f->b.shared->status, 404);
        open_source(f);
        assert_int_equal(git_source_resolve(f->source, STR("0123abcd"), scratch_deadline(SOON), f->a, &rev, &f->err),
                         ERR_NOTFOUND);
        assert_int_equal(f->err.http_status, 404);
        assert_said(f, "repository not found");
        assert_int_equal(atomic_load(&f->b.shared->requests), 3);
}

static void a_dumb_server_is_unsupported(void **state) {
        struct fixture *f = *state;

        set_mode(f, BACKEND_DUMB);
        open_source(f);
        assert_int_equal(resolve(f), ERR_UNSUPPORTED);
        assert_said(f, "dumb");
}

static void a_web_page_is_told_from_a_repository(void **state) {
        struct fixture *f = *state;

        set_mode(f, BACKEND_PAGE);
        open_source(f);
        assert_int_equal(resolve(f), ERR_PARSE);
        assert_said(f, "text/html");
}

static void what_is_no_http_is_told(void **state) {
        struct fixture *f = *state;

        set_mode(f, BACKEND_NOISE);
        open_source(f);
        assert_int_equal(resolve(f), ERR_PARSE);
        assert_said(f, "does not speak HTTP");
}

static void an_endless_list_of_refs_hits_the_cap(void **state) {
        struct fixture *f = *state;

        set_mode(f, BACKEND_ENDLESS_REFS);
        open_source(f);
        assert_int_equal(resolve(f), ERR_LIMIT);
}

static void nobody_listening_is_unreachable(void **state) {
        struct fixture *f = *state;

        snprintf(f->url, sizeof f->url, "http://127.0.0.1:1/x.git");
        open_source(f);
        assert_int_equal(resolve(f), ERR_UNREACHABLE);
        assert_said(f, "no connection");
}

/* ---- redirects ---- */

static void PRINTF_LIKE(3, 4) redirect_to(struct fixture *f, int times, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(f->b.shared->location, BACKEND_TEXT_BYTES, fmt, ap);
        va_end(ap);
        atomic_store(&f->b.shared->redirects_left, times);
        set_mode(f, BACKEND_REDIRECT);
}

static void a_redirect_on_the_same_host_is_followed_with_credentials(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o;
        struct git_revision rev;

        want_authorization(f, "Bearer t0ken-t0ken");
        snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/old/name", f->b.port);
        o = options(f);
        o.credentials.bearer_token = STR("t0ken-t0ken");
        redirect_to(f, 1, "http://127.0.0.1:%d/served.git", f->b.port);
        open_with(f, o);
        assert_int_equal(resolve_until(f, scratch_deadline(SOON), &rev), 0);
        redirect_to(f, 1, "/served.git"); /* relative */
        if (git_source_fetch(f->source, &rev, scratch_deadline(SOON), &f->err) < 0)
                fail_msg("%s", f->err.msg);
}

static void a_redirect_that_leaves_the_host_is_refused_by_name(void **state) {
        static const char *const to[] = {
                "http://git.example.com/x.git", "http://localhost:PORT/served.git", "https://127.0.0.1:PORT/served.git",
                "http://127.0.0.1:1/served.git", "ftp://127.0.0.1/x", "file:///etc/x", "http://u:pw@evil.example.com/x",
        };
        struct fixture *f = *state;
        struct git_remote_options o = options(f);

        o.credentials.bearer_token = STR("t0ken-t0ken");
        open_with(f, o);
        for (size_t i = 0; i < ARRAY_LEN(to); i++) {
                const char *port = strstr(to[i], "PORT");
                int before = port ? (int)(port - to[i]) : (int)strlen(to[i]);

                if (port)
                        redirect_to(f, 1, "%.*s%d%s", before, to[i], f->b.port, port + 4);
                else
                        redirect_to(f, 1, "%s", to[i]);
                assert_int_equal(resolve(f), ERR_INVAL);
                assert_said(f, "redirects to");
                assert_null(strstr(f->err.msg, "pw@"));
        }
        assert_int_equal(atomic_load(&f->b.shared->requests), ARRAY_LEN(to));
}

static void redirects_in_circles_end(void **state) {
        struct fixture *f = *state;

        redirect_to(f, 1000, "http://127.0.0.1:%d/served.git", f->b.port);
        open_source(f);
        assert_int_equal(resolve(f), ERR_INVAL);
        assert_int_equal(atomic_load(&f->b.shared->requests), 6);
        redirect_to(f, 5, "http://127.0.0.1:%d/served.git", f->b.port);
        assert_int_equal(resolve(f), 0);
}

static void a_redirect_to_something_else_than_refs_is_refused(void **state) {
        struct fixture *f = *state;

        redirect_to(f, 1, "http://127.0.0.1:%d/login?next=", f->b.port);
        open_source(f);
        assert_int_equal(resolve(f), ERR_INVAL);
}

/* ---- silence ---- */

static void assert_times_out(struct fixture *f, int (*call)(struct fixture *f, struct git_deadline d)) {
        struct git_deadline d = scratch_deadline(DEADLINE_MS);

        assert_int_equal(call(f, d), ERR_TIMEOUT);
        assert_true(git_now_ms() >= d.at_ms);
        assert_true(git_now_ms() < d.at_ms + LATE_MS);
        assert_said(f, "deadline");
}

static int call_resolve(struct fixture *f, struct git_deadline d) {
        struct git_revision rev;

        return resolve_until(f, d, &rev);
}

static struct git_revision known;

static int call_fetch(struct fixture *f, struct git_deadline d) {
        return git_source_fetch(f->source, &known, d, &f->err);
}

static void a_silent_server_ends_with_the_deadline(void **state) {
        static const enum backend_mode modes[] = { BACKEND_DEAF, BACKEND_MUTE };
        struct fixture *f = *state;

        open_source(f);
        assert_int_equal(resolve_until(f, scratch_deadline(SOON), &known), 0);
        for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
                set_mode(f, modes[i]);
                assert_times_out(f, call_resolve);
                assert_times_out(f, call_fetch);
        }
        /* And nothing was broken by it. */
        set_mode(f, BACKEND_NORMAL);
        assert_int_equal(call_fetch(f, scratch_deadline(SOON)), 0);
}

static void a_pack_that_stops_midway_ends_with_the_deadline(void **state) {
        struct fixture *f = *state;

        open_source(f);
        assert_int_equal(resolve_until(f, scratch_deadline(SOON), &known), 0);
        set_mode(f, BACKEND_STALL_BODY);
        assert_times_out(f, call_fetch);
        assert_times_out(f, call_resolve);
        set_mode(f, BACKEND_NORMAL);
        assert_int_equal(call_fetch(f, scratch_deadline(SOON)), 0);
}

static void a_pack_that_is_cut_is_unreachable_and_leaves_nothing(void **state) {
        struct fixture *f = *state;
        const struct git_file *files;
        size_t n;

        open_source(f);
        assert_int_equal(resolve_until(f, scratch_deadline(SOON), &known), 0);
        set_mode(f, BACKEND_CUT_BODY);
        assert_int_equal(call_fetch(f, scratch_deadline(SOON)), ERR_UNREACHABLE);
        assert_said(f, "cut short");
        assert_int_equal(git_source_list(f->source, &known.commit, STR(""), true, f->a, &files, &n, &f->err),
                         ERR_NOTFOUND);
        set_mode(f, BACKEND_NORMAL);
        assert_int_equal(call_fetch(f, scratch_deadline(SOON)), 0);
}

static void a_stalled_server_is_noticed_before_the_deadline(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o = options(f);
        struct git_deadline d = scratch_deadline(60000);

        o.stall_timeout_ms = 1000;
        open_with(f, o);
        set_mode(f, BACKEND_MUTE);
        assert_int_equal(call_resolve(f, d), ERR_TIMEOUT);
        assert_said(f, "sent nothing for 1 s");
        assert_true(git_now_ms() < d.at_ms);
}

static void a_deadline_in_the_past_asks_nothing(void **state) {
        struct fixture *f = *state;

        open_source(f);
        assert_int_equal(call_resolve(f, scratch_deadline(-1)), ERR_TIMEOUT);
        assert_int_equal(call_fetch(f, scratch_deadline(-1)), ERR_TIMEOUT);
        assert_int_equal(atomic_load(&f->b.shared->requests), 0);
}

static void *raise_soon(void *flag) {
        usleep(200 * 1000);
        atomic_store((atomic_bool *)flag, true);
        return NULL;
}

static void a_raised_flag_ends_a_call_that_waits(void **state) {
        struct fixture *f = *state;
        atomic_bool flag = false;
        struct git_deadline d = { .at_ms = git_now_ms() + 60000, .cancelled = &flag };
        pthread_t thread;

        open_source(f);
        set_mode(f, BACKEND_MUTE);
        assert_int_equal(pthread_create(&thread, NULL, raise_soon, &flag), 0);
        assert_int_equal(call_resolve(f, d), ERR_CANCELLED);
        assert_true(git_now_ms() < d.at_ms - 60000 + LATE_MS);
        pthread_join(thread, NULL);
}

struct stuck {
        struct fixture *f;
        struct git_deadline d;
        struct err err;
        int result;
};

static void *fetch_stuck(void *ctx) {
        struct stuck *s = ctx;

        s->result = git_source_fetch(s->f->source, &known, s->d, &s->err);
        return NULL;
}

static void a_fetch_behind_a_stuck_fetch_keeps_its_own_deadline(void **state) {
        struct fixture *f = *state;
        atomic_bool stop = false;
        struct stuck s = { .f = f, .d = { .at_ms = git_now_ms() + 60000, .cancelled = &stop } };
        pthread_t thread;

        open_source(f);
        assert_int_equal(resolve_until(f, scratch_deadline(SOON), &known), 0);
        set_mode(f, BACKEND_MUTE);
        int before = atomic_load(&f->b.shared->requests);
        assert_int_equal(pthread_create(&thread, NULL, fetch_stuck, &s), 0);
        while (atomic_load(&f->b.shared->requests) == before)
                usleep(1000);
        assert_times_out(f, call_fetch);
        assert_said(f, "another fetch");
        atomic_store(&stop, true);
        pthread_join(thread, NULL);
        assert_int_equal(s.result, ERR_CANCELLED);
}

/* ---- TLS ---- */

static pid_t start_tls(struct fixture *f, int port) {
        char text[16];
        pid_t pid;

        snprintf(text, sizeof text, "%d", port);
        pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                prctl(PR_SET_PDEATHSIG, SIGKILL);
                dup2(null, 0);
                dup2(null, 1);
                dup2(null, 2);
                if (chdir(f->s.dir) == 0)
                        execlp("openssl", "openssl", "s_server", "-quiet", "-accept", text, "-cert", "cert.pem", "-key",
                               "key.pem", "-WWW", NULL);
                _exit(127);
        }
        return pid;
}

static bool make_certificate(struct fixture *f) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                dup2(null, 2);
                if (chdir(f->s.dir) == 0)
                        execlp("openssl", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                               "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
                               "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", NULL);
                _exit(127);
        }
        return waitpid(pid, &status, 0) == pid && status == 0;
}

static int free_port(void) {
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t n = sizeof at;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || getsockname(fd, (struct sockaddr *)&at, &n) < 0)
                scratch_die("port");
        close(fd);
        return ntohs(at.sin_port);
}

/* Resolves again until the TLS server is up. */
static int resolve_when_up(struct fixture *f) {
        int r = ERR_UNREACHABLE;

        for (int i = 0; i < 200; i++) {
                r = resolve(f);
                if (r != ERR_UNREACHABLE || !strstr(f->err.msg, "no connection"))
                        return r;
                usleep(50 * 1000);
        }
        return r;
}

static void an_untrusted_certificate_says_what_to_do(void **state) {
        struct fixture *f = *state;
        struct git_remote_options o;
        int port = free_port();
        char ca[600];
        pid_t pid;

        if (!make_certificate(f))
                skip(); /* no openssl(1) here */
        pid = start_tls(f, port);
        snprintf(f->url, sizeof f->url, "https://127.0.0.1:%d/served.git", port);
        open_source(f);
        assert_int_equal(resolve_when_up(f), ERR_UNREACHABLE);
        assert_said(f, "certificate cannot be trusted");
        assert_said(f, "CA file");

        snprintf(ca, sizeof ca, "%s/cert.pem", f->s.dir);
        o = options(f);
        o.ca_file = str_from(ca);
        open_with(f, o);
        assert_int_not_equal(resolve(f), ERR_UNREACHABLE); /* trusted now; what s_server serves is no repository */
        o.ca_file = STR("");
        o.insecure_tls = true;
        open_with(f, o);
        assert_int_not_equal(resolve(f), ERR_UNREACHABLE);
        o.insecure_tls = false;
        o.ca_file = STR("/nonexistent/ca.pem");
        open_with(f, o);
        assert_int_equal(resolve(f), ERR_INVAL);
        assert_said(f, "CA file cannot be read");
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_password_opens_the_door),
                TEST(credentials_inside_the_url_work_and_are_never_shown),
                TEST(a_token_opens_the_door),
                TEST(a_wrong_password_is_tried_once),
                TEST(missing_credentials_are_named_as_such),
                TEST(a_server_that_echoes_the_secret_is_masked),
                TEST(credentials_never_travel_in_the_clear),
                TEST(a_credential_with_a_line_break_is_refused),
                TEST(statuses_become_codes),
                TEST(a_repository_that_goes_between_two_questions_is_not_found),
                TEST(a_dumb_server_is_unsupported),
                TEST(a_web_page_is_told_from_a_repository),
                TEST(what_is_no_http_is_told),
                TEST(an_endless_list_of_refs_hits_the_cap),
                TEST(nobody_listening_is_unreachable),
                TEST(a_redirect_on_the_same_host_is_followed_with_credentials),
                TEST(a_redirect_that_leaves_the_host_is_refused_by_name),
                TEST(redirects_in_circles_end),
                TEST(a_redirect_to_something_else_than_refs_is_refused),
                TEST(a_silent_server_ends_with_the_deadline),
                TEST(a_pack_that_stops_midway_ends_with_the_deadline),
                TEST(a_pack_that_is_cut_is_unreachable_and_leaves_nothing),
                TEST(a_stalled_server_is_noticed_before_the_deadline),
                TEST(a_deadline_in_the_past_asks_nothing),
                TEST(a_raised_flag_ends_a_call_that_waits),
                TEST(a_fetch_behind_a_stuck_fetch_keeps_its_own_deadline),
                TEST(an_untrusted_certificate_says_what_to_do),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests_name("trouble", tests, NULL, NULL);
}
