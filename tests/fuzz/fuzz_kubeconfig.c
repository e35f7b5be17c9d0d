/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text is a kubeconfig or a refusal that names the file; what is accepted can be connected to and sent.
 */
#include "fuzz.h"

#include "kube/kubeconfig.h"

#define PATH "/k/config"

static bool is_printable(const char *text) {
        for (; *text; text++)
                if ((unsigned char)*text < ' ' || *text == 0x7f)
                        return false;
        return true;
}

static void check_pem(const struct kube_pem *pem) {
        HOLDS(!pem->data || !pem->path);
        HOLDS((pem->data || pem->path) == (pem->origin != NULL));
        HOLDS(!pem->path || pem->path[0] == '/');
}

static void check_accepted(const struct kube_config *c) {
        size_t prefix = strlen(c->prefix);

        HOLDS(strcmp(c->scheme, "https") == 0 || strcmp(c->scheme, "http") == 0);
        HOLDS(c->host[0] && c->port[0] && c->namespace[0] && c->context && c->cluster && c->origin);
        HOLDS(strncmp(c->server, c->scheme, strlen(c->scheme)) == 0 && is_printable(c->server));
        HOLDS(prefix == 0 || (c->prefix[0] == '/' && c->prefix[prefix - 1] != '/'));
        HOLDS(!c->token || !c->token_file);
        HOLDS(!c->insecure || !c->ca.origin);
        HOLDS((c->client_cert.origin != NULL) == (c->client_key.origin != NULL));
        check_pem(&c->ca);
        check_pem(&c->client_cert);
        check_pem(&c->client_key);
        for (size_t i = 0; i < c->header_count; i++)
                HOLDS(strncmp(c->headers[i], "Impersonate-", 12) == 0 && is_printable(c->headers[i]));
        for (size_t i = 0; i < c->warning_count; i++)
                HOLDS(strncmp(c->warnings[i], PATH ":", strlen(PATH) + 1) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct kube_config *config = NULL;
        struct err err = { 0 };
        int r = kube_config_from_text((struct str){ (const char *)data, n }, PATH, NULL, &config, &err);

        HOLDS((r == 0) == (config != NULL));
        HOLDS(r == 0 || (err.code == (enum err_code)r && strncmp(err.msg, PATH, strlen(PATH)) == 0));
        if (config)
                check_accepted(config);
        kube_config_free(config);
        return 0;
}
