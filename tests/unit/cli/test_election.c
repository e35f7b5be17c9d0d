/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election against the sandbox: up to three candidates, each a process of virtual time with a clock of its
 * own, which may stand still, run fast or end alone. Whoever leads writes every 100 ms, and the sandbox's observer
 * holds each write against the one rule: only the candidate that took the Lease last writes, and only while nobody
 * could take it from it.
 */
#include "agent/leader.h"
#include "base/json.h"
#include "kube/client.h"
#include "sandbox/sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SECOND     1000
#define STEP_MS    5
#define WORK_MS    100
#define CANDIDATES 3
#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/truce/leases"

struct candidate {
        struct world *w;
        char name[2];      /* "a", "b", "c": its user, and how its identity begins */
        struct loop *loop; /* NULL: it does not run */
        struct kube_transport *transport;
        struct leader *leader;
        struct kube_client *client; /* through the fence */
        struct loop_timer *work;
        int64_t work_ms;
        unsigned starts;
        unsigned rate;   /* of its clock, in percent */
        bool stands;     /* SIGSTOP */
        int64_t owed_ms; /* what its clock has to make up for */
        /* its connection */
        int64_t delay_ms, reply_delay_ms;
        int64_t lease_delay_ms; /* instead, of whatever is about the Lease; 0: none */
        bool cut_out, cut_in;
        int lease_status;     /* of whatever is about the Lease; 0: as it is */
        unsigned lease_asked; /* requests about it, watches left out */
        /* what became of it */
        bool leads, lost, released;
        struct err released_err;
        char why[512];
};

struct world {
        struct loop *loop; /* the server's */
        struct sandbox *sandbox;
        struct candidate c[CANDIDATES];
        char owner;       /* who took the Lease last; 0: it was given away */
        int64_t owned_ms; /* when it was taken or renewed, by the server's clock */
        unsigned writes[CANDIDATES];
        int64_t wrote_ms; /* the newest one's */
        char writer;
        unsigned violations;
        char what[256]; /* the first of them */
};

/* --- the rule --------------------------------------------------------------------------------------------------- */

static void blame(struct world *w, const char *why, char who) {
        if (w->violations++ == 0)
                snprintf(w->what, sizeof w->what, "%s: %c wrote at %lld, %c has it since %lld", why, who,
                         (long long)loop_now_ms(w->loop), w->owner ? w->owner : '-', (long long)w->owned_ms);
}

static void note_lease(struct world *w, const struct sandbox_commit *c) {
        struct str holder = value_text(value_path(c->after, "spec", "holderIdentity", NULL));

        w->owner = holder.n ? holder.p[0] : 0;
        w->owned_ms = loop_now_ms(w->loop);
}

static void note_write(struct world *w, char who) {
        if (w->owner != who)
                blame(w, "another one's Lease", who);
        else if (loop_now_ms(w->loop) - w->owned_ms >= LEADER_LEASE_MS)
                blame(w, "a Lease that is over", who);
        w->writes[who - 'a']++;
        w->wrote_ms = loop_now_ms(w->loop);
        w->writer = who;
}

static void on_commit(void *ctx, const struct sandbox_commit *c) {
        struct world *w = ctx;

        if (c->user.n != 1 || !c->after)
                return;
        if (str_eqc(c->kind, "Lease"))
                note_lease(w, c);
        else if (str_eqc(c->kind, "ConfigMap"))
                note_write(w, c->user.p[0]);
}

/* --- candidates ------------------------------------------------------------------------------------------------- */

static struct sandbox_fault on_request(void *ctx, const struct sandbox_request *req, bool is_watch) {
        struct candidate *c = ctx;
        bool is_lease = str_starts(req->path, STR(LEASE_PATH));

        c->lease_asked += is_lease && !is_watch;
        return (struct sandbox_fault){ .delay_ms = is_lease && c->lease_delay_ms ? c->lease_delay_ms : c->delay_ms,
                                       .reply_delay_ms = c->reply_delay_ms,
                                       .lose_request = c->cut_out,
                                       .lose_reply = c->cut_in,
                                       .status = is_lease ? c->lease_status : 0 };
}

static void on_written(void *ctx, const struct kube_result *result) {
        (void)ctx;
        (void)result;
}

static void on_work(void *ctx) {
        static const struct kube_write how = { .field_manager = STR("truce") };
        struct kube_location at = {
                .version = STR("v1"), .plural = STR("configmaps"), .namespace = STR("default"), .name = STR("work")
        };
        struct candidate *c = ctx;
        _cleanup_(buf_done) struct buf body = buf_make(256);

        buf_addf(&body, "{\"data\":{\"by\":\"%s\",\"at\":\"%lld\"}}", c->name, (long long)loop_now_ms(c->loop));
        kube_client_patch(c->client, &at, KUBE_PATCH_MERGE, buf_str(&body), &how, on_written, c);
        loop_timer_start(c->work, c->work_ms);
}

static void on_leads(void *ctx) {
        struct candidate *c = ctx;

        c->leads = true;
        on_work(c);
}

static void on_lost(void *ctx, const char *why) {
        struct candidate *c = ctx;

        c->leads = false;
        c->lost = true;
        snprintf(c->why, sizeof c->why, "%s", why);
        loop_timer_stop(c->work);
}

static void on_released(void *ctx, const struct err *err) {
        struct candidate *c = ctx;

        c->leads = false;
        c->released = true;
        c->released_err = err ? *err : (struct err){ 0 };
}

static void start(struct world *w, unsigned i) {
        static const struct leader_hooks hooks = { on_leads, on_lost };
        struct candidate *c = &w->c[i];
        char identity[16];

        *c = (struct candidate){ .w = w,
                                 .name = { (char)('a' + i) },
                                 .starts = c->starts + 1,
                                 .rate = 100,
                                 .work_ms = WORK_MS,
                                 .delay_ms = 2,
                                 .reply_delay_ms = 1 };
        snprintf(identity, sizeof identity, "%s-%u", c->name, c->starts);
        c->loop = loop_new_virtual(loop_random(w->loop, UINT64_MAX), loop_wall_ms(w->loop));
        c->transport = sandbox_transport_on(w->sandbox, c->loop, str_from(c->name), STR(""));
        sandbox_transport_set_fault(c->transport, on_request, c);
        c->leader = leader_new(c->loop, c->transport,
                               &(struct leader_options){
                                       .ns = STR("truce"), .name = STR("truce-test"), .identity = str_from(identity) },
                               &hooks, c);
        c->client = kube_client_new(leader_transport(c->leader), c->loop);
        c->work = loop_timer_new(c->loop, on_work, c);
}

/* It is gone at once, as after SIGKILL; what had not reached the server does not. */
static void kill_it(struct candidate *c) {
        if (!c->loop)
                return;
        loop_timer_free(c->work);
        kube_client_free(c->client);
        leader_free(c->leader);
        kube_transport_free(c->transport);
        loop_free(TAKE_PTR(c->loop));
}

/* SIGTERM: who works stops, and what it has under way is let go of. */
static void end_it(struct candidate *c) {
        loop_timer_stop(c->work);
        leader_release(c->leader, on_released, c);
        kube_client_free(c->client);
        c->client = NULL;
}

static void run_candidate(struct candidate *c) {
        int64_t ms = STEP_MS * c->rate / 100;

        if (c->stands) {
                c->owed_ms += ms;
                return;
        }
        if (c->owed_ms)
                loop_virtual_stand_still(c->loop, c->owed_ms);
        c->owed_ms = 0;
        loop_run_for(c->loop, ms);
}

static void pass(struct world *w, int64_t ms) {
        for (int64_t end_ms = loop_now_ms(w->loop) + ms; loop_now_ms(w->loop) < end_ms;) {
                loop_run_for(w->loop, STEP_MS);
                for (size_t i = 0; i < CANDIDATES; i++)
                        if (w->c[i].loop)
                                run_candidate(&w->c[i]);
        }
}

/* --- world ------------------------------------------------------------------------------------------------------ */

static void begin_seed(struct world *w, uint64_t seed) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object;

        *w = (struct world){ .loop = loop_new_virtual(seed, 1764000000000) };
        w->sandbox = sandbox_new(w->loop, &(struct sandbox_options){ 0 });
        assert_int_equal(json_parse(STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"work\","
                                        "\"namespace\":\"default\"}}"),
                                    a, &object, NULL),
                         0);
        assert_int_equal(sandbox_add(w->sandbox, object, NULL), 0);
        sandbox_observe(w->sandbox, on_commit, w);
}

static int setup(void **state) {
        struct world *w = mem_zalloc(sizeof *w);

        begin_seed(w, 11);
        *state = w;
        return 0;
}

static void finish(struct world *w) {
        for (size_t i = 0; i < CANDIDATES; i++)
                kill_it(&w->c[i]);
        sandbox_free(w->sandbox);
        loop_free(w->loop);
}

static int teardown(void **state) {
        struct world *w = *state;

        finish(w);
        if (w->violations)
                print_error("%u violations, the first: %s\n", w->violations, w->what);
        int r = w->violations ? -1 : 0;
        free(w);
        return r;
}

static char leading(const struct world *w) {
        char who = 0;

        for (size_t i = 0; i < CANDIDATES; i++) {
                if (!w->c[i].loop || !w->c[i].leads)
                        continue;
                assert_int_equal(who, 0);
                who = w->c[i].name[0];
        }
        return who;
}

/* The first is the leader, the others stand by. */
static struct candidate *begin(struct world *w, unsigned count) {
        for (unsigned i = 0; i < count; i++) {
                start(w, i);
                pass(w, SECOND);
        }
        assert_int_equal(leading(w), 'a');
        return &w->c[0];
}

/* How long it takes until `who` writes; fails after `most_ms`. */
static int64_t until_writes(struct world *w, char who, int64_t most_ms) {
        int64_t from_ms = loop_now_ms(w->loop);

        while (w->writer != who || w->wrote_ms < from_ms) {
                if (loop_now_ms(w->loop) - from_ms > most_ms)
                        fail_msg("%c does not write within %lld ms", who, (long long)most_ms);
                pass(w, STEP_MS);
        }
        return w->wrote_ms - from_ms;
}

/* Somebody with kubectl. `path` is below the Lease's collection. */
static unsigned person(struct world *w, enum kube_method method, const char *path, const char *body) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct sandbox_request req = {
                .method = method,
                .path = arena_strf(a, LEASE_PATH "%s", path),
                .user = STR("person"),
                .content_type = STR("application/merge-patch+json"),
                .accept = STR("application/json"),
                .body = str_from(body),
        };
        struct sandbox_reply reply;

        sandbox_serve(w->sandbox, &req, a, &reply);
        return (unsigned)reply.status;
}

static const struct value *lease_spec(struct world *w) {
        return value_getc(
                sandbox_get(w->sandbox, STR("coordination.k8s.io"), STR("leases"), STR("truce"), STR("truce-test")),
                "spec");
}

static void status_of(const struct candidate *c, struct leader_status *ret) {
        leader_status(c->leader, ret);
}

/* --- claims ----------------------------------------------------------------------------------------------------- */

static void one_leads_and_the_others_stand_by(void **state) {
        struct world *w = *state;
        struct leader_status now;
        int64_t transitions = -1;

        begin(w, 3);
        pass(w, 120 * SECOND);
        assert_int_equal(leading(w), 'a');
        assert_true(w->writes[0] > 1000);
        assert_int_equal(w->writes[1] + w->writes[2], 0);
        status_of(&w->c[1], &now);
        assert_true(now.knows && !now.leads && !now.err->code);
        assert_string_equal(now.holder.p, "a-1");
        assert_true(value_to_i64(value_getc(lease_spec(w), "leaseTransitions"), &transitions));
        assert_int_equal(transitions, 0);
}

static void three_that_start_at_once_agree(void **state) {
        struct world *w = *state;

        for (unsigned i = 0; i < 3; i++)
                start(w, i);
        pass(w, 5 * SECOND);
        assert_int_not_equal(leading(w), 0);
        for (size_t i = 0; i < 3; i++)
                assert_false(w->c[i].lost);
}

static void a_clean_end_hands_over_at_once(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);
        int64_t transitions = 0;

        end_it(a);
        assert_true(until_writes(w, 'b', 5 * SECOND) <= 100);
        assert_true(a->released);
        assert_int_equal(a->released_err.code, 0);
        assert_true(value_to_i64(value_getc(lease_spec(w), "leaseTransitions"), &transitions));
        assert_int_equal(transitions, 1);
}

/* The API server takes 300 ms: what is under way as the end comes is waited for, and the Lease given away behind it. */
static void a_clean_end_waits_for_its_writes(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        a->delay_ms = 300;
        pass(w, SECOND);
        unsigned before = w->writes[0];
        end_it(a);
        until_writes(w, 'b', 5 * SECOND);
        assert_true(w->writes[0] > before);
}

static void writes_that_do_not_end_leave_the_lease_to_run_out(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        a->delay_ms = 6 * SECOND;
        pass(w, 100);
        end_it(a);
        pass(w, 6 * SECOND);
        assert_true(a->released);
        assert_int_equal(a->released_err.code, ERR_TIMEOUT);
        kill_it(a);
        until_writes(w, 'b', 16 * SECOND);
}

static void one_that_only_stood_by_ends_at_once(void **state) {
        struct world *w = *state;

        begin(w, 2);
        end_it(&w->c[1]);
        pass(w, 50);
        assert_true(w->c[1].released);
        assert_int_equal(leading(w), 'a');
        assert_string_equal(value_text(value_getc(lease_spec(w), "holderIdentity")).p, "a-1");
}

static void a_release_that_meets_another_write_is_tried_again(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        a->delay_ms = 50;
        pass(w, 3 * SECOND);
        end_it(a);
        for (unsigned i = 0; i < 6 && !a->released; i++) {
                assert_int_equal(person(w, KUBE_PATCH, "/truce-test",
                                        "{\"metadata\":{\"annotations\":{\"a\":null,\"b\":\"1\"}}}"),
                                 200);
                assert_int_equal(person(w, KUBE_PATCH, "/truce-test",
                                        "{\"metadata\":{\"annotations\":{\"a\":\"1\",\"b\":null}}}"),
                                 200);
                pass(w, 40);
        }
        until_writes(w, 'b', 5 * SECOND);
        assert_int_equal(a->released_err.code, 0);
}

static void one_that_is_killed_is_followed_within_16_s(void **state) {
        struct world *w = *state;

        for (unsigned i = 0; i < 10; i++) {
                begin(w, 2);
                pass(w, (int64_t)loop_random(w->loop, 4 * SECOND));
                kill_it(&w->c[0]);
                assert_true(until_writes(w, 'b', 16 * SECOND) >= 12 * SECOND);
                end_it(&w->c[1]);
                pass(w, SECOND);
                kill_it(&w->c[1]);
        }
}

static void one_that_starts_again_waits_for_its_own_old_lease(void **state) {
        struct world *w = *state;

        begin(w, 1);
        kill_it(&w->c[0]);
        start(w, 0);
        assert_true(until_writes(w, 'a', 16 * SECOND) >= 14 * SECOND);
}

static void stands_still_for(struct world *w, struct candidate *c, int64_t ms) {
        c->stands = true;
        pass(w, ms);
        c->stands = false;
}

static void a_short_stop_loses_nothing(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        stands_still_for(w, a, 5 * SECOND);
        pass(w, 20 * SECOND);
        assert_int_equal(leading(w), 'a');
        assert_int_equal(w->writes[1], 0);
}

static void one_that_stood_still_too_long_writes_nothing(void **state) {
        static const int64_t spans_ms[] = { 12 * SECOND, 20 * SECOND, 40 * SECOND };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_LEN(spans_ms); i++) {
                struct candidate *a = begin(w, 2);

                a->delay_ms = 40; /* so that some are always under way */
                pass(w, SECOND + 13 * (int64_t)i);
                a->stands = true;
                pass(w, SECOND); /* what had been sent by then is the server's */
                unsigned before = w->writes[0];
                stands_still_for(w, a, spans_ms[i] - SECOND);
                pass(w, 5);
                assert_true(a->lost);
                pass(w, 20 * SECOND);
                assert_int_equal(w->writes[0], before);
                assert_int_equal(leading(w), 'b');
                kill_it(a);
                end_it(&w->c[1]);
                pass(w, SECOND);
                kill_it(&w->c[1]);
        }
}

/* The API server would be done with it after 20 s; nobody is awake to hang up, and it gives up by itself. */
static void what_a_slow_server_has_of_one_that_stands_still_comes_to_nothing(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        a->delay_ms = 20 * SECOND;
        pass(w, SECOND);
        unsigned before = w->writes[0];
        stands_still_for(w, a, 40 * SECOND);
        pass(w, SECOND);
        assert_true(a->lost);
        assert_int_equal(w->writes[0], before);
        assert_int_equal(leading(w), 'b');
}

static void one_that_stood_still_as_it_waited_does_not_take_what_is_held(void **state) {
        struct world *w = *state;

        begin(w, 2);
        stands_still_for(w, &w->c[1], 40 * SECOND);
        pass(w, 30 * SECOND);
        assert_int_equal(leading(w), 'a');
        assert_int_equal(w->writes[1], 0);
}

static void without_a_connection_it_stops_in_time(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        for (unsigned way = 0; way < 3; way++) {
                a->cut_out = way != 1;
                a->cut_in = way != 0;
                sandbox_drop_watches(w->sandbox);
                pass(w, 6 * SECOND);
                a->cut_out = a->cut_in = false;
                pass(w, 10 * SECOND);
                assert_int_equal(leading(w), 'a'); /* it came back in time */
        }
        a->cut_in = true;
        sandbox_drop_watches(w->sandbox);
        pass(w, 13 * SECOND);
        assert_true(a->lost);
        assert_true(strstr(a->why, "was not renewed for 1"));
        until_writes(w, 'b', 16 * SECOND);
}

/* Only the Lease cannot be written: whatever else it could write, it does not, long before another one does. */
static void without_renewals_it_stops_in_time(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        w->c[1].rate = 140;
        pass(w, 30 * SECOND);
        a->lease_status = 500;
        until_writes(w, 'b', 16 * SECOND);
        assert_true(a->lost);
        assert_true(strstr(a->why, "was not renewed for 1"));
}

static void a_fast_clock_alone_takes_nothing(void **state) {
        struct world *w = *state;

        begin(w, 2);
        w->c[1].rate = 160;
        pass(w, 60 * SECOND);
        w->c[0].rate = 160;
        w->c[1].rate = 100;
        pass(w, 60 * SECOND);
        assert_int_equal(leading(w), 'a');
        assert_int_equal(w->writes[1], 0);
}

static void the_wall_clock_does_not_matter(void **state) {
        struct world *w = *state;

        begin(w, 3);
        for (unsigned i = 0; i < 4; i++) {
                loop_virtual_set_wall(w->c[i % 2].loop, i < 2 ? 3600 * SECOND : -7200 * SECOND);
                pass(w, 20 * SECOND);
                assert_int_equal(leading(w), 'a');
        }
        assert_int_equal(w->writes[1] + w->writes[2], 0);
}

static void writes_of_others_to_the_lease_do_not_end_it(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);
        struct leader_status now;

        a->delay_ms = 40;
        for (unsigned i = 0; i < 400; i++) {
                assert_int_equal(person(w, KUBE_PATCH, "/truce-test",
                                        i % 2 ? "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}"
                                              : "{\"metadata\":{\"labels\":{\"a\":null}}}"),
                                 200);
                pass(w, 250 + (int64_t)loop_random(w->loop, 100));
        }
        assert_int_equal(leading(w), 'a');
        status_of(a, &now);
        assert_true(now.slow_paths > 0);
        assert_int_equal(w->writes[1], 0);
}

static void a_deleted_lease_stays_its_holders(void **state) {
        struct world *w = *state;

        begin(w, 2);
        for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(person(w, KUBE_DELETE, "/truce-test", ""), 200);
                pass(w, 3 * SECOND + 7 * i);
                assert_int_equal(leading(w), 'a');
        }
        start(w, 2);
        pass(w, 20 * SECOND);
        assert_int_equal(leading(w), 'a');
        assert_int_equal(w->writes[1] + w->writes[2], 0);
        assert_string_equal(value_text(value_getc(lease_spec(w), "holderIdentity")).p, "a-1");
}

/*
 * One that has never seen it takes it. The holder stops as soon as it hears that it is gone, not when it finds
 * another's in its place.
 */
static void a_lease_that_is_deleted_as_another_one_starts_has_one_holder(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 1);

        a->lease_delay_ms = 300;
        a->work_ms = 3;
        pass(w, SECOND);
        assert_int_equal(person(w, KUBE_DELETE, "/truce-test", ""), 200);
        start(w, 1);
        w->c[1].delay_ms = 10;
        until_writes(w, 'b', SECOND);
        pass(w, SECOND);
        assert_true(a->lost);
        assert_non_null(strstr(a->why, "held by b-1"));
}

static void a_deleted_lease_of_a_dead_holder_is_taken_when_it_would_be_over(void **state) {
        struct world *w = *state;

        begin(w, 2);
        kill_it(&w->c[0]);
        assert_int_equal(person(w, KUBE_DELETE, "/truce-test", ""), 200);
        assert_true(until_writes(w, 'b', 16 * SECOND) > 12 * SECOND);
}

static void a_holder_that_was_edited_is_believed(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        assert_int_equal(person(w, KUBE_PATCH, "/truce-test", "{\"spec\":{\"holderIdentity\":\"nobody-1\"}}"), 200);
        pass(w, 50);
        assert_true(a->lost);
        assert_non_null(strstr(a->why, "held by nobody-1"));
        assert_true(until_writes(w, 'b', 16 * SECOND) > 14 * SECOND);
        assert_int_equal(person(w, KUBE_PATCH, "/truce-test", "{\"spec\":{\"holderIdentity\":null}}"), 200);
        pass(w, 50);
        assert_true(w->c[1].lost);
        assert_non_null(strstr(w->c[1].why, "nobody's"));
}

/* Also where it says that it is for longer than ours, and was renewed a year ago. */
static void what_others_say_of_their_lease_counts(void **state) {
        struct world *w = *state;

        begin(w, 1);
        end_it(&w->c[0]);
        pass(w, SECOND);
        kill_it(&w->c[0]);
        assert_int_equal(person(w, KUBE_PATCH, "/truce-test",
                                "{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":40,\"renewTime\":\"2024-"
                                "01-01T00:00:00.000000Z\"}}"),
                         200);
        start(w, 1);
        assert_true(until_writes(w, 'b', 42 * SECOND) > 39 * SECOND);
}

static void without_rights_nobody_leads_and_nobody_ends(void **state) {
        struct world *w = *state;
        struct leader_status now;

        start(w, 0);
        w->c[0].lease_status = 403;
        pass(w, 120 * SECOND);
        status_of(&w->c[0], &now);
        assert_false(now.leads || now.knows || w->c[0].lost);
        assert_int_equal(now.err->code, ERR_FORBIDDEN);
        w->c[0].lease_status = 0;
        until_writes(w, 'a', 5 * SECOND);
        status_of(&w->c[0], &now);
        assert_int_equal(now.err->code, 0);
}

static void rights_that_are_taken_away_end_it_when_the_time_is_over(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 1);

        a->lease_status = 403;
        pass(w, 7 * SECOND);
        assert_false(a->lost);
        pass(w, 4 * SECOND);
        assert_true(a->lost);
}

/* As a proxy answers that knows no such path: nothing is learnt of the Lease, and the next request waits. */
static void a_kind_that_is_not_found_is_not_asked_for_at_once(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 1);

        a->lease_asked = 0;
        a->lease_status = 404;
        pass(w, 7 * SECOND);
        assert_in_range(a->lease_asked, 1, 30);
        assert_false(a->lost);
        a->lease_status = 0;
        pass(w, 20 * SECOND);
        assert_true(a->leads);
}

static void a_lease_that_cannot_be_watched_is_read(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);

        w->c[1].cut_out = true;
        sandbox_drop_watches(w->sandbox);
        pass(w, 3 * SECOND);
        w->c[1].cut_out = false;
        end_it(a);
        until_writes(w, 'b', 5 * SECOND);
}

static void a_namespace_that_goes_takes_the_lease_with_it(void **state) {
        struct world *w = *state;
        struct candidate *a = begin(w, 2);
        _cleanup_(arena_freep) struct arena *arena = arena_new(0);
        struct sandbox_request req = { .method = KUBE_DELETE,
                                       .path = STR("/api/v1/namespaces/truce"),
                                       .user = STR("person"),
                                       .accept = STR("application/json") };
        struct sandbox_reply reply;

        sandbox_serve(w->sandbox, &req, arena, &reply);
        assert_int_equal(reply.status, 200);
        pass(w, 60 * SECOND);
        assert_true(a->leads || a->lost);
        assert_int_not_equal(leading(w), 0);
}

/* With 9 s for each request the Lease cannot be held; whoever has it for a moment is the only one. */
static void a_slow_api_server_makes_no_two_writers(void **state) {
        struct world *w = *state;

        for (unsigned i = 0; i < 3; i++)
                start(w, i);
        for (unsigned t = 0; t < 300; t++) {
                for (unsigned i = 0; i < 3; i++) {
                        if (w->c[i].lost) {
                                kill_it(&w->c[i]);
                                start(w, i);
                        }
                        w->c[i].delay_ms = t < 240 ? 4500 : 2;
                        w->c[i].reply_delay_ms = t < 240 ? 4500 : 1;
                }
                pass(w, SECOND);
        }
        assert_int_not_equal(leading(w), 0);
}

/* --- chaos ------------------------------------------------------------------------------------------------------ */

static bool is_chance(struct world *w, unsigned one_in) {
        return loop_random(w->loop, one_in) == 0;
}

static void disturb_candidate(struct world *w, struct candidate *c) {
        c->stands = is_chance(w, 4);
        c->cut_out = is_chance(w, 8);
        c->cut_in = is_chance(w, 8);
        c->lease_status = is_chance(w, 8) ? 500 : 0;
        c->delay_ms = 1 + (int64_t)loop_random(w->loop, is_chance(w, 4) ? 9000 : 40);
        c->reply_delay_ms = (int64_t)loop_random(w->loop, is_chance(w, 4) ? 9000 : 40);
        c->rate = 90 + (unsigned)loop_random(w->loop, 21);
        if (is_chance(w, 4) && !c->stands)
                loop_virtual_set_wall(c->loop, 3600 * SECOND - (int64_t)loop_random(w->loop, 7200 * SECOND));
}

static void disturb_lease(struct world *w) {
        if (is_chance(w, 6))
                person(w, KUBE_PATCH, "/truce-test", "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}");
        if (is_chance(w, 6))
                person(w, KUBE_PATCH, "/truce-test", "{\"metadata\":{\"labels\":{\"a\":null}}}");
        if (is_chance(w, 10))
                sandbox_drop_watches(w->sandbox);
        if (is_chance(w, 10))
                sandbox_compact(w->sandbox);
}

static void settle(struct candidate *c) {
        c->stands = c->cut_out = c->cut_in = false;
        c->lease_status = 0;
        c->delay_ms = 2;
        c->reply_delay_ms = 1;
        c->rate = 100;
}

static void step_of_chaos(struct world *w, bool calm) {
        for (unsigned i = 0; i < CANDIDATES; i++) {
                struct candidate *c = &w->c[i];

                if (c->lost || c->released || (!calm && is_chance(w, 30)))
                        kill_it(c);
                if (!c->loop && (calm || is_chance(w, 2)))
                        start(w, i);
                else if (c->loop && !calm && is_chance(w, 30) && !c->stands && c->client)
                        end_it(c);
                if (c->loop && calm)
                        settle(c);
                else if (c->loop && is_chance(w, 3))
                        disturb_candidate(w, c);
        }
        if (!calm)
                disturb_lease(w);
        pass(w, 200 + (int64_t)loop_random(w->loop, 6 * SECOND));
}

/* $ELECTION_SEEDS: how many. */
static void whatever_happens_there_are_never_two(void **state) {
        const char *asked = getenv("ELECTION_SEEDS");
        uint64_t seeds = 6;

        (void)state;
        if (asked)
                assert_true(str_to_u64(str_from(asked), &seeds));
        for (uint64_t seed = 1; seed <= seeds; seed++) {
                struct world w;

                begin_seed(&w, seed);
                for (unsigned t = 0; t < 60; t++)
                        step_of_chaos(&w, false);
                for (unsigned t = 0; t < 20; t++)
                        step_of_chaos(&w, true);
                char who = leading(&w);
                unsigned writes = w.writes[0] + w.writes[1] + w.writes[2];
                finish(&w);
                if (w.violations)
                        fail_msg("seed %llu: %s", (unsigned long long)seed, w.what);
                if (!who || writes < 100)
                        fail_msg("seed %llu: nobody leads when all is well again (%u writes)", (unsigned long long)seed,
                                 writes);
        }
}

#define T(claim) cmocka_unit_test_setup_teardown(claim, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                T(one_leads_and_the_others_stand_by),
                T(three_that_start_at_once_agree),
                T(a_clean_end_hands_over_at_once),
                T(a_clean_end_waits_for_its_writes),
                T(writes_that_do_not_end_leave_the_lease_to_run_out),
                T(one_that_only_stood_by_ends_at_once),
                T(a_release_that_meets_another_write_is_tried_again),
                T(one_that_is_killed_is_followed_within_16_s),
                T(one_that_starts_again_waits_for_its_own_old_lease),
                T(a_short_stop_loses_nothing),
                T(one_that_stood_still_too_long_writes_nothing),
                T(what_a_slow_server_has_of_one_that_stands_still_comes_to_nothing),
                T(one_that_stood_still_as_it_waited_does_not_take_what_is_held),
                T(without_a_connection_it_stops_in_time),
                T(without_renewals_it_stops_in_time),
                T(a_fast_clock_alone_takes_nothing),
                T(the_wall_clock_does_not_matter),
                T(writes_of_others_to_the_lease_do_not_end_it),
                T(a_deleted_lease_stays_its_holders),
                T(a_lease_that_is_deleted_as_another_one_starts_has_one_holder),
                T(a_deleted_lease_of_a_dead_holder_is_taken_when_it_would_be_over),
                T(a_holder_that_was_edited_is_believed),
                T(what_others_say_of_their_lease_counts),
                T(without_rights_nobody_leads_and_nobody_ends),
                T(rights_that_are_taken_away_end_it_when_the_time_is_over),
                T(a_kind_that_is_not_found_is_not_asked_for_at_once),
                T(a_lease_that_cannot_be_watched_is_read),
                T(a_namespace_that_goes_takes_the_lease_with_it),
                T(a_slow_api_server_makes_no_two_writers),
                cmocka_unit_test(whatever_happens_there_are_never_two),
        };

        return cmocka_run_group_tests_name("election", tests, NULL, NULL);
}
