/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/crd_names.h"

enum { RESOURCES, KINDS }; /* two sets of names */

struct deciding {
        const struct shelf *definitions;
        struct str group;
        const struct value *wanted, *had;
        struct arena *arena;
        struct crd_names *result;
};

static struct str group_of(const struct value *crd) {
        return value_text(value_path(crd, "spec", "group", NULL));
}

static bool list_has(const struct value *list, struct str name) {
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eq(value_text(list->list.items[i]), name))
                        return true;
        return false;
}

static bool names_have(const struct value *names, int set, struct str name) {
        static const char *const fields[][2] = { [RESOURCES] = { "plural", "singular" }, [KINDS] = { "kind", "listKind" } };

        for (size_t i = 0; i < 2; i++)
                if (str_eq(value_text(value_getc(names, fields[set][i])), name))
                        return true;
        return set == RESOURCES && list_has(value_getc(names, "shortNames"), name);
}

static bool is_used(const struct deciding *d, int set, struct str name) {
        for (size_t i = 0; i < d->definitions->count; i++) {
                const struct value *crd = d->definitions->items[i]->value;

                if (str_eq(group_of(crd), d->group) &&
                    names_have(value_path(crd, "status", "acceptedNames", NULL), set, name))
                        return true;
        }
        return false;
}

static void refuse(struct deciding *d, const char *reason, struct str message) {
        d->result->is_accepted = false;
        d->result->reason = reason;
        d->result->message = message;
}

/* Sets the field, or takes it out; two of them are always there. */
static void accept(struct deciding *d, const char *field, const struct value *v) {
        if (!v && (strcmp(field, "plural") == 0 || strcmp(field, "kind") == 0))
                v = value_stringc(d->arena, "");
        d->result->accepted = value_with(d->arena, d->result->accepted, str_from(field), v);
}

static void decide_name(struct deciding *d, int set, const char *field, const char *reason) {
        const struct value *wanted = value_getc(d->wanted, field), *had = value_getc(d->had, field);
        struct str name = value_text(wanted);

        if (!str_eq(name, value_text(had)) && is_used(d, set, name)) {
                refuse(d, reason, arena_strf(d->arena, "\"%.*s\" is already in use", STR_FMT(name)));
                wanted = had;
        }
        accept(d, field, wanted);
}

/* They are accepted together; those that it has already count as free. */
static void decide_short_names(struct deciding *d) {
        const struct value *wanted = value_getc(d->wanted, "shortNames"), *had = value_getc(d->had, "shortNames");
        _cleanup_(buf_done) struct buf message = buf_make(64 * 1024);
        size_t conflicts = 0;

        for (size_t i = 0; i < value_count(wanted); i++) {
                struct str name = value_text(wanted->list.items[i]);

                if (list_has(had, name) || !is_used(d, RESOURCES, name))
                        continue;
                buf_addf(&message, "%s\"%.*s\" is already in use", conflicts ? ", " : "", STR_FMT(name));
                conflicts++;
        }
        if (conflicts)
                refuse(d, "ShortNamesConflict",
                       arena_strf(d->arena, conflicts > 1 ? "[%.*s]" : "%.*s", STR_FMT(buf_str(&message))));
        accept(d, "shortNames", conflicts ? had : wanted);
}

void crd_names_decide(const struct shelf *definitions, const struct value *crd, struct arena *a, struct crd_names *ret) {
        struct deciding d = {
                .definitions = definitions,
                .group = group_of(crd),
                .wanted = value_path(crd, "spec", "names", NULL),
                .had = value_path(crd, "status", "acceptedNames", NULL),
                .arena = a,
                .result = ret,
        };

        *ret = (struct crd_names){ .is_accepted = true, .reason = "NoConflicts", .message = STR("no conflicts found") };
        decide_name(&d, RESOURCES, "plural", "PluralConflict");
        decide_name(&d, RESOURCES, "singular", "SingularConflict");
        decide_short_names(&d);
        decide_name(&d, KINDS, "kind", "KindConflict");
        decide_name(&d, KINDS, "listKind", "ListKindConflict");
        accept(&d, "categories", value_getc(d.wanted, "categories"));
}
