/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken with a warning: claims, volumes and labels of nodes; answers as a v1.37.2 API server gave them. */
#include "sandbox/quoted.h"

#define FRACTION(value) "fractional byte value \"" value "\" is invalid, must be an integer"
#define CLAIM_OF(requests)                                                                                             \
        "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c'},'spec':{'accessModes':["            \
        "'ReadWriteOnce'],'resources':{'requests':{'storage':" requests "}}}}"
#define POD_OF(spec) "{'metadata':{'name':'p'},'spec':{" spec ",'containers':[{'name':'a','image':'i'}]}}"

/* All warnings of the last answer, one a line. */
static const char *warnings(struct world *w) {
        _cleanup_(buf_done) struct buf out = buf_make(64 * 1024);

        for (size_t i = 0; i < w->reply.warning_count; i++)
                buf_addf(&out, "%s%.*s", i ? "\n" : "", STR_FMT(w->reply.warnings[i]));
        return arena_str(w->arena, buf_str(&out)).p;
}

static void a_claim_of_a_part_of_a_byte_is_warned_of(void **state) {
        struct world *w = *state;

        assert_int_equal(apply(w, CLAIMS "/c?fieldManager=m", quoted(w, CLAIM_OF("1.5"))), 201);
        assert_string_equal(warnings(w), "spec.resources.requests[storage]: " FRACTION("1500m"));
        assert_int_equal(change(w, CLAIMS "/c", MERGE_TYPE, "{'metadata':{'labels':{'a':'b'}}}"), 200);
        assert_string_equal(warnings(w), "spec.resources.requests[storage]: " FRACTION("1500m"));
}

static void a_claims_old_annotation_is_warned_of(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, CLAIMS "?dryRun=All",
                     "{'metadata':{'name':'d','annotations':{'volume.beta.kubernetes.io/storage-class':'x'}},'spec':{"
                     "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}"),
                201);
        assert_string_equal(warnings(w),
                            "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since "
                            "v1.8; use \"storageClassName\" attribute instead");
}

static void claims_of_a_stateful_set_are_named_in_two_ways(void **state) {
        static const char set[] = "{'metadata':{'name':'s'},'spec':{'serviceName':'s'," TEMPLATE(
                "") ",'volumeClaimTemplates':[{'metadata':{"
                    "'name':'v'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1500m'},"
                    "'limits':{'storage':'2500m'}}}}]}}";
        struct world *w = *state;

        assert_int_equal(make(w, STATEFULSETS, set), 201);
        assert_string_equal(
                warnings(w),
                "spec.volumeClaimTemplates[0].resources.requests[storage]: " FRACTION(
                        "1500m") "\n"
                                 "spec.volumeClaimTemplates[0].resources.limits[storage]: " FRACTION("2500m"));
        assert_int_equal(change(w, STATEFULSETS "/s", MERGE_TYPE, "{'metadata':{'labels':{'a':'b'}}}"), 200);
        assert_string_equal(
                warnings(w),
                "spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: " FRACTION(
                        "1500m") "\n"
                                 "spec.volumeClaimTemplates[0].Spec.resources.limits[storage]: " FRACTION("2500m"));
}

static void volumes_of_pods_are_warned_of(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, PODS "?dryRun=All",
                     POD_OF("'volumes':[{'name':'a','rbd':{'monitors':['m'],'image':'i'}},{'name':'b','storageos':{"
                            "'volumeName':'v'}},{'name':'c','ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':["
                            "'ReadWriteOnce'],'resources':{'requests':{'storage':'1500m'}}}}}}]")),
                201);
        assert_string_equal(
                warnings(w),
                "spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+\n"
                "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+\n"
                "spec.volumes[2].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: " FRACTION("1500m"));
}

static void amounts_of_a_container_are_told_by_resource(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, DEPLOYMENTS "?dryRun=All",
                     "{'metadata':{'name':'d'},'spec':{" TEMPLATE(",'resources':{'limits':{'memory':'3500m','ephemeral-"
                                                                  "storage':'4500m'},'requests':{'memory':"
                                                                  "'1500m','ephemeral-storage':'2500m'}}") "}}"),
                201);
        assert_string_equal(
                warnings(w),
                "spec.template.spec.containers[0].resources.limits[memory]: " FRACTION(
                        "3500m") "\n"
                                 "spec.template.spec.containers[0].resources.requests[memory]: " FRACTION(
                                         "1500m") "\n"
                                                  "spec.template.spec.containers[0].resources.limits[ephemeral-storage]"
                                                  ": " FRACTION("4500m") "\n"
                                                                         "spec.template.spec.containers[0].resources."
                                                                         "requests[ephemeral-storage]: " FRACTION(
                                                                                 "2500m"));
}

static void labels_of_nodes_that_were_replaced_are_warned_of(void **state) {
        struct world *w = *state;

        assert_int_equal(
                make(w, PODS "?dryRun=All",
                     POD_OF("'nodeSelector':{'beta.kubernetes.io/"
                            "os':'linux'},'topologySpreadConstraints':[{'maxSkew':1,"
                            "'topologyKey':'failure-domain.beta.kubernetes.io/"
                            "zone','whenUnsatisfiable':'DoNotSchedule'}],"
                            "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
                            "'nodeSelectorTerms':[{'matchExpressions':[{'key':'beta.kubernetes.io/arch','operator':"
                            "'Exists'}]}]},'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,'preference':"
                            "{"
                            "'matchExpressions':[{'key':'x','operator':'In','values':['a b']}]}}]}}")),
                201);
        assert_string_equal(
                warnings(w),
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead\n"
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
                "matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "
                "\"kubernetes.io/arch\" "
                "instead\n"
                "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
                "matchExpressions[0].values[0]: a b is invalid, a valid label must be an empty string or consist of "
                "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
                "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated "
                "since "
                "v1.17; use \"topology.kubernetes.io/zone\" instead\n"
                "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod");
}

/* An apply to the status of what is not there makes it, and is warned of as a creation; of what is there, not. */
static void who_makes_an_object_by_its_status_is_warned(void **state) {
        static const char service[] = "{'apiVersion':'v1','kind':'Service','metadata':{'name':'two'},'spec':{'externalIPs':["
                                      "'192.0.2.2'],'ports':[{'port':80}]}}";
        struct world *w = *state;

        assert_int_equal(apply(w, SERVICES "/two/status?fieldManager=m", quoted(w, service)), 201);
        assert_string_equal(warnings(w), "spec.externalIPs is deprecated and may no longer be implemented in some clusters");
        assert_int_equal(apply(w, SERVICES "/two/status?fieldManager=m", quoted(w, service)), 200);
        assert_string_equal(warnings(w), "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_claim_of_a_part_of_a_byte_is_warned_of),
                CASE(a_claims_old_annotation_is_warned_of),
                CASE(claims_of_a_stateful_set_are_named_in_two_ways),
                CASE(volumes_of_pods_are_warned_of),
                CASE(amounts_of_a_container_are_told_by_resource),
                CASE(labels_of_nodes_that_were_replaced_are_warned_of),
                CASE(who_makes_an_object_by_its_status_is_warned),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
