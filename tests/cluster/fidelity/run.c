/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/yaml.h"

#define ORDER_TRIES 80 /* two members of a map change places in one of eight walks */
#define CRDS        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static void ask_alike(struct twins *twins, enum kube_method method, struct str path, struct str body, struct arena *a,
                      struct twin_answer ret_answers[SIDE_COUNT]) {
        const struct twin_request request = {
                .method = method, .path = path, .content_type = body.n ? "application/json" : NULL, .body = body
        };
        const struct twin_request both[SIDE_COUNT] = { request, request };

        twins_ask(twins, both, a, ret_answers);
        if (!ret_answers[SIDE_REAL].status) {
                fprintf(stderr, "fidelity: no answer from the server\n");
                exit(1);
        }
}

static void make(struct twins *twins, struct str path, struct str body, struct arena *a) {
        struct twin_answer answers[SIDE_COUNT];

        ask_alike(twins, KUBE_POST, path, body, a, answers);
        for (enum side side = SIDE_REAL; side < SIDE_COUNT; side++)
                if (answers[side].status != 201) {
                        fprintf(stderr, "fidelity: %.*s: %.*s\n", STR_FMT(path), STR_FMT(answers[side].body));
                        exit(1);
                }
}

void run_begin(struct run *r, struct twins *twins, const struct kind *k, const char *namespace) {
        struct arena *a = arena_new(0);

        *r = (struct run){ twins, pairs_new() };
        pairs_add(r->pairs, "Fns", str_from(namespace), str_from(namespace));
        pairs_set_shuffled(r->pairs, str_eqc(k->name, "Namespace"));
        for (int i = 0; i < SUBJECTS; i++) {
                struct str name = arena_strf(a, "z-%s-%d", namespace, i);

                pairs_add(r->pairs, arena_strf(a, "F%d", i).p, name, name);
        }
        make(twins, STR("/api/v1/namespaces"), arena_strf(a, "{\"metadata\":{\"name\":\"%s\"}}", namespace), a);
        if (k->account)
                make(twins, arena_strf(a, "/api/v1/namespaces/%s/serviceaccounts", namespace),
                     value_canonical(a, k->account), a);
        arena_free(a);
}

void run_end(struct run *r) {
        pairs_free(r->pairs);
}

/* --- steps --- */

/*
 * Go walks its maps in any order: asked often enough, a server whose answer has none says the same in another one. The
 * request was refused, so it may be repeated.
 */
static bool keeps_order(struct run *run, const struct result *r, struct arena *a) {
        struct str first = pairs_label_text(run->pairs, a, SIDE_REAL, r->answers[SIDE_REAL].body);

        for (int tries = 0; tries < ORDER_TRIES; tries++) {
                struct twin_answer again;

                twins_ask_real(run->twins, &r->requests[SIDE_REAL], a, &again);
                if (!str_eq(pairs_label_text(run->pairs, a, SIDE_REAL, again.body), first))
                        return false;
        }
        return true;
}

static void check_order(struct run *run, struct arena *a, struct result *r) {
        if (r->differences.reordered && r->answers[SIDE_REAL].status >= 400 && keeps_order(run, r, a))
                differences_add(&r->differences, a, STR("(order)"), r->answers[SIDE_REAL].body,
                                r->answers[SIDE_SANDBOX].body);
}

/*
 * Of two faults in a map the server tells the one that it meets first. Asked often enough it says what the sandbox says:
 * then there is no difference.
 */
static bool says_it_in_the_end(struct run *run, const struct result *r, struct arena *a) {
        struct str sandbox = pairs_label_text(run->pairs, a, SIDE_SANDBOX, r->answers[SIDE_SANDBOX].body);

        for (int tries = 0; tries < ORDER_TRIES; tries++) {
                struct twin_answer again;

                twins_ask_real(run->twins, &r->requests[SIDE_REAL], a, &again);
                if (again.status != r->answers[SIDE_SANDBOX].status)
                        return false;
                if (str_eq(pairs_label_text(run->pairs, a, SIDE_REAL, again.body), sandbox))
                        return true;
        }
        return false;
}

static void check_first_fault(struct run *run, struct arena *a, struct result *r) {
        int status = r->answers[SIDE_REAL].status;

        if (r->differences.count && status >= 400 && status == r->answers[SIDE_SANDBOX].status && says_it_in_the_end(run, r, a))
                r->differences = (struct differences){ 0 };
}

/*
 * A write begins with the object that the server has in its cache. Where that is behind, the server tries in vain,
 * tries again, and tells the warnings of both: on a busy machine they would be a difference. So the cache catches up
 * first.
 */
static void catch_up(struct run *run, struct str path, struct arena *a) {
        uint64_t version = pairs_latest(run->pairs, SIDE_REAL);
        ptrdiff_t query = str_find(path, '?', 0);
        struct twin_answer ignored;

        if (!version)
                return;
        path = query < 0 ? path : str_sub(path, 0, (size_t)query);
        path = arena_strf(a, "%.*s?resourceVersion=%llu", STR_FMT(path), (unsigned long long)version);
        twins_ask_real(run->twins, &(struct twin_request){ .method = KUBE_GET, .path = path }, a, &ignored);
}

void run_step(struct run *run, const struct step *s, struct arena *a, struct result *ret_result) {
        *ret_result = (struct result){ 0 };
        pairs_step(run->pairs, s->number);
        for (enum side side = SIDE_REAL; side < SIDE_COUNT; side++)
                ret_result->requests[side] = (struct twin_request){
                        .method = s->method,
                        .path = pairs_fill(run->pairs, a, side, s->path),
                        .content_type = s->content_type,
                        .accept = s->accept,
                        .body = pairs_fill(run->pairs, a, side, s->body),
                };
        if (s->subject >= 0 && s->method != KUBE_GET && s->method != KUBE_POST)
                catch_up(run, ret_result->requests[SIDE_REAL].path, a);
        if (s->verb == WATCH)
                twins_watch(run->twins, ret_result->requests, a, ret_result->answers);
        else
                twins_ask(run->twins, ret_result->requests, a, ret_result->answers);
        ret_result->unanswered = s->verb == WATCH && !ret_result->answers[SIDE_REAL].status;
        if (ret_result->unanswered)
                return;
        ret_result->body =
                answers_compare(run->pairs, s->verb == WATCH, ret_result->answers, a, &ret_result->differences);
        check_order(run, a, ret_result);
        check_first_fault(run, a, ret_result);
}

/* --- shrinking --- */

static bool still_differs(struct twins *twins, const struct kind *k, const char *namespace, unsigned attempt,
                          const struct step *steps, size_t count, struct str place, const bool *dropped) {
        struct arena *a = arena_new(0);
        struct result result = { 0 };
        struct run run;
        bool found = false;

        run_begin(&run, twins, k, arena_strf(a, "%s-%u", namespace, attempt).p);
        for (size_t i = 0; i < count; i++)
                if (!dropped[i])
                        run_step(&run, &steps[i], a, &result);
        for (size_t i = 0; i < result.differences.count && i < MAX_DIFFERENCES; i++)
                found |= str_eq(result.differences.list[i].place, place);
        run_end(&run);
        arena_free(a);
        return found;
}

void run_shrink(struct twins *twins, const struct kind *k, const char *namespace, const struct step *steps,
                size_t count, struct str place, bool *dropped) {
        unsigned attempt = 0;

        for (size_t size = count / 2; size; size /= 2)
                for (size_t i = 0; i + 1 < count; i += size) {
                        bool before[256];

                        memcpy(before, dropped, count * sizeof *dropped);
                        for (size_t j = i; j < i + size && j + 1 < count; j++)
                                dropped[j] = true;
                        if (memcmp(before, dropped, count * sizeof *dropped) != 0 &&
                            !still_differs(twins, k, namespace, attempt++, steps, count, place, dropped))
                                memcpy(dropped, before, count * sizeof *dropped);
                }
}

/* --- custom types --- */

static void wait_until_served(struct twins *twins, const struct value *crd, struct arena *a) {
        const struct value *spec = value_getc(crd, "spec");
        bool namespaced = str_eqc(value_text(value_getc(spec, "scope")), "Namespaced");
        struct str path = arena_strf(a, "/apis/%.*s/v1/%s%.*s", STR_FMT(value_text(value_getc(spec, "group"))),
                                     namespaced ? "namespaces/default/" : "",
                                     STR_FMT(value_text(value_path(spec, "names", "plural", NULL))));
        struct twin_answer answers[SIDE_COUNT] = { 0 };

        for (int tries = 0; tries < 200 && (answers[SIDE_REAL].status != 200 || answers[SIDE_SANDBOX].status != 200);
             tries++) {
                nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000000 }, NULL);
                ask_alike(twins, KUBE_GET, path, (struct str){ 0 }, a, answers);
        }
        if (answers[SIDE_REAL].status != 200 || answers[SIDE_SANDBOX].status != 200) {
                fprintf(stderr, "fidelity: %.*s is not served\n", STR_FMT(path));
                exit(1);
        }
}

void run_add_crds(struct twins *twins, const char *path, struct arena *a) {
        size_t count;
        const struct yaml_document *documents = yaml_load(path, a, &count);
        struct twin_answer answers[SIDE_COUNT];

        for (size_t i = 0; i < count; i++)
                ask_alike(twins, KUBE_POST, STR(CRDS), value_canonical(a, documents[i].value), a, answers);
        for (size_t i = 0; i < count; i++)
                wait_until_served(twins, documents[i].value, a);
        nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL); /* schemas and handlers follow a little later */
}
