/* SPDX-License-Identifier: Apache-2.0 */
/* Data cases of decisions: the YAML files in tests/cases/own, whose README.md says what they hold. */
#include "own_test.h"

#include <dirent.h>

#include "base/pointer.h"
#include "own/decide.h"
#include "yaml_case.h"

#define CASES TRUCE_SOURCE_DIR "/tests/cases/own"
#define AT_LEAST 160

struct playing {
        struct arena *a;
        const char *name;
        const struct value *doc, *live;
        struct scaler_index *scalers;
        struct decide_input in;
        struct policy policy;
        struct decision d;
        struct hash128 fingerprint;
};

static const struct hash_key key = { 3, 4 };

/* --- reading ---------------------------------------------------------------------------------------------------- */

static bool flag(const struct value *map, const char *name) {
        return value_truth(value_getc(map, name), false);
}

static const char *text_or_null(const struct value *map, const char *name) {
        return value_getc(map, name) ? value_text(value_getc(map, name)).p : NULL;
}

static struct field_path read_path(const struct playing *p, const struct value *elements) {
        struct field_path path = { 0 };

        for (size_t i = 0; i < value_count(elements); i++) {
                struct path_element e;

                if (path_element_parse(value_text(elements->list.items[i]), p->a, &e, NULL) < 0)
                        fail_msg("%s: bad element of a path", p->name);
                path = field_path_join(p->a, path, e);
        }
        return path;
}

static const struct value *with_default(struct arena *a, const struct value *object, const char *const *keys, size_t count,
                                        const struct value *value) {
        struct str path[3];

        for (size_t i = 0; i < count; i++)
                path[i] = str_from(keys[i]);
        const struct value *at = object;
        for (size_t i = 0; at && i < count; i++)
                at = value_get(at, path[i]);
        return at ? object : value_with_path(a, object, path, count, value);
}
#define WITH_DEFAULT(a, object, value, ...)                                                                            \
        with_default(a, object, (const char *const[]){ __VA_ARGS__ },                                                  \
                     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *), value)

static const struct value *named(const struct playing *p, const struct value *object) {
        return object ? WITH_DEFAULT(p->a, object, value_stringc(p->a, "web"), "metadata", "name") : NULL;
}

static const struct value *read_owner(const struct playing *p, const struct value *o) {
        struct value_map_builder b = { 0 };
        const struct value *version = value_getc(o, "version"), *operation = value_getc(o, "operation");

        ONLY_KEYS(p, o, "manager", "operation", "subresource", "version", "time", "fields");
        value_map_add(&b, STR("manager"), value_getc(o, "manager"), 0);
        value_map_add(&b, STR("operation"), operation ? operation : value_stringc(p->a, "Update"), 0);
        value_map_add(&b, STR("apiVersion"), version ? version : value_getc(value_getc(p->doc, "git"), "apiVersion"), 0);
        if (value_getc(o, "subresource"))
                value_map_add(&b, STR("subresource"), value_getc(o, "subresource"), 0);
        if (value_getc(o, "time"))
                value_map_add(&b, STR("time"), value_getc(o, "time"), 0);
        value_map_add(&b, STR("fieldsV1"), value_getc(o, "fields"), 0);
        return value_map_end(&b, p->a, 0);
}

static const struct value *read_live(const struct playing *p, const struct value *live, const struct value *owners) {
        const struct value *git = p->in.desired, *ns = value_path(git, "metadata", "namespace", NULL);
        struct value_list_builder list = { 0 };

        if (!live)
                return NULL;
        live = WITH_DEFAULT(p->a, live, value_getc(git, "apiVersion"), "apiVersion");
        if (ns)
                live = WITH_DEFAULT(p->a, live, ns, "metadata", "namespace");
        live = WITH_DEFAULT(p->a, live, value_getc(git, "kind"), "kind");
        live = WITH_DEFAULT(p->a, live, value_stringc(p->a, "web"), "metadata", "name");
        live = WITH_DEFAULT(p->a, live, value_stringc(p->a, "u1"), "metadata", "uid");
        live = WITH_DEFAULT(p->a, live, value_stringc(p->a, "9"), "metadata", "resourceVersion");
        live = WITH_DEFAULT(p->a, live, value_stringc(p->a, "2026-01-01T00:00:00Z"), "metadata", "creationTimestamp");
        for (size_t i = 0; i < value_count(owners); i++)
                value_list_add(&list, read_owner(p, owners->list.items[i]));
        return WITH_DEFAULT(p->a, live, value_list_end(&list, p->a, 0), "metadata", "managedFields");
}

static enum policy_action read_action(const struct playing *p, struct str text) {
        for (int i = POLICY_REPORT; i <= POLICY_YIELD; i++)
                if (str_eqc(text, policy_action_name((enum policy_action)i)))
                        return (enum policy_action)i;
        fail_msg("%s: unknown action %.*s", p->name, STR_FMT(text));
        return POLICY_REPORT;
}

static unsigned read_classes(const struct playing *p, const struct value *words) {
        unsigned classes = 0;

        for (size_t i = 0; i < value_count(words); i++) {
                enum policy_class class;

                if (!policy_class_from_word(value_text(words->list.items[i]), &class))
                        fail_msg("%s: unknown class", p->name);
                classes |= 1u << class;
        }
        return classes;
}

static struct policy_rule read_rule(const struct playing *p, const struct value *r) {
        struct policy_rule rule = {
                .name = text_or_null(r, "name"),
                .place = text_or_null(r, "place"),
                .group = text_or_null(r, "group"),
                .kind = text_or_null(r, "kind"),
                .ns = text_or_null(r, "namespace"),
                .object = text_or_null(r, "object"),
                .application = text_or_null(r, "application"),
                .manager = text_or_null(r, "manager"),
                .subresource = text_or_null(r, "subresource"),
                .classes = read_classes(p, value_getc(r, "classes")),
                .action = read_action(p, value_text(value_getc(r, "action"))),
        };

        ONLY_KEYS(p, r, "name", "place", "group", "kind", "namespace", "object", "application", "manager",
                  "subresource", "classes", "path", "action");
        assert_non_null(rule.name);
        if (value_getc(r, "path")) {
                struct field_path *path = arena_alloc(p->a, sizeof *path);

                assert_int_equal(field_path_read(value_text(value_getc(r, "path")), p->a, path, NULL), 0);
                rule.path = path;
        }
        return rule;
}

static void read_rules(struct playing *p, const struct value *list) {
        struct policy_rule *rules = arena_zalloc(p->a, (value_count(list) + 1) * sizeof *rules);

        for (size_t i = 0; i < value_count(list); i++)
                rules[i] = read_rule(p, list->list.items[i]);
        p->policy = (struct policy){ rules, value_count(list) };
        p->in.policy = &p->policy;
}

static enum decide_mode read_mode(const struct playing *p, struct str text) {
        static const char *const names[] = {
                [DECIDE_AUTO] = "auto", [DECIDE_MANUAL] = "manual", [DECIDE_DIFF] = "diff"
        };

        for (size_t i = 0; text.n && i < ARRAY_LEN(names); i++)
                if (str_eqc(text, names[i]))
                        return (enum decide_mode)i;
        if (text.n)
                fail_msg("%s: unknown mode %.*s", p->name, STR_FMT(text));
        return DECIDE_AUTO;
}

static void read_ignored(struct playing *p, const struct value *at_sync, const struct value *tolerated) {
        size_t yields = value_count(at_sync), count = yields + value_count(tolerated);
        struct ignored_path *all = arena_alloc(p->a, (count + 1) * sizeof *all);

        for (size_t i = 0; i < count; i++)
                all[i] = (struct ignored_path){
                        .path = read_path(p, i < yields ? at_sync->list.items[i] : tolerated->list.items[i - yields]),
                        .in_git = true,
                        .in_live = true,
                        .at_sync = i < yields,
                        .rule = "ignored",
                        .place = "argocd-cm.yaml:7",
                };
        p->in.ignored = all;
        p->in.ignored_count = count;
}

static void read_withheld(struct playing *p, const struct value *withheld) {
        struct decide_withheld *w = arena_zalloc(p->a, (value_count(withheld) + 1) * sizeof *w);

        for (size_t i = 0; i < value_count(withheld); i++) {
                const struct value *v = withheld->list.items[i];

                w[i].path = read_path(p, value_getc(v, "path"));
                w[i].manager = value_text(value_getc(v, "manager"));
                w[i].subresource = value_text(value_getc(v, "subresource"));
        }
        p->in.withheld = w;
        p->in.withheld_count = value_count(withheld);
}

static void read_paused(struct playing *p, const struct value *list) {
        struct decide_paused *paused = arena_zalloc(p->a, (value_count(list) + 1) * sizeof *paused);

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *v = list->list.items[i];

                ONLY_KEYS(p, v, "path", "manager", "rule");
                paused[i] = (struct decide_paused){
                        .path = read_path(p, value_getc(v, "path")),
                        .manager = value_text(value_getc(v, "manager")),
                        .rule = text_or_null(v, "rule"),
                };
                assert_non_null(paused[i].rule);
        }
        p->in.paused = paused;
        p->in.paused_count = value_count(list);
}

/* As the agent does after an apply whose response was this object: the fingerprint is of what was sent. */
static void take_fingerprint(struct playing *p, const struct value *desired, const struct value *live) {
        struct managed m = owners_of(p->a, live);
        struct decide_input then = p->in;
        struct decision sent;

        then.desired = desired;
        then.live = live;
        assert_int_equal(decide(&then, p->a, &sent, NULL), 0);
        assert_int_equal(decide_fingerprint(&then, &sent, live, &m, p->a, &p->fingerprint, NULL), 0);
        p->in.fingerprint = &p->fingerprint;
}

/* The last apply: what is left out of it was as it is now. */
static void read_applied(struct playing *p, const struct value *applied) {
        const struct value *git = value_getc(applied, "git"), *live = value_getc(applied, "live");
        const struct value *owners = value_getc(applied, "owners");

        if (!applied)
                return;
        ONLY_KEYS(p, applied, "git", "live", "owners");
        git = git ? named(p, git) : p->in.desired;
        live = read_live(p, live ? live : value_getc(p->doc, "live"), owners ? owners : value_getc(p->doc, "owners"));
        take_fingerprint(p, git, live);
}

static void read_settings(struct playing *p, const struct value *s) {
        ONLY_KEYS(p, s, "mode", "removeExtra", "adopted", "adoptArgoCD", "hold", "fingerprint", "foreignTracker",
                  "override", "rules", "ignored", "tolerated", "withheld", "paused", "previous", "application");
        p->in.mode = read_mode(p, value_text(value_getc(s, "mode")));
        p->in.remove_extra = flag(s, "removeExtra");
        p->in.adopted = flag(s, "adopted");
        p->in.adopt_argocd = flag(s, "adoptArgoCD");
        p->in.replicas_hold = flag(s, "hold");
        p->in.application = value_text(value_getc(s, "application"));
        p->in.foreign_tracker = value_text(value_getc(s, "foreignTracker"));
        if (value_getc(s, "override"))
                p->in.override = value_text(value_getc(s, "override")).p;
        read_rules(p, value_getc(s, "rules"));
        read_ignored(p, value_getc(s, "ignored"), value_getc(s, "tolerated"));
        read_withheld(p, value_getc(s, "withheld"));
        read_paused(p, value_getc(s, "paused"));
        p->in.previous = named(p, value_getc(s, "previous"));
        if (flag(s, "fingerprint"))
                take_fingerprint(p, p->in.desired, p->in.live);
}

static void read_scalers(struct playing *p, const struct value *list, const struct value *git) {
        p->scalers = scaler_index_new();
        for (size_t i = 0; i < value_count(list); i++)
                assert_int_equal(scaler_index_set(p->scalers, list->list.items[i], SCALER_LIVE, NULL), 0);
        for (size_t i = 0; i < value_count(git); i++) {
                struct scaler_sight sight = { .origin = SCALER_DESIRED, .file = STR("git.yaml") };

                sight.line = (uint32_t)i + 1;
                assert_int_equal(scaler_index_see(p->scalers, git->list.items[i], &sight, NULL), 0);
        }
        p->in.scalers = p->scalers;
}

static void read_case(struct playing *p) {
        const struct value *git = value_getc(p->doc, "git"), *crd = value_getc(p->doc, "crd");

        ONLY_KEYS(p, p->doc, "about", "from", "peers", "git", "live", "owners", "crd", "scalers", "gitScalers",
                  "settings", "applied", "conflicts", "expect", "then");
        if (!value_text(value_getc(p->doc, "about")).n || !value_getc(p->doc, "peers") || !value_getc(p->doc, "expect"))
                fail_msg("%s lacks about, peers or expect", p->name);
        p->in.desired = named(p, git);
        p->in.key = &key;
        p->in.crd = crd;
        if (crd)
                assert_int_equal(schema_from_crd(crd, schema_version(value_text(value_getc(git, "apiVersion"))), p->a,
                                                 &p->in.type, NULL),
                                 0);
        p->in.live = p->live = read_live(p, value_getc(p->doc, "live"), value_getc(p->doc, "owners"));
        read_scalers(p, value_getc(p->doc, "scalers"), value_getc(p->doc, "gitScalers"));
        read_settings(p, value_getc(p->doc, "settings"));
        read_applied(p, value_getc(p->doc, "applied"));
}

/* --- judging ---------------------------------------------------------------------------------------------------- */

static void expect_text(const struct playing *p, const struct value *e, const char *what, const char *have) {
        const struct value *want = value_getc(e, what);

        if (want && !str_eqc(value_text(want), have))
                fail_msg("%s: %s is %s, not %.*s (%.*s)", p->name, what, have, STR_FMT(value_text(want)),
                         STR_FMT(p->d.reason));
}

static void expect_flag(const struct playing *p, const struct value *e, const char *what, bool have) {
        const struct value *want = value_getc(e, what);

        if (want && value_truth(want, false) != have)
                fail_msg("%s: %s is %s", p->name, what, have ? "true" : "false");
}

/* Is all that `want` holds in `have`? Maps in part, everything else whole. */
static bool holds(const struct value *have, const struct value *want) {
        if (!value_is(have, VALUE_MAP) || !value_is(want, VALUE_MAP) || !value_count(want))
                return have && value_equal(have, want);
        for (size_t i = 0; i < want->map.count; i++)
                if (!holds(value_get(have, want->map.members[i].key), want->map.members[i].value))
                        return false;
        return true;
}

static void expect_body(const struct playing *p, const struct value *e) {
        const struct value *want = value_getc(e, "body"), *lacks = value_getc(e, "lacks");

        if (want && !holds(p->d.body, want))
                fail_msg("%s: the body is %.*s", p->name, STR_FMT(value_canonical(p->a, p->d.body)));
        for (size_t i = 0; i < value_count(lacks); i++) {
                struct pointer at;

                assert_int_equal(pointer_parse(value_text(lacks->list.items[i]), p->a, &at, NULL), 0);
                if (!p->d.body || pointer_find(p->d.body, at))
                        fail_msg("%s: there is %.*s in the body", p->name, STR_FMT(value_text(lacks->list.items[i])));
        }
        if (p->d.body && p->in.live && p->d.verdict != DECIDE_CREATE)
                assert_non_null(value_path(p->d.body, "metadata", "uid", NULL));
        if (p->d.force)
                assert_non_null(value_path(p->d.body, "metadata", "resourceVersion", NULL));
        expect_flag(p, e, "locked", value_path(p->d.body, "metadata", "resourceVersion", NULL) != NULL);
}

static struct str note_text(const struct playing *p, const struct decide_note *n) {
        struct str text = arena_strf(p->a, "%s %.*s", decide_note_name(n->kind), STR_FMT(field_path_text(p->a, n->path)));

        return n->owner.n ? arena_strf(p->a, "%.*s %.*s", STR_FMT(text), STR_FMT(n->owner)) : text;
}

static struct str all_notes(const struct playing *p) {
        struct str all = STR("");

        for (size_t i = 0; i < p->d.note_count; i++)
                all = arena_strf(p->a, "%.*s\n    %.*s", STR_FMT(all), STR_FMT(note_text(p, &p->d.notes[i])));
        return all;
}

static bool has_note(const struct playing *p, struct str want) {
        for (size_t i = 0; i < p->d.note_count; i++)
                if (str_eq(note_text(p, &p->d.notes[i]), want))
                        return true;
        return false;
}

static bool has_rule(const struct playing *p, struct str want) {
        for (size_t i = 0; i < p->d.note_count; i++)
                if (str_contains(str_from(p->d.notes[i].rule), want))
                        return true;
        return false;
}

static bool has_place(const struct playing *p, struct str want) {
        for (size_t i = 0; i < p->d.note_count; i++)
                if (p->d.notes[i].place && str_eqc(want, p->d.notes[i].place))
                        return true;
        return false;
}

static void expect_notes(const struct playing *p, const struct value *e) {
        const struct value *want = value_getc(e, "notes"), *rule = value_getc(e, "rule");
        const struct value *place = value_getc(e, "place");

        for (size_t i = 0; i < value_count(want); i++)
                if (!has_note(p, value_text(want->list.items[i])))
                        fail_msg("%s: no note \"%.*s\" among%.*s", p->name, STR_FMT(value_text(want->list.items[i])),
                                 STR_FMT(all_notes(p)));
        if (want && value_count(want) != p->d.note_count)
                fail_msg("%s: %zu notes:%.*s", p->name, p->d.note_count, STR_FMT(all_notes(p)));
        if (rule && !has_rule(p, value_text(rule)))
                fail_msg("%s: no note's rule holds \"%.*s\"", p->name, STR_FMT(value_text(rule)));
        if (place && !has_place(p, value_text(place)))
                fail_msg("%s: no note's rule stands at \"%.*s\"", p->name, STR_FMT(value_text(place)));
}

/* The live object after the patch, which must touch managedFields and resourceVersion alone. */
static const struct value *patched(const struct playing *p) {
        const struct str fields[] = { STR("metadata"), STR("managedFields") };
        const struct value *version = p->d.patch->list.items[0], *owners = p->d.patch->list.items[1];

        assert_int_equal(value_count(p->d.patch), 2);
        assert_text(value_text(value_getc(version, "path")), "/metadata/resourceVersion");
        assert_text(value_text(value_getc(owners, "path")), "/metadata/managedFields");
        const struct value *live = value_with_path(p->a, p->live, fields, 2, value_getc(owners, "value"));
        assert_int_equal(handover_check(live, &p->d.after, p->a, NULL), 0);
        return live;
}

static void expect_owners(const struct playing *p, const struct value *list) {
        if (!list)
                return;
        struct managed m = owners_of(p->a, patched(p));
        if (m.count != value_count(list))
                fail_msg("%s: %zu owners after the patch", p->name, m.count);
        for (size_t i = 0; i < m.count; i++) {
                const struct value *o = list->list.items[i];
                bool apply = str_eqc(value_text(value_getc(o, "operation")), "Apply");
                const struct fieldset *want = NULL;

                ONLY_KEYS(p, o, "manager", "operation", "fields");
                assert_int_equal(fieldset_parse(value_getc(o, "fields"), p->a, &want, NULL), 0);
                if (!str_eq(m.entries[i].manager, value_text(value_getc(o, "manager"))) ||
                    (m.entries[i].operation == MANAGED_APPLY) != apply || !fieldset_equal(m.entries[i].set, want))
                        fail_msg("%s: owner %zu is %.*s with %.*s", p->name, i, STR_FMT(m.entries[i].manager),
                                 STR_FMT(fieldset_text(p->a, m.entries[i].set)));
        }
}

static void expect(const struct playing *p, const struct value *e) {
        static const char *const handovers[] = {
                [HANDOVER_NOTHING] = "nothing", [HANDOVER_GIVE] = "give", [HANDOVER_TAKE_BACK] = "take-back"
        };
        const struct value *reason = value_getc(e, "reason");

        ONLY_KEYS(p, e, "verdict", "handover", "force", "dryRun", "removes", "locked", "body", "lacks", "notes", "reason",
                  "rule", "place", "owners", "by", "seeds", "omits", "holds");
        assert_non_null(value_getc(e, "verdict"));
        expect_text(p, e, "verdict", decide_verdict_name(p->d.verdict));
        expect_text(p, e, "handover", handovers[p->d.handover]);
        expect_flag(p, e, "force", p->d.force);
        expect_flag(p, e, "dryRun", p->d.dry_run);
        expect_text(p, e, "by", p->d.by_fingerprint ? "fingerprint" : p->d.by_proof ? "proof" : "nothing");
        expect_flag(p, e, "removes", p->d.removes);
        expect_flag(p, e, "seeds", p->d.seeds);
        expect_flag(p, e, "omits", p->d.omits);
        expect_flag(p, e, "holds", p->d.held_count > 0);
        expect_body(p, e);
        expect_notes(p, e);
        if (reason && !str_contains(p->d.reason, value_text(reason)))
                fail_msg("%s: the reason is \"%.*s\"", p->name, STR_FMT(p->d.reason));
        expect_owners(p, value_getc(e, "owners"));
        assert_true(p->d.reason.n > 0);
}

static void ask(struct playing *p, const struct value *want_error) {
        struct err err = { 0 };
        int res = decide(&p->in, p->a, &p->d, &err);

        if (want_error && !str_eqc(value_text(want_error), err_code_name((enum err_code)res)))
                fail_msg("%s: got %s (%s)", p->name, err_code_name((enum err_code)res), err.msg);
        if (!want_error && res < 0)
                fail_msg("%s: %s", p->name, err.msg);
}

static void ask_about_conflicts(struct playing *p, const struct value *list) {
        struct decide_cause *causes = arena_zalloc(p->a, value_count(list) * sizeof *causes);
        struct decision before = p->d;

        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *c = list->list.items[i];

                ONLY_KEYS(p, c, "message", "field");
                assert_int_equal(decide_cause_parse(value_text(value_getc(c, "message")), value_text(value_getc(c, "field")),
                                                    &causes[i], NULL),
                                 0);
        }
        assert_int_equal(decide_conflict(&p->in, &before, causes, value_count(list), p->a, &p->d, NULL), 0);
}

static void run_case(const char *name) {
        struct playing p = { .a = arena_new(0), .name = name };
        const struct value *e, *conflicts, *then;

        p.doc = read_yaml(p.a, arena_strf(p.a, CASES "/%s", name).p);
        read_case(&p);
        e = value_getc(p.doc, "expect");
        conflicts = value_getc(p.doc, "conflicts");
        then = value_getc(p.doc, "then");
        ask(&p, value_getc(e, "error"));
        if (conflicts)
                ask_about_conflicts(&p, conflicts);
        if (!value_getc(e, "error"))
                expect(&p, e);
        if (then) {
                p.in.live = p.live = patched(&p);
                ask(&p, NULL);
                expect(&p, then);
        }
        scaler_index_free(p.scalers);
        arena_free(p.a);
}

static void every_case_is_decided_as_it_says(void **state) {
        struct dirent **entries;
        int count = scandir(CASES, &entries, NULL, alphasort), ran = 0;

        (void)state;
        assert_true(count > 0);
        for (int i = 0; i < count; i++) {
                if (str_ends(str_from(entries[i]->d_name), STR(".yaml"))) {
                        run_case(entries[i]->d_name);
                        ran++;
                }
                free(entries[i]);
        }
        free(entries);
        print_message("%d cases\n", ran);
        assert_true(ran >= AT_LEAST);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_case_is_decided_as_it_says),
        };

        return cmocka_run_group_tests_name("cases of decisions", tests, NULL, NULL);
}
