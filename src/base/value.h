/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct value: the one tree type of truce. JSON, YAML and (later) Lua convert to and from it.
 *
 * A value is immutable once built and lives in an arena; parts may be shared freely between trees of the same arena
 * or of arenas that live longer. Map members are sorted bytewise by key and unique. null is a value of its own: a
 * present null and an absent key differ. Numbers keep what the text said: int64, uint64 above INT64_MAX, or decimal
 * text. `line` is the 1-based line in the source file (YAML), 0 where there is none.
 *
 * Thread rule: readable from any thread once built.
 */
#ifndef TRUCE_BASE_VALUE_H
#define TRUCE_BASE_VALUE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

enum value_kind {
        VALUE_NULL,
        VALUE_BOOL,
        VALUE_INT,     /* int64_t */
        VALUE_UINT,    /* uint64_t above INT64_MAX */
        VALUE_DECIMAL, /* any other number, as JSON text */
        VALUE_STRING,
        VALUE_LIST,
        VALUE_MAP,
};

struct value;

struct value_member {
        struct str key;
        const struct value *value;
        uint32_t line; /* of the key; 0 where there is none */
};

/* How a text's lines lie in a YAML file. */
enum value_layout {
        VALUE_IN_PLACE, /* on one line of the file; of other files: not known */
        VALUE_BLOCK,    /* literal, "|": the lines after `line` */
        VALUE_FOLDED,   /* anything else, quoted or folded: only where it begins is known */
};

struct value {
        enum value_kind kind : 8;
        enum value_layout layout : 8; /* of STRING */
        uint32_t line;
        union {
                bool boolean;
                int64_t i64;
                uint64_t u64;
                struct str text; /* STRING and DECIMAL; ends in a NUL that does not count */
                struct {
                        const struct value *const *items;
                        size_t count;
                } list;
                struct {
                        const struct value_member *members;
                        size_t count;
                } map;
        };
};

/* Shared constants without a line. */
extern const struct value value_null, value_true, value_false, value_empty_map, value_empty_list;

/* Makers. Bytes are copied into the arena. */
const struct value *value_bool(struct arena *a, bool boolean, uint32_t line);
const struct value *value_int(struct arena *a, int64_t number, uint32_t line);
const struct value *value_uint(struct arena *a, uint64_t number, uint32_t line);
/* `text` must be a JSON number; integers that fit become INT or UINT. */
const struct value *value_number(struct arena *a, struct str text, uint32_t line);
const struct value *value_string(struct arena *a, struct str text, uint32_t line);
const struct value *value_stringc(struct arena *a, const char *text);

/*
 * Builders. Between begin and end they use the heap; _end() copies into the arena and frees it, _drop() only frees
 * (on error paths; harmless after _end).
 */
struct value_list_builder {
        const struct value **items;
        size_t count, cap;
};
struct value_map_builder {
        struct value_member *members;
        size_t count, cap;
};
void value_list_add(struct value_list_builder *b, const struct value *item);
const struct value *value_list_end(struct value_list_builder *b, struct arena *a, uint32_t line);
void value_list_drop(struct value_list_builder *b);
/* The key's bytes are borrowed until _end(), which copies them. Of equal keys the last added wins. */
void value_map_add(struct value_map_builder *b, struct str key, const struct value *value, uint32_t key_line);
const struct value *value_map_end(struct value_map_builder *b, struct arena *a, uint32_t line);
void value_map_drop(struct value_map_builder *b);
/*
 * As value_map_end(), without copying: `members`, their keys and values become part of the value, so they must live as
 * long as the arena does. The array is sorted in place; of equal keys the last one wins.
 */
const struct value *value_map_of(struct arena *a, struct value_member *members, size_t count, uint32_t line);

/* Reading. All accept NULL and values of another kind, and then give NULL, false or the default. */
const struct value *value_get(const struct value *map, struct str key);
const struct value *value_getc(const struct value *map, const char *key);
/* value_path(v, "metadata", "labels", NULL): a chain of map keys, ended by NULL. */
const struct value *value_path(const struct value *v, ...) __attribute__((sentinel));
const struct value_member *value_member_find(const struct value *map, struct str key);
bool value_is(const struct value *v, enum value_kind kind);
struct str value_text(const struct value *v);                    /* STRING's bytes, else empty */
bool value_truth(const struct value *v, bool otherwise);         /* BOOL's value, else `otherwise` */
bool value_to_i64(const struct value *v, int64_t *ret_number);   /* INT only */
size_t value_count(const struct value *v);                       /* items or members, else 0 */

/* A copy of the map with one member set (value NULL: removed). Shares everything else. `map` may be NULL or null. */
const struct value *value_with(struct arena *a, const struct value *map, struct str key, const struct value *value);
/*
 * As value_with(), down a chain of `count` ≥ 1 map keys given as an array. Maps on the way are made when missing;
 * what is no map is replaced by one when something is set below it, and left alone when something is removed below it.
 */
const struct value *value_with_path(struct arena *a, const struct value *map, const struct str *keys, size_t count,
                                    const struct value *value);
/* A full copy into another arena. */
const struct value *value_dup(struct arena *a, const struct value *v);

/*
 * Deep equality of content; lines do not count. Numbers are equal when they denote the same number (1 and 1.0 and 1e0),
 * exactly, at any length.
 * NULL equals only NULL.
 */
bool value_equal(const struct value *a, const struct value *b);
/* A total order in the same sense: 0 exactly when value_equal(). Kinds order as the enum does, all numbers as one. */
int value_cmp(const struct value *a, const struct value *b);

/* Canonical text: compact JSON, keys sorted bytewise, minimal escapes ("/" and non-ASCII stay as they are). */
void value_print(const struct value *v, struct buf *out);
/* The same as Go's encoding/json writes it: <, > and & in strings as \u003c, \u003e and \u0026. */
void value_print_go(const struct value *v, struct buf *out);
/* Canonical text in the arena, which ends in NUL. */
struct str value_canonical(struct arena *a, const struct value *v);
/* Hash of the canonical text, in which equal numbers are written alike. */
struct hash128 value_hash(const struct hash_key *key, const struct value *v);
/* Indented JSON for people, `indent` blanks a level. */
void value_print_pretty(const struct value *v, unsigned indent, struct buf *out);
/* One JSON string with quotes. */
void value_print_string(struct str s, struct buf *out);

/* "null" "bool" "number" "string" "list" "map". */
const char *value_kind_name(enum value_kind kind);

#endif
