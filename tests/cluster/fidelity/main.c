/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox against a real API server: random requests to both, every answer compared (compare.h says how, steps.h
 * what is asked). Ends with 1 when an answer differs beyond what known.txt explains.
 *
 *      fidelity FOLDER          FOLDER holds kinds.yaml, crds.yaml and known.txt
 *
 * Environment: that of tests/cluster, without a controller manager, and
 *      FIDELITY_SEED       repeats a run (default: another each time; it is printed)
 *      FIDELITY_SECONDS    the short form: as many requests as fit (default 75)
 *      FIDELITY_REQUESTS   the long form: at least so many, and until every kind has had FIDELITY_EACH (default 100)
 *                          of each verb; FIDELITY_SECONDS (then 7200) end it all the same
 *
 *      FIDELITY_KIND, FIDELITY_EPISODE
 *                          only this kind, only this episode; both: that episode of that kind, whatever kinds.yaml has
 *                          before it
 *
 *      FIDELITY_SHRINK     how many kinds of differences get their steps reduced (default 10)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "known.h"
#include "run.h"

#define MAX_KINDS 40
#define MAX_SHOWN 8 /* differences of one answer */

struct tally {
        unsigned asked, differed, known;
};

static struct {
        uint64_t seed;
        int64_t deadline_s;
        unsigned max_requests, each, shrink;
        const char *kind;
        long episode;
        unsigned long long run; /* tells this run's namespaces from those of another on the same server */
} options;

static struct kinds kinds;
static struct tally tallies[MAX_KINDS][VERBS];
static unsigned requests, shared, reordered, wrong, unanswered;
static struct map *seen; /* signatures of differences → struct signature */

struct signature {
        unsigned count;
        char line[];
};

static int64_t now_s(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec;
}

static long number_of(const char *name, long otherwise) {
        const char *text = getenv(name);
        int64_t n;

        return text && str_to_i64(str_from(text), &n) ? (long)n : otherwise;
}

static void read_options(void) {
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        options.seed = (uint64_t)number_of("FIDELITY_SEED", (long)(t.tv_sec ^ (t.tv_nsec << 8)) & 0xffffff);
        options.run = (unsigned long long)t.tv_sec & 0xffffff;
        options.max_requests = (unsigned)number_of("FIDELITY_REQUESTS", 0);
        options.each = (unsigned)number_of("FIDELITY_EACH", 100);
        options.deadline_s = now_s() + number_of("FIDELITY_SECONDS", options.max_requests ? 7200 : 75);
        options.kind = getenv("FIDELITY_KIND");
        options.episode = number_of("FIDELITY_EPISODE", -1);
        options.shrink = (unsigned)number_of("FIDELITY_SHRINK", 10);
        printf("FIDELITY_SEED=%llu\n", (unsigned long long)options.seed);
}

/* --- telling --- */

static const char *const method_names[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

static struct str line_of(struct arena *a, const struct kind *k, const struct step *s, const struct result *r,
                          const struct difference *d) {
        return arena_strf(a, "%.*s %s %d/%d %.*s | %.*s | %.*s", STR_FMT(k->name), verb_names[s->verb],
                          r->answers[SIDE_REAL].status, r->answers[SIDE_SANDBOX].status, STR_FMT(d->place),
                          STR_FMT(d->real), STR_FMT(d->sandbox));
}

/* Kind, codes and place without indices: differences with one cause look alike. */
static struct str signature_of(struct arena *a, const struct kind *k, const struct result *r,
                               const struct difference *d) {
        struct buf out = buf_make(8192);
        struct str signature;

        buf_addf(&out, "%.*s %d/%d ", STR_FMT(k->name), r->answers[SIDE_REAL].status, r->answers[SIDE_SANDBOX].status);
        for (size_t i = 0; i < d->place.n; i++)
                if (d->place.p[i] < '0' || d->place.p[i] > '9')
                        buf_addch(&out, d->place.p[i]);
        signature = arena_str(a, buf_str(&out));
        buf_done(&out);
        return signature;
}

static void print_step(const struct step *s) {
        printf("    %u %s %s %.*s%s%s\n", s->number, verb_names[s->verb], method_names[s->method], STR_FMT(s->path),
               s->content_type ? " " : "", s->content_type ? s->content_type : "");
        if (s->accept)
                printf("        accept %s\n", s->accept);
        if (s->body.n)
                printf("        %.*s\n", STR_FMT(s->body));
}

/* Long texts begin shortly before they part. */
static void print_text(const char *side, struct str text, size_t from) {
        printf("    %s%s%.*s\n", side, from ? "… " : "", STR_FMT(str_sub(text, from, from + 1000)));
}

static void print_texts(struct str real, struct str sandbox) {
        size_t same = 0;

        while (same < real.n && same < sandbox.n && real.p[same] == sandbox.p[same])
                same++;
        same = same > 200 ? same - 100 : 0;
        print_text("- real     ", real, same);
        print_text("+ sandbox  ", sandbox, same);
}

static void print_difference(unsigned long episode, const struct step *s, const struct result *r) {
        size_t shown = 0;

        printf("\nDIFFERS: seed %llu, episode %lu, step %u\n", (unsigned long long)options.seed, episode, s->number);
        for (size_t i = 0; i < r->differences.count && i < MAX_DIFFERENCES && shown < MAX_SHOWN; i++) {
                const struct difference *d = &r->differences.list[i];

                if (d->known)
                        continue;
                printf("  %.*s\n", STR_FMT(d->place));
                print_texts(d->real, d->sandbox);
                shown++;
        }
        if (r->differences.count > shown)
                printf("  of %zu\n", r->differences.count);
        for (enum side side = SIDE_REAL; side < SIDE_COUNT; side++)
                if (r->answers[side].status >= 400)
                        printf("  %s says %.*s\n", side == SIDE_REAL ? "real" : "sandbox",
                               STR_FMT(str_sub(r->answers[side].body, 0, 500)));
}

static void print_way(struct twins *twins, const struct kind *k, unsigned long episode, const struct step *steps,
                      size_t count, struct str place) {
        static unsigned shrunk;
        bool dropped[DECK_MAX] = { false };
        char namespace[64];

        for (size_t i = 0; i + 1 < count; i++)
                dropped[i] = steps[i].subject >= 0 && steps[count - 1].subject >= 0 &&
                             steps[i].subject != steps[count - 1].subject;
        snprintf(namespace, sizeof namespace, "s-%llx-%llx-%lu-%u", (unsigned long long)options.seed, options.run,
                 episode, steps[count - 1].number);
        if (shrunk++ < options.shrink)
                run_shrink(twins, k, namespace, steps, count, place, dropped);
        printf("  steps:\n");
        for (size_t i = 0; i < count; i++)
                if (!dropped[i] && (i + 1 == count || shrunk <= options.shrink))
                        print_step(&steps[i]);
}

/* True when it is a new kind of difference. */
static bool note_signature(struct str signature, struct str line) {
        struct signature *s = map_find(seen, signature);

        if (!s) {
                s = mem_zalloc(sizeof *s + line.n + 1);
                memcpy(s->line, line.p, line.n);
                map_set(seen, signature, s);
        }
        return s->count++ == 0;
}

/* --- running --- */

/* The first difference that nobody knows, or NULL. What is beyond those that are kept nobody has looked at. */
static const struct difference *first_unknown(const struct kind *k, const struct step *s, struct result *r,
                                              struct arena *a) {
        const struct difference *first = NULL;

        for (size_t i = 0; i < r->differences.count && i < MAX_DIFFERENCES; i++) {
                struct difference *d = &r->differences.list[i];

                d->known = known_has(line_of(a, k, s, r, d).p);
                if (!d->known && !first)
                        first = d;
        }
        return first || r->differences.count <= MAX_DIFFERENCES ? first : &r->differences.list[MAX_DIFFERENCES - 1];
}

/* Counts it. True with its place in case of a difference of a kind not seen before. */
static bool judge(const struct kind *k, const struct step *s, struct result *r, struct arena *a,
                  struct str *ret_place) {
        struct tally *t = &tallies[k - kinds.list][s->verb];
        const struct difference *first = r->unanswered ? NULL : first_unknown(k, s, r, a);

        unanswered += r->unanswered;
        if (r->unanswered)
                return false;
        t->asked++;
        requests++;
        shared += s->shared;
        reordered += r->differences.reordered;
        t->known += r->differences.count && !first;
        t->differed += first != NULL;
        wrong += first != NULL;
        if (!first)
                return false;
        *ret_place = first->place;
        return note_signature(signature_of(a, k, r, first), line_of(a, k, s, r, first));
}

/*
 * After a write that went another way the objects are no longer the same. They are not either when a second ended
 * within one, and requests that tell the one side's time to both would show it.
 */
static bool is_parted(const struct step *s, const struct result *r) {
        bool wrote = r->answers[SIDE_REAL].status < 300 || r->answers[SIDE_SANDBOX].status < 300;

        return r->differences.skewed || (s->method != KUBE_GET && wrote && r->differences.count);
}

static void run_episode(struct twins *twins, unsigned long number, const struct kind *k) {
        struct arena *a = arena_new(0);
        struct step steps[DECK_MAX];
        struct episode e;
        struct run run;
        char namespace[64];

        snprintf(namespace, sizeof namespace, "f-%llx-%llx-%lu", (unsigned long long)options.seed, options.run, number);
        run_begin(&run, twins, k, namespace);
        episode_begin(&e, k, options.seed * 1000003 + number, a);
        for (size_t i = 0; now_s() < options.deadline_s && episode_next(&e, &steps[i]); i++) {
                struct result result;
                struct str place;

                run_step(&run, &steps[i], a, &result);
                if (judge(k, &steps[i], &result, a, &place)) {
                        print_difference(number, &steps[i], &result);
                        print_way(twins, k, number, steps, i + 1, place);
                        fflush(stdout);
                }
                if (is_parted(&steps[i], &result))
                        break;
                episode_learn(&e, &steps[i], result.answers[SIDE_REAL].status, result.body);
        }
        run_end(&run);
        arena_free(a);
}

static bool had_enough(const struct kind *k) {
        for (enum verb v = 0; v < VERBS; v++)
                if (kind_has_verb(k, v) && tallies[k - kinds.list][v].asked < options.each)
                        return false;
        return true;
}

static bool all_had_enough(void) {
        for (size_t k = 0; k < kinds.count; k++)
                if (!had_enough(&kinds.list[k]) && (!options.kind || str_eqc(kinds.list[k].name, options.kind)))
                        return false;
        return true;
}

static bool goes_on(void) {
        return now_s() < options.deadline_s &&
               (!options.max_requests || requests < options.max_requests || !all_had_enough());
}

/* Which kind an episode is of depends on its number, unless one is asked for. */
static const struct kind *kind_of(unsigned long episode) {
        for (size_t k = 0; k < kinds.count && options.kind && options.episode >= 0; k++)
                if (str_eqc(kinds.list[k].name, options.kind))
                        return &kinds.list[k];
        return &kinds.list[episode % kinds.count];
}

/* Episodes of kinds that had enough are left out. */
static bool is_wanted(unsigned long episode, const struct kind *k) {
        if (options.kind && !str_eqc(k->name, options.kind))
                return false;
        if (options.episode >= 0)
                return (unsigned long)options.episode == episode;
        return !options.max_requests || !had_enough(k) || all_had_enough();
}

static void run_all(struct twins *twins) {
        for (unsigned long i = 0; goes_on() && (options.episode < 0 || i <= (unsigned long)options.episode); i++) {
                const struct kind *k = kind_of(i);

                if (is_wanted(i, k))
                        run_episode(twins, i, k);
        }
}

/* --- the end --- */

static void print_cell(const struct tally *t) {
        char text[32];
        int n = snprintf(text, sizeof text, "%u", t->asked);

        if (t->known)
                n += snprintf(text + n, sizeof text - (size_t)n, "~%u", t->known);
        if (t->differed)
                snprintf(text + n, sizeof text - (size_t)n, "!%u", t->differed);
        printf(" %9s", text);
}

static void print_table(void) {
        printf("\nrequests by kind and verb (~: known differences, !: unknown ones)\n%-24s", "");
        for (int v = 0; v < VERBS; v++)
                printf(" %9.9s", verb_names[v]);
        for (size_t k = 0; k < kinds.count; k++) {
                if (options.kind && !str_eqc(kinds.list[k].name, options.kind))
                        continue;
                printf("\n%-24.*s", STR_FMT(kinds.list[k].name));
                for (int v = 0; v < VERBS; v++)
                        print_cell(&tallies[k][v]);
        }
        printf("\n");
}

static int by_count(const void *a, const void *b) {
        const struct signature *x = *(struct signature *const *)a, *y = *(struct signature *const *)b;

        return x->count < y->count ? 1 : x->count > y->count ? -1 : strcmp(x->line, y->line);
}

static void print_signatures(void) {
        struct signature **list = mem_alloc((map_count(seen) + 1) * sizeof *list);
        size_t at = 0, n = 0;
        void *value;

        while (map_next(seen, &at, NULL, &value))
                list[n++] = value;
        qsort(list, n, sizeof *list, by_count);
        for (size_t i = 0; i < n; i++)
                printf("%5u × %.400s\n", list[i]->count, list[i]->line);
        free(list);
}

/* The long form promises so many of each. */
static bool is_complete(void) {
        bool complete = true;

        for (size_t k = 0; k < kinds.count; k++)
                for (int v = 0; v < VERBS; v++)
                        if (kind_has_verb(&kinds.list[k], v) && tallies[k][v].asked < options.each) {
                                printf("only %u × %.*s %s\n", tallies[k][v].asked, STR_FMT(kinds.list[k].name),
                                       verb_names[v]);
                                complete = false;
                        }
        if (shared * 10 < requests * 4) {
                printf("less than 40 %% are applies to objects of several managers\n");
                complete = false;
        }
        return complete;
}

static unsigned known_requests(void) {
        unsigned n = 0;

        for (size_t k = 0; k < kinds.count; k++)
                for (int v = 0; v < VERBS; v++)
                        n += tallies[k][v].known;
        return n;
}

static bool is_too_much(void) {
        return wrong > UNKNOWN_MAX(requests) || unanswered > UNANSWERED_MAX(requests);
}

static int tell(void) {
        bool whole = !options.max_requests || options.kind || options.episode >= 0 || is_complete();
        unsigned of_known = known_requests();

        print_table();
        known_print();
        print_signatures();
        printf("FIDELITY_SEED=%llu: %u requests, %u equal, %u known, %u different; %u server-side applies to objects "
               "of several managers (%.1f %%); %u with causes in another order; %u watches the server did not answer\n",
               (unsigned long long)options.seed, requests, requests - of_known - wrong, of_known, wrong, shared,
               requests ? 100.0 * shared / requests : 0.0, reordered, unanswered);
        return is_too_much() || !whole || !requests;
}

int main(int argc, char **argv) {
        struct arena *a = arena_new(0);
        struct twins *twins;
        int exit_code;

        if (argc != 2) {
                fprintf(stderr, "usage: fidelity FOLDER\n");
                return 2;
        }
        read_options();
        seen = map_new(free);
        kinds_load(arena_strf(a, "%s/kinds.yaml", argv[1]).p, a, &kinds);
        known_load(arena_strf(a, "%s/known.txt", argv[1]).p, a);
        twins = twins_new(options.seed);
        run_add_crds(twins, arena_strf(a, "%s/crds.yaml", argv[1]).p, a);
        run_all(twins);
        exit_code = tell();
        twins_free(twins);
        map_free(seen);
        arena_free(a);
        return exit_code;
}
