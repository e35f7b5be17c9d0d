/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/scan.h"

#include <string.h>

#include "base/json.h"

static void skip_blanks(struct scan *s) {
        while (s->p < s->end && strchr(" \t\r\n", *s->p))
                s->p++;
}

static void skip_string(struct scan *s) {
        for (s->p++; s->p < s->end && *s->p != '"'; s->p++)
                if (*s->p == '\\')
                        s->p++;
        s->p++;
}

char scan_next(struct scan *s) {
        while (s->p < s->end && strchr(" \t\r\n,", *s->p))
                s->p++;
        return s->p < s->end ? *s->p : '\0';
}

void scan_bracket(struct scan *s) {
        s->p++;
}

struct str scan_key(struct scan *s, struct arena *a) {
        const struct value *v = NULL;
        struct str text = { s->p, 0 };

        skip_string(s);
        text.n = (size_t)(s->p - text.p);
        skip_blanks(s);
        s->p++; /* ':' */
        if (!memchr(text.p, '\\', text.n))
                return str_sub(text, 1, text.n - 1);
        json_parse(text, a, &v, NULL);
        return value_text(v);
}

/* A string, a bracket or comma, or a number or word. */
static void skip_token(struct scan *s) {
        if (*s->p == '"')
                skip_string(s);
        else if (strchr("{}[],:", *s->p))
                s->p++;
        else
                while (s->p < s->end && !strchr("{}[],: \t\r\n\"", *s->p))
                        s->p++;
}

struct str scan_value(struct scan *s) {
        size_t depth = 0;

        skip_blanks(s);
        const char *from = s->p;

        do {
                skip_blanks(s);
                if (s->p >= s->end)
                        break;
                depth += *s->p == '{' || *s->p == '[';
                depth -= *s->p == '}' || *s->p == ']';
                skip_token(s);
        } while (depth > 0);
        return (struct str){ from, (size_t)(s->p - from) };
}
