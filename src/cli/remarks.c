/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remarks.h"

#include <stdlib.h>

#include "cli/blocks.h"
#include "diff/text.h"
#include "kube/gvk.h"

#define REMARK_MAX_BYTES (64 * 1024)

struct remark {
        struct block_key at; /* its own copies */
        char *json;          /* NULL: taken back */
};

struct remarks {
        struct remark *items;
        size_t count, cap;
        struct map *by_key; /* key → its place + 1, as a pointer */
};

struct remarks *remarks_new(void) {
        struct remarks *r = mem_zalloc(sizeof *r);

        r->by_key = map_new(NULL);
        return r;
}

void remarks_free(struct remarks *r) {
        if (!r)
                return;
        for (size_t i = 0; i < r->count; i++) {
                free((char *)r->items[i].at.app.p);
                free((char *)r->items[i].at.file.p);
                free((char *)r->items[i].at.id.p);
                free(r->items[i].json);
        }
        free(r->items);
        map_free(r->by_key);
        free(r);
}

static struct remark *add(struct remarks *r) {
        r->items = mem_grow(r->items, &r->cap, r->count + 1, sizeof *r->items);
        r->items[r->count] = (struct remark){ 0 };
        return &r->items[r->count++];
}

static struct remark *find_or_add(struct remarks *r, const struct app *app, const char *id) {
        _cleanup_(buf_done) struct buf key = buf_make(REMARK_MAX_BYTES);

        buf_addf(&key, "%.*s\n%s", STR_FMT(app_config(app)->instance), id);
        size_t place = (size_t)map_find(r->by_key, buf_str(&key));
        if (place)
                return &r->items[place - 1];

        struct remark *item = add(r);
        map_set(r->by_key, buf_str(&key), (void *)r->count);
        return item;
}

/* Text from outside may not be text at all. */
static void add_text(struct value_map_builder *b, struct arena *a, const char *key, struct str text) {
        _cleanup_(buf_done) struct buf safe = buf_make(REMARK_MAX_BYTES);

        if (!str_is_utf8(text)) {
                text_add(&safe, text);
                text = buf_str(&safe);
        }
        if (text.n)
                value_map_add(b, str_from(key), value_string(a, text, 0), 0);
}

static void add_place(struct value_map_builder *b, struct arena *a, struct str file, uint32_t line) {
        add_text(b, a, "file", file);
        if (line)
                value_map_add(b, STR("line"), value_int(a, line, 0), 0);
}

static const struct value *object_of(const char *id, struct arena *a) {
        struct value_map_builder b = { 0 };
        struct object_key key;

        if (!object_key_from_id(str_from(id), &key))
                return value_stringc(a, id);
        add_text(&b, a, "group", key.group);
        add_text(&b, a, "kind", key.kind);
        add_text(&b, a, "namespace", key.namespace);
        add_text(&b, a, "name", key.name);
        return value_map_end(&b, a, 0);
}

static void set(struct str *to, struct str text) {
        free((char *)to->p);
        *to = (struct str){ str_dup(text), text.n };
}

/* What is about the whole application has no id. */
static void place(struct remark *item, const struct app *app, struct str file, uint32_t line, struct str id) {
        set(&item->at.app, app_config(app)->instance);
        set(&item->at.file, file);
        set(&item->at.id, id);
        item->at.line = line;
}

static void end(struct remark *item, struct value_map_builder *b, struct arena *a, const struct app *app, const char *kind,
                struct str reason) {
        _cleanup_(buf_done) struct buf json = buf_make(4 * REMARK_MAX_BYTES);

        add_text(b, a, "application", app_config(app)->name);
        add_text(b, a, "kind", str_from(kind));
        add_text(b, a, "reason", reason);
        value_print(value_map_end(b, a, 0), &json);
        free(item->json);
        item->json = buf_take(&json);
}

void remarks_object(struct remarks *r, const struct app *app, const struct outcome *o, const char *kind, struct str reason) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct remark *item = find_or_add(r, app, o->id);
        struct value_map_builder b = { 0 };

        free(TAKE_PTR(item->json));
        place(item, app, o->file, o->line, str_from(o->id));
        if (!kind)
                return;
        value_map_add(&b, STR("object"), object_of(o->id, a), 0);
        add_place(&b, a, o->file, o->line);
        end(item, &b, a, app, kind, reason);
}

void remarks_problem(struct remarks *r, const struct app *app, const struct manifest_problem *p) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct value_map_builder b = { 0 };
        struct remark *item = add(r);

        place(item, app, p->file, p->line, p->message);
        add_place(&b, a, p->file, p->line);
        add_text(&b, a, "object", p->object);
        end(item, &b, a, app, "problem", p->message);
}

void remarks_app(struct remarks *r, const struct app *app, const char *kind, struct str reason) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct value_map_builder b = { 0 };
        struct remark *item = find_or_add(r, app, kind);

        place(item, app, (struct str){ 0 }, 0, (struct str){ 0 });
        end(item, &b, a, app, kind, reason);
}

static int compare(const void *x, const void *y) {
        return block_key_cmp(&(*(const struct remark *const *)x)->at, &(*(const struct remark *const *)y)->at);
}

void remarks_print(const struct remarks *r, struct diff_printer *p, struct buf *out) {
        _cleanup_(mem_freep) const struct remark **sorted = mem_zalloc((r->count + 1) * sizeof *sorted);
        size_t count = 0;

        for (size_t i = 0; i < r->count; i++)
                if (r->items[i].json)
                        sorted[count++] = &r->items[i];
        qsort(sorted, count, sizeof *sorted, compare);
        for (size_t i = 0; i < count; i++) {
                buf_addc(out, p->elements++ ? ",\n" : "\n");
                text_add_json(out, str_from(sorted[i]->json));
        }
}
