/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/skim_impl.h"

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_blanks(struct str json, size_t at) {
        while (at < json.n && is_blank(json.p[at]))
                at++;
        return at;
}

/* From an opening quote to just behind the closing one; 0 when there is none. */
static size_t skip_string(struct str json, size_t at) {
        for (at++; at < json.n; at++) {
                if (json.p[at] == '\\')
                        at++;
                else if (json.p[at] == '"')
                        return at + 1;
        }
        return 0;
}

/* From a value's first byte to the comma or bracket that ends it; 0 when the text ends inside. */
static size_t skip_value(struct str json, size_t at) {
        size_t depth = 0;

        while (at < json.n) {
                char c = json.p[at];

                if (c == '"') {
                        at = skip_string(json, at);
                        if (at == 0)
                                return 0;
                        continue;
                }
                if (depth == 0 && (c == ',' || c == '}' || c == ']'))
                        return at;
                if (c == '{' || c == '[')
                        depth++;
                else if (c == '}' || c == ']')
                        depth--;
                at++;
        }
        return 0;
}

bool skim_member(struct str json, struct str key, struct str *ret_raw) {
        size_t at = skip_blanks(json, 0);

        if (at >= json.n || json.p[at] != '{')
                return false;

        for (at = skip_blanks(json, at + 1); at < json.n && json.p[at] == '"'; at = skip_blanks(json, at + 1)) {
                size_t key_end = skip_string(json, at);
                size_t colon = key_end ? skip_blanks(json, key_end) : json.n;
                if (colon >= json.n || json.p[colon] != ':')
                        return false;

                size_t end = skip_value(json, colon + 1);
                if (end == 0)
                        return false;
                if (str_eq(str_sub(json, at + 1, key_end - 1), key)) {
                        *ret_raw = str_trim(str_sub(json, colon + 1, end));
                        return true;
                }
                if (json.p[end] != ',')
                        return false;
                at = end;
        }
        return false;
}

/* Escapes are not read here, and control characters are no JSON. */
static bool is_plain(struct str text) {
        for (size_t i = 0; i < text.n; i++)
                if (text.p[i] == '\\' || text.p[i] == '"' || (unsigned char)text.p[i] < 0x20)
                        return false;
        return true;
}

bool skim_string(struct str json, struct str key, struct str *ret_text) {
        struct str raw;

        if (!skim_member(json, key, &raw) || raw.n < 2 || raw.p[0] != '"' || raw.p[raw.n - 1] != '"')
                return false;

        struct str text = str_sub(raw, 1, raw.n - 1);
        if (!is_plain(text))
                return false;
        *ret_text = text;
        return true;
}
