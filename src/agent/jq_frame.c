/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what a child says. It is our own program, but one whose memory an expression may have spoiled. */
#include "agent/jq_impl.h"

#include "base/json.h"
#include "base/limits.h"

int jq_frame_next(struct str heard, size_t *at, struct jq_frame *ret_frame, struct str *ret_payload, struct err *err) {
        struct jq_frame f;

        if (heard.n - *at < sizeof f)
                return 0;
        memcpy(&f, heard.p + *at, sizeof f);
        if (f.kind < JQ_FRAME_READY || f.kind > JQ_FRAME_FAILED)
                return err_set(err, ERR_PARSE, "no frame of a jq worker");
        if (f.bytes > JQ_MAX_PATHS_BYTES)
                return err_set(err, ERR_PARSE, "a frame of %u bytes from a jq worker", f.bytes);
        if (heard.n - *at - sizeof f < f.bytes)
                return 0;
        *ret_frame = f;
        *ret_payload = str_sub(heard, *at + sizeof f, *at + sizeof f + f.bytes);
        *at += sizeof f + f.bytes;
        return 1;
}

static int read_step(const struct value *v, struct jq_step *ret_step, struct err *err) {
        if (value_is(v, VALUE_STRING)) {
                *ret_step = (struct jq_step){ .key = value_text(v) };
                return 0;
        }
        if (!value_is(v, VALUE_INT) || v->i64 < 0)
                return err_set(err, ERR_PARSE, "no step of a path");
        *ret_step = (struct jq_step){ .is_index = true, .index = v->i64 };
        return 0;
}

static int read_path(const struct value *v, struct arena *a, struct jq_path *ret_path, struct err *err) {
        if (!value_is(v, VALUE_LIST))
                return err_set(err, ERR_PARSE, "no path");

        size_t count = value_count(v);
        struct jq_step *steps = arena_alloc(a, count * sizeof *steps);
        for (size_t i = 0; i < count; i++) {
                int r = read_step(v->list.items[i], &steps[i], err);

                if (r < 0)
                        return r;
        }
        *ret_path = (struct jq_path){ steps, count };
        return 0;
}

int jq_paths_read(struct str json, struct arena *a, const struct jq_path **ret_paths, size_t *ret_count,
                  struct err *err) {
        const struct value *list;
        int r = json_parse(json, a, &list, err);

        if (r < 0)
                return err_set(err, ERR_PARSE, "paths that are no JSON");
        size_t count = value_count(list);
        if (!value_is(list, VALUE_LIST) || count > JQ_MAX_PATHS)
                return err_set(err, ERR_PARSE, "no list of paths");

        struct jq_path *paths = arena_alloc(a, count * sizeof *paths);
        for (size_t i = 0; i < count; i++) {
                r = read_path(list->list.items[i], a, &paths[i], err);
                if (r < 0)
                        return r;
        }
        *ret_paths = paths;
        *ret_count = count;
        return 0;
}

int jq_failure_read(struct str payload, struct err *ret_failure, struct err *err) {
        struct str msg = str_sub(payload, 1, payload.n);
        int code = payload.n > 0 ? -(unsigned char)payload.p[0] : 0;

        if ((code != ERR_INVAL && code != ERR_LIMIT) || !str_is_utf8(msg))
                return err_set(err, ERR_PARSE, "no failure");
        err_set(ret_failure, (enum err_code)code, "%.*s", STR_FMT(msg));
        return 0;
}
