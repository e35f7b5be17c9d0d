/* SPDX-License-Identifier: Apache-2.0 */
#include "truce/diff.h"

#include "diff/print.h"
#include "lib/lib_impl.h"

struct truce_diff {
        struct arena *arena;
        struct diff diff;
};

static const struct value *copy(struct arena *a, const struct truce_value *v) {
        return v ? value_dup(a, v->value) : NULL;
}

static int compare(struct truce_diff *d, struct diff_input *in, const struct truce_value *crd, struct err *err) {
        const struct value *object = in->after ? in->after : in->before;
        int r;

        if (!object)
                return err_set(err, ERR_INVAL, "there is neither a state before nor one after");
        r = lib_type(object, crd, d->arena, &in->type, err);
        if (r < 0)
                return r;
        return diff_compare(in, d->arena, &d->diff, err);
}

int truce_diff(const struct truce_value *before, const struct truce_value *after, const struct truce_value *desired,
               const struct truce_value *crd, const char *file, struct truce_diff **ret_diff, char **ret_message) {
        struct truce_diff *d = mem_zalloc(sizeof *d);
        struct err err;

        d->arena = arena_new(0);
        struct diff_input in = {
                .before = copy(d->arena, before),
                .after = copy(d->arena, after),
                .desired = copy(d->arena, desired),
                .file = file ? arena_str(d->arena, str_from(file)) : (struct str){ 0 },
        };
        int r = compare(d, &in, crd, &err);
        if (r < 0) {
                truce_diff_free(d);
                return lib_fail(r, &err, ret_message);
        }
        *ret_diff = d;
        return TRUCE_OK;
}

void truce_diff_free(struct truce_diff *diff) {
        if (!diff)
                return;
        arena_free(diff->arena);
        free(diff);
}

bool truce_diff_differs(const struct truce_diff *diff) {
        return diff_differs(&diff->diff);
}

size_t truce_diff_count(const struct truce_diff *diff) {
        return diff->diff.count + diff->diff.left_out;
}

char *truce_diff_print(const struct truce_diff *diff, enum truce_diff_format format) {
        static const enum diff_format formats[] = {
                [TRUCE_DIFF_TEXT] = DIFF_TEXT, [TRUCE_DIFF_MARKDOWN] = DIFF_MARKDOWN, [TRUCE_DIFF_JSON] = DIFF_JSON
        };
        _cleanup_(buf_done) struct buf out = buf_make(LIB_MAX_TEXT_BYTES);
        struct diff_printer printer = { .format = formats[format] };

        diff_print_begin(&printer, &out);
        diff_print_object(&printer, &diff->diff, &out);
        if (format == TRUCE_DIFF_JSON)
                diff_print_end(&printer, NULL, &out);
        return lib_text(buf_str(&out));
}
