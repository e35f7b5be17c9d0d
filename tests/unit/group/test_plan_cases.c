/* SPDX-License-Identifier: Apache-2.0 */
/* Data cases of plans: the YAML files in tests/cases/group/plan, whose README.md says what they hold. */
#include "group/world.h"

#include <dirent.h>

#include "base/duration.h"
#include "group/conditions.h"
#include "yaml_case.h"

#define CASES    TRUCE_SOURCE_DIR "/tests/cases/group/plan"
#define AT_LEAST 40
#define KIB64    (64 << 10)
#define TICK_MS  500
/* Of one plan's memory; the agent of deploy/ has 256 MiB for all. */
#define PLAN_MAX_BYTES (64 << 20)

struct playing {
        struct arena *a; /* of the case */
        const char *name;
        size_t step;
        struct world *w;
        const struct value *set; /* all that was set so far */
        struct group_plan plan;  /* the last one */
        struct arena *plan_arena;
        struct str *marked; /* "name uid" */
        size_t marked_count;
        bool mixed; /* a member was given another revision: what no plan of ours makes is there */
};

#define WRONG(p, fmt, ...)                                                                                             \
        do {                                                                                                           \
                world_print((p)->w);                                                                                   \
                fail_msg("%s, step %zu: " fmt, (p)->name, (p)->step, __VA_ARGS__);                                     \
        } while (0)

/* --- the object --------------------------------------------------------------------------------------------------- */

static const struct value *pick(const struct value *map, const char *key, struct arena *a, const char *otherwise) {
        const struct value *v = value_getc(map, key);

        return v ? v : value_stringc(a, otherwise);
}

static const struct value *json(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
static const struct value *json(struct arena *a, const char *fmt, ...) {
        char text[2048];
        const struct value *v;
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        assert_int_equal(json_parse(str_from(text), a, &v, NULL), 0);
        return v;
}

static struct str shown(const struct value *v, struct arena *a) {
        return value_canonical(a, v);
}

static const struct value *claims_of(const struct value *set, struct arena *a, const struct value *lwt) {
        const struct value *claims = value_getc(set, "claims");

        if (!claims)
                return lwt;
        lwt = value_with(
                a, lwt, STR("volumeClaimTemplates"),
                json(a, "[{\"metadata\": {\"name\": \"data\"}, \"spec\": {\"accessModes\": [\"ReadWriteOnce\"]}}]"));
        return value_with(a, lwt, STR("persistentVolumeClaimRetentionPolicy"), claims);
}

/* The LeaderWorkerSet that the short form stands for. */
static void set_object(struct playing *p) {
        const struct value *s = p->set;
        struct arena *a = p->a;
        struct str image = value_text(pick(s, "image", a, "one"));
        const struct value *template =
                json(a, "{\"spec\": {\"containers\": [{\"name\": \"main\", \"image\": \"%.*s\"}]}}", STR_FMT(image));
        const struct value *lwt = value_with(a, NULL, STR("workerTemplate"), template);
        const struct value *spec;

        lwt = value_with(a, lwt, STR("size"), value_getc(s, "size"));
        lwt = value_with(a, lwt, STR("restartPolicy"), pick(s, "restart", a, "RecreateGroupOnPodRestart"));
        lwt = claims_of(s, a, lwt);
        spec = json(a,
                    "{\"replicas\": %.*s, \"startupPolicy\": %.*s, \"networkConfig\": {\"subdomainPolicy\": %.*s},"
                    "\"rolloutStrategy\": {\"type\": \"RollingUpdate\", \"rollingUpdateConfiguration\": "
                    "{\"partition\": %.*s, \"maxUnavailable\": %.*s, \"maxSurge\": %.*s}}}",
                    STR_FMT(shown(value_getc(s, "replicas"), a)),
                    STR_FMT(shown(pick(s, "startup", a, "LeaderCreated"), a)),
                    STR_FMT(shown(pick(s, "subdomain", a, "Shared"), a)),
                    STR_FMT(value_getc(s, "partition") ? shown(value_getc(s, "partition"), a) : STR("0")),
                    STR_FMT(value_getc(s, "unavailable") ? shown(value_getc(s, "unavailable"), a) : STR("1")),
                    STR_FMT(value_getc(s, "surge") ? shown(value_getc(s, "surge"), a) : STR("0")));
        world_set_object(p->w, value_with(a, spec, STR("leaderWorkerTemplate"), lwt), value_getc(s, "annotations"));
}

static void do_set(struct playing *p, const struct value *v) {
        for (size_t i = 0; i < value_count(v); i++)
                p->set = value_with(p->a, p->set, v->map.members[i].key, v->map.members[i].value);
        set_object(p);
}

/* --- planning ----------------------------------------------------------------------------------------------------- */

static void make_plan(struct playing *p) {
        arena_free(p->plan_arena);
        p->plan_arena = arena_new(16384);
        p->plan = world_plan(p->w, p->plan_arena);
        if (arena_bytes(p->plan_arena) > PLAN_MAX_BYTES)
                WRONG(p, "the plan takes %zu bytes", arena_bytes(p->plan_arena));
}

static void carry_out(struct playing *p) {
        world_carry_out(p->w, &p->plan);
        if (!p->mixed)
                world_check_one_life(p->w);
        if (p->w->broken)
                WRONG(p, "broken: %s", p->w->broken);
}

static void do_settle(struct playing *p, const struct value *v) {
        int quiet = 0;

        (void)v;
        for (int i = 0; i < 400 && quiet < 8; i++) {
                make_plan(p);
                carry_out(p);
                quiet = p->plan.action_count ? 0 : quiet + 1;
                world_tick(p->w, TICK_MS);
        }
        if (quiet < 8)
                WRONG(p, "it does not settle%s", "");
        make_plan(p);
}

static int64_t duration_of(const struct playing *p, const struct value *v) {
        int64_t ms = 0;

        if (!duration_parse(value_text(v), &ms))
                WRONG(p, "no duration%s", "");
        return ms;
}

/* Time without plans; what is due at its end is then seen in one. */
static void do_pass(struct playing *p, const struct value *v) {
        int64_t left_ms = duration_of(p, v);

        for (; left_ms > 0; left_ms -= TICK_MS)
                world_tick(p->w, left_ms < TICK_MS ? left_ms : TICK_MS);
}

/* Time with plans. */
static void do_run(struct playing *p, const struct value *v) {
        int64_t left_ms = duration_of(p, v);

        for (; left_ms > 0; left_ms -= TICK_MS) {
                make_plan(p);
                carry_out(p);
                world_tick(p->w, TICK_MS);
        }
        make_plan(p);
}

static struct str action_text(const struct group_action *act, struct arena *a) {
        static const char *const kinds[] = { "create", "delete", "release", "status" };
        static const char *const objects[] = { "pod", "service", "claim", "revision" };

        if (act->kind == GROUP_STATUS)
                return STR("status");
        return arena_strf(a, "%s%s %s %.*s", act->force ? "force " : "", kinds[act->kind], objects[act->object],
                          STR_FMT(act->object == GROUP_REVISION ? STR("*") : act->name));
}

static int by_text(const void *left, const void *right) {
        return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

/* The plan as lines, "--" between phases, sorted within one. */
static size_t plan_lines(struct playing *p, struct str *lines) {
        const struct group_plan *plan = &p->plan;
        size_t count = 0, from = 0;

        for (size_t i = 0; i < plan->action_count; i++) {
                if (i && plan->actions[i].phase != plan->actions[i - 1].phase) {
                        qsort(lines + from, count - from, sizeof *lines, by_text);
                        lines[count++] = STR("--");
                        from = count;
                }
                lines[count++] = action_text(&plan->actions[i], p->a);
        }
        qsort(lines + from, count - from, sizeof *lines, by_text);
        return count;
}

static void compare_lines(struct playing *p, const char *what, const struct str *got, size_t count,
                          const struct value *wanted) {
        _cleanup_(buf_done) struct buf text = buf_make(KIB64);
        bool same = value_count(wanted) == count;

        for (size_t i = 0; i < count; i++) {
                buf_addf(&text, "- %.*s\n", STR_FMT(got[i]));
                same = same && i < value_count(wanted) && str_eq(value_text(wanted->list.items[i]), got[i]);
        }
        if (!same)
                WRONG(p, "%s:\n%.*s", what, STR_FMT(buf_str(&text)));
}

static void do_plan(struct playing *p, const struct value *v) {
        make_plan(p);
        struct str *lines = arena_alloc(p->a, (2 * p->plan.action_count + 1) * sizeof *lines);
        compare_lines(p, "plan", lines, plan_lines(p, lines), v);
        carry_out(p);
}

/* One plan, whatever it is. */
static void do_perform(struct playing *p, const struct value *v) {
        int64_t most;

        make_plan(p);
        if (value_to_i64(v, &most) && (size_t)most < p->plan.action_count)
                p->plan.action_count = (size_t)most;
        carry_out(p);
}

/* --- what is expected --------------------------------------------------------------------------------------------- */

static void do_rows(struct playing *p, const struct value *v) {
        struct str *lines = arena_alloc(p->a, (p->plan.row_count + 1) * sizeof *lines);

        make_plan(p);
        for (size_t i = 0; i < p->plan.row_count; i++) {
                const struct group_row *row = &p->plan.rows[i];

                lines[i] = arena_strf(p->a, "%d %.*s %d/%d%s%s%.*s", row->index, STR_FMT(row->state),
                                      row->ready_members, row->size, row->surge ? " surge" : "",
                                      row->waiting_for.n ? ": " : "", STR_FMT(row->waiting_for));
        }
        compare_lines(p, "rows", lines, p->plan.row_count, v);
}

static void do_pods(struct playing *p, const struct value *v) {
        struct str *lines = arena_alloc(p->a, (p->w->pod_count + 1) * sizeof *lines);
        size_t count = 0;

        for (size_t i = 0; i < p->w->pod_count; i++)
                if (!p->w->pods[i].pod.deleting_ms)
                        lines[count++] = p->w->pods[i].pod.name;
        qsort(lines, count, sizeof *lines, by_text);
        compare_lines(p, "pods", lines, count, v);
}

static void compare_things(struct playing *p, enum group_object kind, const char *what, const struct value *v) {
        struct str *lines = arena_alloc(p->a, (p->w->thing_count + 1) * sizeof *lines);
        size_t count = 0;

        for (size_t i = 0; i < p->w->thing_count; i++)
                if (p->w->things[i].kind == kind)
                        lines[count++] = p->w->things[i].name;
        qsort(lines, count, sizeof *lines, by_text);
        compare_lines(p, what, lines, count, v);
}

static void do_services(struct playing *p, const struct value *v) {
        compare_things(p, GROUP_SERVICE, "services", v);
}

static void do_claims(struct playing *p, const struct value *v) {
        compare_things(p, GROUP_CLAIM, "claims", v);
}

static void do_revisions(struct playing *p, const struct value *v) {
        int64_t count = 0, wanted = -1;

        for (size_t i = 0; i < p->w->thing_count; i++)
                count += p->w->things[i].kind == GROUP_REVISION;
        value_to_i64(v, &wanted);
        if (count != wanted)
                WRONG(p, "%lld revisions", (long long)count);
}

static void do_mark(struct playing *p, const struct value *v) {
        (void)v;
        p->marked_count = p->w->pod_count;
        p->marked = arena_alloc(p->a, (p->marked_count + 1) * sizeof *p->marked);
        for (size_t i = 0; i < p->marked_count; i++)
                p->marked[i] =
                        arena_strf(p->a, "%.*s %.*s", STR_FMT(p->w->pods[i].pod.name), STR_FMT(p->w->pods[i].pod.uid));
}

static bool is_marked(const struct playing *p, const struct group_pod *pod) {
        struct str key = arena_strf(p->a, "%.*s %.*s", STR_FMT(pod->name), STR_FMT(pod->uid));

        for (size_t i = 0; i < p->marked_count; i++)
                if (str_eq(p->marked[i], key))
                        return true;
        return false;
}

/* Since the mark: these are other pods by now, and all others are the same. */
static void do_renewed(struct playing *p, const struct value *v) {
        struct str *lines = arena_alloc(p->a, (p->w->pod_count + 1) * sizeof *lines);
        size_t count = 0;

        for (size_t i = 0; i < p->w->pod_count; i++)
                if (!is_marked(p, &p->w->pods[i].pod))
                        lines[count++] = p->w->pods[i].pod.name;
        qsort(lines, count, sizeof *lines, by_text);
        compare_lines(p, "renewed", lines, count, v);
}

static void expect_condition(struct playing *p, struct str type, const struct value *wanted) {
        const struct value *c = conditions_find(value_getc(p->w->status, "conditions"), type);
        struct str text =
                arena_strf(p->a, "%.*s %.*s: %.*s", STR_FMT(value_text(value_getc(c, "status"))),
                           STR_FMT(value_text(value_getc(c, "reason"))), STR_FMT(value_text(value_getc(c, "message"))));

        if (value_is(wanted, VALUE_NULL) ? c && str_eqc(value_text(value_getc(c, "status")), "True")
                                         : !str_starts(text, value_text(wanted)))
                WRONG(p, "condition %.*s: %.*s", STR_FMT(type), STR_FMT(text));
}

/* Members of the status; of conditions "STATUS REASON: MESSAGE", or a beginning of it; null: it is not on. */
static void do_status(struct playing *p, const struct value *v) {
        for (size_t i = 0; i < value_count(v); i++) {
                struct str key = v->map.members[i].key;
                const struct value *wanted = v->map.members[i].value;

                if (key.p[0] >= 'A' && key.p[0] <= 'Z')
                        expect_condition(p, key, wanted);
                else if (!value_equal(value_get(p->w->status, key), wanted))
                        WRONG(p, "%.*s is %.*s", STR_FMT(key), STR_FMT(shown(value_get(p->w->status, key), p->a)));
        }
}

/* Each is the beginning of an event of the last plan, "REASON MESSAGE"; an empty list: there is none. */
static void do_events(struct playing *p, const struct value *v) {
        struct str *lines = arena_alloc(p->a, (p->plan.event_count + 1) * sizeof *lines);

        for (size_t i = 0; i < p->plan.event_count; i++) {
                lines[i] = arena_strf(p->a, "%s %.*s", p->plan.events[i].reason, STR_FMT(p->plan.events[i].message));
                if (i < value_count(v) && str_starts(lines[i], value_text(v->list.items[i])))
                        lines[i] = value_text(v->list.items[i]);
        }
        compare_lines(p, "events", lines, p->plan.event_count, v);
}

/* When to look again; 0s: only when something changes. */
static void do_again(struct playing *p, const struct value *v) {
        make_plan(p);
        if (p->plan.again_ms != duration_of(p, v))
                WRONG(p, "again in %lld ms", (long long)p->plan.again_ms);
}

/* "GROUP: HASH-LETTER …" is too much to write: which groups carry the wanted revision. */
static void do_updated(struct playing *p, const struct value *v) {
        struct str *lines;
        size_t count = 0;

        make_plan(p);
        lines = arena_alloc(p->a, (p->plan.row_count + 1) * sizeof *lines);
        for (size_t i = 0; i < p->plan.row_count; i++)
                if (p->plan.rows[i].updated)
                        lines[count++] = arena_strf(p->a, "%d", p->plan.rows[i].index);
        compare_lines(p, "updated", lines, count, v);
}

/* --- what happens ------------------------------------------------------------------------------------------------- */

static struct world_pod *pod_named(struct playing *p, const struct value *name) {
        struct world_pod *pod = world_pod_find(p->w, value_text(name));

        if (!pod)
                WRONG(p, "no pod %.*s", STR_FMT(value_text(name)));
        world_say(p->w, "-- %.*s", STR_FMT(value_text(name)));
        return pod;
}

static void do_delete(struct playing *p, const struct value *v) {
        world_delete(p->w, pod_named(p, v));
}

/* Gone at once, as by a deletion with grace 0 that nobody saw. */
static void do_kill(struct playing *p, const struct value *v) {
        world_remove_pod(p->w, pod_named(p, v));
}

static void do_crash(struct playing *p, const struct value *v) {
        world_crash(p->w, pod_named(p, v));
}

static void do_restart_pending(struct playing *p, const struct value *v) {
        struct world_pod *pod = pod_named(p, v);

        pod->pod.phase = GROUP_POD_PENDING;
        pod->pod.ready = false;
        pod->pod.restarts = 1;
        pod->slow = true;
}

static void do_fail(struct playing *p, const struct value *v) {
        world_fail(p->w, pod_named(p, v));
}

static void do_stick(struct playing *p, const struct value *v) {
        pod_named(p, v)->stuck = true;
}

static void do_unready(struct playing *p, const struct value *v) {
        struct world_pod *pod = pod_named(p, v);

        pod->pod.ready = false;
        pod->slow = true;
        world_touch(p->w, pod);
}

static void do_slow(struct playing *p, const struct value *v) {
        p->w->slow = value_truth(v, false);
}

/* A group, by its index: all of it becomes ready. */
static void do_ready(struct playing *p, const struct value *v) {
        int64_t group = -1;

        value_to_i64(v, &group);
        for (size_t i = 0; i < p->w->pod_count; i++) {
                struct world_pod *pod = &p->w->pods[i];

                if (pod->pod.group != group || !pod->pod.node.n)
                        continue;
                pod->slow = false;
                world_make_ready(p->w, pod);
        }
        world_say(p->w, "-- group %d is ready", (int)group);
}

static void do_ready_pod(struct playing *p, const struct value *v) {
        struct world_pod *pod = pod_named(p, v);

        pod->slow = false;
        world_make_ready(p->w, pod);
}

static void do_room(struct playing *p, const struct value *v) {
        for (size_t i = 0; i < value_count(v); i++) {
                struct world_node *node = world_node_find(p->w, v->map.members[i].key);
                int64_t room = 0;

                value_to_i64(v->map.members[i].value, &room);
                if (node)
                        node->room = (int)room;
                else
                        world_add_node(p->w, v->map.members[i].key.p, (int)room);
                p->w->capacity_ms = p->w->now_ms / 1000 * 1000;
        }
}

static struct world_node *node_named(struct playing *p, const struct value *name) {
        struct world_node *node = world_node_find(p->w, value_text(name));

        if (!node)
                WRONG(p, "no node %.*s", STR_FMT(value_text(name)));
        world_say(p->w, "-- %.*s", STR_FMT(value_text(name)));
        return node;
}

static void do_starts_in(struct playing *p, const struct value *v) {
        p->w->start_delay_ms = duration_of(p, v);
}

static void do_lose(struct playing *p, const struct value *v) {
        world_lose(p->w, node_named(p, v));
}

static void do_out_of_service(struct playing *p, const struct value *v) {
        world_out_of_service(p->w, node_named(p, v));
}

static void do_gone(struct playing *p, const struct value *v) {
        node_named(p, v)->gone = true;
}

static void do_remove(struct playing *p, const struct value *v) {
        for (size_t i = 0; i < p->w->thing_count; i++) {
                struct world_thing *t = &p->w->things[i];

                if (str_starts(t->name, value_text(v))) {
                        *t = p->w->things[--p->w->thing_count];
                        return;
                }
        }
        WRONG(p, "there is no %.*s", STR_FMT(value_text(v)));
}

/* {pod: NAME} or {service: NAME}: an object of somebody else. */
static void do_foreign(struct playing *p, const struct value *v) {
        struct world *w = p->w;
        struct world_pod pod = { .pod = { .name = value_text(value_getc(v, "pod")),
                                          .uid = STR("foreign"),
                                          .resource_version = STR("1"),
                                          .owner_uid = STR("another"),
                                          .group = -1,
                                          .worker = -1 } };

        if (value_getc(v, "service"))
                w->things[w->thing_count++] = (struct world_thing){ .kind = GROUP_SERVICE,
                                                                    .uid = STR("foreign"),
                                                                    .name = value_text(value_getc(v, "service")),
                                                                    .owner_uid = STR("another") };
        if (!pod.pod.name.n)
                return;
        w->pods = mem_grow(w->pods, &w->pod_cap, w->pod_count + 1, sizeof *w->pods);
        w->pods[w->pod_count++] = pod;
}

static void do_controller(struct playing *p, const struct value *v) {
        p->w->foreign = value_text(v);
}

static void do_deleting(struct playing *p, const struct value *v) {
        p->w->spec.deleting = value_truth(v, false);
}

static void do_namespace(struct playing *p, const struct value *v) {
        p->w->namespace_terminating = str_eqc(value_text(v), "Terminating");
}

static void do_forget(struct playing *p, const struct value *v) {
        (void)v;
        p->w->status = NULL;
}

/* The text that is remembered, as somebody else wrote it. */
static void do_remember(struct playing *p, const struct value *v) {
        struct condition memory = { STR(GROUP_CONDITION_MEMORY), true, STR("Recorded"), value_text(v) };
        const struct value *list = conditions_set(value_getc(p->w->status, "conditions"), &memory, 1,
                                                  p->w->spec.generation, p->w->now_ms, p->w->a);

        p->w->status = value_with(p->w->a, p->w->status, STR("conditions"), list);
}

static void do_put_back(struct playing *p, const struct value *v) {
        p->w->now_ms -= duration_of(p, v);
}

/* Labels as an older version of truce would have made them: the hash of what is stored and of its pods is another. */
static void do_rename_revision(struct playing *p, const struct value *v) {
        struct str old = p->w->spec.now.hash;

        for (size_t i = 0; i < p->w->thing_count; i++)
                if (str_eq(p->w->things[i].hash, old))
                        p->w->things[i].hash = value_text(v);
        for (size_t i = 0; i < p->w->pod_count; i++)
                if (str_eq(p->w->pods[i].pod.revision, old))
                        p->w->pods[i].pod.revision = value_text(v);
        p->w->status = NULL;
}

/* A member of another revision than the rest of its group, as no plan of ours would make one. */
static void do_other_revision(struct playing *p, const struct value *v) {
        struct world_pod *pod = pod_named(p, v);

        pod->pod.revision = STR("0000000000");
        p->mixed = true;
        world_touch(p->w, pod);
}

/* --- playing ------------------------------------------------------------------------------------------------------ */

static const struct {
        const char *name;
        void (*play)(struct playing *p, const struct value *v);
} steps[] = {
        { "set", do_set },
        { "settle", do_settle },
        { "pass", do_pass },
        { "run", do_run },
        { "plan", do_plan },
        { "perform", do_perform },
        { "rows", do_rows },
        { "pods", do_pods },
        { "services", do_services },
        { "claims", do_claims },
        { "revisions", do_revisions },
        { "mark", do_mark },
        { "renewed", do_renewed },
        { "status", do_status },
        { "events", do_events },
        { "again", do_again },
        { "updated", do_updated },
        { "delete", do_delete },
        { "kill", do_kill },
        { "crash", do_crash },
        { "restart-pending", do_restart_pending },
        { "fail", do_fail },
        { "stick", do_stick },
        { "unready", do_unready },
        { "slow", do_slow },
        { "ready", do_ready },
        { "ready-pod", do_ready_pod },
        { "room", do_room },
        { "lose", do_lose },
        { "out-of-service", do_out_of_service },
        { "starts-in", do_starts_in },
        { "gone", do_gone },
        { "remove", do_remove },
        { "foreign", do_foreign },
        { "controller", do_controller },
        { "deleting", do_deleting },
        { "namespace", do_namespace },
        { "forget", do_forget },
        { "remember", do_remember },
        { "put-back", do_put_back },
        { "rename-revision", do_rename_revision },
        { "other-revision", do_other_revision },
};

static void play_step(struct playing *p, struct str name, const struct value *v) {
        for (size_t i = 0; i < ARRAY_LEN(steps); i++)
                if (str_eqc(name, steps[i].name)) {
                        steps[i].play(p, v);
                        return;
                }
        WRONG(p, "unknown step %.*s", STR_FMT(name));
}

static void play(const char *name) {
        _cleanup_(arena_freep) struct arena *a = arena_new(65536);
        _cleanup_(world_freep) struct world *w = world_new();
        struct playing p = { .a = a, .name = name, .w = w };
        const struct value *doc = read_yaml(a, arena_strf(a, CASES "/%s", name).p), *list = value_getc(doc, "steps");

        if (!value_text(value_getc(doc, "claim")).n || !value_count(list))
                fail_msg("%s: no claim or no steps", name);
        world_add_node(w, "n0", 100);
        w->capacity_ms = 0;
        for (p.step = 1; p.step <= value_count(list); p.step++) {
                const struct value *step = list->list.items[p.step - 1];

                if (value_count(step) != 1)
                        fail_msg("%s, step %zu: not one thing", name, p.step);
                play_step(&p, step->map.members[0].key, step->map.members[0].value);
        }
        arena_free(p.plan_arena);
}

static int by_name(const void *left, const void *right) {
        return strcmp(*(char *const *)left, *(char *const *)right);
}

static void every_case_plans_as_it_says(void **state) {
        const char *only = getenv("TRUCE_TEST_CASE");
        char *names[512];
        size_t count = 0;
        DIR *dir = opendir(CASES);

        (void)state;
        assert_non_null(dir);
        for (struct dirent *e = readdir(dir); e && count < ARRAY_LEN(names); e = readdir(dir))
                if (str_ends(str_from(e->d_name), STR(".yaml")))
                        names[count++] = str_dup(str_from(e->d_name));
        closedir(dir);
        assert_true(count >= AT_LEAST);
        qsort(names, count, sizeof *names, by_name);
        for (size_t i = 0; i < count; i++) {
                if (!only || strstr(names[i], only))
                        play(names[i]);
                free(names[i]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_case_plans_as_it_says),
        };

        return cmocka_run_group_tests_name("plan_cases", tests, NULL, NULL);
}
