/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a jq worker may say, in any pieces: frames are found alike however the bytes arrive, their paths have steps that
 * are keys or indexes, their failures a code that a rule can have. The first byte says how long the pieces are.
 */
#include "fuzz.h"

#include "agent/jq_impl.h"
#include "base/limits.h"

static void check_paths(struct str json) {
        struct arena *a = arena_new(0);
        const struct jq_path *paths = NULL;
        size_t count = 0;
        struct err err;
        int r = jq_paths_read(json, a, &paths, &count, &err);

        HOLDS(r == 0 || r == ERR_PARSE);
        HOLDS(r < 0 || count <= JQ_MAX_PATHS);
        for (size_t i = 0; i < count; i++)
                for (size_t k = 0; k < paths[i].count; k++)
                        HOLDS(paths[i].steps[k].is_index ? paths[i].steps[k].index >= 0 && paths[i].steps[k].key.n == 0
                                                         : paths[i].steps[k].index == 0);
        arena_free(a);
}

static void check_failure(struct str payload) {
        struct err failure, err;
        int r = jq_failure_read(payload, &failure, &err);

        HOLDS(r == 0 || r == ERR_PARSE);
        if (r == 0)
                HOLDS((failure.code == ERR_INVAL || failure.code == ERR_LIMIT) && str_is_utf8(str_from(failure.msg)));
}

/* Reads as the worker does; returns how many bytes made frames, and how it ended. */
static size_t read_frames(struct str bytes, size_t step, int *ret_end) {
        struct jq_frame f;
        struct str payload;
        struct err err;
        size_t at = 0;
        int r = 0;

        for (size_t heard = 0; r >= 0 && heard < bytes.n;) {
                heard = heard + step < bytes.n ? heard + step : bytes.n;
                while ((r = jq_frame_next(str_sub(bytes, 0, heard), &at, &f, &payload, &err)) > 0) {
                        HOLDS(at <= heard && payload.n == f.bytes && f.bytes <= JQ_MAX_PATHS_BYTES);
                        if (f.kind == JQ_FRAME_PATHS)
                                check_paths(payload);
                        else if (f.kind == JQ_FRAME_FAILED)
                                check_failure(payload);
                }
        }
        HOLDS(r == 0 || r == ERR_PARSE);
        *ret_end = r;
        return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        if (n < 1)
                return 0;

        const struct str bytes = { (const char *)data + 1, n - 1 };
        int in_pieces, at_once;

        HOLDS(read_frames(bytes, (size_t)data[0] + 1, &in_pieces) == read_frames(bytes, n, &at_once));
        HOLDS(in_pieces == at_once);
        return 0;
}
