/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/admission.h"

#include <inttypes.h>

#include "sandbox/body.h"
#include "sandbox/codec.h"
#include "sandbox/status.h"

struct rule {
        const struct value *kinds, *operations, *namespaces; /* lists or NULL: all */
        struct str name, deny;
        struct str unless_set; /* JSON pointer; the rule applies when nothing is there */
        const struct value *patch;
};

struct rules {
        struct arena *arena;
        struct rule *items;
        size_t count;
};

/* ---- the document ---- */

static const struct {
        const char *key;
        enum value_kind kind;
} rule_keys[] = {
        { "deny", VALUE_STRING },       { "match", VALUE_MAP },         { "name", VALUE_STRING },
        { "patch", VALUE_LIST },        { "unlessSet", VALUE_STRING },
}, match_keys[] = {
        { "kinds", VALUE_LIST },        { "namespaces", VALUE_LIST },   { "operations", VALUE_LIST },
};

#define CHECK_KEYS(v, table, where, err) check_keys(v, (const void *)(table), ARRAY_LEN(table), where, err)

static int check_keys(const struct value *v, const void *table, size_t count, struct str where, struct err *err) {
        const typeof(rule_keys[0]) *keys = table;

        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];
                size_t k = 0;

                while (k < count && !str_eqc(m->key, keys[k].key))
                        k++;
                if (k == count)
                        return err_set(err, ERR_INVAL, "rule %.*s: unknown key %.*s", STR_FMT(where), STR_FMT(m->key));
                if (!value_is(m->value, keys[k].kind))
                        return err_set(err, ERR_INVAL, "rule %.*s: %s must be a %s", STR_FMT(where), keys[k].key,
                                       value_kind_name(keys[k].kind));
        }
        return 0;
}

static int read_rule(const struct value *v, size_t index, struct arena *a, struct rule *ret, struct err *err) {
        const struct value *match = value_getc(v, "match");
        struct str where = value_text(value_getc(v, "name"));

        if (where.n == 0)
                where = arena_strf(a, "%zu", index);
        if (!value_is(v, VALUE_MAP))
                return err_set(err, ERR_INVAL, "rule %.*s: must be a map", STR_FMT(where));
        int r = CHECK_KEYS(v, rule_keys, where, err);
        if (r == 0 && match)
                r = CHECK_KEYS(match, match_keys, where, err);
        if (r < 0)
                return r;
        *ret = (struct rule){
                .kinds = value_getc(match, "kinds"),
                .operations = value_getc(match, "operations"),
                .namespaces = value_getc(match, "namespaces"),
                .name = where,
                .deny = value_text(value_getc(v, "deny")),
                .unless_set = value_text(value_getc(v, "unlessSet")),
                .patch = value_getc(v, "patch"),
        };
        if (ret->deny.n == 0 && !ret->patch)
                return err_set(err, ERR_INVAL, "rule %.*s: needs deny or patch", STR_FMT(where));
        return 0;
}

void rules_free(struct rules *r) {
        if (!r)
                return;
        arena_free(r->arena);
        free(r->items);
        free(r);
}
DEFINE_CLEANUP(struct rules *, rules_free)

int sandbox_set_rules(struct sandbox *s, const struct value *document, struct err *err) {
        _cleanup_(rules_freep) struct rules *rules = mem_zalloc(sizeof *rules);
        const struct value *list;

        rules->arena = arena_new(0);
        document = document ? value_dup(rules->arena, document) : &value_empty_map;
        list = value_getc(document, "rules");
        if (value_is(document, VALUE_MAP) && document->map.count > (list != NULL))
                return err_set(err, ERR_INVAL, "rules: the document knows only the key rules");
        if (list && !value_is(list, VALUE_LIST))
                return err_set(err, ERR_INVAL, "rules: must be a list");
        rules->count = list ? list->list.count : 0;
        rules->items = mem_zalloc((rules->count + 1) * sizeof *rules->items);
        for (size_t i = 0; i < rules->count; i++) {
                int r = read_rule(list->list.items[i], i, rules->arena, &rules->items[i], err);
                if (r < 0)
                        return r;
        }
        rules_free(s->rules);
        s->rules = TAKE_PTR(rules);
        return 0;
}

/* ---- rules at work ---- */

static bool lists(const struct value *list, struct str text) {
        if (!list)
                return true;
        for (size_t i = 0; i < list->list.count; i++)
                if (str_eq(value_text(list->list.items[i]), text) || str_eqc(value_text(list->list.items[i]), "*"))
                        return true;
        return false;
}

static bool is_set(const struct value *v, struct str pointer) {
        struct str rest = pointer.n ? str_sub(pointer, 1, pointer.n) : pointer, token;

        while (v && str_next(&rest, '/', &token))
                v = value_get(v, token);
        return v != NULL;
}

static bool applies(const struct call *c, const struct rule *r, const char *operation, const struct value *object) {
        return lists(r->kinds, c->kind->resource->kind) && lists(r->operations, str_from(operation)) &&
               lists(r->namespaces, c->at.namespace) && !(r->unless_set.n && is_set(object, r->unless_set));
}

/* What a patch made is decoded and gets its defaults, as the object of a request did. */
static int read_again(struct call *c, const struct value **object, struct err *err) {
        int r = codec_decode(kind_type(c->kind), *object, c->kind->is_custom, c->a, object, NULL, err);

        if (r == 0)
                *object = body_default(c, *object);
        return r;
}

static int mutate(struct call *c, const char *operation, const struct value **object) {
        const struct rules *rules = c->s->rules;
        struct err err = { 0 };

        for (size_t i = 0; rules && i < rules->count; i++) {
                const struct rule *r = &rules->items[i];

                if (!r->patch || !applies(c, r, operation, *object))
                        continue;
                if (patch_json(*object, r->patch, c->a, object, &err) < 0 || read_again(c, object, &err) < 0)
                        return status_internal(c, "Internal error occurred: admission rule \"%.*s\": %s",
                                               STR_FMT(r->name), err.msg);
        }
        return 0;
}

static int deny(struct call *c, const char *operation, const struct value *object) {
        const struct rules *rules = c->s->rules;

        for (size_t i = 0; rules && i < rules->count; i++) {
                const struct rule *r = &rules->items[i];

                if (r->deny.n && applies(c, r, operation, object))
                        return status_refuse(c, 403, "Forbidden", NULL,
                                             "admission webhook \"%.*s\" denied the request: %.*s", STR_FMT(r->name),
                                             STR_FMT(r->deny));
        }
        return 0;
}

/* ---- what every server does ---- */

static int check_namespace(struct call *c) {
        struct shelf *shelf = store_shelf(c->s->store, (struct str){ 0 }, STR("namespaces"));
        struct version *namespace;

        if (c->at.namespace.n == 0)
                return 0;
        namespace = shelf_find(shelf, (struct str){ 0 }, c->at.namespace);
        if (!namespace)
                return status_not_found_named(c, (struct str){ 0 }, STR("namespaces"), c->at.namespace);
        if (!value_path(namespace->value, "metadata", "deletionTimestamp", NULL))
                return 0;
        const struct cause cause = {
                .reason = STR("NamespaceTerminating"),
                .message = arena_strf(c->a, "namespace %.*s is being terminated", STR_FMT(c->at.namespace)),
                .field = STR("metadata.namespace"),
        };
        return status_forbidden(c, c->at.name,
                                arena_strf(c->a,
                                           "unable to create new content in namespace %.*s because it is being "
                                           "terminated",
                                           STR_FMT(c->at.namespace)),
                                &cause);
}

/* A kind that is going away takes nothing new. */
static int check_crd(struct call *c) {
        struct shelf *shelf = store_shelf(c->s->store, STR("apiextensions.k8s.io"), STR("customresourcedefinitions"));
        struct version *crd = c->kind->is_custom ? shelf_find(shelf, (struct str){ 0 }, c->kind->crd) : NULL;

        if (!crd || !value_path(crd->value, "metadata", "deletionTimestamp", NULL))
                return 0;
        return status_forbidden(c, c->at.name,
                                STR("create not allowed while custom resource definition is terminating"), NULL);
}

static const struct value *toleration(const char *key, struct arena *a) {
        struct value_map_builder b = { 0 };

        value_map_add(&b, STR("effect"), value_stringc(a, "NoExecute"), 0);
        value_map_add(&b, STR("key"), value_stringc(a, key), 0);
        value_map_add(&b, STR("operator"), value_stringc(a, "Exists"), 0);
        value_map_add(&b, STR("tolerationSeconds"), value_int(a, 300, 0), 0);
        return value_map_end(&b, a, 0);
}

static bool tolerates(const struct value *list, const char *key) {
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                struct str k = value_text(value_getc(list->list.items[i], "key"));
                struct str effect = value_text(value_getc(list->list.items[i], "effect"));

                if ((str_eqc(k, key) || k.n == 0) && (str_eqc(effect, "NoExecute") || effect.n == 0))
                        return true;
        }
        return false;
}

/* DefaultTolerationSeconds. */
static const struct value *with_tolerations(const struct value *spec, struct arena *a) {
        static const char *const keys[] = { "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable" };
        const struct value *old = value_getc(spec, "tolerations");
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                value_list_add(&list, old->list.items[i]);
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                if (!tolerates(old, keys[i]))
                        value_list_add(&list, toleration(keys[i], a));
        if (list.count == value_count(old)) {
                value_list_drop(&list);
                return spec;
        }
        return value_with(a, spec, STR("tolerations"), value_list_end(&list, a, 0));
}

static const struct value *find_priority_class(struct call *c, struct str name) {
        struct shelf *shelf = store_shelf(c->s->store, STR("scheduling.k8s.io"), STR("priorityclasses"));
        struct version *v = name.n ? shelf_find(shelf, (struct str){ 0 }, name) : NULL;

        for (size_t i = 0; !name.n && i < shelf->count; i++)
                if (value_truth(value_getc(shelf->items[i]->value, "globalDefault"), false))
                        v = shelf->items[i];
        return v ? v->value : NULL;
}

/* How a refusal calls what has no name yet. */
static struct str name_of(struct call *c, const struct value *object) {
        struct str name = meta_text(object, "name"), prefix = meta_text(object, "generateName");

        return c->at.name.n ? c->at.name : name.n ? name : prefix.n ? prefix : STR("Unknown");
}

/* Priority. The two classes of the system exist on every cluster. */
struct priority {
        int64_t number;
        struct str policy;
};

static int find_priority(struct call *c, const struct value *object, struct priority *ret) {
        struct str name = value_text(value_path(object, "spec", "priorityClassName", NULL));
        const struct value *class = find_priority_class(c, name);

        *ret = (struct priority){ .policy = value_text(value_getc(class, "preemptionPolicy")) };
        if (!ret->policy.n)
                ret->policy = STR("PreemptLowerPriority");
        ret->number = str_eqc(name, "system-node-critical")      ? 2000001000
                      : str_eqc(name, "system-cluster-critical") ? 2000000000
                                                                 : 0;
        if (name.n && !class && ret->number == 0)
                return status_forbidden(c, name_of(c, object),
                                        arena_strf(c->a, "no PriorityClass with name %.*s was found", STR_FMT(name)),
                                        NULL);
        value_to_i64(value_getc(class, "value"), &ret->number);
        return 0;
}

/* A Pod may tell what would be computed anyway. */
static int check_priority(struct call *c, const struct value *object, const struct priority *p) {
        const struct value *spec = value_getc(object, "spec");
        struct str policy = value_text(value_getc(spec, "preemptionPolicy"));
        int64_t number = p->number;

        value_to_i64(value_getc(spec, "priority"), &number);
        if (number != p->number)
                return status_forbidden(c, name_of(c, object),
                                        arena_strf(c->a,
                                                   "the integer value of priority (%" PRId64
                                                   ") must not be provided in pod spec; priority admission controller "
                                                   "computed %" PRId64 " from the given PriorityClass name",
                                                   number, p->number),
                                        NULL);
        if (policy.n && !str_eq(policy, p->policy))
                return status_forbidden(c, name_of(c, object),
                                        arena_strf(c->a,
                                                   "the string value of PreemptionPolicy (%.*s) must not be provided in "
                                                   "pod spec; priority admission controller computed %.*s from the given "
                                                   "PriorityClass name",
                                                   STR_FMT(policy), STR_FMT(p->policy)),
                                        NULL);
        return 0;
}

static const struct value *with_default_class(struct call *c, const struct value *spec) {
        const struct value *class = find_priority_class(c, (struct str){ 0 });

        if (!class || value_text(value_getc(spec, "priorityClassName")).n)
                return spec;
        return value_with(c->a, spec, STR("priorityClassName"), value_string(c->a, meta_text(class, "name"), 0));
}

static int complete_pod(struct call *c, const struct value **object) {
        const struct value *spec = value_getc(*object, "spec");
        struct priority p;

        if (!value_is(spec, VALUE_MAP))
                return 0;
        if (find_priority(c, *object, &p) < 0 || check_priority(c, *object, &p) < 0)
                return -1;
        spec = with_default_class(c, with_tolerations(spec, c->a));
        spec = value_with(c->a, spec, STR("priority"), value_int(c->a, p.number, 0));
        spec = value_with(c->a, spec, STR("preemptionPolicy"), value_string(c->a, p.policy, 0));
        *object = value_with(c->a, *object, STR("spec"), spec);
        return 0;
}

/* An update that leaves out what was filled in gets it again. */
static const struct value *complete_pod_again(struct call *c, const struct value *live, const struct value *object) {
        static const char *const kept[] = { "priority", "preemptionPolicy" };
        const struct value *spec = value_getc(object, "spec"), *before = value_getc(live, "spec");

        if (!value_is(spec, VALUE_MAP) || c->at.subresource.n)
                return object;
        spec = with_tolerations(spec, c->a);
        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
                if (!value_getc(spec, kept[i]) && value_getc(before, kept[i]))
                        spec = value_with(c->a, spec, str_from(kept[i]), value_getc(before, kept[i]));
        return value_with(c->a, object, STR("spec"), spec);
}

/* StorageObjectInUseProtection. */
static int protect(struct call *c, const struct value **object) {
        bool is_claim = str_eqc(c->kind->resource->kind, "PersistentVolumeClaim");
        const char *name = is_claim ? "kubernetes.io/pvc-protection" : "kubernetes.io/pv-protection";
        const struct value *old = value_path(*object, "metadata", "finalizers", NULL);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; value_is(old, VALUE_LIST) && i < old->list.count; i++)
                if (!str_eqc(value_text(old->list.items[i]), name))
                        value_list_add(&list, old->list.items[i]);
        value_list_add(&list, value_stringc(c->a, name));
        *object = meta_with(*object, "finalizers", value_list_end(&list, c->a, 0), c->a);
        return 0;
}

static const struct {
        const char *kind;
        int (*create)(struct call *c, const struct value **object);
} plugins[] = {
        { "Pod", complete_pod },
        { "PersistentVolume", protect },
        { "PersistentVolumeClaim", protect },
};

static int run_plugins(struct call *c, const struct value **object) {
        for (size_t i = 0; i < ARRAY_LEN(plugins); i++)
                if (c->kind->resource->group.n == 0 && str_eqc(c->kind->resource->kind, plugins[i].kind))
                        return plugins[i].create(c, object);
        return 0;
}

int admission_check(struct call *c, const struct value *live, const struct value **object) {
        const char *operation = live ? "UPDATE" : "CREATE";

        if (!live && (check_namespace(c) < 0 || check_crd(c) < 0 || run_plugins(c, object) < 0))
                return -1;
        if (live && c->kind->resource->group.n == 0 && str_eqc(c->kind->resource->kind, "Pod"))
                *object = complete_pod_again(c, live, *object);
        /* Controllers' own bookkeeping passes webhooks on a cluster too, but subresources seldom do. */
        if (c->at.subresource.n)
                return 0;
        return mutate(c, operation, object) < 0 || deny(c, operation, *object) < 0 ? -1 : 0;
}

int admission_check_delete(struct call *c, const struct value *live) {
        static const char *const immortal[] = { "default", "kube-system", "kube-public" };

        if (c->kind->resource->group.n == 0 && str_eqc(c->kind->resource->kind, "Namespace"))
                for (size_t i = 0; i < ARRAY_LEN(immortal); i++)
                        if (str_eqc(c->at.name, immortal[i]))
                                return status_forbidden(c, c->at.name, STR("this namespace may not be deleted"), NULL);
        return deny(c, "DELETE", live);
}
