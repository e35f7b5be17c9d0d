/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differential test of own/: are the fingerprint and the no-op proof ever wrong?
 *
 * Objects of many kinds are applied to a real API server. Then, thousands of times: Git's object is edited, or somebody
 * else writes the live one; the proof and the fingerprint say what they say; and a server-side apply of the edited
 * object (dry-run first, then for real) shows the truth. "Nothing would change" where the server changes anything
 * (content, generation, resourceVersion, who owns what) or refuses is a failure. "Cannot prove" is only counted. Each
 * judgement is made twice, with what is known of the type and with nothing known.
 *
 * Before the edits, the set that fieldset_of_value() expects is held against the one the server recorded.
 *
 *      diff_proof FOLDER EDITS [SEED]
 *
 * Environment as of tests/cluster: TRUCE_TEST_SERVER, TRUCE_TEST_CA, TRUCE_TEST_TOKEN.
 */
#include <time.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "edit.h"
#include "http.h"
#include "own/fingerprint.h"
#include "own/proof.h"
#include "own/respell.h"

#define COPIES      4
#define MAX_OBJECTS 512
#define BATCH       160
#define MAX_TRIES   4
#define APPLY_TYPE  "application/apply-patch+yaml"

/* One object under test. `desired` is what Git says, and what truce applied when nothing is under way. */
struct subject {
        struct arena *arena;
        const struct value *desired;
        const struct schema *type;
        const struct value *live; /* in arena_live: the answer of the last apply */
        struct arena *arena_live;
        bool ready;
        bool has_print;
        struct hash128 print;
};

/* One edit of one subject. */
struct trial {
        struct subject *subject;
        struct arena *arena;
        enum edit_category category;
        const struct value *before;  /* applied last; the base of the edit */
        const struct value *desired; /* what Git says now */
        const struct value *live;
        struct str get_version;
        struct foreign foreign;
        bool pre_applied, foreign_written;
        bool proven, proven_blind, printed, printed_blind;
        bool respelt; /* proven in the live spelling */
        struct proof proof;
        bool print_known;
        struct hash128 print, print_blind;
        bool print_blind_known;
        unsigned tries;
        bool pending;
        bool no_change;
        bool doubted; /* a fingerprint against the server: restless or wrong? */
        const struct value *answer;
        struct http_request request;
};

struct tally {
        unsigned edits, proven, printed, no_change, refused;
        unsigned blocked;  /* fingerprint holds, and an apply would now be refused: nothing would be written */
        unsigned restless; /* fingerprint holds, yet every apply changes the object, also the second in a row */
        unsigned wrong;
};

static struct http *server;
static struct subject subjects[MAX_OBJECTS];
static size_t subject_count;
static const struct hash_key key = { 7, 11 };
static struct arena *world;
static const struct schema *crd_types[8];
static struct str crd_names[8]; /* "group/version/kind" */
static size_t crd_count;
static struct tally tallies[EDIT_CATEGORIES];
static unsigned respelt_count;
static unsigned failures;

static void die(const char *what) {
        fprintf(stderr, "diff_proof: %s\n", what);
        exit(1);
}

static struct str text_at(const struct value *v, const char *a, const char *b) {
        return b ? value_text(value_path(v, a, b, NULL)) : value_text(value_getc(v, a));
}

static struct str plural_of(struct arena *a, struct str kind) {
        struct str lower = arena_str(a, kind);
        struct str last = str_sub(lower, lower.n - 1, lower.n);

        for (size_t i = 0; i < lower.n; i++)
                if (lower.p[i] >= 'A' && lower.p[i] <= 'Z')
                        ((char *)lower.p)[i] += 'a' - 'A';
        if (str_ends(lower, STR("endpoints")))
                return lower;
        if (str_eqc(last, "s"))
                return arena_strf(a, "%.*ses", STR_FMT(lower));
        if (str_eqc(last, "y"))
                return arena_strf(a, "%.*sies", STR_FMT(str_sub(lower, 0, lower.n - 1)));
        return arena_strf(a, "%.*ss", STR_FMT(lower));
}

static struct str path_of(struct arena *a, const struct value *object, struct str api_version, const char *query) {
        struct str ns = text_at(object, "metadata", "namespace"), name = text_at(object, "metadata", "name");
        const char *root = str_find(api_version, '/', 0) < 0 ? "/api" : "/apis";
        struct str middle = ns.n ? arena_strf(a, "/namespaces/%.*s", STR_FMT(ns)) : STR("");

        return arena_strf(a, "%s/%.*s%.*s/%.*s/%.*s%s", root, STR_FMT(api_version), STR_FMT(middle),
                          STR_FMT(plural_of(a, text_at(object, "kind", NULL))), STR_FMT(name), query);
}

static void ask(struct trial *t, const char *method, const char *query, const char *type, const struct value *body) {
        struct str version = text_at(t->desired, "apiVersion", NULL);

        t->request = (struct http_request){ .method = method,
                                            .path = path_of(t->arena, t->subject->desired, version, query),
                                            .content_type = type };
        if (body)
                t->request.body = value_canonical(t->arena, body);
}

static const struct value *answer_of(struct trial *t) {
        const struct value *v = NULL;

        json_parse(buf_str(&t->request.answer), t->arena, &v, NULL);
        return v;
}

/* Sends the requests of those trials whose flag is set. */
static void send_some(struct trial *trials, size_t count, const bool *send) {
        struct http_request *list[BATCH] = { 0 };
        size_t n = 0;

        for (size_t i = 0; i < count; i++)
                if (send[i])
                        list[n++] = &trials[i].request;
        http_batch(server, list, n);
}

static void done_some(struct trial *trials, size_t count, const bool *sent) {
        for (size_t i = 0; i < count; i++)
                if (sent[i])
                        buf_done(&trials[i].request.answer);
}

/* Without what moves by itself: times, status and its owners, resourceVersion. */
static const struct value *comparable(struct arena *a, const struct value *object) {
        struct str version[] = { STR("metadata"), STR("resourceVersion") };
        struct str owners[] = { STR("metadata"), STR("managedFields") };
        const struct value *v = value_with_path(a, object, version, 2, NULL);

        v = value_with_path(a, v, owners, 2, NULL);
        return value_with(a, v, STR("status"), NULL);
}

static bool same_owners(struct arena *a, const struct value *x, const struct value *y) {
        struct managed mx, my;

        if (managed_parse(x, a, &mx, NULL) < 0 || managed_parse(y, a, &my, NULL) < 0)
                return false;
        mx = managed_reduce(&mx, a);
        my = managed_reduce(&my, a);
        if (mx.count != my.count)
                return false;
        for (size_t i = 0; i < mx.count; i++) {
                const struct managed_entry *e = &mx.entries[i];
                const struct managed_entry *o =
                        managed_find(&my, e->manager, e->operation, e->subresource, e->api_version);

                if (!o || e->broken || o->broken || !fieldset_equal(e->set, o->set))
                        return false;
        }
        return true;
}

static bool same_object(struct arena *a, const struct value *x, const struct value *y) {
        return x && y && value_equal(comparable(a, x), comparable(a, y)) && same_owners(a, x, y);
}

static bool print_of(struct arena *a, const struct value *desired, const struct value *live, const struct schema *type,
                     struct hash128 *ret) {
        struct managed m;

        return managed_parse(live, a, &m, NULL) == 0 &&
               fingerprint_of(&key, desired, live, &m, type, a, ret, NULL) == 0;
}

static void report(const struct trial *t, const char *who, const char *what) {
        failures++;
        if (tallies[t->category].wrong++ > 2)
                return;
        printf("\nWRONG %s in \"%s\"%s%s: %s\n", who, edit_name(t->category), t->foreign_written ? ", " : "",
               t->foreign_written ? t->foreign.what : "", what);
        printf("  desired %s\n  before  %s\n", value_canonical(t->arena, t->desired).p,
               value_canonical(t->arena, t->before).p);
        printf("  live    %s\n  answer  %d %.3000s\n", value_canonical(t->arena, t->live).p, t->request.status,
               t->request.answer.p);
}

static const struct schema *type_of(const struct value *object) {
        struct str version = text_at(object, "apiVersion", NULL), kind = text_at(object, "kind", NULL);

        for (size_t i = 0; i < crd_count; i++)
                if (str_eq(crd_names[i], arena_strf(world, "%.*s/%.*s", STR_FMT(version), STR_FMT(kind))))
                        return crd_types[i];
        return schema_builtin(world, version, kind);
}

static const struct yaml_document *read_file(const char *folder, const char *name, size_t *ret_count) {
        struct str path = arena_strf(world, "%s/%s", folder, name);
        FILE *f = fopen(path.p, "r");
        struct buf text = buf_make(MIB);
        const struct yaml_document *docs;
        struct err err = { 0 };
        char chunk[4096];
        size_t n;

        if (!f)
                die(path.p);
        while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
                buf_add(&text, (struct str){ chunk, n });
        fclose(f);
        if (yaml_parse(buf_str(&text), world, &docs, ret_count, &err) < 0)
                die(err.msg);
        buf_done(&text);
        return docs;
}

static void one_request(const char *method, struct str path, const char *type, const struct value *body, int *status,
                        struct buf *answer) {
        struct http_request r = { .method = method, .path = path, .content_type = type };
        struct http_request *list[] = { &r };

        if (body)
                r.body = value_canonical(world, body);
        http_batch(server, list, 1);
        *status = r.status;
        if (answer)
                *answer = r.answer;
        else
                buf_done(&r.answer);
}

static void learn_crd(const struct value *crd) {
        const struct value *versions = value_path(crd, "spec", "versions", NULL);
        struct str group = text_at(crd, "spec", "group"),
                   kind = value_text(value_path(crd, "spec", "names", "kind", NULL));

        for (size_t i = 0; i < value_count(versions); i++) {
                struct str version = text_at(versions->list.items[i], "name", NULL);

                if (schema_from_crd(crd, version, world, &crd_types[crd_count], NULL) < 0)
                        die("a CRD has no schema");
                crd_names[crd_count++] =
                        arena_strf(world, "%.*s/%.*s/%.*s", STR_FMT(group), STR_FMT(version), STR_FMT(kind));
        }
}

static void apply_crds(const char *folder) {
        size_t count;
        const struct yaml_document *docs = read_file(folder, "crds.yaml", &count);
        int status;

        for (size_t i = 0; i < count; i++) {
                struct str version = text_at(docs[i].value, "apiVersion", NULL);

                learn_crd(docs[i].value);
                one_request("PATCH", path_of(world, docs[i].value, version, "?fieldManager=truce&force=true"),
                            APPLY_TYPE, docs[i].value, &status, NULL);
                if (status != 200 && status != 201)
                        die("a CRD was refused");
        }
        for (int tries = 0; tries < 100; tries++) {
                struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };

                one_request("GET", STR("/apis/own.truce.test/v1/widgets"), NULL, NULL, &status, NULL);
                if (status == 200)
                        one_request("GET", STR("/apis/own.truce.test/v1/looses"), NULL, NULL, &status, NULL);
                if (status == 200)
                        return;
                nanosleep(&pause, NULL);
        }
        die("the CRDs were not established in 10 s");
}

static const struct value *named_copy(const struct value *object, struct str ns, int copy) {
        struct str name[] = { STR("metadata"), STR("name") }, space[] = { STR("metadata"), STR("namespace") };
        struct str text = arena_strf(world, "%.*s-%d", STR_FMT(text_at(object, "metadata", "name")), copy);

        object = value_with_path(world, object, name, 2, value_string(world, text, 0));
        if (text_at(object, "metadata", "namespace").n)
                object = value_with_path(world, object, space, 2, value_string(world, ns, 0));
        return object;
}

static void load_subjects(const char *folder, struct str ns) {
        size_t count;
        const struct yaml_document *docs = read_file(folder, "objects.yaml", &count);

        for (int copy = 0; copy < COPIES; copy++)
                for (size_t i = 0; i < count && subject_count < MAX_OBJECTS; i++) {
                        struct subject *s = &subjects[subject_count++];

                        s->desired = named_copy(docs[i].value, ns, copy);
                        s->type = type_of(s->desired);
                }
}

static void keep_live(struct subject *s, const struct buf *answer) {
        arena_free(s->arena_live);
        s->arena_live = arena_new(0);
        s->live = NULL;
        json_parse(buf_str(answer), s->arena_live, &s->live, NULL);
        s->has_print = s->live && print_of(s->arena_live, s->desired, s->live, s->type, &s->print);
        s->ready = s->live != NULL;
}

/* Applies the subjects of the trials anew, so that Git's object is live and ours alone. */
static void apply_subjects(struct trial *trials, size_t count, const bool *which) {
        for (size_t i = 0; i < count; i++)
                if (which[i]) {
                        trials[i].desired = trials[i].subject->desired;
                        ask(&trials[i], "PATCH", "?fieldManager=truce&force=true", APPLY_TYPE,
                            trials[i].subject->desired);
                }
        send_some(trials, count, which);
        for (size_t i = 0; i < count; i++) {
                struct http_request *r = &trials[i].request;

                if (!which[i])
                        continue;
                trials[i].subject->ready = false;
                if (r->status == 200 || r->status == 201)
                        keep_live(trials[i].subject, &r->answer);
                else
                        printf("  apply of %s: %d %.300s\n", r->path.p, r->status, r->answer.p);
        }
        done_some(trials, count, which);
}

static void apply_all(void) {
        static struct trial trials[BATCH];
        bool which[BATCH];

        for (size_t from = 0; from < subject_count; from += BATCH) {
                size_t count = subject_count - from < BATCH ? subject_count - from : BATCH;

                for (size_t i = 0; i < count; i++) {
                        trials[i] = (struct trial){ .subject = &subjects[from + i], .arena = arena_new(0) };
                        which[i] = true;
                }
                apply_subjects(trials, count, which);
                for (size_t i = 0; i < count; i++)
                        arena_free(trials[i].arena);
        }
}

/* The server's record of our set against ours, its text against our printing, and the proof of an unedited object. */
static void check_sets(void) {
        unsigned exact = 0, equal = 0, proven = 0, ready = 0;

        for (size_t i = 0; i < subject_count; i++) {
                struct subject *s = &subjects[i];
                struct arena *a = arena_new(0);
                struct managed m;
                bool is_exact;

                if (!s->ready || managed_parse(s->live, a, &m, NULL) < 0 || !managed_ours(&m)) {
                        printf("  not applied: %s\n", value_canonical(a, value_getc(s->desired, "metadata")).p);
                        failures++;
                        arena_free(a);
                        continue;
                }
                const struct fieldset *ours = managed_ours(&m)->set;
                const struct fieldset *mine = fieldset_of_value(s->desired, s->type, a, &is_exact);
                struct proof proof = proof_no_op(s->desired, s->live, &m, s->type, a);

                ready++;
                exact += is_exact;
                equal += fieldset_equal(ours, mine);
                proven += proof.holds;
                if (is_exact && !fieldset_equal(ours, mine)) {
                        failures++;
                        printf("  set of %.*s:\n    server %s\n    ours   %s\n",
                               STR_FMT(text_at(s->desired, "kind", NULL)), fieldset_text(a, ours).p,
                               fieldset_text(a, mine).p);
                }
                if (i < subject_count / COPIES && !proof.holds)
                        printf("  not proven: %.*s %.*s: %.*s %s\n", STR_FMT(text_at(s->desired, "kind", NULL)),
                               STR_FMT(text_at(s->desired, "metadata", "name")), STR_FMT(proof.path),
                               proof_reason_text(proof.reason));
                arena_free(a);
        }
        printf("sets: %u objects, %u sets told exactly, %u equal to the server's; %u proven without a fingerprint\n",
               ready, exact, equal, proven);
}

static const char *other_version(struct str api_version) {
        static const char *const pairs[][2] = {
                { "autoscaling/v2", "autoscaling/v1" },
                { "autoscaling/v1", "autoscaling/v2" },
                { "own.truce.test/v1", "own.truce.test/v1beta1" },
                { "own.truce.test/v1beta1", "own.truce.test/v1" },
        };

        for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
                if (str_eqc(api_version, pairs[i][0]))
                        return pairs[i][1];
        return NULL;
}

static bool has_other_version(const struct subject *s) {
        return other_version(text_at(s->desired, "apiVersion", NULL)) &&
               !str_eqc(text_at(s->desired, "kind", NULL), "Loose");
}

static const struct value *changed_version(struct trial *t, const struct value *d) {
        const struct value *other = value_stringc(t->arena, other_version(text_at(d, "apiVersion", NULL)));

        if (roll(3) == 0) {
                const struct value *more = edit_make(EDIT_ORDINARY, d, t->subject->live, t->arena);

                d = more ? more : d;
        }
        /* Git, the live object as we read it, or both. */
        if (roll(3) < 2)
                d = value_with(t->arena, d, STR("apiVersion"), other);
        if (roll(2))
                t->get_version = value_text(other);
        return d;
}

/* Makes the edit; false when the subject offers nothing for the category. */
static bool begin(struct trial *t) {
        const struct value *d = t->before;

        t->get_version = text_at(d, "apiVersion", NULL);
        if (t->category == EDIT_VERSION) {
                t->desired = has_other_version(t->subject) ? changed_version(t, d) : NULL;
        } else if (t->category == EDIT_FOREIGN) {
                t->desired =
                        roll(4) ? d : edit_make(roll(2) ? EDIT_ORDINARY : EDIT_REORDER, d, t->subject->live, t->arena);
                if (t->desired && !foreign_make(d, t->subject->live, t->arena, &t->foreign))
                        t->desired = NULL;
        } else {
                t->desired = edit_make(t->category, d, t->subject->live, t->arena);
        }
        return t->desired != NULL;
}

static bool choose(struct trial *t, bool *taken) {
        for (int tries = 0; tries < 200; tries++) {
                size_t i = roll(subject_count);

                if (taken[i] || !subjects[i].ready)
                        continue;
                t->subject = &subjects[i];
                t->before = t->subject->desired;
                t->desired = NULL;
                t->foreign = (struct foreign){ 0 };
                if (!begin(t))
                        continue;
                taken[i] = true;
                return true;
        }
        return false;
}

/*
 * A part of the trials first applies another object for real, so that sets and live objects of many pasts are met: an
 * edit is applied, and Git goes back to what it was; or a second edit follows.
 */
static void pre_apply(struct trial *trials, size_t count) {
        bool which[BATCH] = { false };

        for (size_t i = 0; i < count; i++) {
                struct trial *t = &trials[i];

                if (t->category == EDIT_VERSION || t->category == EDIT_FOREIGN || t->desired == t->before || roll(2))
                        continue;
                which[i] = true;
                ask(t, "PATCH", "?fieldManager=truce&force=true", APPLY_TYPE, t->desired);
        }
        send_some(trials, count, which);
        for (size_t i = 0; i < count; i++) {
                struct trial *t = &trials[i];
                const struct value *live = which[i] && t->request.status == 200 ? answer_of(t) : NULL;

                if (!live)
                        continue;
                t->pre_applied = true;
                t->print_known = print_of(t->arena, t->desired, live, t->subject->type, &t->print);
                t->print_blind_known = print_of(t->arena, t->desired, live, NULL, &t->print_blind);
                const struct value *first = t->desired, *again = NULL;

                if (roll(2))
                        again = edit_make(t->category, first, live, t->arena);
                t->desired = again ? again : t->before;
                t->before = first;
        }
        done_some(trials, count, which);
}

static void write_foreign(struct trial *trials, size_t count) {
        bool which[BATCH] = { false };

        for (size_t i = 0; i < count; i++) {
                struct trial *t = &trials[i];
                const struct value *d = t->desired;

                if (!t->foreign.body)
                        continue;
                which[i] = true;
                t->desired = t->subject->desired; /* for the URL */
                ask(t, "PATCH", t->foreign.query, t->foreign.content_type, t->foreign.body);
                t->desired = d;
        }
        send_some(trials, count, which);
        for (size_t i = 0; i < count; i++)
                trials[i].foreign_written = which[i] && trials[i].request.status == 200;
        done_some(trials, count, which);
}

static void read_live(struct trial *trials, size_t count) {
        bool which[BATCH];

        for (size_t i = 0; i < count; i++) {
                struct trial *t = &trials[i];

                which[i] = t->pending;
                t->request =
                        (struct http_request){ .method = "GET",
                                               .path = path_of(t->arena, t->subject->desired, t->get_version, "") };
        }
        send_some(trials, count, which);
        for (size_t i = 0; i < count; i++)
                if (which[i])
                        trials[i].live = trials[i].request.status == 200 ? answer_of(&trials[i]) : NULL;
        done_some(trials, count, which);
}

/*
 * What means the same as the live object, and is spelt otherwise: what an agent would send is proven. Sent is Git's own
 * text, which must not change a thing either.
 */
static bool prove_as_spelt(struct trial *t, const struct managed *m) {
        const struct value *spelt =
                respell(t->desired, t->live, &(struct respell_knowledge){ 0 }, t->subject->type, t->arena);

        if (spelt == t->desired || !proof_no_op(spelt, t->live, m, t->subject->type, t->arena).holds)
                return false;
        return true;
}

static void judge(struct trial *t) {
        struct managed m;
        struct hash128 now;

        t->proven = t->proven_blind = t->respelt = t->printed = t->printed_blind = false;
        if (!t->live || managed_parse(t->live, t->arena, &m, NULL) < 0)
                return;
        t->proof = proof_no_op(t->desired, t->live, &m, t->subject->type, t->arena);
        t->proven = t->proof.holds;
        t->respelt = !t->proven && prove_as_spelt(t, &m);
        t->proven_blind = proof_no_op(t->desired, t->live, &m, NULL, t->arena).holds;
        t->printed = t->print_known && print_of(t->arena, t->desired, t->live, t->subject->type, &now) &&
                     hash128_eq(now, t->print);
        t->printed_blind = t->print_blind_known && print_of(t->arena, t->desired, t->live, NULL, &now) &&
                           hash128_eq(now, t->print_blind);
}

static bool says_nothing(const struct trial *t) {
        return t->proven || t->respelt || t->proven_blind || t->printed || t->printed_blind;
}

static const char *who_said(const struct trial *t) {
        if (t->proven)
                return "proof";
        if (t->respelt)
                return "proof of what is spelt otherwise";
        if (t->proven_blind)
                return "proof without types";
        return t->printed ? "fingerprint" : "fingerprint without types";
}

static const struct value *with_uid(struct trial *t) {
        struct str keys[] = { STR("metadata"), STR("uid") };
        const struct value *uid = value_path(t->live, "metadata", "uid", NULL);

        return uid ? value_with_path(t->arena, t->desired, keys, 2, uid) : t->desired;
}

/* An apply answers in Git's version; compare with the live object in that version. */
static void read_truth_base(struct trial *trials, size_t count, const struct value **base) {
        bool which[BATCH];

        for (size_t i = 0; i < count; i++) {
                struct trial *t = &trials[i];

                base[i] = t->live;
                which[i] = t->pending && t->live && !str_eq(text_at(t->desired, "apiVersion", NULL), t->get_version);
                if (which[i])
                        ask(t, "GET", "", NULL, NULL);
        }
        send_some(trials, count, which);
        for (size_t i = 0; i < count; i++)
                if (which[i])
                        base[i] = trials[i].request.status == 200 ? answer_of(&trials[i]) : NULL;
        done_some(trials, count, which);
}

/* A conflict over fields, not over uid or resourceVersion. */
static bool is_field_conflict(struct trial *t) {
        const struct value *causes = value_path(answer_of(t), "details", "causes", NULL);

        return t->request.status == 409 && value_count(causes) > 0 &&
               str_eqc(text_at(causes->list.items[0], "reason", NULL), "FieldManagerConflict");
}

/*
 * The server disagrees for good. The proof is then wrong. A fingerprint says "as it was after the last apply", so these
 * speak for it: the apply would be a conflict and write nothing, because another owner came to share a path that the
 * server spells its own way; nobody wrote since the server took this very object, which it now refuses; or the server
 * changes the object at every apply, also when nothing happens in between.
 */
static void contradict(struct trial *t) {
        bool by_proof = t->proven || t->proven_blind || t->respelt;

        if (t->respelt && is_field_conflict(t))
                tallies[t->category].blocked++; /* an agent sends the live spelling, which is nobody's conflict */
        else if (!by_proof && (is_field_conflict(t) || (t->request.status >= 400 && !t->foreign_written)))
                tallies[t->category].blocked++;
        else if (!by_proof && t->request.status == 200)
                t->doubted = true;
        else
                report(t, who_said(t),
                       t->request.status == 200 ? "the server would change the object" : "the server refuses");
}

/* Applies the doubted for real, then asks again: does it change once more? */
static void resolve_doubts(struct trial *trials, size_t count) {
        bool which[BATCH];

        for (int round = 0; round < 2; round++) {
                for (size_t i = 0; i < count; i++) {
                        which[i] = trials[i].doubted;
                        if (which[i])
                                ask(&trials[i], "PATCH",
                                    round ? "?fieldManager=truce&dryRun=All" : "?fieldManager=truce", APPLY_TYPE,
                                    with_uid(&trials[i]));
                }
                send_some(trials, count, which);
                for (size_t i = 0; i < count; i++) {
                        struct trial *t = &trials[i];
                        const struct value *answer = which[i] ? answer_of(t) : NULL;

                        if (which[i] && round && same_object(t->arena, t->answer, answer))
                                report(t, who_said(t), "the server would change the object");
                        else if (which[i] && round)
                                tallies[t->category].restless++;
                        t->answer = answer;
                }
                done_some(trials, count, which);
        }
}

/*
 * One round of judging and asking. A contradiction may come from a controller's write between our read and our
 * dry-run: it stands only when it is seen MAX_TRIES times.
 */
static void judge_round(struct trial *trials, size_t count) {
        const struct value *base[BATCH];
        bool which[BATCH];

        read_live(trials, count);
        read_truth_base(trials, count, base);
        for (size_t i = 0; i < count; i++) {
                struct trial *t = &trials[i];

                which[i] = t->pending && t->live;
                t->pending = which[i];
                if (!which[i])
                        continue;
                judge(t);
                ask(t, "PATCH", "?fieldManager=truce&dryRun=All", APPLY_TYPE, with_uid(t));
        }
        send_some(trials, count, which);
        for (size_t i = 0; i < count; i++) {
                struct trial *t = &trials[i];

                if (!which[i])
                        continue;
                bool ok = t->request.status == 200;
                t->no_change = ok && same_object(t->arena, base[i], answer_of(t));
                t->pending = says_nothing(t) && !t->no_change && ++t->tries < MAX_TRIES;
                if (says_nothing(t) && !t->no_change && !t->pending)
                        contradict(t);
                if (!ok && !t->pending)
                        tallies[t->category].refused++;
        }
        done_some(trials, count, which);
}

/* What is said to change nothing is applied for real; then nothing may have moved, resourceVersion included. */
static void apply_for_real(struct trial *trials, size_t count) {
        bool which[BATCH], again[BATCH];

        for (int round = 0; round < 2; round++) {
                for (size_t i = 0; i < count; i++) {
                        struct trial *t = &trials[i];

                        which[i] = t->live && says_nothing(t) && t->no_change && (round == 0 || again[i]);
                        again[i] = false;
                        t->pending = which[i];
                }
                read_live(trials, count);
                for (size_t i = 0; i < count; i++)
                        if (which[i])
                                ask(&trials[i], "PATCH", "?fieldManager=truce", APPLY_TYPE, with_uid(&trials[i]));
                send_some(trials, count, which);
                for (size_t i = 0; i < count; i++) {
                        struct trial *t = &trials[i];

                        if (!which[i])
                                continue;
                        bool moved = t->request.status != 200 || !t->live ||
                                     !str_eq(text_at(answer_of(t), "metadata", "resourceVersion"),
                                             text_at(t->live, "metadata", "resourceVersion"));
                        again[i] = moved; /* a controller's write may have come between, or the object is restless */
                        if (moved && round == 1 && !t->proven && !t->proven_blind && !t->respelt)
                                tallies[t->category].restless++;
                        else if (moved && round == 1)
                                report(t, who_said(t), "a real apply moved the resourceVersion, twice");
                }
                done_some(trials, count, which);
        }
}

static void send_all_like(struct trial *trials, size_t count, const bool *which, const char *method, const char *type,
                          const struct value *body) {
        for (size_t i = 0; i < count; i++)
                if (which[i]) {
                        trials[i].desired = trials[i].subject->desired;
                        ask(&trials[i], method, "", type, body);
                }
        send_some(trials, count, which);
        done_some(trials, count, which);
}

/* What others wrote stays in an object for ever: those are made anew. The rest is applied as Git first had it. */
static void clean_up(struct trial *trials, size_t count) {
        bool anew[BATCH], apply[BATCH];
        const struct value *no_finalizers;

        json_parse(STR("{\"metadata\":{\"finalizers\":null}}"), world, &no_finalizers, NULL);
        for (size_t i = 0; i < count; i++) {
                anew[i] = trials[i].foreign_written;
                apply[i] = anew[i] || trials[i].pre_applied || trials[i].category == EDIT_VERSION;
        }
        send_all_like(trials, count, anew, "DELETE", NULL, NULL);
        send_all_like(trials, count, anew, "PATCH", "application/merge-patch+json", no_finalizers);
        apply_subjects(trials, count, apply);
}

static void count_up(const struct trial *t) {
        struct tally *y = &tallies[t->category];

        if (!t->live)
                return;
        y->edits++;
        y->proven += t->proven || t->respelt;
        respelt_count += t->respelt;
        y->printed += t->printed;
        y->no_change += t->no_change;
}

/* The same number of each category; those that few objects suit choose first. */
static size_t fill_batch(struct trial *trials) {
        static const enum edit_category order[] = { EDIT_VERSION, EDIT_STRING_DATA, EDIT_REORDER, EDIT_DUPLICATE,
                                                    EDIT_BRACES,  EDIT_FOREIGN,     EDIT_RESPELL, EDIT_ORDINARY };
        bool taken[MAX_OBJECTS] = { false };
        size_t count = 0;

        for (size_t i = 0; i < BATCH; i++) {
                struct trial *t = &trials[count];

                *t = (struct trial){ .arena = arena_new(0),
                                     .category = order[i * ARRAY_LEN(order) / BATCH],
                                     .pending = true };
                if (!choose(t, taken)) {
                        arena_free(t->arena);
                        continue;
                }
                t->print_known = t->subject->has_print;
                t->print = t->subject->print;
                t->print_blind_known = print_of(t->arena, t->before, t->subject->live, NULL, &t->print_blind);
                count++;
        }
        return count;
}

static void run_batch(struct trial *trials, size_t count) {
        pre_apply(trials, count);
        write_foreign(trials, count);
        for (int i = 0; i < MAX_TRIES; i++)
                judge_round(trials, count);
        resolve_doubts(trials, count);
        apply_for_real(trials, count);
        for (size_t i = 0; i < count; i++)
                count_up(&trials[i]);
        clean_up(trials, count);
        for (size_t i = 0; i < count; i++)
                arena_free(trials[i].arena);
}

static unsigned edits_done(void) {
        unsigned sum = 0;

        for (size_t c = 0; c < EDIT_CATEGORIES; c++)
                sum += tallies[c].edits;
        return sum;
}

static bool evenly_done(unsigned wanted) {
        for (size_t c = 0; c < EDIT_CATEGORIES; c++)
                if (tallies[c].edits < wanted / EDIT_CATEGORIES)
                        return false;
        return true;
}

static void print_row(const char *name, const struct tally *y) {
        printf("%-16s %6u %8u %12u %10u %8u %9u %9u %6u\n", name, y->edits, y->proven, y->printed, y->no_change,
               y->refused, y->blocked, y->restless, y->wrong);
}

static void print_table(void) {
        struct tally all = { 0 };

        printf("\n%-16s %6s %8s %12s %10s %8s %9s %9s %6s\n", "edits", "count", "proof", "fingerprint", "no change",
               "refused", "blocked", "restless", "wrong");
        for (size_t c = 0; c < EDIT_CATEGORIES; c++) {
                const struct tally *y = &tallies[c];

                print_row(edit_name((enum edit_category)c), y);
                all.edits += y->edits;
                all.proven += y->proven;
                all.printed += y->printed;
                all.no_change += y->no_change;
                all.refused += y->refused;
                all.blocked += y->blocked;
                all.restless += y->restless;
                all.wrong += y->wrong;
        }
        print_row("all", &all);
        printf("proven in the live spelling: %u\n", respelt_count);
}

static void make_namespace(struct str ns) {
        const struct value *body;
        int status;

        json_parse(arena_strf(world, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%.*s\"}}",
                              STR_FMT(ns)),
                   world, &body, NULL);
        one_request("POST", STR("/api/v1/namespaces"), NULL, body, &status, NULL);
        if (status != 201 && status != 409)
                die("the namespace cannot be made");
}

static void remove_everything(struct str ns) {
        static struct trial trials[BATCH];
        bool which[BATCH];
        const struct value *no_finalizers;

        json_parse(STR("{\"metadata\":{\"finalizers\":null}}"), world, &no_finalizers, NULL);
        for (size_t from = 0; from < subject_count; from += BATCH) {
                size_t count = subject_count - from < BATCH ? subject_count - from : BATCH;

                for (size_t i = 0; i < count; i++) {
                        trials[i] = (struct trial){ .subject = &subjects[from + i], .arena = arena_new(0) };
                        which[i] = true;
                }
                send_all_like(trials, count, which, "DELETE", NULL, NULL);
                send_all_like(trials, count, which, "PATCH", "application/merge-patch+json", no_finalizers);
                for (size_t i = 0; i < count; i++)
                        arena_free(trials[i].arena);
        }
        int status;
        one_request("DELETE", arena_strf(world, "/api/v1/namespaces/%.*s", STR_FMT(ns)), NULL, NULL, &status, NULL);
        for (size_t i = 0; i < subject_count; i++)
                arena_free(subjects[i].arena_live);
}

int main(int argc, char **argv) {
        static struct trial trials[BATCH];
        const char *url = getenv("TRUCE_TEST_SERVER"), *ca = getenv("TRUCE_TEST_CA"),
                   *token = getenv("TRUCE_TEST_TOKEN");
        int64_t wanted = 0, seed = 1;

        setvbuf(stdout, NULL, _IOLBF, 0);
        if (argc < 3 || !str_to_i64(str_from(argv[2]), &wanted) ||
            (argc > 3 && !str_to_i64(str_from(argv[3]), &seed)) || !url || !ca || !token)
                die("usage: diff_proof FOLDER EDITS [SEED], with the environment of tests/cluster");
        roll_seed((uint64_t)seed);
        world = arena_new(0);
        server = http_new(url, ca, token);

        struct str ns = arena_strf(world, "diff-proof-%lld-%d", (long long)seed, (int)getpid());
        make_namespace(ns);
        apply_crds(argv[1]);
        load_subjects(argv[1], ns);
        apply_all();
        check_sets();
        while (!evenly_done((unsigned)wanted)) {
                size_t count = fill_batch(trials);

                if (!count)
                        die("no edits can be made");
                run_batch(trials, count);
                printf("  %u edits, %u wrong\n", edits_done(), failures);
        }
        print_table();
        remove_everything(ns);
        http_free(server);
        arena_free(world);
        return failures ? 1 : 0;
}
