/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/limits.h"

static const char plain[] = "apiVersion: v1\n"
                            "kind: Config\n"
                            "current-context: dev\n"
                            "contexts:\n"
                            "- name: dev\n"
                            "  context: {cluster: c1, user: u1, namespace: shop}\n"
                            "- name: prod\n"
                            "  context: {cluster: c2}\n"
                            "clusters:\n"
                            "- name: c1\n"
                            "  cluster:\n"
                            "    server: https://10.0.0.1:6443/\n"
                            "    certificate-authority-data: aGVs\n"
                            "- name: c2\n"
                            "  cluster:\n"
                            "    server: https://api.example/k8s/clusters/a/\n"
                            "    certificate-authority: pki/ca.crt\n"
                            "    tls-server-name: kubernetes\n"
                            "    disable-compression: true\n"
                            "users:\n"
                            "- name: u1\n"
                            "  user: {token: s3cret}\n";

static struct kube_config *load(const char *text, const char *context) {
        struct kube_config *config = NULL;
        struct err err = { 0 };

        if (kube_config_from_text(str_from(text), "/etc/kube/config", context, &config, &err) < 0)
                fail_msg("%s", err.msg);
        return config;
}

static void the_current_context_is_used(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *config = load(plain, NULL);

        (void)state;
        assert_string_equal(config->server, "https://10.0.0.1:6443");
        assert_string_equal(config->host, "10.0.0.1");
        assert_string_equal(config->port, "6443");
        assert_string_equal(config->prefix, "");
        assert_string_equal(config->origin, "/etc/kube/config:12");
        assert_string_equal(config->context, "dev");
        assert_string_equal(config->cluster, "c1");
        assert_string_equal(config->user, "u1");
        assert_string_equal(config->namespace, "shop");
        assert_string_equal(config->token, "s3cret");
        assert_int_equal(config->ca.data_bytes, 3);
        assert_string_equal(config->ca.data, "hel");
        assert_string_equal(config->ca.origin, "/etc/kube/config:13 certificate-authority-data");
        assert_int_equal(config->warning_count, 0);
}

static void another_context_can_be_named(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *config = load(plain, "prod");

        (void)state;
        assert_string_equal(config->server, "https://api.example:443/k8s/clusters/a");
        assert_string_equal(config->prefix, "/k8s/clusters/a");
        assert_string_equal(config->shown, "https://api.example:443/…");
        assert_string_equal(config->tls_server_name, "kubernetes");
        assert_string_equal(config->namespace, "default");
        assert_string_equal(config->ca.path, "/etc/kube/pki/ca.crt");
        assert_null(config->user);
        assert_null(config->token);
}

static void json_is_read_as_well(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *config =
                load("{\"current-context\":\"a\",\"contexts\":[{\"name\":\"a\",\"context\":{\"cluster\":\"c\"}}],"
                     "\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"http://[::1]:8080\"}}]}",
                     NULL);

        (void)state;
        assert_string_equal(config->server, "http://[::1]:8080");
        assert_string_equal(config->shown, "http://[::1]:8080");
        assert_string_equal(config->host, "::1");
}

/* A file around the fields of one cluster and one user, for what concerns only those. */
static char *file_with(const char *cluster, const char *user) {
        struct buf text = buf_make(64 * KIB);

        buf_addf(&text,
                 "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                 "clusters:\n- name: c\n  cluster: {%s}\nusers:\n- name: u\n  user: {%s}\n",
                 cluster, user);
        return buf_take(&text);
}

#define SERVER "server: 'https://h:1'"

static struct kube_config *load_with(const char *cluster, const char *user) {
        _cleanup_(mem_freep) char *text = file_with(cluster, user);

        return load(text, NULL);
}

static void data_beats_files_and_a_token_file_beats_the_token(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *config =
                load_with(SERVER ", certificate-authority: ca.crt, certificate-authority-data: eHg=",
                          "token: a, tokenFile: ../t, client-certificate: c.crt, client-certificate-data: eXk=, "
                          "client-key: /abs/key");

        (void)state;
        assert_string_equal(config->ca.data, "xx");
        assert_null(config->ca.path);
        assert_null(config->token);
        assert_string_equal(config->token_file, "/etc/kube/../t");
        assert_string_equal(config->client_cert.data, "yy");
        assert_string_equal(config->client_key.path, "/abs/key");
}

static void base64_may_be_broken_into_lines(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *config =
                load_with(SERVER ", certificate-authority-data: \"AAEC\\nA/8=\\n\"", "");

        (void)state;
        assert_int_equal(config->ca.data_bytes, 5);
        assert_memory_equal(config->ca.data, "\0\1\2\3\377", 5);
}

static void the_insecure_flag_warns(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *config =
                load_with(SERVER ", insecure-skip-tls-verify: true", "token: s3cret");

        (void)state;
        assert_true(config->insecure);
        assert_int_equal(config->warning_count, 1);
        assert_non_null(strstr(config->warnings[0], "/etc/kube/config:5: insecure-skip-tls-verify"));
}

static void unknown_keys_warn_with_their_line(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *config =
                load_with(SERVER ", certificate-authority-dat: eHg=", "tokn: s3cret");

        (void)state;
        assert_int_equal(config->warning_count, 2);
        assert_non_null(strstr(config->warnings[0], "/etc/kube/config:5: unknown key \"certificate-authority-dat\""));
        assert_non_null(strstr(config->warnings[1], "/etc/kube/config:8: unknown key \"tokn\""));
        assert_null(strstr(config->warnings[1], "s3cret"));
}

static void a_token_over_plain_http_warns_unless_it_stays_here(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *far = load_with("server: 'http://h:1'", "token: s3cret");
        _cleanup_(kube_config_freep) struct kube_config *near =
                load_with("server: 'http://127.0.0.1:1'", "token: s3cret");

        (void)state;
        assert_int_equal(far->warning_count, 1);
        assert_null(strstr(far->warnings[0], "s3cret"));
        assert_int_equal(near->warning_count, 0);
}

static void impersonation_becomes_headers(void **state) {
        _cleanup_(kube_config_freep) struct kube_config *config =
                load_with(SERVER, "as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {'x/y%': [v]}");

        (void)state;
        assert_int_equal(config->header_count, 5);
        assert_string_equal(config->headers[0], "Impersonate-User: jane");
        assert_string_equal(config->headers[1], "Impersonate-Uid: 7");
        assert_string_equal(config->headers[2], "Impersonate-Group: a");
        assert_string_equal(config->headers[3], "Impersonate-Group: b");
        assert_string_equal(config->headers[4], "Impersonate-Extra-x%2Fy%25: v");
}

/* Everything that is wrong with one file: code, and words the message must hold. */
static void wrong_files_are_refused_with_their_place(void **state) {
        static const struct {
                const char *cluster, *user;
                int code;
                const char *words;
        } cases[] = {
                { "", "", ERR_INVAL, ":4: cluster \"c\" has no server" },
                { "server: 5", "", ERR_INVAL, ":5: server must be a string" },
                { "server: 'h:1'", "", ERR_INVAL, ":5: server must begin with https://" },
                { "server: 'https://u:s3cret@h'", "", ERR_INVAL, "user name or password" },
                { "server: 'https://h/?a'", "", ERR_INVAL, "query" },
                { "server: 'https://h:99999'", "", ERR_INVAL, "no URL" },
                { "server: 'https://'", "", ERR_INVAL, "no URL" },
                { SERVER ", proxy-url: 'http://p'", "", ERR_UNSUPPORTED, ":5: cluster \"c\" uses a proxy" },
                { SERVER ", certificate-authority-data: 's3cret!'", "", ERR_INVAL, ":5: certificate-authority-data" },
                { SERVER ", certificate-authority-data: 'YQ='", "", ERR_INVAL, "not base64" },
                { SERVER ", certificate-authority-data: 'YQ===='", "", ERR_INVAL, "not base64" },
                { SERVER ", certificate-authority-data: 'YQ==YQ=='", "", ERR_INVAL, "not base64" },
                { SERVER ", certificate-authority-data: 'YWF'", "", ERR_INVAL, "not base64" },
                { SERVER ", certificate-authority: x, insecure-skip-tls-verify: true", "", ERR_INVAL, "exclude" },
                { SERVER ", insecure-skip-tls-verify: 'yes'", "", ERR_INVAL, "true or false" },
                { SERVER ", tls-server-name: 'a b'", "", ERR_INVAL, "no host name" },
                { SERVER, "exec: {command: s3cret}", ERR_UNSUPPORTED, ":8: user \"u\" uses an exec credential plug-in" },
                { SERVER, "auth-provider: {name: oidc}", ERR_UNSUPPORTED, "user \"u\" uses an auth-provider" },
                { SERVER, "username: admin, password: s3cret", ERR_UNSUPPORTED, "user name and password" },
                { SERVER, "password: s3cret", ERR_UNSUPPORTED, "user name and password" },
                { SERVER, "token: 12345", ERR_INVAL, ":8: token must be a string" },
                { SERVER, "tokenFile: [s3cret]", ERR_INVAL, ":8: tokenFile must be a string" },
                { SERVER, "client-certificate: a", ERR_INVAL, "client certificate without a client key" },
                { SERVER, "client-key: a", ERR_INVAL, "client key without a client certificate" },
                { SERVER, "as-groups: [admin]", ERR_INVAL, "impersonates without" },
                { SERVER, "as: jane, as-groups: admin", ERR_INVAL, "as-groups" },
                { SERVER, "as: jane, as-groups: [5]", ERR_INVAL, "as-groups" },
                { SERVER, "as: jane, as-user-extra: [5]", ERR_INVAL, "as-user-extra" },
                { SERVER, "as: jane, as-user-extra: {a: 5}", ERR_INVAL, "as-user-extra" },
                { SERVER, "as: \"a\\nX-Evil: s3cret\"", ERR_INVAL, "control characters" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(mem_freep) char *text = file_with(cases[i].cluster, cases[i].user);
                struct kube_config *config = NULL;
                struct err err = { 0 };
                int r = kube_config_from_text(str_from(text), "/k", NULL, &config, &err);

                if (r != cases[i].code || err.code != (enum err_code)r || !strstr(err.msg, cases[i].words) ||
                    strncmp(err.msg, "/k:", 3) != 0 || strstr(err.msg, "s3cret") || config)
                        fail_msg("case %zu: %d \"%s\"", i, r, err.msg);
        }
}

static void files_that_are_no_kubeconfig_are_refused(void **state) {
        static const struct {
                const char *text;
                int code;
                const char *words;
        } cases[] = {
                { "", ERR_NOTFOUND, "current-context is not set" },
                { "# nothing\n", ERR_NOTFOUND, "current-context is not set" },
                { "- a\n", ERR_INVAL, "/k:1: not a kubeconfig" },
                { "kind: Deployment\n", ERR_INVAL, "kind is \"Deployment\", not Config" },
                { "apiVersion: v2\n", ERR_INVAL, "apiVersion is \"v2\"" },
                { "a: [\n", ERR_PARSE, "/k: line" },
                { "contexts: {}\n", ERR_INVAL, "/k:1: contexts must be a list" },
                { "users:\n- user: {}\n", ERR_INVAL, "/k:2: an entry of users has no name" },
                { "users:\n- name: a\n- name: a\n", ERR_INVAL, "/k:3: users names \"a\" twice" },
                { "clusters:\n- name: a\n  cluster: 5\n", ERR_INVAL, "/k:3: cluster \"a\" must be a map" },
                { "current-context: [a]\n", ERR_INVAL, "current-context must be a string" },
                { "kind: Config\n---\nkind: Config\n", ERR_INVAL, "one document" },
                { "current-context: a\ncontexts: [{name: b}, {name: c}]\n", ERR_NOTFOUND, "\"a\" (there are: b, c)" },
                { "current-context: a\ncontexts: [{name: a}]\n", ERR_INVAL, "names no cluster" },
                { "current-context: a\ncontexts: [{name: a, context: {cluster: b}}]\n", ERR_INVAL,
                  "/k:2: context \"a\" names the cluster \"b\", which does not exist" },
                { "current-context: a\ncontexts: [{name: a, context: {cluster: b, user: u}}]\n"
                  "clusters: [{name: b, cluster: {server: 'https://h'}}]\n",
                  ERR_INVAL, "names the user \"u\", which does not exist" },
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct kube_config *config = NULL;
                struct err err = { 0 };
                int r = kube_config_from_text(str_from(cases[i].text), "/k", NULL, &config, &err);

                if (r != cases[i].code || !strstr(err.msg, cases[i].words) || config)
                        fail_msg("case %zu: %d \"%s\"", i, r, err.msg);
        }
}

/* Files on disk. */

struct disk {
        char dir[64];
        char a[96], b[96], missing[96];
};

static void write_file(const char *path, struct str text) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text.p, text.n), (ssize_t)text.n);
        close(fd);
}

static int set_up(void **state) {
        struct disk *d = mem_zalloc(sizeof *d);

        (void)snprintf(d->dir, sizeof d->dir, "/tmp/truce-test-XXXXXX");
        assert_non_null(mkdtemp(d->dir));
        (void)snprintf(d->a, sizeof d->a, "%s/a", d->dir);
        (void)snprintf(d->b, sizeof d->b, "%s/b", d->dir);
        (void)snprintf(d->missing, sizeof d->missing, "%s/missing", d->dir);
        unsetenv("KUBECONFIG");
        unsetenv("KUBERNETES_SERVICE_HOST");
        unsetenv("KUBERNETES_SERVICE_PORT");
        setenv("HOME", d->dir, 1);
        *state = d;
        return 0;
}

static void remove_in(const struct disk *d, const char *name) {
        char path[128];

        (void)snprintf(path, sizeof path, "%s/%s", d->dir, name);
        (void)remove(path);
}

static int tear_down(void **state) {
        static const char *const names[] = { "a", "b", "token", "ca.crt", "namespace", ".kube/config", ".kube" };
        struct disk *d = *state;

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                remove_in(d, names[i]);
        assert_int_equal(rmdir(d->dir), 0);
        free(d);
        return 0;
}

static void the_first_file_that_names_an_entry_wins_with_all_of_it(void **state) {
        struct disk *d = *state;
        const char *paths[] = { d->missing, d->a, d->b };
        _cleanup_(kube_config_freep) struct kube_config *config = NULL;

        write_file(d->a, STR("contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                             "clusters: [{name: c, cluster: {server: 'https://first', certificate-authority: ca}}]\n"));
        write_file(d->b, STR("current-context: x\n"
                             "contexts: [{name: x, context: {cluster: other, namespace: lost}}]\n"
                             "clusters: [{name: c, cluster: {server: 'https://second', tls-server-name: lost}}]\n"
                             "users: [{name: u, user: {tokenFile: t}}]\n"));
        assert_int_equal(kube_config_from_files(paths, ARRAY_LEN(paths), NULL, &config, NULL), 0);

        assert_string_equal(config->server, "https://first:443");
        assert_null(config->tls_server_name);
        assert_string_equal(config->namespace, "default");
        assert_int_equal(strncmp(config->ca.path, d->dir, strlen(d->dir)), 0);
        assert_non_null(strstr(config->token_file, "/t"));
}

static void expect_load_failure(const char *path, const char *context, const struct disk *d, int code,
                                const char *word) {
        struct kube_config *config = NULL;
        struct err err = { 0 };
        int r = kube_config_load(path, context, d->dir, &config, &err);

        if (r != code || !strstr(err.msg, word) || config)
                fail_msg("%d \"%s\"", r, err.msg);
}

static struct kube_config *expect_load(const char *path, const char *context, const struct disk *d) {
        struct kube_config *config = NULL;
        struct err err = { 0 };

        if (kube_config_load(path, context, d->dir, &config, &err) < 0)
                fail_msg("%s", err.msg);
        return config;
}

static void an_explicit_file_must_exist(void **state) {
        struct disk *d = *state;

        write_file(d->a, str_from(plain));
        setenv("KUBECONFIG", d->a, 1);
        expect_load_failure(d->missing, NULL, d, ERR_NOTFOUND, d->missing);
        expect_load_failure(d->dir, NULL, d, ERR_INVAL, "folder");
        _cleanup_(kube_config_freep) struct kube_config *config = expect_load(d->a, "prod", d);
        assert_string_equal(config->context, "prod");
}

static void the_kubeconfig_variable_skips_missing_files_but_not_all(void **state) {
        struct disk *d = *state;
        char list[512];

        (void)snprintf(list, sizeof list, "%s::%s", d->missing, d->a);
        setenv("KUBECONFIG", list, 1);
        expect_load_failure(NULL, NULL, d, ERR_NOTFOUND, "none of the 2 kubeconfig files");
        setenv("KUBECONFIG", ":", 1);
        expect_load_failure(NULL, NULL, d, ERR_NOTFOUND, "names no file");
        setenv("KUBECONFIG", list, 1);
        write_file(d->a, str_from(plain));
        _cleanup_(kube_config_freep) struct kube_config *config = expect_load(NULL, NULL, d);
        assert_string_equal(config->context, "dev");
}

static void a_file_has_a_limit(void **state) {
        struct disk *d = *state;
        struct buf text = buf_make(CONFIG_MAX_FILE_BYTES + 1);

        buf_addc(&text, "current-context: x # ");
        while (text.n < CONFIG_MAX_FILE_BYTES)
                buf_addch(&text, 'x');
        write_file(d->a, buf_str(&text));
        expect_load_failure(d->a, NULL, d, ERR_NOTFOUND, "there is no context");
        buf_addch(&text, 'x');
        write_file(d->a, buf_str(&text));
        buf_done(&text);
        expect_load_failure(d->a, NULL, d, ERR_LIMIT, d->a);
}

static void write_in(const struct disk *d, const char *name, struct str text) {
        char path[128];

        (void)snprintf(path, sizeof path, "%s/%s", d->dir, name);
        write_file(path, text);
}

static void a_pod_finds_its_service_account(void **state) {
        struct disk *d = *state;

        setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
        setenv("KUBERNETES_SERVICE_PORT", "6443", 1);
        expect_load_failure(NULL, NULL, d, ERR_NOTFOUND, "no service account token");
        write_in(d, "token", STR("s3cret"));
        write_in(d, "ca.crt", STR("x"));
        write_in(d, "namespace", STR("truce\n"));
        _cleanup_(kube_config_freep) struct kube_config *config = expect_load(NULL, NULL, d);

        assert_string_equal(config->server, "https://[fd00::1]:6443");
        assert_string_equal(config->host, "fd00::1");
        assert_string_equal(config->namespace, "truce");
        assert_non_null(strstr(config->token_file, "/token"));
        assert_non_null(strstr(config->ca.path, "/ca.crt"));
        assert_null(config->token);
        assert_int_equal(config->warning_count, 0);
}

static void a_pod_without_ca_or_namespace_still_works_and_warns(void **state) {
        struct disk *d = *state;
        _cleanup_(kube_config_freep) struct kube_config *config = NULL;

        write_in(d, "token", STR("s3cret"));
        assert_int_equal(kube_config_in_cluster(d->dir, "10.0.0.1", "443", &config, NULL), 0);

        assert_string_equal(config->namespace, "default");
        assert_null(config->ca.path);
        assert_int_equal(config->warning_count, 1);
}

static void the_home_folder_comes_last(void **state) {
        struct disk *d = *state;
        char dir[128];

        expect_load_failure(NULL, NULL, d, ERR_NOTFOUND, "no cluster is configured");
        (void)snprintf(dir, sizeof dir, "%s/.kube", d->dir);
        assert_int_equal(mkdir(dir, 0700), 0);
        write_in(d, ".kube/config", str_from(plain));
        write_in(d, "token", STR("s3cret"));
        _cleanup_(kube_config_freep) struct kube_config *home = expect_load(NULL, NULL, d);
        assert_string_equal(home->context, "dev");

        setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
        setenv("KUBERNETES_SERVICE_PORT", "443", 1);
        _cleanup_(kube_config_freep) struct kube_config *pod = expect_load(NULL, NULL, d);
        assert_string_equal(pod->context, "in-cluster");
        _cleanup_(kube_config_freep) struct kube_config *named = expect_load(NULL, "prod", d);
        assert_string_equal(named->context, "prod");
}

#define DISK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_current_context_is_used),
                cmocka_unit_test(another_context_can_be_named),
                cmocka_unit_test(json_is_read_as_well),
                cmocka_unit_test(data_beats_files_and_a_token_file_beats_the_token),
                cmocka_unit_test(base64_may_be_broken_into_lines),
                cmocka_unit_test(the_insecure_flag_warns),
                cmocka_unit_test(unknown_keys_warn_with_their_line),
                cmocka_unit_test(a_token_over_plain_http_warns_unless_it_stays_here),
                cmocka_unit_test(impersonation_becomes_headers),
                cmocka_unit_test(wrong_files_are_refused_with_their_place),
                cmocka_unit_test(files_that_are_no_kubeconfig_are_refused),
                DISK_TEST(the_first_file_that_names_an_entry_wins_with_all_of_it),
                DISK_TEST(an_explicit_file_must_exist),
                DISK_TEST(the_kubeconfig_variable_skips_missing_files_but_not_all),
                DISK_TEST(a_file_has_a_limit),
                DISK_TEST(a_pod_finds_its_service_account),
                DISK_TEST(a_pod_without_ca_or_namespace_still_works_and_warns),
                DISK_TEST(the_home_folder_comes_last),
        };

        return cmocka_run_group_tests_name("kubeconfig", tests, NULL, NULL);
}
