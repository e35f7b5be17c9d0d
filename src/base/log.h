/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: one line per event, key=value (default) or JSON, on standard error. Only agent/, cli/ and http/ log; other
 * layers return errors. Values are quoted and escaped, so a line is always one line. Secrets never come here: callers
 * redact by source.
 *
 *   log_event(LOG_INFO, "agent", "applied", "app", "shop", "obj", "deploy/web", NULL);
 *
 * writes: 2026-11-29T19:40:00.123Z info agent msg="applied" app=shop obj=deploy/web
 * Limits: 8 KiB of one value are kept ("…" marks the cut), 64 KiB of a line; pairs beyond that are left out.
 * Bytes that are no UTF-8 become U+FFFD. In JSON every value is a string.
 * Thread rule: any thread; a line is written with one write(), and one that cannot be written is lost.
 */
#ifndef TRUCE_BASE_LOG_H
#define TRUCE_BASE_LOG_H

#include "base/err.h"
#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

/* Process-wide; call before threads start. `fd` is where lines go (2 unless a test says otherwise). */
void log_init(enum log_level least, enum log_format format, int fd);
bool log_is_on(enum log_level level);
/* Pairs of (key, value) C strings, ended by NULL. A NULL value prints as "". */
void log_event(enum log_level level, const char *module, const char *msg, ...) __attribute__((sentinel));
/*
 * As log_event(), but a line with the same module, msg and first pair is written at most once per 60 s; the next one
 * that is written carries repeated=N, the number of lines held back in between. Of a few hundred different lines each
 * is limited for itself; beyond that some are written more often.
 */
void log_event_limited(enum log_level level, const char *module, const char *msg, ...) __attribute__((sentinel));
/* False when `name` is no level ("debug" "info" "warn" "error"). */
bool log_level_from(struct str name, enum log_level *ret_level);

#endif
