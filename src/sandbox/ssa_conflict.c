/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts in the server's words. */
#include "base/json.h"
#include "base/limits.h"
#include "sandbox/ssa_impl.h"

/* `"kubectl" with subresource "scale" using apps/v1`; appliers have no version. */
static void add_manager(const struct ssa_conflict *c, struct arena *a, struct buf *out) {
        const struct value *id;

        if (json_parse(c->id, a, &id, NULL) < 0)
                return;
        struct str subresource = value_text(value_getc(id, "subresource"));

        ssa_add_quoted(value_text(value_getc(id, "manager")), out);
        if (subresource.n) {
                buf_addc(out, " with subresource ");
                ssa_add_quoted(subresource, out);
        }
        if (str_eqc(value_text(value_getc(id, "operation")), "Update")) {
                buf_addc(out, " using ");
                buf_add(out, value_text(value_getc(id, "apiVersion")));
        }
}

struct str ssa_conflict_cause(const struct ssa_conflict *c, struct arena *a) {
        _cleanup_(buf_done) struct buf b = buf_make(64 * KIB);

        buf_addc(&b, "conflict with ");
        add_manager(c, a, &b);
        return arena_str(a, buf_str(&b));
}

static void add_lines(const struct ssa_conflicts *c, struct arena *a, struct buf *out) {
        for (size_t i = 0; i < c->count; i++) {
                if (i == 0 || !str_eq(c->items[i].id, c->items[i - 1].id)) {
                        buf_addf(out, "%sconflicts with ", i ? "\n" : "");
                        add_manager(&c->items[i], a, out);
                        buf_addch(out, ':');
                }
                buf_addc(out, "\n- ");
                field_path_print(c->items[i].path, out);
        }
}

struct str ssa_conflict_message(const struct ssa_conflicts *c, struct arena *a) {
        _cleanup_(buf_done) struct buf b = buf_make(KUBE_MAX_OBJECT_BYTES);

        if (c->count == 1) {
                buf_addc(&b, "Apply failed with 1 conflict: conflict with ");
                add_manager(&c->items[0], a, &b);
                buf_addc(&b, ": ");
                field_path_print(c->items[0].path, &b);
        } else {
                buf_addf(&b, "Apply failed with %zu conflicts: ", c->count);
                add_lines(c, a, &b);
        }
        return arena_str(a, buf_str(&b));
}
