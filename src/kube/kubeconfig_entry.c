/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of a kubeconfig, turned into a kube_config: servers, certificates, credentials, impersonation.
 */
#include <curl/curl.h>

#include "base/limits.h"
#include "kube/kubeconfig_impl.h"

uint32_t kubeconfig_line(const struct kubeconfig_entry *entry, const char *key) {
        const struct value_member *m = value_member_find(entry->fields, str_from(key));

        return m && m->line ? m->line : entry->line;
}

int kubeconfig_text(const struct kubeconfig_entry *entry, const char *key, struct str *ret_text, struct err *err) {
        const struct value *v = value_getc(entry->fields, key);

        if (v && !value_is(v, VALUE_STRING) && !value_is(v, VALUE_NULL))
                return err_set(err, ERR_INVAL, "%s:%u: %s must be a string", entry->path, kubeconfig_line(entry, key),
                               key);
        *ret_text = value_text(v);
        return 0;
}

static int read_flag(const struct kubeconfig_entry *entry, const char *key, bool *ret_flag, struct err *err) {
        const struct value *v = value_getc(entry->fields, key);

        if (v && !value_is(v, VALUE_BOOL) && !value_is(v, VALUE_NULL))
                return err_set(err, ERR_INVAL, "%s:%u: %s must be true or false", entry->path,
                               kubeconfig_line(entry, key), key);
        *ret_flag = value_truth(v, false);
        return 0;
}

static bool is_known(struct str key, const char *const *known) {
        for (; *known; known++)
                if (str_eqc(key, *known))
                        return true;
        return false;
}

void kubeconfig_warn_unknown(struct kube_config *config, const struct kubeconfig_entry *entry,
                             const char *const *known) {
        if (!value_is(entry->fields, VALUE_MAP))
                return;
        for (size_t i = 0; i < entry->fields->map.count; i++) {
                const struct value_member *m = &entry->fields->map.members[i];

                if (!is_known(m->key, known))
                        kubeconfig_warn(config, "%s:%u: unknown key \"%.*s\" in %s \"%.*s\" is ignored", entry->path,
                                        m->line ? m->line : entry->line, STR_FMT(m->key), entry->kind,
                                        STR_FMT(entry->name));
        }
}

/* Known to kubectl, and wrong to leave out silently. */
struct refused {
        const char *key, *what;
};

static bool is_set(const struct value *v) {
        return v && !value_is(v, VALUE_NULL) && !(value_is(v, VALUE_STRING) && !v->text.n);
}

static int refuse(const struct kubeconfig_entry *entry, const struct refused *refused, size_t count, struct err *err) {
        for (size_t i = 0; i < count; i++)
                if (is_set(value_getc(entry->fields, refused[i].key)))
                        return err_set(err, ERR_UNSUPPORTED, "%s:%u: %s \"%.*s\" uses %s, which is not supported yet",
                                       entry->path, kubeconfig_line(entry, refused[i].key), entry->kind,
                                       STR_FMT(entry->name), refused[i].what);
        return 0;
}

/* Server URLs. */

static char *url_part(CURLU *url, CURLUPart part, unsigned flags) {
        char *text = NULL, *copy = NULL;

        if (curl_url_get(url, part, &text, flags) == CURLUE_OK)
                copy = str_dup(str_from(text));
        curl_free(text);
        return copy;
}

static void url_freep(CURLU **url) {
        curl_url_cleanup(*url);
}

static bool has_part(CURLU *url, CURLUPart part) {
        _cleanup_(mem_freep) char *text = url_part(url, part, 0);

        return text != NULL;
}

/* A host that needs no brackets is a name or IPv4. curl keeps the brackets of IPv6; for messages and SNI they go. */
static void strip_brackets(char *host) {
        size_t n = strlen(host);

        if (n < 2 || host[0] != '[' || host[n - 1] != ']')
                return;
        memmove(host, host + 1, n - 2);
        host[n - 2] = '\0';
}

static char *server_with(const struct kube_config *config, const char *prefix) {
        bool v6 = strchr(config->host, ':') != NULL;
        _cleanup_(buf_done) struct buf text = buf_make(16 * KIB);

        buf_addf(&text, "%s://%s%s%s:%s%s", config->scheme, v6 ? "[" : "", config->host, v6 ? "]" : "", config->port, prefix);
        return buf_take(&text);
}

static void take_url(struct kube_config *config, CURLU *url) {
        config->scheme = url_part(url, CURLUPART_SCHEME, 0);
        config->host = url_part(url, CURLUPART_HOST, 0);
        config->port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
        config->prefix = url_part(url, CURLUPART_PATH, 0);
        strip_brackets(config->host);
        for (size_t n = strlen(config->prefix); n && config->prefix[n - 1] == '/'; n--)
                config->prefix[n - 1] = '\0';
        config->server = server_with(config, config->prefix);
        config->shown = server_with(config, config->prefix[0] ? "/…" : "");
}

int kubeconfig_set_server(struct kube_config *config, struct str text, const char *where, struct err *err) {
        _cleanup_(url_freep) CURLU *url = curl_url();
        _cleanup_(mem_freep) char *copy = str_dup(text);

        if (!str_starts(text, STR("https://")) && !str_starts(text, STR("http://")))
                return err_set(err, ERR_INVAL, "%s: server must begin with https:// (or http://)", where);
        if (text.n > KUBE_MAX_PATH_BYTES || strlen(copy) != text.n || !url ||
            curl_url_set(url, CURLUPART_URL, copy, CURLU_PATH_AS_IS) != CURLUE_OK)
                return err_set(err, ERR_INVAL, "%s: server is no URL", where);
        if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
                return err_set(err, ERR_INVAL, "%s: server must not hold a user name or password", where);
        if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
                return err_set(err, ERR_INVAL, "%s: server must not hold a query or a fragment", where);

        take_url(config, url);
        return 0;
}

/* Certificates. */

static int base64_digit(char c) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = c ? strchr(digits, c) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* Standard alphabet, padded, line breaks allowed: what Go's encoder writes. -1 when it is something else. */
static int base64_decode(struct str text, struct buf *out) {
        unsigned group = 0, digits = 0, pads = 0;

        for (size_t i = 0; i < text.n; i++) {
                char c = text.p[i];
                int digit = base64_digit(c);

                if (c == '\n' || c == '\r')
                        continue;
                if (c == '=' ? digits < 2 : digit < 0 || pads)
                        return -1;
                pads += c == '=';
                group = group << 6 | (digit < 0 ? 0 : (unsigned)digit);
                if (++digits < 4)
                        continue;
                for (unsigned b = 0; b < 3 - pads; b++)
                        buf_addch(out, (char)(group >> (16 - 8 * b)));
                digits = group = 0;
        }
        return digits || pads > 2 || out->overflow ? -1 : 0;
}

/* Relative paths belong to the folder of the file they stand in. */
static char *resolve_path(const char *file, struct str path) {
        const char *slash = strrchr(file, '/');
        _cleanup_(buf_done) struct buf joined = buf_make(strlen(file) + path.n + 2);

        if (path.p[0] != '/' && slash)
                buf_add(&joined, (struct str){ file, (size_t)(slash - file) + 1 });
        buf_add(&joined, path);
        return buf_take(&joined);
}

static char *origin_of(const struct kubeconfig_entry *entry, const char *key) {
        _cleanup_(buf_done) struct buf text = buf_make(16 * KIB);

        buf_addf(&text, "%s:%u %s", entry->path, kubeconfig_line(entry, key), key);
        return buf_take(&text);
}

static int read_pem_data(const struct kubeconfig_entry *entry, const char *key, struct str text, struct kube_pem *pem,
                         struct err *err) {
        _cleanup_(buf_done) struct buf data = buf_make(CONFIG_MAX_FILE_BYTES);

        if (base64_decode(text, &data) < 0)
                return err_set(err, ERR_INVAL, "%s:%u: %s is not base64", entry->path, kubeconfig_line(entry, key), key);
        pem->data_bytes = data.n;
        pem->data = buf_take(&data);
        pem->origin = origin_of(entry, key);
        return 0;
}

/* `NAME-data` beats `NAME`. */
static int read_pem(const struct kubeconfig_entry *entry, const char *file_key, const char *data_key,
                    struct kube_pem *pem, struct err *err) {
        struct str data = { 0 }, path = { 0 };
        int r = kubeconfig_text(entry, data_key, &data, err);

        if (r == 0)
                r = kubeconfig_text(entry, file_key, &path, err);
        if (r < 0)
                return r;
        if (data.n)
                return read_pem_data(entry, data_key, data, pem, err);
        if (path.n) {
                pem->path = resolve_path(entry->path, path);
                pem->origin = str_dup(str_from(pem->path));
        }
        return 0;
}

/* Clusters. */

static int check_insecure(struct kube_config *config, const struct kubeconfig_entry *cluster, struct err *err) {
        uint32_t line = kubeconfig_line(cluster, "insecure-skip-tls-verify");

        if (!config->insecure)
                return 0;
        if (config->ca.data || config->ca.path)
                return err_set(err, ERR_INVAL,
                               "%s:%u: insecure-skip-tls-verify and a certificate authority exclude each other",
                               cluster->path, line);
        kubeconfig_warn(config, "%s:%u: insecure-skip-tls-verify: whoever is in the way can read and change everything",
                        cluster->path, line);
        return 0;
}

static int read_server(struct kube_config *config, const struct kubeconfig_entry *cluster, struct err *err) {
        _cleanup_(buf_done) struct buf where = buf_make(16 * KIB);
        struct str server = { 0 };
        int r = kubeconfig_text(cluster, "server", &server, err);

        buf_addf(&where, "%s:%u", cluster->path, kubeconfig_line(cluster, "server"));
        if (r == 0 && !server.n)
                r = err_set(err, ERR_INVAL, "%s: cluster \"%.*s\" has no server", where.p, STR_FMT(cluster->name));
        if (r == 0)
                r = kubeconfig_set_server(config, server, where.p, err);
        if (r == 0)
                config->origin = buf_take(&where);
        return r;
}

static int read_tls_name(struct kube_config *config, const struct kubeconfig_entry *cluster, struct err *err) {
        struct str name = { 0 };
        int r = kubeconfig_text(cluster, "tls-server-name", &name, err);

        if (r < 0 || !name.n)
                return r;
        for (size_t i = 0; i < name.n; i++)
                if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", name.p[i]))
                        return err_set(err, ERR_INVAL, "%s:%u: tls-server-name is no host name", cluster->path,
                                       kubeconfig_line(cluster, "tls-server-name"));
        config->tls_server_name = str_dup(name);
        return 0;
}

int kubeconfig_use_cluster(struct kube_config *config, const struct kubeconfig_entry *cluster, struct err *err) {
        static const struct refused refused[] = { { "proxy-url", "a proxy (proxy-url)" } };
        static const char *const known[] = { "server",
                                             "tls-server-name",
                                             "insecure-skip-tls-verify",
                                             "certificate-authority",
                                             "certificate-authority-data",
                                             "proxy-url",
                                             "disable-compression",
                                             "extensions",
                                             NULL };
        int r = refuse(cluster, refused, ARRAY_LEN(refused), err);

        if (r == 0)
                r = read_server(config, cluster, err);
        if (r == 0)
                r = read_tls_name(config, cluster, err);
        if (r == 0)
                r = read_pem(cluster, "certificate-authority", "certificate-authority-data", &config->ca, err);
        if (r == 0)
                r = read_flag(cluster, "insecure-skip-tls-verify", &config->insecure, err);
        if (r == 0)
                r = check_insecure(config, cluster, err);
        if (r < 0)
                return r;

        config->cluster = str_dup(cluster->name);
        kubeconfig_warn_unknown(config, cluster, known);
        return 0;
}

/* Users. */

static bool is_header_text(struct str text) {
        for (size_t i = 0; i < text.n; i++)
                if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
                        return false;
        return text.n > 0;
}

static int add_header(struct kube_config *config, const struct kubeconfig_entry *user, const char *key, struct str name,
                      const struct value *v, struct err *err) {
        struct str text = value_text(v);
        _cleanup_(buf_done) struct buf header = buf_make(16 * KIB);

        if (!is_header_text(text))
                return err_set(err, ERR_INVAL, "%s:%u: %s of user \"%.*s\" must be text without control characters",
                               user->path, kubeconfig_line(user, key), key, STR_FMT(user->name));
        buf_addf(&header, "%.*s: ", STR_FMT(name));
        buf_add(&header, text);
        if (buf_check(&header, key, err) < 0)
                return ERR_LIMIT;

        config->headers = mem_realloc(config->headers, (config->header_count + 1) * sizeof(char *));
        config->headers[config->header_count++] = buf_take(&header);
        return 0;
}

static int add_header_list(struct kube_config *config, const struct kubeconfig_entry *user, const char *key,
                           struct str name, const struct value *list, struct err *err) {
        int r = 0;

        if (!value_is(list, VALUE_LIST))
                return err_set(err, ERR_INVAL, "%s:%u: %s must hold lists of strings", user->path,
                               kubeconfig_line(user, key), key);
        for (size_t i = 0; i < value_count(list) && r == 0; i++)
                r = add_header(config, user, key, name, list->list.items[i], err);
        return r;
}

/* The server lower-cases and unescapes what follows Impersonate-Extra-; "%" itself and what no header name may hold go. */
static void add_extra_name(struct buf *name, struct str key) {
        buf_addc(name, "Impersonate-Extra-");
        for (size_t i = 0; i < key.n; i++) {
                unsigned char c = (unsigned char)key.p[i];

                if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    (c && strchr("-._~", c)))
                        buf_addch(name, (char)c);
                else
                        buf_addf(name, "%%%02X", c);
        }
}

static int read_extra(struct kube_config *config, const struct kubeconfig_entry *user, const struct value *extra,
                      struct err *err) {
        int r = 0;

        if (!value_is(extra, VALUE_MAP))
                return err_set(err, ERR_INVAL, "%s:%u: as-user-extra must be a map", user->path,
                               kubeconfig_line(user, "as-user-extra"));
        for (size_t i = 0; i < extra->map.count && r == 0; i++) {
                _cleanup_(buf_done) struct buf name = buf_make(4 * KIB);

                add_extra_name(&name, extra->map.members[i].key);
                r = add_header_list(config, user, "as-user-extra", buf_str(&name), extra->map.members[i].value, err);
        }
        return r;
}

/* Left out silently, these would let us act with more rights than asked for. */
static int read_impersonation(struct kube_config *config, const struct kubeconfig_entry *user, struct err *err) {
        const struct value *as = value_getc(user->fields, "as"), *uid = value_getc(user->fields, "as-uid"),
                           *groups = value_getc(user->fields, "as-groups"),
                           *extra = value_getc(user->fields, "as-user-extra");
        int r = 0;

        if (!is_set(as) && (is_set(uid) || is_set(groups) || is_set(extra)))
                return err_set(err, ERR_INVAL, "%s:%u: user \"%.*s\" impersonates without \"as\"", user->path,
                               user->line, STR_FMT(user->name));
        if (is_set(as))
                r = add_header(config, user, "as", STR("Impersonate-User"), as, err);
        if (r == 0 && is_set(uid))
                r = add_header(config, user, "as-uid", STR("Impersonate-Uid"), uid, err);
        if (r == 0 && is_set(groups))
                r = add_header_list(config, user, "as-groups", STR("Impersonate-Group"), groups, err);
        if (r == 0 && is_set(extra))
                r = read_extra(config, user, extra, err);
        return r;
}

static int read_token(struct kube_config *config, const struct kubeconfig_entry *user, struct err *err) {
        struct str token = { 0 }, file = { 0 };
        int r = kubeconfig_text(user, "token", &token, err);

        if (r == 0)
                r = kubeconfig_text(user, "tokenFile", &file, err);
        if (r < 0)
                return r;
        if (file.n)
                config->token_file = resolve_path(user->path, file);
        else if (token.n)
                config->token = str_dup(token);
        return 0;
}

static int read_client_certificate(struct kube_config *config, const struct kubeconfig_entry *user, struct err *err) {
        int r = read_pem(user, "client-certificate", "client-certificate-data", &config->client_cert, err);

        if (r == 0)
                r = read_pem(user, "client-key", "client-key-data", &config->client_key, err);
        if (r < 0)
                return r;
        if (!config->client_cert.origin != !config->client_key.origin)
                return err_set(err, ERR_INVAL, "%s:%u: user \"%.*s\" has a client %s without a client %s", user->path,
                               user->line, STR_FMT(user->name), config->client_cert.origin ? "certificate" : "key",
                               config->client_cert.origin ? "key" : "certificate");
        return 0;
}

static void warn_of_clear_text(struct kube_config *config, const struct kubeconfig_entry *user) {
        bool loopback = str_eqc(STR("localhost"), config->host) || str_starts(str_from(config->host), STR("127.")) ||
                        strcmp(config->host, "::1") == 0;

        if (strcmp(config->scheme, "http") == 0 && !loopback && (config->token || config->token_file))
                kubeconfig_warn(config, "%s:%u: the token of user \"%.*s\" travels unencrypted (%s)", user->path,
                                user->line, STR_FMT(user->name), config->shown);
}

int kubeconfig_use_user(struct kube_config *config, const struct kubeconfig_entry *user, struct err *err) {
        static const struct refused refused[] = { { "exec", "an exec credential plug-in" },
                                                  { "auth-provider", "an auth-provider" },
                                                  { "username", "a user name and password" },
                                                  { "password", "a user name and password" } };
        static const char *const known[] = { "client-certificate",
                                             "client-certificate-data",
                                             "client-key",
                                             "client-key-data",
                                             "token",
                                             "tokenFile",
                                             "as",
                                             "as-uid",
                                             "as-groups",
                                             "as-user-extra",
                                             "username",
                                             "password",
                                             "auth-provider",
                                             "exec",
                                             "extensions",
                                             NULL };
        int r = refuse(user, refused, ARRAY_LEN(refused), err);

        if (r == 0)
                r = read_token(config, user, err);
        if (r == 0)
                r = read_client_certificate(config, user, err);
        if (r == 0)
                r = read_impersonation(config, user, err);
        if (r < 0)
                return r;

        config->user = str_dup(user->name);
        kubeconfig_warn_unknown(config, user, known);
        warn_of_clear_text(config, user);
        return 0;
}
