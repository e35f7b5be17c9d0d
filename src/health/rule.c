/* SPDX-License-Identifier: Apache-2.0 */
#include "health/rule_impl.h"

#include "base/when.h"
#include "health/message.h"

#define NAMES_MAX      3
#define WORD_MAX_BYTES 256

struct rule rule_make(const struct value *object, const struct health_question *q, struct arena *a, struct health *h) {
        return (struct rule){
                .object = object,
                .spec = value_getc(object, "spec"),
                .status = value_getc(object, "status"),
                .q = q,
                .a = a,
                .h = h,
        };
}

void rule_say_text(const struct rule *r, enum health_code code, struct str message) {
        r->h->code = code;
        r->h->message = message_bounded(r->a, message);
}

void rule_say_only(const struct rule *r, enum health_code code) {
        rule_say_text(r, code, (struct str){ 0 });
}

void rule_say(const struct rule *r, enum health_code code, const char *fmt, ...) {
        /* Room for more than is shown, so that it is cut with an ellipsis; what goes in is bounded. */
        _cleanup_(buf_done) struct buf out = buf_make((size_t)16 * HEALTH_MAX_MESSAGE_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&out, fmt, ap);
        va_end(ap);
        rule_say_text(r, code, buf_str(&out));
}

void rule_say_no_status(const struct rule *r) {
        rule_say(r, HEALTH_PROGRESSING, "waiting for its controller: there is no status yet");
}

void rule_say_unobserved(const struct rule *r, int64_t observed, int64_t generation) {
        rule_say(r, HEALTH_PROGRESSING, "waiting for its controller: generation %lld is observed, %lld is awaited",
                 (long long)observed, (long long)generation);
}

struct str rule_text(const struct value *map, const char *key) {
        return value_text(value_getc(map, key));
}

const char *rule_word(const struct rule *r, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(WORD_MAX_BYTES);

        message_add_line(&out, text, WORD_MAX_BYTES);
        return arena_str(r->a, buf_str(&out)).p;
}

int64_t rule_count_or(const struct value *map, const char *key, int64_t otherwise) {
        int64_t n;

        if (!value_to_i64(value_getc(map, key), &n))
                return otherwise;
        return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

int64_t rule_count(const struct value *map, const char *key) {
        return rule_count_or(map, key, 0);
}

bool rule_flag(const struct value *map, const char *key) {
        return value_truth(value_getc(map, key), false);
}

struct str rule_annotation(const struct rule *r, const char *key) {
        return value_text(value_path(r->object, "metadata", "annotations", key, NULL));
}

bool rule_time(const struct value *map, const char *key, int64_t *ret_ms) {
        return when_parse(rule_text(map, key), ret_ms);
}

const struct value *rule_condition_in(const struct value *list, const char *type) {
        if (!value_is(list, VALUE_LIST))
                return NULL;
        for (size_t i = 0; i < list->list.count; i++)
                if (str_eqc(rule_text(list->list.items[i], "type"), type))
                        return list->list.items[i];
        return NULL;
}

const struct value *rule_condition(const struct rule *r, const char *type) {
        return rule_condition_in(value_getc(r->status, "conditions"), type);
}

bool rule_condition_is(const struct value *condition, const char *status) {
        return str_eqc(rule_text(condition, "status"), status);
}

bool rule_is_true(const struct rule *r, const char *type, struct str *ret_says) {
        const struct value *c = rule_condition(r, type);

        if (!rule_condition_is(c, "True"))
                return false;
        *ret_says = rule_says(c, r->a);
        return true;
}

struct str rule_says(const struct value *condition, struct arena *a) {
        struct str reason = rule_text(condition, "reason"), message = rule_text(condition, "message");
        struct str type = rule_text(condition, "type"), status = rule_text(condition, "status");

        message = message_bounded(a, message);
        reason = message_bounded(a, reason);
        if (reason.n > 0 && message.n > 0)
                return arena_strf(a, "%.*s: %.*s", STR_FMT(reason), STR_FMT(message));
        if (reason.n > 0 || message.n > 0)
                return reason.n > 0 ? reason : message;
        return arena_strf(a, "%.*s is %.*s", STR_FMT(message_bounded(a, type)), STR_FMT(message_bounded(a, status)));
}

void rule_name(struct buf *out, size_t *count, const char *between, struct str name) {
        if (++*count > NAMES_MAX)
                return;
        buf_addc(out, *count > 1 ? between : "");
        message_add_line(out, name, HEALTH_MAX_MESSAGE_BYTES / NAMES_MAX);
}

void rule_name_rest(struct buf *out, size_t count) {
        if (count > NAMES_MAX)
                buf_addf(out, " and %zu more", count - NAMES_MAX);
}

int64_t rule_generation(const struct value *object) {
        int64_t n;

        return value_to_i64(value_path(object, "metadata", "generation", NULL), &n) ? n : 0;
}

bool rule_observed(const struct value *object, int64_t *ret_observed) {
        const struct value *v = value_path(object, "status", "observedGeneration", NULL);

        /* Argo Rollouts and Istio write it as text; an old Rollout's is a hash, which says nothing. */
        return value_to_i64(v, ret_observed) || str_to_i64(value_text(v), ret_observed);
}
