/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repository Secrets of Argo CD: credentials by URL. Nothing of their content gets into a message but key names.
 *
 * A Secret of type `repository` is about one URL, of type `repo-creds` a template for all that begin so; of several the
 * longest counts. A repository without credentials of its own has the template's. One with a project is for applications
 * of that project alone, and comes before one without.
 */
#include <strings.h>

#include "agent/config_impl.h"
#include "base/base64.h"
#include "git/url.h"
#include "kube/pem.h"

#define TYPE_LABEL "argocd.argoproj.io/secret-type"
#define AZURE "Azure identities are not implemented yet"
#define GITHUB_APP "GitHub Apps are not implemented yet"

/*
 * Keys of `data`. LATER ones refuse what needs the repository, unless their text is empty or says "false". Of a template
 * those of a single repository have no meaning.
 */
static const struct secret_key {
        const char *name;
        enum setting_class class;
        const char *reason;
        bool repository_only;
} keys[] = {
        { "azureActiveDirectoryEndpoint", SETTING_IRRELEVANT, NULL, false },
        { "azureServicePrincipalClientId", SETTING_LATER, AZURE, false },
        { "azureServicePrincipalClientSecret", SETTING_LATER, AZURE, false },
        { "azureServicePrincipalTenantId", SETTING_LATER, AZURE, false },
        { "bearerToken", SETTING_USED, NULL, false },
        { "depth", SETTING_IRRELEVANT, NULL, true },
        { "enableLfs", SETTING_LATER, "Git LFS is not implemented", true },
        { "enableOCI", SETTING_LATER, "OCI repositories are not implemented yet", false },
        { "forceHttpBasicAuth", SETTING_USED, NULL, false },
        { "gcpServiceAccountKey", SETTING_LATER, "Google service accounts are not implemented yet", false },
        { "githubAppEnterpriseBaseUrl", SETTING_LATER, GITHUB_APP, false },
        { "githubAppID", SETTING_LATER, GITHUB_APP, false },
        { "githubAppInstallationID", SETTING_LATER, GITHUB_APP, false },
        { "githubAppPrivateKey", SETTING_LATER, GITHUB_APP, false },
        { "insecure", SETTING_USED, NULL, true },
        { "insecureIgnoreHostKey", SETTING_IRRELEVANT, NULL, true },
        { "insecureOCIForceHttp", SETTING_IRRELEVANT, NULL, false },
        { "name", SETTING_IRRELEVANT, NULL, true },
        { "noProxy", SETTING_USED, NULL, false },
        { "password", SETTING_USED, NULL, false },
        { "project", SETTING_USED, NULL, true },
        { "proxy", SETTING_USED, NULL, false },
        { "sshPrivateKey", SETTING_USED, NULL, false },
        { "tlsClientCertData", SETTING_USED, NULL, false },
        { "tlsClientCertKey", SETTING_USED, NULL, false },
        { "type", SETTING_USED, NULL, false },
        { "url", SETTING_USED, NULL, false },
        { "useAzureWorkloadIdentity", SETTING_LATER, AZURE, false },
        { "username", SETTING_USED, NULL, false },
};

/* Reading. manifest/ has checked that it is base64, and put stringData there. */

static struct str decode(struct reader *r, struct str text) {
        _cleanup_(buf_done) struct buf bytes = buf_make(text.n);

        base64_decode(text, &bytes);
        struct str ret = arena_str(r->a, buf_str(&bytes));
        explicit_bzero(bytes.p, bytes.n);
        return ret;
}

static const struct value_member *find_member(const struct reader *r, const char *key) {
        return value_member_find(value_getc(r->o->value, "data"), str_from(key));
}

static struct str secret_text(struct reader *r, const char *key) {
        const struct value_member *m = find_member(r, key);

        return m ? decode(r, value_text(m->value)) : (struct str){ 0 };
}

static uint32_t secret_line(const struct reader *r, const char *key) {
        const struct value_member *m = find_member(r, key);

        return m ? m->line : r->o->line;
}

/* As Argo CD reads them (Go's strconv.ParseBool). False when it is neither. */
static bool parse_bool(struct str text, bool *ret) {
        static const char *const words[][2] = { { "false", "true" }, { "False", "True" }, { "FALSE", "TRUE" },
                                                { "f", "t" },        { "F", "T" },        { "0", "1" } };

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (str_eqc(text, words[i][0]) || str_eqc(text, words[i][1])) {
                        *ret = str_eqc(text, words[i][1]);
                        return true;
                }
        return false;
}

static bool secret_bool(struct reader *r, const char *key) {
        struct str text = secret_text(r, key);
        bool ret = false;

        if (text.n > 0 && !parse_bool(text, &ret))
                reader_error(r, secret_line(r, key), "%s must be \"true\" or \"false\"", key);
        return ret;
}

static const struct secret_key *find_key(struct str name) {
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                if (str_eqc(name, keys[i].name))
                        return &keys[i];
        return NULL;
}

static void unknown_key(struct reader *r, const struct value_member *m) {
        const char *names[ARRAY_LEN(keys)], *near;

        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                names[i] = keys[i].name;
        near = option_nearest(m->key, names, ARRAY_LEN(keys));
        reader_error(r, m->line, "unknown key data.%.*s%s%s%s", STR_FMT(m->key), near ? ", did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

static void check_key(struct reader *r, const struct value_member *m, bool is_template) {
        const struct secret_key *key = find_key(m->key);
        struct str text = decode(r, value_text(m->value));
        bool on = true;

        if (!key)
                unknown_key(r, m);
        else if (key->class == SETTING_IRRELEVANT || (is_template && key->repository_only))
                reader_irrelevant(r, m->line, str_from(key->name));
        else if (key->class == SETTING_LATER && text.n > 0 && (!parse_bool(text, &on) || on))
                reader_refuse(r, m->line, "%s: %s", key->name, key->reason);
}

/* The parts of a repository. */

/* The key of git's ssh, or of a GitHub App: nothing uses one yet, and a broken one is told all the same. */
static void check_private_key(struct reader *r, const char *key) {
        struct str text = secret_text(r, key);
        struct err err;

        if (text.n > 0 && pem_check_key_block(text, &err) < 0)
                reader_error(r, secret_line(r, key), "%s: %s", key, err.msg);
}

static void check_half(struct reader *r, const char *key, struct str text, int (*check)(struct str, struct err *)) {
        struct err err;

        if (text.n == 0)
                reader_error(r, r->o->line, "%s is missing: tlsClientCertData and tlsClientCertKey belong together", key);
        else if (check(text, &err) < 0)
                reader_error(r, secret_line(r, key), "%s: %s", key, err.msg);
}

static void read_client_certificate(struct reader *r, struct config_repository *repo) {
        struct err err;

        repo->certificate = secret_text(r, "tlsClientCertData");
        repo->key = secret_text(r, "tlsClientCertKey");
        if (repo->certificate.n == 0 && repo->key.n == 0)
                return;
        check_half(r, "tlsClientCertData", repo->certificate, pem_check_certificate);
        check_half(r, "tlsClientCertKey", repo->key, pem_check_key);
        if (!r->bad && pem_check_pair(repo->certificate, repo->key, &err) < 0)
                reader_error(r, secret_line(r, "tlsClientCertKey"), "tlsClientCertKey: %s", err.msg);
}

/* Does an entry of noProxy speak of the host? A name speaks of those below it, too; "*" of all. */
static bool is_spared(struct str entry, struct str host) {
        struct str name = str_starts(entry, STR("*.")) ? str_sub(entry, 1, entry.n) : entry;

        if (str_eqc(entry, "*"))
                return true;
        if (!str_starts(name, STR(".")) && name.n == host.n && strncasecmp(name.p, host.p, host.n) == 0)
                return true;
        if (str_starts(name, STR(".")))
                name = str_sub(name, 1, name.n);
        return name.n > 0 && host.n > name.n + 1 && host.p[host.n - name.n - 1] == '.' &&
               strncasecmp(host.p + host.n - name.n, name.p, name.n) == 0;
}

/* A proxy that noProxy takes the host out of is none. */
static void read_proxy(struct reader *r, struct config_repository *repo, struct str host) {
        struct str rest = secret_text(r, "noProxy"), entry;

        if (secret_text(r, "proxy").n == 0)
                return;
        while (!repo->no_proxy && str_next(&rest, ',', &entry))
                repo->no_proxy = is_spared(str_trim(entry), host);
        if (!repo->no_proxy)
                reader_refuse(r, secret_line(r, "proxy"), "proxy: proxies are not implemented yet");
}

/* A template may be a whole host, which is no repository's URL: then any path stands in for one. */
static int parse_url(struct reader *r, const struct config_repository *repo, struct git_url *ret, struct err *err) {
        int code = git_url_parse(repo->url, r->a, ret, err);

        if (code == 0)
                return 0;
        const char *slash = str_ends(repo->url, STR("/")) ? "" : "/";

        if (!repo->is_template ||
            git_url_parse(arena_strf(r->a, "%.*s%sx", STR_FMT(repo->url), slash), r->a, ret, NULL) < 0)
                return code;
        ret->text = str_sub(ret->text, 0, ret->text.n - strlen("/x"));
        return 0;
}

/* False: it is no address that truce can read from, which has been told. */
static bool read_url(struct reader *r, struct config_repository *repo, struct git_url *ret) {
        struct err err;
        bool ends_in_slash;
        int code;

        repo->url = str_trim(secret_text(r, "url"));
        ends_in_slash = str_ends(repo->url, STR("/"));
        code = parse_url(r, repo, ret, &err);
        if (code == ERR_UNSUPPORTED)
                reader_refuse(r, secret_line(r, "url"), "url: %s", err.msg);
        else if (code < 0)
                reader_error(r, secret_line(r, "url"), "url: %s", err.msg);
        if (code < 0)
                return false;
        /* Of a template it means "what is in there", not "what begins so". */
        repo->url = repo->is_template && ends_in_slash ? arena_strf(r->a, "%.*s/", STR_FMT(ret->text)) : ret->text;
        return true;
}

/* Credentials that the address has no use for. */
static void tell_useless(struct reader *r, const struct config_repository *repo, const struct git_url *url) {
        if (find_member(r, "sshPrivateKey"))
                reader_irrelevant(r, secret_line(r, "sshPrivateKey"), STR("sshPrivateKey"));
        if (url->scheme != GIT_URL_HTTPS && repo->certificate.n > 0)
                reader_warn(r, secret_line(r, "tlsClientCertData"), "tlsClientCertData has no effect: url is not https");
        if (repo->insecure)
                reader_warn(r, secret_line(r, "insecure"), "insecure: the certificate of %.*s is not checked: whoever is "
                            "on the way can send other manifests", STR_FMT(url->host));
}

static void read_git(struct reader *r, struct config_repository *repo) {
        struct git_url url;

        repo->username = secret_text(r, "username");
        repo->password = secret_text(r, "password");
        repo->bearer_token = secret_text(r, "bearerToken");
        repo->force_basic = secret_bool(r, "forceHttpBasicAuth");
        repo->insecure = !repo->is_template && secret_bool(r, "insecure");
        read_client_certificate(r, repo);
        check_private_key(r, "sshPrivateKey");
        check_private_key(r, "githubAppPrivateKey");
        if (!read_url(r, repo, &url))
                return;
        read_proxy(r, repo, url.host);
        tell_useless(r, repo, &url);
}

/* Of two for one URL and project Argo CD takes whichever it comes to first. */
static void warn_of_double(struct reader *r, const struct config_repository *repo) {
        for (size_t i = 0; i < r->c->repository_count; i++) {
                const struct config_repository *other = &r->c->repositories[i];

                if (repo->is_template != other->is_template || !str_eq(repo->url, other->url) ||
                    !str_eq(repo->project, other->project))
                        continue;
                reader_warn(r, r->o->line, "Secret %.*s is not used: its url is that of %s already", STR_FMT(r->o->name),
                            config_place_text(other->place, r->a).p);
                return;
        }
}

static void read_credentials(struct reader *r, bool is_template) {
        static const char *const types[] = { "git", "helm", "oci" };
        const struct value *data = value_getc(r->o->value, "data");
        struct config_repository repo = { .is_template = is_template, .place = { r->o->file, r->o->line } };
        struct str type = secret_text(r, "type");

        for (size_t i = 0; value_is(data, VALUE_MAP) && i < data->map.count; i++)
                check_key(r, &data->map.members[i], is_template);
        repo.project = is_template ? STR("") : secret_text(r, "project");
        if (type.n == 0 || str_eqc(type, "git")) {
                read_git(r, &repo);
        } else {
                const char *near = option_nearest(type, types, ARRAY_LEN(types));

                repo.url = secret_text(r, "url");
                if (!str_eqc(type, "helm") && !str_eqc(type, "oci"))
                        reader_error(r, secret_line(r, "type"), "type must be git, helm or oci%s%s%s",
                                     near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
                reader_refuse(r, secret_line(r, "type"), "type: only git repositories are implemented");
        }
        repo.refusal = r->refusal;
        repo.refusal_place = r->refusal_place;
        warn_of_double(r, &repo);
        config_add_repository(r->c, &repo);
}

void config_read_repository(struct reader *r) {
        static const char *const passed_over[][2] = {
                { "cluster", "names another cluster" },
                { "repository-write", "is for writing to Git, which truce never does" },
                { "repo-write-creds", "is for writing to Git, which truce never does" },
        };
        struct str type = value_text(value_getc(value_path(r->o->value, "metadata", "labels", NULL), TYPE_LABEL));

        for (size_t i = 0; i < ARRAY_LEN(passed_over); i++)
                if (str_eqc(type, passed_over[i][0])) {
                        reader_notice(r, r->o->line, "Secret %.*s %s: left out", STR_FMT(r->o->name), passed_over[i][1]);
                        return;
                }
        if (!str_eqc(type, "repository") && !str_eqc(type, "repo-creds"))
                reader_error(r, r->o->line, "Secret %.*s has no label " TYPE_LABEL ": repository or repo-creds",
                             STR_FMT(r->o->name));
        else
                read_credentials(r, str_eqc(type, "repo-creds"));
}

/* Finding. */

static struct str without_suffix(struct str url) {
        return str_ends(url, STR(".git")) ? str_sub(url, 0, url.n - strlen(".git")) : url;
}

static bool same_repository(struct str a, struct str b) {
        a = without_suffix(a);
        b = without_suffix(b);
        return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

/* Where the path of a URL begins: credentials must cover the whole host. */
static size_t host_end(struct str url) {
        ptrdiff_t colon = str_find(url, ':', 0), slash;

        if (colon < 0)
                return 0;
        slash = str_find(url, '/', (size_t)colon + 3);
        return slash < 0 ? url.n : (size_t)slash;
}

static bool begins_with(struct str url, struct str prefix) {
        return prefix.n <= url.n && host_end(url) == host_end(prefix) && strncasecmp(url.p, prefix.p, prefix.n) == 0;
}

static const struct config_repository *find_own(const struct config *c, struct str url, struct str project) {
        const struct config_repository *fallback = NULL;

        for (size_t i = 0; i < c->repository_count; i++) {
                const struct config_repository *repo = &c->repositories[i];

                if (repo->is_template || !same_repository(url, repo->url))
                        continue;
                if (str_eq(repo->project, project))
                        return repo;
                if (repo->project.n == 0 && !fallback)
                        fallback = repo;
        }
        return fallback;
}

static const struct config_repository *find_template(const struct config *c, struct str url) {
        const struct config_repository *best = NULL;

        for (size_t i = 0; i < c->repository_count; i++) {
                const struct config_repository *repo = &c->repositories[i];

                if (repo->is_template && begins_with(url, repo->url) && (!best || repo->url.n > best->url.n))
                        best = repo;
        }
        return best;
}

static bool has_credentials(const struct config_repository *repo) {
        return repo->username.n || repo->password.n || repo->bearer_token.n || repo->certificate.n || repo->refusal.n;
}

const struct config_repository *config_find_repository(const struct config *c, struct str url, struct str project) {
        const struct config_repository *own = find_own(c, url, project), *template = find_template(c, url);
        struct config_repository *both;

        if (!own || !template || has_credentials(own))
                return own ? own : template;
        both = arena_alloc(c->arena, sizeof *both);
        *both = *template;
        both->insecure = own->insecure;
        both->project = own->project;
        both->no_proxy |= own->no_proxy;
        return both;
}

bool config_has_repository_of(const struct config *c, struct str url, struct str project) {
        for (size_t i = 0; i < c->repository_count; i++) {
                const struct config_repository *repo = &c->repositories[i];

                if (!repo->is_template && repo->project.n && str_eq(repo->project, project) &&
                    same_repository(url, repo->url))
                        return true;
        }
        return false;
}
