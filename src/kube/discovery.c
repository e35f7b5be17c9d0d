/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/discovery_impl.h"

#include <assert.h>

#include "base/limits.h"

/* --- the snapshot --- */

struct kube_discovery *discovery_new(void) {
        struct kube_discovery *d = mem_zalloc(sizeof *d);

        d->refs = 1;
        d->arena = arena_new(16 * KIB);
        d->by_gvk = map_new(NULL);
        d->by_kind = map_new(NULL);
        d->by_plural = map_new(NULL);
        return d;
}

struct kube_discovery *kube_discovery_ref(struct kube_discovery *d) {
        if (d)
                d->refs++;
        return d;
}

void kube_discovery_unref(struct kube_discovery *d) {
        if (!d || --d->refs)
                return;

        map_free(d->by_gvk);
        map_free(d->by_kind);
        map_free(d->by_plural);
        free(d->resources);
        free(d->warnings);
        free(d->lacking);
        arena_free(d->arena);
        free(d);
}

void discovery_warn(struct kube_discovery *d, const char *fmt, ...) {
        struct buf text = buf_make(ERR_MSG_MAX_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        d->warnings = mem_grow(d->warnings, &d->warning_cap, d->warning_count + 1, sizeof *d->warnings);
        d->warnings[d->warning_count++] = arena_str(d->arena, buf_str(&text));
        buf_done(&text);
}

static void note_lacking(struct kube_discovery *d, struct str group) {
        d->lacking = mem_grow(d->lacking, &d->lacking_cap, d->lacking_count + 1, sizeof *d->lacking);
        d->lacking[d->lacking_count++] = arena_str(d->arena, group);
}

bool kube_discovery_lacks(const struct kube_discovery *d, struct str group) {
        for (size_t i = 0; i < d->lacking_count; i++) {
                if (str_eq(d->lacking[i], group))
                        return true;
        }
        return false;
}

const struct kube_resource *kube_discovery_resources(const struct kube_discovery *d, size_t *ret_count) {
        *ret_count = d->count;
        return d->resources;
}

const struct str *kube_discovery_warnings(const struct kube_discovery *d, size_t *ret_count) {
        *ret_count = d->warning_count;
        return d->warnings;
}

struct kube_location kube_resource_location(const struct kube_resource *r, struct str namespace, struct str name) {
        return (struct kube_location){
                .group = r->group,
                .version = r->version,
                .plural = r->plural,
                .namespace = r->namespaced ? namespace : (struct str){ 0 },
                .name = name,
        };
}

struct gvk kube_resource_gvk(const struct kube_resource *r) {
        return (struct gvk){ .group = r->group, .version = r->version, .kind = r->kind };
}

/* --- lookups --- */

/* "a/b/c": no legal part holds a slash. */
static struct buf join(struct str a, struct str b, struct str c) {
        struct buf key = buf_make(KUBE_MAX_PATH_BYTES);

        buf_add(&key, a);
        buf_addch(&key, '/');
        buf_add(&key, b);
        buf_addch(&key, '/');
        buf_add(&key, c);
        return key;
}

static struct kube_resource *find(const struct map *index, struct str a, struct str b, struct str c) {
        _cleanup_(buf_done) struct buf key = join(a, b, c);

        return map_find(index, buf_str(&key));
}

/* The first to come keeps the place; true when it is `r`. */
static bool index_add(struct map *index, struct str a, struct str b, struct str c, struct kube_resource *r) {
        _cleanup_(buf_done) struct buf key = join(a, b, c);

        if (map_find(index, buf_str(&key)))
                return false;
        map_set(index, buf_str(&key), r);
        return true;
}

const struct kube_resource *kube_discovery_find(const struct kube_discovery *d, struct gvk gvk) {
        return find(d->by_gvk, gvk.group, gvk.version, gvk.kind);
}

const struct kube_resource *kube_discovery_find_kind(const struct kube_discovery *d, struct str group,
                                                     struct str kind) {
        return find(d->by_kind, group, kind, (struct str){ 0 });
}

const struct kube_resource *kube_discovery_find_plural(const struct kube_discovery *d, struct str group,
                                                       struct str plural) {
        return find(d->by_plural, group, plural, (struct str){ 0 });
}

static bool eq_nocase(struct str a, struct str b) {
        return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

/* A user's word, cut at its first dot. */
struct word {
        struct str name;
        struct str rest; /* "", "apps", "v1.apps", "v1" */
};

static bool names_group(struct str rest, const struct kube_resource *r) {
        if (rest.n == 0)
                return r->preferred;
        if (eq_nocase(rest, r->group))
                return r->preferred;
        if (rest.n < r->version.n || !eq_nocase(str_sub(rest, 0, r->version.n), r->version))
                return false;

        rest = str_sub(rest, r->version.n, rest.n);
        if (r->group.n == 0)
                return rest.n == 0 || str_eqc(rest, ".");
        return rest.n && rest.p[0] == '.' && eq_nocase(str_sub(rest, 1, rest.n), r->group);
}

static bool is_full_name(struct str name, const struct kube_resource *r) {
        return eq_nocase(name, r->plural) || eq_nocase(name, r->singular) || eq_nocase(name, r->kind);
}

static bool is_short_name(struct str name, const struct kube_resource *r) {
        for (size_t i = 0; i < r->short_name_count; i++)
                if (eq_nocase(name, r->short_names[i]))
                        return true;
        return false;
}

static const struct kube_resource *find_named(const struct kube_discovery *d, struct word w,
                                              bool (*is_name)(struct str name, const struct kube_resource *r)) {
        for (size_t i = 0; i < d->count; i++)
                if (is_name(w.name, &d->resources[i]) && names_group(w.rest, &d->resources[i]))
                        return &d->resources[i];
        return NULL;
}

const struct kube_resource *kube_discovery_find_word(const struct kube_discovery *d, struct str word) {
        ptrdiff_t dot = str_find(word, '.', 0);
        struct word w = { .name = word };

        if (dot >= 0) {
                w.name = str_sub(word, 0, (size_t)dot);
                w.rest = str_sub(word, (size_t)dot + 1, word.n);
        }
        if (w.name.n == 0)
                return NULL;

        const struct kube_resource *r = find_named(d, w, is_full_name);
        return r ? r : find_named(d, w, is_short_name);
}

/* --- from sections to a snapshot --- */

void section_list_done(struct section_list *list) {
        for (size_t i = 0; i < list->count; i++) {
                free(list->sections[i].resources);
                free(list->sections[i].why);
        }
        free(list->sections);
        *list = (struct section_list){ 0 };
}

int section_add(struct section_list *list, struct arena *a, struct str group, struct str version,
                struct section **ret_section, struct err *err) {
        if (list->count == KUBE_DISCOVERY_MAX_GROUP_VERSIONS)
                return err_set(err, ERR_LIMIT, "the server lists more than %d group versions",
                               KUBE_DISCOVERY_MAX_GROUP_VERSIONS);
        if (version.n == 0)
                return err_set(err, ERR_PARSE, "group \"%.*s\" lists a version without a name", STR_FMT(group));

        list->sections = mem_grow(list->sections, &list->cap, list->count + 1, sizeof *list->sections);
        *ret_section = &list->sections[list->count++];
        **ret_section = (struct section){ .group = arena_str(a, group), .version = arena_str(a, version) };
        return 0;
}

static int push(struct kube_discovery *d, const struct kube_resource *r, struct err *err) {
        if (d->count == KUBE_DISCOVERY_MAX_RESOURCES)
                return err_set(err, ERR_LIMIT, "the server lists more than %d resources", KUBE_DISCOVERY_MAX_RESOURCES);

        d->resources = mem_grow(d->resources, &d->cap, d->count + 1, sizeof *d->resources);
        d->resources[d->count++] = *r;
        return 0;
}

static struct kube_resource copy_resource(struct arena *a, const struct kube_resource *r) {
        struct str *short_names = arena_alloc(a, r->short_name_count * sizeof *short_names);
        struct kube_resource copy = *r;

        for (size_t i = 0; i < r->short_name_count; i++)
                short_names[i] = arena_str(a, r->short_names[i]);
        copy.group = arena_str(a, r->group);
        copy.version = arena_str(a, r->version);
        copy.kind = arena_str(a, r->kind);
        copy.plural = arena_str(a, r->plural);
        copy.singular = arena_str(a, r->singular);
        copy.short_names = short_names;
        copy.stale = true;
        return copy;
}

/* What the previous snapshot knew of a section that could not be read. */
static int push_previous(struct kube_discovery *d, const struct kube_discovery *previous, const struct section *s,
                         struct err *err) {
        size_t before = d->count;

        for (size_t i = 0; previous && i < previous->count; i++) {
                const struct kube_resource *r = &previous->resources[i];
                if (!str_eq(r->group, s->group) || !str_eq(r->version, s->version))
                        continue;

                struct kube_resource copy = copy_resource(d->arena, r);
                int result = push(d, &copy, err);
                if (result < 0)
                        return result;
        }
        discovery_warn(d, "%.*s%s%.*s: %s; %zu resources are known from before", STR_FMT(s->group),
                       s->group.n ? "/" : "", STR_FMT(s->version), s->why ? s->why : "it could not be read",
                       d->count - before);
        return 0;
}

static int push_section(struct kube_discovery *d, const struct kube_discovery *previous, const struct section *s,
                        struct err *err) {
        if (s->stale)
                note_lacking(d, s->group);
        if (s->stale && s->count == 0)
                return push_previous(d, previous, s, err);
        if (s->stale)
                discovery_warn(d, "%.*s%s%.*s: %s", STR_FMT(s->group), s->group.n ? "/" : "", STR_FMT(s->version),
                               s->why);

        for (size_t i = 0; i < s->count; i++) {
                struct kube_resource r = s->resources[i];

                r.stale = s->stale;
                int result = push(d, &r, err);
                if (result < 0)
                        return result;
        }
        return 0;
}

/* Groups in order of their first section, so that a group cut in two is one again. */
static int push_sections(struct kube_discovery *d, const struct kube_discovery *previous,
                         const struct section_list *list, struct err *err) {
        _cleanup_(mem_freep) bool *done = mem_zalloc(list->count + 1);

        for (size_t i = 0; i < list->count; i++) {
                for (size_t k = i; !done[i] && k < list->count; k++) {
                        if (!str_eq(list->sections[k].group, list->sections[i].group))
                                continue;
                        int r = push_section(d, previous, &list->sections[k], err);
                        if (r < 0)
                                return r;
                        done[k] = k != i;
                }
        }
        return 0;
}

int discovery_finish(struct kube_discovery *d, struct section_list *list, const struct kube_discovery *previous,
                     struct err *err) {
        int result = push_sections(d, previous, list, err);
        if (result < 0)
                return result;

        /* Only now: pointers into the array must not move any more. */
        for (size_t i = 0; i < d->count; i++) {
                struct kube_resource *r = &d->resources[i];

                index_add(d->by_gvk, r->group, r->version, r->kind, r);
                index_add(d->by_plural, r->group, r->plural, (struct str){ 0 }, r);
                r->preferred = index_add(d->by_kind, r->group, r->kind, (struct str){ 0 }, r);
        }
        return 0;
}

int kube_discovery_parse(const struct str *texts, size_t count, struct kube_discovery **ret_discovery,
                         struct err *err) {
        _cleanup_(kube_discovery_unrefp) struct kube_discovery *d = discovery_new();
        _cleanup_(section_list_done) struct section_list list = { 0 };
        enum discovery_document document;
        int r = 0;

        for (size_t i = 0; r == 0 && i < count; i++)
                r = discovery_read(d, &list, texts[i], &document, err);
        if (r == 0)
                r = discovery_finish(d, &list, NULL, err);
        if (r == 0)
                *ret_discovery = TAKE_PTR(d);
        return r;
}
