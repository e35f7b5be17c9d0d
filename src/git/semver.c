/* SPDX-License-Identifier: Apache-2.0 */
#include "git/semver.h"

#include "base/macro.h"

/* What is left of the text. */
struct scan {
        struct str rest;
};

static bool at(const struct scan *s, char c) {
        return s->rest.n > 0 && s->rest.p[0] == c;
}

static void skip(struct scan *s, size_t n) {
        s->rest = str_sub(s->rest, n, s->rest.n);
}

static bool take(struct scan *s, struct str word) {
        if (!str_starts(s->rest, word))
                return false;
        skip(s, word.n);
        return true;
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

/* How many there were. */
static size_t skip_blanks(struct scan *s) {
        size_t n = 0;

        while (n < s->rest.n && is_blank(s->rest.p[n]))
                n++;
        skip(s, n);
        return n;
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_identifier(char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

static size_t digits(struct str s) {
        size_t n = 0;

        while (n < s.n && is_digit(s.p[n]))
                n++;
        return n;
}

static bool take_number(struct scan *s, uint64_t *ret) {
        size_t n = digits(s->rest);

        if (n == 0 || !str_to_u64(str_sub(s->rest, 0, n), ret))
                return false;
        skip(s, n);
        return true;
}

static bool take_open(struct scan *s) {
        return take(s, STR("x")) || take(s, STR("X")) || take(s, STR("*"));
}

/* Identifiers parted by dots, none of them empty; in `ordered` ones no number begins with 0. */
static bool take_identifiers(struct scan *s, bool ordered, struct str *ret) {
        size_t n = 0, from = 0;

        while (n < s->rest.n && (is_identifier(s->rest.p[n]) || s->rest.p[n] == '.'))
                n++;
        for (size_t i = 0; i <= n; i++) {
                if (i < n && s->rest.p[i] != '.')
                        continue;
                struct str one = str_sub(s->rest, from, i);

                if (one.n == 0 || (ordered && one.n > 1 && one.p[0] == '0' && digits(one) == one.n))
                        return false;
                from = i + 1;
        }
        *ret = str_sub(s->rest, 0, n);
        skip(s, n);
        return true;
}

/* "-rc.1+build" */
static bool take_suffix(struct scan *s, struct str *ret_pre) {
        struct str build;

        *ret_pre = (struct str){ 0 };
        if (take(s, STR("-")) && !take_identifiers(s, true, ret_pre))
                return false;
        return !take(s, STR("+")) || take_identifiers(s, false, &build);
}

/* A version with open parts; *ret_parts is 3 when none is open. Parts behind an open one are read and mean nothing. */
static bool take_partial(struct scan *s, struct semver *ret, unsigned *ret_parts, bool *ret_has_open) {
        uint64_t part[3] = { 0 }, number;
        unsigned parts = 0, seen = 0;
        bool open = false;

        take(s, STR("v"));
        do {
                if (seen == ARRAY_LEN(part))
                        return false;
                if (take_open(s))
                        open = true;
                else if (!take_number(s, &number))
                        return false;
                else if (!open)
                        part[parts++] = number;
                seen++;
        } while (take(s, STR(".")));
        *ret = (struct semver){ part[0], part[1], part[2], { 0 } };
        *ret_parts = parts;
        *ret_has_open = open;
        return take_suffix(s, &ret->pre);
}

bool semver_parse(struct str text, struct semver *ret) {
        struct scan s = { text };
        struct semver v;
        unsigned parts;
        bool open;

        if (!take_partial(&s, &v, &parts, &open) || open || s.rest.n > 0)
                return false;
        *ret = v;
        return true;
}

/* --- precedence ------------------------------------------------------------------------------------------------- */

static int cmp_u64(uint64_t a, uint64_t b) {
        return (a > b) - (a < b);
}

/* Of any length: without leading zeros the longer number is the greater one. */
static int cmp_identifier(struct str a, struct str b) {
        bool a_is_number = digits(a) == a.n, b_is_number = digits(b) == b.n;

        if (a_is_number != b_is_number)
                return a_is_number ? -1 : 1;
        if (a_is_number && a.n != b.n)
                return a.n < b.n ? -1 : 1;
        return str_cmp(a, b);
}

static int cmp_pre(struct str a, struct str b) {
        struct str x, y;

        if (a.n == 0 || b.n == 0)
                return (a.n == 0) - (b.n == 0);
        for (;;) {
                bool has_x = str_next(&a, '.', &x), has_y = str_next(&b, '.', &y);

                if (!has_x || !has_y)
                        return (int)has_x - (int)has_y;
                int r = cmp_identifier(x, y);
                if (r)
                        return r;
        }
}

int semver_cmp(const struct semver *a, const struct semver *b) {
        int r = cmp_u64(a->major, b->major);

        r = r ? r : cmp_u64(a->minor, b->minor);
        r = r ? r : cmp_u64(a->patch, b->patch);
        return r ? r : cmp_pre(a->pre, b->pre);
}

/* --- ranges ----------------------------------------------------------------------------------------------------- */

static enum semver_op take_op(struct scan *s, bool *ret_given) {
        static const struct {
                struct str word;
                enum semver_op op;
        } words[] = { /* longer ones first */
                { STR(">="), SEMVER_FROM }, { STR("=>"), SEMVER_FROM }, { STR("<="), SEMVER_TO },
                { STR("=<"), SEMVER_TO },   { STR("!="), SEMVER_NOT },  { STR("~>"), SEMVER_TILDE },
                { STR("~"), SEMVER_TILDE }, { STR("^"), SEMVER_CARET }, { STR(">"), SEMVER_ABOVE },
                { STR("<"), SEMVER_BELOW }, { STR("="), SEMVER_EQUAL },
        };

        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                *ret_given = take(s, words[i].word);
                if (*ret_given)
                        return words[i].op;
        }
        return SEMVER_EQUAL;
}

/* A range while it is read. */
struct reading {
        struct scan s;
        struct semver_range *range;
        unsigned group;
        bool plain;  /* no operator and no open part was seen: a version, if it is alone */
        bool number; /* something but open parts was seen, or a "*" */
};

static bool add_term(struct reading *r, enum semver_op op) {
        struct semver_term term = { .op = op, .group = r->group };
        bool star = r->s.rest.n > 0 && str_find(str_sub(r->s.rest, 0, 2), '*', 0) >= 0, open;

        if (r->range->count == SEMVER_MAX_TERMS || !take_partial(&r->s, &term.version, &term.parts, &open))
                return false;
        r->plain &= !open;
        r->number |= star || term.parts > 0;
        r->range->terms[r->range->count++] = term;
        return true;
}

/* " - 1.4" behind a version without operator. */
static bool take_hyphen(struct reading *r) {
        struct scan s = r->s;

        if (!skip_blanks(&s) || !take(&s, STR("-")) || !skip_blanks(&s))
                return false;
        r->s = s;
        return true;
}

static bool read_term(struct reading *r) {
        bool given;
        enum semver_op op = take_op(&r->s, &given);

        if (given)
                skip_blanks(&r->s);
        if (!add_term(r, op))
                return false;
        r->plain &= !given;
        if (given || !take_hyphen(r))
                return true;
        r->range->terms[r->range->count - 1].op = SEMVER_FROM;
        r->plain = false;
        return add_term(r, SEMVER_TO);
}

/* What parts two terms; false: nothing does. Behind a comma there must be one. */
static bool take_joint(struct reading *r, bool *ret_comma) {
        bool blank = skip_blanks(&r->s) > 0;

        *ret_comma = take(&r->s, STR(","));
        skip_blanks(&r->s);
        return blank || *ret_comma;
}

/* Terms that are joined by "and", up to "||" or the end. */
static bool read_group(struct reading *r) {
        bool comma;

        skip_blanks(&r->s);
        for (;;) {
                if (!read_term(r))
                        return false;
                bool joined = take_joint(r, &comma);
                if (!comma && (r->s.rest.n == 0 || at(&r->s, '|')))
                        return true;
                if (!joined)
                        return false;
                r->plain = false;
        }
}

bool semver_range_parse(struct str text, struct semver_range *ret) {
        struct reading r = { .s = { text }, .range = ret, .plain = true };

        ret->count = 0;
        do {
                if (!read_group(&r))
                        return false;
                r.group++;
        } while (take(&r.s, STR("||")));
        return r.s.rest.n == 0 && r.number && !(r.plain && ret->count == 1);
}

static bool same_parts(const struct semver *v, const struct semver *w, unsigned parts) {
        return (parts < 1 || v->major == w->major) && (parts < 2 || v->minor == w->minor) &&
               (parts < 3 || v->patch == w->patch);
}

static bool above(const struct semver_term *t, const struct semver *v) {
        return semver_cmp(v, &t->version) > 0 && (t->parts == 0 || t->parts == 3 || !same_parts(v, &t->version, t->parts));
}

static bool up_to(const struct semver_term *t, const struct semver *v) {
        return semver_cmp(v, &t->version) <= 0 || (t->parts < 3 && same_parts(v, &t->version, t->parts));
}

static bool tilde(const struct semver_term *t, const struct semver *v) {
        bool all = t->parts == 3 && t->version.major == 0 && t->version.minor == 0 && t->version.patch == 0;

        return semver_cmp(v, &t->version) >= 0 && (all || same_parts(v, &t->version, t->parts < 2 ? t->parts : 2));
}

static bool caret(const struct semver_term *t, const struct semver *v) {
        const struct semver *w = &t->version;
        unsigned parts = t->parts;

        if (parts > 1 && w->major > 0)
                parts = 1;
        else if (parts > 2 && w->minor > 0)
                parts = 2;
        return semver_cmp(v, w) >= 0 && same_parts(v, w, parts);
}

static bool equal(const struct semver_term *t, const struct semver *v) {
        if (t->parts < 3)
                return semver_cmp(v, &t->version) >= 0 && same_parts(v, &t->version, t->parts);
        return semver_cmp(v, &t->version) == 0;
}

static bool fits(const struct semver_term *t, const struct semver *v) {
        switch (t->op) {
        case SEMVER_NOT:
                return !equal(t, v);
        case SEMVER_ABOVE:
                return above(t, v);
        case SEMVER_FROM:
                return semver_cmp(v, &t->version) >= 0;
        case SEMVER_BELOW:
                return semver_cmp(v, &t->version) < 0;
        case SEMVER_TO:
                return up_to(t, v);
        case SEMVER_TILDE:
                return tilde(t, v);
        case SEMVER_CARET:
                return caret(t, v);
        default:
                return equal(t, v);
        }
}

bool semver_range_has(const struct semver_range *range, const struct semver *v) {
        for (size_t i = 0, end; i < range->count; i = end) {
                bool all = true, names_pre = v->pre.n == 0;

                for (end = i; end < range->count && range->terms[end].group == range->terms[i].group; end++) {
                        all &= fits(&range->terms[end], v);
                        names_pre |= range->terms[end].version.pre.n > 0;
                }
                if (all && names_pre)
                        return true;
        }
        return false;
}
