/* SPDX-License-Identifier: Apache-2.0 */
#include "own/intern.h"

#include <assert.h>

#include "base/buf.h"
#include "base/map.h"

struct interned {
        struct intern_pool *pool;
        size_t refs;
        size_t n;
        char text[];
};

struct intern_pool {
        struct map *texts;
        size_t bytes;
};

struct intern_pool *intern_pool_new(void) {
        struct intern_pool *p = mem_zalloc(sizeof *p);

        p->texts = map_new(free);
        return p;
}

void intern_pool_free(struct intern_pool *p) {
        if (!p)
                return;
        assert(map_count(p->texts) == 0);
        map_free(p->texts);
        free(p);
}

struct interned *intern_text(struct intern_pool *p, struct str text) {
        struct interned *t = map_find(p->texts, text);

        if (!t) {
                t = mem_alloc(sizeof *t + text.n + 1);
                *t = (struct interned){ .pool = p, .n = text.n };
                if (text.n)
                        memcpy(t->text, text.p, text.n);
                t->text[text.n] = '\0';
                map_set(p->texts, text, t);
                p->bytes += text.n;
        }
        t->refs++;
        return t;
}

void interned_unref(struct interned *t) {
        if (!t || --t->refs > 0)
                return;

        /* Taken out before it is freed: the key passed to the map lies in the text itself. */
        struct intern_pool *p = t->pool;

        p->bytes -= t->n;
        free(map_take(p->texts, (struct str){ t->text, t->n }));
}

struct str interned_str(const struct interned *t) {
        return (struct str){ t->text, t->n };
}

size_t intern_count(const struct intern_pool *p) {
        return map_count(p->texts);
}

size_t intern_bytes(const struct intern_pool *p) {
        return p->bytes;
}
