/* SPDX-License-Identifier: Apache-2.0 */
/* The index of scaler objects: by their own names, and by what they scale. */
#include "own/scaler_impl.h"

#include "base/map.h"

#define KEY_MAX_BYTES 4096
#define MAX_OF_TARGET 16 /* scalers of one target that are told apart; one is the rule, two a mistake */

/* One scaler object; what the two origins said of it is kept apart, since Git and the cluster may differ. */
struct entry {
        struct scaler seen[2]; /* [0] live, [1] desired; origins 0: not seen */
        struct arena *arena[2];
};

/* The scalers of one target. Borrows from the entries. */
struct crowd {
        const struct scaler **list;
        size_t count, cap;
};

struct scaler_index {
        struct map *scalers; /* "group/kind/ns/name" → struct entry */
        struct map *targets; /* "group/kind/ns/name" → struct crowd */
};

static size_t slot_of(enum scaler_origin origin) {
        return origin == SCALER_LIVE ? 0 : 1;
}

static struct buf index_key(struct str group, struct str kind, struct str ns, struct str name) {
        const struct str parts[] = { group, kind, ns, name };
        struct buf key = buf_make(KEY_MAX_BYTES);

        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                if (i)
                        buf_addch(&key, '/');
                buf_add(&key, parts[i]);
        }
        return key;
}

static struct buf target_key(const struct scale_target *t) {
        return index_key(t->group, t->kind, t->ns, t->name);
}

static void crowd_free(void *p) {
        struct crowd *c = p;

        free(c->list);
        free(c);
}

static void crowd_join(struct scaler_index *ix, const struct scaler *s) {
        _cleanup_(buf_done) struct buf key = target_key(&s->target);
        struct crowd *c = map_find(ix->targets, buf_str(&key));

        if (!c) {
                c = mem_zalloc(sizeof *c);
                map_set(ix->targets, buf_str(&key), c);
        }
        c->list = mem_grow(c->list, &c->cap, c->count + 1, sizeof *c->list);
        c->list[c->count++] = s;
}

static void crowd_leave(struct scaler_index *ix, const struct scaler *s) {
        _cleanup_(buf_done) struct buf key = target_key(&s->target);
        struct crowd *c = map_find(ix->targets, buf_str(&key));

        for (size_t i = 0; c && i < c->count; i++)
                if (c->list[i] == s) {
                        c->list[i] = c->list[--c->count];
                        break;
                }
        if (c && !c->count)
                map_remove(ix->targets, buf_str(&key));
}

static void entry_forget(struct scaler_index *ix, struct entry *e, enum scaler_origin origin) {
        size_t slot = slot_of(origin);

        if (!e->seen[slot].origins)
                return;
        crowd_leave(ix, &e->seen[slot]);
        arena_free(e->arena[slot]);
        e->arena[slot] = NULL;
        e->seen[slot] = (struct scaler){ 0 };
}

static void entry_free(void *p) {
        struct entry *e = p;

        arena_free(e->arena[0]);
        arena_free(e->arena[1]);
        free(e);
}

struct scaler_index *scaler_index_new(void) {
        struct scaler_index *ix = mem_zalloc(sizeof *ix);

        ix->scalers = map_new(entry_free);
        ix->targets = map_new(crowd_free);
        return ix;
}

void scaler_index_free(struct scaler_index *ix) {
        if (!ix)
                return;
        map_free(ix->targets);
        map_free(ix->scalers);
        free(ix);
}

static void forget(struct scaler_index *ix, struct str key, enum scaler_origin origin) {
        struct entry *e = map_find(ix->scalers, key);

        if (!e)
                return;
        entry_forget(ix, e, origin);
        if (!e->seen[0].origins && !e->seen[1].origins)
                map_remove(ix->scalers, key);
}

void scaler_index_remove(struct scaler_index *ix, struct str group, struct str kind, struct str ns, struct str name,
                         enum scaler_origin origin) {
        _cleanup_(buf_done) struct buf key = index_key(group, kind, ns, name);

        forget(ix, buf_str(&key), origin);
}

void scaler_index_clear(struct scaler_index *ix, enum scaler_origin origin) {
        struct str key;
        void *value;
        size_t at = 0;

        while (map_next(ix->scalers, &at, &key, &value)) {
                struct entry *e = value;

                entry_forget(ix, e, origin);
                if (!e->seen[0].origins && !e->seen[1].origins)
                        map_remove(ix->scalers, key);
        }
}

struct scale_target scale_target_of(const struct value *object) {
        const struct value *metadata = value_getc(object, "metadata");

        return (struct scale_target){
                .group = schema_group(value_text(value_getc(object, "apiVersion"))),
                .kind = value_text(value_getc(object, "kind")),
                .ns = value_text(value_getc(metadata, "namespace")),
                .name = value_text(value_getc(metadata, "name")),
        };
}

static void keep_scaler(struct scaler_index *ix, struct entry *e, const struct scaler *s, enum scaler_origin origin) {
        struct arena *a = arena_new(256);
        struct scaler *kept = &e->seen[slot_of(origin)];

        entry_forget(ix, e, origin);
        e->arena[slot_of(origin)] = a;
        *kept = *s;
        kept->origins = origin;
        struct str *texts[] = {
                &kept->kind,        &kept->group,     &kept->ns,          &kept->name,      &kept->target.group,
                &kept->target.kind, &kept->target.ns, &kept->target.name, &kept->component, &kept->owner_kind,
                &kept->owner_name,  &kept->hpa,       &kept->file,
        };
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                *texts[i] = arena_str(a, *texts[i]);
        crowd_join(ix, kept);
}

int scaler_index_see(struct scaler_index *ix, const struct value *object, const struct scaler_sight *sight,
                     struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(256);
        struct scale_target self = scale_target_of(object);
        const struct scaler_kind *kind = scaler_kind_find(self.group, self.kind);
        _cleanup_(buf_done) struct buf key = index_key(self.group, self.kind, self.ns, self.name);

        if (!kind || !self.name.n)
                return err_set(err, ERR_INVAL, "%.*s is no kind of scaler", STR_FMT(self.kind));
        struct scaler s = scaler_read(object, kind, a);
        if (!s.target.name.n) {
                forget(ix, buf_str(&key), sight->origin);
                return err_set(err, ERR_INVAL, "%.*s %.*s/%.*s names no target", STR_FMT(self.kind), STR_FMT(self.ns),
                               STR_FMT(self.name));
        }
        s.file = sight->file;
        s.line = sight->line;
        s.tracked = sight->tracked;
        struct entry *e = map_find(ix->scalers, buf_str(&key));
        if (!e) {
                e = mem_zalloc(sizeof *e);
                map_set(ix->scalers, buf_str(&key), e);
        }
        keep_scaler(ix, e, &s, sight->origin);
        return 0;
}

int scaler_index_set(struct scaler_index *ix, const struct value *object, enum scaler_origin origin, struct err *err) {
        return scaler_index_see(ix, object, &(struct scaler_sight){ .origin = origin }, err);
}

const struct scaler *scaler_index_get(const struct scaler_index *ix, struct str group, struct str kind, struct str ns,
                                      struct str name, enum scaler_origin origin) {
        _cleanup_(buf_done) struct buf key = index_key(group, kind, ns, name);
        const struct entry *e = map_find(ix->scalers, buf_str(&key));

        return e && e->seen[slot_of(origin)].origins ? &e->seen[slot_of(origin)] : NULL;
}

/* --- who scales a target ---------------------------------------------------------------------------------------- */

static const struct crowd *crowd_of(const struct scaler_index *ix, const struct scale_target *target) {
        _cleanup_(buf_done) struct buf key = target_key(target);

        return ix ? map_find(ix->targets, buf_str(&key)) : NULL;
}

static bool is_same_object(const struct scaler *a, const struct scaler *b) {
        return str_eq(a->group, b->group) && str_eq(a->kind, b->kind) && str_eq(a->name, b->name);
}

static bool works_for(const struct scaler *s, const struct scaler *head) {
        if (is_same_object(s, head))
                return false;
        return (str_eq(s->owner_kind, head->kind) && str_eq(s->owner_name, head->name)) ||
               (str_eqc(s->kind, "HorizontalPodAutoscaler") && head->hpa.n && str_eq(s->name, head->hpa));
}

/* Does it decide by itself, and not for another one of the crowd? */
static bool is_head(const struct crowd *c, const struct scaler *s) {
        for (size_t i = 0; i < c->count; i++)
                if (!c->list[i]->advises && works_for(s, c->list[i]))
                        return false;
        return !s->advises;
}

/* A stable choice among several: live ones first, then by kind and name. */
static bool is_better(const struct scaler *a, const struct scaler *b) {
        if (a->origins != b->origins)
                return a->origins < b->origins;
        int order = str_cmp(a->kind, b->kind);

        return order ? order < 0 : str_cmp(a->name, b->name) < 0;
}

/* Each object once, as it is live when it is. */
static void add_head(const struct scaler **heads, size_t *count, const struct scaler *s) {
        size_t at = *count;

        for (size_t i = 0; i < *count; i++) {
                if (!is_same_object(heads[i], s))
                        continue;
                if (is_better(s, heads[i]))
                        heads[i] = s;
                return;
        }
        if (at == MAX_OF_TARGET)
                return;
        heads[at] = s;
        (*count)++;
}

size_t scaler_find_all(const struct scaler_index *ix, const struct scale_target *target, struct str component,
                       const struct scaler **ret, size_t max) {
        const struct scaler *heads[MAX_OF_TARGET];
        const struct crowd *c = crowd_of(ix, target);
        size_t count = 0;

        for (size_t i = 0; c && i < c->count; i++)
                if (str_eq(c->list[i]->component, component) && is_head(c, c->list[i]))
                        add_head(heads, &count, c->list[i]);
        for (size_t i = 0; i < count; i++)
                for (size_t k = i; k > 0 && is_better(heads[k], heads[k - 1]); k--) {
                        const struct scaler *s = heads[k];

                        heads[k] = heads[k - 1];
                        heads[k - 1] = s;
                }
        for (size_t i = 0; i < count && i < max; i++)
                ret[i] = heads[i];
        return count;
}

const struct scaler *scaler_find_part(const struct scaler_index *ix, const struct scale_target *target,
                                      struct str component) {
        const struct scaler *s = NULL;

        scaler_find_all(ix, target, component, &s, 1);
        return s;
}

const struct scaler *scaler_find(const struct scaler_index *ix, const struct scale_target *target) {
        return scaler_find_part(ix, target, STR(""));
}

const struct scaler *scaler_find_adviser(const struct scaler_index *ix, const struct scale_target *target) {
        const struct crowd *c = crowd_of(ix, target);
        const struct scaler *best = NULL;

        for (size_t i = 0; c && i < c->count; i++)
                if (c->list[i]->advises && (!best || is_better(c->list[i], best)))
                        best = c->list[i];
        return best;
}
