/* SPDX-License-Identifier: Apache-2.0 */
/* What `truce adopt -o json` gives programs, to the letter: names of keys are promised. */
#include "adopt_test.h"

static void assert_value(bool all, const char *want) {
        assert_string_equal(value_canonical(a, adopt_value(&r, all, a)).p, want);
}

static const char everything[] =
        "{\"decisions\":6,\"notListed\":\"Secrets\",\"objects\":[{\"application\":\"shop\","
        "\"file\":\"app/web.yaml\",\"held\":false,\"line\":4,\"matters\":[{\"kind\":\"value\","
        "\"line\":12,\"live\":\"web:1\",\"owner\":\"helm\",\"path\":\".spec.image\",\"rule\":\"a rule\","
        "\"then\":\"web:2\",\"truce\":\"takes\"},{\"kind\":\"value\",\"path\":\".spec.paused\","
        "\"then\":true},{\"kind\":\"value\",\"line\":3,\"live\":[1,2],\"owner\":\"kubectl-edit\","
        "\"path\":\".spec.order\",\"then\":[2,1],\"truce\":\"reorders\"},{\"git\":2,\"kind\":\"stays\","
        "\"line\":9,\"live\":6,\"owner\":\"HPA shop/web\",\"path\":\".spec.replicas\","
        "\"rule\":\"built-in: scaler\",\"truce\":\"yields\"},{\"kind\":\"goes\",\"live\":{\"x\":1},"
        "\"owner\":\"kubectl-edit\",\"path\":\".spec.extra\",\"rule\":\"people's additions\","
        "\"truce\":\"removes\"},{\"kind\":\"goes\",\"live\":\"{}\",\"owner\":\"kubectl\","
        "\"path\":\".metadata.annotations\",\"truce\":\"removes\"},{\"atomic\":true,"
        "\"kind\":\"decide\",\"line\":15,\"live\":{\"a\":\"b\"},\"owner\":\"some-operator\","
        "\"path\":\".spec.selector\",\"settle\":\"{manager: some-operator}\",\"truce\":\"reports\"},"
        "{\"kind\":\"look\",\"line\":9,\"path\":\".spec.min\","
        "\"rule\":\"Git's number is below the minimum\"},{\"git\":2,\"kind\":\"decide\",\"live\":1,"
        "\"path\":\".spec.b\",\"rule\":\"rules.yaml:4\",\"truce\":\"reports\"}],"
        "\"object\":{\"group\":\"apps\",\"kind\":\"Deployment\",\"name\":\"web\",\"namespace\":\"shop\"},"
        "\"owners\":[{\"kind\":\"changes\",\"operation\":\"Update\","
        "\"owner\":\"kubectl-client-side-apply\",\"paths\":14},{\"kind\":\"changes\","
        "\"operation\":\"Update\",\"owner\":\"helm\",\"paths\":2},{\"kind\":\"shared\","
        "\"operation\":\"Apply\",\"owner\":\"argocd-controller\",\"paths\":3},{\"kind\":\"stays\","
        "\"operation\":\"Update\",\"owner\":\"kube-controller-manager\",\"paths\":1,"
        "\"subresource\":\"scale\"},{\"kind\":\"truce\",\"paths\":4}],\"paths\":[{\"kind\":\"changes\","
        "\"owner\":\"helm\",\"path\":\".spec.image\"},{\"kind\":\"new\",\"path\":\".spec.new\"},"
        "{\"kind\":\"shared\",\"owner\":\"argocd-controller\",\"path\":\".spec.shared\"},"
        "{\"kind\":\"truce\",\"path\":\".spec.ours\"},{\"atomic\":true,\"kind\":\"stays\","
        "\"owner\":\"some-operator\",\"path\":\".spec.selector\",\"why\":\"not in Git\"},"
        "{\"kind\":\"stays\",\"owner\":\"some-operator\",\"path\":\".spec.other\",\"why\":\"reports\"},"
        "{\"kind\":\"goes\",\"owner\":\"kubectl-edit\",\"path\":\".spec.gone\",\"why\":\"a rule\"}],"
        "\"sync\":\"taken on\",\"today\":\"Argo CD application \\\"shop\\\"\"},{\"application\":\"shop\","
        "\"held\":true,\"matters\":[],\"object\":{\"group\":\"\",\"kind\":\"Service\",\"name\":\"held\","
        "\"namespace\":\"shop\"},\"owners\":[],\"paths\":[],\"sync\":\"refused\","
        "\"today\":\"Argo CD application \\\"shop\\\"\"},{\"application\":\"shop\",\"held\":false,"
        "\"matters\":[],\"object\":{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"new\","
        "\"namespace\":\"shop\"},\"owners\":[],\"paths\":[],\"sync\":\"created\"},"
        "{\"application\":\"shop\",\"held\":false,\"matters\":[],\"object\":{\"group\":\"\","
        "\"kind\":\"ConfigMap\",\"name\":\"ours\",\"namespace\":\"other\"},\"owners\":[],\"paths\":[],"
        "\"sync\":\"truce's\"},{\"application\":\"shop\",\"file\":\"app/r.yaml\",\"held\":false,"
        "\"line\":7,\"matters\":[],\"object\":{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"refused\","
        "\"namespace\":\"shop\"},\"owners\":[],\"paths\":[],\"reason\":\"it belongs to somebody\","
        "\"sync\":\"refused\"},{\"application\":\"shop\",\"file\":\"app/f.yaml\",\"held\":false,"
        "\"matters\":[],\"object\":{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"failed\","
        "\"namespace\":\"shop\"},\"owners\":[],\"paths\":[],\"reason\":\"a policy denied it\","
        "\"sync\":\"not applied\"},{\"application\":\"shop\",\"held\":false,\"matters\":[],"
        "\"object\":{\"group\":\"\",\"kind\":\"Widget\",\"name\":\"parked\",\"namespace\":\"other\"},"
        "\"owners\":[],\"paths\":[{\"kind\":\"stays\",\"owner\":\"a\\u001b[31m\","
        "\"path\":\".spec.template.spec.a\",\"why\":\"not in Git\"}],\"sync\":\"parked\"},"
        "{\"application\":\"shop\",\"held\":false,\"matters\":[],\"object\":{\"group\":\"\","
        "\"kind\":\"ConfigMap\",\"name\":\"skipped\",\"namespace\":\"shop\"},\"owners\":[],\"paths\":[],"
        "\"sync\":\"left out\"}],\"problems\":3,\"trackers\":[{\"holds\":true,\"name\":\"shop\","
        "\"namespace\":\"argocd\",\"notInGit\":[{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"b\","
        "\"namespace\":\"shop\"},{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"c\","
        "\"namespace\":\"shop\"},{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"d\","
        "\"namespace\":\"shop\"},{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"e\","
        "\"namespace\":\"shop\"},{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"f\","
        "\"namespace\":\"shop\"},{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"g\","
        "\"namespace\":\"shop\"},{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"h\","
        "\"namespace\":\"shop\"},{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"i\","
        "\"namespace\":\"shop\"}],\"note\":\"syncs by itself\",\"objects\":2,\"state\":\"live\","
        "\"steps\":[{\"command\":\"kubectl -n argocd patch application shop\","
        "\"text\":\"suspend it\"},{\"text\":\"let truce sync\"}],\"tool\":\"argocd\","
        "\"tracker\":\"Argo CD application \\\"shop\\\"\"},{\"holds\":false,\"notInGit\":[],"
        "\"objects\":1,\"state\":\"not known\",\"steps\":[],\"tool\":\"kubectl\","
        "\"tracker\":\"kubectl apply\"}]}";

static void everything_has_its_key(void **state) {
        (void)state;
        fill();
        assert_value(true, everything);
}

static void paths_are_there_when_asked_for(void **state) {
        const struct value *objects, *with;

        (void)state;
        fill();
        objects = value_getc(adopt_value(&r, false, a), "objects");
        with = value_getc(adopt_value(&r, true, a), "objects");
        assert_int_equal(value_count(objects), r.count);
        for (size_t i = 0; i < r.count; i++) {
                assert_null(value_getc(objects->list.items[i], "paths"));
                assert_int_equal(value_count(value_getc(with->list.items[i], "paths")), r.objects[i]->path_count);
        }
}

static void an_empty_report_is_one_as_well(void **state) {
        (void)state;
        assert_value(true, "{\"decisions\":0,\"objects\":[],\"problems\":0,\"trackers\":[]}");
}

/* Programs read what is meant, so nothing is made fit for a terminal here. */
static void texts_are_as_they_came(void **state) {
        struct adopt_object *o = add_object("ConfigMap", "shop", "a", ADOPT_FAILED);
        const struct value *first;

        (void)state;
        o->reason = STR("\033[31m");
        first = value_getc(adopt_value(&r, false, a), "objects")->list.items[0];
        assert_true(str_eqc(value_text(value_getc(first, "reason")), "\033[31m"));
}

static void each_state_of_a_tracker_has_its_word(void **state) {
        static const char *const words[] = { "not known", "gone", "writes nothing by itself", "live" };
        struct adopt_tracker *t = add_tracker("Flux Kustomization \"x\"");

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                t->state = (enum adopt_state)i;
                const struct value *one = value_getc(adopt_value(&r, false, a), "trackers")->list.items[0];

                assert_true(str_eqc(value_text(value_getc(one, "state")), words[i]));
        }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(everything_has_its_key),
                CASE(paths_are_there_when_asked_for),
                CASE(an_empty_report_is_one_as_well),
                CASE(texts_are_as_they_came),
                CASE(each_state_of_a_tracker_has_its_word),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
