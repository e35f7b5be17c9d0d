/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML to struct value, giving exactly what sigs.k8s.io/yaml gives (goyaml.v2 typing, a YAML 1.1 flavour: `on`, `0644`,
 * `08`, `0o17`, `1_0`, `~`, `<<`, float and bool keys, dates, BOM, UTF-16), through libyaml's event API with hard caps
 * on depth, nodes, bytes and alias expansion (base/limits.h). tests/cases/yaml holds the Go library's own answers.
 *
 * Every value carries the line it begins on, a text how its lines lie in the file, every map member the line of its key;
 * what came through an alias or `<<` carries the lines of the anchored text.
 *
 * Duplicate keys: the last one wins, as upstream, and each is reported as a note with both lines. A merged key that is
 * written out as well is no duplicate. Keys that become the same string (1 and "1") are duplicates here; upstream picks
 * one at random.
 *
 * Where we differ on purpose:
 *  - caps: depth YAML_MAX_DEPTH (upstream 10,000), YAML_MAX_NODES, YAML_MAX_SCALAR_BYTES, YAML_MAX_DOCUMENT_BYTES,
 *    YAML_MAX_DOCUMENTS, next to upstream's own rule about the share of nodes that come from aliases;
 *  - a stream is read as YAML says, while Kubernetes' readers cut it at lines that begin with `---` first: content on
 *    that line is kept (upstream refuses it), what follows `...` is a document of its own (upstream drops it), and
 *    a %YAML or %TAG directive goes with the document after it;
 *  - libyaml refuses `{a:}` and `[a:,b]` (upstream: the text "a:"), \' in double quotes (upstream: '), and a list or
 *    map as a key of the root map (upstream drops that map). It accepts \/ in double quotes, as JSON does. It ends a
 *    tag before `,` or `]` (upstream takes them in) and drops a byte order mark at the start of any line.
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
 * Parses all documents of one file. On PARSE or LIMIT the message begins with "line N: " where the line is known, and
 * ret_docs holds the documents before the broken one (callers decide whether that counts). Messages quote anchors, tags
 * and keys' lines, never values. Everything lives in the arena.
 */
int yaml_parse(struct str text, struct arena *a, const struct yaml_document **ret_docs, size_t *ret_count,
               struct err *err);

/*
 * Block-style YAML of a value, which yaml_parse() reads back as an equal value (save numbers that a double cannot hold:
 * YAML has no others). Two blanks a level, sorted keys; text is quoted where any YAML 1.1 reader would see another
 * type, and where it has characters that a terminal would obey or not show: they are escaped.
 */
void yaml_print(const struct value *v, struct buf *out);

/* Cuts "line N: " off the front of an error's message; 0: it names none. */
uint32_t yaml_take_line(struct str *message);

#endif
