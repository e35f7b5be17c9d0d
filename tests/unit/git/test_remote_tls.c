/* SPDX-License-Identifier: Apache-2.0 */
/* https with authorities and client certificates that are given as text: a private authority, a server that wants one. */
#include "remote_fixture.h"

#define FRONT TRUCE_SOURCE_DIR "/tests/unit/git/tls_front.py"
#define PEM_BYTES 4096
#define WAIT_MS 30000

struct front {
        struct fixture *f;
        pid_t pid;
        int strict, lenient; /* ports: the first wants a client's certificate */
        char ca[PEM_BYTES], certificate[PEM_BYTES], key[PEM_BYTES], other[PEM_BYTES], other_key[PEM_BYTES];
};

static void read_text(const struct front *t, const char *name, char ret[PEM_BYTES]) {
        FILE *file = fopen(scratch_path(&t->f->s, name), "re");
        size_t n = file ? fread(ret, 1, PEM_BYTES - 1, file) : 0;

        if (!file || n == 0)
                scratch_die(name);
        ret[n] = '\0';
        fclose(file);
}

static pid_t start_front(const struct fixture *f) {
        char port[16];
        pid_t pid;

        snprintf(port, sizeof port, "%d", f->b.port);
        pid = fork();
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                execlp("python3", "python3", FRONT, f->s.dir, port, NULL);
                _exit(127);
        }
        return pid;
}

static int setup_tls(void **state) {
        struct front *t = mem_zalloc(sizeof *t);
        int found = 0;

        if (setup((void **)&t->f) < 0)
                return -1;
        t->pid = start_front(t->f);
        for (int i = 0; found != 2 && i < WAIT_MS / 20; i++) {
                FILE *file = fopen(scratch_path(&t->f->s, "ports"), "re");

                found = file ? fscanf(file, "%d %d", &t->strict, &t->lenient) : 0;
                if (file)
                        fclose(file);
                usleep(20 * 1000);
        }
        if (found != 2)
                scratch_die(FRONT);
        read_text(t, "ca.pem", t->ca);
        read_text(t, "client.pem", t->certificate);
        read_text(t, "client.key", t->key);
        read_text(t, "other.pem", t->other);
        read_text(t, "other.key", t->other_key);
        *state = t;
        return 0;
}

static int teardown_tls(void **state) {
        struct front *t = *state;

        kill(t->pid, SIGKILL);
        waitpid(t->pid, NULL, 0);
        teardown((void **)&t->f);
        free(t);
        return 0;
}

static struct git_remote_options options_of(struct front *t, int port) {
        snprintf(t->f->url, sizeof t->f->url, "https://127.0.0.1:%d/served.git", port);
        return options(t->f);
}

static int resolve_by(struct front *t, struct git_remote_options o) {
        struct git_revision rev;

        git_source_free(t->f->source);
        t->f->source = NULL;
        if (git_remote_open(&o, &t->f->source, &t->f->err) < 0)
                fail_msg("%s", t->f->err.msg);
        return resolve(t->f, "main", &rev);
}

static void assert_said(const struct front *t, const char *what) {
        if (!strstr(t->f->err.msg, what))
                fail_msg("\"%s\" does not say \"%s\"", t->f->err.msg, what);
}

static void a_client_certificate_from_memory_opens_the_door(void **state) {
        struct front *t = *state;
        struct git_remote_options o = options_of(t, t->strict);
        const char *hex = push(t->f, "first");

        o.ca = str_from(t->ca);
        o.credentials = (struct git_credentials){ .certificate = str_from(t->certificate), .key = str_from(t->key) };
        assert_int_equal(resolve_by(t, o), 0);
        assert_fetches(t->f, "main", hex);
}

static void without_one_or_with_another_it_stays_shut(void **state) {
        struct front *t = *state;
        struct git_remote_options o = options_of(t, t->strict);

        push(t->f, "first");
        o.ca = str_from(t->ca);
        assert_int_equal(resolve_by(t, o), ERR_UNREACHABLE);
        o.credentials = (struct git_credentials){ .certificate = str_from(t->other), .key = str_from(t->other_key) };
        assert_int_equal(resolve_by(t, o), ERR_UNREACHABLE);
        assert_int_equal(atomic_load(&t->f->b.shared->requests), 0);
}

static void a_key_that_does_not_fit_is_told_without_its_text(void **state) {
        struct front *t = *state;
        struct git_remote_options o = options_of(t, t->strict);

        o.ca = str_from(t->ca);
        o.credentials = (struct git_credentials){ .certificate = str_from(t->certificate), .key = str_from(t->other_key) };
        assert_int_equal(resolve_by(t, o), ERR_INVAL);
        assert_said(t, "the client certificate cannot be used");
        assert_null(strstr(t->f->err.msg, "BEGIN"));
}

static void given_authorities_count_in_place_of_all_others(void **state) {
        struct front *t = *state;
        struct git_remote_options o = options_of(t, t->lenient);
        char file[SCRATCH_PATH_BYTES + 16];

        push(t->f, "first");
        snprintf(file, sizeof file, "%s/ca.pem", t->f->s.dir);
        assert_int_equal(resolve_by(t, o), ERR_UNREACHABLE);
        o.ca = str_from(t->ca);
        assert_int_equal(resolve_by(t, o), 0);
        o.ca = str_from(t->other);
        o.ca_file = str_from(file);
        assert_int_equal(resolve_by(t, o), ERR_UNREACHABLE);
        assert_said(t, "certificate cannot be trusted");
}

static void a_password_goes_along_with_a_certificate(void **state) {
        struct front *t = *state;
        struct git_remote_options o = options_of(t, t->strict);

        push(t->f, "first");
        snprintf(t->f->b.shared->authorization, sizeof t->f->b.shared->authorization, "Basic bWU6c2VjcmV0");
        o.ca = str_from(t->ca);
        o.credentials = (struct git_credentials){ .username = STR("me"), .password = STR("secret"),
                                                  .certificate = str_from(t->certificate), .key = str_from(t->key) };
        assert_int_equal(resolve_by(t, o), 0);
}

#define TLS(name) cmocka_unit_test_setup_teardown(name, setup_tls, teardown_tls)

int main(void) {
        const struct CMUnitTest tests[] = {
                TLS(a_client_certificate_from_memory_opens_the_door),
                TLS(without_one_or_with_another_it_stays_shut),
                TLS(a_key_that_does_not_fit_is_told_without_its_text),
                TLS(given_authorities_count_in_place_of_all_others),
                TLS(a_password_goes_along_with_a_certificate),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
