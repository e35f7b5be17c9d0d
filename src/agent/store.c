/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/store.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"
#include "kube/list.h"

#define SHARD_MAX_BYTES (1000 * 1000) /* etcd's and the ConfigMap's own limit is 1 MiB */
#define KEY_BYTES 16
#define SLUG_KEPT_BYTES 40 /* with hash and prefix at most a label value's 63 */

struct store {
        struct loop *loop;
        struct kube_client *client;
        char *namespace, *installation;
        struct hash_key key;
        struct kube_op *op;
        bool read_only;
        void (*opened)(void *ctx, const struct err *err);
        void *ctx;
};

struct shard {
        char *rv;             /* NULL: not stored yet */
        struct hash128 text, status; /* of what is stored; the status is in shard 0 only */
};

struct store_app {
        struct store *store;
        char *application;
        struct shard shard[INVENTORY_MAX_SHARDS];
        unsigned shards; /* stored now; 0: nothing */
        struct kube_list *list;
        struct kube_op *op;
        /* loading */
        struct inventory *inventory;
        struct err err;
        void (*loaded)(void *ctx, struct inventory *inv, const struct err *err);
        /* saving */
        struct buf texts[INVENTORY_MAX_SHARDS];
        struct buf status;
        unsigned saving_shards;
        unsigned left;   /* shards still to write: saving goes from the last to the first */
        bool made_namespace;
        struct loop_timer *later; /* ends a save that needed no request, in a later turn */
        void (*saved)(void *ctx, const struct err *err);
        void *ctx;
        /* what takes long */
        int64_t slow_ms;
        void (*slow)(void *ctx); /* NULL: nobody is told */
        void *slow_ctx;
};

struct store *store_new(struct loop *l, struct kube_client *c, struct str namespace, struct str installation) {
        struct store *s = mem_zalloc(sizeof *s);

        s->loop = l;
        s->client = c;
        s->namespace = str_dup(namespace);
        s->installation = str_dup(installation);
        return s;
}

void store_free(struct store *s) {
        if (!s)
                return;
        kube_op_cancel(s->op);
        free(s->namespace);
        free(s->installation);
        explicit_bzero(&s->key, sizeof s->key);
        free(s);
}

const struct hash_key *store_key(const struct store *s) {
        return &s->key;
}

static const struct kube_write plain_write = { .field_manager = STR("truce") };

static struct kube_location core(const char *plural, struct str namespace, struct str name) {
        return (struct kube_location){ .version = STR("v1"), .plural = str_from(plural), .namespace = namespace, .name = name };
}

static void create_namespace(struct store *s, struct kube_op **op, kube_done_fn done, void *ctx) {
        _cleanup_(buf_done) struct buf body = buf_make(4096);
        struct kube_location at = core("namespaces", STR(""), STR(""));

        buf_addf(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", s->namespace);
        *op = kube_client_create(s->client, &at, buf_str(&body), &plain_write, done, ctx);
}

/* --- the key ---------------------------------------------------------------------------------------------------- */

static void read_key(struct store *s);
static void create_key(struct store *s);

static void finish_open(struct store *s, const struct err *err) {
        s->opened(s->ctx, err);
}

static int take_key(struct store *s, struct str body, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        _cleanup_(buf_done) struct buf bytes = buf_make(KEY_BYTES);
        const struct value *secret;

        if (json_parse(body, a, &secret, NULL) < 0 || !str_eqc(value_text(value_getc(secret, "kind")), "Secret"))
                return err_set(err, ERR_PARSE, "what answers is no Kubernetes API server: is the server in the kubeconfig right?");
        if (!base64_decode(value_text(value_path(secret, "data", "key", NULL)), &bytes) || bytes.n != KEY_BYTES || bytes.overflow)
                return err_set(err, ERR_CORRUPT, "Secret %s/truce-%s holds no key; delete it to get a new one", s->namespace,
                               s->installation);
        memcpy(&s->key.k0, bytes.p, 8);
        memcpy(&s->key.k1, bytes.p + 8, 8);
        explicit_bzero(bytes.p, bytes.n);
        return 0;
}

static void namespace_created(void *ctx, const struct kube_result *result) {
        struct store *s = ctx;

        s->op = NULL;
        if (result->err.code && result->status.conflict != KUBE_CONFLICT_EXISTS)
                finish_open(s, &result->err);
        else
                create_key(s);
}

static void key_created(void *ctx, const struct kube_result *result) {
        struct store *s = ctx;
        struct err err = result->err;

        s->op = NULL;
        if (result->status.namespace_missing)
                create_namespace(s, &s->op, namespace_created, s);
        else if (result->status.conflict == KUBE_CONFLICT_EXISTS)
                read_key(s);
        else if (err.code || take_key(s, result->body, &err) < 0)
                finish_open(s, &err);
        else
                finish_open(s, NULL);
}

static void create_key(struct store *s) {
        struct kube_location at = core("secrets", str_from(s->namespace), STR(""));
        _cleanup_(buf_done) struct buf body = buf_make(4096);
        unsigned char key[KEY_BYTES];

        hash_random(key, sizeof key);
        buf_addf(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"truce-%s\"},\"data\":{\"key\":\"",
                 s->installation);
        base64_encode((struct str){ (const char *)key, sizeof key }, &body);
        buf_addc(&body, "\"}}");
        s->op = kube_client_create(s->client, &at, buf_str(&body), &plain_write, key_created, s);
        explicit_bzero(key, sizeof key);
        explicit_bzero(body.p, body.n);
}

static void key_read(void *ctx, const struct kube_result *result) {
        struct store *s = ctx;
        struct err err = result->err;

        s->op = NULL;
        if (err.code == ERR_NOTFOUND && s->read_only) {
                s->key = *hash_process_key();
                finish_open(s, NULL);
        } else if (err.code == ERR_NOTFOUND) {
                create_key(s);
        } else if (err.code || take_key(s, result->body, &err) < 0) {
                finish_open(s, &err);
        } else {
                finish_open(s, NULL);
        }
}

static void read_key(struct store *s) {
        _cleanup_(buf_done) struct buf name = buf_make(512);

        buf_addf(&name, "truce-%s", s->installation);
        struct kube_location at = core("secrets", str_from(s->namespace), buf_str(&name));
        s->op = kube_client_get(s->client, &at, 0, key_read, s);
}

void store_open(struct store *s, bool read_only, void (*done)(void *ctx, const struct err *err), void *ctx) {
        s->read_only = read_only;
        s->opened = done;
        s->ctx = ctx;
        read_key(s);
}

/* --- one application -------------------------------------------------------------------------------------------- */

/* Fixed: every process must find the names that others made. */
static const struct hash_key slug_key = { UINT64_C(0x7472756365736c75), UINT64_C(0x67206e616d657331) };

/*
 * The application's name as a part of object names and as a label value: itself when it is a legal one, else its legal
 * beginning and a hash, so that different applications never meet.
 */
static char *slug(struct str application) {
        _cleanup_(buf_done) struct buf out = buf_make(256);
        bool legal = application.n > 0 && application.n <= SLUG_KEPT_BYTES;

        for (size_t i = 0; i < application.n && i < SLUG_KEPT_BYTES; i++) {
                char c = application.p[i];
                bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
                bool edge = i == 0 || i + 1 == application.n;

                legal = legal && (alnum || (c == '-' && !edge));
                buf_addch(&out, alnum ? c : '-');
        }
        if (legal)
                return buf_take(&out);

        char *text;
        if (asprintf(&text, "a%s-%016llx", out.p, (unsigned long long)hash64(&slug_key, application)) < 0)
                abort();
        return text;
}

/* Tells the end of a save; `err` was kept when it ended without a request. */
static void end_save(void *ctx) {
        struct store_app *a = ctx;
        struct err err = a->err;

        a->saved(a->ctx, err.code ? &err : NULL);
}

struct store_app *store_app_new(struct store *s, struct str application) {
        struct store_app *a = mem_zalloc(sizeof *a);

        a->store = s;
        a->application = slug(application);
        a->later = loop_timer_new(s->loop, end_save, a);
        for (size_t i = 0; i < INVENTORY_MAX_SHARDS; i++)
                a->texts[i] = buf_make(SHARD_MAX_BYTES);
        a->status = buf_make(STORE_MAX_STATUS_BYTES);
        return a;
}

void store_on_slow(struct store_app *a, int64_t after_ms, void (*slow)(void *ctx), void *ctx) {
        a->slow_ms = after_ms;
        a->slow = slow;
        a->slow_ctx = ctx;
}

void store_app_free(struct store_app *a) {
        if (!a)
                return;
        loop_timer_free(a->later);
        kube_list_cancel(a->list);
        kube_op_cancel(a->op);
        inventory_free(a->inventory);
        for (size_t i = 0; i < INVENTORY_MAX_SHARDS; i++) {
                free(a->shard[i].rv);
                buf_done(&a->texts[i]);
        }
        buf_done(&a->status);
        free(a->application);
        free(a);
}

bool store_is_busy(const struct store_app *a) {
        return a->list || a->op || loop_timer_is_running(a->later);
}

static struct hash128 known_by(struct str text) {
        return hash128(hash_process_key(), text);
}

static void add_shard_name(const struct store_app *a, unsigned shard, struct buf *out) {
        buf_addf(out, STORE_NAME_PREFIX "%s", a->application);
        if (shard)
                buf_addf(out, "-%u", shard);
}

/* Which shard a ConfigMap is, from its name; INVENTORY_MAX_SHARDS when it is none of ours. */
static unsigned shard_of_name(const struct store_app *a, struct str name) {
        for (unsigned i = 0; i < INVENTORY_MAX_SHARDS; i++) {
                _cleanup_(buf_done) struct buf wanted = buf_make(1024);

                add_shard_name(a, i, &wanted);
                if (str_eq(buf_str(&wanted), name))
                        return i;
        }
        return INVENTORY_MAX_SHARDS;
}

static int load_shard(void *ctx, struct str bytes, struct err *err) {
        struct store_app *a = ctx;
        _cleanup_(arena_freep) struct arena *arena = arena_new(0);
        const struct value *map;
        unsigned shards = 0;
        int r = json_parse(bytes, arena, &map, err);

        if (r < 0)
                return r;

        struct str name = value_text(value_path(map, "metadata", "name", NULL));
        unsigned shard = shard_of_name(a, name);
        if (shard == INVENTORY_MAX_SHARDS)
                return 0;

        struct str text = value_text(value_path(map, "data", "objects", NULL));
        r = inventory_parse(a->inventory, shard, text, &shards, err);
        if (r < 0)
                return err_wrap(err, r, "ConfigMap %s/%.*s of truce is damaged (restore it, or delete it: what left Git "
                                        "before is then not pruned)", a->store->namespace, STR_FMT(name));
        if (shards > a->shards)
                a->shards = shards;
        free(a->shard[shard].rv);
        a->shard[shard].rv = str_dup(value_text(value_path(map, "metadata", "resourceVersion", NULL)));
        struct str status = value_text(value_path(map, "data", "status", NULL));
        a->shard[shard].text = known_by(text);
        a->shard[shard].status = known_by(status);
        if (shard == 0) {
                buf_clear(&a->status);
                buf_add(&a->status, status);
        }
        return 0;
}

static void load_restart(void *ctx) {
        struct store_app *a = ctx;

        inventory_free(a->inventory);
        a->inventory = inventory_new();
        a->shards = 0;
}

static void load_done(void *ctx, struct str resource_version, const struct kube_status *status, const struct err *err) {
        struct store_app *a = ctx;
        struct inventory *inv = TAKE_PTR(a->inventory);

        (void)resource_version;
        (void)status;
        a->list = NULL;
        if (err && err->code == ERR_NOTFOUND)
                err = NULL;
        if (err) {
                inventory_free(inv);
                inv = NULL;
        }
        a->loaded(a->ctx, inv, err);
}

void store_load(struct store_app *a, void (*done)(void *ctx, struct inventory *inv, const struct err *err), void *ctx) {
        static const struct kube_list_handler handler = { load_shard, load_restart, load_done };
        _cleanup_(buf_done) struct buf selector = buf_make(1024);

        buf_addf(&selector, STORE_LABEL_INVENTORY "=%s," STORE_LABEL_INSTALLATION "=%s", a->application,
                 a->store->installation);
        struct kube_list_spec spec = {
                .at = core("configmaps", str_from(a->store->namespace), STR("")),
                .label_selector = buf_str(&selector),
        };
        load_restart(a);
        for (size_t i = 0; i < INVENTORY_MAX_SHARDS; i++) {
                free(a->shard[i].rv);
                a->shard[i] = (struct shard){ 0 };
        }
        a->loaded = done;
        a->ctx = ctx;
        a->list = kube_list_start(a->store->client, &spec, &handler, a);
        if (a->slow)
                kube_list_tell_slow(a->list, a->slow_ms, a->slow, a->slow_ctx);
}

static void save_next(struct store_app *a);

static void sent(struct store_app *a) {
        if (a->slow)
                kube_op_tell_slow(a->op, a->slow_ms, a->slow, a->slow_ctx);
}

static void finish_save(struct store_app *a, const struct err *err) {
        for (unsigned i = 0; i < INVENTORY_MAX_SHARDS; i++)
                buf_done(&a->texts[i]);
        if (err)
                a->err = *err;
        loop_timer_start(a->later, 0);
}

static int note_saved(struct store_app *a, unsigned shard, struct str body, struct err *err) {
        _cleanup_(arena_freep) struct arena *arena = arena_new(0);
        const struct value *map;
        int r = json_parse(body, arena, &map, err);

        if (r < 0)
                return r;
        free(a->shard[shard].rv);
        a->shard[shard].rv = str_dup(value_text(value_path(map, "metadata", "resourceVersion", NULL)));
        if (a->texts[shard].n)
                a->shard[shard].text = known_by(buf_str(&a->texts[shard]));
        a->shard[shard].status = known_by(buf_str(&a->status));
        if (a->saving_shards > a->shards)
                a->shards = a->saving_shards;
        return 0;
}

static void save_namespace_created(void *ctx, const struct kube_result *result) {
        struct store_app *a = ctx;

        a->op = NULL;
        a->made_namespace = true;
        if (result->err.code && result->status.conflict != KUBE_CONFLICT_EXISTS)
                finish_save(a, &result->err);
        else
                save_next(a);
}

/* False when none was thought to be stored. */
static bool forget_shards(struct store_app *a) {
        bool any = false;

        for (size_t i = 0; i < INVENTORY_MAX_SHARDS; i++) {
                any |= a->shard[i].rv != NULL;
                free(TAKE_PTR(a->shard[i].rv));
        }
        return any;
}

/*
 * Somebody deleted an inventory: ours is written anew, whole. Of shards that are there still, the creation says so, and
 * that is a conflict like any other.
 */
static void shard_saved(void *ctx, const struct kube_result *result) {
        struct store_app *a = ctx;
        struct err err = result->err;

        a->op = NULL;
        if (result->status.namespace_missing && !a->made_namespace) {
                create_namespace(a->store, &a->op, save_namespace_created, a);
                sent(a);
                return;
        }
        if (err.code == ERR_NOTFOUND && !result->status.namespace_missing && forget_shards(a)) {
                a->left = a->saving_shards;
                save_next(a);
                return;
        }
        if (result->status.conflict == KUBE_CONFLICT_EXISTS)
                err.code = ERR_CONFLICT;
        if (err.code || note_saved(a, a->left - 1, result->body, &err) < 0) {
                err_wrap(&err, err.code, "inventory of %s", a->application);
                finish_save(a, &err);
                return;
        }
        a->left--;
        save_next(a);
}

/* A status without an inventory could not be read back. */
static void add_empty_inventory(struct buf *text) {
        _cleanup_(inventory_freep) struct inventory *empty = inventory_new();

        inventory_print(empty, 0, 1, text);
}

static void write_shard(struct store_app *a, unsigned shard) {
        _cleanup_(buf_done) struct buf name = buf_make(1024), body = buf_make(KUBE_MAX_REQUEST_BYTES);
        const char *rv = a->shard[shard].rv;

        if (!rv && !a->texts[shard].n)
                add_empty_inventory(&a->texts[shard]);
        add_shard_name(a, shard, &name);
        buf_addf(&body, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
                        "\"" STORE_LABEL_INVENTORY "\":\"%s\",\"" STORE_LABEL_INSTALLATION "\":\"%s\"}",
                 name.p, a->application, a->store->installation);
        if (rv)
                buf_addf(&body, ",\"resourceVersion\":\"%s\"", rv);
        buf_addc(&body, "},\"data\":{");
        if (a->texts[shard].n) {
                buf_addc(&body, "\"objects\":");
                value_print_string(buf_str(&a->texts[shard]), &body);
        }
        if (shard == 0) {
                buf_addf(&body, "%s\"status\":", a->texts[shard].n ? "," : "");
                value_print_string(buf_str(&a->status), &body);
        }
        buf_addc(&body, "}}");

        struct kube_location at = core("configmaps", str_from(a->store->namespace), rv ? buf_str(&name) : STR(""));
        if (rv)
                a->op = kube_client_patch(a->store->client, &at, KUBE_PATCH_MERGE, buf_str(&body), &plain_write, shard_saved, a);
        else
                a->op = kube_client_create(a->store->client, &at, buf_str(&body), &plain_write, shard_saved, a);
        sent(a);
}

/* A text that is empty is one that stays as it is stored. */
static bool is_stored(const struct store_app *a, unsigned shard) {
        const struct shard *s = &a->shard[shard];

        return s->rv && (!a->texts[shard].n || hash128_eq(s->text, known_by(buf_str(&a->texts[shard])))) &&
               (shard || hash128_eq(s->status, known_by(buf_str(&a->status))));
}

/* From the last shard to the first: when the number grows, the new ones are there before an old one lets go. */
static void save_next(struct store_app *a) {
        while (a->left && is_stored(a, a->left - 1))
                a->left--;
        if (a->left)
                write_shard(a, a->left - 1);
        else
                finish_save(a, NULL);
}

struct str store_status(const struct store_app *a) {
        return buf_str(&a->status);
}

static void begin_save(struct store_app *a, unsigned shards, struct str status,
                       void (*done)(void *ctx, const struct err *err), void *ctx) {
        buf_clear(&a->status);
        buf_add(&a->status, status);
        a->saving_shards = a->left = shards;
        a->made_namespace = false;
        a->err.code = 0;
        a->saved = done;
        a->ctx = ctx;
}

void store_save(struct store_app *a, const struct inventory *inv, struct str status, void (*done)(void *ctx, const struct err *err),
                void *ctx) {
        begin_save(a, inventory_shards(inv, a->shards), status, done, ctx);
        for (unsigned i = 0; i < a->saving_shards; i++)
                inventory_print(inv, i, a->saving_shards, &a->texts[i]);
        for (unsigned i = 0; i < a->saving_shards; i++) {
                struct err err;

                if (buf_check(&a->texts[i], "an inventory shard", &err) < 0) {
                        finish_save(a, &err);
                        return;
                }
        }
        save_next(a);
}

void store_save_status(struct store_app *a, struct str status, void (*done)(void *ctx, const struct err *err), void *ctx) {
        begin_save(a, 1, status, done, ctx);
        save_next(a);
}
