/* SPDX-License-Identifier: Apache-2.0 */
#include "health/message.h"

#include "health/health.h"

#define ELLIPSIS "…"

/* The length of the well-formed character that `s`, which is not empty, begins with; 0: there is none. */
static size_t char_bytes(struct str s) {
        for (size_t n = 1; n <= 4 && n <= s.n; n++)
                if (str_is_utf8(str_sub(s, 0, n)))
                        return n;
        return 0;
}

static bool is_control(unsigned char c) {
        return c < 0x20 || c == 0x7f;
}

/* C1 controls are two bytes, of which the first says so: U+0080 to U+009F. */
static bool is_wide_control(struct str c) {
        return c.n == 2 && (unsigned char)c.p[0] == 0xc2 && (unsigned char)c.p[1] < 0xa0;
}

/* What stands for the character in a message. */
static struct str replacement(struct str c, bool one_line) {
        if (c.n == 0)
                return STR("\xef\xbf\xbd");
        if (c.n == 1 && is_control((unsigned char)c.p[0]))
                return !one_line && (c.p[0] == '\n' || c.p[0] == '\t') ? c : STR(" ");
        return is_wide_control(c) ? STR(" ") : c;
}

/* Appends while it fits into `max_bytes` after `begin`; else cuts back to where the ellipsis still did. */
static bool add_within(struct buf *out, struct str c, size_t begin, size_t max_bytes, size_t *fits) {
        if (out->n - begin + c.n > max_bytes) {
                buf_truncate(out, *fits);
                buf_addc(out, ELLIPSIS);
                return false;
        }
        buf_add(out, c);
        if (out->n - begin + sizeof(ELLIPSIS) - 1 <= max_bytes)
                *fits = out->n;
        return true;
}

struct str message_bounded(struct arena *a, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(HEALTH_MAX_MESSAGE_BYTES);
        size_t fits = 0;

        while (text.n > 0) {
                size_t n = char_bytes(text);

                if (!add_within(&out, replacement(str_sub(text, 0, n), false), 0, HEALTH_MAX_MESSAGE_BYTES, &fits))
                        break;
                text = str_sub(text, n > 0 ? n : 1, text.n);
        }
        return arena_str(a, buf_str(&out));
}

void message_add_line(struct buf *out, struct str text, size_t max_bytes) {
        size_t begin = out->n, fits = begin;
        bool blank = false;

        while (text.n > 0) {
                size_t n = char_bytes(text);
                struct str c = replacement(str_sub(text, 0, n), true);

                text = str_sub(text, n > 0 ? n : 1, text.n);
                if (str_eqc(c, " ")) {
                        blank = out->n > begin;
                        continue;
                }
                if ((blank && !add_within(out, STR(" "), begin, max_bytes, &fits)) ||
                    !add_within(out, c, begin, max_bytes, &fits))
                        return;
                blank = false;
        }
}
