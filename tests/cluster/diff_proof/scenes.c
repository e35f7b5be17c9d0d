/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide() played out on a real API server: hand-over, take-back, take-over and conflicts, each scene a claim about
 * which requests are sent and what is left on the server. The player below does what the agent does, without its
 * timing.
 *
 *      own_scenes
 *
 * Environment as of tests/cluster: TRUCE_TEST_SERVER, TRUCE_TEST_CA, TRUCE_TEST_TOKEN.
 */
#include "base/json.h"
#include "base/limits.h"
#include "http.h"
#include "own/decide.h"

#define MAX_ROUNDS 20 /* a busy machine's controllers can make several requests stale */
#define APPLY_TYPE "application/apply-patch+yaml"
#define NAMESPACE  "own-scenes"

/* One scene: a Deployment `web` of its own, its scalers, and what the player remembers of it. */
struct scene {
        struct arena *arena;
        const char *name;
        struct scaler_index *scalers;
        const struct decide_withheld *withheld;
        size_t withheld_count;
        bool hold;
        const struct value *previous; /* what Git wanted before, NULL: the same */
        bool has_print;
        struct hash128 print;
        struct buf trace; /* the requests sent: "create", "apply!", "patch" … */
        struct decision last;
};

static struct http *server;
static const struct hash_key key = { 1, 2 };
static unsigned failures, claims;

static struct str path_to(struct scene *s, const char *query) {
        return arena_strf(s->arena, "/apis/apps/v1/namespaces/" NAMESPACE "/deployments/%s%s", s->name, query);
}

/* Sends one request; the parsed answer, or NULL. */
static const struct value *request(struct scene *s, const char *method, struct str path, const char *type,
                                   const struct value *body, int *status) {
        struct http_request r = { .method = method, .path = path, .content_type = type };
        struct http_request *list[] = { &r };
        const struct value *answer = NULL;

        if (body)
                r.body = value_canonical(s->arena, body);
        http_batch(server, list, 1);
        *status = r.status;
        json_parse(arena_str(s->arena, buf_str(&r.answer)), s->arena, &answer, NULL);
        buf_done(&r.answer);
        return answer;
}

static const struct value *live_of(struct scene *s) {
        int status;
        const struct value *live = request(s, "GET", path_to(s, ""), NULL, NULL, &status);

        return status == 200 ? live : NULL;
}

static void complain(struct scene *s, const char *what, struct str got, const char *want) {
        failures++;
        printf("FAILED %s: %s is \"%.*s\", not \"%s\"\n", s->name, what, STR_FMT(got), want);
}

static void claim_trace(struct scene *s, const char *want) {
        claims++;
        if (!str_eqc(buf_str(&s->trace), want))
                complain(s, "the trace", buf_str(&s->trace), want);
        buf_clear(&s->trace);
}

static void claim_replicas(struct scene *s, int64_t want) {
        int64_t got = -1;

        claims++;
        value_to_i64(value_path(live_of(s), "spec", "replicas", NULL), &got);
        if (got != want)
                complain(s, "replicas", arena_strf(s->arena, "%lld", (long long)got),
                         arena_strf(s->arena, "%lld", (long long)want).p);
}

/* Who owns a dotted path now, in the server's order. */
static void claim_owners(struct scene *s, const char *path, const char *want) {
        const struct managed_entry *owners[16];
        struct buf got = buf_make(1024);
        struct managed m;
        struct field_path p;

        claims++;
        field_path_from_dotted(str_from(path), s->arena, &p, NULL);
        managed_parse(live_of(s), s->arena, &m, NULL);
        size_t count = managed_owners(&m, NULL, p, owners, ARRAY_LEN(owners));
        for (size_t i = 0; i < count; i++)
                buf_addf(&got, "%s%.*s/%s%s%.*s", i ? " " : "", STR_FMT(owners[i]->manager),
                         owners[i]->operation == MANAGED_APPLY ? "Apply" : "Update",
                         owners[i]->subresource.n ? "/" : "", STR_FMT(owners[i]->subresource));
        if (!str_eqc(buf_str(&got), want))
                complain(s, path, buf_str(&got), want);
        buf_done(&got);
}

static const struct value *git(struct scene *s, const char *spec, const char *metadata) {
        const struct value *v = NULL;
        struct str text =
                arena_strf(s->arena,
                           "{\"apiVersion\":\"apps/"
                           "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"" NAMESPACE
                           "\"%s},\"spec\":{%s\"selector\":{\"matchLabels\":{\"app\":\"%s\"}},\"template\":{"
                           "\"metadata\":{\"labels\":{\"app\":"
                           "\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:1\"}]}}}}",
                           s->name, metadata, spec, s->name, s->name);

        if (json_parse(text, s->arena, &v, NULL) < 0)
                printf("bad scene text: %s\n", text.p);
        return v;
}

static struct decide_input input(struct scene *s, const struct value *desired, const struct value *live) {
        return (struct decide_input){ .desired = desired,
                                      .live = live,
                                      .key = &key,
                                      .fingerprint = s->has_print ? &s->print : NULL,
                                      .scalers = s->scalers,
                                      .withheld = s->withheld,
                                      .withheld_count = s->withheld_count,
                                      .replicas_hold = s->hold,
                                      .previous = s->previous };
}

static void keep_print(struct scene *s, const struct value *effective, const struct value *answer) {
        struct managed m;

        s->has_print =
                managed_parse(answer, s->arena, &m, NULL) == 0 &&
                fingerprint_of(&key, effective, answer, &m, schema_builtin(s->arena, STR("apps/v1"), STR("Deployment")),
                               s->arena, &s->print, NULL) == 0;
}

static const struct value *send_decision(struct scene *s, const struct decision *d, int *status) {
        const char *query = d->force ? "?fieldManager=truce&force=true" : "?fieldManager=truce";

        buf_addf(&s->trace, "%s%s%s", s->trace.n ? " " : "", decide_verdict_name(d->verdict), d->force ? "!" : "");
        if (d->verdict == DECIDE_PATCH)
                return request(s, "PATCH", path_to(s, "?fieldManager=truce"), "application/json-patch+json", d->patch,
                               status);
        return request(s, "PATCH", path_to(s, query), APPLY_TYPE, d->body, status);
}

/* A 409 with causes: decides anew. False when it was something else (a stale resourceVersion). */
static bool conflict(struct scene *s, const struct decide_input *in, const struct value *answer, struct decision *d) {
        const struct value *causes = value_path(answer, "details", "causes", NULL);
        struct decide_cause list[16];
        size_t count = 0;
        struct decision before = *d;

        for (size_t i = 0; i < value_count(causes) && count < ARRAY_LEN(list); i++)
                count += decide_cause_parse(value_text(value_getc(causes->list.items[i], "message")),
                                            value_text(value_getc(causes->list.items[i], "field")), &list[count],
                                            NULL) == 0;
        if (!count || decide_conflict(in, &before, list, count, s->arena, d, NULL) < 0)
                return false;
        buf_addc(&s->trace, "(409)");
        s->withheld = d->withheld;
        s->withheld_count = d->withheld_count;
        return true;
}

/* Decides and acts until there is nothing to do; the last decision stays in s->last. */
static void settle(struct scene *s, const struct value *desired) {
        for (int round = 0; round < MAX_ROUNDS; round++) {
                struct decide_input in = input(s, desired, live_of(s));
                struct decision d = { 0 };
                struct err err = { 0 };
                size_t traced = s->trace.n;
                int status = 0;

                if (decide(&in, s->arena, &d, &err) < 0) {
                        complain(s, "decide", str_from(err.msg), "");
                        return;
                }
                while (d.verdict == DECIDE_CREATE || d.verdict == DECIDE_APPLY || d.verdict == DECIDE_PATCH) {
                        const struct value *answer = send_decision(s, &d, &status);

                        if (status == 409 && conflict(s, &in, answer, &d))
                                continue;
                        /* The Deployment controller wrote in between: nothing was written, the next round decides anew.
                         */
                        if (status == 409)
                                buf_truncate(&s->trace, traced);
                        else if (status >= 300)
                                complain(s, "an answer", value_text(value_getc(answer, "message")), "");
                        else if (d.verdict != DECIDE_PATCH)
                                keep_print(s, d.effective, answer);
                        else if (handover_check(answer, &d.after, s->arena, &err) < 0)
                                complain(s, "the patched object", str_from(err.msg), "");
                        break;
                }
                s->last = d;
                if (d.verdict == DECIDE_NOTHING || d.verdict == DECIDE_REFUSE || d.verdict == DECIDE_WAIT)
                        return;
        }
        complain(s, "the number of rounds", STR("without end"), "bounded");
}

static void as_another(struct scene *s, const char *method, const char *tail, const char *type, const char *body) {
        const struct value *v = NULL, *answer;
        int status;

        json_parse(str_from(body), s->arena, &v, NULL);
        answer = request(s, method, path_to(s, tail), type, v, &status);
        if (status >= 300)
                complain(s, "another's write", value_text(value_getc(answer, "message")), "");
}

static void scale(struct scene *s, const char *manager, int replicas) {
        as_another(s, "PATCH", arena_strf(s->arena, "/scale?fieldManager=%s", manager).p,
                   "application/merge-patch+json", arena_strf(s->arena, "{\"spec\":{\"replicas\":%d}}", replicas).p);
}

static const struct value *hpa_of(struct scene *s) {
        const struct value *v = NULL;

        json_parse(arena_strf(s->arena,
                              "{\"apiVersion\":\"autoscaling/"
                              "v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{\"name\":\"h\","
                              "\"namespace\":\"" NAMESPACE
                              "\"},\"spec\":{\"minReplicas\":3,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":"
                              "\"Deployment\",\"name\":\"%s\"}}}",
                              s->name),
                   s->arena, &v, NULL);
        return v;
}

static void hpa_comes(struct scene *s) {
        scaler_index_set(s->scalers, hpa_of(s), SCALER_LIVE, NULL);
}

static void hpa_goes(struct scene *s) {
        scaler_index_clear(s->scalers, SCALER_LIVE);
}

static void an_hpa_that_comes_later_takes_over_without_a_change_of_value(struct scene *s) {
        const struct value *d = git(s, "\"replicas\":2,", "");

        settle(s, d);
        claim_trace(s, "create");
        claim_owners(s, "spec.replicas", "truce/Apply");
        hpa_comes(s);
        settle(s, d);
        claim_trace(s, "patch");
        claim_replicas(s, 2);
        claim_owners(s, "spec.replicas", "truce-keeper/Update");
        scale(s, "kube-controller-manager", 5);
        settle(s, d);
        claim_trace(s, "");
        claim_owners(s, "spec.replicas", "kube-controller-manager/Update/scale");
        scale(s, "kube-controller-manager", 0);
        settle(s, d);
        scale(s, "kube-controller-manager", 4);
        settle(s, d);
        claim_trace(s, "");
        claim_replicas(s, 4);
        /* Removed from Git while it is scaled: nothing to do. */
        settle(s, git(s, "", ""));
        claim_trace(s, "");
        claim_replicas(s, 4);
}

static void an_hpa_that_was_there_first_gets_a_seed(struct scene *s) {
        hpa_comes(s);
        settle(s, git(s, "\"replicas\":0,", ""));
        claim_trace(s, "create patch");
        claim_replicas(s, 3);
        claim_owners(s, "spec.replicas", "truce-keeper/Update");
}

static void an_hpa_and_a_removal_in_one_commit_keep_the_number(struct scene *s) {
        settle(s, git(s, "\"replicas\":2,", ""));
        hpa_comes(s);
        settle(s, git(s, "", ""));
        claim_trace(s, "create patch");
        claim_replicas(s, 2);
}

static void kept_replicas_come_back_when_the_scaler_is_gone(struct scene *s) {
        const struct value *d = git(s, "\"replicas\":2,", "");

        settle(s, d);
        hpa_comes(s);
        settle(s, d);
        claim_trace(s, "create patch");
        hpa_goes(s);
        s->hold = true;
        settle(s, d);
        claim_trace(s, "");
        s->hold = false;
        settle(s, git(s, "\"replicas\":3,", ""));
        claim_trace(s, "patch apply");
        claim_replicas(s, 3);
        claim_owners(s, "spec.replicas", "truce/Apply");
}

static void a_kept_path_that_leaves_git_goes_back_to_its_default(struct scene *s) {
        settle(s, git(s, "\"replicas\":4,", ""));
        hpa_comes(s);
        settle(s, git(s, "\"replicas\":4,", ""));
        hpa_goes(s);
        settle(s, git(s, "", ""));
        claim_trace(s, "create patch");
        claim_replicas(s, 4);
        s->previous = git(s, "\"replicas\":4,", "");
        settle(s, git(s, "", ""));
        claim_trace(s, "patch apply");
        claim_replicas(s, 1);
}

static void a_dead_hpas_number_gives_way_to_git(struct scene *s) {
        const struct value *d = git(s, "\"replicas\":2,", "");

        hpa_comes(s);
        settle(s, d);
        scale(s, "kube-controller-manager", 6);
        hpa_goes(s);
        s->hold = true;
        settle(s, d);
        claim_replicas(s, 6);
        s->hold = false;
        buf_clear(&s->trace);
        settle(s, d);
        claim_trace(s, "apply(409) apply!");
        claim_replicas(s, 2);
        claim_owners(s, "spec.replicas", "truce/Apply");
}

static void an_unknown_scaler_is_yielded_to(struct scene *s) {
        const struct value *d = git(s, "\"replicas\":2,", "");

        settle(s, d);
        buf_clear(&s->trace);
        scale(s, "my-autoscaler", 5);
        settle(s, d);
        claim_trace(s, "");
        claim_replicas(s, 5);
}

static void a_person_that_scales_is_overruled(struct scene *s) {
        const struct value *d = git(s, "\"replicas\":2,", "");

        settle(s, d);
        buf_clear(&s->trace);
        scale(s, "kubectl", 5);
        settle(s, d);
        claim_trace(s, "apply(409) apply!");
        claim_replicas(s, 2);
}

static void an_edit_by_a_person_is_healed_an_operators_is_left(struct scene *s) {
        const struct value *d = git(s, "\"minReadySeconds\":1,\"revisionHistoryLimit\":5,", "");

        settle(s, d);
        buf_clear(&s->trace);
        as_another(s, "PATCH", "?fieldManager=kubectl-edit", "application/merge-patch+json",
                   "{\"spec\":{\"minReadySeconds\":9}}");
        settle(s, d);
        claim_trace(s, "apply(409) apply!");
        claim_owners(s, "spec.minReadySeconds", "truce/Apply");
        as_another(s, "PATCH", "?fieldManager=my-operator", "application/merge-patch+json",
                   "{\"spec\":{\"revisionHistoryLimit\":9}}");
        settle(s, d);
        claim_trace(s, "apply(409)");
        claim_owners(s, "spec.revisionHistoryLimit", "my-operator/Update");
        settle(s, d);
        claim_trace(s, "");
        /* Forgotten over a restart, recalled by the fingerprint. */
        s->withheld_count = 0;
        settle(s, git(s, "\"minReadySeconds\":2,\"revisionHistoryLimit\":5,", ""));
        claim_trace(s, "apply(409) apply");
        s->withheld_count = 0;
        settle(s, git(s, "\"minReadySeconds\":2,\"revisionHistoryLimit\":5,", ""));
        claim_trace(s, "");
}

static void a_client_side_leftover_does_not_keep_what_git_removes(struct scene *s) {
        const struct value *d = git(s, "\"replicas\":0,", ",\"labels\":{\"a\":\"b\",\"c\":\"d\"}"), *answer;
        int status;

        answer = request(
                s, "POST",
                STR("/apis/apps/v1/namespaces/" NAMESPACE "/deployments?fieldManager=kubectl-client-side-apply"),
                "application/json", d, &status);
        if (status != 201)
                complain(s, "a create", value_text(value_getc(answer, "message")), "");
        settle(s, d);
        claim_trace(s, "apply patch");
        claim_owners(s, "metadata.labels.a", "truce/Apply");
        settle(s, git(s, "\"replicas\":0,", ",\"labels\":{\"c\":\"d\"}"));
        claim_trace(s, "apply");
        claim_owners(s, "metadata.labels.a", "");
        claims++;
        if (value_path(live_of(s), "metadata", "labels", "a", NULL))
                complain(s, "the label", STR("there"), "gone");
}

static void another_that_holds_what_git_removes_keeps_it(struct scene *s) {
        settle(s, git(s, "\"minReadySeconds\":1,", ""));
        as_another(
                s, "PATCH", "?fieldManager=my-operator", APPLY_TYPE,
                arena_strf(
                        s->arena,
                        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                        "\"minReadySeconds\":1}}",
                        s->name)
                        .p);
        buf_clear(&s->trace);
        settle(s, git(s, "", ""));
        claim_trace(s, "apply");
        claim_owners(s, "spec.minReadySeconds", "my-operator/Apply");
}

static void play(const char *name, void (*scene)(struct scene *s)) {
        struct scene s = {
                .arena = arena_new(0), .name = name, .scalers = scaler_index_new(), .trace = buf_make(4096)
        };
        unsigned before = failures;
        int status;

        scene(&s);
        printf("%s %s\n", failures == before ? "ok    " : "not ok", name);
        request(&s, "DELETE", path_to(&s, ""), NULL, NULL, &status);
        scaler_index_free(s.scalers);
        buf_done(&s.trace);
        arena_free(s.arena);
}

int main(void) {
        const char *url = getenv("TRUCE_TEST_SERVER"), *ca = getenv("TRUCE_TEST_CA"),
                   *token = getenv("TRUCE_TEST_TOKEN");
        struct scene s = { .arena = arena_new(0), .name = "none" };
        const struct value *ns;
        int status;

        if (!url || !ca || !token) {
                fprintf(stderr, "own_scenes: needs the environment of tests/cluster\n");
                return 1;
        }
        server = http_new(url, ca, token);
        json_parse(STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" NAMESPACE "\"}}"),
                   s.arena, &ns, NULL);
        request(&s, "POST", STR("/api/v1/namespaces"), NULL, ns, &status);

        play("hpa-later", an_hpa_that_comes_later_takes_over_without_a_change_of_value);
        play("hpa-first", an_hpa_that_was_there_first_gets_a_seed);
        play("hpa-and-removal", an_hpa_and_a_removal_in_one_commit_keep_the_number);
        play("take-back", kept_replicas_come_back_when_the_scaler_is_gone);
        play("kept-path-leaves", a_kept_path_that_leaves_git_goes_back_to_its_default);
        play("dead-hpa", a_dead_hpas_number_gives_way_to_git);
        play("unknown-scaler", an_unknown_scaler_is_yielded_to);
        play("person-scales", a_person_that_scales_is_overruled);
        play("edits", an_edit_by_a_person_is_healed_an_operators_is_left);
        play("client-side-leftover", a_client_side_leftover_does_not_keep_what_git_removes);
        play("another-keeps", another_that_holds_what_git_removes_keeps_it);

        /* The namespace stays for the next run: one that is being deleted would refuse it. */
        printf("%u claims, %u failed\n", claims, failures);
        http_free(server);
        arena_free(s.arena);
        return failures ? 1 : 0;
}
