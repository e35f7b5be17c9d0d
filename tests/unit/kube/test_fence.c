/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/fence.h"
#include "kube/script_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define PATH "/api/v1/namespaces/shop/configmaps/a"

struct fixture {
        struct loop *loop;
        struct script *script;
        struct kube_fence *fence;
        struct kube_transport *t;
        unsigned drained;
};

/* How one call ended. */
struct end {
        unsigned times;
        int status;
        struct err err;
};

static void on_done(void *ctx, const struct kube_reply *reply, const struct err *err) {
        struct end *e = ctx;

        e->times++;
        e->status = reply->status;
        e->err = err ? *err : (struct err){ 0 };
}

static const struct kube_handler handler = { .done = on_done };

static int setup(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->loop = loop_new_virtual(7, 1764000000000);
        f->script = script_new(f->loop);
        f->fence = kube_fence_new(script_transport(f->script), f->loop);
        f->t = kube_fence_transport(f->fence);
        for (enum kube_method m = KUBE_GET; m <= KUBE_DELETE; m++)
                script_on(f->script, m, "*", &(struct script_answer){ .body = STR("{}"), .delay_ms = 100 });
        *state = f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;

        kube_fence_free(f->fence);
        script_free(f->script);
        loop_free(f->loop);
        free(f);
        return 0;
}

static struct kube_call *send(struct fixture *f, enum kube_method method, const char *path, int64_t deadline_ms,
                              struct end *e) {
        struct kube_request req = { .method = method, .path = str_from(path), .deadline_ms = deadline_ms };

        *e = (struct end){ 0 };
        return kube_start(f->t, &req, &handler, e);
}

static void open_for(struct fixture *f, int64_t ms) {
        kube_fence_open(f->fence, loop_now_ms(f->loop) + ms);
}

static void on_drained(void *ctx) {
        struct fixture *f = ctx;

        f->drained++;
}

static void a_closed_fence_lets_no_write_through(void **state) {
        struct fixture *f = *state;
        struct end e;

        for (enum kube_method m = KUBE_POST; m <= KUBE_DELETE; m++) {
                send(f, m, PATH, 0, &e);
                assert_int_equal(e.times, 0);
                loop_run_for(f->loop, 1000);
                assert_int_equal(e.times, 1);
                assert_int_equal(e.err.code, ERR_TIMEOUT);
                assert_string_equal(e.err.msg, "not sent: only the truce that leads writes");
        }
        assert_int_equal(script_request_count(f->script), 0);
        assert_int_equal(kube_fence_refused(f->fence), 4);
}

static void reads_and_dry_runs_pass_unchanged(void **state) {
        struct fixture *f = *state;
        struct end get, dry;

        send(f, KUBE_GET, PATH "?limit=5", 0, &get);
        send(f, KUBE_PATCH, PATH "?fieldManager=truce&dryRun=All", 0, &dry);
        loop_run_for(f->loop, 1000);
        assert_int_equal(get.status, 200);
        assert_int_equal(dry.status, 200);
        assert_string_equal(script_request_at(f->script, 0)->path.p, PATH "?limit=5");
        assert_string_equal(script_request_at(f->script, 1)->path.p, PATH "?fieldManager=truce&dryRun=All");
}

static void a_write_gets_no_more_time_than_is_left_and_the_server_is_told(void **state) {
        struct fixture *f = *state;
        struct end e;

        open_for(f, 8000);
        script_on(f->script, KUBE_PATCH, "*", &(struct script_answer){ .body = STR("{}"), .delay_ms = 20000 });
        send(f, KUBE_PATCH, PATH "?force=true", 0, &e);
        assert_string_equal(script_request_at(f->script, 0)->path.p, PATH "?force=true&timeout=8000ms");
        loop_run_for(f->loop, 7999);
        assert_int_equal(e.times, 0);
        loop_run_for(f->loop, 1);
        assert_int_equal(e.times, 1);
        assert_int_equal(e.err.code, ERR_TIMEOUT);
}

static void a_shorter_deadline_stays(void **state) {
        struct fixture *f = *state;
        struct end e;

        open_for(f, 8000);
        send(f, KUBE_DELETE, PATH, 3000, &e);
        assert_string_equal(script_request_at(f->script, 0)->path.p, PATH "?timeout=3000ms");
        loop_run_for(f->loop, 1000);
        assert_int_equal(e.status, 200);
}

static void a_write_without_a_deadline_gets_one(void **state) {
        struct fixture *f = *state;
        struct end e;

        open_for(f, 8000);
        send(f, KUBE_POST, PATH, -1, &e);
        assert_string_equal(script_request_at(f->script, 0)->path.p, PATH "?timeout=8000ms");
        loop_run_for(f->loop, 1000);
}

static void with_too_little_left_none_is_begun(void **state) {
        struct fixture *f = *state;
        struct end first, e;

        open_for(f, KUBE_FENCE_MIN_MS);
        send(f, KUBE_POST, PATH, 0, &first);
        assert_int_equal(script_request_count(f->script), 1);
        open_for(f, KUBE_FENCE_MIN_MS - 1);
        send(f, KUBE_POST, PATH, 0, &e);
        assert_int_equal(script_request_count(f->script), 1);
        loop_run_for(f->loop, 1000);
        assert_int_equal(e.err.code, ERR_TIMEOUT);
}

static void time_that_ends_leaves_what_is_under_way(void **state) {
        struct fixture *f = *state;
        struct end e;

        open_for(f, 8000);
        send(f, KUBE_POST, PATH, 0, &e);
        kube_fence_open(f->fence, 0);
        loop_run_for(f->loop, 1000);
        assert_int_equal(e.status, 200);
}

static void a_cut_aborts_writes_and_nothing_else(void **state) {
        struct fixture *f = *state;
        struct end write, read, late;

        open_for(f, 8000);
        send(f, KUBE_POST, PATH, 0, &write);
        send(f, KUBE_GET, PATH, 0, &read);
        assert_int_equal(kube_fence_writes(f->fence), 1);
        kube_fence_cut(f->fence);
        assert_true(script_request_at(f->script, 0)->cancelled);
        assert_int_equal(write.times, 0);
        open_for(f, 8000); /* for good */
        send(f, KUBE_POST, PATH, 0, &late);
        loop_run_for(f->loop, 1000);
        assert_int_equal(write.times, 1);
        assert_int_equal(write.err.code, ERR_TIMEOUT);
        assert_string_equal(write.err.msg, "broken off: this truce does not lead any more");
        assert_int_equal(read.status, 200);
        assert_int_equal(late.err.code, ERR_TIMEOUT);
        assert_int_equal(script_request_count(f->script), 2);
}

static void draining_waits_for_writes_also_for_those_that_nobody_wants_any_more(void **state) {
        struct fixture *f = *state;
        struct end kept, dropped, late;
        struct kube_call *call;

        open_for(f, 8000);
        send(f, KUBE_POST, PATH, 0, &kept);
        call = send(f, KUBE_PATCH, PATH, 0, &dropped);
        kube_fence_drain(f->fence, on_drained, f);
        kube_cancel(f->t, call);
        send(f, KUBE_POST, PATH, 0, &late);
        loop_run_for(f->loop, 99);
        assert_int_equal(f->drained, 0);
        loop_run_for(f->loop, 10);
        assert_int_equal(f->drained, 1);
        assert_int_equal(kept.status, 200);
        assert_int_equal(dropped.times, 0);
        assert_false(script_request_at(f->script, 1)->cancelled);
        assert_int_equal(late.err.code, ERR_TIMEOUT);
        loop_run_for(f->loop, 1000);
        assert_int_equal(f->drained, 1);
}

static void draining_without_writes_is_told_in_a_later_turn(void **state) {
        struct fixture *f = *state;

        kube_fence_drain(f->fence, on_drained, f);
        assert_int_equal(f->drained, 0);
        loop_run_for(f->loop, 1);
        assert_int_equal(f->drained, 1);
}

static void a_cut_ends_a_draining_without_a_word(void **state) {
        struct fixture *f = *state;
        struct end e;

        open_for(f, 8000);
        send(f, KUBE_POST, PATH, 0, &e);
        kube_fence_drain(f->fence, on_drained, f);
        kube_fence_cut(f->fence);
        loop_run_for(f->loop, 1000);
        assert_int_equal(f->drained, 0);
        assert_int_equal(e.err.code, ERR_TIMEOUT);
}

static void cancelled_calls_are_not_told(void **state) {
        struct fixture *f = *state;
        struct end refused, write, cut;

        kube_cancel(f->t, send(f, KUBE_POST, PATH, 0, &refused));
        open_for(f, 8000);
        kube_cancel(f->t, send(f, KUBE_POST, PATH, 0, &write));
        assert_true(script_request_at(f->script, 0)->cancelled);
        struct kube_call *call = send(f, KUBE_POST, PATH, 0, &cut);
        kube_fence_cut(f->fence);
        kube_cancel(f->t, call);
        assert_int_equal(kube_fence_writes(f->fence), 0);
        loop_run_for(f->loop, 1000);
        assert_int_equal(refused.times + write.times + cut.times, 0);
}

#define T(claim) cmocka_unit_test_setup_teardown(claim, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                T(a_closed_fence_lets_no_write_through),
                T(reads_and_dry_runs_pass_unchanged),
                T(a_write_gets_no_more_time_than_is_left_and_the_server_is_told),
                T(a_shorter_deadline_stays),
                T(a_write_without_a_deadline_gets_one),
                T(with_too_little_left_none_is_begun),
                T(time_that_ends_leaves_what_is_under_way),
                T(a_cut_aborts_writes_and_nothing_else),
                T(draining_waits_for_writes_also_for_those_that_nobody_wants_any_more),
                T(draining_without_writes_is_told_in_a_later_turn),
                T(a_cut_ends_a_draining_without_a_word),
                T(cancelled_calls_are_not_told),
        };

        return cmocka_run_group_tests_name("fence", tests, NULL, NULL);
}
