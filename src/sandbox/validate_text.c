/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for single texts: names, keys, ports. Each gives the API server's sentences for what is wrong. */
#include "sandbox/validate_impl.h"

#include <ctype.h>
#include <string.h>

#define LABEL_FMT      "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN_FMT  LABEL_FMT "(\\." LABEL_FMT ")*"
#define UNDERSCORE_FMT "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
#define KEY_FMT        "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

static void say(struct text_faults *f, struct str text) {
        if (f->count < TEXT_MAX_FAULTS)
                f->items[f->count++] = text;
}
#define SAY(f, literal) say((f), STR(literal))

static bool is_lower_alnum(char ch) {
        return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9');
}

static bool is_alnum(char ch) {
        return is_lower_alnum(ch) || (ch >= 'A' && ch <= 'Z');
}

static bool only(struct str s, bool (*letter)(char ch), const char *also) {
        for (size_t i = 0; i < s.n; i++)
                if (!letter(s.p[i]) && (!s.p[i] || !strchr(also, s.p[i])))
                        return false;
        return true;
}

static bool is_label(struct str s) {
        return s.n && is_lower_alnum(s.p[0]) && is_lower_alnum(s.p[s.n - 1]) && only(s, is_lower_alnum, "-");
}

static bool is_underscore_label(struct str s) {
        if (s.n && s.p[0] == '_')
                s = str_sub(s, 1, s.n);
        return s.n && is_lower_alnum(s.p[0]) && is_lower_alnum(s.p[s.n - 1]) && only(s, is_lower_alnum, "-_");
}

static bool is_dotted(struct str s, bool (*part)(struct str s)) {
        for (size_t from = 0;;) {
                ptrdiff_t dot = str_find(s, '.', from);
                size_t end = dot < 0 ? s.n : (size_t)dot;

                if (!part(str_sub(s, from, end)))
                        return false;
                if (dot < 0)
                        return true;
                from = end + 1;
        }
}

static void dns_label(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n > 63)
                SAY(f, "must be no more than 63 characters");
        if (is_label(s))
                return;
        if (is_dotted(s, is_label))
                SAY(f, "must not contain dots");
        else
                SAY(f, "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
                       "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
                       "validation is '" LABEL_FMT "')");
}

static void dns_1035_label(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n > 63)
                SAY(f, "must be no more than 63 characters");
        if (!is_label(s) || isdigit((unsigned char)s.p[0]))
                SAY(f, "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
                       "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
                       "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
}

#define SUBDOMAIN_TEXT                                                                                                 \
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "     \
        "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "              \
        "'" SUBDOMAIN_FMT "')"

static void dns_subdomain(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n > 253)
                SAY(f, "must be no more than 253 characters");
        if (!is_dotted(s, is_label))
                SAY(f, SUBDOMAIN_TEXT);
}

static void dns_subdomain_underscore(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n > 253)
                SAY(f, "must be no more than 253 characters");
        if (!is_dotted(s, is_underscore_label))
                SAY(f, "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or "
                       "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
                       "validation is '" UNDERSCORE_FMT "(\\." UNDERSCORE_FMT ")*')");
}

static void wildcard_subdomain(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n > 253)
                SAY(f, "must be no more than 253 characters");
        if (!str_starts(s, STR("*.")) || !is_dotted(str_sub(s, 2, s.n), is_label))
                SAY(f, "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
                       "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
                       "character (e.g. '*.example.com', regex used for validation is '\\*\\." SUBDOMAIN_FMT "')");
}

static bool is_key_name(struct str s) {
        return s.n && is_alnum(s.p[0]) && is_alnum(s.p[s.n - 1]) && only(s, is_alnum, "-_.");
}

#define KEY_TEXT                                                                                                       \
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "       \
        "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" KEY_FMT "')"

static void label_prefix(struct str prefix, struct text_faults *f) {
        if (!prefix.n) {
                SAY(f, "prefix part must be non-empty");
                return;
        }
        if (prefix.n > 253)
                SAY(f, "prefix part must be no more than 253 bytes");
        if (!is_dotted(prefix, is_label))
                SAY(f, "prefix part " SUBDOMAIN_TEXT);
}

static void label_key(struct str s, struct text_faults *f, struct arena *a) {
        ptrdiff_t slash = str_find(s, '/', 0);
        struct str name = slash < 0 ? s : str_sub(s, (size_t)slash + 1, s.n);

        (void)a;
        if (slash >= 0 && str_find(name, '/', 0) >= 0) {
                SAY(f, "a valid label key " KEY_TEXT
                       " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
                return;
        }
        if (slash >= 0)
                label_prefix(str_sub(s, 0, (size_t)slash), f);
        if (!name.n)
                SAY(f, "name part must be non-empty");
        else if (name.n > 63)
                SAY(f, "name part must be no more than 63 bytes");
        if (!is_key_name(name))
                SAY(f, "name part " KEY_TEXT);
}

static void label_value(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n > 63)
                SAY(f, "must be no more than 63 bytes");
        if (s.n && !is_key_name(s))
                SAY(f, "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
                       "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
                       "'12345', regex used for validation is '(" KEY_FMT ")?')");
}

static bool has_letter(struct str s) {
        for (size_t i = 0; i < s.n; i++)
                if (s.p[i] >= 'a' && s.p[i] <= 'z')
                        return true;
        return false;
}

static void port_name(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n > 15)
                SAY(f, "must be no more than 15 characters");
        if (!s.n || !only(s, is_lower_alnum, "-"))
                SAY(f, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
        if (!has_letter(s))
                SAY(f, "must contain at least one letter (a-z)");
        if (str_contains(s, STR("--")))
                SAY(f, "must not contain consecutive hyphens");
        if (s.n && (s.p[0] == '-' || s.p[s.n - 1] == '-'))
                SAY(f, "must not begin or end with a hyphen");
}

static bool is_digit(char ch) {
        return ch >= '0' && ch <= '9';
}

static void percent(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n < 2 || s.p[s.n - 1] != '%' || !only(str_sub(s, 0, s.n - 1), is_digit, ""))
                SAY(f, "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
                       "'93%', regex used for validation is '[0-9]+%')");
}

static void header_name(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (!s.n || !only(s, is_alnum, "-"))
                SAY(f, "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
                       "regex used for validation is '[-A-Za-z0-9]+')");
}

/* The relaxed rule: on by default since 1.34. */
static void env_name(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        for (size_t i = 0; i < s.n; i++)
                if (s.p[i] < 0x20 || s.p[i] > 0x7e || s.p[i] == '=') {
                        SAY(f,
                            "a valid environment variable name must consist only of printable ASCII characters other "
                            "than '='");
                        return;
                }
}

static void config_key(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (s.n > 253)
                SAY(f, "must be no more than 253 characters");
        if (!s.n || !only(s, is_alnum, "-_."))
                SAY(f, "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  "
                       "or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')");
        if (str_eqc(s, "."))
                SAY(f, "must not be '.'");
        else if (str_eqc(s, ".."))
                SAY(f, "must not be '..'");
        else if (str_starts(s, STR("..")))
                SAY(f, "must not start with '..'");
}

static void path_prefix(struct str s, struct text_faults *f, struct arena *a) {
        (void)a;
        if (str_find(s, '/', 0) >= 0)
                SAY(f, "may not contain '/'");
        if (str_find(s, '%', 0) >= 0)
                SAY(f, "may not contain '%'");
}

static void path_segment(struct str s, struct text_faults *f, struct arena *a) {
        if (str_eqc(s, ".") || str_eqc(s, ".."))
                say(f, arena_strf(a, "may not be '%.*s'", STR_FMT(s)));
        else
                path_prefix(s, f, a);
}

static void decimal(struct str s, struct text_faults *f, struct arena *a) {
        struct str digits = s.n && s.p[0] == '-' ? str_sub(s, 1, s.n) : s;

        (void)a;
        if (!s.n)
                SAY(f, "must be non-empty");
        else if (!str_eqc(s, "0") && (!digits.n || digits.p[0] == '0' || !only(digits, is_digit, "")))
                SAY(f, "must be a valid decimal integer in canonical form");
}

struct text_faults text_faults(enum text_rule rule, struct str s, struct arena *a) {
        static void (*const rules[])(struct str s, struct text_faults * f, struct arena * a) = {
                [TEXT_DNS_LABEL] = dns_label,
                [TEXT_DNS_1035_LABEL] = dns_1035_label,
                [TEXT_DNS_SUBDOMAIN] = dns_subdomain,
                [TEXT_DNS_SUBDOMAIN_UNDERSCORE] = dns_subdomain_underscore,
                [TEXT_WILDCARD_SUBDOMAIN] = wildcard_subdomain,
                [TEXT_LABEL_KEY] = label_key,
                [TEXT_LABEL_VALUE] = label_value,
                [TEXT_PORT_NAME] = port_name,
                [TEXT_PERCENT] = percent,
                [TEXT_HEADER_NAME] = header_name,
                [TEXT_ENV_NAME] = env_name,
                [TEXT_CONFIG_KEY] = config_key,
                [TEXT_PATH_SEGMENT] = path_segment,
                [TEXT_PATH_PREFIX] = path_prefix,
                [TEXT_DECIMAL] = decimal,
        };
        struct text_faults f = { .count = 0 };

        rules[rule](s, &f, a);
        return f;
}

bool text_keeps(enum text_rule rule, struct str s) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);

        return text_faults(rule, s, a).count == 0;
}

void check_text(struct check *c, const struct at *at, enum text_rule rule, struct str s) {
        struct text_faults f = text_faults(rule, s, c->a);

        for (size_t i = 0; i < f.count; i++)
                fault_invalid_str(c, at, s, f.items[i].p);
}

struct str text_lower(struct str s, struct arena *a) {
        struct str copy = arena_str(a, s);

        for (char *p = (char *)copy.p; p < copy.p + copy.n; p++)
                if (*p >= 'A' && *p <= 'Z')
                        *p = (char)(*p - 'A' + 'a');
        return copy;
}

struct str text_joined(const struct text_faults *f, const char *separator, struct arena *a) {
        struct str all = STR("");

        for (size_t i = 0; i < f->count; i++)
                all = arena_strf(a, "%.*s%s%.*s", STR_FMT(all), i ? separator : "", STR_FMT(f->items[i]));
        return all;
}

void check_text_joined(struct check *c, const struct at *at, enum text_rule rule, struct str s, const char *separator) {
        struct text_faults f = text_faults(rule, s, c->a);

        if (f.count)
                fault_invalid_str(c, at, s, text_joined(&f, separator, c->a).p);
}

struct str text_mask_prefix(struct str s, struct arena *a) {
        if (s.n < 2 || s.p[s.n - 1] != '-')
                return s;
        return arena_strf(a, "%.*sa", (int)(s.n - 2), s.p);
}

static bool is_path_letter(char ch) {
        return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
               str_find(STR("/-._~%!$&'()*+,;=:"), ch, 0) >= 0;
}

void check_prefixed_path(struct check *c, const struct at *at, struct str s) {
        ptrdiff_t slash = str_find(s, '/', 0);
        struct str rest;

        if (!s.n) {
                fault_required(c, at, "");
                return;
        }
        if (slash <= 0 || (size_t)slash + 1 == s.n) {
                fault_invalid_str(c, at, s, "must be a domain-prefixed path (such as \"acme.io/foo\")");
                return;
        }
        check_text(c, at, TEXT_DNS_SUBDOMAIN, str_sub(s, 0, (size_t)slash));
        rest = str_sub(s, (size_t)slash + 1, s.n);
        for (size_t i = 0; i < rest.n; i++)
                if (!is_path_letter(rest.p[i])) {
                        fault_invalid_str(c, at, rest,
                                          "Invalid path (regex used for validation is "
                                          "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
                        return;
                }
}
