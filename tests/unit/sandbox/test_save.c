/* SPDX-License-Identifier: Apache-2.0 */
/* Saving and loading, rules, and looking on. */
#include "sandbox/world.h"

#include <fcntl.h>
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

static void what_cannot_be_read_is_named(void **state) {
        struct world *w = *state;
        char path[] = "/tmp/sandbox-save-XXXXXX";
        int fd = mkstemp(path);
        struct err err = { 0 };
        static const char text[] =
                "{\"resourceVersion\":3,\"objects\":[{\"group\":\"\",\"plural\":\"pods\",\"object\":{}}]}";

        assert_int_equal(sandbox_load(w->s, path, &err), ERR_CORRUPT);
        assert_int_equal(write(fd, text, sizeof text - 1), (ssize_t)(sizeof text - 1));
        close(fd);
        assert_int_equal(sandbox_load(w->s, path, &err), ERR_CORRUPT);
        assert_string_equal(err.msg, "object 0 of the saved state is damaged");
        unlink(path);
        assert_int_equal(sandbox_load(w->s, path, &err), ERR_NOTFOUND);
        assert_int_equal(sandbox_save(w->s, "/nonexistent/x", &err), ERR_NOTFOUND);
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
                cmocka_unit_test_setup_teardown(rules_change_and_deny, setup, teardown),
                cmocka_unit_test_setup_teardown(bad_rules_name_the_rule_and_the_key, setup, teardown),
                cmocka_unit_test_setup_teardown(observers_see_each_commit_and_no_other_write, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
