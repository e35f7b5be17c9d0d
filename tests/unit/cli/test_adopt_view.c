/* SPDX-License-Identifier: Apache-2.0 */
/* What `truce adopt` shows people, to the letter: each line of the view stands in one of these texts. */
#include "adopt_test.h"

static void assert_view(const struct adopt_style *style, int exit_code, const char *want) {
        buf_clear(&out);
        adopt_view(&r, style, exit_code, &out);
        assert_string_equal(out.p, want);
}

static const char plain[] =
        "shop  main @ 60b8696  \"pushed\"   8 objects in Git\n"
        "object                   today                       paths that change hands               shar"
        "ed then          values  next sync\n"
        "deploy/web               Argo CD application \"shop\"  14 kubectl-client-side-apply, 2 helm  3 "
        "argocd-controller  3       taken on, asks for 3 decisions\n"
        "svc/held                 Argo CD application \"shop\"  –                                     – "
        "                   –       refused\n"
        "configmap/new            not there                   –                                     –   "
        "                 –       created\n"
        "configmap/ours -n other  –                           –                                     –   "
        "                 –       truce's\n"
        "configmap/refused        –                           –                                     –   "
        "                 –       refused\n"
        "configmap/failed         –                           –                                     –   "
        "                 –       not applied\n"
        "widget/parked -n other   –                           –                                     –   "
        "                 –       parked\n"
        "configmap/skipped        –                           –                                     –   "
        "                 –       left out\n"
        "\n"
        "values that change\n"
        "  deploy/web         spec.image     web:1 → web:2   takes from helm   app/web.yaml:12\n"
        "  deploy/web         spec.paused    nothing → true   app/web.yaml\n"
        "  deploy/web         spec.order     [1,2] → [2,1]   reorders of kubectl-edit   app/web.yaml:3\n"
        "\n"
        "stays as it is, by rule\n"
        "  deploy/web         spec.replicas  yields 6   HPA shop/web · built-in: scaler\n"
        "\n"
        "odd in Git\n"
        "  deploy/web         spec.min       Git's number is below the minimum\n"
        "\n"
        "kubectl's copy of the object (annotation last-applied-configuration) goes from 1 object\n"
        "2 paths that Git does not have stay with who has them (--all)\n"
        "\n"
        "needs a decision\n"
        "  Argo CD application \"shop\" holds 2 objects: not written before it lets go, by the steps bel"
        "ow\n"
        "  configmap/refused  refused: it belongs to somebody   app/r.yaml:7\n"
        "  configmap/failed   not applied: a policy denied it   app/f.yaml\n"
        "  deploy/web         spec.extra     goes, it is {\"x\":1}   kubectl-edit · people's additions\n"
        "      to keep it put it into Git, or have extra paths only reported (--extra-paths report)\n"
        "  deploy/web         spec.selector  stays {\"a\":\"b\"}, Git says nothing   (atomic: one owner "
        "for all of it)   some-operator   app/web.yaml:15\n"
        "      - {manager: some-operator}\n"
        "  deploy/web         spec.b         stays 1, Git says 2   rules.yaml:4   app/web.yaml\n"
        "\n"
        "Argo CD application \"shop\" · 2 objects of Git's · syncs by itself\n"
        "  has 8 objects that Git does not: configmap/b, configmap/c, configmap/d, configmap/e, configma"
        "p/f, configmap/g and 2 more (--all)\n"
        "  truce leaves them alone, and never prunes them\n"
        "  1  suspend it\n"
        "       kubectl -n argocd patch application shop\n"
        "  2  let truce sync\n"
        "\n"
        "kubectl apply · 1 object of Git's\n"
        "\n"
        "could not be listed, so what trackers have of it beside Git is not known: Secrets\n"
        "\n"
        "8 objects · 1 taken on · 1 truce's already · 1 created · 2 refused · 1 not applied · 2 left out"
        " · 16 paths would change hands · 3 values would change · 6 things to decide · nothing was writt"
        "en · exit 1\n";

static const char everything[] =
        "shop  main @ 60b8696  \"pushed\"   8 objects in Git\n"
        "object                   today                       paths that change hands               shar"
        "ed then          values  next sync\n"
        "\033[33mdeploy/web               Argo CD application \"shop\"  14 kubectl-client-side-apply, 2 "
        "helm  3 argocd-controller  3       taken on, asks for 3 decisions\033[0m\n"
        "\033[33msvc/held                 Argo CD application \"shop\"  –                               "
        "      –                    –       refused\033[0m\n"
        "configmap/new            not there                   –                                     –   "
        "                 –       created\n"
        "configmap/ours -n other  –                           –                                     –   "
        "                 –       truce's\n"
        "\033[33mconfigmap/refused        –                           –                                 "
        "    –                    –       refused\033[0m\n"
        "\033[33mconfigmap/failed         –                           –                                 "
        "    –                    –       not applied\033[0m\n"
        "widget/parked -n other   –                           –                                     –   "
        "                 –       parked\n"
        "configmap/skipped        –                           –                                     –   "
        "                 –       left out\n"
        "\n"
        "\033[1mvalues that change\033[0m\n"
        "  deploy/web         spec.image     web:1 → web:2   takes from helm   app/web.yaml:12\n"
        "  deploy/web         spec.paused    nothing → true   app/web.yaml\n"
        "  deploy/web         spec.order     [1,2] → [2,1]   reorders of kubectl-edit   app/web.yaml:3\n"
        "\n"
        "\033[1mstays as it is, by rule\033[0m\n"
        "  deploy/web         spec.replicas  yields 6   HPA shop/web · built-in: scaler\n"
        "\n"
        "\033[1modd in Git\033[0m\n"
        "  deploy/web         spec.min       Git's number is below the minimum\n"
        "\n"
        "\033[1mevery path\033[0m\n"
        "  deploy/web              .spec.image            from helm\n"
        "  deploy/web              .spec.new              new\n"
        "  deploy/web              .spec.shared           shared with argocd-controller\n"
        "  deploy/web              .spec.ours             truce's\n"
        "  deploy/web              .spec.selector         stays with some-operator   not in Git   (atomi"
        "c)\n"
        "  deploy/web              .spec.other            stays with some-operator   reports\n"
        "  deploy/web              .spec.gone             goes kubectl-edit   a rule\n"
        "  widget/parked -n other  .spec.template.spec.a  stays with a\\x1b[31m   not in Git\n"
        "\n"
        "kubectl's copy of the object (annotation last-applied-configuration) goes from 1 object\n"
        "2 paths that Git does not have stay with who has them\n"
        "\n"
        "\033[1mneeds a decision\033[0m\n"
        "\033[33m  Argo CD application \"shop\" holds 2 objects\033[0m: not written before it lets go, b"
        "y the steps below\n"
        "\033[33m  configmap/refused  refused: it belongs to somebody\033[0m   app/r.yaml:7\n"
        "\033[33m  configmap/failed   not applied: a policy denied it\033[0m   app/f.yaml\n"
        "\033[33m  deploy/web         spec.extra     goes, it is {\"x\":1}\033[0m   kubectl-edit · peopl"
        "e's additions\n"
        "      to keep it put it into Git, or have extra paths only reported (--extra-paths report)\n"
        "\033[33m  deploy/web         spec.selector  stays {\"a\":\"b\"}, Git says nothing   (atomic: on"
        "e owner for all of it)\033[0m   some-operator   app/web.yaml:15\n"
        "      - {manager: some-operator}\n"
        "\033[33m  deploy/web         spec.b         stays 1, Git says 2\033[0m   rules.yaml:4   app/web"
        ".yaml\n"
        "\n"
        "\033[1mArgo CD application \"shop\" · 2 objects of Git's · syncs by itself\033[0m\n"
        "  has 8 objects that Git does not: configmap/b, configmap/c, configmap/d, configmap/e, configma"
        "p/f, configmap/g, configmap/h, configmap/i\n"
        "  truce leaves them alone, and never prunes them\n"
        "  1  suspend it\n"
        "       kubectl -n argocd patch application shop\n"
        "  2  let truce sync\n"
        "\n"
        "\033[1mkubectl apply · 1 object of Git's\033[0m\n"
        "\n"
        "could not be listed, so what trackers have of it beside Git is not known: Secrets\n"
        "\n"
        "8 objects · 1 taken on · 1 truce's already · 1 created · 2 refused · 1 not applied · 2 left out"
        " · 16 paths would change hands · 3 values would change · 6 things to decide · nothing was writt"
        "en · exit 0\n";

static void a_report_says_what_happens_then_what_is_to_be_decided(void **state) {
        (void)state;
        fill();
        assert_view(&(struct adopt_style){ 0 }, 1, plain);
}

static void with_all_each_path_and_each_name_is_there_and_colour_is_for_what_asks(void **state) {
        (void)state;
        fill();
        assert_view(&(struct adopt_style){ .all = true, .color = true }, 0, everything);
}

static void what_there_is_not_is_not_spoken_of(void **state) {
        (void)state;
        assert_view(&(struct adopt_style){ .all = true }, 0,
                    "shop  main @ 60b8696  \"pushed\"   0 objects in Git\n"
                    "\nevery path\n"
                    "\n0 objects · nothing was written · exit 0\n");
        add_object("ConfigMap", "shop", "a", ADOPT_TAKEN);
        assert_view(&(struct adopt_style){ 0 }, 0,
                    "shop  main @ 60b8696  \"pushed\"   1 object in Git\n"
                    "object       today  paths that change hands  shared then  values  next sync\n"
                    "configmap/a  –      –                        –            –       taken on\n"
                    "\n1 object · 1 taken on · nothing was written · exit 0\n");
}

/* Of a commit that could not be read there is nothing to show. */
static void an_application_without_a_commit_has_no_table(void **state) {
        (void)state;
        end(&w);
        begin(&w, BROKEN);
        r.agent = w.agent;
        assert_view(&(struct adopt_style){ 0 }, 2, "\n0 objects · nothing was written · exit 2\n");
}

static void numbers_have_their_words(void **state) {
        static const struct adopt_share one = { HAND_CHANGES, STR("helm"), STR("Update"), STR(""), 1 };
        static const struct adopt_path paths[] = {
                { STR("a"), STR(".a"), HAND_STAYS, STR("x"), STR("not in Git"), false },
                { STR("b"), STR(".b"), HAND_STAYS, STR("x"), STR("not in Git"), false },
        };
        static struct adopt_matter matters[2];
        static struct adopt_extra extra;
        struct adopt_object *o = add_object("ConfigMap", "shop", "a", ADOPT_OURS), *p = add_object("ConfigMap", "shop", "b", ADOPT_PARKED);
        struct adopt_tracker *t = add_tracker("Helm release \"x\"");

        (void)state;
        matters[0] = (struct adopt_matter){ .kind = ADOPT_GOES, .path = STR("data.x"), .spelled = STR(".data.x"), .before = of("\"1\"") };
        matters[1] = (struct adopt_matter){ .kind = ADOPT_GOES, .path = STR("a"), .spelled = STR(".a"), .bookkeeping = true };
        extra = (struct adopt_extra){ STR(""), STR("Secret"), STR("shop"), STR("s") };
        o->shares = &one;
        o->share_count = 1;
        o->paths = paths;
        o->path_count = 2;
        o->matters = p->matters = matters;
        o->matter_count = p->matter_count = 2;
        t->objects = 1;
        t->holds = true;
        t->extras = &extra;
        t->extra_count = 1;
        assert_view(&(struct adopt_style){ 0 }, 1,
                    "shop  main @ 60b8696  \"pushed\"   2 objects in Git\n"
                    "object       today  paths that change hands  shared then  values  next sync\n"
                    "configmap/a  –      1 helm                   –            –       truce's, asks for 1 decision\n"
                    "configmap/b  –      –                        –            –       parked\n"
                    "\nkubectl's copy of the object (annotation last-applied-configuration) goes from 2 objects\n"
                    "2 paths that Git does not have stay with who has them (--all)\n"
                    "\nneeds a decision\n"
                    "  Helm release \"x\" holds 1 object: not written before it lets go, by the steps below\n"
                    "  configmap/a  data.x  goes, it is 1\n"
                    "      to keep it put it into Git, or have extra paths only reported (--extra-paths report)\n"
                    "  configmap/b  data.x  goes, it is 1\n"
                    "      to keep it put it into Git, or have extra paths only reported (--extra-paths report)\n"
                    "\nHelm release \"x\" · 1 object of Git's\n"
                    "  has 1 object that Git does not: secret/s\n"
                    "  truce leaves them alone, and never prunes them\n"
                    "\n2 objects · 1 truce's already · 1 left out · 1 path would change hands · 3 things to decide · nothing was written · exit 1\n");
}

static void one_of_each_has_its_words(void **state) {
        static const struct adopt_path path = { STR("a"), STR(".a"), HAND_STAYS, STR("x"), STR("not in Git"), false };
        static struct adopt_matter m;
        struct adopt_object *o = add_object("ConfigMap", "shop", "a", ADOPT_TAKEN);

        (void)state;
        m = (struct adopt_matter){ .kind = ADOPT_VALUE, .path = STR("data.x"), .before = of("\"1\""), .after = of("\"2\"") };
        o->paths = &path;
        o->path_count = 1;
        o->matters = &m;
        o->matter_count = 1;
        assert_view(&(struct adopt_style){ 0 }, 1,
                    "shop  main @ 60b8696  \"pushed\"   1 object in Git\n"
                    "object       today  paths that change hands  shared then  values  next sync\n"
                    "configmap/a  –      –                        –            1       taken on\n"
                    "\nvalues that change\n"
                    "  configmap/a  data.x  1 → 2\n"
                    "\n1 path that Git does not have stays with who has it (--all)\n"
                    "\n1 object · 1 taken on · 1 value would change · nothing was written · exit 1\n");
        o->path_count = 0;
        m.kind = ADOPT_DECIDE;
        m.before = m.after = NULL;
        assert_view(&(struct adopt_style){ 0 }, 1,
                    "shop  main @ 60b8696  \"pushed\"   1 object in Git\n"
                    "object       today  paths that change hands  shared then  values  next sync\n"
                    "configmap/a  –      –                        –            –       taken on, asks for 1 decision\n"
                    "\nneeds a decision\n"
                    "  configmap/a  data.x  stays nothing, Git says nothing\n"
                    "\n1 object · 1 taken on · 1 thing to decide · nothing was written · exit 1\n");
        m.kind = ADOPT_GOES;
        m.bookkeeping = true;
        assert_view(&(struct adopt_style){ .color = true }, 1,
                    "shop  main @ 60b8696  \"pushed\"   1 object in Git\n"
                    "object       today  paths that change hands  shared then  values  next sync\n"
                    "configmap/a  –      –                        –            –       taken on\n"
                    "\nkubectl's copy of the object (annotation last-applied-configuration) goes from 1 object\n"
                    "\n1 object · 1 taken on · nothing was written · exit 1\n");
}

/* Six names, then a number. */
static void names_are_cut_after_the_sixth(void **state) {
        static struct adopt_extra extras[7];
        struct adopt_tracker *t = add_tracker("kubectl apply");

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(extras); i++)
                extras[i] = (struct adopt_extra){ STR(""), STR("Pod"), STR("shop"), STR("p") };
        t->extras = extras;
        t->extra_count = 6;
        adopt_view(&r, &(struct adopt_style){ 0 }, 0, &out);
        assert_non_null(strstr(out.p, ": pod/p, pod/p, pod/p, pod/p, pod/p, pod/p\n"));
        t->extra_count = 7;
        buf_clear(&out);
        adopt_view(&r, &(struct adopt_style){ 0 }, 0, &out);
        assert_non_null(strstr(out.p, ": pod/p, pod/p, pod/p, pod/p, pod/p, pod/p and 1 more (--all)\n"));
}

static void words_are_made_of_owners_paths_and_rules(void **state) {
        struct field_path p;

        (void)state;
        assert_string_equal(adopt_owner_words(&r, STR("kubectl-edit"), STR("")).p, "kubectl-edit");
        assert_int_equal(adopt_owner_words(&r, STR(""), STR("scale")).n, 0);
        assert_int_equal(field_path_read(STR(".spec.containers[name=\"web\"].image"), a, &p, NULL), 0);
        assert_string_equal(adopt_path_words(&r, p).p, "spec.containers[web].image");
        assert_string_equal(adopt_path_spelled(&r, p).p, ".spec.containers[name=\"web\"].image");
        assert_string_equal(adopt_rule_words(&r, "a rule", NULL).p, "built-in: a rule");
        assert_string_equal(adopt_rule_words(&r, "mine", "a.yaml:3").p, "mine (a.yaml:3)");
        assert_string_equal(adopt_rule_words(&r, "a.yaml:3", "a.yaml:3").p, "a.yaml:3");
}

/* Names and reasons come from the cluster and from Git. */
static void nothing_that_steers_a_terminal_gets_through(void **state) {
        struct adopt_object *o = add_object("ConfigMap", "sh\033op", "a", ADOPT_REFUSED);
        struct adopt_tracker *t = add_tracker("\033[2J");
        static struct adopt_step step;
        static struct adopt_matter m;

        (void)state;
        step = (struct adopt_step){ STR("\033[1m"), STR("\033[2m") };
        m = (struct adopt_matter){ ADOPT_DECIDE, STR("\033[3m"), STR(""), of("\"\\u001b[4m\""), of("\"\\u001b[5m\""),
                                   STR("\033[6m"), STR("\033[7m"), STR("\033[8m"), STR("\033[9m"), 1, false, false };
        o->reason = o->file = o->today = STR("\033[0m");
        o->matters = &m;
        o->matter_count = 1;
        t->note = STR("\033[K");
        t->steps = &step;
        t->step_count = 1;
        r.unread = STR("\033[H");
        for (enum adopt_matter_kind kind = ADOPT_VALUE; kind <= ADOPT_LOOK; kind++) {
                m.kind = kind;
                buf_clear(&out);
                adopt_view(&r, &(struct adopt_style){ .all = true }, 0, &out);
                assert_null(strchr(out.p, '\033'));
        }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_report_says_what_happens_then_what_is_to_be_decided),
                CASE(with_all_each_path_and_each_name_is_there_and_colour_is_for_what_asks),
                CASE(what_there_is_not_is_not_spoken_of),
                CASE(an_application_without_a_commit_has_no_table),
                CASE(numbers_have_their_words),
                CASE(one_of_each_has_its_words),
                CASE(names_are_cut_after_the_sixth),
                CASE(words_are_made_of_owners_paths_and_rules),
                CASE(nothing_that_steers_a_terminal_gets_through),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
