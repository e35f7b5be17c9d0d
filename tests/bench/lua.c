/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_lua [ROUNDS]: what an evaluation costs, the state's making and the object's way in and the result's way out
 * with it, in one thread: of a rule on a Deployment, on the same with 100 KiB of other fields, and on a small object
 * the least that a script can be. Then ROUNDS evaluations (1000000) on the small one, and the process's memory before
 * and after.
 */
#include <sys/resource.h>
#include <time.h>

#include "base/json.h"
#include "base/limits.h"
#include "lua/script.h"

#define MEASURE_NS  INT64_C(2000000000)
#define LARGE_BYTES (100 * KIB)

static const char rule[] =
        "local hs = {}\n"
        "local spec, status = obj.spec, obj.status\n"
        "if status == nil or (status.observedGeneration or 0) < obj.metadata.generation then\n"
        "  hs.status, hs.message = 'Progressing', 'not observed yet'\n"
        "  return hs\n"
        "end\n"
        "for _, c in ipairs(status.conditions or {}) do\n"
        "  if c.type == 'Progressing' and c.reason == 'ProgressDeadlineExceeded' then\n"
        "    hs.status, hs.message = 'Degraded', string.format('%s: %s', c.reason, c.message)\n"
        "    return hs\n"
        "  end\n"
        "end\n"
        "if (status.updatedReplicas or 0) < spec.replicas then\n"
        "  hs.status = 'Progressing'\n"
        "  hs.message = string.format('%d of %d updated', status.updatedReplicas or 0, spec.replicas)\n"
        "elseif (status.availableReplicas or 0) < status.updatedReplicas then\n"
        "  hs.status = 'Progressing'\n"
        "  hs.message = string.format('%d of %d available', status.availableReplicas or 0, status.updatedReplicas)\n"
        "else\n"
        "  hs.status, hs.message = 'Healthy', obj.metadata.name .. ' is up'\n"
        "end\n"
        "return hs\n";

static const char head[] =
        "{\"apiVersion\":\"apps/"
        "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"generation\":4,"
        "\"uid\":\"0f3c9a52-6d3e-4f0b-9a53-1f1f3d0c8f11\",\"resourceVersion\":\"123456\","
        "\"labels\":{\"app\":\"web\",\"tier\":\"front\"}},\"spec\":{\"replicas\":3,\"revisionHistoryLimit\":10,"
        "\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":"
        "{\"maxSurge\":\"25%\",\"maxUnavailable\":\"25%\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"web\",\"image\":\"registry.example.com/web:1.2.3\",\"ports\":"
        "[{\"containerPort\":8080,\"protocol\":\"TCP\"}],\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":"
        "\"256Mi\"}},"
        "\"env\":[";
static const char tail[] =
        "{\"name\":\"LAST\",\"value\":\"1\"}]}]}}},\"status\":{\"observedGeneration\":4,\"replicas\":3,"
        "\"updatedReplicas\":3,"
        "\"readyReplicas\":3,\"availableReplicas\":3,\"conditions\":[{\"type\":\"Available\",\"status\":\"True\","
        "\"reason\":"
        "\"MinimumReplicasAvailable\",\"message\":\"Deployment has minimum availability.\",\"lastTransitionTime\":"
        "\"2026-01-01T00:00:00Z\"},{\"type\":\"Progressing\",\"status\":\"True\",\"reason\":\"NewReplicaSetAvailable\","
        "\"message\":\"ReplicaSet has successfully progressed.\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}";

static int64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void die(const char *what) {
        fprintf(stderr, "bench_lua: %s\n", what);
        exit(EXIT_FAILURE);
}

static const struct value *object_of(size_t bytes, struct arena *a) {
        _cleanup_(buf_done) struct buf text = buf_make(2 * LARGE_BYTES);
        const struct value *object;

        buf_addc(&text, head);
        for (int i = 0; text.n < bytes; i++)
                buf_addf(&text, "{\"name\":\"VARIABLE_%d\",\"value\":\"the value of number %d\"},", i, i);
        buf_addc(&text, tail);
        if (json_parse(buf_str(&text), a, &object, NULL) < 0)
                die("the object is no JSON");
        return object;
}

static void evaluate(const struct lua_call *call) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *result;
        struct err err;

        if (lua_script_run(call, a, &result, &err) < 0)
                die(err.msg);
}

static void measure(const char *name, const struct lua_call *call) {
        int64_t begin = now_ns(), taken;
        int64_t count = 0;

        do {
                for (int i = 0; i < 50; i++, count++)
                        evaluate(call);
                taken = now_ns() - begin;
        } while (taken < MEASURE_NS);
        printf("%-24s %9.0f a second %9.1f us each\n", name, (double)count * 1e9 / (double)taken,
               (double)taken / 1e3 / (double)count);
}

static struct lua_script *compile(const char *text) {
        struct lua_source source = { .text = str_from(text), .name = STR("bench.lua") };
        struct err err;
        struct lua_script *s = lua_script_new(&source, &err);

        if (!s)
                die(err.msg);
        return s;
}

static long resident_kib(void) {
        long pages = 0;
        FILE *f = fopen("/proc/self/statm", "r");

        if (!f || fscanf(f, "%*d %ld", &pages) != 1)
                die("/proc/self/statm cannot be read");
        fclose(f);
        return pages * (sysconf(_SC_PAGESIZE) / KIB);
}

int main(int argc, char **argv) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(lua_script_unrefp) struct lua_script *deployment = compile(rule), *nothing = compile("return nil");
        struct lua_call call = { .script = deployment, .object = object_of(0, a), .open_libs = true };
        int64_t rounds = 1000000;

        if (argc > 1 && !str_to_i64(str_from(argv[1]), &rounds))
                die("ROUNDS is no number");
        measure("Deployment", &call);
        call.object = object_of(LARGE_BYTES, a);
        measure("Deployment, 100 KiB", &call);
        call.object = NULL;
        call.script = nothing;
        measure("a state and nothing else", &call);

        call.object = object_of(0, a);
        call.script = deployment;
        for (int i = 0; i < 1000; i++)
                evaluate(&call);
        long before = resident_kib();
        for (int64_t i = 0; i < rounds; i++)
                evaluate(&call);
        printf("resident before and after %lld evaluations: %ld KiB, %ld KiB\n", (long long)rounds, before,
               resident_kib());
        return EXIT_SUCCESS;
}
