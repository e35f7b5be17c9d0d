/* SPDX-License-Identifier: Apache-2.0 */
/* The in-process face, as struct kube_client and struct kube_watch of the agent use it. */
#include "sandbox/world.h"

#include "kube/client.h"
#include "kube/discovery.h"
#include "kube/watch.h"

struct side {
        struct world *w;
        struct kube_transport *t;
        struct kube_client *c;
        int done;
        struct err err;
        int http_status;
        char body[4096];
        struct sandbox_fault fault;
        int faults; /* how many requests are hit */
};

static struct sandbox_fault hit(void *ctx, const struct sandbox_request *req, bool is_watch) {
        struct side *s = ctx;

        (void)req;
        (void)is_watch;
        return s->faults-- > 0 ? s->fault : (struct sandbox_fault){ 0 };
}

static int setup(void **state) {
        struct side *s = mem_zalloc(sizeof *s);

        s->w = world_new(NULL);
        s->t = sandbox_transport(s->w->s, STR("truce"), STR("a,b"));
        sandbox_transport_set_fault(s->t, hit, s);
        s->c = kube_client_new(s->t, s->w->loop);
        world_run(s->w, 1000);
        *state = s;
        return 0;
}

static int teardown(void **state) {
        struct side *s = *state;

        kube_client_free(s->c);
        kube_transport_free(s->t);
        world_free(s->w);
        free(s);
        return 0;
}

static void done(void *ctx, const struct kube_result *r) {
        struct side *s = ctx;

        s->done++;
        s->err = r->err;
        s->http_status = r->http_status;
        snprintf(s->body, sizeof s->body, "%.*s", STR_FMT(r->body));
}

static const struct kube_location config_map = {
        .version = { "v1", 2 },
        .plural = { "configmaps", 10 },
        .namespace = { "default", 7 },
        .name = { "a", 1 },
};
static const struct kube_write as_truce = { .field_manager = { "truce", 5 } };
#define BODY STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}")

static void an_apply_is_answered_in_a_later_turn(void **state) {
        struct side *s = *state;

        kube_client_apply(s->c, &config_map, BODY, &as_truce, done, s);
        assert_int_equal(s->done, 0);
        world_run(s->w, 0);
        assert_int_equal(s->done, 1);
        assert_int_equal(s->http_status, 201);
        assert_non_null(sandbox_get(s->w->s, STR(""), STR("configmaps"), STR("default"), STR("a")));
}

static void a_lost_request_changes_nothing_and_a_lost_reply_everything(void **state) {
        struct side *s = *state;

        s->fault = (struct sandbox_fault){ .lose_request = true };
        s->faults = 1;
        kube_client_apply(s->c, &config_map, BODY, &as_truce, done, s);
        world_run(s->w, 0);
        assert_int_equal(s->err.code, ERR_UNREACHABLE);
        assert_null(sandbox_get(s->w->s, STR(""), STR("configmaps"), STR("default"), STR("a")));
        s->fault = (struct sandbox_fault){ .lose_reply = true };
        s->faults = 1;
        kube_client_apply(s->c, &config_map, BODY, &as_truce, done, s);
        world_run(s->w, 0);
        assert_int_equal(s->err.code, ERR_UNREACHABLE);
        assert_non_null(sandbox_get(s->w->s, STR(""), STR("configmaps"), STR("default"), STR("a")));
}

static void delays_pass_in_virtual_time_and_deadlines_hold(void **state) {
        struct side *s = *state;

        s->fault = (struct sandbox_fault){ .delay_ms = 300, .reply_delay_ms = 200 };
        s->faults = 1;
        kube_client_get(s->c, &config_map, 0, done, s);
        world_run(s->w, 499);
        assert_int_equal(s->done, 0);
        world_run(s->w, 1);
        assert_int_equal(s->done, 1);
        assert_int_equal(s->err.code, ERR_NOTFOUND);
        s->fault = (struct sandbox_fault){ .delay_ms = 5000 };
        s->faults = 1;
        kube_client_get(s->c, &config_map, 1000, done, s);
        world_run(s->w, 1000);
        assert_int_equal(s->done, 2);
        assert_int_equal(s->err.code, ERR_TIMEOUT);
}

static void an_answer_can_be_forced(void **state) {
        struct side *s = *state;

        s->fault = (struct sandbox_fault){ .status = 500 };
        s->faults = 1;
        kube_client_apply(s->c, &config_map, BODY, &as_truce, done, s);
        world_run(s->w, 0);
        assert_int_equal(s->http_status, 500);
        s->fault = (struct sandbox_fault){ .status = 429, .retry_after_s = 2 };
        s->faults = 1;
        kube_client_apply(s->c, &config_map, BODY, &as_truce, done, s);
        world_run(s->w, 1900);
        assert_int_equal(s->done, 1);
        world_run(s->w, 5000);
        assert_int_equal(s->done, 2);
        assert_int_equal(s->http_status, 201);
}

static void a_cancelled_call_says_nothing(void **state) {
        struct side *s = *state;

        kube_op_cancel(kube_client_apply(s->c, &config_map, BODY, &as_truce, done, s));
        world_run(s->w, 100);
        assert_int_equal(s->done, 0);
        assert_null(sandbox_get(s->w->s, STR(""), STR("configmaps"), STR("default"), STR("a")));
}

static void discovered(void *ctx, struct kube_discovery *d, const struct err *err) {
        struct side *s = ctx;
        size_t count;

        assert_null(err);
        kube_discovery_warnings(d, &count);
        assert_int_equal(count, 0);
        assert_non_null(kube_discovery_find_word(d, STR("deploy")));
        assert_non_null(kube_discovery_find_word(d, STR("cm")));
        assert_true(kube_discovery_find_word(d, STR("deploy"))->has_scale);
        s->done++;
}

static void discovery_is_understood(void **state) {
        struct side *s = *state;

        kube_discovery_fetch(s->c, NULL, discovered, s);
        world_run(s->w, 100);
        assert_int_equal(s->done, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_apply_is_answered_in_a_later_turn, setup, teardown),
                cmocka_unit_test_setup_teardown(a_lost_request_changes_nothing_and_a_lost_reply_everything, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(delays_pass_in_virtual_time_and_deadlines_hold, setup, teardown),
                cmocka_unit_test_setup_teardown(an_answer_can_be_forced, setup, teardown),
                cmocka_unit_test_setup_teardown(a_cancelled_call_says_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(discovery_is_understood, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
