/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/inventory.h"

#include <inttypes.h>

#define HEADER "truce-inventory 1 "

/* Where an id belongs must be the same for every process, so this key is fixed; nothing secret depends on it. */
static const struct hash_key shard_key = { UINT64_C(0x7472756365696e76), UINT64_C(0x656e746f72793031) };

struct inventory {
        struct map *entries; /* id → struct inventory_entry */
};

static void entry_free(void *p) {
        struct inventory_entry *e = p;

        free(e->id);
        free(e->version);
        free(e->uid);
        free(e->file);
        free(e->holds);
        free(e);
}

struct inventory *inventory_new(void) {
        struct inventory *inv = mem_zalloc(sizeof *inv);

        inv->entries = map_new(entry_free);
        return inv;
}

void inventory_free(struct inventory *inv) {
        if (!inv)
                return;
        map_free(inv->entries);
        free(inv);
}

bool inventory_id_split(struct str id, struct inventory_id *ret_parts) {
        struct str part[4] = { 0 };
        size_t count = 0, from = 0;

        for (size_t i = 0; i <= id.n; i++) {
                if (i < id.n && id.p[i] != '/')
                        continue;
                if (count == ARRAY_LEN(part))
                        return false;
                part[count++] = str_sub(id, from, i);
                from = i + 1;
        }
        if (count != ARRAY_LEN(part) || part[1].n == 0 || part[3].n == 0)
                return false;
        *ret_parts = (struct inventory_id){ part[0], part[1], part[2], part[3] };
        return true;
}

size_t inventory_count(const struct inventory *inv) {
        return map_count(inv->entries);
}

struct inventory_entry *inventory_find(const struct inventory *inv, struct str id) {
        return map_find(inv->entries, id);
}

struct inventory_entry *inventory_add(struct inventory *inv, struct str id, struct str version) {
        struct inventory_entry *e = inventory_find(inv, id);

        if (e)
                return e;
        e = mem_zalloc(sizeof *e);
        e->id = str_dup(id);
        e->version = str_dup(version);
        map_set(inv->entries, id, e);
        return e;
}

bool inventory_remove(struct inventory *inv, struct str id) {
        return map_remove(inv->entries, id);
}

static void set_text(char **text, struct str value) {
        char *copy = value.n ? str_dup(value) : NULL;

        free(*text);
        *text = copy;
}

void inventory_set_uid(struct inventory_entry *e, struct str uid) {
        set_text(&e->uid, uid);
}

void inventory_set_version(struct inventory_entry *e, struct str version) {
        set_text(&e->version, version);
}

void inventory_set_file(struct inventory_entry *e, struct str file) {
        set_text(&e->file, file);
}

void inventory_set_fingerprint(struct inventory_entry *e, const struct hash128 *fingerprint) {
        e->has_fingerprint = fingerprint != NULL;
        e->fingerprint = fingerprint ? *fingerprint : (struct hash128){ 0 };
}

/* By id, so that the text is the same whatever came first. */
void inventory_begin_hold(struct inventory_entry *e, uint64_t id, int64_t since_ms) {
        size_t at = 0;

        while (at < e->hold_count && e->holds[at].id < id)
                at++;
        if (at < e->hold_count && e->holds[at].id == id) {
                if (since_ms < e->holds[at].since_ms)
                        e->holds[at].since_ms = since_ms;
                return;
        }
        e->holds = mem_grow(e->holds, &e->hold_cap, e->hold_count + 1, sizeof *e->holds);
        memmove(&e->holds[at + 1], &e->holds[at], (e->hold_count++ - at) * sizeof *e->holds);
        e->holds[at] = (struct inventory_hold){ id, since_ms };
}

bool inventory_end_hold(struct inventory_entry *e, uint64_t id) {
        for (size_t i = 0; i < e->hold_count; i++) {
                if (e->holds[i].id != id)
                        continue;
                memmove(&e->holds[i], &e->holds[i + 1], (--e->hold_count - i) * sizeof *e->holds);
                return true;
        }
        return false;
}

static int by_id(const void *a, const void *b) {
        const struct inventory_entry *const *x = a, *const *y = b;

        return strcmp((*x)->id, (*y)->id);
}

struct inventory_entry **inventory_sorted(const struct inventory *inv, size_t *ret_count) {
        struct inventory_entry **list = mem_alloc((inventory_count(inv) + 1) * sizeof *list);
        size_t at = 0, n = 0;
        void *value;

        while (map_next(inv->entries, &at, NULL, &value))
                list[n++] = value;
        qsort(list, n, sizeof *list, by_id);
        *ret_count = n;
        return list;
}

unsigned inventory_shards(const struct inventory *inv, unsigned at_least) {
        unsigned shards = at_least ? at_least : 1;

        while (shards < INVENTORY_MAX_SHARDS && inventory_count(inv) > (size_t)shards * INVENTORY_SHARD_OBJECTS)
                shards *= 2;
        return shards;
}

static unsigned shard_of(struct str id, unsigned shards) {
        return (unsigned)(hash64(&shard_key, id) & (shards - 1));
}

static const char *or_dash(const char *text) {
        return text ? text : "-";
}

static void print_entry(const struct inventory_entry *e, struct buf *out) {
        char hex[HASH128_HEX_BYTES + 1] = "-";

        if (e->has_fingerprint)
                hash128_hex(e->fingerprint, hex);
        buf_addf(out, "%s\t%s\t%s\t%s\t%u\t%s", e->id, e->version, or_dash(e->uid), hex, e->flags, or_dash(e->file));
        for (size_t i = 0; i < e->hold_count; i++)
                buf_addf(out, "%s%" PRIx64 ":%016" PRIx64, i ? "," : "\t", (uint64_t)e->holds[i].since_ms, e->holds[i].id);
        buf_addch(out, '\n');
}

void inventory_print(const struct inventory *inv, unsigned shard, unsigned shards, struct buf *out) {
        size_t count;
        _cleanup_(mem_freep) struct inventory_entry **list = inventory_sorted(inv, &count);

        buf_addf(out, HEADER "%u\n", shards);
        for (size_t i = 0; i < count; i++) {
                if (shard_of(str_from(list[i]->id), shards) == shard)
                        print_entry(list[i], out);
        }
}

static bool parse_header(struct str line, unsigned *ret_shards) {
        uint64_t shards;

        if (!str_starts(line, STR(HEADER)) || !str_to_u64(str_sub(line, sizeof HEADER - 1, line.n), &shards))
                return false;
        if (shards == 0 || shards > INVENTORY_MAX_SHARDS || (shards & (shards - 1)))
                return false;
        *ret_shards = (unsigned)shards;
        return true;
}

static struct str dash_is_empty(struct str s) {
        return str_eqc(s, "-") ? (struct str){ 0 } : s;
}

static bool parse_hex(struct str s, uint64_t *ret) {
        uint64_t value = 0;

        for (size_t i = 0; i < s.n; i++) {
                const char *digits = "0123456789abcdef", *at = s.p[i] ? strchr(digits, s.p[i]) : NULL;

                if (!at)
                        return false;
                value = value << 4 | (uint64_t)(at - digits);
        }
        *ret = value;
        return s.n > 0 && s.n <= 16;
}

static bool parse_hold(struct str text, struct inventory_hold *ret) {
        struct str since;
        uint64_t ms;

        if (!str_next(&text, ':', &since) || !parse_hex(since, &ms) || ms > INT64_MAX || !parse_hex(text, &ret->id))
                return false;
        ret->since_ms = (int64_t)ms;
        return true;
}

/*
 * The last field of a line, which may be absent. `e` NULL: it is only looked at. A mere number, from when an object had one
 * hold, is none of any path's: what it held begins anew.
 */
static bool parse_holds(struct str line, struct inventory_entry *e) {
        struct inventory_hold h;
        struct str one;
        uint64_t once;

        if (str_to_u64(line, &once))
                return once <= INT64_MAX;
        if (str_find(line, '\t', 0) >= 0)
                return false;
        while (str_next(&line, ',', &one)) {
                if (!parse_hold(one, &h))
                        return false;
                if (e)
                        inventory_begin_hold(e, h.id, h.since_ms);
        }
        return true;
}

static bool parse_entry(struct inventory *inv, struct str line, bool wins) {
        enum { ID, VERSION, UID, FINGERPRINT, FLAGS, FILE_NAME, FIELDS };
        struct str field[FIELDS];
        struct inventory_id parts;
        struct hash128 fingerprint;
        uint64_t flags;

        for (size_t i = 0; i < FIELDS; i++) {
                if (!str_next(&line, '\t', &field[i]))
                        return false;
        }
        if (!parse_holds(line, NULL) || !inventory_id_split(field[ID], &parts) ||
            !str_to_u64(field[FLAGS], &flags))
                return false;

        bool has_fingerprint = !str_eqc(field[FINGERPRINT], "-");
        if (has_fingerprint && !hash128_from_hex(field[FINGERPRINT], &fingerprint))
                return false;
        if (!wins && inventory_find(inv, field[ID]))
                return true;

        struct inventory_entry *e = inventory_add(inv, field[ID], field[VERSION]);
        inventory_set_version(e, field[VERSION]);
        inventory_set_uid(e, dash_is_empty(field[UID]));
        inventory_set_file(e, dash_is_empty(field[FILE_NAME]));
        inventory_set_fingerprint(e, has_fingerprint ? &fingerprint : NULL);
        e->flags = (unsigned)flags;
        e->hold_count = 0;
        parse_holds(line, e);
        return true;
}

int inventory_parse(struct inventory *inv, unsigned shard, struct str text, unsigned *ret_shards, struct err *err) {
        struct str line;
        unsigned shards, number = 1;

        if (!str_next(&text, '\n', &line) || !parse_header(line, &shards))
                return err_set(err, ERR_CORRUPT, "inventory shard %u: line 1 is not an inventory header", shard);

        while (str_next(&text, '\n', &line)) {
                ptrdiff_t tab = str_find(line, '\t', 0);
                struct str id = str_sub(line, 0, tab < 0 ? 0 : (size_t)tab);

                number++;
                if (!parse_entry(inv, line, shard_of(id, shards) == shard))
                        return err_set(err, ERR_CORRUPT, "inventory shard %u: line %u is damaged", shard, number);
        }
        *ret_shards = shards;
        return 0;
}
