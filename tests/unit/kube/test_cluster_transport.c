/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curl transport against a real API server. Started through tests/cluster/with-cluster.sh; without
 * $TRUCE_TEST_KUBECONFIG it is skipped, and restarts are skipped where the control plane is not ours.
 */
#include "kube/curl_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "kube/cluster_world.h"

static void the_version_comes_over_http2(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        get(&p, w, "/version");

        assert_int_equal(p.err.code, 0);
        assert_int_equal(p.status, 200);
        assert_non_null(strstr(p.body, "gitVersion"));
        assert_true(stats_of(w).multiplexed);
}

static void connections_are_kept_and_bounded(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe list = { 0 };
        char namespace[64], path[128];

        make_namespace(w, namespace);
        make_configmaps(w, namespace, 200, 4 * KIB);
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps", namespace);
        start(&list, w, &(struct kube_request){ .path = str_from(path), .priority = KUBE_PRIORITY_READ }, &streaming);
        wait_for(w, 1);
        drop_namespace(w, namespace);

        assert_int_equal(list.status, 200);
        assert_true(list.data_bytes > 200 * 4 * KIB);
        assert_in_range(stats_of(w).connections_opened, 1, CURL_REQUEST_CONNECTIONS);
        assert_int_equal(stats_of(w).in_flight, 0);
}

/* Starts `count` GETs of it at once and waits until each has come to its end. */
static void get_side_by_side(struct world *w, const char *path, unsigned count, const struct kube_handler *handler) {
        struct probe *probes = mem_zalloc(count * sizeof *probes);

        for (unsigned i = 0; i < count; i++)
                start(&probes[i], w,
                      &(struct kube_request){
                              .path = str_from(path), .priority = KUBE_PRIORITY_READ, .deadline_ms = 10000 },
                      handler);
        wait_for(w, count);
        for (unsigned i = 0; i < count; i++) {
                if (probes[i].err.code || probes[i].status != 200)
                        fail_msg("%s: %d %s", path, probes[i].status, probes[i].err.msg);
                probe_done(&probes[i]);
        }
        free(probes);
}

/*
 * libcurl 7.88.1 misses the end of an answer when its buffer runs full within the last frame, as one does when the waiting
 * stream of another call is what the connection is read for. See curl_transport.h. The lists are by little smaller and
 * larger than a buffer (BUFFER_BYTES in curl_setup.c); the calls that wait are watches that nobody called so.
 */
static void lists_come_to_their_end_beside_calls_that_wait(void **state) {
        struct world *w = *state;
        struct probe waiting[5] = { 0 };
        char namespace[64], path[160];

        make_namespace(w, namespace);
        make_configmaps(w, namespace, 160, 50);
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps?watch=true", namespace);
        for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
                waiting[i].word = "\"m0\"";
                start(&waiting[i], w, &(struct kube_request){ .path = str_from(path), .priority = KUBE_PRIORITY_READ },
                      &streaming);
                while (waiting[i].word)
                        assert_true(loop_run_for(w->loop, PATIENCE_MS));
        }
        for (unsigned round = 0; round < 900; round++) {
                (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps?limit=%u", namespace, 150 + round % 3);
                get_side_by_side(w, path, 1, round / 3 % 2 ? &streaming : &collecting);
        }
        for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
                assert_int_equal(waiting[i].ended, 0);
                kube_cancel(w->transport, waiting[i].call);
                probe_done(&waiting[i]);
        }
        drop_namespace(w, namespace);
}

static void large_answers_of_all_kinds_come_to_their_end(void **state) {
        struct world *w = *state;
        char namespace[64], path[128];

        make_namespace(w, namespace);
        make_configmaps(w, namespace, 200, 4 * KIB);
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps", namespace);
        for (unsigned round = 0; round < 10; round++) {
                get_side_by_side(w, path, 4, &streaming);
                get_side_by_side(w, "/apis/rbac.authorization.k8s.io/v1/clusterroles", 4, &streaming);
                get_side_by_side(w, "/openapi/v2", 2, &collecting);
        }
        drop_namespace(w, namespace);
}

/* The answer to a write is the object. */
static void large_writes_side_by_side_all_come_to_their_end(void **state) {
        struct world *w = *state;

        for (unsigned round = 0; round < 5; round++) {
                char namespace[64];

                make_namespace(w, namespace);
                make_configmaps(w, namespace, 40, 66 * KIB);
                drop_namespace(w, namespace);
        }
}

static void a_watch_tells_of_a_new_object(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe watch = { .word = "\"m0\"" };
        char namespace[64], path[128];

        make_namespace(w, namespace);
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps?watch=true", namespace);
        start(&watch, w, &(struct kube_request){ .path = str_from(path), .watch = true, .deadline_ms = -1 }, &streaming);
        make_configmaps(w, namespace, 1, 10);
        if (watch.word)
                assert_true(loop_run_for(w->loop, PATIENCE_MS));

        assert_non_null(strstr(watch.seen.p, "\"ADDED\""));
        assert_int_equal(watch.ended, 0);
        kube_cancel(w->transport, watch.call);
        drop_namespace(w, namespace);
}

/* A watch begins with the existing ConfigMaps (kube-root-ca.crt): that all have data shows all run. */
static void many_watches(struct world *w, unsigned count, unsigned most_connections) {
        struct probe *probes = mem_zalloc(count * sizeof *probes);

        open_watches(w, probes, count);
        get_ok(w, "/version");
        await_watches(w, probes, count);
        get_ok(w, "/version");
        assert_in_range(stats_of(w).connections_opened, 2, most_connections);

        /* Half of them go; the other half and requests do not notice. */
        for (unsigned i = 0; i < count; i += 2)
                kube_cancel(w->transport, probes[i].call);
        get_ok(w, "/version");
        assert_int_equal(stats_of(w).open_watches, count / 2);
        for (unsigned i = 1; i < count; i += 2)
                assert_int_equal(probes[i].ended, 0);
        kube_transport_free(w->transport);
        w->transport = NULL;
        for (unsigned i = 0; i < count; i++)
                probe_done(&probes[i]);
        free(probes);
}

static void a_hundred_and_twenty_watches_run_beside_a_get(void **state) {
        many_watches(*state, 120, 4);
}

static void three_hundred_and_fifty_watches_use_a_handful_of_connections(void **state) {
        many_watches(*state, 350, 6);
}

/* Trust. */

static void use_pem(struct kube_pem *pem, const char *path) {
        free(pem->data);
        free(pem->path);
        free(pem->origin);
        *pem = (struct kube_pem){ .path = str_dup(str_from(path)), .origin = str_dup(str_from(path)) };
}

static void an_untrusted_certificate_says_so_and_names_the_ca(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };
        char ca[] = "/tmp/truce-test-XXXXXX";
        int fd = mkstemp(ca);

        /* Any certificate that has not signed the server's. */
        static const char stranger[] =
                                        "-----BEGIN CERTIFICATE-----\n"
                                        "MIIBfTCCASOgAwIBAgIUNhirz1rEKaoL7x69Y+TXBJG8/jAwCgYIKoZIzj0EAwIw\n"
                                        "EzERMA8GA1UEAwwIc3RyYW5nZXIwIBcNMjYxMTI5MjAxNzUwWhgPMjEyNjExMDUy\n"
                                        "MDE3NTBaMBMxETAPBgNVBAMMCHN0cmFuZ2VyMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"
                                        "AQcDQgAEM4FHZah4i50xON5MWjSnEiQm2Nedof4JMa4GsBRERZz6qcJzjjCY9z+d\n"
                                        "zjHzp0YjZnuGzoGuJpgsRA3bDUwKdKNTMFEwHQYDVR0OBBYEFAGOx/5nhfSSwfQQ\n"
                                        "Wzve/AdHf5u0MB8GA1UdIwQYMBaAFAGOx/5nhfSSwfQQWzve/AdHf5u0MA8GA1Ud\n"
                                        "EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgU04ddklxbU5RvojwUgL6tNHc\n"
                                        "StilyRmuDrSpLp8zcP0CIQDsD+bLj8sAOcvRzKELvR12vMwTyOlLrsQjppjraD1W\n"
                                        "CQ==\n"
                                        "-----END CERTIFICATE-----\n";
        assert_int_equal(write(fd, stranger, sizeof stranger - 1), sizeof stranger - 1);
        close(fd);
        use_pem(&w->config->ca, ca);
        reconnect(w);
        get(&p, w, "/version");
        (void)unlink(ca);

        assert_int_equal(p.err.code, ERR_UNREACHABLE);
        assert_non_null(strstr(p.err.msg, "not trusted"));
        assert_non_null(strstr(p.err.msg, ca));
        assert_non_null(strstr(p.err.msg, w->config->server));
        assert_int_equal(p.status, 0);
}

static void the_server_may_be_checked_under_another_name(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        w->config->tls_server_name = str_dup(STR("kubernetes.default.svc"));
        reconnect(w);
        get_ok(w, "/version");

        free(w->config->tls_server_name);
        w->config->tls_server_name = str_dup(STR("wrong.example"));
        reconnect(w);
        get(&p, w, "/version");
        assert_int_equal(p.err.code, ERR_UNREACHABLE);
        assert_non_null(strstr(p.err.msg, "wrong.example"));
}

static void a_wrong_token_is_a_401(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };

        if (!w->config->token)
                skip();
        free(w->config->token);
        w->config->token = str_dup(STR("wrong"));
        reconnect(w);
        get(&p, w, "/api/v1/namespaces");

        assert_int_equal(p.err.code, 0);
        assert_int_equal(p.status, 401);
        assert_non_null(strstr(p.body, "Unauthorized"));
}

static void write_file(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        close(fd);
}

static void a_token_file_that_rotates_is_followed(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe p = { 0 };
        char path[] = "/tmp/truce-test-XXXXXX";
        char *token = w->config->token;

        if (!token)
                skip();
        close(mkstemp(path));
        w->config->token = NULL;
        w->config->token_file = str_dup(str_from(path));
        write_file(path, "expired");
        reconnect(w);
        get(&p, w, "/api/v1/namespaces");
        assert_int_equal(p.status, 401);
        write_file(path, token);
        get_ok(w, "/api/v1/namespaces");
        assert_int_equal(stats_of(w).retries, 1);
        (void)unlink(path);
        free(token);
}

/* Restarts. */

static void cluster(const char *verb, const char *component, const char *flag) {
        const char *dir = getenv("TRUCE_CLUSTER_DIR");
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                execl(TRUCE_SOURCE_DIR "/tests/cluster/cluster", "cluster", verb, dir, component, flag, NULL);
                _exit(127);
        }
        while (waitpid(pid, &status, 0) < 0)
                assert_int_equal(errno, EINTR);
        assert_int_equal(status, 0);
}

static void restart(struct world *w, const char *flag) {
        struct probe watches[30] = { 0 };
        _cleanup_(probe_done) struct probe down = { 0 };

        if (!getenv("TRUCE_CLUSTER_DIR"))
                skip();
        open_watches(w, watches, ARRAY_LEN(watches));
        await_watches(w, watches, ARRAY_LEN(watches));
        get_ok(w, "/version");

        cluster("stop", "apiserver", flag);
        wait_for(w, ARRAY_LEN(watches));
        for (size_t i = 0; i < ARRAY_LEN(watches); i++)
                probe_done(&watches[i]);
        get(&down, w, "/version");
        assert_int_equal(down.err.code, ERR_UNREACHABLE);

        cluster("start", "apiserver", NULL);
        memset(watches, 0, sizeof watches);
        get_ok(w, "/version");
        open_watches(w, watches, ARRAY_LEN(watches));
        await_watches(w, watches, ARRAY_LEN(watches));
        for (size_t i = 0; i < ARRAY_LEN(watches); i++) {
                kube_cancel(w->transport, watches[i].call);
                probe_done(&watches[i]);
        }
        assert_int_equal(stats_of(w).in_flight, 0);
}

static void a_restarted_api_server_is_found_again(void **state) {
        restart(*state, NULL);
}

static void a_killed_api_server_is_found_again(void **state) {
        restart(*state, "--kill");
}

static pid_t api_server_pid(void) {
        char path[512];
        int pid = 0;
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/run/apiserver.pid", getenv("TRUCE_CLUSTER_DIR"));
        f = fopen(path, "r");
        assert_non_null(f);
        assert_int_equal(fscanf(f, "%d", &pid), 1);
        (void)fclose(f);
        assert_true(pid > 1);
        return pid;
}

static char state_of_thread(const char *pid_dir, const char *tid) {
        char path[512], state = 0;
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/%s/stat", pid_dir, tid);
        f = fopen(path, "r");
        if (!f)
                return 'T'; /* it ended meanwhile */
        assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
        (void)fclose(f);
        return state;
}

static bool all_threads_stand(pid_t pid) {
        char pid_dir[64];
        bool stand = true;
        struct dirent *e;
        DIR *d;

        (void)snprintf(pid_dir, sizeof pid_dir, "/proc/%d/task", (int)pid);
        d = opendir(pid_dir);
        assert_non_null(d);
        while ((e = readdir(d)))
                stand = stand && (e->d_name[0] == '.' || state_of_thread(pid_dir, e->d_name) == 'T');
        (void)closedir(d);
        return stand;
}

/* A thread that was under way when the signal came may still answer: back only when all stand. */
static void freeze(pid_t pid) {
        assert_int_equal(kill(pid, SIGSTOP), 0);
        for (int i = 0; !all_threads_stand(pid); i++) {
                assert_true(i < PATIENCE_MS / 10);
                (void)poll(NULL, 0, 10);
        }
}

/* Balanced control planes: the connection to a member that hangs must not be used for ever, HTTP/2 or not. */
static void a_frozen_api_server_costs_its_calls_and_its_connection(void **state) {
        struct world *w = *state;
        _cleanup_(probe_done) struct probe frozen = { 0 };

        if (!getenv("TRUCE_CLUSTER_DIR"))
                skip();
        get_ok(w, "/version");
        freeze(api_server_pid());
        start(&frozen, w, &(struct kube_request){ .path = STR("/version"), .deadline_ms = 500 }, &collecting);
        wait_for(w, 1);
        assert_int_equal(kill(api_server_pid(), SIGCONT), 0);
        assert_int_equal(frozen.err.code, ERR_TIMEOUT);

        get_ok(w, "/version");
        assert_int_equal(stats_of(w).connections_opened, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(the_version_comes_over_http2),
                WORLD_TEST(connections_are_kept_and_bounded),
                WORLD_TEST(lists_come_to_their_end_beside_calls_that_wait),
                WORLD_TEST(large_answers_of_all_kinds_come_to_their_end),
                WORLD_TEST(a_watch_tells_of_a_new_object),
                WORLD_TEST(a_hundred_and_twenty_watches_run_beside_a_get),
                WORLD_TEST(three_hundred_and_fifty_watches_use_a_handful_of_connections),
                WORLD_TEST(large_writes_side_by_side_all_come_to_their_end),
                WORLD_TEST(an_untrusted_certificate_says_so_and_names_the_ca),
                WORLD_TEST(the_server_may_be_checked_under_another_name),
                WORLD_TEST(a_wrong_token_is_a_401),
                WORLD_TEST(a_token_file_that_rotates_is_followed),
                WORLD_TEST(a_restarted_api_server_is_found_again),
                WORLD_TEST(a_killed_api_server_is_found_again),
                WORLD_TEST(a_frozen_api_server_costs_its_calls_and_its_connection),
        };

        if (!getenv("TRUCE_TEST_KUBECONFIG")) {
                printf("SKIPPED: TRUCE_TEST_KUBECONFIG is not set\n");
                return SKIPPED;
        }
        return cmocka_run_group_tests_name("cluster_transport", tests, NULL, NULL);
}
