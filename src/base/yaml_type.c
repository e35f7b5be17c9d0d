/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/yaml_impl.h"

#define TAG_PREFIX "tag:yaml.org,2002:"

/* How a text may go on after its first character; decides what is tried at all. */
enum hint {
        HINT_NONE,
        HINT_WORD,
        HINT_NUMBER,
};

struct word {
        const char *text;
        struct yaml_typed typed;
};

#define WORD_MAX_BYTES 5 /* the longest of the words below */
#define TRUTH(value) { YAML_BOOL, { .boolean = (value) } }
#define REAL(value) { YAML_FLOAT, { .real = (value) } }

static const struct word words[] = {
        { "y", TRUTH(true) },           { "Y", TRUTH(true) },           { "yes", TRUTH(true) },
        { "Yes", TRUTH(true) },         { "YES", TRUTH(true) },         { "true", TRUTH(true) },
        { "True", TRUTH(true) },        { "TRUE", TRUTH(true) },        { "on", TRUTH(true) },
        { "On", TRUTH(true) },          { "ON", TRUTH(true) },          { "n", TRUTH(false) },
        { "N", TRUTH(false) },          { "no", TRUTH(false) },         { "No", TRUTH(false) },
        { "NO", TRUTH(false) },         { "false", TRUTH(false) },      { "False", TRUTH(false) },
        { "FALSE", TRUTH(false) },      { "off", TRUTH(false) },        { "Off", TRUTH(false) },
        { "OFF", TRUTH(false) },        { "", { YAML_NULL } },          { "~", { YAML_NULL } },
        { "null", { YAML_NULL } },      { "Null", { YAML_NULL } },      { "NULL", { YAML_NULL } },
        { ".nan", REAL(NAN) },          { ".NaN", REAL(NAN) },          { ".NAN", REAL(NAN) },
        { ".inf", REAL(INFINITY) },     { ".Inf", REAL(INFINITY) },     { ".INF", REAL(INFINITY) },
        { "+.inf", REAL(INFINITY) },    { "+.Inf", REAL(INFINITY) },    { "+.INF", REAL(INFINITY) },
        { "-.inf", REAL(-INFINITY) },   { "-.Inf", REAL(-INFINITY) },   { "-.INF", REAL(-INFINITY) },
};

static bool find_word(struct str text, struct yaml_typed *ret_typed) {
        for (size_t i = 0; text.n <= WORD_MAX_BYTES && i < ARRAY_LEN(words); i++) {
                if ((text.n == 0 || text.p[0] == words[i].text[0]) && str_eqc(text, words[i].text)) {
                        *ret_typed = words[i].typed;
                        return true;
                }
        }
        return false;
}

static enum hint hint_of(struct str text) {
        if (text.n == 0 || str_find(STR("yYnNtTfFoO~"), text.p[0], 0) >= 0)
                return HINT_WORD;
        return str_find(STR("+-.0123456789"), text.p[0], 0) >= 0 ? HINT_NUMBER : HINT_NONE;
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool skip(struct str *rest, const char *any_of) {
        if (rest->n == 0 || str_find(str_from(any_of), rest->p[0], 0) < 0)
                return false;
        *rest = str_sub(*rest, 1, rest->n);
        return true;
}

static size_t skip_digits(struct str *rest) {
        size_t n = 0;

        while (n < rest->n && is_digit(rest->p[n]))
                n++;
        *rest = str_sub(*rest, n, rest->n);
        return n;
}

/* 0x, 0o, 0b or a leading 0, which is dropped from *rest; otherwise 10. */
static unsigned skip_base(struct str *rest) {
        static const struct {
                const char *letter;
                unsigned base;
        } prefixes[] = { { "xX", 16 }, { "oO", 8 }, { "bB", 2 } };

        if (rest->n < 2 || rest->p[0] != '0')
                return 10;
        *rest = str_sub(*rest, 1, rest->n);
        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
                if (skip(rest, prefixes[i].letter))
                        return prefixes[i].base;
        }
        return 8;
}

static unsigned digit_of(char c) {
        if (is_digit(c))
                return (unsigned)(c - '0');
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : UINT32_MAX;
}

static bool parse_magnitude(struct str digits, unsigned base, uint64_t *ret_size) {
        uint64_t size = 0;

        if (digits.n == 0)
                return false;
        for (size_t i = 0; i < digits.n; i++) {
                unsigned digit = digit_of(digits.p[i]);

                if (digit >= base || __builtin_mul_overflow(size, base, &size) ||
                    __builtin_add_overflow(size, digit, &size))
                        return false;
        }
        *ret_size = size;
        return true;
}

static bool set_integer(uint64_t size, bool negative, struct yaml_typed *ret_typed) {
        if (negative && size > (uint64_t)INT64_MAX + 1)
                return false;
        if (negative)
                *ret_typed = (struct yaml_typed){ YAML_INT, { .i64 = (int64_t)(0 - size) } };
        else if (size <= INT64_MAX)
                *ret_typed = (struct yaml_typed){ YAML_INT, { .i64 = (int64_t)size } };
        else
                *ret_typed = (struct yaml_typed){ YAML_UINT, { .u64 = size } };
        return true;
}

/* Go's integer literals. A + is allowed only up to INT64_MAX: Go reads larger ones as unsigned, which have no sign. */
static bool parse_integer(struct str text, struct yaml_typed *ret_typed) {
        bool plus = text.n && text.p[0] == '+', negative = text.n && text.p[0] == '-';
        struct str rest = plus || negative ? str_sub(text, 1, text.n) : text;
        unsigned base = skip_base(&rest);
        uint64_t size;

        if (!parse_magnitude(rest, base, &size) || (plus && size > INT64_MAX))
                return false;
        return set_integer(size, negative, ret_typed);
}

/* An accident of the Go library that is part of its answers: the sign of a binary number may follow its prefix. */
static bool parse_signed_binary(struct str text, struct yaml_typed *ret_typed) {
        struct str rest = str_sub(text, 2, text.n);
        bool negative;
        uint64_t size;

        if (!str_starts(text, STR("0b")) || !rest.n || (rest.p[0] != '+' && rest.p[0] != '-'))
                return false;
        negative = rest.p[0] == '-';
        if (!parse_magnitude(str_sub(rest, 1, rest.n), 2, &size) || (!negative && size > INT64_MAX))
                return false;
        return set_integer(size, negative, ret_typed);
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float(struct str text) {
        size_t whole, fraction = 0;
        bool point;

        skip(&text, "+-");
        whole = skip_digits(&text);
        point = skip(&text, ".");
        if (point)
                fraction = skip_digits(&text);
        if (whole + fraction == 0)
                return false;
        if (skip(&text, "eE")) {
                skip(&text, "+-");
                if (skip_digits(&text) == 0)
                        return false;
        }
        return text.n == 0;
}

/* `text` ends in a NUL. A number too large for a double is text, as in Go. */
static bool parse_float(struct str text, struct yaml_typed *ret_typed) {
        double real;

        if (!is_float(text))
                return false;
        real = strtod(text.p, NULL);
        if (isinf(real))
                return false;
        *ret_typed = (struct yaml_typed){ YAML_FLOAT, { .real = real } };
        return true;
}

static struct str without_underscores(struct str text, struct arena *a) {
        char *out = arena_alloc(a, text.n + 1);
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] != '_')
                        out[n++] = text.p[i];
        }
        out[n] = '\0';
        return (struct str){ out, n };
}

/* Does each underscore stand between two digits? */
static bool has_tidy_underscores(struct str text) {
        for (size_t i = 0; i < text.n; i++) {
                if (text.p[i] != '_')
                        continue;
                if (i == 0 || i + 1 == text.n || !is_digit(text.p[i - 1]) || !is_digit(text.p[i + 1]))
                        return false;
        }
        return true;
}

/* Is there any character that no number has? Spares text like "1.2.3-rc" and dates the copy. */
static bool could_be_number(struct str text) {
        for (size_t i = 0; i < text.n; i++) {
                if (str_find(STR("0123456789abcdefABCDEFxXoO_+-."), text.p[i], 0) < 0)
                        return false;
        }
        return true;
}

static bool parse_number(struct str text, struct arena *a, struct yaml_typed *ret_typed) {
        if (!could_be_number(text))
                return false;

        /* Go drops underscores from what begins with a digit or a sign, but is strict about them after a point. */
        if (text.p[0] == '.')
                return has_tidy_underscores(text) && parse_float(without_underscores(text, a), ret_typed);

        struct str bare = without_underscores(text, a);
        return parse_integer(bare, ret_typed) || parse_float(bare, ret_typed) || parse_signed_binary(bare, ret_typed);
}

/* One or two digits between least and most. */
static bool skip_field(struct str *rest, unsigned least, unsigned most, unsigned *ret_field) {
        unsigned field = 0;
        size_t n = 0;

        while (n < 2 && n < rest->n && is_digit(rest->p[n]))
                field = field * 10 + (unsigned)(rest->p[n++] - '0');
        *rest = str_sub(*rest, n, rest->n);
        *ret_field = field;
        return n > 0 && field >= least && field <= most;
}

static unsigned days_in(unsigned year, unsigned month) {
        static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

        return days[month - 1] + (month == 2 && leap);
}

static bool skip_date(struct str *rest) {
        uint64_t year;
        unsigned month, day;

        if (!str_to_u64(str_sub(*rest, 0, 4), &year) || rest->n < 4)
                return false;
        *rest = str_sub(*rest, 4, rest->n);
        return skip(rest, "-") && skip_field(rest, 1, 12, &month) && skip(rest, "-") &&
               skip_field(rest, 1, 31, &day) && day <= days_in((unsigned)year, month);
}

static bool skip_clock(struct str *rest) {
        unsigned hour, minute, second;

        if (!skip_field(rest, 0, 23, &hour) || !skip(rest, ":") || !skip_field(rest, 0, 59, &minute) ||
            !skip(rest, ":") || !skip_field(rest, 0, 59, &second))
                return false;
        if (rest->n >= 2 && (rest->p[0] == '.' || rest->p[0] == ',') && is_digit(rest->p[1])) {
                skip(rest, ".,");
                skip_digits(rest);
        }
        return true;
}

/* Z or +hh:mm; Go lets 24 hours and 60 minutes pass. */
static bool skip_zone(struct str *rest) {
        unsigned hour, minute;

        if (skip(rest, "Z"))
                return true;
        return rest->n == 6 && rest->p[3] == ':' && skip(rest, "+-") && skip_field(rest, 0, 24, &hour) &&
               skip(rest, ":") && skip_field(rest, 0, 60, &minute);
}

/* The four formats of the Go library: a date, with T or t a clock and a zone, with blanks a clock without zone. */
static bool is_timestamp(struct str text) {
        if (!skip_date(&text))
                return false;
        if (text.n == 0)
                return true;
        if (skip(&text, "Tt"))
                return skip_clock(&text) && skip_zone(&text) && text.n == 0;
        if (!skip(&text, " "))
                return false;
        while (skip(&text, " "))
                ;
        return skip_clock(&text) && text.n == 0;
}

static const char *const type_names[] = { "null", "bool", "int", "int", "float", "str", "timestamp" };

static int wrong_tag(const char *wanted, enum yaml_type found, struct err *err) {
        return err_set(err, ERR_PARSE, "a scalar tagged !!%s is a !!%s", wanted, type_names[found]);
}

/* The type of a text that nothing forces to be a string; dates count only where the caller asks. */
static struct yaml_typed type_of(struct str text, bool dates, struct arena *a) {
        struct yaml_typed typed;
        enum hint hint = hint_of(text);

        if (hint != HINT_NONE && find_word(text, &typed))
                return typed;
        if (dates && hint == HINT_NUMBER && is_timestamp(text))
                return (struct yaml_typed){ YAML_TIMESTAMP, { .text = text } };
        if (hint == HINT_NUMBER && parse_number(text, a, &typed))
                return typed;
        return (struct yaml_typed){ YAML_TEXT, { .text = text } };
}

bool yaml_tag_is(struct str tag, const char *name) {
        return str_starts(tag, STR(TAG_PREFIX)) && str_eqc(str_sub(tag, strlen(TAG_PREFIX), tag.n), name);
}

static int sextet(char c) {
        static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = c ? strchr(alphabet, c) : NULL;

        return at ? (int)(at - alphabet) : -1;
}

/* RFC 4648 with padding; line breaks are skipped anywhere. Returns bytes written, or -1. */
static ptrdiff_t decode_base64(struct str text, char *out) {
        uint32_t bits = 0;
        size_t n = 0, quantum = 0, padding = 0;

        for (size_t i = 0; i < text.n; i++) {
                char c = text.p[i];

                if (c == '\n' || c == '\r')
                        continue;
                if (c == '=' && quantum % 4 >= 2) {
                        padding++;
                        quantum++;
                        bits <<= 6;
                } else if (padding || sextet(c) < 0) {
                        return -1;
                } else {
                        bits = bits << 6 | (uint32_t)sextet(c);
                        quantum++;
                }
                if (quantum % 4 == 0 && quantum) {
                        out[n++] = (char)(bits >> 16);
                        out[n++] = (char)(bits >> 8);
                        out[n++] = (char)bits;
                }
        }
        return quantum % 4 ? -1 : (ptrdiff_t)(n - padding);
}

static size_t utf8_valid_prefix(struct str s) {
        for (size_t n = 1; n <= 4 && n <= s.n; n++) {
                if (str_is_utf8(str_sub(s, 0, n)))
                        return n;
        }
        return 0;
}

/* Go's JSON encoder writes U+FFFD for each byte that is not UTF-8. */
static struct str as_json_text(struct str bytes, struct arena *a) {
        char *out = arena_alloc(a, bytes.n * 3 + 1);
        size_t n = 0;

        while (bytes.n) {
                size_t good = utf8_valid_prefix(bytes);

                memcpy(out + n, good ? bytes.p : "\xef\xbf\xbd", good ? good : 3);
                n += good ? good : 3;
                bytes = str_sub(bytes, good ? good : 1, bytes.n);
        }
        out[n] = '\0';
        return (struct str){ out, n };
}

static int type_binary(struct str text, struct arena *a, struct yaml_typed *ret_typed, struct err *err) {
        char *bytes = arena_alloc(a, text.n + 3);
        ptrdiff_t n = decode_base64(text, bytes);

        if (n < 0)
                return err_set(err, ERR_PARSE, "a scalar tagged !!binary is not base64");
        *ret_typed = (struct yaml_typed){ YAML_TEXT, { .text = as_json_text((struct str){ bytes, (size_t)n }, a) } };
        return 0;
}

/* Tags that the library checks against the text; every other tag leaves the text a string. */
static const struct {
        const char *name;
        enum yaml_type type;
} checked_tags[] = {
        { "null", YAML_NULL },   { "bool", YAML_BOOL },           { "int", YAML_INT },
        { "float", YAML_FLOAT }, { "timestamp", YAML_TIMESTAMP },
};

static int type_checked(struct str text, size_t tag, struct arena *a, struct yaml_typed *ret_typed, struct err *err) {
        enum yaml_type wanted = checked_tags[tag].type;
        struct yaml_typed typed = type_of(text, wanted == YAML_TIMESTAMP, a);

        if (wanted == YAML_FLOAT && typed.type == YAML_INT)
                typed = (struct yaml_typed){ YAML_FLOAT, { .real = (double)typed.i64 } };
        if (typed.type != wanted && !(wanted == YAML_INT && typed.type == YAML_UINT))
                return wrong_tag(checked_tags[tag].name, typed.type, err);
        *ret_typed = typed;
        return 0;
}

int yaml_type(struct str text, struct str tag, bool plain, struct arena *a, struct yaml_typed *ret_typed,
              struct err *err) {
        if (tag.n == 0 && plain) {
                *ret_typed = type_of(text, false, a);
                return 0;
        }
        for (size_t i = 0; i < ARRAY_LEN(checked_tags); i++) {
                if (yaml_tag_is(tag, checked_tags[i].name))
                        return type_checked(text, i, a, ret_typed, err);
        }
        if (yaml_tag_is(tag, "binary"))
                return type_binary(text, a, ret_typed, err);

        *ret_typed = (struct yaml_typed){ YAML_TEXT, { .text = text } };
        return 0;
}
