/* SPDX-License-Identifier: Apache-2.0 */
#include "git/url.h"

#include "base/buf.h"

#define HTTP_PORT 80
#define HTTPS_PORT 443
#define SHOWN_MAX_BYTES 300

static const struct scheme {
        struct str prefix;
        enum git_url_scheme scheme;
        uint16_t port;
} schemes[] = {
        { { "http://", 7 }, GIT_URL_HTTP, HTTP_PORT },
        { { "https://", 8 }, GIT_URL_HTTPS, HTTPS_PORT },
        { { "file://", 7 }, GIT_URL_FILE, 0 },
};

static char ascii_lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_alnum(char c) {
        c = ascii_lower(c);
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static int hex_digit(char c) {
        c = ascii_lower(c);
        if (c >= '0' && c <= '9')
                return c - '0';
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Schemes are compared without case (RFC 3986, 3.1). */
static bool starts_nocase(struct str s, struct str prefix) {
        if (s.n < prefix.n)
                return false;
        for (size_t i = 0; i < prefix.n; i++) {
                if (ascii_lower(s.p[i]) != prefix.p[i])
                        return false;
        }
        return true;
}

static struct str lower(struct arena *a, struct str s) {
        char *p = arena_alloc(a, s.n + 1);

        for (size_t i = 0; i < s.n; i++)
                p[i] = ascii_lower(s.p[i]);
        p[s.n] = '\0';
        return (struct str){ p, s.n };
}

static ptrdiff_t find_last(struct str s, char c) {
        for (size_t i = s.n; i > 0; i--) {
                if (s.p[i - 1] == c)
                        return (ptrdiff_t)i - 1;
        }
        return -1;
}

/* Where "://" begins, when the text before it looks like a scheme. */
static ptrdiff_t scheme_end(struct str s) {
        ptrdiff_t colon = str_find(s, ':', 0);

        if (colon <= 0 || !str_starts(str_sub(s, (size_t)colon, s.n), STR("://")))
                return -1;
        for (ptrdiff_t i = 0; i < colon; i++) {
                if (!is_alnum(s.p[i]) && s.p[i] != '+' && s.p[i] != '-' && s.p[i] != '.')
                        return -1;
        }
        return colon;
}

/* "user@host:path" and "host:path": a colon before the first slash, as git reads it. */
static bool is_scp_like(struct str s) {
        ptrdiff_t colon = str_find(s, ':', 0), slash = str_find(s, '/', 0);

        return colon > 0 && (slash < 0 || colon < slash);
}

static void add_visible(struct buf *b, struct str s) {
        bool utf8 = str_is_utf8(s);

        for (size_t i = 0; i < s.n; i++) {
                unsigned char c = (unsigned char)s.p[i];

                if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
                        buf_addf(b, "\\x%02x", c);
                else
                        buf_addch(b, (char)c);
        }
}

struct str git_url_redact(struct str text, struct arena *a) {
        _cleanup_(buf_done) struct buf b = buf_make(4 * SHOWN_MAX_BYTES + 64);
        ptrdiff_t scheme = scheme_end(text);
        size_t from = scheme < 0 ? 0 : (size_t)scheme + 3;
        ptrdiff_t slash = str_find(text, '/', from);
        size_t authority_end = slash < 0 ? text.n : (size_t)slash;
        ptrdiff_t at = find_last(str_sub(text, 0, authority_end), '@');

        /* A password may hold a raw "/": then the last "@" of the whole text is the one that counts. */
        if (scheme >= 0 && at < (ptrdiff_t)from)
                at = find_last(text, '@');
        if (at >= (ptrdiff_t)from && (scheme >= 0 || is_scp_like(text))) {
                add_visible(&b, str_sub(text, 0, from));
                buf_addc(&b, "***@");
                from = (size_t)at + 1;
        } else {
                from = 0;
        }
        /* Some hosts take tokens as a query; a text without a scheme may be a path. */
        ptrdiff_t query = scheme < 0 ? -1 : str_find(text, '?', from);
        if (query >= 0)
                text.n = (size_t)query;
        bool cut = text.n - from > SHOWN_MAX_BYTES;
        add_visible(&b, str_sub(text, from, from + SHOWN_MAX_BYTES));
        if (cut)
                buf_addc(&b, "\xe2\x80\xa6");
        else if (query >= 0)
                buf_addc(&b, "?***");
        return arena_str(a, buf_str(&b));
}

static int refuse(struct str text, struct arena *a, enum err_code code, const char *why, struct err *err) {
        struct str shown = git_url_redact(text, a);

        return err_set(err, code, "repository URL \"%.*s\": %s", STR_FMT(shown), why);
}

/* Decodes %XX; false on a malformed escape or a NUL. */
static bool percent_decode(struct arena *a, struct str s, struct str *ret) {
        char *p = arena_alloc(a, s.n + 1);
        size_t n = 0;

        for (size_t i = 0; i < s.n; i++) {
                if (s.p[i] != '%') {
                        p[n++] = s.p[i];
                        continue;
                }
                bool whole = i + 2 < s.n;
                int hi = whole ? hex_digit(s.p[i + 1]) : -1, lo = whole ? hex_digit(s.p[i + 2]) : -1;
                if (hi < 0 || lo < 0 || hi + lo == 0)
                        return false;
                p[n++] = (char)(hi << 4 | lo);
                i += 2;
        }
        p[n] = '\0';
        *ret = (struct str){ p, n };
        return true;
}

static struct str trim_slashes(struct str s) {
        while (s.n > 0 && s.p[s.n - 1] == '/')
                s.n--;
        return s;
}

static bool has_dotdot(struct str path) {
        struct str part;

        while (str_next(&path, '/', &part)) {
                if (str_eq(part, STR("..")))
                        return true;
        }
        return false;
}

static bool is_plain_text(struct str s) {
        for (size_t i = 0; i < s.n; i++) {
                unsigned char c = (unsigned char)s.p[i];

                if (c <= 0x20 || c == 0x7f)
                        return false;
        }
        return str_is_utf8(s);
}

static const char *parse_file(struct str path, struct arena *a, struct git_url *u) {
        if (path.n == 0 || str_find(path, '\0', 0) >= 0)
                return "names no path";
        u->scheme = GIT_URL_FILE;
        u->path = path.n > 1 ? trim_slashes(path) : path;
        if (u->path.n == 0)
                u->path = STR("/");
        u->path = arena_str(a, u->path);
        u->text = u->path.p[0] == '/' ? arena_strf(a, "file://%.*s", STR_FMT(u->path)) : u->path;
        return NULL;
}

static const char *parse_userinfo(struct str userinfo, struct arena *a, struct git_url *u) {
        ptrdiff_t colon = str_find(userinfo, ':', 0);
        size_t user_end = colon < 0 ? userinfo.n : (size_t)colon;

        if (!percent_decode(a, str_sub(userinfo, 0, user_end), &u->username))
                return "its user name has a malformed % escape";
        if (!percent_decode(a, colon < 0 ? STR("") : str_sub(userinfo, user_end + 1, userinfo.n), &u->password))
                return "its password has a malformed % escape";
        return NULL;
}

static const char *check_host(struct str host, bool ipv6) {
        if (host.n == 0)
                return "names no host";
        if (host.p[0] == '-')
                return "its host begins with \"-\"";
        for (size_t i = 0; i < host.n; i++) {
                char c = host.p[i];
                bool ok = ipv6 ? hex_digit(c) >= 0 || c == ':' || c == '.'
                               : is_alnum(c) || c == '-' || c == '.' || c == '_';

                if (!ok)
                        return "its host holds a character that no host has (write other scripts as punycode)";
        }
        return NULL;
}

static const char *parse_port(struct str port, struct git_url *u) {
        uint64_t number;

        if (port.n == 0)
                return NULL;
        if (!str_to_u64(port, &number) || number == 0 || number > UINT16_MAX)
                return "its port is no number from 1 to 65535";
        u->port = (uint16_t)number;
        return NULL;
}

static const char *parse_authority(struct str authority, struct arena *a, struct git_url *u) {
        ptrdiff_t at = find_last(authority, '@');
        const char *why = NULL;

        if (at >= 0)
                why = parse_userinfo(str_sub(authority, 0, (size_t)at), a, u);
        if (why)
                return why;

        struct str rest = str_sub(authority, (size_t)(at + 1), authority.n);
        bool ipv6 = str_starts(rest, STR("["));
        ptrdiff_t end = ipv6 ? str_find(rest, ']', 0) : str_find(rest, ':', 0);
        if (ipv6 && end < 0)
                return "its host has no closing \"]\"";
        struct str host = end < 0 ? rest : str_sub(rest, ipv6 ? 1 : 0, (size_t)end);
        struct str tail = end < 0 ? STR("") : str_sub(rest, (size_t)end + (ipv6 ? 1 : 0), rest.n);

        if (tail.n > 0 && tail.p[0] != ':')
                return "its host is malformed";
        why = check_host(host, ipv6);
        if (why)
                return why;
        u->host = lower(a, host);
        return parse_port(str_sub(tail, 1, tail.n), u);
}

static const char *parse_http(struct str rest, const struct scheme *s, struct arena *a, struct git_url *u) {
        ptrdiff_t slash = str_find(rest, '/', 0);
        size_t authority_end = slash < 0 ? rest.n : (size_t)slash;
        struct str path = trim_slashes(str_sub(rest, authority_end, rest.n));
        const char *why;

        u->scheme = s->scheme;
        u->port = s->port;
        why = parse_authority(str_sub(rest, 0, authority_end), a, u);
        if (why)
                return why;
        if (path.n == 0)
                return "names no repository, only a host";
        if (str_find(path, '?', 0) >= 0 || str_find(path, '#', 0) >= 0)
                return "holds a query or fragment";
        /* "https://user:12/3@host/x": the password's own slash would make "user" the host. */
        if (str_find(path, '@', 0) >= 0 && u->port != s->port)
                return "holds \"@\" after a slash: write a \"/\" in a password as %2F and \"@\" in a path as %40";
        if (has_dotdot(path))
                return "its path holds \"..\"";

        u->path = arena_str(a, path);
        bool ipv6 = str_find(u->host, ':', 0) >= 0;
        struct str port = u->port == s->port ? STR("") : arena_strf(a, ":%u", u->port);
        u->text = arena_strf(a, "%.*s%s%.*s%s%.*s%.*s", STR_FMT(s->prefix), ipv6 ? "[" : "", STR_FMT(u->host),
                             ipv6 ? "]" : "", STR_FMT(port), STR_FMT(u->path));
        return NULL;
}

static int refuse_scheme(struct str text, ptrdiff_t scheme, struct arena *a, struct err *err) {
        if (scheme < 0 || starts_nocase(text, STR("ssh://")) || starts_nocase(text, STR("git+ssh://")) ||
            starts_nocase(text, STR("ssh+git://")))
                return refuse(text, a, ERR_UNSUPPORTED, "ssh is not supported yet: use the repository's https URL",
                              err);
        if (starts_nocase(text, STR("git://")))
                return refuse(text, a, ERR_UNSUPPORTED,
                              "the git protocol has neither encryption nor authentication: use https", err);
        return refuse(text, a, ERR_UNSUPPORTED, "unknown scheme: use https", err);
}

static int parse_scheme(struct str text, struct arena *a, struct git_url *u, struct err *err) {
        for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
                const struct scheme *s = &schemes[i];
                struct str rest = str_sub(text, s->prefix.n, text.n), path;
                const char *why;

                if (!starts_nocase(text, s->prefix))
                        continue;
                if (s->scheme != GIT_URL_FILE)
                        why = parse_http(rest, s, a, u);
                else if (!str_starts(rest, STR("/")))
                        why = "a file URL needs an absolute path (file:///…)";
                else if (!percent_decode(a, rest, &path))
                        why = "its path has a malformed % escape";
                else
                        why = parse_file(path, a, u);
                return why ? refuse(text, a, ERR_INVAL, why, err) : 0;
        }
        return refuse_scheme(text, scheme_end(text), a, err);
}

int git_url_parse(struct str text, struct arena *a, struct git_url *ret, struct err *err) {
        struct git_url u = { .host = STR(""), .username = STR(""), .password = STR("") };
        bool has_scheme = scheme_end(text) >= 0;
        const char *why = NULL;
        int r = 0;

        if (text.n == 0)
                return err_set(err, ERR_INVAL, "the repository URL is empty");
        if (text.n > GIT_URL_MAX_BYTES)
                return refuse(text, a, ERR_INVAL, "longer than 2048 bytes", err);
        if (text.p[0] == '-')
                return refuse(text, a, ERR_INVAL, "begins with \"-\"", err);
        if (has_scheme && !is_plain_text(text))
                return refuse(text, a, ERR_INVAL, "holds a blank, a control character or bytes that are no UTF-8", err);

        if (has_scheme)
                r = parse_scheme(text, a, &u, err);
        else if (is_scp_like(text))
                return refuse_scheme(text, -1, a, err);
        else
                why = parse_file(text, a, &u);
        if (why)
                return refuse(text, a, ERR_INVAL, why, err);
        if (r < 0)
                return r;
        *ret = u;
        return 0;
}

/* An IPv4 address in 127.0.0.0/8; "127.example.com" is somebody's name. */
static bool is_loopback_address(struct str host) {
        for (size_t i = 0; i < host.n; i++) {
                if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9'))
                        return false;
        }
        return str_starts(host, STR("127."));
}

bool git_url_is_loopback(const struct git_url *u) {
        return u->scheme == GIT_URL_FILE || str_eq(u->host, STR("localhost")) || str_eq(u->host, STR("::1")) ||
               is_loopback_address(u->host);
}

bool git_url_same_origin(const struct git_url *a, const struct git_url *b) {
        return a->scheme == b->scheme && a->port == b->port && str_eq(a->host, b->host);
}
