/* SPDX-License-Identifier: Apache-2.0 */
/* The array doubles whenever its count is a power of two, so that it needs no capacity of its own. */
#include "group/problem.h"

#include <string.h>

#include "base/buf.h"

#define FIRST_ITEMS    4
#define TEXT_MAX_BYTES (4 * 1024)

static bool is_full(size_t count) {
        return count == 0 || (count >= FIRST_ITEMS && (count & (count - 1)) == 0);
}

static struct group_problem *grown(const struct group_problems *problems, struct arena *a) {
        size_t room = problems->count ? 2 * problems->count : FIRST_ITEMS;
        struct group_problem *items = arena_alloc(a, room * sizeof *items);

        if (problems->count)
                memcpy(items, problems->items, problems->count * sizeof *items);
        return items;
}

void group_problems_add(struct group_problems *problems, struct arena *a, enum group_problem_kind kind, struct str path,
                        const char *fmt, ...) {
        _cleanup_(buf_done) struct buf text = buf_make(TEXT_MAX_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);

        if (is_full(problems->count))
                problems->items = grown(problems, a);
        problems->items[problems->count++] = (struct group_problem){
                .kind = kind,
                .path = arena_str(a, path),
                .text = text.overflow ? STR("Invalid value") : arena_str(a, buf_str(&text)),
        };
}
