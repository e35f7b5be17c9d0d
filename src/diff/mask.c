/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/mask.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/map.h"

#define DOTS "••••••"

/* Annotations in which tools keep a copy of the whole object. */
static const char *const copies[] = {
        "kubectl.kubernetes.io/last-applied-configuration",
        "objectset.rio.cattle.io/applied",
        "banzaicloud.com/last-applied",
        "kapp.k14s.io/original",
        "kopf.zalando.org/last-handled-configuration",
};

/* Top-level fields of a Secret that hold no secret. */
static const char *const open_fields[] = { "apiVersion", "immutable", "kind", "metadata", "type" };
static const char *const value_fields[] = { "data", "stringData" };

static bool is_one_of(struct str s, const char *const *names, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (str_eqc(s, names[i]))
                        return true;
        return false;
}

bool mask_is_secret(const struct value *object) {
        return str_eqc(value_text(value_getc(object, "kind")), "Secret") &&
               str_eqc(value_text(value_getc(object, "apiVersion")), "v1");
}

/* Which value got which letter: values by their canonical text. */
struct masker {
        struct map *letters; /* to 1, 2, 3 … */
        struct arena *arena;
        const struct mask_annotations *also; /* never NULL */
};

static const struct mask_annotations none = { NULL, 0 };

static size_t number_of(struct masker *m, const struct value *v) {
        _cleanup_(buf_done) struct buf text = buf_make(SIZE_MAX);

        value_print(v, &text);
        void *known = map_find(m->letters, buf_str(&text));
        if (known)
                return (uintptr_t)known;
        size_t number = map_count(m->letters) + 1;
        map_set(m->letters, buf_str(&text), (void *)(uintptr_t)number);
        return number;
}

/* 1 → a, 26 → z, 27 → aa. */
static struct str letters_of(size_t number, char *end) {
        char *p = end;

        for (; number > 0; number = (number - 1) / 26)
                *--p = (char)('a' + (number - 1) % 26);
        return (struct str){ p, (size_t)(end - p) };
}

static const struct value *mask_value(struct masker *m, const struct value *v) {
        char room[16];
        struct str letters = letters_of(number_of(m, v), room + sizeof room);

        return value_string(m->arena, arena_strf(m->arena, DOTS "  (%.*s)", STR_FMT(letters)), v->line);
}

static const struct value *mask_members(struct masker *m, const struct value *map) {
        struct value_map_builder b = { 0 };

        if (map->kind != VALUE_MAP)
                return map->kind == VALUE_NULL ? map : mask_value(m, map);
        for (size_t i = 0; i < map->map.count; i++) {
                const struct value_member *e = &map->map.members[i];

                value_map_add(&b, e->key, mask_value(m, e->value), e->line);
        }
        return value_map_end(&b, m->arena, map->line);
}

static const struct value *mask_secret(struct masker *m, const struct value *object) {
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < object->map.count; i++) {
                const struct value_member *e = &object->map.members[i];
                const struct value *v = e->value;

                if (is_one_of(e->key, value_fields, ARRAY_LEN(value_fields)))
                        v = mask_members(m, v);
                else if (!is_one_of(e->key, open_fields, ARRAY_LEN(open_fields)))
                        v = mask_value(m, v);
                value_map_add(&b, e->key, v, e->line);
        }
        return value_map_end(&b, m->arena, object->line);
}

static const struct value *mask_annotation(struct masker *m, const struct value *object, struct str key) {
        const struct str way[] = { STR("metadata"), STR("annotations") };
        const struct value *annotations = value_path(object, "metadata", "annotations", NULL);
        const struct value *held = value_get(annotations, key);

        if (!held)
                return object;
        annotations = value_with(m->arena, annotations, key, mask_value(m, held));
        return value_with_path(m->arena, object, way, ARRAY_LEN(way), annotations);
}

static const struct value *mask_annotations(struct masker *m, const struct value *object) {
        for (size_t i = 0; i < ARRAY_LEN(copies); i++)
                object = mask_annotation(m, object, str_from(copies[i]));
        for (size_t i = 0; i < m->also->count; i++)
                object = mask_annotation(m, object, m->also->keys[i]);
        return object;
}

/* Gives out letters for what differs in two maps (NULL: none), in the order in which a diff shows it. */
static void number_changes(struct masker *m, const struct value *x, const struct value *y) {
        size_t before = x ? x->map.count : 0, after = y ? y->map.count : 0;

        for (size_t i = 0, j = 0; i < before || j < after;) {
                const struct value_member *p = i < before ? &x->map.members[i] : NULL;
                const struct value_member *q = j < after ? &y->map.members[j] : NULL;
                int order = i == before ? 1 : j == after ? -1 : str_cmp(p->key, q->key);

                i += order <= 0;
                j += order >= 0;
                if (order == 0 && value_equal(p->value, q->value))
                        continue;
                if (order <= 0)
                        number_of(m, p->value);
                if (order >= 0)
                        number_of(m, q->value);
        }
}

static void number_secret(struct masker *m, const struct value *x, const struct value *y) {
        for (size_t i = 0; i < ARRAY_LEN(value_fields); i++) {
                const struct value *p = value_getc(x, value_fields[i]), *q = value_getc(y, value_fields[i]);

                if ((!p || p->kind == VALUE_MAP) && (!q || q->kind == VALUE_MAP))
                        number_changes(m, p, q);
        }
}

static void number_annotation(struct masker *m, const struct value *x, const struct value *y, struct str key) {
        const struct value *p = value_get(value_path(x, "metadata", "annotations", NULL), key);
        const struct value *q = value_get(value_path(y, "metadata", "annotations", NULL), key);

        if (p && q && !value_equal(p, q)) {
                number_of(m, p);
                number_of(m, q);
        }
}

static void number_annotations(struct masker *m, const struct value *x, const struct value *y) {
        for (size_t i = 0; i < ARRAY_LEN(copies); i++)
                number_annotation(m, x, y, str_from(copies[i]));
        for (size_t i = 0; i < m->also->count; i++)
                number_annotation(m, x, y, m->also->keys[i]);
}

void mask_objects(const struct value **objects, size_t count, bool secret, const struct mask_annotations *also,
                  struct arena *a) {
        _cleanup_(map_freep) struct map *letters = map_new(NULL);
        struct masker m = { .letters = letters, .arena = a, .also = also ? also : &none };
        const struct value *first = count ? objects[0] : NULL;

        for (size_t i = 0; i < count; i++)
                secret = secret || mask_is_secret(objects[i]);
        if (secret && count >= 2)
                number_secret(&m, objects[0], objects[1]);
        if (count >= 2)
                number_annotations(&m, objects[0], objects[1]);
        for (size_t i = 0; i < count; i++) {
                /* One pointer twice stays one pointer, so that "the same object" stays visible. */
                if (i > 0 && objects[i] == first) {
                        objects[i] = objects[0];
                        continue;
                }
                if (secret && value_is(objects[i], VALUE_MAP))
                        objects[i] = mask_secret(&m, objects[i]);
                objects[i] = mask_annotations(&m, objects[i]);
        }
}

const struct value *mask_if_secret(const struct value *object, struct arena *a) {
        if (mask_is_secret(object))
                mask_objects(&object, 1, true, NULL, a);
        return object;
}

/* Error texts: what may not be read in them. */
struct scrub {
        struct str text;
        bool *hidden;     /* by byte of the text */
        uint32_t *places; /* of the text's runs of MASK_SCRUB_MIN_BYTES, sorted by the run */
        bool *done;       /* by index in places: all places of the run that begins here are hidden */
        size_t count;
        struct arena *arena;
};

static int run_cmp(const void *x, const void *y, void *text) {
        const char *p = text;

        return memcmp(p + *(const uint32_t *)x, p + *(const uint32_t *)y, MASK_SCRUB_MIN_BYTES);
}

static void scrub_open(struct scrub *s) {
        s->hidden = arena_zalloc(s->arena, s->text.n);
        if (s->text.n < MASK_SCRUB_MIN_BYTES)
                return;
        s->count = s->text.n - MASK_SCRUB_MIN_BYTES + 1;
        s->places = arena_alloc(s->arena, s->count * sizeof *s->places);
        s->done = arena_zalloc(s->arena, s->count);
        for (size_t i = 0; i < s->count; i++)
                s->places[i] = (uint32_t)i;
        qsort_r(s->places, s->count, sizeof *s->places, run_cmp, (void *)s->text.p);
}

static bool is_run_at(const struct scrub *s, size_t at, const char *run) {
        return at < s->count && memcmp(s->text.p + s->places[at], run, MASK_SCRUB_MIN_BYTES) == 0;
}

/* Hides every place where the text has this run; each run once only, or repetitive values would take forever. */
static void hide_run(struct scrub *s, const char *run) {
        size_t low = 0, high = s->count;

        if (s->count == 0)
                return; /* the text is shorter than any run */
        while (low < high) {
                size_t at = (low + high) / 2;

                if (memcmp(s->text.p + s->places[at], run, MASK_SCRUB_MIN_BYTES) < 0)
                        low = at + 1;
                else
                        high = at;
        }
        if (!is_run_at(s, low, run) || s->done[low])
                return;
        s->done[low] = true;
        for (; is_run_at(s, low, run); low++)
                memset(s->hidden + s->places[low], true, MASK_SCRUB_MIN_BYTES);
}

static bool is_word(struct str s, size_t at) {
        unsigned char c = at < s.n ? (unsigned char)s.p[at] : ' ';

        return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A value too short for runs: hidden where it stands alone. */
static void hide_word(struct scrub *s, struct str word) {
        for (size_t at = 0; word.n && at + word.n <= s->text.n; at++) {
                bool alone = (at == 0 || !is_word(s->text, at - 1)) && !is_word(s->text, at + word.n);

                if (alone && memcmp(s->text.p + at, word.p, word.n) == 0)
                        memset(s->hidden + at, true, word.n);
        }
}

static void hide_text(struct scrub *s, struct str value) {
        if (value.n < MASK_SCRUB_MIN_BYTES) {
                hide_word(s, value);
                return;
        }
        for (size_t i = 0; i + MASK_SCRUB_MIN_BYTES <= value.n; i++)
                hide_run(s, value.p + i);
}

static int base64_digit(char c) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = c ? strchr(digits, c) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* Decodes as far as it can: what is no digit is skipped, so that damaged values are covered as well as may be. */
static struct str base64_decode(struct arena *a, struct str text) {
        char *bytes = arena_alloc(a, text.n);
        uint32_t held = 0, bits = 0;
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++) {
                int digit = base64_digit(text.p[i]);

                if (digit < 0)
                        continue;
                held = held << 6 | (uint32_t)digit;
                bits += 6;
                if (bits >= 8) {
                        bits -= 8;
                        bytes[n++] = (char)(held >> bits & 0xff);
                }
        }
        return (struct str){ bytes, n };
}

/* Also as the inside of a JSON string: errors quote what they do not like. */
static void hide_spellings(struct scrub *s, struct str value) {
        _cleanup_(buf_done) struct buf quoted = buf_make(SIZE_MAX);

        hide_text(s, value);
        value_print_string(value, &quoted);
        hide_text(s, str_sub(buf_str(&quoted), 1, quoted.n - 1));
}

static void hide_value(struct scrub *s, const struct value *v) {
        if (v->kind == VALUE_STRING) {
                hide_spellings(s, v->text);
                hide_spellings(s, base64_decode(s->arena, v->text));
                return;
        }
        if (v->kind != VALUE_LIST && v->kind != VALUE_MAP) {
                hide_text(s, value_canonical(s->arena, v));
                return;
        }
        for (size_t i = 0; i < value_count(v); i++)
                hide_value(s, v->kind == VALUE_LIST ? v->list.items[i] : v->map.members[i].value);
}

static void hide_secret(struct scrub *s, const struct value *object) {
        for (size_t i = 0; i < value_count(object); i++) {
                const struct value_member *e = &object->map.members[i];

                if (!is_one_of(e->key, open_fields, ARRAY_LEN(open_fields)))
                        hide_value(s, e->value);
        }
}

/* A copy that cannot be read is hidden as it is: fail closed. */
static void hide_copies(struct scrub *s, const struct value *object) {
        for (size_t i = 0; i < ARRAY_LEN(copies); i++) {
                const struct value *copy = value_getc(value_path(object, "metadata", "annotations", NULL), copies[i]);
                const struct value *inner;

                if (!copy)
                        continue;
                if (json_parse(value_text(copy), s->arena, &inner, NULL) == 0 && inner->kind == VALUE_MAP)
                        hide_secret(s, inner);
                else
                        hide_value(s, copy);
        }
}

static void hide_annotations(struct scrub *s, const struct value *object, const struct mask_annotations *also) {
        for (size_t i = 0; i < also->count; i++) {
                const struct value *held = value_get(value_path(object, "metadata", "annotations", NULL), also->keys[i]);

                if (held)
                        hide_value(s, held);
        }
}

static void print_scrubbed(const struct scrub *s, struct buf *out) {
        for (size_t at = 0; at < s->text.n;) {
                size_t end = at + 1;

                while (end < s->text.n && s->hidden[end] == s->hidden[at])
                        end++;
                if (s->hidden[at])
                        buf_addc(out, DOTS);
                else
                        buf_add(out, str_sub(s->text, at, end));
                at = end;
        }
}

void mask_scrub(const struct value *const *objects, size_t count, bool secret, const struct mask_annotations *also,
                struct str text, struct buf *out) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct scrub s = { .text = str_sub(text, 0, KUBE_MAX_ERROR_BYTES), .arena = a };

        scrub_open(&s);
        for (size_t i = 0; i < count; i++) {
                if (!value_is(objects[i], VALUE_MAP))
                        continue;
                hide_annotations(&s, objects[i], also ? also : &none);
                if (!secret && !mask_is_secret(objects[i]))
                        continue;
                hide_secret(&s, objects[i]);
                hide_copies(&s, objects[i]);
        }
        print_scrubbed(&s, out);
}
