/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names of objects for people: `deploy/web`, `configmap/flags`, `crd/widgets.example.io`.
 *
 * The kinds every cluster has are called as people call them at a command line; any other kind by its own name in lower
 * case. Names are escaped as text.h does, so a title may go to a terminal.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_DIFF_TITLE_H
#define TRUCE_DIFF_TITLE_H

#include "base/buf.h"

/* Appends the word for a kind: `deploy`, `hpa`, `widget`; of a custom kind `widget.example.io` when with_group is set.
 */
void diff_kind_word(struct str group, struct str kind, bool with_group, struct buf *out);

/* Appends `word/name`. */
void diff_title(struct str group, struct str kind, struct str name, bool with_group, struct buf *out);

#endif
