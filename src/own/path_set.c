/* SPDX-License-Identifier: Apache-2.0 */
#include "own/path_set.h"

#include "base/limits.h"

void path_set_init(struct path_set *s) {
        *s = (struct path_set){ .members = map_new(NULL), .above = map_new(NULL) };
}

void path_set_done(struct path_set *s) {
        map_free(s->members);
        map_free(s->above);
        *s = (struct path_set){ 0 };
}

/* Each element with its length, so that no two paths are spelled alike. */
static void add_element(const struct path_element *e, struct buf *out) {
        size_t from = out->n;

        path_element_spell(e, out);
        buf_addf(out, " %zu\n", out->n - from);
}

void path_set_add(struct path_set *s, struct field_path p) {
        _cleanup_(buf_done) struct buf text = buf_make(KUBE_MAX_OBJECT_BYTES);

        for (size_t i = 0; i < p.count; i++) {
                map_set(s->above, buf_str(&text), s);
                add_element(&p.elements[i], &text);
        }
        map_set(s->members, buf_str(&text), s);
}

static bool has(struct path_set *s, const struct map *m, const struct buf *text) {
        s->looks++;
        return map_find(m, buf_str(text));
}

/* A member at the path or above it, as far as `levels` elements. */
static bool meets(struct path_set *s, struct field_path p, size_t levels) {
        _cleanup_(buf_done) struct buf text = buf_make(KUBE_MAX_OBJECT_BYTES);
        bool found = levels > 0 && has(s, s->members, &text);

        for (size_t i = 0; !found && i + 1 < levels; i++) {
                add_element(&p.elements[i], &text);
                found = has(s, s->members, &text);
        }
        return found;
}

static bool is_in(struct path_set *s, const struct map *m, struct field_path p) {
        _cleanup_(buf_done) struct buf text = buf_make(KUBE_MAX_OBJECT_BYTES);

        for (size_t i = 0; i < p.count; i++)
                add_element(&p.elements[i], &text);
        return has(s, m, &text);
}

bool path_set_has(struct path_set *s, struct field_path p) {
        return is_in(s, s->members, p);
}

bool path_set_covers(struct path_set *s, struct field_path p) {
        return meets(s, p, p.count + 1);
}

bool path_set_is_over(struct path_set *s, struct field_path p) {
        return meets(s, p, p.count);
}

bool path_set_is_under(struct path_set *s, struct field_path p) {
        return is_in(s, s->above, p);
}
