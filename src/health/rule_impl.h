/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules in C and the guard share: reading an object whose fields may be missing or of any type, and saying what it
 * comes to. Counters are never negative and fit 31 bits, so that sums do.
 */
#ifndef TRUCE_HEALTH_RULE_IMPL_H
#define TRUCE_HEALTH_RULE_IMPL_H

#include "health/rules.h"

#define MINUTE_MS INT64_C(60000)

/* One judgement: parts of the object, looked up once, and the answer. */
struct rule {
        const struct value *object, *spec, *status;
        const struct health_question *q;
        struct arena *a;
        struct health *h;
};

struct rule rule_make(const struct value *object, const struct health_question *q, struct arena *a, struct health *h);

void rule_say(const struct rule *r, enum health_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Without a message, or with the text as it is. */
void rule_say_text(const struct rule *r, enum health_code code, struct str message);
void rule_say_only(const struct rule *r, enum health_code code);
/* Progressing, as nobody has written a status yet. */
void rule_say_no_status(const struct rule *r);
/* Progressing, as the status is about an older generation. */
void rule_say_unobserved(const struct rule *r, int64_t observed, int64_t generation);

struct str rule_text(const struct value *map, const char *key);
/* Text from outside, short and in one line, for the middle of a message. */
const char *rule_word(const struct rule *r, struct str text);
int64_t rule_count(const struct value *map, const char *key);
/* The counter as it is set; `otherwise` when it is not. */
int64_t rule_count_or(const struct value *map, const char *key, int64_t otherwise);
bool rule_flag(const struct value *map, const char *key);
struct str rule_annotation(const struct rule *r, const char *key);
/* Unix ms of an RFC 3339 time; false when it is none. */
bool rule_time(const struct value *map, const char *key, int64_t *ret_ms);

/* The first item of a list whose "type" is that, or NULL. */
const struct value *rule_condition_in(const struct value *list, const char *type);
/* Of status.conditions. */
const struct value *rule_condition(const struct rule *r, const char *type);
bool rule_condition_is(const struct value *condition, const char *status);
/* The condition's message when its status is "True"; false when it is not. */
bool rule_is_true(const struct rule *r, const char *type, struct str *ret_says);
/* "Reason: message", the one of them that there is, or "Ready is False". */
struct str rule_says(const struct value *condition, struct arena *a);

/* Things by name: "a, b, c and 4 more". Appends one; *count says how many came before. */
void rule_name(struct buf *out, size_t *count, const char *between, struct str name);
void rule_name_rest(struct buf *out, size_t count);

/* metadata.generation; 0: there is none. */
int64_t rule_generation(const struct value *object);
/* status.observedGeneration, an integer or text that is one. False: none that could be compared. */
bool rule_observed(const struct value *object, int64_t *ret_observed);

/* The object is on its way out (deletionTimestamp, or a Namespace that says so): what it waits for. */
void rule_say_deletion(const struct rule *r);

#endif
