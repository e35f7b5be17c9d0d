/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for single values that many kinds share: comparisons, ports, percentages, quantities and resource names. */
#include "sandbox/validate_impl.h"

#include <string.h>

bool is_one_of(struct str s, const char *const *names) {
        for (; *names; names++)
                if (str_eqc(s, *names))
                        return true;
        return false;
}

static bool is_absent(const struct value *v) {
        return !v || v->kind == VALUE_NULL;
}

bool same(const struct value *a, const struct value *b) {
        if (is_absent(a) || is_absent(b))
                return is_absent(a) && is_absent(b);
        return value_equal(a, b);
}

/* Absent, empty, or with nothing but such in it. */
static bool is_nothing(const struct value *v) {
        if (is_absent(v))
                return true;
        for (EACH_MEMBER(m, v))
                if (!is_nothing(m->value))
                        return false;
        return v->kind == VALUE_MAP || (v->kind == VALUE_LIST && v->list.count == 0);
}

/* Every member of `a` is the same in `b`, and what `b` has beside them is nothing. None is compared twice. */
static bool members_same(const struct value *a, const struct value *b) {
        for (EACH_MEMBER(m, a))
                if (!same_semantically(m->value, value_get(b, m->key)))
                        return false;
        for (EACH_MEMBER(m, b))
                if (!value_get(a, m->key) && !is_nothing(m->value))
                        return false;
        return true;
}

bool same_semantically(const struct value *a, const struct value *b) {
        if (is_nothing(a) || is_nothing(b))
                return is_nothing(a) && is_nothing(b);
        if (a->kind != b->kind)
                return value_equal(a, b);
        if (a->kind == VALUE_MAP)
                return members_same(a, b);
        if (a->kind != VALUE_LIST)
                return value_equal(a, b);
        if (a->list.count != b->list.count)
                return false;
        for (EACH(i, a))
                if (!same_semantically(item_of(a, i), item_of(b, i)))
                        return false;
        return true;
}

void check_immutable(struct check *c, const struct at *at, const struct value *now, const struct value *before) {
        if (!same_semantically(now, before))
                fault_invalid(c, at, now, "field is immutable");
}

/* --- numbers --- */

void check_port(struct check *c, const struct at *at, int64_t port) {
        if (port < 1 || port > 65535)
                fault_invalid_int(c, at, port, "must be between 1 and 65535, inclusive");
}

void check_port_or_name(struct check *c, const struct at *at, const struct value *port) {
        int64_t n = 0;

        if (value_is(port, VALUE_STRING))
                check_text(c, at, TEXT_PORT_NAME, value_text(port));
        else
                check_port(c, at, value_to_i64(port, &n) ? n : 0);
}

void check_nonnegative(struct check *c, const struct at *at, int64_t number) {
        if (number < 0)
                fault_invalid_int(c, at, number, "must be greater than or equal to 0");
}

void check_nonnegative_field(struct check *c, const struct at *at, const struct value *map, const char *field) {
        int64_t n = 0;

        if (value_to_i64(get(map, field), &n))
                check_nonnegative(c, AT_STR(at, str_from(field)), n);
}

void check_user_id(struct check *c, const struct at *at, const struct value *map, const char *field) {
        int64_t n = 0;

        if (value_to_i64(get(map, field), &n) && (n < 0 || n > INT32_MAX))
                fault_invalid_int(c, AT_STR(at, str_from(field)), n, "must be between 0 and 2147483647, inclusive");
}

void check_int_or_percent(struct check *c, const struct at *at, const struct value *v) {
        int64_t n = 0;

        if (value_is(v, VALUE_STRING))
                check_text(c, at, TEXT_PERCENT, value_text(v));
        else if (value_to_i64(v, &n))
                check_nonnegative(c, at, n);
}

/* Digits with or without a percent sign; what is neither counts as 0, as Atoi's result does. */
int64_t int_or_percent(const struct value *v) {
        struct str s = value_text(v);
        int64_t n = 0;

        if (value_to_i64(v, &n))
                return n;
        if (s.n && s.p[s.n - 1] == '%')
                s.n--;
        return str_to_i64(s, &n) ? n : 0;
}

void check_at_most_100_percent(struct check *c, const struct at *at, const struct value *v) {
        if (value_is(v, VALUE_STRING) && text_keeps(TEXT_PERCENT, value_text(v)) && int_or_percent(v) > 100)
                fault_invalid(c, at, v, "must not be greater than 100%");
}

/* --- quantities --- */

#define NANO         ((quantity)1000000000)
#define QUANTITY_MAX ((quantity)1 << 110)

static quantity scaled(quantity q, quantity factor) {
        return q > QUANTITY_MAX / factor ? QUANTITY_MAX : q * factor;
}

/* The factor of a suffix in units of 1e-9. */
static bool suffix_factor(struct str suffix, quantity *ret_factor) {
        static const struct {
                const char *name;
                int tens; /* power of ten, or */
                int bits; /* power of two */
        } suffixes[] = {
                { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },  { "", 0, 0 },    { "k", 3, 0 },   { "M", 6, 0 },
                { "G", 9, 0 },   { "T", 12, 0 },  { "P", 15, 0 },  { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
                { "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 },
        };
        int64_t exponent = 0;
        int tens = 0, bits = 0;
        bool known = false;

        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !known; i++)
                if (str_eqc(suffix, suffixes[i].name)) {
                        tens = suffixes[i].tens;
                        bits = suffixes[i].bits;
                        known = true;
                }
        if (!known && suffix.n > 1 && (suffix.p[0] == 'e' || suffix.p[0] == 'E') &&
            str_to_i64(str_sub(suffix, 1 + (suffix.p[1] == '+'), suffix.n), &exponent) && exponent > -10 &&
            exponent < 19) {
                tens = (int)exponent;
                known = true;
        }
        *ret_factor = NANO << bits;
        for (; tens > 0; tens--)
                *ret_factor *= 10;
        for (; tens < 0; tens++)
                *ret_factor /= 10;
        return known;
}

/* Digits with an optional point, times the factor; digits below 1e-9 are dropped. */
static quantity number_times(struct str digits, quantity factor) {
        quantity whole = 0, part = 0, unit = factor;
        bool after_point = false;

        for (size_t i = 0; i < digits.n; i++) {
                if (digits.p[i] == '.')
                        after_point = true;
                else if (!after_point)
                        whole = scaled(whole, 10) + (digits.p[i] - '0');
                else {
                        unit /= 10;
                        part += unit * (digits.p[i] - '0');
                }
        }
        return scaled(whole, factor) + part;
}

quantity quantity_of(const struct value *v) {
        struct str s = value_text(v);
        quantity factor = 0;
        size_t end = 0;
        int64_t n = 0;
        bool negative;

        if (value_to_i64(v, &n))
                return (quantity)n * NANO;
        negative = s.n && s.p[0] == '-';
        if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
                s = str_sub(s, 1, s.n);
        while (end < s.n && ((s.p[end] >= '0' && s.p[end] <= '9') || s.p[end] == '.'))
                end++;
        if (!suffix_factor(str_sub(s, end, s.n), &factor))
                return 0;
        return number_times(str_sub(s, 0, end), factor) * (negative ? -1 : 1);
}

/* A quantity is shown by its text. */
static void invalid_quantity(struct check *c, const struct at *at, const struct value *v, const char *detail) {
        fault_invalid_str(c, at, value_is(v, VALUE_STRING) ? value_text(v) : value_canonical(c->a, v), detail);
}

void check_nonnegative_quantity(struct check *c, const struct at *at, const struct value *v) {
        if (quantity_of(v) < 0)
                invalid_quantity(c, at, v, "must be greater than or equal to 0");
}

void check_positive_quantity(struct check *c, const struct at *at, const struct value *v) {
        if (quantity_of(v) <= 0)
                invalid_quantity(c, at, v, "must be greater than zero");
}

/* --- resource names --- */

bool resource_is_huge_page(struct str name) {
        return str_starts(name, STR("hugepages-"));
}

static bool is_native(struct str name) {
        return str_find(name, '/', 0) < 0 || str_contains(name, STR("kubernetes.io/"));
}

bool resource_may_overcommit(struct str name) {
        return is_native(name) && !resource_is_huge_page(name);
}

static bool is_extended(struct str name) {
        _cleanup_(arena_freep) struct arena *a = NULL;

        if (is_native(name) || str_starts(name, STR("requests.")))
                return false;
        a = arena_new(0);
        return text_keeps(TEXT_LABEL_KEY, arena_strf(a, "requests.%.*s", STR_FMT(name)));
}

bool resource_is_standard(struct str name) {
        static const char *const names[] = { "cpu",
                                             "memory",
                                             "ephemeral-storage",
                                             "requests.cpu",
                                             "requests.memory",
                                             "requests.ephemeral-storage",
                                             "limits.cpu",
                                             "limits.memory",
                                             "limits.ephemeral-storage",
                                             "pods",
                                             "resourcequotas",
                                             "services",
                                             "replicationcontrollers",
                                             "secrets",
                                             "configmaps",
                                             "persistentvolumeclaims",
                                             "storage",
                                             "requests.storage",
                                             "services.nodeports",
                                             "services.loadbalancers",
                                             NULL };

        return is_one_of(name, names) || resource_is_huge_page(name) || str_starts(name, STR("requests.hugepages-"));
}

static bool is_counted(struct str name) {
        static const char *const names[] = {
                "pods",       "resourcequotas",         "services",           "replicationcontrollers", "secrets",
                "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers", NULL
        };

        return is_one_of(name, names) || is_extended(name);
}

void check_resource_quantity(struct check *c, const struct at *at, struct str resource, const struct value *v) {
        check_nonnegative_quantity(c, at, v);
        if (is_counted(resource) && quantity_of(v) % NANO)
                fault_invalid(c, at, v, "must be an integer");
}

void check_resource_name(struct check *c, const struct at *at, struct str name) {
        if (!text_keeps(TEXT_LABEL_KEY, name))
                check_text(c, at, TEXT_LABEL_KEY, name);
        else if (str_find(name, '/', 0) < 0 && !resource_is_standard(name))
                fault_invalid_str(c, at, name, "must be a standard resource type or fully qualified");
}

void check_container_resource_name(struct check *c, const struct at *at, struct str name) {
        static const char *const names[] = { "cpu", "memory", "ephemeral-storage", NULL };

        check_resource_name(c, at, name);
        if (str_find(name, '/', 0) < 0) {
                if (!is_one_of(name, names) && !resource_is_huge_page(name))
                        fault_invalid_str(c, at, name, "must be a standard resource for containers");
        } else if (!is_native(name) && !is_extended(name))
                fault_invalid_str(c, at, name, "doesn't follow extended resource name standard");
}
