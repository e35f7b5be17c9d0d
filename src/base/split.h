/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts JSON that is still arriving into pieces, so that no list is ever one tree:
 *  - split_list: a Kubernetes List reply; each element of the top-level "items" array is handed out as its bytes, and
 *    everything else (apiVersion, kind, metadata) is kept as a small "shell" document with `"items":[]`.
 *  - split_lines: a watch stream; each complete non-blank line is handed out.
 * Chunk borders may fall anywhere, inside escapes and UTF-8 sequences too. An item or line above its maximum, or a
 * shell above KUBE_MAX_ERROR_BYTES, is LIMIT; text that cannot be JSON structure is PARSE. Bytes outside strings are
 * counted, not validated: json_parse() of the item does that.
 * Memory: one item at a time.
 */
#ifndef TRUCE_BASE_SPLIT_H
#define TRUCE_BASE_SPLIT_H

#include "base/buf.h"
#include "base/err.h"

/* Gets one item's or line's bytes, borrowed during the call. A negative return stops the splitter and is passed on. */
typedef int (*split_piece_fn)(void *ctx, struct str piece, struct err *err);

struct split_list;
struct split_list *split_list_new(size_t max_item_bytes, split_piece_fn item, void *ctx);
void split_list_free(struct split_list *s);
DEFINE_CLEANUP(struct split_list *, split_list_free)
int split_list_feed(struct split_list *s, struct str chunk, struct err *err);
/* After the last chunk: the shell document, borrowed until _free; PARSE when the text ended early. */
int split_list_end(struct split_list *s, struct str *ret_shell, struct err *err);

struct split_lines {
        struct buf rest;
};
struct split_lines split_lines_make(size_t max_line_bytes);
void split_lines_done(struct split_lines *s);
int split_lines_feed(struct split_lines *s, struct str chunk, split_piece_fn line, void *ctx, struct err *err);

#endif
