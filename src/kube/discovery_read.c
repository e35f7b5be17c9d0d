/* SPDX-License-Identifier: Apache-2.0 */
/* From discovery documents to sections. Strings go to the snapshot's arena, trees are dropped group by group. */
#include "kube/discovery_impl.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/split.h"
#include "base/value.h"

static const struct {
        const char *name;
        enum kube_verb verb;
} verb_names[] = {
        { "get", KUBE_VERB_GET },       { "list", KUBE_VERB_LIST },     { "watch", KUBE_VERB_WATCH },
        { "create", KUBE_VERB_CREATE }, { "update", KUBE_VERB_UPDATE }, { "patch", KUBE_VERB_PATCH },
        { "delete", KUBE_VERB_DELETE },
};

static unsigned read_verbs(const struct value *verbs) {
        unsigned bits = 0;

        for (size_t i = 0; value_is(verbs, VALUE_LIST) && i < verbs->list.count; i++)
                for (size_t k = 0; k < ARRAY_LEN(verb_names); k++)
                        if (str_eqc(value_text(verbs->list.items[i]), verb_names[k].name))
                                bits |= verb_names[k].verb;
        return bits;
}

static void read_short_names(struct kube_resource *r, const struct value *names, struct arena *a) {
        size_t count = value_is(names, VALUE_LIST) ? names->list.count : 0;
        struct str *copy = arena_alloc(a, count * sizeof *copy);

        for (size_t i = 0; i < count; i++)
                copy[i] = arena_str(a, value_text(names->list.items[i]));
        r->short_names = copy;
        r->short_name_count = count;
}

static struct str take(struct arena *a, const struct value *map, const char *key) {
        return arena_str(a, value_text(value_getc(map, key)));
}

static void section_push(struct section *s, const struct kube_resource *r) {
        s->resources = mem_grow(s->resources, &s->cap, s->count + 1, sizeof *s->resources);
        s->resources[s->count++] = *r;
}

static void warn_nameless(struct kube_discovery *d, const struct section *s) {
        discovery_warn(d, "%.*s%s%.*s serves a resource without a kind or a name: left out", STR_FMT(s->group),
                       s->group.n ? "/" : "", STR_FMT(s->version));
}

static bool has_subresource(const struct value *resource, const char *name) {
        const struct value *all = value_getc(resource, "subresources");

        for (size_t i = 0; value_is(all, VALUE_LIST) && i < all->list.count; i++)
                if (str_eqc(value_text(value_getc(all->list.items[i], "subresource")), name))
                        return true;
        return false;
}

/* --- aggregated: APIGroupDiscoveryList --- */

static void read_aggregated_resource(struct kube_discovery *d, struct section *s, const struct value *v) {
        struct kube_resource r = {
                .group = s->group,
                .version = s->version,
                .kind = take(d->arena, value_getc(v, "responseKind"), "kind"),
                .plural = take(d->arena, v, "resource"),
                .singular = take(d->arena, v, "singularResource"),
                .namespaced = str_eqc(value_text(value_getc(v, "scope")), "Namespaced"),
                .verbs = read_verbs(value_getc(v, "verbs")),
                .has_status = has_subresource(v, "status"),
                .has_scale = has_subresource(v, "scale"),
        };

        /* A parent that exists only for its subresources has no verbs and no kind; that is no defect. */
        if (r.verbs == 0 && r.kind.n == 0)
                return;
        if (r.kind.n == 0 || r.plural.n == 0) {
                warn_nameless(d, s);
                return;
        }
        read_short_names(&r, value_getc(v, "shortNames"), d->arena);
        section_push(s, &r);
}

static int read_aggregated_version(struct kube_discovery *d, struct section_list *list, struct str group,
                                   const struct value *v, struct err *err) {
        const struct value *resources = value_getc(v, "resources");
        struct section *s;

        int r = section_add(list, d->arena, group, value_text(value_getc(v, "version")), &s, err);
        if (r < 0)
                return r;

        s->stale = str_eqc(value_text(value_getc(v, "freshness")), "Stale");
        if (s->stale)
                s->why = str_dup(STR("the server calls it stale"));
        for (size_t i = 0; value_is(resources, VALUE_LIST) && i < resources->list.count; i++)
                read_aggregated_resource(d, s, resources->list.items[i]);
        return 0;
}

struct reading {
        struct kube_discovery *d;
        struct section_list *list;
};

static int read_group(void *ctx, struct str text, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct reading *reading = ctx;
        const struct value *v;

        int r = json_parse(text, a, &v, err);
        if (r < 0)
                return r;

        struct str group = value_text(value_path(v, "metadata", "name", NULL));
        const struct value *versions = value_getc(v, "versions");
        for (size_t i = 0; value_is(versions, VALUE_LIST) && i < versions->list.count; i++) {
                r = read_aggregated_version(reading->d, reading->list, group, versions->list.items[i], err);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- plain: APIVersions, APIGroupList, APIResourceList --- */

static int add_version(struct kube_discovery *d, struct section_list *list, struct str group, struct str version,
                       struct err *err) {
        struct section *s;
        int r = section_add(list, d->arena, group, version, &s, err);

        if (r == 0)
                s->stale = true;
        return r;
}

static int read_versions(struct kube_discovery *d, struct section_list *list, const struct value *v, struct err *err) {
        const struct value *versions = value_getc(v, "versions");
        int r = 0;

        for (size_t i = 0; r == 0 && value_is(versions, VALUE_LIST) && i < versions->list.count; i++)
                r = add_version(d, list, (struct str){ 0 }, value_text(versions->list.items[i]), err);
        return r;
}

/* The preferred version first, the others as they come. */
static int read_plain_group(struct kube_discovery *d, struct section_list *list, const struct value *v,
                            struct err *err) {
        struct str group = value_text(value_getc(v, "name"));
        struct str preferred = value_text(value_path(v, "preferredVersion", "version", NULL));
        const struct value *versions = value_getc(v, "versions");
        int r = preferred.n ? add_version(d, list, group, preferred, err) : 0;

        for (size_t i = 0; r == 0 && value_is(versions, VALUE_LIST) && i < versions->list.count; i++) {
                struct str version = value_text(value_getc(versions->list.items[i], "version"));

                if (!str_eq(version, preferred))
                        r = add_version(d, list, group, version, err);
        }
        return r;
}

static int read_groups(struct kube_discovery *d, struct section_list *list, const struct value *v, struct err *err) {
        const struct value *groups = value_getc(v, "groups");
        int r = 0;

        for (size_t i = 0; r == 0 && value_is(groups, VALUE_LIST) && i < groups->list.count; i++)
                r = read_plain_group(d, list, groups->list.items[i], err);
        return r;
}

/* "deployments/scale" marks its parent, which the server lists before it. */
static void mark_subresource(struct section *s, struct str parent, struct str subresource) {
        for (size_t i = 0; i < s->count; i++) {
                if (!str_eq(s->resources[i].plural, parent))
                        continue;
                s->resources[i].has_status |= str_eqc(subresource, "status");
                s->resources[i].has_scale |= str_eqc(subresource, "scale");
        }
}

static void read_plain_resource(struct kube_discovery *d, struct section *s, const struct value *v) {
        struct str name = value_text(value_getc(v, "name"));
        ptrdiff_t slash = str_find(name, '/', 0);

        if (slash >= 0) {
                mark_subresource(s, str_sub(name, 0, (size_t)slash), str_sub(name, (size_t)slash + 1, name.n));
                return;
        }

        struct kube_resource r = {
                .group = s->group,
                .version = s->version,
                .kind = take(d->arena, v, "kind"),
                .plural = arena_str(d->arena, name),
                .singular = take(d->arena, v, "singularName"),
                .namespaced = value_truth(value_getc(v, "namespaced"), false),
                .verbs = read_verbs(value_getc(v, "verbs")),
        };
        if (r.kind.n == 0 || r.plural.n == 0) {
                warn_nameless(d, s);
                return;
        }
        read_short_names(&r, value_getc(v, "shortNames"), d->arena);
        section_push(s, &r);
}

static void fill_section(struct kube_discovery *d, struct section *s, const struct value *v) {
        const struct value *resources = value_getc(v, "resources");

        for (size_t i = 0; value_is(resources, VALUE_LIST) && i < resources->list.count; i++)
                read_plain_resource(d, s, resources->list.items[i]);
        s->stale = false;
}

static bool is_kind(const struct value *v, const char *kind) {
        return str_eqc(value_text(value_getc(v, "kind")), kind);
}

int discovery_read_resources(struct kube_discovery *d, struct section *section, struct str text, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *v;

        int r = json_parse(text, a, &v, err);
        if (r < 0)
                return r;
        if (!is_kind(v, "APIResourceList"))
                return err_set(err, ERR_PARSE, "the reply is no APIResourceList");

        fill_section(d, section, v);
        return 0;
}

static int read_resource_list(struct kube_discovery *d, struct section_list *list, const struct value *v,
                              struct err *err) {
        struct gvk gvk = gvk_from(value_text(value_getc(v, "groupVersion")), (struct str){ 0 });
        struct section *s;
        int r = section_add(list, d->arena, gvk.group, gvk.version, &s, err);

        if (r == 0)
                fill_section(d, s, v);
        return r;
}

static const struct {
        const char *kind;
        enum discovery_document document;
        int (*read)(struct kube_discovery *d, struct section_list *list, const struct value *v, struct err *err);
} plain_documents[] = {
        { "APIVersions", DISCOVERY_VERSIONS, read_versions },
        { "APIGroupList", DISCOVERY_GROUPS, read_groups },
        { "APIResourceList", DISCOVERY_RESOURCES, read_resource_list },
};

static int read_plain(struct kube_discovery *d, struct section_list *list, struct str text,
                      enum discovery_document *ret_document, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *v;

        int r = json_parse(text, a, &v, err);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ARRAY_LEN(plain_documents); i++) {
                if (!is_kind(v, plain_documents[i].kind))
                        continue;
                r = plain_documents[i].read(d, list, v, err);
                if (r == 0)
                        *ret_document = plain_documents[i].document;
                return r;
        }
        return err_set(err, ERR_PARSE, "the reply is no discovery document");
}

/* What the reply says it is, once its items were cut out. */
static bool is_aggregated(struct str shell) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *v;

        return json_parse(shell, a, &v, NULL) == 0 && is_kind(v, "APIGroupDiscoveryList") &&
               str_starts(value_text(value_getc(v, "apiVersion")), STR("apidiscovery.k8s.io/"));
}

int discovery_read(struct kube_discovery *d, struct section_list *list, struct str text,
                   enum discovery_document *ret_document, struct err *err) {
        struct reading reading = { d, list };
        _cleanup_(split_list_freep) struct split_list *groups = split_list_new(text.n, read_group, &reading);
        size_t before = list->count;
        struct err why = { 0 };
        struct str shell;

        int r = split_list_feed(groups, text, &why);
        if (r == 0)
                r = split_list_end(groups, &shell, &why);
        if (r == 0 && is_aggregated(shell)) {
                *ret_document = DISCOVERY_AGGREGATED;
                return 0;
        }
        /* A plain document has no "items"; its whole text may be larger than a shell, which is no error here. */
        if (list->count == before)
                return read_plain(d, list, text, ret_document, err);
        return err_set(err, r < 0 ? r : ERR_PARSE, "%s", r < 0 ? why.msg : "the reply is no discovery document");
}
