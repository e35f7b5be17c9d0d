/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/bind.h"

#include "manifest/duplicates_impl.h"
#include "manifest/order.h"

struct binder {
        const struct manifest_set *set;
        const struct manifest_binding *b;
        struct arena *a;
        struct object_list objects, parked, refused;
        struct problem_list errors, warnings;
};

/* What a kind's namespace is to be, NULL for none; false when there is none to be had. */
static const struct value *with_namespace(const struct manifest_object *o, struct str ns, struct arena *a) {
        static const struct str path[] = { { "metadata", 8 }, { "namespace", 9 } };
        const struct value *now = value_path(o->value, "metadata", "namespace", NULL);

        if (now ? str_eq(value_text(now), ns) && ns.n > 0 : ns.n == 0)
                return o->value;
        return value_with_path(a, o->value, path, ARRAY_LEN(path), ns.n ? value_string(a, ns, 0) : NULL);
}

int manifest_bind_scope(const struct manifest_object *in, bool namespaced, const struct manifest_binding *b,
                        struct arena *a, struct manifest_object *ret_object, bool *ret_warned, struct err *err) {
        struct manifest_object o = *in;

        if (namespaced && o.ns.n == 0)
                o.ns = b->default_namespace;
        if (namespaced && o.ns.n == 0)
                return err_set(err, ERR_INVAL, "it needs a namespace, and the application has no destination namespace "
                                               "(destination.namespace, or --namespace)");
        if (!namespaced)
                o.ns = (struct str){ 0 };
        if (ret_warned)
                *ret_warned = !namespaced && in->ns.n > 0;

        o.value = with_namespace(&o, o.ns, a);
        if (b->tracking)
                o.value = tracking_mark(b->tracking, o.value, a);
        o.id = manifest_id(o.group, o.kind, o.ns, o.name, a);
        o.canonical = value_canonical(a, o.value);
        o.bound = true;
        o.namespaced = namespaced;
        *ret_object = o;
        return 0;
}

/* The scope that a CRD in the set gives to a kind. */
static enum manifest_scope scope_in_set(const struct manifest_set *set, const struct manifest_object *o) {
        for (size_t i = 0; i < set->object_count; i++) {
                const struct manifest_object *crd = &set->objects[i];
                const struct value *spec = value_getc(crd->value, "spec");

                if (!manifest_is_crd(crd->group, crd->kind) || !str_eq(value_text(value_getc(spec, "group")), o->group) ||
                    !str_eq(value_text(value_path(spec, "names", "kind", NULL)), o->kind))
                        continue;
                return str_eqc(value_text(value_getc(spec, "scope")), "Namespaced") ? MANIFEST_SCOPE_NAMESPACED
                                                                                    : MANIFEST_SCOPE_CLUSTER;
        }
        return MANIFEST_SCOPE_UNKNOWN;
}

static enum manifest_scope served_scope(const struct binder *k, const struct manifest_object *o) {
        return k->b->scope(k->b->ctx, o->group, o->version, o->kind);
}

static void refuse_at(struct binder *k, const struct manifest_object *o, uint32_t line, const struct err *err) {
        problem_list_add(&k->errors, (struct manifest_problem){
                .code = err->code,
                .file = o->file,
                .line = line,
                .object = manifest_title(o, k->a),
                .message = arena_str(k->a, str_from(err->msg)),
        });
        object_list_add(&k->refused, o);
}

static void refuse(struct binder *k, const struct manifest_object *o, const struct err *err) {
        refuse_at(k, o, o->line, err);
}

/* Is there an annotation that cannot be read? `in` has the lines. */
static bool refuse_annotation(struct binder *k, const struct manifest_object *in, const struct manifest_object *o) {
        struct str path[] = { STR("metadata"), STR("annotations"), STR("") };
        const char *key = NULL;
        struct err err;

        if (!k->b->check || k->b->check(in->value, &key, &err) == 0)
                return false;
        path[2] = str_from(key);
        refuse_at(k, o, manifest_line_of(in, (struct pointer){ path, ARRAY_LEN(path) }), &err);
        return true;
}

static void warn_namespace(struct binder *k, const struct manifest_object *o) {
        static const struct str path[] = { { "metadata", 8 }, { "namespace", 9 } };

        problem_list_add(&k->warnings, (struct manifest_problem){
                .file = o->file,
                .line = manifest_line_of(o, (struct pointer){ path, ARRAY_LEN(path) }),
                .object = manifest_title(o, k->a),
                .message = STR("metadata.namespace is left out, the kind is cluster-scoped"),
        });
}

static void warn_excluded(struct binder *k, const struct manifest_object *o) {
        problem_list_add(&k->warnings, (struct manifest_problem){
                .file = o->file,
                .line = o->line,
                .object = manifest_title(o, k->a),
                .message = STR("its kind is excluded by the configuration: left alone"),
        });
}

/* Puts one object of the set where it belongs; those without a scope stay unbound among `objects` until they are parted. */
static void bind_object(struct binder *k, const struct manifest_object *in) {
        enum manifest_scope scope = served_scope(k, in);
        struct manifest_binding without_marks = *k->b;
        struct manifest_object o;
        struct err err;
        bool warned;

        if (scope == MANIFEST_SCOPE_UNKNOWN)
                scope = scope_in_set(k->set, in);
        if (scope == MANIFEST_SCOPE_UNKNOWN) {
                object_list_add(&k->objects, in);
                return;
        }
        without_marks.tracking = NULL;
        if (manifest_bind_scope(in, scope == MANIFEST_SCOPE_NAMESPACED, in->along ? &without_marks : k->b, k->a, &o, &warned,
                                &err) < 0) {
                refuse(k, in, &err);
                return;
        }
        if (warned)
                warn_namespace(k, in);
        if (k->b->protection && manifest_is_excluded(&k->b->protection->filter, o.group, o.kind)) {
                o.skip_reconcile = true;
                warn_excluded(k, &o);
        }
        if (k->b->protection && !o.skip_reconcile && manifest_check_protected(&o, k->b->protection, &err) < 0)
                refuse(k, &o, &err);
        else if (!refuse_annotation(k, in, &o))
                object_list_add(&k->objects, &o);
}

/* Refused already, but its key is wanted. */
static void bind_refused(struct binder *k, const struct manifest_object *in) {
        enum manifest_scope scope = served_scope(k, in);
        struct manifest_object o = *in;

        if (scope == MANIFEST_SCOPE_UNKNOWN)
                scope = scope_in_set(k->set, in);
        if (scope != MANIFEST_SCOPE_UNKNOWN)
                manifest_bind_scope(in, scope == MANIFEST_SCOPE_NAMESPACED, k->b, k->a, &o, NULL, NULL);
        object_list_add(&k->refused, &o);
}

/* Takes what is not served out of `objects`. */
static void part_parked(struct binder *k) {
        size_t kept = 0;

        for (size_t i = 0; i < k->objects.count; i++) {
                struct manifest_object *o = &k->objects.items[i];

                if (served_scope(k, o) == MANIFEST_SCOPE_UNKNOWN)
                        object_list_add(&k->parked, o);
                else
                        k->objects.items[kept++] = *o;
        }
        k->objects.count = kept;
}

static void sort(struct object_list *l) {
        if (l->count > 1)
                qsort(l->items, l->count, sizeof(*l->items), manifest_apply_cmp);
}

struct manifest_bound *manifest_bind(const struct manifest_set *set, const struct manifest_binding *b) {
        struct manifest_bound *bound = mem_zalloc(sizeof(*bound));
        struct binder k = { .set = set, .b = b, .a = arena_new(0) };

        for (size_t i = 0; i < set->object_count; i++)
                bind_object(&k, &set->objects[i]);
        for (size_t i = 0; i < set->refused_count; i++)
                bind_refused(&k, &set->refused[i]);
        settle_duplicates(&k.objects, &k.refused, b->default_namespace, &k.errors, &k.warnings, k.a);
        part_parked(&k);
        sort(&k.objects);
        sort(&k.parked);
        sort(&k.refused);

        *bound = (struct manifest_bound){
                .objects = k.objects.items,   .object_count = k.objects.count,
                .parked = k.parked.items,     .parked_count = k.parked.count,
                .refused = k.refused.items,   .refused_count = k.refused.count,
                .errors = k.errors.items,     .error_count = k.errors.count,
                .warnings = k.warnings.items, .warning_count = k.warnings.count,
                .arena = k.a,
        };
        return bound;
}

void manifest_bound_free(struct manifest_bound *bound) {
        if (!bound)
                return;
        free(bound->objects);
        free(bound->parked);
        free(bound->refused);
        free(bound->errors);
        free(bound->warnings);
        arena_free(bound->arena);
        free(bound);
}
