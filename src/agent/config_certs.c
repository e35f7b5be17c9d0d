/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom Git servers are trusted by, from two ConfigMaps of Argo CD:
 *
 *   argocd-tls-certs-cm         a server's name → its certificate authorities, PEM; for https to that server these count
 *                               and no others. As in Argo CD the port does not matter
 *   argocd-ssh-known-hosts-cm   ssh_known_hosts: lines as sshd(8) has them. No ssh repository uses them yet: they are
 *                               checked, so that what is wrong is known before one does
 */
#include <strings.h>

#include "agent/config_impl.h"
#include "base/base64.h"
#include "kube/pem.h"

#define KNOWN_HOSTS_KEY "ssh_known_hosts"
#define MAX_KEY_TYPE_BYTES 64

/* The line of the file in which byte `at` of a member's text stands, or the text begins; 0 where there are no lines. */
static uint32_t line_at(const struct value_member *m, size_t at) {
        uint32_t line = config_line_before(m->value);

        if (!line || m->value->layout == VALUE_FOLDED)
                return m->line;
        for (size_t i = 0; i < at; i++)
                line += m->value->text.p[i] == '\n';
        return line + 1;
}

/* Keys that nobody reads: Argo CD would take binaryData for files as well. */
static bool holds_text(struct reader *r) {
        const struct value *data = value_getc(r->o->value, "data"), *binary = value_getc(r->o->value, "binaryData");

        if (value_count(binary) > 0)
                reader_error(r, binary->line, "binaryData is not read: put it into data");
        for (size_t i = 0; value_is(data, VALUE_MAP) && i < data->map.count; i++) {
                const struct value_member *m = &data->map.members[i];

                if (!value_is(m->value, VALUE_STRING))
                        reader_error(r, m->line, "data.%.*s must be text", STR_FMT(m->key));
        }
        return !r->bad && value_is(data, VALUE_MAP);
}

/* --- argocd-tls-certs-cm ------------------------------------------------------------------------------------------ */

static bool is_host(struct str s) {
        for (size_t i = 0; i < s.n; i++)
                if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
                      (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-' || s.p[i] == '.'))
                        return false;
        return s.n > 0 && s.p[0] != '-' && s.p[0] != '.';
}

const struct config_ca *config_find_ca(const struct config *c, struct str host) {
        for (size_t i = 0; i < c->ca_count; i++)
                if (c->cas[i].host.n == host.n && strncasecmp(c->cas[i].host.p, host.p, host.n) == 0)
                        return &c->cas[i];
        return NULL;
}

static void read_ca(struct reader *r, const struct value_member *m) {
        struct config_ca ca = { .host = m->key, .pem = m->value->text, .place = { r->o->file, m->line } };
        const struct config_ca *other = config_find_ca(r->c, m->key);
        struct config *c = r->c;
        size_t at;
        struct err err;

        if (!is_host(m->key))
                reader_error(r, m->line, "data.%.*s: the key must be a server's name alone, without port or path",
                             STR_FMT(m->key));
        else if (other)
                reader_error(r, m->line, "data.%.*s: that server has certificates already, at %s", STR_FMT(m->key),
                             config_place_text(other->place, r->a).p);
        else if (pem_check_bundle(m->value->text, &at, &err) < 0)
                reader_error(r, line_at(m, at), "data.%.*s: %s", STR_FMT(m->key), err.msg);
        if (r->bad)
                return;
        c->cas = config_grow(c, c->cas, c->ca_count, sizeof ca);
        c->cas[c->ca_count++] = ca;
}

void config_read_tls_certs(struct reader *r) {
        const struct value *data = value_getc(r->o->value, "data");

        if (!holds_text(r))
                return;
        for (size_t i = 0; i < data->map.count; i++)
                read_ca(r, &data->map.members[i]);
}

/* --- argocd-ssh-known-hosts-cm ------------------------------------------------------------------------------------ */

static bool next_word(struct str *rest, struct str *ret) {
        size_t n = 0;

        *rest = str_trim(*rest);
        while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
                n++;
        *ret = str_sub(*rest, 0, n);
        *rest = str_sub(*rest, n, rest->n);
        return n > 0;
}

/* The key's own bytes begin with its type (RFC 4253 §6.6). */
static bool is_key_of(struct str type, struct str text) {
        _cleanup_(buf_done) struct buf key = buf_make(text.n + 4);
        const unsigned char *p;

        if (!base64_is_valid(text))
                return false;
        base64_decode(text, &key);
        p = (const unsigned char *)key.p;
        return key.n > 4 + type.n && type.n <= MAX_KEY_TYPE_BYTES && p[0] == 0 && p[1] == 0 && p[2] == 0 &&
               p[3] == type.n && memcmp(p + 4, type.p, type.n) == 0;
}

/* NULL: the line is one that sshd(8) describes, or is empty or a comment. */
static const char *fault_of(struct str line) {
        struct str hosts, type, key;

        line = str_trim(line);
        if (line.n == 0 || line.p[0] == '#')
                return NULL;
        if (!next_word(&line, &hosts))
                return NULL;
        if (hosts.p[0] == '@') {
                if (!str_eqc(hosts, "@cert-authority") && !str_eqc(hosts, "@revoked"))
                        return "the only marks are @cert-authority and @revoked";
                if (!next_word(&line, &hosts))
                        return "the names of the hosts are missing";
        }
        if (!next_word(&line, &type) || !next_word(&line, &key))
                return "a line has names of hosts, the type of a key and the key";
        return is_key_of(type, key) ? NULL : "the key is not one of the type that stands before it";
}

static void read_known_hosts(struct reader *r, const struct value_member *m) {
        struct str rest = m->value->text, line;
        uint32_t n = 0;

        while (str_next(&rest, '\n', &line)) {
                const char *fault = fault_of(line);

                n++;
                if (fault)
                        reader_error(r, line_at(m, (size_t)(line.p - m->value->text.p)),
                                     "data." KNOWN_HOSTS_KEY ": line %u: %s", n, fault);
        }
        if (!r->bad)
                reader_irrelevant(r, m->line, STR(KNOWN_HOSTS_KEY " (no ssh repository uses it)"));
}

void config_read_known_hosts(struct reader *r) {
        const struct value *data = value_getc(r->o->value, "data");

        if (!holds_text(r))
                return;
        for (size_t i = 0; i < data->map.count; i++) {
                const struct value_member *m = &data->map.members[i];

                if (str_eqc(m->key, KNOWN_HOSTS_KEY))
                        read_known_hosts(r, m);
                else
                        reader_error(r, m->line, "unknown key data.%.*s, did you mean " KNOWN_HOSTS_KEY "?",
                                     STR_FMT(m->key));
        }
}
