/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults of pods and of what makes pods.
 */
#include <string.h>

#include "sandbox/default_impl.h"

/* --- images: what decides imagePullPolicy is the tag, as the container runtime would read it --- */

static bool is_lower_alnum(char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_word(char c) {
        return is_lower_alnum(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* a, a.b, a_b, a__b, a---b: runs of lower case and digits with one separator between them. */
static bool is_path_component(struct str s) {
        size_t i = 0;

        while (i < s.n) {
                size_t run = i;

                while (i < s.n && is_lower_alnum(s.p[i]))
                        i++;
                if (i == run)
                        return false;
                if (i == s.n)
                        return true;
                char c = s.p[i++];

                if (c == '-')
                        while (i < s.n && s.p[i] == '-')
                                i++;
                else if (c == '_' && i < s.n && s.p[i] == '_')
                        i++;
                else if (c != '.' && c != '_')
                        return false;
        }
        return false;
}

static bool is_tag(struct str s) {
        if (s.n == 0 || s.n > 128 || !is_word(s.p[0]))
                return false;
        for (size_t i = 1; i < s.n; i++)
                if (!is_word(s.p[i]) && s.p[i] != '.' && s.p[i] != '-')
                        return false;
        return true;
}

static bool is_domain(struct str s) {
        for (size_t i = 0; i < s.n; i++)
                if ((!is_word(s.p[i]) && !strchr(".-:[]", s.p[i])) || s.p[i] == '_')
                        return false;
        return s.n > 0 && s.p[0] != '-' && s.p[0] != '.' && s.p[s.n - 1] != ':';
}

static bool looks_like_domain(struct str s) {
        bool has_upper = false;

        for (size_t i = 0; i < s.n; i++)
                has_upper = has_upper || (s.p[i] >= 'A' && s.p[i] <= 'Z');
        return str_find(s, '.', 0) >= 0 || str_find(s, ':', 0) >= 0 || str_eqc(s, "localhost") || has_upper;
}

static bool is_digest(struct str s) {
        ptrdiff_t colon = str_find(s, ':', 0);

        if (colon < 1 || s.n - (size_t)colon - 1 < 32)
                return false;
        for (size_t i = (size_t)colon + 1; i < s.n; i++)
                if (!strchr("0123456789abcdefABCDEF", s.p[i]))
                        return false;
        return true;
}

static bool is_repository(struct str name) {
        ptrdiff_t slash = str_find(name, '/', 0);
        struct str rest = name, part;

        if (slash > 0 && looks_like_domain(str_sub(name, 0, (size_t)slash))) {
                if (!is_domain(str_sub(name, 0, (size_t)slash)))
                        return false;
                rest = str_sub(name, (size_t)slash + 1, name.n);
        }
        if (rest.n == 0 || rest.p[rest.n - 1] == '/')
                return false;
        while (str_next(&rest, '/', &part))
                if (!is_path_component(part))
                        return false;
        return true;
}

static bool image_is_latest(struct str image) {
        ptrdiff_t at = str_find(image, '@', 0);
        struct str name = at < 0 ? image : str_sub(image, 0, (size_t)at);
        size_t colon = name.n;

        if (at >= 0 && !is_digest(str_sub(image, (size_t)at + 1, image.n)))
                return false;
        while (colon > 0 && name.p[colon - 1] != ':' && name.p[colon - 1] != '/')
                colon--;
        bool has_tag = colon > 0 && name.p[colon - 1] == ':';
        struct str tag = has_tag ? str_sub(name, colon, name.n) : (struct str){ 0 };

        if (has_tag)
                name = str_sub(name, 0, colon - 1);
        if (!is_repository(name) || (has_tag && !is_tag(tag)))
                return false;
        return has_tag ? str_eqc(tag, "latest") : at < 0;
}

static const char *pull_policy(struct str image) {
        return image_is_latest(image) ? "Always" : "IfNotPresent";
}

/* --- pods --- */

/* Stop signals are behind a feature gate; a lifecycle of nothing else goes with them. */
static const struct value *without_stop_signal(const struct value *o, struct arena *a) {
        const struct value *lifecycle = value_getc(o, "lifecycle");

        if (!value_getc(lifecycle, "stopSignal"))
                return o;
        lifecycle = value_with(a, lifecycle, STR("stopSignal"), NULL);
        return value_with(a, o, STR("lifecycle"), value_count(lifecycle) ? lifecycle : NULL);
}

static const struct value *container(const struct value *o, struct arena *a) {
        o = without_stop_signal(o, a);
        o = default_set_text(o, "imagePullPolicy", pull_policy(value_text(value_getc(o, "image"))), a);
        o = default_set_text(o, "terminationMessagePath", "/dev/termination-log", a);
        return default_set_text(o, "terminationMessagePolicy", "File", a);
}

static const struct value *volume(const struct value *o, struct arena *a) {
        const struct value *image = value_getc(o, "image");

        if (o->map.count == 1)
                return value_with(a, o, STR("emptyDir"), &value_empty_map);
        if (!value_is(image, VALUE_MAP))
                return o;
        const char *policy = pull_policy(value_text(value_getc(image, "reference")));

        return value_with(a, o, STR("image"), default_set_text(image, "pullPolicy", policy, a));
}

static const struct value *pod_spec(const struct value *o, struct arena *a) {
        const struct value *account = value_getc(o, "serviceAccountName");

        if (!account)
                account = value_getc(o, "serviceAccount");
        if (!account)
                return o;
        o = value_with(a, o, STR("serviceAccountName"), account);
        return value_with(a, o, STR("serviceAccount"), account);
}

/* Requests that were left out are the limits. */
static const struct value *requests_from_limits(const struct value *resources, struct arena *a) {
        const struct value *limits = value_getc(resources, "limits"), *requests = value_getc(resources, "requests");
        const struct value *before = requests;

        for (size_t i = 0; i < value_count(limits); i++) {
                const struct value_member *m = &limits->map.members[i];

                if (!value_get(requests, m->key))
                        requests = value_with(a, requests, m->key, m->value);
        }
        return requests == before ? resources : value_with(a, resources, STR("requests"), requests);
}

static const struct value *container_of_pod(const struct value *o, struct arena *a) {
        return default_in(o, "resources", requests_from_limits, a);
}

static const struct value *host_port(const struct value *o, struct arena *a) {
        return default_set(o, "hostPort", value_getc(o, "containerPort"), a);
}

static const struct value *container_on_host(const struct value *o, struct arena *a) {
        return default_each(o, "ports", host_port, a);
}

/* What the containers ask for together, as far as that takes no sums: NULL when several of them ask. */
static const struct value *request_of_containers(const struct value *spec, struct str resource, unsigned *ret_asking) {
        const struct value *containers = value_getc(spec, "containers"), *found = NULL;

        *ret_asking = 0;
        for (size_t i = 0; i < value_count(containers); i++) {
                const struct value *one =
                        value_get(value_path(containers->list.items[i], "resources", "requests", NULL), resource);

                found = one ? one : found;
                *ret_asking += one != NULL;
        }
        return *ret_asking == 1 ? found : NULL;
}

/* Requests of the pod as a whole: those of its containers, else its limits. */
static const struct value *pod_requests(const struct value *spec, struct arena *a) {
        static const struct str path[] = { { "resources", 9 }, { "requests", 8 } };
        const struct value *limits = value_path(spec, "resources", "limits", NULL);
        const struct value *requests = value_path(spec, "resources", "requests", NULL), *before = requests;

        for (size_t i = 0; i < value_count(limits); i++) {
                const struct value_member *m = &limits->map.members[i];
                unsigned asking;
                const struct value *sum = request_of_containers(spec, m->key, &asking);

                if (!value_get(requests, m->key) && (sum || asking == 0))
                        requests = value_with(a, requests, m->key, sum ? sum : m->value);
        }
        return requests == before ? spec : value_with_path(a, spec, path, 2, requests);
}

static const struct value *spec_of_pod(const struct value *o, struct arena *a) {
        int64_t grace = 0;

        if (value_to_i64(value_getc(o, "terminationGracePeriodSeconds"), &grace) && grace < 0)
                o = value_with(a, o, STR("terminationGracePeriodSeconds"), value_int(a, 1, 0));
        o = default_each(o, "containers", container_of_pod, a);
        o = default_each(o, "initContainers", container_of_pod, a);
        o = pod_requests(o, a);
        if (!value_getc(o, "enableServiceLinks"))
                o = value_with(a, o, STR("enableServiceLinks"), &value_true);
        if (!value_truth(value_getc(o, "hostNetwork"), false))
                return o;
        o = default_each(o, "containers", container_on_host, a);
        return default_each(o, "initContainers", container_on_host, a);
}

static const struct value *pod(const struct value *o, struct arena *a) {
        return default_in(o, "spec", spec_of_pod, a);
}

/* podIP and podIPs say the same; the single one is right. */
static const struct value *pod_status(const struct value *o, struct arena *a) {
        const struct value *ip = value_getc(o, "podIP"), *ips = value_getc(o, "podIPs");
        const struct value *first = value_count(ips) ? value_getc(ips->list.items[0], "ip") : NULL;
        struct value_list_builder b = { 0 };

        if (!ip && first)
                return value_with(a, o, STR("podIP"), first);
        if (!ip || value_equal(ip, first))
                return o;
        value_list_add(&b, value_with(a, NULL, STR("ip"), ip));
        return value_with(a, o, STR("podIPs"), value_list_end(&b, a, 0));
}

/* --- what makes pods --- */

static const struct value *set_missing(const struct value *map, const char *key, const char *json, struct arena *a) {
        return value_getc(map, key) ? map : value_with(a, map, str_from(key), default_json(json, a));
}

/* Rolling updates unless said otherwise, with these numbers. */
static const struct value *rolling(const struct value *o, const char *unavailable, const char *surge, struct arena *a) {
        o = default_set_text(o, "type", "RollingUpdate", a);
        if (!default_text_is(o, "type", "RollingUpdate"))
                return o;
        const struct value *update = value_getc(o, "rollingUpdate");

        update = set_missing(update, "maxUnavailable", unavailable, a);
        return value_with(a, o, STR("rollingUpdate"), set_missing(update, "maxSurge", surge, a));
}

static const struct value *deployment_strategy(const struct value *o, struct arena *a) {
        return rolling(o, "\"25%\"", "\"25%\"", a);
}

/* Inside the server both numbers are always there, so under another type they become 0. */
static const struct value *spelt_out(const struct value *update, struct arena *a) {
        return set_missing(set_missing(update, "maxUnavailable", "0", a), "maxSurge", "0", a);
}

static const struct value *daemon_set_strategy(const struct value *o, struct arena *a) {
        return default_in(rolling(o, "1", "0", a), "rollingUpdate", spelt_out, a);
}

static const struct value *stateful_set_strategy(const struct value *o, struct arena *a) {
        const struct value *update = value_getc(o, "rollingUpdate");

        if (type_is_zero(value_getc(o, "type"))) {
                o = default_set_text(o, "type", "RollingUpdate", a);
                update = update ? update : &value_empty_map;
        }
        if (!update || !default_text_is(o, "type", "RollingUpdate"))
                return o;
        update = default_set_int(update, "partition", 0, a);
        update = default_set_int(update, "maxUnavailable", 1, a);
        return value_with(a, o, STR("rollingUpdate"), update);
}

static const struct value *claim_template(const struct value *o, struct arena *a) {
        o = value_with(a, o, STR("apiVersion"), value_stringc(a, "v1"));
        return value_with(a, o, STR("kind"), value_stringc(a, "PersistentVolumeClaim"));
}

static const struct value *stateful_set_spec(const struct value *o, struct arena *a) {
        return default_each(o, "volumeClaimTemplates", claim_template, a);
}

/* An object without labels takes those of its pods. */
static const struct value *labels_of_template(const struct value *o, const struct value *labels, struct arena *a) {
        static const struct str path[] = { { "metadata", 8 }, { "labels", 6 } };

        if (!value_count(labels) || value_count(value_path(o, "metadata", "labels", NULL)))
                return o;
        return value_with_path(a, o, path, 2, labels);
}

static const struct value *job_spec(const struct value *o, struct arena *a) {
        bool indexed = value_getc(o, "backoffLimitPerIndex") != NULL,
             policy = value_getc(o, "podFailurePolicy") != NULL;

        if (!value_getc(o, "parallelism"))
                o = default_set_int(o, "completions", 1, a);
        o = default_set_int(o, "parallelism", 1, a);
        o = default_set_int(o, "backoffLimit", indexed ? INT32_MAX : 6, a);
        o = default_set_pointer(o, "completionMode", "NonIndexed", a);
        o = default_set_pointer(o, "podReplacementPolicy", policy ? "Failed" : "TerminatingOrFailed", a);
        if (!value_getc(o, "suspend"))
                o = value_with(a, o, STR("suspend"), &value_false);
        if (!value_getc(o, "manualSelector"))
                o = value_with(a, o, STR("manualSelector"), &value_false);
        return o;
}

static const struct value *job(const struct value *o, struct arena *a) {
        o = default_in(o, "spec", job_spec, a);
        return labels_of_template(o, value_path(o, "spec", "template", "metadata", "labels", NULL), a);
}

static const struct value *replication_controller(const struct value *o, struct arena *a) {
        static const struct str path[] = { { "spec", 4 }, { "selector", 8 } };
        const struct value *labels = value_path(o, "spec", "template", "metadata", "labels", NULL);

        if (value_count(labels) && !value_count(value_path(o, "spec", "selector", NULL)))
                o = value_with_path(a, o, path, 2, labels);
        return labels_of_template(o, labels, a);
}

const struct default_rule default_rules_workload[] = {
        { "apps.v1.DaemonSetUpdateStrategy", daemon_set_strategy },
        { "apps.v1.DeploymentStrategy", deployment_strategy },
        { "apps.v1.StatefulSetSpec", stateful_set_spec },
        { "apps.v1.StatefulSetUpdateStrategy", stateful_set_strategy },
        { "batch.v1.Job", job },
        { "core.v1.Container", container },
        { "core.v1.EphemeralContainer", container },
        { "core.v1.Pod", pod },
        { "core.v1.PodSpec", pod_spec },
        { "core.v1.PodStatus", pod_status },
        { "core.v1.ReplicationController", replication_controller },
        { "core.v1.Volume", volume },
        { NULL, NULL },
};
