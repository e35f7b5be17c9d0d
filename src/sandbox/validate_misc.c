/* SPDX-License-Identifier: Apache-2.0 */
/* Lease, PriorityClass, webhook configurations, APIService. */
#include "sandbox/validate_kinds.h"

#include <string.h>

void check_lease(struct check *c) {
        const struct value *spec = get(c->object, "spec");
        const struct at *at = AT(NULL, "spec");
        int64_t n = 0;

        if (value_to_i64(get(spec, "leaseDurationSeconds"), &n) && n <= 0)
                fault_invalid_int(c, AT(at, "leaseDurationSeconds"), n, "must be greater than 0");
        if (value_to_i64(get(spec, "leaseTransitions"), &n) && n < 0)
                fault_invalid_int(c, AT(at, "leaseTransitions"), n, "must be greater than or equal to 0");
        if (text_of(spec, "preferredHolder").n && !text_of(spec, "strategy").n)
                fault_forbidden(c, AT(at, "preferredHolder"), "may only be specified if `strategy` is defined");
}

void check_priority_class(struct check *c) {
        const struct value *policy = get(c->object, "preemptionPolicy");
        struct str name = text_of(get(c->object, "metadata"), "name");
        int64_t value = int_of(c->object, "value");

        if (c->live) {
                if (value != int_of(c->live, "value"))
                        fault_forbidden(c, AT(NULL, "value"), "may not be changed in an update.");
                check_immutable(c, AT(NULL, "preemptionPolicy"), policy, get(c->live, "preemptionPolicy"));
                return;
        }
        if (str_starts(name, STR("system-")))
                fault_forbidden(
                        c, AT(AT(NULL, "metadata"), "name"),
                        arena_strf(c->a,
                                   "priority class names with 'system-' prefix are reserved for system use only. "
                                   "error: %.*s is not a known system priority class",
                                   STR_FMT(name))
                                .p);
        else if (value > 1000000000)
                fault_forbidden(c, AT(NULL, "value"), "maximum allowed value of a user defined priority is 1000000000");
        if (policy && !str_eqc(value_text(policy), "PreemptLowerPriority") && !str_eqc(value_text(policy), "Never"))
                fault_unsupported(c, AT(NULL, "preemptionPolicy"), value_text(policy),
                                  "\"PreemptLowerPriority\", \"Never\"");
}

/* --- webhooks --- */

static bool has_star(const struct value *list) {
        for (EACH(i, list))
                if (str_eqc(value_text(item_of(list, i)), "*"))
                        return true;
        return false;
}

static void check_not_only_star(struct check *c, const struct at *at, const struct value *list, const char *what) {
        if (!list_count(list))
                fault_required(c, at, "");
        if (list_count(list) > 1 && has_star(list))
                fault_invalid(c, at, list, arena_strf(c->a, "if '*' is present, must not specify other %s", what).p);
}

static void check_hook_rule(struct check *c, const struct at *at, const struct value *rule) {
        static const char *const operations[] = { "*", "CONNECT", "CREATE", "DELETE", "UPDATE", NULL };
        static const char *const scopes[] = { "*", "Cluster", "Namespaced", NULL };
        const struct value *list = get(rule, "operations"), *resources = get(rule, "resources");
        const struct value *scope = get(rule, "scope");

        check_not_only_star(c, AT(at, "operations"), list, "operations");
        for (EACH(i, list))
                if (!is_one_of(value_text(item_of(list, i)), operations))
                        fault_unsupported(c, AT_INDEX(AT(at, "operations"), i), value_text(item_of(list, i)),
                                          "\"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"");
        check_not_only_star(c, AT(at, "apiGroups"), get(rule, "apiGroups"), "API groups");
        check_not_only_star(c, AT(at, "apiVersions"), get(rule, "apiVersions"), "API versions");
        if (!list_count(resources))
                fault_required(c, AT(at, "resources"), "");
        for (EACH(i, resources))
                if (!value_text(item_of(resources, i)).n)
                        fault_required(c, AT_INDEX(AT(at, "resources"), i), "");
        if (scope && !is_one_of(value_text(scope), scopes))
                fault_unsupported(c, AT(at, "scope"), value_text(scope), "\"*\", \"Cluster\", \"Namespaced\"");
}

static void check_hook_service(struct check *c, const struct at *at, const struct value *service) {
        int64_t port = int_of(service, "port");

        if (!text_of(service, "name").n)
                fault_required(c, AT(at, "name"), "");
        if (!text_of(service, "namespace").n)
                fault_required(c, AT(at, "namespace"), "");
        if (port < 1 || port > 65535)
                fault_invalid_int(c, AT(at, "port"), port, "port is not valid: must be between 1 and 65535, inclusive");
}

static void check_hook_url(struct check *c, const struct at *at, struct str url) {
        ptrdiff_t colon = str_find(url, ':', 0);
        struct str scheme = colon < 0 ? STR("") : str_sub(url, 0, (size_t)colon);

        if (!str_eqc(scheme, "https"))
                fault_invalid_str(c, at, scheme,
                                  "'https' is the only allowed URL scheme; desired format: https://host[/path]");
        if (!str_contains(url, STR("://")))
                fault_invalid_str(c, at, STR(""), "host must be specified; desired format: https://host[/path]");
}

static void check_hook_name(struct check *c, const struct at *at, struct str name) {
        size_t dots = 0;

        for (size_t i = 0; i < name.n; i++)
                dots += name.p[i] == '.';
        if (!name.n)
                fault_required(c, at, "");
        else if (!text_keeps(TEXT_DNS_SUBDOMAIN, name))
                check_text_joined(c, at, TEXT_DNS_SUBDOMAIN, name, ",");
        else if (dots < 2)
                fault_invalid_str(c, at, name, "should be a domain with at least three segments separated by dots");
}

static void check_choice(struct check *c, const struct at *at, const struct value *v, const char *const *names,
                         const char *listed) {
        if (v && !is_one_of(value_text(v), names))
                fault_unsupported(c, at, value_text(v), listed);
}

static void check_client(struct check *c, const struct at *at, const struct value *client) {
        const struct value *url = get(client, "url"), *service = get(client, "service");

        if ((url == NULL) == (service == NULL))
                fault_required(c, at, "exactly one of url or service is required");
        else if (url)
                check_hook_url(c, AT(at, "url"), value_text(url));
        else
                check_hook_service(c, AT(at, "service"), service);
}

static void check_review_versions(struct check *c, const struct at *at, const struct value *versions) {
        bool known = false;

        if (!list_count(versions)) {
                fault_required(c, at, "must specify one of v1, v1beta1");
                return;
        }
        for (EACH(i, versions)) {
                struct str s = value_text(item_of(versions, i));

                check_text(c, AT_INDEX(at, i), TEXT_DNS_1035_LABEL, s);
                known = known || str_eqc(s, "v1") || str_eqc(s, "v1beta1");
        }
        if (!known)
                fault_invalid(c, at, versions, "must include at least one of v1, v1beta1");
}

static void check_hook(struct check *c, const struct at *at, const struct value *hook) {
        static const char *const failure[] = { "Fail", "Ignore", NULL }, *const match[] = { "Equivalent", "Exact",
                                                                                            NULL };
        static const char *const effects[] = { "None", "NoneOnDryRun", NULL };
        const struct value *rules = get(hook, "rules");
        int64_t seconds = 0;

        check_hook_name(c, AT(at, "name"), text_of(hook, "name"));
        for (EACH(i, rules))
                check_hook_rule(c, AT_INDEX(AT(at, "rules"), i), item_of(rules, i));
        check_choice(c, AT(at, "failurePolicy"), get(hook, "failurePolicy"), failure, "\"Fail\", \"Ignore\"");
        check_choice(c, AT(at, "matchPolicy"), get(hook, "matchPolicy"), match, "\"Equivalent\", \"Exact\"");
        if (!get(hook, "sideEffects"))
                fault_required(c, AT(at, "sideEffects"), "must specify one of None, NoneOnDryRun");
        check_choice(c, AT(at, "sideEffects"), get(hook, "sideEffects"), effects, "\"None\", \"NoneOnDryRun\"");
        if (value_to_i64(get(hook, "timeoutSeconds"), &seconds) && (seconds < 1 || seconds > 30))
                fault_invalid_int(c, AT(at, "timeoutSeconds"), seconds,
                                  "the timeout value must be between 1 and 30 seconds");
        check_selector(c, AT(at, "namespaceSelector"), get(hook, "namespaceSelector"));
        check_selector(c, AT(at, "objectSelector"), get(hook, "objectSelector"));
        check_client(c, AT(at, "clientConfig"), get(hook, "clientConfig"));
}

void check_webhooks(struct check *c) {
        const struct value *hooks = get(c->object, "webhooks");

        for (EACH(i, hooks)) {
                const struct at *at = AT_INDEX(AT(NULL, "webhooks"), i);
                struct str name = text_of(item_of(hooks, i), "name");

                check_hook(c, at, item_of(hooks, i));
                check_review_versions(c, AT(at, "admissionReviewVersions"),
                                      get(item_of(hooks, i), "admissionReviewVersions"));
                for (size_t j = 0; name.n && j < i; j++)
                        if (str_eq(text_of(item_of(hooks, j), "name"), name)) {
                                fault_duplicate_str(c, AT(at, "name"), name);
                                break;
                        }
        }
}

/* --- APIService --- */

static void check_service_name(struct check *c, const struct value *spec) {
        static const struct meta_rules rules = { .name = TEXT_PATH_SEGMENT };
        const struct value *meta = get(c->object, "metadata");
        struct str name = text_of(meta, "name");
        struct str wanted =
                arena_strf(c->a, "%.*s.%.*s", STR_FMT(text_of(spec, "version")), STR_FMT(text_of(spec, "group")));

        if (name.n && text_keeps(TEXT_PATH_SEGMENT, name) && !str_eq(name, wanted))
                fault_invalid_str(
                        c, AT(AT(NULL, "metadata"), "name"), name,
                        arena_strf(c->a, "must be `spec.version+\".\"+spec.group`: %s", quoted(wanted, c->a).p).p);
        check_meta(c, meta, &rules, AT(NULL, "metadata"));
}

static void check_priority(struct check *c, const struct value *spec, const char *field, int64_t max) {
        int64_t n = int_of(spec, field);

        if (n <= 0 || n > max)
                fault_invalid_int(c, AT_STR(AT(NULL, "spec"), str_from(field)), n,
                                  arena_strf(c->a, "must be positive and less than %lld", (long long)max).p);
}

void check_api_service(struct check *c) {
        const struct value *spec = get(c->object, "spec"), *service = get(spec, "service");
        const struct at *at = AT(NULL, "spec");

        check_service_name(c, spec);
        if (!text_of(spec, "group").n && !str_eqc(text_of(spec, "version"), "v1"))
                fault_required(c, AT(at, "group"), "only v1 may have an empty group and it better be legacy kube");
        if (text_of(spec, "group").n)
                check_text(c, AT(at, "group"), TEXT_DNS_SUBDOMAIN, text_of(spec, "group"));
        check_text(c, AT(at, "version"), TEXT_DNS_1035_LABEL, text_of(spec, "version"));
        check_priority(c, spec, "groupPriorityMinimum", 20000);
        check_priority(c, spec, "versionPriority", 1000);
        if (!service) {
                if (truth_of(spec, "insecureSkipTLSVerify"))
                        fault_invalid(c, AT(at, "insecureSkipTLSVerify"), &value_true,
                                      "local APIServices may not have insecureSkipTLSVerify");
                return;
        }
        if (!text_of(service, "namespace").n)
                fault_required(c, AT(AT(at, "service"), "namespace"), "");
        if (!text_of(service, "name").n)
                fault_required(c, AT(AT(at, "service"), "name"), "");
        if (truth_of(spec, "insecureSkipTLSVerify") && text_of(spec, "caBundle").n)
                fault_invalid(c, AT(at, "insecureSkipTLSVerify"), &value_true,
                              "may not be true if caBundle is present");
}
