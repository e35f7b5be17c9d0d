/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/text.h"

#define ELLIPSIS "…"
/* Columns of agreement shown in front of the place where two texts differ. */
#define WINDOW_LEAD 20

struct range {
        uint32_t first, last;
};

/*
 * Controls, format characters that reorder or hide what stands around them (Unicode Cc, and the dangerous of Cf), and
 * two that are no characters: XML and YAML cannot hold them.
 */
static const struct range hidden[] = {
        { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },       { 0x61c, 0x61c },
        { 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
        { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xfffe, 0xffff },   { 0xe0000, 0xe007f },
};

static const struct range zero_width[] = {
        { 0x300, 0x36f },   { 0x483, 0x489 },   { 0x591, 0x5bd },     { 0x610, 0x61a },
        { 0x64b, 0x65f },   { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },   { 0x20d0, 0x20ff },
        { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xe0100, 0xe01ef },
};

static const struct range double_width[] = {
        { 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
        { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff },
        { 0x1f900, 0x1f9ff }, { 0x1fa70, 0x1faff }, { 0x20000, 0x3fffd },
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t c) {
        for (size_t i = 0; i < count; i++)
                if (c >= ranges[i].first && c <= ranges[i].last)
                        return true;
        return false;
}

#define IN(ranges, c) in_ranges(ranges, ARRAY_LEN(ranges), c)

/* The character at the front of s: its bytes, its number and, in `valid`, whether it is one at all. */
struct glyph {
        struct str bytes;
        uint32_t number;
        bool valid;
};

static struct glyph glyph_at(struct str s, size_t at) {
        unsigned char lead = (unsigned char)s.p[at];
        size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        struct glyph g = { .bytes = str_sub(s, at, at + n), .number = lead };

        g.valid = g.bytes.n == n && str_is_utf8(g.bytes);
        if (!g.valid) {
                g.bytes = str_sub(s, at, at + 1);
                return g;
        }
        if (n > 1)
                g.number = lead & (0xffU >> (n + 1));
        for (size_t i = 1; i < n; i++)
                g.number = g.number << 6 | ((unsigned char)s.p[at + i] & 0x3fU);
        return g;
}

/* A character as it is shown: itself, or an escape. */
struct shown {
        char text[16];
        size_t n, columns;
};

static const char *short_escape(uint32_t c) {
        switch (c) {
        case '\n':
                return "\\n";
        case '\t':
                return "\\t";
        case '\r':
                return "\\r";
        default:
                return NULL;
        }
}

static struct shown show(const struct glyph *g) {
        struct shown s = { .n = g->bytes.n, .columns = 1 };
        const char *escape = short_escape(g->number);

        if (g->valid && !IN(hidden, g->number)) {
                memcpy(s.text, g->bytes.p, g->bytes.n);
                if (g->number >= 0x300)
                        s.columns = IN(zero_width, g->number) ? 0 : IN(double_width, g->number) ? 2 : 1;
                return s;
        }
        if (escape)
                s.n = (size_t)snprintf(s.text, sizeof s.text, "%s", escape);
        else
                s.n = (size_t)snprintf(s.text, sizeof s.text, g->number > 0xff ? "\\u%04x" : "\\x%02x",
                                       (unsigned)g->number);
        s.columns = s.n;
        return s;
}

void text_add(struct buf *out, struct str s) {
        for (size_t at = 0; at < s.n;) {
                struct glyph g = glyph_at(s, at);
                struct shown c = show(&g);

                buf_add(out, (struct str){ c.text, c.n });
                at += g.bytes.n;
        }
}

void text_add_cut(struct buf *out, struct str s, size_t max) {
        size_t columns = 0, fits = out->n;

        if (max == 0)
                return;
        for (size_t at = 0; at < s.n;) {
                struct glyph g = glyph_at(s, at);
                struct shown c = show(&g);

                if (columns + c.columns > max) {
                        buf_truncate(out, fits);
                        buf_addc(out, ELLIPSIS);
                        return;
                }
                buf_add(out, (struct str){ c.text, c.n });
                columns += c.columns;
                at += g.bytes.n;
                if (columns + 1 <= max)
                        fits = out->n;
        }
}

/* The start of the character that is `columns` before the one at byte `at`, counting characters that need no escape. */
static size_t step_back(struct str s, size_t at, size_t columns) {
        while (at > 0 && columns > 0) {
                do
                        at--;
                while (at > 0 && ((unsigned char)s.p[at] & 0xc0) == 0x80);
                columns--;
        }
        return at;
}

void text_add_window(struct buf *out, struct str s, size_t at, size_t max) {
        _cleanup_(buf_done) struct buf lead = buf_make(out->max);

        if (at > s.n)
                at = s.n;
        /* The first byte that differs may be inside a character. */
        while (at > 0 && at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
                at--;
        text_add(&lead, str_sub(s, 0, at));
        if (max <= WINDOW_LEAD + 1 || text_columns(buf_str(&lead)) + WINDOW_LEAD <= max) {
                text_add_cut(out, s, max);
                return;
        }
        buf_addc(out, ELLIPSIS);
        text_add_cut(out, str_sub(s, step_back(s, at, WINDOW_LEAD), s.n), max - 1);
}

size_t text_columns(struct str s) {
        size_t columns = 0;

        for (size_t at = 0; at < s.n;) {
                struct glyph g = glyph_at(s, at);

                columns += show(&g).columns;
                at += g.bytes.n;
        }
        return columns;
}

void text_pad(struct buf *out, size_t from, size_t columns) {
        if (from > out->n)
                return;
        for (size_t have = text_columns(str_sub(buf_str(out), from, out->n)); have < columns; have++)
                buf_addch(out, ' ');
}

static void add_json_escape(struct buf *out, uint32_t c) {
        if (c > 0xffff)
                buf_addf(out, "\\u%04x\\u%04x", 0xd800U + ((c - 0x10000) >> 10), 0xdc00U + ((c - 0x10000) & 0x3ff));
        else
                buf_addf(out, "\\u%04x", (unsigned)c);
}

void text_add_json(struct buf *out, struct str json) {
        for (size_t at = 0; at < json.n;) {
                struct glyph g = glyph_at(json, at);

                /* Raw C0 characters are only blanks between tokens here. */
                if (!g.valid)
                        add_json_escape(out, 0xfffd);
                else if (g.number > 0x1f && IN(hidden, g.number))
                        add_json_escape(out, g.number);
                else
                        buf_add(out, g.bytes);
                at += g.bytes.n;
        }
}
