/* SPDX-License-Identifier: Apache-2.0 */
#include "base/value.h"

#include <assert.h>
#include <stdarg.h>

const struct value value_null = { .kind = VALUE_NULL };
const struct value value_true = { .kind = VALUE_BOOL, .boolean = true };
const struct value value_false = { .kind = VALUE_BOOL };
const struct value value_empty_map = { .kind = VALUE_MAP };
const struct value value_empty_list = { .kind = VALUE_LIST };

static struct value *new_value(struct arena *a, enum value_kind kind, uint32_t line) {
        struct value *v = arena_zalloc(a, sizeof *v);

        v->kind = kind;
        v->line = line;
        return v;
}

const struct value *value_bool(struct arena *a, bool boolean, uint32_t line) {
        struct value *v = new_value(a, VALUE_BOOL, line);

        v->boolean = boolean;
        return v;
}

const struct value *value_int(struct arena *a, int64_t number, uint32_t line) {
        struct value *v = new_value(a, VALUE_INT, line);

        v->i64 = number;
        return v;
}

const struct value *value_uint(struct arena *a, uint64_t number, uint32_t line) {
        if (number <= INT64_MAX)
                return value_int(a, (int64_t)number, line);

        struct value *v = new_value(a, VALUE_UINT, line);
        v->u64 = number;
        return v;
}

const struct value *value_number(struct arena *a, struct str text, uint32_t line) {
        int64_t i64;
        uint64_t u64;

        if (str_to_i64(text, &i64) && !str_eqc(text, "-0"))
                return value_int(a, i64, line);
        if (str_to_u64(text, &u64))
                return value_uint(a, u64, line);

        struct value *v = new_value(a, VALUE_DECIMAL, line);
        v->text = arena_str(a, text);
        return v;
}

const struct value *value_string(struct arena *a, struct str text, uint32_t line) {
        struct value *v = new_value(a, VALUE_STRING, line);

        v->text = arena_str(a, text);
        return v;
}

const struct value *value_stringc(struct arena *a, const char *text) {
        return value_string(a, str_from(text), 0);
}

void value_list_add(struct value_list_builder *b, const struct value *item) {
        b->items = mem_grow(b->items, &b->cap, b->count + 1, sizeof *b->items);
        b->items[b->count++] = item;
}

const struct value *value_list_end(struct value_list_builder *b, struct arena *a, uint32_t line) {
        struct value *v = new_value(a, VALUE_LIST, line);

        if (b->count) {
                const struct value **items = arena_alloc(a, b->count * sizeof *items);

                memcpy(items, b->items, b->count * sizeof *items);
                v->list.items = items;
                v->list.count = b->count;
        }
        value_list_drop(b);
        return v;
}

void value_list_drop(struct value_list_builder *b) {
        free(b->items);
        *b = (struct value_list_builder){ 0 };
}

void value_map_add(struct value_map_builder *b, struct str key, const struct value *value, uint32_t key_line) {
        b->members = mem_grow(b->members, &b->cap, b->count + 1, sizeof *b->members);
        b->members[b->count++] = (struct value_member){ key, value, key_line };
}

#define INSERTION_SORT_MAX 12

static void insertion_sort(struct value_member *m, size_t n) {
        for (size_t i = 1; i < n; i++) {
                struct value_member moving = m[i];
                size_t at = i;

                for (; at > 0 && str_cmp(m[at - 1].key, moving.key) > 0; at--)
                        m[at] = m[at - 1];
                m[at] = moving;
        }
}

/* Stable merge sort: members with one key keep their order, so that the last one can win. Scratch holds n / 2. */
static void sort_members(struct value_member *m, size_t n, struct value_member *scratch) {
        size_t half = n / 2;

        if (n <= INSERTION_SORT_MAX) {
                insertion_sort(m, n);
                return;
        }
        sort_members(m, half, scratch);
        sort_members(m + half, n - half, scratch);
        if (str_cmp(m[half - 1].key, m[half].key) <= 0)
                return;

        memcpy(scratch, m, half * sizeof *m);
        for (size_t left = 0, right = half, out = 0; left < half; out++) {
                if (right < n && str_cmp(m[right].key, scratch[left].key) < 0)
                        m[out] = m[right++];
                else
                        m[out] = scratch[left++];
        }
}

static bool is_sorted(const struct value_member *m, size_t n) {
        for (size_t i = 1; i < n; i++) {
                if (str_cmp(m[i - 1].key, m[i].key) >= 0)
                        return false;
        }
        return true;
}

static size_t drop_repeated(struct value_member *m, size_t n) {
        size_t out = 0;

        for (size_t i = 0; i < n; i++) {
                if (i + 1 < n && str_eq(m[i].key, m[i + 1].key))
                        continue;
                m[out++] = m[i];
        }
        return out;
}

const struct value *value_map_of(struct arena *a, struct value_member *members, size_t count, uint32_t line) {
        struct value *v = new_value(a, VALUE_MAP, line);

        /* What a server sends is sorted already. */
        if (!is_sorted(members, count)) {
                _cleanup_(mem_freep) struct value_member *scratch = mem_alloc(count / 2 * sizeof *scratch);

                sort_members(members, count, scratch);
                count = drop_repeated(members, count);
        }
        v->map.members = members;
        v->map.count = count;
        return v;
}

const struct value *value_map_end(struct value_map_builder *b, struct arena *a, uint32_t line) {
        struct value_member *members = arena_alloc(a, b->count * sizeof *members);

        for (size_t i = 0; i < b->count; i++) {
                members[i] = b->members[i];
                members[i].key = arena_str(a, b->members[i].key);
        }

        const struct value *v = value_map_of(a, members, b->count, line);
        value_map_drop(b);
        return v;
}

void value_map_drop(struct value_map_builder *b) {
        free(b->members);
        *b = (struct value_map_builder){ 0 };
}

const struct value_member *value_member_find(const struct value *map, struct str key) {
        if (!value_is(map, VALUE_MAP))
                return NULL;

        size_t low = 0, high = map->map.count;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                int order = str_cmp(key, map->map.members[mid].key);

                if (order == 0)
                        return &map->map.members[mid];
                if (order < 0)
                        high = mid;
                else
                        low = mid + 1;
        }
        return NULL;
}

const struct value *value_get(const struct value *map, struct str key) {
        const struct value_member *m = value_member_find(map, key);

        return m ? m->value : NULL;
}

const struct value *value_getc(const struct value *map, const char *key) {
        return value_get(map, str_from(key));
}

const struct value *value_path(const struct value *v, ...) {
        va_list ap;
        const char *key;

        va_start(ap, v);
        while (v && (key = va_arg(ap, const char *)))
                v = value_getc(v, key);
        va_end(ap);
        return v;
}

bool value_is(const struct value *v, enum value_kind kind) {
        return v && v->kind == kind;
}

struct str value_text(const struct value *v) {
        return value_is(v, VALUE_STRING) ? v->text : (struct str){ 0 };
}

bool value_truth(const struct value *v, bool otherwise) {
        return value_is(v, VALUE_BOOL) ? v->boolean : otherwise;
}

bool value_to_i64(const struct value *v, int64_t *ret_number) {
        if (!value_is(v, VALUE_INT))
                return false;
        *ret_number = v->i64;
        return true;
}

size_t value_count(const struct value *v) {
        if (value_is(v, VALUE_LIST))
                return v->list.count;
        return value_is(v, VALUE_MAP) ? v->map.count : 0;
}

const struct value *value_with(struct arena *a, const struct value *map, struct str key, const struct value *value) {
        struct value_map_builder b = { 0 };
        size_t count = map && map->kind == VALUE_MAP ? map->map.count : 0;

        for (size_t i = 0; i < count; i++) {
                const struct value_member *m = &map->map.members[i];

                if (!str_eq(m->key, key))
                        value_map_add(&b, m->key, m->value, m->line);
        }
        if (value)
                value_map_add(&b, key, value, value->line);
        return value_map_end(&b, a, map ? map->line : 0);
}

const struct value *value_with_path(struct arena *a, const struct value *map, const struct str *keys, size_t count,
                                    const struct value *value) {
        assert(count > 0);
        if (count == 1)
                return value_with(a, map, keys[0], value);

        const struct value *child = value_get(map, keys[0]);
        /* Nothing to remove below what is no map. */
        if (!value && !value_is(child, VALUE_MAP))
                return map ? map : &value_empty_map;
        return value_with(a, map, keys[0], value_with_path(a, child, keys + 1, count - 1, value));
}

const struct value *value_dup(struct arena *a, const struct value *v) {
        struct value_list_builder list = { 0 };
        struct value_map_builder map = { 0 };

        switch (v->kind) {
        case VALUE_LIST:
                for (size_t i = 0; i < v->list.count; i++)
                        value_list_add(&list, value_dup(a, v->list.items[i]));
                return value_list_end(&list, a, v->line);
        case VALUE_MAP:
                for (size_t i = 0; i < v->map.count; i++)
                        value_map_add(&map, v->map.members[i].key, value_dup(a, v->map.members[i].value),
                                      v->map.members[i].line);
                return value_map_end(&map, a, v->line);
        default: {
                struct value *copy = arena_alloc(a, sizeof *copy);

                *copy = *v;
                if (v->kind == VALUE_STRING || v->kind == VALUE_DECIMAL)
                        copy->text = arena_str(a, v->text);
                return copy;
        }
        }
}

static bool is_number(const struct value *v) {
        return v->kind == VALUE_INT || v->kind == VALUE_UINT || v->kind == VALUE_DECIMAL;
}

/* A number apart from its spelling: ±0.d₁d₂d₃… × 10^exponent, d₁ and the last digit not 0. */
struct decimal {
        bool negative;
        struct str digits; /* may hold a point, which means nothing any more; empty for zero */
        int64_t exponent;
        char own[24]; /* the text of an integer */
};

#define EXPONENT_MAX INT64_C(1000000000000000)

/* The number behind an "e"; beyond EXPONENT_MAX all are alike. */
static int64_t exponent_of(struct str text) {
        int64_t exponent = 0;
        bool negative = text.n && text.p[0] == '-';

        for (size_t i = 0; i < text.n && exponent < EXPONENT_MAX; i++) {
                if (text.p[i] >= '0' && text.p[i] <= '9')
                        exponent = exponent * 10 + (text.p[i] - '0');
        }
        return negative ? -exponent : exponent;
}

static void set_decimal(struct decimal *d, struct str text) {
        size_t end = 0, first = SIZE_MAX, last = 0;
        int64_t exponent = 0;
        bool after_point = false;

        d->negative = text.n && text.p[0] == '-';
        for (; end < text.n && text.p[end] != 'e' && text.p[end] != 'E'; end++) {
                char c = text.p[end];

                if (c == '.')
                        after_point = true;
                if (c < '0' || c > '9')
                        continue;
                if (c != '0' && first == SIZE_MAX)
                        first = end;
                if (c != '0')
                        last = end + 1;
                /* Digits before the point raise the exponent, zeros between it and the first digit lower it. */
                if (after_point)
                        exponent -= first == SIZE_MAX;
                else
                        exponent += first != SIZE_MAX;
        }
        d->digits = first == SIZE_MAX ? (struct str){ 0 } : str_sub(text, first, last);
        d->exponent = exponent + exponent_of(str_sub(text, end + 1, text.n));
        if (d->digits.n == 0)
                *d = (struct decimal){ 0 };
}

static void decimal_of(const struct value *v, struct decimal *ret_decimal) {
        char *own = ret_decimal->own;

        if (v->kind == VALUE_DECIMAL) {
                set_decimal(ret_decimal, v->text);
                return;
        }
        if (v->kind == VALUE_INT)
                snprintf(own, sizeof ret_decimal->own, "%lld", (long long)v->i64);
        else
                snprintf(own, sizeof ret_decimal->own, "%llu", (unsigned long long)v->u64);
        set_decimal(ret_decimal, str_from(own));
}

/* The next digit, or 0 behind the last one. */
static char next_digit(struct str *digits) {
        while (digits->n) {
                char c = digits->p[0];

                *digits = str_sub(*digits, 1, digits->n);
                if (c != '.')
                        return c;
        }
        return '\0';
}

static int magnitude_cmp(struct decimal *a, struct decimal *b) {
        /* Zero has no first digit, and is below all. */
        if (a->digits.n == 0 || b->digits.n == 0)
                return (a->digits.n > 0) - (b->digits.n > 0);
        if (a->exponent != b->exponent)
                return a->exponent > b->exponent ? 1 : -1;
        while (a->digits.n || b->digits.n) {
                char x = next_digit(&a->digits), y = next_digit(&b->digits);

                if (x != y)
                        return x > y ? 1 : -1;
        }
        return 0;
}

static int number_cmp(const struct value *a, const struct value *b) {
        struct decimal x, y;

        if (a->kind == VALUE_INT && b->kind == VALUE_INT)
                return (a->i64 > b->i64) - (a->i64 < b->i64);
        decimal_of(a, &x);
        decimal_of(b, &y);
        if (x.negative != y.negative)
                return x.negative ? -1 : 1;
        return x.negative ? magnitude_cmp(&y, &x) : magnitude_cmp(&x, &y);
}

static int kind_rank(const struct value *v) {
        return is_number(v) ? VALUE_INT : (int)v->kind;
}

static int list_cmp(const struct value *a, const struct value *b) {
        size_t n = a->list.count < b->list.count ? a->list.count : b->list.count;

        for (size_t i = 0; i < n; i++) {
                int order = value_cmp(a->list.items[i], b->list.items[i]);

                if (order)
                        return order;
        }
        return (a->list.count > b->list.count) - (a->list.count < b->list.count);
}

static int map_cmp(const struct value *a, const struct value *b) {
        size_t n = a->map.count < b->map.count ? a->map.count : b->map.count;

        for (size_t i = 0; i < n; i++) {
                const struct value_member *x = &a->map.members[i], *y = &b->map.members[i];
                int order = str_cmp(x->key, y->key);

                if (!order)
                        order = value_cmp(x->value, y->value);
                if (order)
                        return order;
        }
        return (a->map.count > b->map.count) - (a->map.count < b->map.count);
}

int value_cmp(const struct value *a, const struct value *b) {
        if (a == b)
                return 0;
        if (!a || !b)
                return a ? 1 : -1;
        if (kind_rank(a) != kind_rank(b))
                return kind_rank(a) - kind_rank(b);

        switch (a->kind) {
        case VALUE_NULL:
                return 0;
        case VALUE_BOOL:
                return (int)a->boolean - (int)b->boolean;
        case VALUE_STRING:
                return str_cmp(a->text, b->text);
        case VALUE_LIST:
                return list_cmp(a, b);
        case VALUE_MAP:
                return map_cmp(a, b);
        default:
                return number_cmp(a, b);
        }
}

bool value_equal(const struct value *a, const struct value *b) {
        return value_cmp(a, b) == 0;
}

void value_print_string(struct str s, struct buf *out) {
        size_t plain = 0;

        buf_addch(out, '"');
        for (size_t i = 0; i < s.n; i++) {
                unsigned char c = (unsigned char)s.p[i];

                if (c >= 0x20 && c != '"' && c != '\\')
                        continue;
                buf_add(out, str_sub(s, plain, i));
                plain = i + 1;
                if (c == '"' || c == '\\')
                        buf_addf(out, "\\%c", c);
                else if (c == '\n')
                        buf_addc(out, "\\n");
                else if (c == '\t')
                        buf_addc(out, "\\t");
                else if (c == '\r')
                        buf_addc(out, "\\r");
                else
                        buf_addf(out, "\\u%04x", c);
        }
        buf_add(out, str_sub(s, plain, s.n));
        buf_addch(out, '"');
}

static void print_scalar(const struct value *v, struct buf *out) {
        switch (v->kind) {
        case VALUE_BOOL:
                buf_addc(out, v->boolean ? "true" : "false");
                return;
        case VALUE_INT:
                buf_addf(out, "%lld", (long long)v->i64);
                return;
        case VALUE_UINT:
                buf_addf(out, "%llu", (unsigned long long)v->u64);
                return;
        case VALUE_DECIMAL:
                buf_add(out, v->text);
                return;
        case VALUE_STRING:
                value_print_string(v->text, out);
                return;
        default:
                buf_addc(out, "null");
        }
}

/* One printer for all faces: compact (indent 0) or indented, numbers as written or, for hashing, all alike. */
struct printer {
        struct buf *out;
        unsigned indent;
        bool same_numbers_alike;
};

static void print_break(const struct printer *p, unsigned depth) {
        if (p->indent)
                buf_addf(p->out, "\n%*s", (int)(p->indent * depth), "");
}

/* One spelling for all equal numbers. */
static void print_decimal(const struct value *v, struct buf *out) {
        struct decimal d;

        decimal_of(v, &d);
        buf_addc(out, d.negative ? "-." : ".");
        for (char c; (c = next_digit(&d.digits));)
                buf_addch(out, c);
        buf_addf(out, "e%lld", (long long)d.exponent);
}

static void print_value(const struct printer *p, const struct value *v, unsigned depth);

static void print_list(const struct printer *p, const struct value *v, unsigned depth) {
        buf_addch(p->out, '[');
        for (size_t i = 0; i < v->list.count; i++) {
                if (i)
                        buf_addch(p->out, ',');
                print_break(p, depth + 1);
                print_value(p, v->list.items[i], depth + 1);
        }
        if (v->list.count)
                print_break(p, depth);
        buf_addch(p->out, ']');
}

static void print_map(const struct printer *p, const struct value *v, unsigned depth) {
        buf_addch(p->out, '{');
        for (size_t i = 0; i < v->map.count; i++) {
                if (i)
                        buf_addch(p->out, ',');
                print_break(p, depth + 1);
                value_print_string(v->map.members[i].key, p->out);
                buf_addc(p->out, p->indent ? ": " : ":");
                print_value(p, v->map.members[i].value, depth + 1);
        }
        if (v->map.count)
                print_break(p, depth);
        buf_addch(p->out, '}');
}

static void print_value(const struct printer *p, const struct value *v, unsigned depth) {
        if (v->kind == VALUE_LIST)
                print_list(p, v, depth);
        else if (v->kind == VALUE_MAP)
                print_map(p, v, depth);
        else if (p->same_numbers_alike && is_number(v))
                print_decimal(v, p->out);
        else
                print_scalar(v, p->out);
}

void value_print(const struct value *v, struct buf *out) {
        print_value(&(struct printer){ .out = out }, v, 0);
}

void value_print_pretty(const struct value *v, unsigned indent, struct buf *out) {
        print_value(&(struct printer){ .out = out, .indent = indent }, v, 0);
}

/* Outside strings these characters do not occur. */
void value_print_go(const struct value *v, struct buf *out) {
        _cleanup_(buf_done) struct buf plain = buf_make(out->max);

        value_print(v, &plain);
        for (size_t i = 0; i < plain.n; i++) {
                char c = plain.p[i];

                if (c == '<' || c == '>' || c == '&')
                        buf_addf(out, "\\u%04x", (unsigned)c);
                else
                        buf_addch(out, c);
        }
        out->overflow |= plain.overflow;
}

struct str value_canonical(struct arena *a, const struct value *v) {
        _cleanup_(buf_done) struct buf out = buf_make(SIZE_MAX / 4);

        value_print(v, &out);
        return arena_str(a, buf_str(&out));
}

struct hash128 value_hash(const struct hash_key *key, const struct value *v) {
        _cleanup_(buf_done) struct buf out = buf_make(SIZE_MAX / 4);

        print_value(&(struct printer){ .out = &out, .same_numbers_alike = true }, v, 0);
        return hash128(key, buf_str(&out));
}

const char *value_kind_name(enum value_kind kind) {
        static const char *const kinds[] = { "null", "bool", "number", "number", "number", "string", "list", "map" };

        return kinds[kind];
}
