/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <time.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/log_impl.h"

/* A line that grows beyond this is cut at its last whole pair: it must go out with one write(). */
#define LINE_MAX_BYTES (64 * KIB)
/* One value; the rest of a longer one is cut with "…". */
#define VALUE_MAX_BYTES (8 * KIB)

/* Lines whose repetition is watched. Two that meet in one slot displace each other: then both are just written. */
#define LIMITED_SLOTS 256

static const char *const level_names[] = { "debug", "info", "warn", "error" };

static enum log_level least_level = LOG_INFO;
static enum log_format line_format = LOG_TEXT;
static int line_fd = 2;

/* One line's last writing, by the hash of its module, message and first pair. */
struct slot {
        uint64_t hash; /* 0: free */
        int64_t written_s;
        unsigned dropped;
};

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot slots[LIMITED_SLOTS];

void log_init(enum log_level least, enum log_format format, int fd) {
        least_level = least;
        line_format = format;
        line_fd = fd;
        pthread_mutex_lock(&slots_lock);
        memset(slots, 0, sizeof slots);
        pthread_mutex_unlock(&slots_lock);
}

bool log_is_on(enum log_level level) {
        return level >= least_level;
}

bool log_level_from(struct str name, enum log_level *ret_level) {
        for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
                if (!str_eqc(name, level_names[i]))
                        continue;
                *ret_level = (enum log_level)i;
                return true;
        }
        return false;
}

/* ---- values ---- */

/* How many bytes of `s` from `at` make one well-formed UTF-8 character (RFC 3629); 0 when they make none. */
static size_t utf8_length(struct str s, size_t at) {
        for (size_t n = 1; n <= 4 && at + n <= s.n; n++)
                if (str_is_utf8(str_sub(s, at, at + n)))
                        return n;
        return 0;
}

/* Bytes below 0x20 and DEL, in the notation that both formats share. */
static void add_control(struct buf *b, unsigned char c) {
        switch (c) {
        case '\n':
                buf_addc(b, "\\n");
                break;
        case '\r':
                buf_addc(b, "\\r");
                break;
        case '\t':
                buf_addc(b, "\\t");
                break;
        default:
                buf_addf(b, "\\u%04x", c);
        }
}

/* Between quotes, as JSON has it (RFC 8259 §7); bytes that are no UTF-8 become U+FFFD. */
static void add_quoted(struct buf *b, struct str s) {
        buf_addch(b, '"');
        for (size_t i = 0; i < s.n;) {
                unsigned char c = (unsigned char)s.p[i];
                size_t n = utf8_length(s, i);

                if (c == '"' || c == '\\')
                        buf_addf(b, "\\%c", c);
                else if (c < 0x20 || c == 0x7f)
                        add_control(b, c);
                else if (n == 0)
                        buf_addc(b, "\xef\xbf\xbd");
                else
                        buf_add(b, str_sub(s, i, i + n));
                i += n ? n : 1;
        }
        buf_addch(b, '"');
}

/* May it stand without quotes in a text line? */
static bool is_plain(struct str s) {
        if (s.n == 0 || !str_is_utf8(s))
                return false;
        for (size_t i = 0; i < s.n; i++) {
                unsigned char c = (unsigned char)s.p[i];

                if (c <= ' ' || c == 0x7f || c == '"' || c == '\\' || c == '=')
                        return false;
        }
        return true;
}

static void add_value(struct buf *b, struct str s) {
        if (line_format == LOG_TEXT && is_plain(s))
                buf_add(b, s);
        else
                add_quoted(b, s);
}

/* At most VALUE_MAX_BYTES of `value`, whole characters; `room` holds the copy of one that had to be cut. */
static struct str bounded(const char *value, struct buf *room) {
        struct str v = str_from(value);

        if (v.n <= VALUE_MAX_BYTES)
                return v;
        v.n = VALUE_MAX_BYTES;
        while (v.n > 0 && ((unsigned char)value[v.n] & 0xc0) == 0x80)
                v.n--;
        buf_add(room, v);
        buf_addc(room, "\xe2\x80\xa6");
        return buf_str(room);
}

/* A pair that does not fit is left out as a whole, and so are those behind it. */
static void add_pair(struct buf *line, const char *key, const char *value) {
        _cleanup_(buf_done) struct buf pair = buf_make(LINE_MAX_BYTES), room = buf_make(VALUE_MAX_BYTES + 3);

        if (line_format == LOG_JSON) {
                buf_addch(&pair, ',');
                add_quoted(&pair, str_from(key));
                buf_addch(&pair, ':');
        } else {
                buf_addf(&pair, " %s=", key);
        }
        add_value(&pair, bounded(value, &room));
        buf_add(line, buf_str(&pair));
}

/* ---- lines ---- */

static void add_time(struct buf *b) {
        struct timespec ts;
        struct tm tm;

        clock_gettime(CLOCK_REALTIME, &ts);
        gmtime_r(&ts.tv_sec, &tm);
        buf_addf(b, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                 tm.tm_min, tm.tm_sec, (int)(ts.tv_nsec / 1000000));
}

static void begin_line(struct buf *b, enum log_level level, const char *module, const char *msg) {
        if (line_format == LOG_JSON) {
                buf_addc(b, "{\"time\":\"");
                add_time(b);
                buf_addf(b, "\",\"level\":\"%s\",\"module\":", level_names[level]);
                add_quoted(b, str_from(module));
                buf_addc(b, ",\"msg\":");
        } else {
                add_time(b);
                buf_addf(b, " %s %s msg=", level_names[level], module);
        }
        add_quoted(b, str_sub(str_from(msg), 0, VALUE_MAX_BYTES));
}

static void end_line(struct buf *b) {
        const char *end = line_format == LOG_JSON ? "}\n" : "\n";

        /* The maximum left room for this. */
        b->overflow = false;
        b->max += 2;
        buf_addc(b, end);
        /* Where the log cannot be written there is nowhere to say so. */
        while (write(line_fd, b->p, b->n) < 0 && errno == EINTR)
                ;
}

static void write_line(enum log_level level, const char *module, const char *msg, unsigned repeated, va_list pairs) {
        _cleanup_(buf_done) struct buf b = buf_make(LINE_MAX_BYTES - 2);
        const char *key;
        char number[16];

        begin_line(&b, level, module, msg);
        while ((key = va_arg(pairs, const char *)) && !b.overflow)
                add_pair(&b, key, va_arg(pairs, const char *));
        snprintf(number, sizeof number, "%u", repeated);
        if (repeated > 0)
                add_pair(&b, "repeated", number);
        end_line(&b);
}

void log_event(enum log_level level, const char *module, const char *msg, ...) {
        va_list pairs;

        if (!log_is_on(level))
                return;
        va_start(pairs, msg);
        write_line(level, module, msg, 0, pairs);
        va_end(pairs);
}

/* ---- limited lines ---- */

static void add_field(struct buf *b, const char *field) {
        buf_addc(b, field ? field : "");
        buf_addch(b, '\0');
}

static uint64_t hash_of(const char *module, const char *msg, va_list pairs) {
        static const struct hash_key key = { 1, 2 }; /* what is logged comes from us: nobody picks collisions */
        _cleanup_(buf_done) struct buf b = buf_make(LINE_MAX_BYTES);
        const char *first_key = va_arg(pairs, const char *);

        add_field(&b, module);
        add_field(&b, msg);
        if (first_key) {
                add_field(&b, first_key);
                add_field(&b, va_arg(pairs, const char *));
        }
        return hash64(&key, buf_str(&b)) | 1; /* 0 marks a free slot */
}

bool log_pass(uint64_t hash, int64_t now_s, unsigned *ret_repeated) {
        struct slot *s = &slots[hash / 2 % LIMITED_SLOTS];
        bool may = true;

        *ret_repeated = 0;
        pthread_mutex_lock(&slots_lock);
        if (s->hash == hash) {
                may = now_s - s->written_s >= LOG_LIMITED_EVERY_S;
                *ret_repeated = s->dropped;
        }
        if (may)
                *s = (struct slot){ .hash = hash, .written_s = now_s };
        else
                s->dropped++;
        pthread_mutex_unlock(&slots_lock);
        return may;
}

void log_event_limited(enum log_level level, const char *module, const char *msg, ...) {
        struct timespec now;
        unsigned repeated;
        va_list pairs;

        if (!log_is_on(level))
                return;
        va_start(pairs, msg);
        uint64_t hash = hash_of(module, msg, pairs);
        va_end(pairs);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (!log_pass(hash, now.tv_sec, &repeated))
                return;

        va_start(pairs, msg);
        write_line(level, module, msg, repeated, pairs);
        va_end(pairs);
}
