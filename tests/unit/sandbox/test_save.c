/* SPDX-License-Identifier: Apache-2.0 */
/* Saving and loading, rules, and looking on. */
#include "sandbox/world.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int setup(void **state) {
        *state = world_new(NULL);
        world_run(*state, 1000);
        return 0;
}

static int teardown(void **state) {
        world_free(*state);
        return 0;
}

static void a_saved_sandbox_is_loaded_as_it_was(void **state) {
        struct world *w = *state, *other = world_new(NULL);
        char path[] = "/tmp/sandbox-save-XXXXXX", rv[32];
        int fd = mkstemp(path);

        close(fd);
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}"), 201);
        snprintf(rv, sizeof rv, "%s", at(w, "metadata.resourceVersion"));
        assert_int_equal(sandbox_save(w->s, path, NULL), 0);
        assert_int_equal(sandbox_load(other->s, path, NULL), 0);
        assert_int_equal(get(other, CM "/a"), 200);
        assert_at(other, "metadata.resourceVersion", rv);
        assert_at(other, "data.k", "v");
        assert_int_equal(post(other, CM, "{\"metadata\":{\"name\":\"b\"}}"), 201);
        assert_true(atoll(at(other, "metadata.resourceVersion")) > atoll(rv));
        assert_int_equal(get(other, CM "?watch=true&resourceVersion=1"), 200);
        sandbox_watch_close(other->reply.watch);
        unlink(path);
        world_free(other);
}

static void write_file(const char *path, struct str text) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text.p, text.n), (ssize_t)text.n);
        close(fd);
}

static struct str read_whole(struct world *w, const char *path) {
        char *text = arena_alloc(w->arena, 1 << 20);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = read(fd, text, 1 << 20);

        assert_true(n > 0 && n < 1 << 20);
        close(fd);
        return (struct str){ text, (size_t)n };
}

static void assert_load(struct world *w, const char *path, int want, const char *message) {
        struct err err = { 0 };

        assert_int_equal(sandbox_load(w->s, path, &err), want);
        if (!strstr(err.msg, message))
                fail_msg("'%s' is not in '%s'", message, err.msg);
}

static void what_cannot_be_read_is_named(void **state) {
        struct world *w = *state;
        char path[] = "/tmp/sandbox-save-XXXXXX";
        int fd = mkstemp(path);
        struct err err = { 0 };

        close(fd);
        assert_load(w, path, ERR_CORRUPT, "is no JSON");
        write_file(path, STR("[]"));
        assert_load(w, path, ERR_CORRUPT, "is no saved state of a sandbox");
        write_file(path, STR("{\"resourceVersion\":3,\"objects\":[]}"));
        assert_load(w, path, ERR_CORRUPT, "is no saved state of a sandbox");
        write_file(path, STR("{\"format\":2}"));
        assert_load(w, path, ERR_UNSUPPORTED, "has format 2, and this truce reads only format 1");
        write_file(path, STR("{\"format\":1,\"sum\":\"00000000000000000000000000000000\",\n"
                             "\"resourceVersion\":3,\"objects\":[]}\n"));
        assert_load(w, path, ERR_CORRUPT, "is damaged, or was changed by something else");
        unlink(path);
        assert_load(w, path, ERR_NOTFOUND, path);
        assert_load(w, "/dev/zero", ERR_INVAL, "is no plain file");
        assert_int_equal(sandbox_save(w->s, "/nonexistent/x", &err), ERR_NOTFOUND);
}

/* Each byte in turn is another one, and the file ends there. */
static void a_damaged_file_is_refused_and_changes_nothing(void **state) {
        struct world *w = world_new(&(struct sandbox_options){ .no_controllers = true });
        struct world *other = world_new(&(struct sandbox_options){ .no_controllers = true });
        char path[] = "/tmp/sandbox-save-XXXXXX";
        int fd = mkstemp(path);

        close(fd);
        post(w, CM, "{\"metadata\":{\"name\":\"saved\"}}");
        post(other, CM, "{\"metadata\":{\"name\":\"mine\"}}");
        assert_int_equal(sandbox_save(w->s, path, NULL), 0);
        struct str good = read_whole(w, path);
        char *bad = arena_alloc(w->arena, good.n);
        for (size_t i = 0; i < good.n; i++) {
                memcpy(bad, good.p, good.n);
                bad[i] ^= 1;
                write_file(path, (struct str){ bad, good.n });
                if (sandbox_load(other->s, path, NULL) == 0)
                        fail_msg("byte %zu was '%c' and is '%c', and it is loaded", i, good.p[i], bad[i]);
                write_file(path, str_sub(good, 0, i));
                assert_true(sandbox_load(other->s, path, NULL) < 0);
        }
        assert_int_equal(get(other, CM "/mine"), 200);
        assert_int_equal(get(other, CM "/saved"), 404);
        write_file(path, good);
        assert_int_equal(sandbox_load(other->s, path, NULL), 0);
        assert_int_equal(get(other, CM "/saved"), 200);
        assert_int_equal(get(other, CM "/mine"), 404);
        unlink(path);
        world_free(w);
        world_free(other);
        (void)state;
}

/* Saves, and goes on in a sandbox of its own. */
static struct world *restarted(struct world *w) {
        struct world *other = world_new(NULL);
        char path[] = "/tmp/sandbox-save-XXXXXX";
        int fd = mkstemp(path);

        close(fd);
        assert_int_equal(sandbox_save(w->s, path, NULL), 0);
        assert_int_equal(sandbox_load(other->s, path, NULL), 0);
        unlink(path);
        return other;
}

struct writing {
        struct sandbox_snapshot *snapshot;
        const char *path;
        int result;
};

static void *write_it(void *arg) {
        struct writing *w = arg;

        w->result = sandbox_snapshot_write(w->snapshot, w->path, NULL);
        return NULL;
}

/* Written on another thread while everything in it is changed, deleted and forgotten. */
static void a_snapshot_shows_the_moment_it_was_taken(void **state) {
        struct world *w = world_new(&(struct sandbox_options){ .no_controllers = true, .history_events = 1 });
        struct world *other = world_new(NULL);
        char path[] = "/tmp/sandbox-save-XXXXXX", name[128];
        struct writing job = { .path = path };
        pthread_t thread;

        close(mkstemp(path));
        for (int i = 0; i < 200; i++) {
                snprintf(name, sizeof name, "{\"metadata\":{\"name\":\"a%d\"},\"data\":{\"k\":\"old\"}}", i);
                assert_int_equal(post(w, CM, name), 201);
        }
        job.snapshot = sandbox_snapshot_take(w->s);
        assert_int_equal(pthread_create(&thread, NULL, write_it, &job), 0);
        for (int i = 0; i < 200; i++) {
                snprintf(name, sizeof name, CM "/a%d", i);
                assert_int_equal(patch(w, name, MERGE_TYPE, "{\"data\":{\"k\":\"new\"}}"), 200);
                if (i % 2)
                        assert_int_equal(del(w, name), 200);
                get(w, CM);
        }
        pthread_join(thread, NULL);
        sandbox_snapshot_free(job.snapshot);
        assert_int_equal(job.result, 0);
        assert_int_equal(sandbox_load(other->s, path, NULL), 0);
        for (int i = 0; i < 200; i++) {
                snprintf(name, sizeof name, CM "/a%d", i);
                assert_int_equal(get(other, name), 200);
                assert_at(other, "data.k", "old");
        }
        unlink(path);
        world_free(w);
        world_free(other);
        (void)state;
}

static void a_namespace_that_was_ending_ends_after_loading(void **state) {
        struct world *w = *state, *other;

        assert_int_equal(post(w, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"shop\"}}"), 201);
        assert_int_equal(post(w, "/api/v1/namespaces/shop/configmaps", "{\"metadata\":{\"name\":\"a\"}}"), 201);
        assert_int_equal(del(w, "/api/v1/namespaces/shop"), 200);
        other = restarted(w);
        assert_int_equal(get(other, "/api/v1/namespaces/shop"), 200);
        assert_at(other, "status.phase", "Terminating");
        world_run(other, 30000);
        assert_int_equal(get(other, "/api/v1/namespaces/shop"), 404);
        world_free(other);
}

/* Of a definition whose version of storage is not served. */
static void what_is_loaded_is_collected_with_its_owner(void **state) {
        struct world *w = *state, *other;

        assert_int_equal(
                post(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                     "{\"metadata\":{\"name\":\"uns.u.example\"},\"spec\":{\"group\":\"u.example\",\"scope\":"
                     "\"Namespaced\",\"names\":{\"kind\":\"Un\",\"plural\":\"uns\"},\"versions\":[{\"name\":\"v1\","
                     "\"served\":false,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}},{\"name\":"
                     "\"v2\",\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}"),
                201);
        world_run(w, 100);
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"owner\"}}"), 201);
        assert_int_equal(
                post(w, "/apis/u.example/v2/namespaces/default/uns",
                     arena_strf(w->arena,
                                "{\"apiVersion\":\"u.example/v2\",\"kind\":\"Un\",\"metadata\":{\"name\":\"a\","
                                "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\","
                                "\"uid\":\"%s\"}]}}",
                                at(w, "metadata.uid"))
                             .p),
                201);
        other = restarted(w);
        world_run(other, 1000);
        assert_int_equal(get(other, "/apis/u.example/v2/namespaces/default/uns/a"), 200);
        assert_int_equal(del(other, CM "/owner"), 200);
        world_run(other, 1000);
        assert_int_equal(get(other, "/apis/u.example/v2/namespaces/default/uns/a"), 404);
        world_free(other);
}

#define POD "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

static void a_running_pod_keeps_running_and_its_address(void **state) {
        struct world *w = *state, *other;
        char rv[32], ip[32];

        assert_int_equal(post(w, "/api/v1/namespaces/default/pods", POD), 201);
        world_run(w, 1000);
        get(w, "/api/v1/namespaces/default/pods/a");
        snprintf(rv, sizeof rv, "%s", at(w, "metadata.resourceVersion"));
        snprintf(ip, sizeof ip, "%s", at(w, "status.podIP"));
        other = restarted(w);
        world_run(other, 2000);
        get(other, "/api/v1/namespaces/default/pods/a");
        assert_at(other, "metadata.resourceVersion", rv);
        assert_int_equal(post(other, "/api/v1/namespaces/kube-public/pods", POD), 201);
        world_run(other, 1000);
        get(other, "/api/v1/namespaces/kube-public/pods/a");
        assert_at(other, "status.phase", "Running");
        assert_string_not_equal(at(other, "status.podIP"), ip);
        world_free(other);
}

static int set_rules(struct world *w, const char *text, struct err *err) {
        const struct value *v;

        assert_int_equal(json_parse(str_from(text), w->arena, &v, NULL), 0);
        return sandbox_set_rules(w->s, v, err);
}

static void rules_change_and_deny(void **state) {
        struct world *w = *state;

        assert_int_equal(
                set_rules(w,
                          "{\"rules\":[{\"name\":\"owner\",\"match\":{\"kinds\":[\"ConfigMap\"],\"operations\":["
                          "\"CREATE\"],\"namespaces\":[\"default\"]},\"unlessSet\":\"/metadata/labels/owner\","
                          "\"deny\":\"missing label owner\"},{\"name\":\"mark\",\"match\":{\"kinds\":["
                          "\"ConfigMap\"]},\"patch\":[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"x\":\"1\"}}]}]}",
                          NULL),
                0);
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"a\"}}"), 403);
        assert_message(w, "admission webhook \"owner\" denied the request: missing label owner");
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"owner\":\"me\"}}}"), 201);
        assert_at(w, "data", "{\"x\":\"1\"}");
        assert_int_equal(post(w, "/api/v1/namespaces/kube-public/configmaps", "{\"metadata\":{\"name\":\"a\"}}"), 201);
        assert_int_equal(sandbox_set_rules(w->s, NULL, NULL), 0);
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"b\"}}"), 201);
        assert_at(w, "data", "");
}

static void bad_rules_name_the_rule_and_the_key(void **state) {
        struct world *w = *state;
        struct err err = { 0 };

        assert_int_equal(set_rules(w, "{\"rules\":[{\"name\":\"x\",\"deni\":\"no\"}]}", &err), ERR_INVAL);
        assert_string_equal(err.msg, "rule x: unknown key deni");
        assert_int_equal(set_rules(w, "{\"rules\":[{\"deny\":3}]}", &err), ERR_INVAL);
        assert_string_equal(err.msg, "rule 0: deny must be a string");
        assert_int_equal(set_rules(w, "{\"rules\":[{\"name\":\"x\"}]}", &err), ERR_INVAL);
        assert_string_equal(err.msg, "rule x: needs deny or patch");
}

struct seen {
        int created, changed, deleted;
        uint64_t rv;
        char manager[32];
};

static void look(void *ctx, const struct sandbox_commit *c) {
        struct seen *s = ctx;

        if (!str_eqc(c->kind, "Secret"))
                return;
        s->created += !c->before;
        s->changed += c->before && c->after;
        s->deleted += !c->after;
        s->rv = c->resource_version;
        snprintf(s->manager, sizeof s->manager, "%.*s", STR_FMT(c->manager));
}

static void observers_see_each_commit_and_no_other_write(void **state) {
        struct world *w = *state;
        struct seen seen = { 0 };
        const char *secrets = "/api/v1/namespaces/default/secrets";

        sandbox_observe(w->s, look, &seen);
        post(w, secrets, "{\"metadata\":{\"name\":\"a\"}}");
        post(w, "/api/v1/namespaces/default/secrets?dryRun=All", "{\"metadata\":{\"name\":\"b\"}}");
        patch(w, "/api/v1/namespaces/default/secrets/a?fieldManager=me", MERGE_TYPE,
              "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
        assert_string_equal(seen.manager, "me");
        patch(w, "/api/v1/namespaces/default/secrets/a?fieldManager=me", MERGE_TYPE,
              "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
        del(w, "/api/v1/namespaces/default/secrets/a");
        assert_int_equal(seen.created, 1);
        assert_int_equal(seen.changed, 1);
        assert_int_equal(seen.deleted, 1);
        get(w, "/api/v1/namespaces/default/secrets");
        assert_int_equal(atoll(at(w, "metadata.resourceVersion")), seen.rv);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_saved_sandbox_is_loaded_as_it_was, setup, teardown),
                cmocka_unit_test_setup_teardown(what_cannot_be_read_is_named, setup, teardown),
                cmocka_unit_test(a_damaged_file_is_refused_and_changes_nothing),
                cmocka_unit_test(a_snapshot_shows_the_moment_it_was_taken),
                cmocka_unit_test_setup_teardown(a_namespace_that_was_ending_ends_after_loading, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_loaded_is_collected_with_its_owner, setup, teardown),
                cmocka_unit_test_setup_teardown(a_running_pod_keeps_running_and_its_address, setup, teardown),
                cmocka_unit_test_setup_teardown(rules_change_and_deny, setup, teardown),
                cmocka_unit_test_setup_teardown(bad_rules_name_the_rule_and_the_key, setup, teardown),
                cmocka_unit_test_setup_teardown(observers_see_each_commit_and_no_other_write, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
