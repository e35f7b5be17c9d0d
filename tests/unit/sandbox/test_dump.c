/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of other clusters. tests/sandbox/test_from.sh has the forms of files, and what a person reads. */
#include "sandbox/quoted.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define THING(name, more)                                                                                              \
        "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'" name "','namespace':'far'" more "}}"
#define DEFINITION_OF(schema)                                                                                          \
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{'name':'things.example."  \
        "com'},'spec':{'group':'example.com','scope':'Namespaced','names':{'plural':'things','singular':'thing','kind':'"  \
        "Thing','listKind':'ThingList'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"                \
        "'openAPIV3Schema':" schema "}}]}}"
#define DEFINITION                                                                                                     \
        DEFINITION_OF("{'type':'object','properties':{'spec':{'type':'object','default':{'color':'a colour that is "     \
                      "long enough to be no small text'},'properties':{'color':{'type':'string'}}}}}")

struct heard {
        struct buf text;
};

static void hear(void *ctx, struct str text) {
        struct heard *h = ctx;

        buf_addf(&h->text, "%.*s\n", STR_FMT(text));
}

static int load(struct world *w, const char *const *texts, struct heard *h, struct err *err) {
        const struct sandbox_noter noter = { hear, h };
        struct sandbox_dumped objects[8];
        size_t count = 0;

        for (; texts[count]; count++) {
                const struct value *v = NULL;

                assert_int_equal(json_parse(str_from(quoted(w, texts[count])), w->arena, &v, NULL), 0);
                objects[count] = (struct sandbox_dumped){ v, STR("dump") };
        }
        return sandbox_load_dump(w->s, objects, count, h ? &noter : NULL, err);
}

static void take(struct world *w, const char *const *texts) {
        struct err err = { 0 };

        if (load(w, texts, NULL, &err) < 0)
                fail_msg("%s", err.msg);
}

#define TAKE(w, ...) take(w, (const char *const[]){ __VA_ARGS__, NULL })

/* Definitions are stored last, which makes their kinds anew. */
static void what_a_definition_adds_outlives_its_kinds(void **state) {
        struct world *w = *state;

        TAKE(w, THING("a", ",'resourceVersion':'900'"), DEFINITION);
        world_run(w, 1000); /* it becomes established */
        assert_int_equal(get(w, "/apis/example.com/v1/namespaces/far/things/a"), 200);
        assert_at(w, "spec.color", "a colour that is long enough to be no small text");
        assert_at(w, "metadata.resourceVersion", "900");
        assert_int_equal(get(w, CRDS "/things.example.com"), 200);
        assert_at(w, "status.acceptedNames.kind", "Thing");
        assert_int_equal(get(w, "/api/v1/namespaces/far"), 200);
}

/* What takes twice as long with each level has no end here. */
static void a_deep_definition_is_taken(void **state) {
        struct world *w = *state;
        _cleanup_(buf_done) struct buf schema = buf_make(64 * 1024), text = buf_make(64 * 1024);

        for (int i = 0; i < 40; i++)
                buf_addc(&schema, "{'type':'object','properties':{'a':");
        buf_addc(&schema, "{'type':'object'}");
        for (int i = 0; i < 40; i++)
                buf_addc(&schema, "}}");
        buf_addf(&text, DEFINITION_OF("%s"), schema.p);
        TAKE(w, text.p);
        assert_int_equal(get(w, CRDS "/things.example.com"), 200);
}

static void what_fails_leaves_nothing(void **state) {
        struct world *w = *state;
        struct err err = { 0 };

        assert_int_equal(load(w, (const char *const[]){ DEFINITION, THING("a", ""), THING("b", ",'labels':{'x':'?'}"), NULL },
                              NULL, &err),
                         ERR_INVAL);
        assert_int_equal(get(w, CRDS), 200);
        assert_at(w, "items", "[]");
        assert_int_equal(get(w, "/apis/example.com/v1/namespaces/far/things"), 404);
        assert_int_equal(get(w, "/api/v1/namespaces/far"), 404);
        TAKE(w, DEFINITION, THING("a", ""));
}

static void a_watch_from_then_on_sees_what_comes(void **state) {
        struct world *w = *state;

        TAKE(w, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a','resourceVersion':'5000'}}");
        assert_int_equal(get(w, CM "?watch=true&resourceVersion=4999"), 200);
        sandbox_watch_close(w->reply.watch);
        assert_int_equal(get(w, CM), 200);
        assert_at(w, "metadata.resourceVersion", "5000");
        assert_int_equal(post(w, CM, "{\"metadata\":{\"name\":\"b\"}}"), 201);
        assert_at(w, "metadata.resourceVersion", "5001");
}

/* The sandbox's own Service has the address that another cluster's has, and gives it back. */
static void an_object_of_the_sandbox_gives_way(void **state) {
        struct world *w = *state;

        TAKE(w, "{'apiVersion':'v1','kind':'Service','metadata':{'name':'kubernetes','namespace':'default',"
                                 "'uid':'u1','resourceVersion':'77'},'spec':{'clusterIP':'10.96.7.7','clusterIPs':['10.96.7.7'],"
                                 "'type':'ClusterIP','ports':[{'port':443}]}}");
        assert_int_equal(get(w, SERVICES "/kubernetes"), 200);
        assert_at(w, "metadata.uid", "u1");
        assert_at(w, "spec.clusterIP", "10.96.7.7");
        assert_int_equal(make(w, SERVICES, "{'metadata':{'name':'b'},'spec':{'clusterIP':'10.96.7.7','ports':[{'port':1}]}}"), 422);
        assert_int_equal(make(w, SERVICES, "{'metadata':{'name':'b'},'spec':{'clusterIP':'10.96.0.1','ports':[{'port':1}]}}"), 201);
}

static void an_object_of_another_version_is_stored_as_any(void **state) {
        struct world *w = *state;

        TAKE(w, "{'apiVersion':'autoscaling/v1','kind':'HorizontalPodAutoscaler','metadata':{'name':'a',"
                                 "'namespace':'default'},'spec':{'maxReplicas':3,'scaleTargetRef':{'kind':'Deployment','name':'x',"
                                 "'apiVersion':'apps/v1'},'targetCPUUtilizationPercentage':60}}");
        assert_int_equal(get(w, SCALERS "/a"), 200);
        assert_at(w, "spec.metrics.0.resource.target.averageUtilization", "60");
}

static void fields_that_are_not_known_are_told(void **state) {
        struct heard h = { buf_make(4096) };
        struct world *w = *state;

        assert_int_equal(load(w, (const char *const[]){ "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a','managedFields':"
                                                        "[{'manager':'m','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV1',"
                                                        "'fieldsV1':{}}]},'date':{}}", NULL }, &h, NULL),
                         0);
        assert_string_equal(h.text.p, "dump:0: ConfigMap 'a': unknown field \"date\", which is left out\n");
        buf_done(&h.text);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, quoted_setup, quoted_teardown)
        const struct CMUnitTest tests[] = {
                T(what_a_definition_adds_outlives_its_kinds),
                T(a_deep_definition_is_taken),
                T(what_fails_leaves_nothing),
                T(a_watch_from_then_on_sees_what_comes),
                T(an_object_of_the_sandbox_gives_way),
                T(an_object_of_another_version_is_stored_as_any),
                T(fields_that_are_not_known_are_told),
        };

        return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
