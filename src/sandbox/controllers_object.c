/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing objects for controllers, and makers of small values. */
#include "sandbox/controllers_impl.h"

#include <inttypes.h>
#include <time.h>

#include "base/json.h"
#include "sandbox/gc.h"
#include "sandbox/status.h"

#define MAX_PODS 10000

/* ---- one look ---- */

struct version *look_hold(struct look *l, struct version *v) {
        if (!v)
                return NULL;
        l->held = mem_grow(l->held, &l->held_cap, l->held_count + 1, sizeof *l->held);
        l->held[l->held_count++] = version_ref(v);
        return v;
}

void look_again(struct look *l, int64_t delay_ms) {
        controllers_wake(l->ctl, l->res, l->namespace, l->name, delay_ms < 1 ? 1 : delay_ms);
}

int64_t look_wall_ms(const struct look *l) {
        return loop_wall_ms(l->ctl->s->loop);
}

static void aim(struct look *l, enum res res, struct str name) {
        write_aim(l->c, str_from(controllers_table[res].group), str_from(controllers_table[res].plural),
                  res >= RES_VOLUME ? (struct str){ 0 } : l->namespace, name);
}

struct version *look_find(struct look *l, enum res res, struct str name) {
        aim(l, res, name);
        return look_hold(l, write_find(l->c));
}

/* ---- dependents ---- */

size_t look_owned(struct look *l, enum res res, struct str uid, struct version ***ret) {
        size_t count, n = 0;
        struct version **list;

        aim(l, res, (struct str){ 0 });
        count = gc_dependents(l->ctl->s->gc, uid, l->c->kind->shelf, l->a, &list);
        for (size_t i = 0; i < count; i++)
                if (str_eq(value_text(value_getc(controller_of(list[i]->value), "uid")), uid))
                        list[n++] = look_hold(l, list[i]);
        *ret = list;
        return n;
}

/* A ReplicationController's selector is a plain map. */
static bool selects(const struct value *selector, const struct value *object, struct arena *a) {
        const struct value *labels = value_path(object, "metadata", "labels", NULL);

        if (!value_getc(selector, "matchLabels") && !value_getc(selector, "matchExpressions"))
                selector = make_map(a, "matchLabels", selector, NULL);
        return label_selector_matches(selector, labels);
}

static void adopt(struct look *l, enum res res, const struct version *owner, const struct value *selector) {
        size_t from, to, n = 0;

        if (l->ctl->orphans[res] == 0 || is_deleting(owner->value))
                return;
        aim(l, res, (struct str){ 0 });
        const struct shelf *shelf = l->c->kind->shelf;
        shelf_range(shelf, l->namespace, &from, &to);
        struct version **found = arena_alloc(l->a, (to - from) * sizeof *found);
        for (size_t i = from; i < to; i++)
                if (!controller_of(shelf->items[i]->value) && !is_deleting(shelf->items[i]->value) &&
                    selects(selector, shelf->items[i]->value, l->a))
                        found[n++] = look_hold(l, shelf->items[i]);
        for (size_t i = 0; i < n; i++) {
                const struct value *owners = value_path(found[i]->value, "metadata", "ownerReferences", NULL);

                owners = items_with(l->a, owners, owner_reference(l->a, l->res, owner->value));
                look_update(l, res, found[i], meta_with(found[i]->value, "ownerReferences", owners, l->a), "", NULL);
        }
}

static void release(struct look *l, enum res res, struct version *v, struct str uid) {
        const struct value *old = value_path(v->value, "metadata", "ownerReferences", NULL);
        struct value_list_builder list = { 0 };

        for (size_t i = 0; i < value_count(old); i++)
                if (!str_eq(value_text(value_getc(old->list.items[i], "uid")), uid))
                        value_list_add(&list, old->list.items[i]);
        bool is_empty = list.count == 0;
        const struct value *owners = value_list_end(&list, l->a, 0);
        look_update(l, res, v, meta_with(v->value, "ownerReferences", is_empty ? NULL : owners, l->a), "", NULL);
}

size_t look_claim(struct look *l, enum res res, const struct version *owner, const struct value *selector,
                  struct version ***ret) {
        struct str uid = meta_text(owner->value, "uid");
        size_t count, n = 0;

        adopt(l, res, owner, selector);
        count = look_owned(l, res, uid, ret);
        for (size_t i = 0; i < count; i++) {
                struct version *v = (*ret)[i];

                if (selects(selector, v->value, l->a))
                        (*ret)[n++] = v;
                else if (!is_deleting(owner->value))
                        release(l, res, v, uid);
        }
        return n;
}

/* ---- writing ---- */

/* What a typo in a number of replicas would make of this process. */
static bool is_full(struct look *l) {
        unsigned max = l->ctl->s->options.max_pods ? l->ctl->s->options.max_pods : MAX_PODS;
        const struct status_details d = { 0 };

        if (l->c->kind->shelf->count < max)
                return false;
        status_refuse(l->c, 403, "Forbidden", &d, "the sandbox has room for %u Pods, and they are there", max);
        return true;
}

bool look_create(struct look *l, enum res res, const struct value *object, struct str *ret_name) {
        aim(l, res, meta_text(object, "name"));
        if (res == RES_POD && is_full(l))
                return false;
        object = value_with(l->a, object, STR("apiVersion"), make_text(l->a, controllers_table[res].api_version));
        object = value_with(l->a, object, STR("kind"), make_text(l->a, controllers_table[res].kind));
        if (res < RES_VOLUME)
                object = meta_with_text(object, "namespace", l->namespace, l->a);
        if (write_make(l->c, object) < 0)
                return false;
        if (ret_name)
                *ret_name = l->c->at.name;
        return true;
}

bool look_update(struct look *l, enum res res, struct version *v, const struct value *object, const char *subresource,
                 struct version **ret) {
        struct str name = arena_str(l->a, v->name);

        aim(l, res, name);
        if (write_find(l->c) != v || write_change(l->c, v, object, subresource) < 0)
                return false;
        if (ret)
                *ret = look_find(l, res, name);
        return true;
}

bool look_status(struct look *l, struct version *v, const struct value *status) {
        if (value_equal(value_getc(v->value, "status"), status))
                return true;
        return look_update(l, l->res, v, value_with(l->a, v->value, STR("status"), status), "status", NULL);
}

bool look_delete(struct look *l, enum res res, struct version *v, const struct delete_options *o) {
        static const struct delete_options background = { .propagation = { "Background", 10 } };
        bool is_gone;

        aim(l, res, arena_str(l->a, v->name));
        return write_find(l->c) == v && write_delete(l->c, v, o ? o : &background, &is_gone, NULL) == 0;
}

struct str look_why(struct look *l) {
        const struct value *status;

        if (json_parse(l->c->reply->body, l->a, &status, NULL) < 0)
                return STR("refused");
        return value_text(value_getc(status, "message"));
}

/* ---- values ---- */

const struct value *make_map(struct arena *a, ...) {
        struct value_map_builder b = { 0 };
        const char *key;
        va_list ap;

        va_start(ap, a);
        while ((key = va_arg(ap, const char *))) {
                const struct value *v = va_arg(ap, const struct value *);

                if (v)
                        value_map_add(&b, str_from(key), v, 0);
        }
        va_end(ap);
        return value_map_end(&b, a, 0);
}

const struct value *make_list(struct arena *a, const struct value *item) {
        return items_with(a, &value_empty_list, item);
}

const struct value *items_with(struct arena *a, const struct value *list, const struct value *item) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                value_list_add(&b, list->list.items[i]);
        value_list_add(&b, item);
        return value_list_end(&b, a, 0);
}

const struct value *make_text(struct arena *a, const char *text) {
        return value_stringc(a, text);
}

const struct value *make_textf(struct arena *a, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf b = buf_make(64 * 1024);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&b, fmt, ap);
        va_end(ap);
        return value_string(a, buf_str(&b), 0);
}

const struct value *make_str(struct arena *a, struct str s) {
        return value_string(a, s, 0);
}

const struct value *make_int(struct arena *a, int64_t n) {
        return value_int(a, n, 0);
}

const struct value *with2(struct arena *a, const struct value *v, const char *first, const char *second,
                          const struct value *value) {
        const struct str path[] = { str_from(first), str_from(second) };

        return value_with_path(a, v, path, ARRAY_LEN(path), value);
}

const struct value *with_meta_pair(struct arena *a, const struct value *object, const char *field, struct str key,
                                   const struct value *value) {
        const struct str path[] = { STR("metadata"), str_from(field), key };

        return value_with_path(a, object, path, ARRAY_LEN(path), value);
}

int64_t int_or(const struct value *v, int64_t otherwise) {
        value_to_i64(v, &otherwise);
        return otherwise;
}

int64_t share_of(const struct value *v, int64_t total, bool up) {
        struct str text = value_text(v);
        int64_t n = 0;

        if (text.n == 0 || !str_to_i64(str_sub(text, 0, text.n - 1), &n))
                return int_or(v, 0);
        __int128 share = ((__int128)n * total + (up ? 99 : 0)) / 100;
        return share > INT32_MAX ? INT32_MAX : share < INT32_MIN ? INT32_MIN : (int64_t)share;
}

struct str annotation(const struct value *object, const char *name) {
        return value_text(value_path(object, "metadata", "annotations", name, NULL));
}

bool is_deleting(const struct value *object) {
        return value_path(object, "metadata", "deletionTimestamp", NULL);
}

const struct value *controller_of(const struct value *object) {
        const struct value *list = value_path(object, "metadata", "ownerReferences", NULL);

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (value_truth(value_getc(list->list.items[i], "controller"), false))
                        return list->list.items[i];
        return NULL;
}

const struct value *owner_reference(struct arena *a, enum res res, const struct value *owner) {
        return make_map(a, "apiVersion", make_text(a, controllers_table[res].api_version), "kind",
                        make_text(a, controllers_table[res].kind), "name", value_path(owner, "metadata", "name", NULL),
                        "uid", value_path(owner, "metadata", "uid", NULL), "controller", &value_true,
                        "blockOwnerDeletion", &value_true, NULL);
}

const struct value *pod_of_template(struct arena *a, const struct value *template, const struct value *owner_ref,
                                    struct str prefix) {
        const struct value *meta = make_map(
                a, "generateName", make_str(a, prefix), "labels", value_path(template, "metadata", "labels", NULL),
                "annotations", value_path(template, "metadata", "annotations", NULL), "finalizers",
                value_path(template, "metadata", "finalizers", NULL), "ownerReferences", make_list(a, owner_ref), NULL);

        return make_map(a, "metadata", meta, "spec", value_getc(template, "spec"), NULL);
}

struct str template_hash(struct arena *a, const struct value *template, int64_t salt) {
        static const struct hash_key key = { 0x74727563652d7361, 0x6e64626f782d3031 }; /* the same in every run */
        static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
        struct str text = value_canonical(a, template);
        uint32_t hash = (uint32_t)hash64(&key, salt ? arena_strf(a, "%.*s%" PRId64, STR_FMT(text), salt) : text);
        struct str digits = arena_strf(a, "%" PRIu32, hash);
        char *out = arena_alloc(a, digits.n + 1);

        for (size_t i = 0; i < digits.n; i++)
                out[i] = alphabet[(unsigned char)digits.p[i] % (sizeof alphabet - 1)];
        out[digits.n] = '\0';
        return (struct str){ out, digits.n };
}

int64_t time_ms(const struct value *time) {
        struct tm tm = { 0 };

        if (!value_is(time, VALUE_STRING) || !strptime(time->text.p, "%Y-%m-%dT%H:%M:%S", &tm))
                return 0;
        return (int64_t)timegm(&tm) * SECOND_MS;
}

/* ---- conditions ---- */

const struct value *condition_find(const struct value *conditions, const char *type) {
        for (size_t i = 0; value_is(conditions, VALUE_LIST) && i < conditions->list.count; i++)
                if (str_eqc(value_text(value_getc(conditions->list.items[i], "type")), type))
                        return conditions->list.items[i];
        return NULL;
}

bool condition_is(const struct value *conditions, const char *type, const char *status) {
        return str_eqc(value_text(value_getc(condition_find(conditions, type), "status")), status);
}

const struct value *condition_without(struct arena *a, const struct value *conditions, const char *type) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; value_is(conditions, VALUE_LIST) && i < conditions->list.count; i++)
                if (!str_eqc(value_text(value_getc(conditions->list.items[i], "type")), type))
                        value_list_add(&b, conditions->list.items[i]);
        bool is_empty = b.count == 0;
        const struct value *list = value_list_end(&b, a, 0);
        return is_empty ? NULL : list;
}

/* ---- Pods ---- */

bool pod_is_ready(const struct value *pod) {
        return condition_is(value_path(pod, "status", "conditions", NULL), "Ready", "True");
}

bool pod_is_ended(const struct value *pod) {
        struct str phase = value_text(value_path(pod, "status", "phase", NULL));

        return str_eqc(phase, "Succeeded") || str_eqc(phase, "Failed");
}

bool pod_is_available(struct look *l, const struct value *pod, int64_t min_ready_s, int64_t *ret_wait_ms) {
        const struct value *ready = condition_find(value_path(pod, "status", "conditions", NULL), "Ready");

        *ret_wait_ms = 0;
        if (!pod_is_ready(pod))
                return false;
        int64_t left = time_ms(value_getc(ready, "lastTransitionTime")) + min_ready_s * SECOND_MS - look_wall_ms(l);
        if (min_ready_s == 0 || left <= 0)
                return true;
        *ret_wait_ms = left;
        return false;
}
