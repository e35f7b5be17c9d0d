/* SPDX-License-Identifier: Apache-2.0 */
/* What `kubectl get` is shown: columns of CRDs by JSONPath, and kinds other than workloads. As a v1.37 server answers.
 */
#include "sandbox/column.h"
#include "sandbox/workloads.h"

#define TABLE_TYPE "application/json;as=Table;v=v1;g=meta.k8s.io"

static const struct value *parsed(struct world *w, const char *text) {
        const struct value *v;

        assert_int_equal(json_parse(str_from(text), w->arena, &v, NULL), 0);
        return v;
}

static void a_column_shows_the_first_result_of_its_path(void **state) {
        static const struct {
                const char *path, *want;
        } cases[] = {
                { ".spec.coins", "7" },
                { ".status.conditions[?(@.type==\"Ready\")].status", "\"True\"" },
                { ".status.conditions[?(@.type!='Ready')].status", "\"False\"" },
                { ".status.conditions[?(@.n>3)].type", "\"Ready\"" },
                { ".status.conditions[?(@.n<=2)].type", "\"Other\"" },
                { ".status.conditions[?(@.late)].type", "\"Other\"" },
                { ".status.conditions[?(@.late==true)].type", "\"Other\"" },
                { ".status.conditions[0].type", "\"Ready\"" },
                { ".status.conditions[-1].type", "\"Other\"" },
                { ".status.conditions[-1:].type", "\"Other\"" },
                { ".status.conditions[0:2].type", "\"Ready\"" },
                { ".status.conditions[0:2:9223372036854775807].type", "\"Ready\"" },
                { ".status.conditions[5,1].type", "\"Other\"" },
                { ".status.conditions[*].late", "true" },
                { ".metadata.annotations['a\\.b/c']", "\"hi\"" },
                { ".metadata.annotations.a\\.b/c", "\"hi\"" },
                { "..type", "\"Ready\"" },
                { ".spec.*", "7" },
                { ".", NULL },
                { ".status.conditions[7].type", NULL },
                { ".status.conditions[x].type", NULL },
                { ".status.conditions[", NULL },
                { ".status.conditions[?(@.type==]", NULL },
                { ".status.conditions[0:0:0]", NULL },
                { ".status.conditions[-9:1]", NULL },
                { ".spec.coins.more", NULL },
                { ".spec.coins[0]", NULL },
                { "spec", NULL },
        };
        struct world *w = *state;
        const struct value *object =
                parsed(w, "{\"metadata\":{\"annotations\":{\"a.b/c\":\"hi\"}},\"spec\":{\"coins\":7},"
                          "\"status\":{\"conditions\":[{\"n\":4,\"status\":\"True\",\"type\":\"Ready\"},"
                          "{\"late\":true,\"n\":2,\"status\":\"False\",\"type\":\"Other\"}]}}");

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const struct value *v = column_value(object, str_from(cases[i].path), w->arena);

                if (strcmp(cases[i].path, ".") == 0) {
                        assert_ptr_equal(v, object);
                        continue;
                }
                const char *got = v ? value_canonical(w->arena, v).p : NULL;
                if (cases[i].want ? !got || strcmp(got, cases[i].want) != 0 : got != NULL)
                        fail_msg("%s: got %s, wanted %s", cases[i].path, got ? got : "nothing",
                                 cases[i].want ? cases[i].want : "nothing");
        }
}

/* "Name=cell …" of the first row. */
static const char *row(struct world *w, const char *path) {
        struct buf b = buf_make(8192);

        assert_int_equal(ask_as(w, KUBE_GET, path, NULL, NULL, TABLE_TYPE), 200);
        const struct value *columns = value_getc(w->body, "columnDefinitions");
        const struct value *rows = value_getc(w->body, "rows");
        assert_true(value_count(rows) > 0);
        const struct value *cells = value_getc(rows->list.items[0], "cells");
        assert_int_equal(value_count(columns), value_count(cells));
        for (size_t i = 0; i < value_count(cells); i++)
                buf_addf(&b, "%s%.*s=%s", i ? " " : "", STR_FMT(value_text(value_getc(columns->list.items[i], "name"))),
                         value_canonical(w->arena, cells->list.items[i]).p);
        const char *text = arena_str(w->arena, buf_str(&b)).p;
        buf_done(&b);
        return text;
}

#define COLUMN(name, type, path) "{\"name\":\"" name "\",\"type\":\"" type "\",\"jsonPath\":\"" path "\"}"

static void a_cell_has_its_column_s_type(void **state) {
        struct world *w = *state;

        make(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
             "{\"metadata\":{\"name\":\"tills.shop.example\"},\"spec\":{\"group\":\"shop.example\",\"scope\":"
             "\"Namespaced\","
             "\"names\":{\"kind\":\"Till\",\"plural\":\"tills\",\"shortNames\":[\"tl\",\"t2\"]},\"versions\":[{"
             "\"name\":"
             "\"v1\",\"served\":true,\"storage\":true,\"additionalPrinterColumns\":[" COLUMN("I", "integer", ".spec.i") "," COLUMN("F", "integer", ".spec.f") "," COLUMN(
                     "N", "number",
                     ".spec.f") "," COLUMN("S", "string",
                                           ".spec.i") "," COLUMN("O", "string",
                                                                 ".spec") "," COLUMN("B", "boolean",
                                                                                     ".spec.b") "," COLUMN("X",
                                                                                                           "integer",
                                                                                                           ".spec.s") "," COLUMN("D",
                                                                                                                                 "date",
                                                                                                                                 ".spec.s") "," COLUMN("E",
                                                                                                                                                       "date",
                                                                                                                                                       ".spec.none") "," COLUMN("H",
                                                                                                                                                                                "integer",
                                                                                                                                                                                ".spec.h") "],\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
                                                                                                                                                                                           "\"x-kubernetes-preserve-unknown-fields\":true}}}}},{\"name\":\"v0\",\"served\":false,\"storage\":false,"
                                                                                                                                                                                           "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}");
        world_run(w, SECOND);
        make(w, "/apis/shop.example/v1/namespaces/default/tills",
             "{\"apiVersion\":\"shop.example/v1\",\"kind\":\"Till\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"i\":7,"
             "\"f\":1.5,\"b\":true,\"s\":\"12\",\"h\":1e300}}");
        assert_string_equal(
                row(w, "/apis/shop.example/v1/tills"),
                "Name=\"a\" I=7 F=1 N=1.5 S=\"7\" "
                "O=\"{\\\"b\\\":true,\\\"f\\\":1.5,\\\"h\\\":1e+300,\\\"i\\\":7,\\\"s\\\":\\\"12\\\"}\" B=true X=null "
                "D=\"<invalid>\" E=null H=null");
        assert_string_equal(
                row(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
                "Name=\"tills.shop.example\" Scope=\"Namespaced\" Versions=\"v1(storage)\" "
                "Created At=\"2027-01-15T08:00:00Z\" Group=\"shop.example\" Kind=\"Till\" ShortNames=\"tl,t2\" "
                "Established=true");
}

static void events_show_when_they_were_seen(void **state) {
        struct world *w = *state;
        const char *path = "/api/v1/namespaces/default/events";

        make(w, path,
             "{\"metadata\":{\"name\":\"a\"},\"involvedObject\":{\"namespace\":\"default\",\"kind\":\"Pod\",\"name\":"
             "\"p\"},\"reason\":\"R\",\"message\":\" said \",\"type\":\"Normal\",\"eventTime\":"
             "\"2027-01-15T07:59:00.000000Z\",\"reportingComponent\":\"c\",\"reportingInstance\":\"i\",\"action\":"
             "\"A\"}");
        const char *want =
                "Last Seen=\"60s\" Type=\"Normal\" Reason=\"R\" Object=\"pod/p\" Subobject=\"\" Source=\"c, i\" "
                "Message=\"said\" First Seen=\"60s\" Count=1 Name=\"a\"";
        assert_string_equal(row(w, path), want);
        assert_at(w, "columnDefinitions.9.format", "name");
        assert_string_equal(row(w, "/apis/events.k8s.io/v1/namespaces/default/events"), want);
}

static void claims_and_volumes_show_short_modes(void **state) {
        struct world *w = *state;

        make(w, "/api/v1/namespaces/default/persistentvolumeclaims",
             "{\"metadata\":{\"name\":\"data\"},\"spec\":{\"storageClassName\":\"std\",\"accessModes\":["
             "\"ReadWriteMany\","
             "\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}");
        assert_string_equal(
                row(w, "/api/v1/persistentvolumeclaims"),
                "Name=\"data\" Status=\"Pending\" Volume=\"\" Capacity=\"\" Access Modes=\"\" "
                "StorageClass=\"std\" VolumeAttributesClass=\"<unset>\" Age=\"0s\" VolumeMode=\"Filesystem\"");
        make(w, PODS,
             "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"
             "\"claimName\":\"data\"}}]," CONTAINERS("img") "}}");
        world_run(w, SECOND);
        assert_non_null(strstr(row(w, "/api/v1/persistentvolumeclaims"), "Capacity=\"1Gi\" Access Modes=\"RWO,RWX\""));
        assert_non_null(strstr(row(w, "/api/v1/persistentvolumes"),
                               "Capacity=\"1Gi\" Access Modes=\"RWO,RWX\" Reclaim Policy=\"Delete\" Status=\"Bound\" "
                               "Claim=\"default/data\" StorageClass=\"std\""));
}

static void the_node_shows_its_state(void **state) {
        struct world *w = *state;

        assert_string_equal(
                row(w, "/api/v1/nodes"),
                "Name=\"sandbox\" Status=\"Ready\" Roles=\"<none>\" Age=\"0s\" Version=\"\" Internal-IP=\"<none>\" "
                "External-IP=\"<none>\" OS-Image=\"<unknown>\" Kernel-Version=\"<unknown>\" "
                "Container-Runtime=\"<unknown>\"");
        change(w, "/api/v1/nodes/sandbox", "{\"spec\":{\"unschedulable\":true}}");
        assert_non_null(strstr(row(w, "/api/v1/nodes"), "Status=\"Ready,SchedulingDisabled\""));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORKLOAD_TEST(a_column_shows_the_first_result_of_its_path),
                WORKLOAD_TEST(a_cell_has_its_column_s_type),
                WORKLOAD_TEST(events_show_when_they_were_seen),
                WORKLOAD_TEST(claims_and_volumes_show_short_modes),
                WORKLOAD_TEST(the_node_shows_its_state),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
