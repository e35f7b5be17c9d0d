/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of validation share: the walk's state, field paths that cost nothing while all is well, the findings
 * with the API server's wording, and the rules for single texts.
 *
 * A path is a chain of struct at on the stack; it becomes text only when there is something to report.
 *
 * Some kinds' findings are written twice by the server: by hand, and generated from the types. The generated ones come
 * last, and then equal findings are merged; that is `late` and `merges`.
 *
 * Thread rule: plain functions, one struct check a call.
 */
#ifndef TRUCE_SANDBOX_VALIDATE_IMPL_H
#define TRUCE_SANDBOX_VALIDATE_IMPL_H

#include "sandbox/validate.h"

/* --- paths --- */

enum at_kind { AT_IS_FIELD, AT_IS_INDEX, AT_IS_KEY };
struct at {
        const struct at *up; /* NULL: the root */
        enum at_kind kind;
        struct str name; /* field or key */
        size_t index;
};
#define AT(above, field)     (&(const struct at){ .up = (above), .kind = AT_IS_FIELD, .name = STR(field) })
#define AT_STR(above, field) (&(const struct at){ .up = (above), .kind = AT_IS_FIELD, .name = (field) })
#define AT_INDEX(above, i)   (&(const struct at){ .up = (above), .kind = AT_IS_INDEX, .index = (i) })
#define AT_KEY(above, key)   (&(const struct at){ .up = (above), .kind = AT_IS_KEY, .name = (key) })
struct str at_text(const struct at *at, struct arena *a);

/* --- the walk --- */

struct check {
        struct causes *out;
        struct causes late; /* what the generated rules say */
        struct arena *a;
        const struct type *type;
        const struct causes *scale; /* of a custom resource, found before; NULL: none */
        struct str api_version, kind;
        const struct value *object, *live; /* live: NULL for a creation */
        bool is_pod;                       /* the pod spec at hand is a Pod's own, not a template's */
};

/* --- findings --- */

void fault_required(struct check *c, const struct at *at, const char *detail);
void fault_forbidden(struct check *c, const struct at *at, const char *detail);
void fault_invalid(struct check *c, const struct at *at, const struct value *shown, const char *detail);
void fault_invalid_str(struct check *c, const struct at *at, struct str shown, const char *detail);
void fault_invalid_int(struct check *c, const struct at *at, int64_t shown, const char *detail);
/* `shown` as it stands in the message: JSON that the value's own does not give. */
void fault_invalid_raw(struct check *c, const struct at *at, struct str shown, const char *detail);
void fault_duplicate(struct check *c, const struct at *at, const struct value *shown);
void fault_duplicate_str(struct check *c, const struct at *at, struct str shown);
void fault_duplicate_raw(struct check *c, const struct at *at, struct str shown);
void fault_not_found(struct check *c, const struct at *at, struct str shown);
/* `supported` is a list of quoted names as the message shows it: "\"A\", \"B\"". */
void fault_unsupported(struct check *c, const struct at *at, struct str shown, const char *supported);
void fault_unsupported_raw(struct check *c, const struct at *at, struct str shown, const char *supported);
void fault_too_long(struct check *c, const struct at *at, int64_t max_bytes);
void fault_too_many(struct check *c, const struct at *at, size_t count, size_t max);
/* Generated rules. */
void late_required(struct check *c, const struct at *at);
void late_invalid(struct check *c, const struct at *at, const struct value *shown, const char *detail);
void late_unsupported(struct check *c, const struct at *at, struct str shown, const char *supported);
void late_too_many(struct check *c, const struct at *at, size_t count, size_t max);

/* As Go prints it: %q of a string, JSON with < > & escaped. */
struct str quoted(struct str s, struct arena *a);
struct str go_json(const struct value *v, struct arena *a);
/* A map with its members in this order (the rest is left out): Go's struct order. Missing and empty ones are left out. */
struct str go_json_fields(const struct value *map, const char *const *fields, struct arena *a);

/* --- reading --- */

static inline const struct value *get(const struct value *map, const char *key) {
        const struct value *v = value_getc(map, key);

        return v && v->kind != VALUE_NULL ? v : NULL;
}
static inline struct str text_of(const struct value *map, const char *key) {
        return value_text(value_getc(map, key));
}
static inline int64_t int_of(const struct value *map, const char *key) {
        int64_t n = 0;

        return value_to_i64(value_getc(map, key), &n) ? n : 0;
}
static inline bool truth_of(const struct value *map, const char *key) {
        return value_truth(value_getc(map, key), false);
}
static inline size_t count_of(const struct value *map, const char *key) {
        return value_count(value_getc(map, key));
}
static inline const struct value *item_of(const struct value *list, size_t i) {
        return list->list.items[i];
}
static inline size_t list_count(const struct value *list) {
        return value_is(list, VALUE_LIST) ? list->list.count : 0;
}
static inline const struct value_member *map_begin(const struct value *map) {
        return value_is(map, VALUE_MAP) ? map->map.members : NULL;
}
static inline const struct value_member *map_end(const struct value *map) {
        return value_is(map, VALUE_MAP) ? map->map.members + map->map.count : NULL;
}
#define EACH(i, seq)                                                                                                   \
        size_t i = 0;                                                                                                  \
        i < list_count(seq);                                                                                           \
        i++
#define EACH_MEMBER(m, of)                                                                                             \
        const struct value_member *m = map_begin(of);                                                                  \
        m != map_end(of);                                                                                              \
        m++

/* Is `s` one of the names of a NULL-ended list? */
bool is_one_of(struct str s, const char *const *names);
/* Equal, or both absent or null. */
bool same(const struct value *a, const struct value *b);
/* Equal as Go's semantic comparison: empty lists and maps count as absent. */
bool same_semantically(const struct value *a, const struct value *b);

/* --- rules for texts --- */

enum text_rule {
        TEXT_DNS_LABEL,
        TEXT_DNS_1035_LABEL,
        TEXT_DNS_SUBDOMAIN,
        TEXT_DNS_SUBDOMAIN_UNDERSCORE,
        TEXT_WILDCARD_SUBDOMAIN,
        TEXT_LABEL_KEY,
        TEXT_LABEL_VALUE,
        TEXT_PORT_NAME,
        TEXT_PERCENT,
        TEXT_HEADER_NAME,
        TEXT_ENV_NAME,
        TEXT_CONFIG_KEY,
        TEXT_PATH_SEGMENT,
        TEXT_PATH_PREFIX,
        TEXT_DECIMAL,
};
#define TEXT_MAX_FAULTS 6
struct text_faults {
        struct str items[TEXT_MAX_FAULTS];
        size_t count;
};
struct text_faults text_faults(enum text_rule rule, struct str s, struct arena *a);
bool text_keeps(enum text_rule rule, struct str s);
/* One Invalid for each thing that is wrong with `s`. */
void check_text(struct check *c, const struct at *at, enum text_rule rule, struct str s);
/* The same as one finding, the texts joined. */
void check_text_joined(struct check *c, const struct at *at, enum text_rule rule, struct str s, const char *separator);
struct str text_joined(const struct text_faults *f, const char *separator, struct arena *a);
struct str text_lower(struct str s, struct arena *a);
/* "acme.io/foo" */
void check_prefixed_path(struct check *c, const struct at *at, struct str s);
/* generateName: a final dash stands for what will follow it. */
struct str text_mask_prefix(struct str s, struct arena *a);

void check_port(struct check *c, const struct at *at, int64_t port);
void check_port_or_name(struct check *c, const struct at *at, const struct value *port);
void check_nonnegative(struct check *c, const struct at *at, int64_t number);
/* Nothing when the field is absent. */
void check_nonnegative_field(struct check *c, const struct at *at, const struct value *map, const char *field);
void check_int_or_percent(struct check *c, const struct at *at, const struct value *v);
void check_at_most_100_percent(struct check *c, const struct at *at, const struct value *v);
int64_t int_or_percent(const struct value *v);
void check_immutable(struct check *c, const struct at *at, const struct value *now, const struct value *before);
void check_user_id(struct check *c, const struct at *at, const struct value *map, const char *field);

/* --- addresses --- */

struct ip {
        uint8_t bytes[16];
        bool is_v4;
};
bool ip_parse(struct str s, struct ip *ret);
struct cidr {
        struct ip ip; /* masked */
        unsigned length;
};
bool cidr_parse(struct str s, struct cidr *ret);
/* Values that stood in the live object already are let through; `known` is a list of strings or NULL. */
bool check_ip(struct check *c, const struct at *at, struct str s, const struct value *known);
bool check_cidr(struct check *c, const struct at *at, struct str s, const struct value *known);
void check_endpoint_ip(struct check *c, const struct at *at, struct str s);
bool cidr_contains(const struct cidr *outer, const struct cidr *inner);

/* --- quantities --- */

/* In units of 1e-9, saturating; 0 for what is none. */
typedef __int128 quantity;
quantity quantity_of(const struct value *v);
void check_nonnegative_quantity(struct check *c, const struct at *at, const struct value *v);
void check_positive_quantity(struct check *c, const struct at *at, const struct value *v);
/* Not negative, and a whole number where the resource is counted. */
void check_resource_quantity(struct check *c, const struct at *at, struct str resource, const struct value *v);
bool resource_is_standard(struct str name);
void check_resource_name(struct check *c, const struct at *at, struct str name);
void check_container_resource_name(struct check *c, const struct at *at, struct str name);
bool resource_may_overcommit(struct str name);
bool resource_is_huge_page(struct str name);

/* --- metadata and selectors --- */

/* How a kind's names look; the namespace rule of it. */
struct meta_rules {
        enum text_rule name;
        bool namespaced;
};
void check_meta(struct check *c, const struct value *meta, const struct meta_rules *rules, const struct at *at);
void check_meta_update(struct check *c, const struct value *now, const struct value *before, const struct at *at);
void check_labels(struct check *c, const struct at *at, const struct value *labels);
void check_annotations(struct check *c, const struct at *at, const struct value *annotations);

void check_selector(struct check *c, const struct at *at, const struct value *selector);
/* Can it be used for matching? (Known operators, well-formed keys and values.) */
bool selector_is_usable(const struct value *selector);
/* NULL matches nothing, the empty one everything. */
bool selector_matches(const struct value *selector, const struct value *labels);
struct str selector_json(const struct value *selector, struct arena *a);

/* --- the kinds --- */

typedef void (*kind_check)(struct check *c);

/* A pod template's metadata and spec. */
void check_pod_template(struct check *c, const struct at *at, const struct value *template);
void check_pod_spec(struct check *c, const struct at *at, const struct value *spec, const struct value *pod_meta);
void check_tolerations(struct check *c, const struct at *at, const struct value *tolerations);
void check_pvc_spec(struct check *c, const struct at *at, const struct value *spec);

#endif
