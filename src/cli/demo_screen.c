/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_screen.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/words.h"
#include "diff/text.h"

#define LINE_MAX_BYTES 4096
#define NUMBER_COLUMNS 3
#define TITLE_COLUMNS  19
#define TEXT_AT        (NUMBER_COLUMNS + TITLE_COLUMNS)
#define RIGHT_EDGE     100 /* or the terminal's */
#define FIRST_COLUMNS  38
#define SECOND_COLUMNS 35
#define FRAME_MS       120

struct screen {
        int fd;
        bool terminal, color, moving, gone;
};

static const char *const tones[] = {
        [SCREEN_PLAIN] = "",       [SCREEN_STRONG] = "\033[1m", [SCREEN_GOOD] = "\033[32m",
        [SCREEN_BAD] = "\033[31m", [SCREEN_QUIET] = "\033[2m",
};

struct screen *screen_new(int fd) {
        struct screen *s = mem_zalloc(sizeof *s);

        s->fd = fd;
        s->terminal = words_on_terminal(fd);
        s->color = words_in_color(fd);
        return s;
}

/* Nobody reads any more (a pager was left, head has enough): as after Ctrl-C everything is removed and it ends. */
static void end_for_nobody(struct screen *s) {
        if (!s->gone)
                raise(SIGTERM);
        s->gone = true;
}

/* One write a line. */
static void put(struct screen *s, const struct buf *out) {
        for (size_t at = 0; at < out->n;) {
                ssize_t n = write(s->fd, out->p + at, out->n - at);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EPIPE)
                        end_for_nobody(s);
                if (n <= 0)
                        return;
                at += (size_t)n;
        }
}

/* Asked for each time: windows are resized. */
static size_t columns_of(const struct screen *s) {
        struct winsize size;

        return s->terminal && ioctl(s->fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : RIGHT_EDGE;
}

static void add_toned(const struct screen *s, struct buf *out, enum screen_tone tone, struct str text) {
        bool color = s->color && tone != SCREEN_PLAIN && text.n;

        if (color)
                buf_addc(out, tones[tone]);
        text_add(out, text);
        if (color)
                buf_addc(out, "\033[0m");
}

static void begin_line(struct screen *s, struct buf *out) {
        if (s->moving)
                buf_addc(out, "\r\033[K");
        s->moving = false;
}

static void end_line(struct screen *s, struct buf *out) {
        buf_addch(out, '\n');
        put(s, out);
}

static void blanks(struct buf *out, size_t count) {
        buf_addf(out, "%*s", (int)count, "");
}

static void line_at(struct screen *s, size_t column, enum screen_tone tone, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(LINE_MAX_BYTES);

        begin_line(s, &out);
        blanks(&out, column);
        add_toned(s, &out, tone, text);
        end_line(s, &out);
}

void screen_line(struct screen *s, enum screen_tone tone, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf text = buf_make(LINE_MAX_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        line_at(s, 0, tone, buf_str(&text));
}

void screen_also(struct screen *s, enum screen_tone tone, const char *fmt, ...) {
        _cleanup_(buf_done) struct buf text = buf_make(LINE_MAX_BYTES);
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&text, fmt, ap);
        va_end(ap);
        line_at(s, TEXT_AT, tone, buf_str(&text));
}

/* The columns that text takes when it is written. */
static size_t width(struct str text) {
        _cleanup_(buf_done) struct buf safe = buf_make(LINE_MAX_BYTES);

        text_add(&safe, text);
        return text_columns(buf_str(&safe));
}

static size_t gap(size_t used, size_t columns) {
        return used + 2 < columns ? columns - used : 2;
}

void screen_step(struct screen *s, unsigned number, const char *title, enum screen_tone measure_tone,
                 struct str measure, struct str text) {
        _cleanup_(buf_done) struct buf out = buf_make(LINE_MAX_BYTES);

        begin_line(s, &out);
        buf_addf(&out, "%-*u", NUMBER_COLUMNS, number);
        add_toned(s, &out, SCREEN_STRONG, str_from(title));
        blanks(&out, gap(width(str_from(title)), TITLE_COLUMNS));
        text_add(&out, text);
        if (measure.n) {
                size_t edge = columns_of(s) < RIGHT_EDGE ? columns_of(s) : RIGHT_EDGE, taken = TEXT_AT + width(measure);

                blanks(&out, gap(width(text), edge > taken ? edge - taken : 0));
                add_toned(s, &out, measure_tone, measure);
        }
        end_line(s, &out);
}

void screen_row(struct screen *s, enum screen_tone tone, struct str first, struct str second, struct str third) {
        _cleanup_(buf_done) struct buf out = buf_make(LINE_MAX_BYTES);

        begin_line(s, &out);
        blanks(&out, NUMBER_COLUMNS);
        add_toned(s, &out, tone, first);
        blanks(&out, gap(width(first), FIRST_COLUMNS));
        add_toned(s, &out, tone, second);
        blanks(&out, gap(width(second), SECOND_COLUMNS));
        add_toned(s, &out, tone, third);
        end_line(s, &out);
}

void screen_waiting(struct screen *s, const char *what, int64_t since_ms) {
        static const char *const frames[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧" };
        _cleanup_(buf_done) struct buf out = buf_make(LINE_MAX_BYTES), text = buf_make(LINE_MAX_BYTES);

        if (!s->terminal || since_ms < 2 * (int64_t)FRAME_MS)
                return;
        buf_addf(&text, "%s %s", frames[(size_t)(since_ms / FRAME_MS) % ARRAY_LEN(frames)], what);
        if (since_ms >= 1000)
                buf_addf(&text, "  %" PRId64 " s", since_ms / 1000);
        if (TEXT_AT + text_columns(buf_str(&text)) >= columns_of(s)) /* what wraps cannot be taken back */
                return;
        begin_line(s, &out);
        blanks(&out, TEXT_AT);
        add_toned(s, &out, SCREEN_QUIET, buf_str(&text));
        put(s, &out);
        s->moving = true;
}

void screen_free(struct screen *s) {
        _cleanup_(buf_done) struct buf out = buf_make(16);

        if (!s)
                return;
        begin_line(s, &out);
        put(s, &out);
        free(s);
}

void screen_add_time(struct buf *out, int64_t ms) {
        if (ms < 1)
                buf_addc(out, "under 1 ms");
        else if (ms < 1000)
                buf_addf(out, "%" PRId64 " ms", ms);
        else
                buf_addf(out, "%.1f s", (double)ms / 1000);
}
