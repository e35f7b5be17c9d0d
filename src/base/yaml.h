/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML to struct value, giving exactly what sigs.k8s.io/yaml gives (goyaml.v2 typing, a YAML 1.1 flavour: `on`, `0644`,
 * `08`, `0o17`, `1_0`, `~`, `<<`, float and bool keys, dates, BOM, UTF-16), through libyaml's event API with hard caps on
 * depth, nodes, bytes and alias expansion (base/limits.h). Every value carries its line.
 *
 * Duplicate keys: the last one wins, as upstream, and each is reported as a note with both lines.
 */
#ifndef TRUCE_BASE_YAML_H
#define TRUCE_BASE_YAML_H

#include "base/value.h"

/* One duplicate key. `key` lives in the arena of the document. */
struct yaml_note {
        struct str key;
        uint32_t first_line, line;
};

struct yaml_document {
        const struct value *value; /* NULL for an empty or comment-only document */
        uint32_t line;             /* where the document begins, 1-based */
        const struct yaml_note *notes;
        size_t note_count;
};

/*
 * Parses all documents of one file. On PARSE or LIMIT the message begins with "line N: " and ret_docs holds the
 * documents before the broken one (callers decide whether that counts). Everything lives in the arena.
 */
int yaml_parse(struct str text, struct arena *a, const struct yaml_document **ret_docs, size_t *ret_count,
               struct err *err);

/* Block-style YAML of a value, which yaml_parse() reads back as an equal value. Two blanks a level, sorted keys. */
void yaml_print(const struct value *v, struct buf *out);

#endif
