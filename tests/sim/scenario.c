/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include <stdio.h>

#include "base/duration.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "words.h"

int scenario_read(const char *file, struct buf *out, struct err *err) {
        FILE *f = fopen(file, "re");
        char bytes[4096];
        size_t n;

        if (!f)
                return err_set(err, ERR_NOTFOUND, "it cannot be read");
        while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
                buf_add(out, (struct str){ bytes, n });
        bool broke = ferror(f);
        fclose(f);
        return broke ? err_set(err, ERR_NOTFOUND, "it cannot be read") : buf_check(out, "a scenario", err);
}

static const char *name_of(const char *file, struct arena *a) {
        const char *slash = strrchr(file, '/');
        struct str name = str_from(slash ? slash + 1 : file);

        if (str_ends(name, STR(".yaml")))
                name.n -= strlen(".yaml");
        return arena_str(a, name).p;
}

int scenario_load(const char *file, struct scenario **ret_scenario, struct err *err) {
        _cleanup_(scenario_freep) struct scenario *s = mem_zalloc(sizeof *s);
        _cleanup_(buf_done) struct buf text = buf_make(1 * MIB);
        const struct yaml_document *docs;
        size_t count;

        s->arena = arena_new(0);
        s->file = arena_str(s->arena, str_from(file)).p;
        s->name = name_of(file, s->arena);
        int r = scenario_read(file, &text, err);
        if (r == 0)
                r = yaml_parse(buf_str(&text), s->arena, &docs, &count, err);
        if (r < 0)
                return err_wrap(err, r, "%s", file);
        if (count != 1 || !value_is(docs[0].value, VALUE_MAP))
                return err_set(err, ERR_INVAL, "%s: a scenario is one map", file);
        if (docs[0].note_count)
                return err_set(err, ERR_INVAL, "%s:%u: the key %.*s stands there twice", file, docs[0].notes[0].line,
                               STR_FMT(docs[0].notes[0].key));
        s->doc = docs[0].value;
        r = words_check(s, err);
        if (r == 0)
                *ret_scenario = TAKE_PTR(s);
        return r;
}

void scenario_free(struct scenario *s) {
        if (!s)
                return;
        arena_free(s->arena);
        free(s);
}

int64_t scenario_ms(const struct value *map, const char *key, int64_t otherwise_ms) {
        int64_t ms;

        return duration_parse(value_text(value_getc(map, key)), &ms) ? ms : otherwise_ms;
}

int64_t scenario_per_mille(const struct value *map, const char *key) {
        struct str text = value_text(value_getc(map, key));

        return text.n ? (int64_t)(strtod(text.p, NULL) * 10 + 0.5) : 0;
}

int64_t scenario_int(const struct value *map, const char *key, int64_t otherwise) {
        int64_t n;

        return value_to_i64(value_getc(map, key), &n) ? n : otherwise;
}

bool scenario_bool(const struct value *map, const char *key, bool otherwise) {
        return value_truth(value_getc(map, key), otherwise);
}

struct str scenario_text(const struct value *map, const char *key, const char *otherwise) {
        const struct value *v = value_getc(map, key);

        return v ? value_text(v) : str_from(otherwise);
}
