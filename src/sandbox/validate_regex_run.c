/* SPDX-License-Identifier: Apache-2.0 */
/* All threads of a regular expression go through the text side by side. */
#include "sandbox/validate_regex_impl.h"

uint32_t regex_decode(struct str s, size_t *at) {
        unsigned char first = (unsigned char)s.p[*at];
        unsigned extra = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
        uint32_t rune = extra == 0 ? first : first & (0x3fu >> extra);

        (*at)++;
        for (; extra && *at < s.n; extra--)
                rune = rune << 6 | ((unsigned char)s.p[(*at)++] & 0x3f);
        return rune;
}

struct run {
        const struct step *steps;
        struct str text;
        size_t *list[2];
        size_t count[2];
        size_t *seen; /* position + 1 at which a step was added last */
};

static bool is_word(struct str s, size_t at, bool before) {
        char ch;

        if (before ? at == 0 : at >= s.n)
                return false;
        ch = s.p[before ? at - 1 : at];
        return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static bool holds(const struct run *r, char assertion, size_t at) {
        bool boundary = is_word(r->text, at, true) != is_word(r->text, at, false);

        switch (assertion) {
        case 'A':
                return at == 0;
        case 'z':
                return at == r->text.n;
        case '^':
                return at == 0 || r->text.p[at - 1] == '\n';
        case '$':
                return at == r->text.n || r->text.p[at] == '\n';
        case 'b':
                return boundary;
        default:
                return !boundary;
        }
}

/* Follows forks and jumps; true: the end is reached. */
static bool add_thread(struct run *r, int which, size_t pc, size_t at) {
        const struct step *step = &r->steps[pc];

        if (r->seen[pc] == at + 1)
                return false;
        r->seen[pc] = at + 1;
        switch (step->op) {
        case OP_MATCH:
                return true;
        case OP_JUMP:
                return add_thread(r, which, step->to, at);
        case OP_FORK:
                return add_thread(r, which, step->to, at) || add_thread(r, which, step->or_to, at);
        case OP_ASSERT:
                return holds(r, step->assertion, at) && add_thread(r, which, pc + 1, at);
        default:
                r->list[which][r->count[which]++] = pc;
                return false;
        }
}

static bool accepts(const struct step *step, uint32_t rune) {
        bool in = false;

        for (size_t i = 0; i < step->range_count && !in; i++)
                in = rune >= step->ranges[i].from && rune <= step->ranges[i].to;
        return in != step->negated;
}

static bool run(struct run *r) {
        int now = 0;

        for (size_t at = 0;; now = 1 - now) {
                size_t next = at;
                uint32_t rune;

                if (add_thread(r, now, 0, at))
                        return true;
                if (at >= r->text.n)
                        return false;
                rune = regex_decode(r->text, &next);
                r->count[1 - now] = 0;
                for (size_t i = 0; i < r->count[now]; i++)
                        if (accepts(&r->steps[r->list[now][i]], rune) &&
                            add_thread(r, 1 - now, r->list[now][i] + 1, next))
                                return true;
                at = next;
        }
}

bool regex_run(const struct step *steps, size_t count, struct str text, struct arena *a) {
        struct run r = { .steps = steps, .text = text };

        for (int i = 0; i < 2; i++)
                r.list[i] = arena_alloc(a, count * sizeof *r.list[i]);
        r.seen = arena_zalloc(a, count * sizeof *r.seen);
        return run(&r);
}
