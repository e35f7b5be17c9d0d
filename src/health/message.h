/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of health: made of text from outside, so always bounded, always UTF-8, and without what a terminal would
 * obey.
 */
#ifndef TRUCE_HEALTH_MESSAGE_H
#define TRUCE_HEALTH_MESSAGE_H

#include "base/value.h"

/* At most HEALTH_MAX_MESSAGE_BYTES of `text`; line feeds and tabs stay. */
struct str message_bounded(struct arena *a, struct str text);

/* Appends at most max_bytes of `text` as one line: every run of blanks and control characters is one blank. */
void message_add_line(struct buf *out, struct str text, size_t max_bytes);

#endif
