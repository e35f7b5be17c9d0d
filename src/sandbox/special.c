/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints that are no objects: a Pod's binding and eviction, tokens, namespaces' finalize, and the reviews, which say
 * yes to everybody (there is no RBAC here).
 */
#include <inttypes.h>

#include "base/duration.h"
#include "sandbox/body.h"
#include "sandbox/codec.h"
#include "sandbox/serve.h"
#include "sandbox/status.h"
#include "sandbox/write.h"

/* ---- Pod: binding ---- */

static const struct value *with_scheduled(struct call *c, const struct value *pod) {
        static const struct str path[] = { { "status", 6 }, { "conditions", 10 } };
        const struct value *old = value_path(pod, "status", "conditions", NULL);
        struct value_list_builder list = { 0 };
        struct value_map_builder b = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                if (!str_eqc(value_text(value_getc(old->list.items[i], "type")), "PodScheduled"))
                        value_list_add(&list, old->list.items[i]);
        value_map_add(&b, STR("type"), value_stringc(c->a, "PodScheduled"), 0);
        value_map_add(&b, STR("status"), value_stringc(c->a, "True"), 0);
        value_map_add(&b, STR("lastProbeTime"), &value_null, 0);
        value_map_add(&b, STR("lastTransitionTime"), value_string(c->a, c->now, 0), 0);
        value_list_add(&list, value_map_end(&b, c->a, 0));
        return value_with_path(c->a, pod, path, 2, value_list_end(&list, c->a, 0));
}

static int refuse_binding(struct call *c, struct str why) {
        return status_conflict(c, (struct str){ 0 }, STR("pods/binding"), c->at.name, why);
}

static int check_binding(struct call *c, const struct value *pod) {
        struct str node = value_text(value_path(pod, "spec", "nodeName", NULL));

        if (value_path(pod, "metadata", "deletionTimestamp", NULL))
                return refuse_binding(c, arena_strf(c->a, "pod %.*s is being deleted, cannot be assigned to a host",
                                                    STR_FMT(c->at.name)));
        if (node.n)
                return refuse_binding(c, arena_strf(c->a, "pod %.*s is already assigned to node \"%.*s\"",
                                                    STR_FMT(c->at.name), STR_FMT(node)));
        return 0;
}

static void answer_success(struct call *c) {
        answer_json(
                c, 201,
                STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"code\":201}"));
}

void serve_bind(struct call *c, struct version *live, struct str node) {
        static const struct str path[] = { { "spec", 4 }, { "nodeName", 8 } };
        const struct value *pod = value_with_path(c->a, live->value, path, 2, value_string(c->a, node, 0));

        c->at.subresource = STR("binding");
        version_unref(write_store(c, live, with_scheduled(c, pod)));
}

static void serve_binding(struct call *c) {
        const struct value *binding;

        if (serve_write_options(c, "CreateOptions", false) < 0 || body_parse(c, &binding) < 0)
                return;
        struct str node = value_text(value_path(binding, "target", "name", NULL));
        struct version *live = serve_live(c);
        if (!live || check_binding(c, live->value) < 0)
                return;
        if (node.n == 0) {
                status_internal(c, "target.name: Required value");
                return;
        }
        serve_bind(c, live, node);
        answer_success(c);
}

/* ---- Pod: eviction ---- */

/* The budget that forbids it, or NULL. */
static const struct value *blocking_budget(struct call *c, const struct value *pod) {
        const struct shelf *shelf = store_shelf(c->s->store, STR("policy"), STR("poddisruptionbudgets"));
        const struct value *labels = value_path(pod, "metadata", "labels", NULL);
        size_t from, to;

        shelf_range(shelf, c->at.namespace, &from, &to);
        for (size_t i = from; i < to; i++) {
                const struct value *budget = shelf->items[i]->value;
                int64_t allowed = 0;

                value_to_i64(value_path(budget, "status", "disruptionsAllowed", NULL), &allowed);
                if (label_selector_matches(value_path(budget, "spec", "selector", NULL), labels) && allowed <= 0)
                        return budget;
        }
        return NULL;
}

static int refuse_eviction(struct call *c, const struct value *budget) {
        int64_t desired = 0, current = 0;

        value_to_i64(value_path(budget, "status", "desiredHealthy", NULL), &desired);
        value_to_i64(value_path(budget, "status", "currentHealthy", NULL), &current);
        const struct cause cause = {
                .reason = STR("DisruptionBudget"),
                .message = arena_strf(
                        c->a, "The disruption budget %.*s needs %" PRId64 " healthy pods and has %" PRId64 " currently",
                        STR_FMT(meta_text(budget, "name")), desired, current),
        };

        return status_too_many(c, STR("Cannot evict pod as it would violate the pod's disruption budget."), &cause);
}

static bool is_over(const struct value *pod) {
        struct str phase = value_text(value_path(pod, "status", "phase", NULL));

        return str_eqc(phase, "Succeeded") || str_eqc(phase, "Failed") || str_eqc(phase, "Pending");
}

static void serve_eviction(struct call *c) {
        const struct value *eviction;
        bool is_gone;

        if (serve_write_options(c, "CreateOptions", false) < 0 || body_parse(c, &eviction) < 0)
                return;
        const struct value *options = value_getc(eviction, "deleteOptions");
        const struct value *uid = value_path(options, "preconditions", "uid", NULL);
        struct delete_options o = { .uid = value_text(uid), .has_uid = uid != NULL };
        o.has_grace = value_to_i64(value_getc(options, "gracePeriodSeconds"), &o.grace_s);
        struct version *live = serve_live(c);
        if (!live)
                return;
        const struct value *budget = is_over(live->value) ? NULL : blocking_budget(c, live->value);
        c->dry_run |= value_count(value_getc(options, "dryRun")) > 0;
        if (budget)
                refuse_eviction(c, budget);
        else if (write_delete(c, live, &o, &is_gone, NULL) == 0)
                answer_success(c);
}

/* ---- ServiceAccount: token ---- */

static const struct value *token_metadata(struct call *c, const struct value *account) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("name"), value_string(c->a, c->at.name, 0), 0);
        value_map_add(&b, STR("namespace"), value_string(c->a, c->at.namespace, 0), 0);
        value_map_add(&b, STR("uid"), value_path(account, "metadata", "uid", NULL), 0);
        value_map_add(&b, STR("creationTimestamp"), value_string(c->a, c->now, 0), 0);
        return value_map_end(&b, c->a, 0);
}

/* A token that nobody checks: who talks to a sandbox may do everything. */
static void serve_token(struct call *c) {
        static const struct str seconds_path[] = { { "spec", 4 }, { "expirationSeconds", 17 } };
        static const struct str token_path[] = { { "status", 6 }, { "token", 5 } };
        static const struct str expiry_path[] = { { "status", 6 }, { "expirationTimestamp", 19 } };
        const struct value *request;
        int64_t seconds = 3600;

        if (body_parse(c, &request) < 0)
                return;
        struct version *live = serve_live(c);
        if (!live)
                return;
        value_to_i64(value_path(request, "spec", "expirationSeconds", NULL), &seconds);
        struct str expiry = rfc3339(loop_wall_ms(c->s->loop) + duration_of_seconds(seconds), c->a);
        struct str token = arena_strf(c->a, "sandbox:%.*s:%.*s", STR_FMT(c->at.namespace), STR_FMT(c->at.name));
        request = value_with(c->a, request, STR("apiVersion"), value_stringc(c->a, "authentication.k8s.io/v1"));
        request = value_with(c->a, request, STR("kind"), value_stringc(c->a, "TokenRequest"));
        request = value_with(c->a, request, STR("metadata"), token_metadata(c, live->value));
        request = value_with_path(c->a, request, seconds_path, 2, value_int(c->a, seconds, 0));
        request = value_with_path(c->a, request, token_path, 2, value_string(c->a, token, 0));
        request = value_with_path(c->a, request, expiry_path, 2, value_string(c->a, expiry, 0));
        serve_value(c, 201, request);
}

/* ---- reviews ---- */

static const struct value *user_info(struct call *c) {
        struct value_list_builder groups = { 0 };
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < c->req->group_count; i++)
                value_list_add(&groups, value_string(c->a, query_text(c->req->groups[i], c->a), 0));
        value_list_add(&groups, value_stringc(c->a, "system:authenticated"));
        value_map_add(&b, STR("username"), value_string(c->a, c->user, 0), 0);
        value_map_add(&b, STR("groups"), value_list_end(&groups, c->a, 0), 0);
        return value_with(c->a, NULL, STR("userInfo"), value_map_end(&b, c->a, 0));
}

static const struct value *all_rules(struct call *c) {
        struct value_list_builder star = { 0 }, list = { 0 };
        struct value_map_builder rule = { 0 }, status = { 0 };

        value_list_add(&star, value_stringc(c->a, "*"));
        const struct value *any = value_list_end(&star, c->a, 0);
        value_map_add(&rule, STR("verbs"), any, 0);
        value_map_add(&rule, STR("apiGroups"), any, 0);
        value_map_add(&rule, STR("resources"), any, 0);
        value_list_add(&list, value_map_end(&rule, c->a, 0));
        value_map_add(&status, STR("resourceRules"), value_list_end(&list, c->a, 0), 0);
        value_map_add(&status, STR("nonResourceRules"), &value_empty_list, 0);
        value_map_add(&status, STR("incomplete"), &value_false, 0);
        return value_map_end(&status, c->a, 0);
}

static void serve_review(struct call *c) {
        struct str kind = c->kind->resource->kind;
        const struct value *review, *status;

        if (body_object(c, kind_type(c->kind), c->kind->api_version, kind, &review) < 0)
                return;
        if (str_eqc(kind, "SelfSubjectReview"))
                status = user_info(c);
        else if (str_eqc(kind, "SelfSubjectRulesReview"))
                status = all_rules(c);
        else if (str_eqc(kind, "TokenReview"))
                status = value_with(c->a, value_with(c->a, user_info(c), STR("user"), &value_null),
                                    STR("authenticated"), &value_false);
        else
                status = value_with(c->a, NULL, STR("allowed"), &value_true);
        review = write_managed(c, NULL, review);
        if (!value_getc(review, "metadata"))
                review = value_with(c->a, review, STR("metadata"), &value_empty_map);
        if (str_eqc(kind, "SelfSubjectReview"))
                review = meta_with_text(review, "creationTimestamp", c->now, c->a);
        serve_value(c, 201, value_with(c->a, review, STR("status"), status));
}

/* Nothing was ever written by containers that never ran. */
static void serve_log(struct call *c) {
        struct version *live = serve_live(c);

        if (!live)
                return;
        c->reply->status = value_text(value_path(live->value, "spec", "nodeName", NULL)).n ? 200 : 204;
        c->reply->content_type = STR("text/plain");
        c->reply->body = STR("");
}

/* POST of a Binding to its own collection: the Pod's name is in it. */
static void serve_bindings(struct call *c) {
        const struct value *binding;

        if (body_parse(c, &binding) < 0)
                return;
        struct str name = meta_text(binding, "name");
        struct str namespace = c->at.namespace;
        write_aim(c, (struct str){ 0 }, STR("pods"), namespace, name);
        serve_binding(c);
}

static const struct {
        const char *subresource;
        void (*serve)(struct call *c);
} endpoints[] = {
        { "binding", serve_binding },
        { "eviction", serve_eviction },
        { "token", serve_token },
        { "log", serve_log },
};

void serve_special(struct call *c, enum kube_method method) {
        for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
                if (!str_eqc(c->at.subresource, endpoints[i].subresource))
                        continue;
                endpoints[i].serve(c);
                return;
        }
        if (c->at.subresource.n == 0 && method == KUBE_POST) {
                if (str_eqc(c->at.plural, "bindings"))
                        serve_bindings(c);
                else
                        serve_review(c);
                return;
        }
        /* exec, attach, portforward, proxy: there are no containers. */
        const struct status_details d = { .name = c->at.name, .kind = c->at.plural };
        status_refuse(c, 501, "NotImplemented", &d, "the sandbox runs no containers: %.*s/%.*s is not served",
                      STR_FMT(c->at.plural), STR_FMT(c->at.subresource));
}
