/* SPDX-License-Identifier: Apache-2.0 */
/* Repository Secrets of Argo CD: credentials by URL. Nothing of their content gets into a message but key names. */
#include <strings.h>

#include "agent/config_impl.h"
#include "base/base64.h"
#include "git/url.h"

#define TYPE_LABEL "argocd.argoproj.io/secret-type"

/* Keys of `data`. LATER ones refuse what needs the repository, unless their text is empty or "false". */
static const struct config_key keys[] = {
        { "bearerToken", SETTING_LATER, "bearer tokens are not implemented yet" },
        { "enableLfs", SETTING_LATER, "Git LFS is not implemented" },
        { "enableOCI", SETTING_LATER, "OCI repositories are not implemented yet" },
        { "forceHttpBasicAuth", SETTING_IRRELEVANT, NULL },
        { "gcpServiceAccountKey", SETTING_LATER, "Google service accounts are not implemented yet" },
        { "githubAppEnterpriseBaseUrl", SETTING_LATER, "GitHub Apps are not implemented yet" },
        { "githubAppID", SETTING_LATER, "GitHub Apps are not implemented yet" },
        { "githubAppInstallationID", SETTING_LATER, "GitHub Apps are not implemented yet" },
        { "githubAppPrivateKey", SETTING_LATER, "GitHub Apps are not implemented yet" },
        { "insecure", SETTING_LATER, "repositories without TLS verification are not implemented yet" },
        { "insecureIgnoreHostKey", SETTING_IRRELEVANT, NULL },
        { "name", SETTING_IRRELEVANT, NULL },
        { "noProxy", SETTING_LATER, "proxies are not implemented yet" },
        { "password", SETTING_USED, NULL },
        { "project", SETTING_IRRELEVANT, NULL },
        { "proxy", SETTING_LATER, "proxies are not implemented yet" },
        { "sshPrivateKey", SETTING_LATER, "ssh is not implemented yet" },
        { "tlsClientCertData", SETTING_LATER, "client certificates are not implemented yet" },
        { "tlsClientCertKey", SETTING_LATER, "client certificates are not implemented yet" },
        { "type", SETTING_USED, NULL },
        { "url", SETTING_USED, NULL },
        { "useAzureWorkloadIdentity", SETTING_LATER, "Azure workload identity is not implemented yet" },
        { "username", SETTING_USED, NULL },
};

/* manifest/ has checked that it is base64. */
static struct str decode(struct reader *r, struct str text) {
        _cleanup_(buf_done) struct buf bytes = buf_make(text.n);

        base64_decode(text, &bytes);
        struct str ret = arena_str(r->a, buf_str(&bytes));
        explicit_bzero(bytes.p, bytes.n);
        return ret;
}

static struct str secret_text(struct reader *r, const char *key) {
        return decode(r, value_text(value_getc(value_getc(r->o->value, "data"), key)));
}

static const struct config_key *find_key(struct str name) {
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                if (str_eqc(name, keys[i].path))
                        return &keys[i];
        return NULL;
}

static void check_key(struct reader *r, const struct value_member *m) {
        const struct config_key *key = find_key(m->key);
        struct str text = decode(r, value_text(m->value));
        const char *names[ARRAY_LEN(keys)], *near;

        if (key && key->class == SETTING_LATER && text.n > 0 && !str_eqc(text, "false"))
                reader_refuse(r, m->line, "%s: %s", key->path, key->reason);
        if (key && key->class == SETTING_IRRELEVANT)
                reader_irrelevant(r, m->line, str_from(key->path));
        if (key)
                return;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                names[i] = keys[i].path;
        near = option_nearest(m->key, names, ARRAY_LEN(keys));
        reader_error(r, m->line, "unknown key data.%.*s%s%s%s", STR_FMT(m->key), near ? ", did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

/* A template may be a whole host, which is no repository's URL: then any path stands in for one. */
static int parse_url(struct reader *r, const struct config_repository *repo, struct str *ret_text, struct err *err) {
        struct git_url url;
        int code = git_url_parse(repo->url, r->a, &url, err);

        if (code == 0) {
                *ret_text = url.text;
                return 0;
        }
        if (!repo->is_template || git_url_parse(arena_strf(r->a, "%.*s/x", STR_FMT(repo->url)), r->a, &url, NULL) < 0)
                return code;
        *ret_text = str_sub(url.text, 0, url.text.n - strlen("/x"));
        return 0;
}

static void read_credentials(struct reader *r, bool is_template) {
        const struct value *data = value_getc(r->o->value, "data");
        struct config_repository repo = { .is_template = is_template, .place = { r->o->file, r->o->line } };
        struct str kind = secret_text(r, "type");
        struct err err;
        int code;

        for (size_t i = 0; value_is(data, VALUE_MAP) && i < data->map.count; i++)
                check_key(r, &data->map.members[i]);
        if (kind.n > 0 && !str_eqc(kind, "git"))
                reader_refuse(r, r->o->line, "type: only git repositories are implemented");

        repo.url = secret_text(r, "url");
        repo.username = secret_text(r, "username");
        repo.password = secret_text(r, "password");
        code = parse_url(r, &repo, &repo.url, &err);
        if (code == ERR_UNSUPPORTED)
                reader_refuse(r, r->o->line, "url: %s", err.msg);
        else if (code < 0)
                reader_error(r, r->o->line, "url: %s", err.msg);
        repo.refusal = r->refusal;
        repo.refusal_place = r->refusal_place;
        config_add_repository(r->c, &repo);
}

void config_read_repository(struct reader *r) {
        struct str type = value_text(value_getc(value_path(r->o->value, "metadata", "labels", NULL), TYPE_LABEL));

        if (str_eqc(type, "cluster"))
                reader_notice(r, r->o->line, "Secret %.*s names another cluster: left out", STR_FMT(r->o->name));
        else if (!str_eqc(type, "repository") && !str_eqc(type, "repo-creds"))
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

const struct config_repository *config_find_repository(const struct config *c, struct str url) {
        const struct config_repository *best = NULL;

        for (size_t i = 0; i < c->repository_count; i++) {
                const struct config_repository *repo = &c->repositories[i];

                if (!repo->is_template && same_repository(url, repo->url))
                        return repo;
                if (repo->is_template && begins_with(url, repo->url) && (!best || repo->url.n > best->url.n))
                        best = repo;
        }
        return best;
}
