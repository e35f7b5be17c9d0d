/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

/* What of the pattern follows once the current part is used up: the rest after a brace group. */
struct rest {
        struct str pattern;
        const struct rest *next;
};

struct matcher {
        unsigned steps;
};

/* Index of the "}" that closes the group whose content begins at `at`, or -1. */
static ptrdiff_t group_end(struct str p, size_t at) {
        unsigned depth = 1;

        for (; at < p.n; at++) {
                if (p.p[at] == '\\')
                        at++;
                else if (p.p[at] == '{')
                        depth++;
                else if (p.p[at] == '}' && --depth == 0)
                        return (ptrdiff_t)at;
        }
        return -1;
}

/* Index of the "]" that closes a class whose content begins at `at`; a "]" in first place is literal. */
static ptrdiff_t class_end(struct str p, size_t at) {
        if (at < p.n && (p.p[at] == '!' || p.p[at] == '^'))
                at++;
        return str_find(p, ']', at + 1);
}

static int check(struct str p, unsigned nesting, struct err *err) {
        if (nesting > GLOB_MAX_NESTING)
                return err_set(err, ERR_LIMIT, "glob nests more than %d braces", GLOB_MAX_NESTING);
        for (size_t i = 0; i < p.n; i++) {
                ptrdiff_t end;
                int r;

                if (p.p[i] == '\\') {
                        if (++i >= p.n)
                                return err_set(err, ERR_INVAL, "glob ends in a lone \"\\\"");
                } else if (p.p[i] == '[') {
                        end = class_end(p, i + 1);
                        if (end < 0)
                                return err_set(err, ERR_INVAL, "glob has a \"[\" without \"]\"");
                        i = (size_t)end;
                } else if (p.p[i] == '{') {
                        end = group_end(p, i + 1);
                        if (end < 0)
                                return err_set(err, ERR_INVAL, "glob has a \"{\" without \"}\"");
                        r = check(str_sub(p, i + 1, (size_t)end), nesting + 1, err);
                        if (r < 0)
                                return r;
                        i = (size_t)end;
                }
        }
        return 0;
}

int glob_check(struct str pattern, struct err *err) {
        if (pattern.n > GLOB_MAX_BYTES)
                return err_set(err, ERR_LIMIT, "glob is longer than %d bytes", GLOB_MAX_BYTES);

        return check(pattern, 0, err);
}

static bool match(struct matcher *m, struct str p, const struct rest *rest, struct str s);

static bool match_star(struct matcher *m, struct str p, const struct rest *rest, struct str s) {
        while (p.n > 0 && p.p[0] == '*')
                p = str_sub(p, 1, p.n);
        if (p.n == 0 && !rest)
                return true;
        for (size_t i = 0; i <= s.n && m->steps < GLOB_MAX_STEPS; i++)
                if (match(m, p, rest, str_sub(s, i, s.n)))
                        return true;
        return false;
}

/* Cuts the alternative up to the next comma on this level off *rest. */
static struct str next_alternative(struct str *group) {
        unsigned depth = 0;
        struct str part;

        for (size_t i = 0; i < group->n; i++) {
                char c = group->p[i];

                if (c == '\\')
                        i++;
                else if (c == '{')
                        depth++;
                else if (c == '}')
                        depth--;
                else if (c == ',' && depth == 0) {
                        part = str_sub(*group, 0, i);
                        *group = str_sub(*group, i + 1, group->n);
                        return part;
                }
        }
        part = *group;
        *group = (struct str){ 0 };
        return part;
}

static bool match_group(struct matcher *m, struct str p, const struct rest *rest, struct str s) {
        ptrdiff_t end = group_end(p, 1);
        struct str group = str_sub(p, 1, (size_t)end);
        struct rest after = { str_sub(p, (size_t)end + 1, p.n), rest };
        bool more = true;

        while (more) {
                size_t before = group.n;
                struct str part = next_alternative(&group);

                if (match(m, part, &after, s))
                        return true;
                more = part.n < before;
        }
        return false;
}

static size_t char_bytes(struct str s) {
        size_t n = 1;

        while (n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
                n++;
        return n;
}

/* Is the byte in the class "a-z_"? Beyond ASCII a class compares bytes, which is enough for file names. */
static bool in_class(struct str class, unsigned char c) {
        bool negated = class.n > 0 && (class.p[0] == '!' || class.p[0] == '^'), hit = false;

        for (size_t i = negated; i < class.n; i++) {
                if (i + 2 < class.n && class.p[i + 1] == '-') {
                        hit |= c >= (unsigned char)class.p[i] && c <= (unsigned char)class.p[i + 2];
                        i += 2;
                } else {
                        hit |= c == (unsigned char)class.p[i];
                }
        }
        return hit != negated;
}

/* One character of s against the head of p; on success both are cut. */
static bool match_one(struct str *p, struct str *s) {
        size_t used = 1, taken = 1;
        bool hit;

        if (s->n == 0)
                return false;
        if (p->p[0] == '?') {
                taken = char_bytes(*s);
                hit = true;
        } else if (p->p[0] == '[') {
                ptrdiff_t end = class_end(*p, 1);

                /* A comma inside a class inside braces parts alternatives, and leaves it open. */
                if (end < 0)
                        return false;
                hit = in_class(str_sub(*p, 1, (size_t)end), (unsigned char)s->p[0]);
                used = (size_t)end + 1;
        } else {
                used = p->p[0] == '\\' ? 2 : 1;
                hit = p->p[used - 1] == s->p[0];
        }
        *p = str_sub(*p, used, p->n);
        *s = str_sub(*s, taken, s->n);
        return hit;
}

static bool match(struct matcher *m, struct str p, const struct rest *rest, struct str s) {
        while (++m->steps < GLOB_MAX_STEPS) {
                if (p.n == 0 && !rest)
                        return s.n == 0;
                if (p.n == 0) {
                        p = rest->pattern;
                        rest = rest->next;
                } else if (p.p[0] == '*') {
                        return match_star(m, p, rest, s);
                } else if (p.p[0] == '{') {
                        return match_group(m, p, rest, s);
                } else if (!match_one(&p, &s)) {
                        return false;
                }
        }
        return false;
}

bool glob_match(struct str pattern, struct str s) {
        struct matcher m = { 0 };

        return glob_check(pattern, NULL) == 0 && match(&m, pattern, NULL, s);
}
