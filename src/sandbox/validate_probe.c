/* SPDX-License-Identifier: Apache-2.0 */
/* Probes and lifecycle hooks of containers. */
#include "sandbox/validate_pod.h"

static void check_exec(struct check *c, const struct at *at, const struct value *action,
                       const struct pod_context *pod) {
        (void)pod;
        if (!count_of(action, "command"))
                fault_required(c, AT(at, "command"), "");
}

static void check_http(struct check *c, const struct at *at, const struct value *action,
                       const struct pod_context *pod) {
        struct str scheme = text_of(action, "scheme");
        const struct value *headers = get(action, "httpHeaders");

        (void)pod;
        if (!text_of(action, "path").n)
                fault_required(c, AT(at, "path"), "");
        check_port_or_name(c, AT(at, "port"), get(action, "port"));
        if (!str_eqc(scheme, "HTTP") && !str_eqc(scheme, "HTTPS"))
                fault_unsupported(c, AT(at, "scheme"), scheme, "\"HTTP\", \"HTTPS\"");
        for (EACH(i, headers))
                check_text(c, AT(at, "httpHeaders"), TEXT_HEADER_NAME, text_of(item_of(headers, i), "name"));
}

static void check_tcp(struct check *c, const struct at *at, const struct value *action, const struct pod_context *pod) {
        (void)pod;
        check_port_or_name(c, AT(at, "port"), get(action, "port"));
}

static void check_sleep(struct check *c, const struct at *at, const struct value *action,
                        const struct pod_context *pod) {
        int64_t seconds = int_of(action, "seconds");

        if (pod->has_grace && (seconds < 0 || seconds > pod->grace_s))
                fault_invalid_int(c, at, seconds,
                                  arena_strf(c->a,
                                             "must be non-negative and less than terminationGracePeriodSeconds (%lld)",
                                             (long long)pod->grace_s)
                                          .p);
}

static void check_handler(struct check *c, const struct at *at, const struct value *handler,
                          const struct pod_context *pod) {
        static const struct {
                const char *field;
                void (*check)(struct check *c, const struct at *at, const struct value *action,
                              const struct pod_context *pod);
        } actions[] = {
                { "exec", check_exec }, { "httpGet", check_http }, { "tcpSocket", check_tcp },
                { "grpc", check_tcp },  { "sleep", check_sleep },
        };
        size_t found = 0;

        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
                const struct value *action = get(handler, actions[i].field);
                const struct at *action_at = AT_STR(at, str_from(actions[i].field));

                if (!action)
                        continue;
                if (found++)
                        fault_forbidden(c, action_at, "may not specify more than 1 handler type");
                else
                        actions[i].check(c, action_at, action, pod);
        }
        if (!found)
                fault_required(c, at, "must specify a handler type");
}

void check_probe(struct check *c, const struct at *at, const struct value *probe, enum probe_kind kind,
                 const struct pod_context *pod) {
        static const char *const numbers[] = { "initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                               "successThreshold", "failureThreshold" };
        const struct at *grace_at = AT(at, "terminationGracePeriodSeconds");
        int64_t grace = 0;
        bool has_grace = value_to_i64(get(probe, "terminationGracePeriodSeconds"), &grace);

        if (!probe)
                return;
        check_handler(c, at, probe, pod);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                check_nonnegative_field(c, at, probe, numbers[i]);
        if (has_grace && grace <= 0)
                fault_invalid_int(c, grace_at, grace, "must be greater than 0");
        if (kind == PROBE_READINESS) {
                if (has_grace)
                        fault_invalid_int(c, grace_at, grace, "must not be set for readinessProbes");
        } else if (int_of(probe, "successThreshold") != 1)
                fault_invalid_int(c, AT(at, "successThreshold"), int_of(probe, "successThreshold"), "must be 1");
}

void check_lifecycle(struct check *c, const struct at *at, const struct value *lifecycle,
                     const struct pod_context *pod) {
        if (get(lifecycle, "postStart"))
                check_handler(c, AT(at, "postStart"), get(lifecycle, "postStart"), pod);
        if (get(lifecycle, "preStop"))
                check_handler(c, AT(at, "preStop"), get(lifecycle, "preStop"), pod);
        if (get(lifecycle, "stopSignal") && !get(pod->spec, "os"))
                fault_forbidden(c, AT(at, "stopSignal"), "may not be set for containers with empty `spec.os.name`");
}
