/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/go_struct.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "sandbox/line_diff.h"
#include "sandbox/validate_impl.h"

#define TEXT_MAX_BYTES (64 * MIB)

enum go_wrap { GO_PLAIN, GO_POINTER, GO_LIST, GO_MAP };
enum go_form { GO_STRUCT, GO_STRING, GO_INT, GO_BOOL, GO_QUANTITY, GO_INT_OR_STRING, GO_CUSTOM };

struct go_field {
        const char *name, *from; /* in Go, in v1 (with a dot: in metadata) */
        enum go_wrap wrap;
        enum go_form form;
        unsigned item; /* the layout of a struct */
        bool omits_empty;
};
struct go_layout {
        const char *name;
        unsigned first, count;
};
#include "sandbox/go_struct_table.inc"

struct printer {
        struct buf out;
        struct arena *a;
        bool lines; /* indented, as for a diff */
        bool loose; /* for comparing: what Go takes for equal prints alike */
};

static const struct go_layout *layout_of(const char *type) {
        size_t i = 0;

        while (strcmp(layouts[i].name, type) != 0)
                i++;
        return &layouts[i];
}

static const struct value *read_member(const struct value *v, const char *from) {
        struct str rest = str_from(from), name;

        while (v && str_next(&rest, '.', &name))
                v = value_get(v, name);
        return v && v->kind != VALUE_NULL ? v : NULL;
}

static void begin_line(struct printer *p, unsigned depth) {
        if (!p->lines)
                return;
        buf_addch(&p->out, '\n');
        while (depth--)
                buf_addch(&p->out, ' ');
}

static void print_struct(struct printer *p, const struct go_layout *l, const struct value *v, unsigned depth);

static void print_scalar(struct printer *p, enum go_form form, const struct value *v) {
        static const char *const zeros[] = {
                [GO_STRING] = "\"\"",    [GO_INT] = "0",           [GO_BOOL] = "false",
                [GO_QUANTITY] = "\"0\"", [GO_INT_OR_STRING] = "0", [GO_CUSTOM] = "null",
        };

        if (!v)
                buf_addc(&p->out, zeros[form]);
        else if (form == GO_QUANTITY && p->loose)
                buf_addf(&p->out, "%lld.%09lld", (long long)(quantity_of(v) / 1000000000),
                         (long long)(quantity_of(v) % 1000000000));
        else
                buf_add(&p->out, go_json(v, p->a));
}

static void print_one(struct printer *p, const struct go_field *f, const struct value *v, unsigned depth) {
        if (f->form == GO_STRUCT)
                print_struct(p, &layouts[f->item], v, depth);
        else
                print_scalar(p, f->form, v);
}

static void print_list(struct printer *p, const struct go_field *f, const struct value *list, unsigned depth) {
        buf_addch(&p->out, '[');
        for (size_t i = 0; i < value_count(list); i++) {
                if (i)
                        buf_addch(&p->out, ',');
                begin_line(p, depth + 1);
                print_one(p, f, list->list.items[i], depth + 1);
        }
        if (value_count(list))
                begin_line(p, depth);
        buf_addch(&p->out, ']');
}

static void print_map(struct printer *p, const struct go_field *f, const struct value *map, unsigned depth) {
        buf_addch(&p->out, '{');
        for (size_t i = 0; i < value_count(map); i++) {
                if (i)
                        buf_addch(&p->out, ',');
                begin_line(p, depth + 1);
                buf_add(&p->out, go_json(value_string(p->a, map->map.members[i].key, 0), p->a));
                buf_addc(&p->out, p->lines ? ": " : ":");
                print_one(p, f, map->map.members[i].value, depth + 1);
        }
        if (value_count(map))
                begin_line(p, depth);
        buf_addch(&p->out, '}');
}

static void print_field(struct printer *p, const struct go_field *f, const struct value *v, unsigned depth) {
        bool is_empty = !v || (p->loose && value_count(v) == 0);

        switch (f->wrap) {
        case GO_PLAIN:
                print_one(p, f, v, depth);
                break;
        case GO_POINTER:
                v ? print_one(p, f, v, depth) : buf_addc(&p->out, "null");
                break;
        case GO_LIST:
                is_empty ? buf_addc(&p->out, "null") : print_list(p, f, v, depth);
                break;
        case GO_MAP:
                is_empty ? buf_addc(&p->out, "null") : print_map(p, f, v, depth);
                break;
        }
}

static bool is_left_out(const struct go_field *f, const struct value *v) {
        if (!f->omits_empty)
                return false;
        if (f->wrap != GO_PLAIN)
                return !v || (f->wrap != GO_POINTER && value_count(v) == 0);
        return f->form != GO_STRUCT && (!v || type_is_zero(v));
}

static void print_struct(struct printer *p, const struct go_layout *l, const struct value *v, unsigned depth) {
        bool any = false;

        buf_addch(&p->out, '{');
        for (unsigned i = l->first; i < l->first + l->count; i++) {
                const struct go_field *f = &fields[i];
                const struct value *member = read_member(v, f->from);

                if (is_left_out(f, member))
                        continue;
                if (any)
                        buf_addch(&p->out, ',');
                any = true;
                begin_line(p, depth + 1);
                buf_addf(&p->out, p->lines ? "\"%s\": " : "\"%s\":", f->name);
                print_field(p, f, member, depth + 1);
        }
        if (any)
                begin_line(p, depth);
        buf_addch(&p->out, '}');
}

static struct str print(const char *type, const struct value *v, struct printer how) {
        struct printer p = how;
        struct str text;

        p.out = buf_make(TEXT_MAX_BYTES);
        print_struct(&p, layout_of(type), v, 0);
        text = arena_str(p.a, buf_str(&p.out));
        buf_done(&p.out);
        return text;
}

struct str go_struct_json(const char *type, const struct value *v, struct arena *a) {
        return print(type, v, (struct printer){ .a = a });
}

bool go_struct_same(const char *type, const struct value *a, const struct value *b, struct arena *arena) {
        const struct printer loose = { .a = arena, .loose = true };

        return a == b || str_eq(print(type, a, loose), print(type, b, loose));
}

struct str go_struct_diff(const char *type, const struct value *before, const struct value *after, struct arena *a) {
        const struct printer lines = { .a = a, .lines = true };

        return line_diff(print(type, before, lines), print(type, after, lines), a);
}
