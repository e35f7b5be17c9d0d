/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of things: a creation checks the kind's own rules (which begin with its names), and the general metadata
 * only when these hold; an update the general metadata first. Then come the generated rules' findings, and equal ones
 * are merged where the server does so.
 */
#include "sandbox/validate.h"

#include <string.h>

#include "sandbox/validate_kinds.h"

struct str causes_message(const struct causes *c, struct str kind, struct str group, struct str name) {
        struct arena *a = c->arena;
        struct str all = STR(""), title;
        size_t count = 0;

        for (size_t i = 0; i < c->count; i++) {
                const struct cause *item = &c->items[i];
                bool seen = false;

                for (size_t j = 0; j < i && !seen; j++)
                        seen = str_eq(c->items[j].field, item->field) && str_eq(c->items[j].message, item->message);
                if (seen)
                        continue;
                all = arena_strf(a, "%.*s%s%.*s: %.*s", STR_FMT(all), count ? ", " : "", STR_FMT(item->field),
                                 STR_FMT(item->message));
                count++;
        }
        title = group.n ? arena_strf(a, "%.*s.%.*s", STR_FMT(kind), STR_FMT(group)) : kind;
        if (!count)
                return arena_strf(a, "%.*s %s is invalid", STR_FMT(title), quoted(name, a).p);
        return arena_strf(a, count > 1 ? "%.*s %s is invalid: [%.*s]" : "%.*s %s is invalid: %.*s", STR_FMT(title),
                          quoted(name, a).p, STR_FMT(all));
}

static void merge_equal(struct causes *c) {
        size_t kept = 0;

        for (size_t i = 0; i < c->count; i++) {
                bool seen = false;

                for (size_t j = 0; j < kept && !seen; j++)
                        seen = str_eq(c->items[j].field, c->items[i].field) &&
                               str_eq(c->items[j].message, c->items[i].message);
                if (!seen)
                        c->items[kept++] = c->items[i];
        }
        c->count = kept;
}

static struct str group_of(struct str api_version) {
        ptrdiff_t slash = str_find(api_version, '/', 0);

        return slash < 0 ? STR("") : str_sub(api_version, 0, (size_t)slash);
}

static const struct kind_rules *kind_find(struct str group, struct str kind) {
        for (const struct kind_rules *k = kinds_table; k->kind; k++)
                if (str_eqc(kind, k->kind) && str_eqc(group, k->group))
                        return k;
        return NULL;
}

static const struct value *meta_of(const struct value *object) {
        return get(object, "metadata");
}

static void check_generally(struct check *c, bool namespaced) {
        const struct meta_rules rules = { .name = TEXT_PATH_SEGMENT, .namespaced = namespaced };

        check_meta(c, meta_of(c->object), &rules, AT(NULL, "metadata"));
}

/* Names without a domain are Kubernetes' own. */
static void check_finalizers_known(struct check *c, const struct kind_rules *k) {
        static const char *const standard[] = { "kubernetes", "orphan", "foregroundDeletion", NULL };
        const struct value *list = get(meta_of(c->object), "finalizers");

        for (size_t i = 0; !k->any_finalizer && i < list_count(list); i++) {
                struct str s = value_text(item_of(list, i));

                if (str_find(s, '/', 0) < 0 && !is_one_of(s, standard))
                        fault_invalid_str(c, AT_INDEX(AT(AT(NULL, "metadata"), "finalizers"), i), s,
                                          "name is neither a standard finalizer name nor is it fully qualified");
        }
}

static void check_creation(struct check *c, const struct kind_rules *k) {
        size_t before = c->out->count;

        if (!k->names_itself) {
                check_meta(c, meta_of(c->object), &k->meta, AT(NULL, "metadata"));
                check_finalizers_known(c, k);
        }
        if (k->check)
                k->check(c);
        if (c->out->count == before && c->late.count == 0)
                check_generally(c, k->meta.namespaced);
}

static void check_metas_change(struct check *c) {
        check_meta_update(c, meta_of(c->object), meta_of(c->live), AT(NULL, "metadata"));
}

static void check_update(struct check *c, const struct kind_rules *k, const char *subresource) {
        bool is_status = subresource && strcmp(subresource, "status") == 0;

        check_generally(c, k->meta.namespaced);
        check_metas_change(c);
        if (!k->merges)
                check_metas_change(c);
        check_finalizers_known(c, k);
        if (is_status)
                check_status(c);
        else if (k->check)
                k->check(c);
}

static void check_scale(struct check *c) {
        int64_t replicas = int_of(get(c->object, "spec"), "replicas");

        if (replicas < 0)
                late_invalid(c, AT(AT(NULL, "spec"), "replicas"), value_int(c->a, replicas, 0),
                             "must be greater than or equal to 0");
}

static void check_odd(struct check *c) {
        if (c->live) {
                check_generally(c, text_of(meta_of(c->object), "namespace").n > 0);
                check_metas_change(c);
        }
        check_custom_odd(c);
}

static void check_kind(struct check *c, const char *subresource) {
        static const struct kind_rules unknown = { .meta = { .name = TEXT_DNS_SUBDOMAIN },
                                                   .merges = true,
                                                   .any_finalizer = true };
        const struct kind_rules *k = kind_find(group_of(c->api_version), c->kind);
        struct kind_rules other = unknown;

        if (subresource && strcmp(subresource, "scale") == 0) {
                check_scale(c);
                return;
        }
        if (!k) {
                other.meta.namespaced = text_of(meta_of(c->object), "namespace").n > 0;
                other.check = c->type && c->type->rules ? check_custom : NULL;
                other.merges = !other.check;
                k = &other;
        }
        if (c->live)
                check_update(c, k, subresource);
        else
                check_creation(c, k);
        if (k->merges)
                merge_equal(c->out);
}

static struct check check_of(const struct type *t, struct str api_version, struct str kind, const struct value *live,
                             const struct value *object, struct causes *found) {
        return (struct check){
                .out = found,
                .late = { .arena = found->arena },
                .a = found->arena,
                .type = t,
                .api_version = api_version,
                .kind = kind,
                .object = object,
                .live = live,
        };
}

static void give(struct check *c, struct causes *out) {
        causes_append(out, c->out);
        causes_append(out, &c->late);
        causes_done(c->out);
        causes_done(&c->late);
}

void codec_validate(const struct type *t, struct str api_version, struct str kind, const struct value *live,
                    const struct value *object, const char *subresource, const struct causes *scale,
                    struct causes *out) {
        struct causes found = { .arena = out->arena };
        struct check c = check_of(t, api_version, kind, live, object, &found);

        c.scale = scale;
        check_kind(&c, subresource);
        give(&c, out);
}

void codec_validate_odd(const struct type *t, struct str api_version, struct str kind, const struct value *live,
                        const struct value *object, struct causes *out) {
        struct causes found = { .arena = out->arena };
        struct check c = check_of(t, api_version, kind, live, object, &found);

        check_odd(&c);
        give(&c, out);
}
