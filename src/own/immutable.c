/* SPDX-License-Identifier: Apache-2.0 */
#include "own/immutable.h"

#include <ctype.h>

#include "base/limits.h"
#include "own/schema.h"

#define VALUE_SHOWN_BYTES 60
#define TEXT_MAX_BYTES    (16 * 1024)

/* Words of kubernetes' validation, and of CRDs' rules, for what may only be set once. */
static const char *const phrases[] = {
        "immutable",         "may not change once set", "cannot change roleRef", "may not be changed",
        "may not change",    "cannot be changed",       "can not be changed",    "can't be changed",
        "cannot be updated", "are forbidden",           "cannot be modified",
};

/* What comes first helps most; `%s` is the command that deletes it. */
static const struct advice {
        const char *group, *kind; /* NULL: any */
        const char *field;        /* its beginning; NULL: any */
        const char *text;
} advices[] = {
        { "apps", "StatefulSet", NULL,
          "take the change back in Git, or let it be made anew: %s --cascade=orphan keeps its Pods, and the new one "
          "takes them on" },
        { "apps", "Deployment", NULL,
          "take the change back in Git, or give the new one another name, or let it be made anew: %s (its Pods go with "
          "it)" },
        { "batch", "Job", NULL,
          "a Job runs once: give the new one another name in Git, or let it be made anew: %s (its Pods go with it), or "
          "take the change back" },
        { "", "Service", "spec.clusterIP",
          "leave clusterIP and clusterIPs out of Git, the cluster has given an address; or let it be made anew under "
          "another one: %s" },
        { "", "PersistentVolumeClaim", NULL,
          "its data hangs on it: take the change back, or make a claim of another name in Git and copy; %s would lose "
          "the data unless its volume is retained" },
        { "", "Secret", NULL,
          "give the new one another name in Git and refer to that, or let it be made anew: %s, or take the change "
          "back" },
        { "", "ConfigMap", NULL,
          "give the new one another name in Git and refer to that, or let it be made anew: %s, or take the change "
          "back" },
        { NULL, NULL, NULL,
          "take the change back in Git, or give the new one another name, or let it be made anew: %s" },
};

static bool contains(struct str text, const char *part) {
        struct str p = str_from(part);

        for (size_t i = 0; i + p.n <= text.n; i++)
                if (memcmp(text.p + i, p.p, p.n) == 0)
                        return true;
        return false;
}

/* A Secret's sentence is taken out before we see it: then its own rules are all there is. */
static bool is_immutable(const struct immutable_refusal *r, const struct immutable_cause *c) {
        for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
                if (contains(c->message, phrases[i]))
                        return true;
        if (!r->secret)
                return false;
        return str_eqc(c->field, "type") || value_truth(value_getc(r->live, "immutable"), false);
}

/* --- what differs ----------------------------------------------------------------------------------------------- */

struct search {
        const struct immutable_refusal *refusal;
        struct str allowed; /* the part of the sentence that lists what may be changed */
        struct buf *out;
        size_t count;
};

static void add_value(const struct search *s, const struct value *v) {
        _cleanup_(buf_done) struct buf text = buf_make(SIZE_MAX);
        size_t cut = VALUE_SHOWN_BYTES;

        if (s->refusal->secret) {
                buf_addc(s->out, "(hidden)");
                return;
        }
        if (!v) {
                buf_addc(s->out, "nothing");
                return;
        }
        value_print(v, &text);
        if (text.n <= cut) {
                buf_add(s->out, buf_str(&text));
                return;
        }
        while (cut && ((unsigned char)text.p[cut] & 0xc0) == 0x80)
                cut--;
        buf_add(s->out, str_sub(buf_str(&text), 0, cut));
        buf_addc(s->out, "…");
}

static void differs(struct search *s, struct str path, const struct value *git, const struct value *live) {
        if (s->count++ >= IMMUTABLE_MAX_SHOWN)
                return;
        buf_addf(s->out, "%s%.*s cannot be changed: Git wants ", s->count > 1 ? "; " : "", STR_FMT(path));
        add_value(s, git);
        buf_addc(s->out, ", live is ");
        add_value(s, live);
}

/* Is the name one word of the list? */
static bool is_allowed(struct str list, struct str name) {
        for (size_t i = 0; i + name.n <= list.n; i++) {
                bool begins = i == 0 || !isalnum((unsigned char)list.p[i - 1]);
                bool ends = i + name.n == list.n || !isalnum((unsigned char)list.p[i + name.n]);

                if (begins && ends && memcmp(list.p + i, name.p, name.n) == 0)
                        return true;
        }
        return false;
}

static void search(struct search *s, struct str path, const struct value *git, const struct value *live,
                   unsigned depth);

static struct buf path_below(struct str path, const char *fmt, struct str name) {
        struct buf b = buf_make(TEXT_MAX_BYTES);

        buf_add(&b, path);
        if (path.n || fmt[0] != '.')
                buf_addc(&b, fmt[0] == '.' ? "." : "[");
        buf_add(&b, name);
        if (fmt[0] != '.')
                buf_addch(&b, ']');
        return b;
}

/* Only what Git has counts: the rest of the live object is defaults and others' fields. */
static void search_map(struct search *s, struct str path, const struct value *git, const struct value *live,
                       unsigned depth) {
        for (size_t i = 0; i < git->map.count; i++) {
                const struct value_member *m = &git->map.members[i];
                _cleanup_(buf_done) struct buf below = path_below(path, ".", m->key);

                if (depth == 0 && is_allowed(s->allowed, m->key))
                        continue;
                search(s, buf_str(&below), m->value, value_get(live, m->key), depth + 1);
        }
}

static void search_list(struct search *s, struct str path, const struct value *git, const struct value *live,
                        unsigned depth) {
        if (!value_is(live, VALUE_LIST) || live->list.count != git->list.count) {
                differs(s, path, git, live);
                return;
        }
        for (size_t i = 0; i < git->list.count; i++) {
                const struct value *item = git->list.items[i];
                char number[24];
                struct str name = value_text(value_getc(item, "name"));

                snprintf(number, sizeof number, "%zu", i);
                _cleanup_(buf_done) struct buf below = path_below(path, "[", name.n ? name : str_from(number));
                search(s, buf_str(&below), item, live->list.items[i], depth + 1);
        }
}

static void search(struct search *s, struct str path, const struct value *git, const struct value *live,
                   unsigned depth) {
        if (depth > JSON_MAX_DEPTH || value_equal(git, live))
                return;
        if (value_is(git, VALUE_MAP) && value_is(live, VALUE_MAP))
                search_map(s, path, git, live, depth);
        else if (value_is(git, VALUE_LIST))
                search_list(s, path, git, live, depth);
        else
                differs(s, path, git, live);
}

/* What stands at "spec.clusterIPs[0]"; NULL when nothing does, or a name in it has dots. */
static const struct value *at_field(const struct value *v, struct str field) {
        size_t at = 0;

        while (v && at < field.n) {
                size_t end = at;

                while (end < field.n && field.p[end] != '.' && field.p[end] != '[')
                        end++;
                v = end > at ? value_get(v, str_sub(field, at, end)) : v;
                at = end;
                if (at < field.n && field.p[at] == '[') {
                        size_t index = 0;

                        for (at++; at < field.n && isdigit((unsigned char)field.p[at]) && index < 100000; at++)
                                index = index * 10 + (size_t)(field.p[at] - '0');
                        v = value_is(v, VALUE_LIST) && index < v->list.count ? v->list.items[index] : NULL;
                        at++;
                }
                at += at < field.n && field.p[at] == '.';
        }
        return v;
}

/* "… for fields other than 'replicas', 'template' are forbidden", "… except resources.requests": what may be changed.
 */
static struct str allowed_in(struct str message) {
        static const char *const words[] = { "other than", "except" };
        ptrdiff_t newline = str_find(message, '\n', 0);
        struct str line = newline < 0 ? message : str_sub(message, 0, (size_t)newline);

        for (size_t w = 0; w < ARRAY_LEN(words); w++) {
                size_t n = strlen(words[w]);

                for (size_t i = 0; i + n <= line.n; i++)
                        if (memcmp(line.p + i, words[w], n) == 0)
                                return str_sub(line, i + n, line.n);
        }
        return STR("");
}

/* Git says clusterIP where the server speaks of clusterIPs[0]. */
static struct str field_in_git(const struct immutable_refusal *r, struct str field) {
        if (str_starts(field, STR("spec.clusterIPs")) && !at_field(r->desired, field))
                return STR("spec.clusterIP");
        return field;
}

static bool told_before(const struct immutable_refusal *r, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (str_eq(field_in_git(r, r->causes[k].field), field_in_git(r, r->causes[i].field)) &&
                    is_immutable(r, &r->causes[k]))
                        return true;
        return false;
}

static void tell(struct search *s, const struct immutable_cause *c) {
        struct str field = field_in_git(s->refusal, c->field);
        const struct value *git = at_field(s->refusal->desired, field), *live = at_field(s->refusal->live, field);
        size_t before = s->count;

        s->allowed = allowed_in(c->message);
        if (git)
                search(s, field, git, live, 0);
        if (s->count == before && s->count++ < IMMUTABLE_MAX_SHOWN)
                buf_addf(s->out, "%s%.*s cannot be changed", before ? "; " : "", STR_FMT(field));
}

/* --- what to do ------------------------------------------------------------------------------------------------- */

static void add_command(const struct immutable_refusal *r, struct buf *out) {
        struct str group = schema_group(value_text(value_getc(r->live, "apiVersion")));
        struct str kind = value_text(value_getc(r->live, "kind"));
        struct str ns = value_text(value_path(r->live, "metadata", "namespace", NULL));

        buf_addc(out, "kubectl delete ");
        for (size_t i = 0; i < kind.n; i++)
                buf_addch(out, (char)tolower((unsigned char)kind.p[i]));
        if (str_find(group, '.', 0) >= 0)
                buf_addf(out, ".%.*s", STR_FMT(group));
        buf_addf(out, " %.*s", STR_FMT(value_text(value_path(r->live, "metadata", "name", NULL))));
        if (ns.n)
                buf_addf(out, " -n %.*s", STR_FMT(ns));
}

static const struct advice *advice_for(const struct immutable_refusal *r, struct str field) {
        struct str group = schema_group(value_text(value_getc(r->live, "apiVersion")));
        struct str kind = value_text(value_getc(r->live, "kind"));
        size_t i = 0;

        while (advices[i].kind && !(str_eqc(group, advices[i].group) && str_eqc(kind, advices[i].kind) &&
                                    (!advices[i].field || str_starts(field, str_from(advices[i].field)))))
                i++;
        return &advices[i];
}

static void add_advice(const struct immutable_refusal *r, struct str field, struct buf *out) {
        const char *text = advice_for(r, field)->text, *gap = strstr(text, "%s");

        buf_addc(out, ". What helps: ");
        buf_add(out, (struct str){ text, (size_t)(gap - text) });
        add_command(r, out);
        buf_addc(out, gap + 2);
}

bool immutable_explain(const struct immutable_refusal *r, struct buf *out) {
        struct search s = { .refusal = r, .out = out };
        const struct immutable_cause *first = NULL;

        for (size_t i = 0; r->live && i < r->count; i++) {
                if (!is_immutable(r, &r->causes[i]) || told_before(r, i))
                        continue;
                if (!first)
                        first = &r->causes[i];
                tell(&s, &r->causes[i]);
        }
        if (!first)
                return false;
        if (s.count > IMMUTABLE_MAX_SHOWN)
                buf_addf(out, "; and %zu more", s.count - IMMUTABLE_MAX_SHOWN);
        add_advice(r, first->field, out);
        return true;
}
