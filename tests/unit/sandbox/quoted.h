/* SPDX-License-Identifier: Apache-2.0 */
/* A bare sandbox (no controllers, also none of namespaces), asked with bodies that have ' for ". */
#ifndef TRUCE_TEST_SANDBOX_QUOTED_H
#define TRUCE_TEST_SANDBOX_QUOTED_H

#include "sandbox/world.h"

#define DEPLOYMENTS  "/apis/apps/v1/namespaces/default/deployments"
#define STATEFULSETS "/apis/apps/v1/namespaces/default/statefulsets"
#define DAEMONSETS   "/apis/apps/v1/namespaces/default/daemonsets"
#define PODS         "/api/v1/namespaces/default/pods"
#define JOBS         "/apis/batch/v1/namespaces/default/jobs"
#define CRONJOBS     "/apis/batch/v1/namespaces/default/cronjobs"
#define SCALERS      "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
#define SERVICES     "/api/v1/namespaces/default/services"
#define ACCOUNTS     "/api/v1/namespaces/default/serviceaccounts"
#define CLAIMS       "/api/v1/namespaces/default/persistentvolumeclaims"
#define VOLUMES      "/api/v1/persistentvolumes"
#define INGRESSES    "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
#define THINGS       "/apis/example.com/v1/namespaces/default/things"

#define TEMPLATE(container)                                                                                            \
        "'selector':{'matchLabels':{'app':'a'}},'template':{'metadata':{'labels':{'app':'a'}},'spec':{'containers':[{" \
        "'name':'main','image':'img:1'" container "}]}}"
#define JOB_POD(container)                                                                                             \
        "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'main','image':'img:1'" container "}]}}"
#define CLAIM(name)                                                                                                    \
        "{'metadata':{'name':'" name                                                                                   \
        "'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}"

static inline int quoted_setup(void **state) {
        *state = world_new(&(struct sandbox_options){ .no_controllers = true, .keep_namespaces = true });
        return 0;
}

static inline int quoted_teardown(void **state) {
        world_free(*state);
        return 0;
}

/* With " for '. */
static inline const char *quoted(struct world *w, const char *text) {
        struct str copy = arena_str(w->arena, str_from(text));

        for (size_t i = 0; i < copy.n; i++)
                if (copy.p[i] == '\'')
                        ((char *)copy.p)[i] = '"';
        return copy.p;
}

static inline int make(struct world *w, const char *path, const char *body) {
        return post(w, path, quoted(w, body));
}

static inline int change(struct world *w, const char *path, const char *type, const char *body) {
        return patch(w, path, type, quoted(w, body));
}

/* Things, a custom kind with status and scale and a set of tags. */
static inline void define_things(struct world *w) {
        assert_int_equal(
                make(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                     "{'metadata':{'name':'things.example.com'},'spec':{'group':'example.com','scope':'Namespaced','"
                     "names':{"
                     "'plural':'things','singular':'thing','kind':'Thing','listKind':'ThingList'},'versions':[{'name':'"
                     "v1',"
                     "'served':true,'storage':true,'subresources':{'status':{},'scale':{'specReplicasPath':'.spec."
                     "replicas',"
                     "'statusReplicasPath':'.status.replicas'}},'schema':{'openAPIV3Schema':{'type':'object','"
                     "properties':{"
                     "'spec':{'type':'object','properties':{'replicas':{'type':'integer'},'tags':{'type':'array',"
                     "'x-kubernetes-list-type':'set','items':{'type':'string'}}}},'status':{'type':'object','"
                     "properties':{"
                     "'replicas':{'type':'integer'}}}}}}}]}}"),
                201);
        world_run(w, 1000);
}

static inline void assert_says(struct world *w, const char *text) {
        if (!str_contains(str_from(at(w, "message")), str_from(text)))
                assert_string_equal(at(w, "message"), text);
}

static inline const char *version(struct world *w) {
        return at(w, "metadata.resourceVersion");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, quoted_setup, quoted_teardown)

#endif
