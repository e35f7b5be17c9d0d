/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config_cluster.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/map.h"
#include "kube/watch.h"

#define SECRET_TYPES "argocd.argoproj.io/secret-type in (repository,repo-creds)"
#define OWN_ANNOTATIONS "truce.dev/"
#define ARGO_ANNOTATIONS "argocd.argoproj.io/"

/* In the order in which their documents are read. */
static const struct kind {
        const char *group, *version, *plural, *name;
        const char *selector;   /* beside the user's; NULL: none */
        bool may_be_unserved;   /* a definition of its own, which need not be installed */
} kinds[] = {
        { "", "v1", "configmaps", "ConfigMap", NULL, false },
        { "", "v1", "secrets", "Secret", SECRET_TYPES, false },
        { "argoproj.io", "v1alpha1", "appprojects", "AppProject", NULL, true },
        { "argoproj.io", "v1alpha1", "applications", "Application", NULL, true },
};

struct feed {
        struct config_cluster *owner;
        const struct kind *kind;
        struct kube_watch *watch;
        struct map *objects;  /* name → text of the document */
        struct map *listing;  /* the same of a LIST that goes on; NULL: none does */
        bool listed;          /* once to the end */
        int64_t emptied_ms;   /* when the last object went; 0: there is one, or never was */
        struct err err;       /* why it is not current; code 0: it is */
        struct map *unread;   /* names of objects that could not be taken, as they are since the last LIST began */
        struct err why_unread; /* of the newest one of them */
};

struct config_cluster {
        struct loop *loop;
        struct str ns;
        struct arena *arena;
        void (*changed)(void *ctx);
        void *ctx;
        struct feed feeds[ARRAY_LEN(kinds)];
        struct config_snapshot *snapshot; /* NULL: there was no whole picture yet */
        bool dirty;           /* objects came, changed or went since */
        struct loop_timer *emptied; /* ends the wait for who deletes a definition */
};

struct config_snapshot *config_snapshot_ref(struct config_snapshot *s) {
        s->refs++;
        return s;
}

void config_snapshot_unref(struct config_snapshot *s) {
        if (!s || --s->refs)
                return;
        arena_free(s->arena);
        free(s);
}

/* --- one object --------------------------------------------------------------------------------------------------- */

/* What Argo CD's components note there and take away again is no configuration. */
static bool is_setting(struct str annotation) {
        static const char *const notes[] = { "refresh", "hydrate", "manifest-generate-paths" };

        if (str_starts(annotation, STR(OWN_ANNOTATIONS)))
                return true;
        for (size_t i = 0; i < ARRAY_LEN(notes); i++)
                if (str_eqc(str_sub(annotation, strlen(ARGO_ANNOTATIONS), annotation.n), notes[i]))
                        return false;
        return str_starts(annotation, STR(ARGO_ANNOTATIONS));
}

static const struct value *settings_of(const struct value *annotations, struct arena *a) {
        struct value_map_builder b = { 0 };

        for (size_t i = 0; value_is(annotations, VALUE_MAP) && i < annotations->map.count; i++)
                if (is_setting(annotations->map.members[i].key))
                        value_map_add(&b, annotations->map.members[i].key, annotations->map.members[i].value, 0);
        return value_map_end(&b, a, 0);
}

static const struct value *metadata_of(const struct value *metadata, struct arena *a) {
        static const char *const kept[] = { "name", "namespace", "labels" };
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
                if (value_getc(metadata, kept[i]))
                        value_map_add(&b, str_from(kept[i]), value_getc(metadata, kept[i]), 0);
        value_map_add(&b, STR("annotations"), settings_of(value_getc(metadata, "annotations"), a), 0);
        return value_map_end(&b, a, 0);
}

/* The document that the object is, as text. */
static char *document_of(const struct kind *kind, const struct value *object, struct arena *a) {
        static const char *const kept[] = { "spec", "data", "binaryData" };
        struct value_map_builder b = { 0 };
        struct buf out = buf_make(KUBE_MAX_OBJECT_BYTES);

        struct str version = arena_strf(a, "%s%s%s", kind->group, kind->group[0] ? "/" : "", kind->version);

        value_map_add(&b, STR("apiVersion"), value_string(a, version, 0), 0);
        value_map_add(&b, STR("kind"), value_stringc(a, kind->name), 0);
        value_map_add(&b, STR("metadata"), metadata_of(value_getc(object, "metadata"), a), 0);
        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
                if (value_getc(object, kept[i]))
                        value_map_add(&b, str_from(kept[i]), value_getc(object, kept[i]), 0);
        value_print(value_map_end(&b, a, 0), &out);
        return buf_take(&out);
}

/* Of the ConfigMaps of a namespace nobody else's. */
static bool is_wanted(const struct kind *kind, const struct value *object) {
        static const char *const names[] = { CONFIG_SETTINGS, CONFIG_TLS_CERTS, CONFIG_KNOWN_HOSTS };
        struct str name = value_text(value_path(object, "metadata", "name", NULL));

        if (value_path(object, "metadata", "deletionTimestamp", NULL))
                return false;
        if (strcmp(kind->name, "ConfigMap") != 0)
                return name.n > 0;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (str_eqc(name, names[i]))
                        return true;
        return false;
}

static size_t count_objects(const struct config_cluster *c) {
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                n += (c->feeds[i].objects ? map_count(c->feeds[i].objects) : 0) +
                     (c->feeds[i].listing ? map_count(c->feeds[i].listing) : 0);
        return n;
}

/* The name of an object that may be too deep to be parsed: what stands between the quotes. */
static struct str name_in(struct str text) {
        struct str raw = json_member(json_member(text, STR("metadata")), STR("name"));

        return raw.n >= 2 && raw.p[0] == '"' ? str_sub(raw, 1, raw.n - 1) : (struct str){ 0 };
}

/* Puts the object into `map`, or takes it out of it. */
static int take(struct feed *f, struct map *map, struct str text, bool deleted, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *object = NULL;
        struct str name = name_in(text);
        int r = deleted ? 0 : json_parse(text, a, &object, err);

        if (r < 0)
                return err_wrap(err, r, "%s %.*s/%.*s", f->kind->name, STR_FMT(f->owner->ns), STR_FMT(name));
        if (deleted || !is_wanted(f->kind, object)) {
                map_remove(map, name);
                return 0;
        }
        /* One that changes is in both maps while a list goes on. */
        if (!map_find(map, name) && count_objects(f->owner) >= 2 * CONFIG_CLUSTER_MAX_OBJECTS)
                return err_set(err, ERR_LIMIT, "namespace %.*s holds more than %d objects of configuration",
                               STR_FMT(f->owner->ns), CONFIG_CLUSTER_MAX_OBJECTS);
        map_set(map, name, document_of(f->kind, object, a));
        return 0;
}

/* --- the watches -------------------------------------------------------------------------------------------------- */

static void tell(struct feed *f, const struct err *err) {
        bool same = f->err.code == err->code && strcmp(f->err.msg, err->msg) == 0;

        f->err = *err;
        if (!same)
                f->owner->changed(f->owner->ctx);
}

static void note_emptied(struct feed *f, size_t before) {
        if (map_count(f->objects) > 0) {
                f->emptied_ms = 0;
        } else if (before > 0) {
                f->emptied_ms = loop_now_ms(f->owner->loop);
                loop_timer_start(f->owner->emptied, CONFIG_CLUSTER_EMPTIED_MS);
        }
}

static void on_emptied(void *ctx) {
        struct config_cluster *c = ctx;

        c->changed(c->ctx);
}

/* One that could not be taken hides the others until it can, or is gone. */
static void take_or_tell(struct feed *f, struct map *map, struct str object, bool deleted) {
        struct str name = name_in(object);
        struct err err = { 0 };

        f->owner->dirty = true;
        if (take(f, map, object, deleted, &err) < 0) {
                f->why_unread = err;
                map_set(f->unread, name, f);
                f->owner->changed(f->owner->ctx);
        } else if (map_remove(f->unread, name)) {
                f->owner->changed(f->owner->ctx);
        }
}

static void on_begin(void *ctx) {
        struct feed *f = ctx;

        map_free(f->listing);
        f->listing = map_new(free);
        map_free(f->unread);
        f->unread = map_new(NULL);
}

static void on_item(void *ctx, struct str object) {
        struct feed *f = ctx;

        take_or_tell(f, f->listing, object, false);
}

static void on_end(void *ctx, struct str rv) {
        struct feed *f = ctx;
        size_t before = f->objects ? map_count(f->objects) : 0;

        (void)rv;
        map_free(f->objects);
        f->objects = TAKE_PTR(f->listing);
        f->listed = true;
        note_emptied(f, before);
        f->owner->dirty = true;
        f->owner->changed(f->owner->ctx);
}

static void on_event(void *ctx, enum kube_watch_event event, struct str object, struct str rv) {
        struct feed *f = ctx;
        size_t before = map_count(f->objects);

        (void)rv;
        take_or_tell(f, f->objects, object, event == KUBE_WATCH_DELETED);
        note_emptied(f, before);
}

static void on_state(void *ctx, const struct kube_watch_state *state) {
        struct feed *f = ctx;
        struct err err = state->err;

        /* Its definition is not installed: then there are none, until it is. */
        if (state->not_served && !f->listed && f->kind->may_be_unserved)
                err = (struct err){ 0 };
        if (state->not_served && !f->listed && f->kind->may_be_unserved && !f->objects) {
                f->objects = map_new(free);
                f->owner->dirty = true;
                f->owner->changed(f->owner->ctx);
        }
        tell(f, &err);
}

static void feed_start(struct feed *f, struct kube_client *client, struct str selector) {
        static const struct kube_watch_handler handler = { on_begin, on_item, on_end, on_event, on_state };
        struct arena *a = f->owner->arena;
        const char *own = f->kind->selector;
        struct str all = own ? arena_strf(a, "%s%s%.*s", own, selector.n ? "," : "", STR_FMT(selector)) : selector;
        struct kube_watch_spec spec = {
                .at = { .group = str_from(f->kind->group), .version = str_from(f->kind->version),
                        .plural = str_from(f->kind->plural), .namespace = f->owner->ns },
                .list_label_selector = all, .watch_label_selector = all,
        };

        f->watch = kube_watch_new(client, &spec, &handler, f);
}

struct config_cluster *config_cluster_new(struct loop *l, struct kube_client *client, struct str ns, struct str selector,
                                          void (*changed)(void *ctx), void *ctx) {
        struct config_cluster *c = mem_zalloc(sizeof *c);

        *c = (struct config_cluster){ .loop = l, .arena = arena_new(0), .changed = changed, .ctx = ctx };
        c->ns = arena_str(c->arena, ns);
        c->emptied = loop_timer_new(l, on_emptied, c);
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
                c->feeds[i].owner = c;
                c->feeds[i].unread = map_new(NULL);
                c->feeds[i].kind = &kinds[i];
                feed_start(&c->feeds[i], client, selector);
        }
        return c;
}

void config_cluster_free(struct config_cluster *c) {
        if (!c)
                return;
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
                kube_watch_free(c->feeds[i].watch);
                map_free(c->feeds[i].objects);
                map_free(c->feeds[i].listing);
                map_free(c->feeds[i].unread);
        }
        loop_timer_free(c->emptied);
        config_snapshot_unref(c->snapshot);
        arena_free(c->arena);
        free(c);
}

/* --- the whole picture -------------------------------------------------------------------------------------------- */

const struct err *config_cluster_err(const struct config_cluster *c) {
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (c->feeds[i].err.code || map_count(c->feeds[i].unread))
                        return c->feeds[i].err.code ? &c->feeds[i].err : &c->feeds[i].why_unread;
        return &c->feeds[0].err;
}

static bool is_just_emptied(const struct feed *f) {
        return f->kind->may_be_unserved && f->emptied_ms &&
               loop_now_ms(f->owner->loop) - f->emptied_ms < CONFIG_CLUSTER_EMPTIED_MS;
}

static bool is_whole(const struct config_cluster *c) {
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (!c->feeds[i].objects || is_just_emptied(&c->feeds[i]))
                        return false;
        return config_cluster_err(c)->code == 0;
}

static int by_name(const void *x, const void *y) {
        const struct config_document *a = x, *b = y;

        return str_cmp(a->name, b->name);
}

static size_t add_documents(const struct feed *f, struct arena *a, struct config_document *items) {
        size_t at = 0, n = 0;
        struct str name;
        void *text;

        while (map_next(f->objects, &at, &name, &text))
                items[n++] = (struct config_document){
                        arena_strf(a, "%s %.*s/%.*s", f->kind->name, STR_FMT(f->owner->ns), STR_FMT(name)),
                        arena_str(a, str_from(text)),
                };
        qsort(items, n, sizeof *items, by_name);
        return n;
}

/* Of name and text, each with its length's end marked: neither holds a line break. */
static struct hash128 stamp_of(const struct config_document *items, size_t count) {
        static const struct hash_key no_key;
        struct hash128 ret = { 0, 0 };

        for (size_t i = 0; i < count; i++) {
                struct hash128 name = hash128(&no_key, items[i].name), text = hash128(&no_key, items[i].text);
                uint64_t all[] = { ret.lo, ret.hi, name.lo, name.hi, text.lo, text.hi };

                ret = hash128(&no_key, (struct str){ (const char *)all, sizeof all });
        }
        return ret;
}

static struct config_snapshot *snapshot_of(const struct config_cluster *c) {
        struct config_snapshot *s = mem_zalloc(sizeof *s);
        struct config_document *items;
        size_t n = 0;

        *s = (struct config_snapshot){ .arena = arena_new(0), .refs = 1 };
        items = arena_alloc(s->arena, (count_objects(c) + 1) * sizeof *items);
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                n += add_documents(&c->feeds[i], s->arena, items + n);
        s->documents = (struct config_documents){ items, n };
        s->stamp = stamp_of(items, n);
        return s;
}

struct config_snapshot *config_cluster_snapshot(struct config_cluster *c) {
        if (is_whole(c) && (c->dirty || !c->snapshot)) {
                config_snapshot_unref(c->snapshot);
                c->snapshot = snapshot_of(c);
                c->dirty = false;
        }
        return c->snapshot;
}
