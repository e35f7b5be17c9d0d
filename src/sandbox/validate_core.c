/* SPDX-License-Identifier: Apache-2.0 */
/* Small kinds of the core group: ConfigMap, Secret, Namespace, Node, Event. */
#include "sandbox/validate_kinds.h"

#include <string.h>

#define DATA_MAX_BYTES 1048576

/* Bytes that base64 text stands for. */
static size_t decoded_bytes(struct str s) {
        size_t n = s.n / 4 * 3;

        for (size_t end = s.n; n && end && s.p[end - 1] == '='; end--)
                n--;
        return n;
}

/* An empty map differs from none, but for a ConfigMap's data, which is made when it is not there. */
static bool is_as_before(struct check *c, const char *field) {
        const struct value *now = get(c->object, field), *before = get(c->live, field);

        return same(now, before) || (str_eqc(c->kind, "ConfigMap") && strcmp(field, "data") == 0 &&
                                     value_count(now) + value_count(before) == 0);
}

/* `immutable` may not be taken back, and what it guards may not change. */
static void check_frozen(struct check *c, const char *const *fields) {
        if (!c->live || !truth_of(c->live, "immutable"))
                return;
        if (!truth_of(c->object, "immutable"))
                fault_forbidden(c, AT(NULL, "immutable"), "field is immutable when `immutable` is set");
        for (; *fields; fields++)
                if (!is_as_before(c, *fields))
                        fault_forbidden(c, AT_STR(NULL, str_from(*fields)),
                                        "field is immutable when `immutable` is set");
}

void check_config_map(struct check *c) {
        static const char *const frozen[] = { "data", "binaryData", NULL };
        const struct value *data = get(c->object, "data"), *binary = get(c->object, "binaryData");
        size_t bytes = 0;

        check_frozen(c, frozen);
        for (EACH_MEMBER(m, data)) {
                const struct at *at = AT_KEY(AT(NULL, "data"), m->key);

                check_text(c, at, TEXT_CONFIG_KEY, m->key);
                if (value_get(binary, m->key))
                        fault_invalid_str(c, at, m->key, "duplicate of key present in binaryData");
                bytes += value_text(m->value).n;
        }
        for (EACH_MEMBER(m, binary)) {
                check_text(c, AT_KEY(AT(NULL, "binaryData"), m->key), TEXT_CONFIG_KEY, m->key);
                bytes += decoded_bytes(value_text(m->value));
        }
        if (bytes > DATA_MAX_BYTES)
                fault_too_long(c, AT_KEY(NULL, STR("")), DATA_MAX_BYTES); /* "[]": so the server calls it */
}

/* --- Secret --- */

static void check_secret_keys(struct check *c, const struct value *data) {
        static const struct {
                const char *type, *keys[2];
                bool either; /* one of the keys is enough */
        } types[] = {
                { "kubernetes.io/dockercfg", { ".dockercfg" }, false },
                { "kubernetes.io/dockerconfigjson", { ".dockerconfigjson" }, false },
                { "kubernetes.io/basic-auth", { "username", "password" }, true },
                { "kubernetes.io/ssh-auth", { "ssh-privatekey" }, false },
                { "kubernetes.io/tls", { "tls.crt", "tls.key" }, false },
        };
        const struct at *at = AT(NULL, "data");

        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
                bool any =
                        value_getc(data, types[i].keys[0]) || (types[i].keys[1] && value_getc(data, types[i].keys[1]));

                if (!str_eqc(text_of(c->object, "type"), types[i].type) || (types[i].either && any))
                        continue;
                for (size_t j = 0; j < 2 && types[i].keys[j]; j++)
                        if (!value_getc(data, types[i].keys[j]))
                                fault_required(c, AT_KEY(at, str_from(types[i].keys[j])), "");
        }
}

void check_secret(struct check *c) {
        static const char *const frozen[] = { "data", NULL };
        const struct value *data = get(c->object, "data");
        const struct value *annotations = value_path(c->object, "metadata", "annotations", NULL);
        size_t bytes = 0;

        if (c->live)
                check_immutable(c, AT(NULL, "type"), get(c->object, "type"), get(c->live, "type"));
        check_frozen(c, frozen);
        for (EACH_MEMBER(m, data)) {
                check_text(c, AT_KEY(AT(NULL, "data"), m->key), TEXT_CONFIG_KEY, m->key);
                bytes += decoded_bytes(value_text(m->value));
        }
        if (bytes > DATA_MAX_BYTES)
                fault_too_long(c, AT(NULL, "data"), DATA_MAX_BYTES);
        if (str_eqc(text_of(c->object, "type"), "kubernetes.io/service-account-token") &&
            !text_of(annotations, "kubernetes.io/service-account.name").n)
                fault_required(
                        c, AT_KEY(AT(AT(NULL, "metadata"), "annotations"), STR("kubernetes.io/service-account.name")),
                        "");
        check_secret_keys(c, data);
}

/* --- Namespace --- */

void check_namespace_kind(struct check *c) {
        static const char *const standard[] = { "kubernetes", "orphan", "foregroundDeletion", NULL };
        const struct value *finalizers = value_path(c->object, "spec", "finalizers", NULL);
        const struct at *at = AT(AT(NULL, "spec"), "finalizers");

        if (c->live)
                return;
        for (EACH(i, finalizers)) {
                struct str s = value_text(item_of(finalizers, i));

                check_text(c, at, TEXT_LABEL_KEY, s);
                if (str_find(s, '/', 0) < 0 && !is_one_of(s, standard))
                        fault_invalid_str(c, at, s,
                                          "name is neither a standard finalizer name nor is it fully qualified");
        }
}

/* --- Node --- */

static void check_taints(struct check *c, const struct at *above, const struct value *taints) {
        static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

        for (EACH(i, taints)) {
                const struct value *taint = item_of(taints, i);
                const struct at *at = AT_INDEX(above, i);
                struct str key = text_of(taint, "key"), effect = text_of(taint, "effect");

                check_text(c, AT(at, "key"), TEXT_LABEL_KEY, key);
                check_text_joined(c, AT(at, "value"), TEXT_LABEL_VALUE, text_of(taint, "value"), ";");
                if (!effect.n)
                        fault_required(c, AT(at, "effect"), "");
                else if (!is_one_of(effect, effects))
                        fault_unsupported(c, AT(at, "effect"), effect,
                                          "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"");
                for (size_t j = 0; j < i; j++)
                        if (str_eq(text_of(item_of(taints, j), "key"), key) &&
                            str_eq(text_of(item_of(taints, j), "effect"), effect)) {
                                fault_duplicate_raw(
                                        c, at,
                                        arena_strf(c->a,
                                                   "{\"Key\":%s,\"Value\":%s,\"Effect\":%s,\"TimeAdded\":null}: "
                                                   "taints must be unique by key and effect pair",
                                                   quoted(key, c->a).p, quoted(text_of(taint, "value"), c->a).p,
                                                   quoted(effect, c->a).p));
                                break;
                        }
        }
}

static void check_cidrs_kept(struct check *c, const struct value *now, const struct value *before) {
        if (list_count(before) && !same(now, before))
                fault_forbidden(c, AT(AT(NULL, "spec"), "podCIDRs"),
                                "node updates may not change podCIDR except from \"\" to valid");
}

void check_node(struct check *c) {
        const struct value *spec = get(c->object, "spec"), *cidrs = get(spec, "podCIDRs");
        static const char *const amounts[] = { "capacity", "allocatable" };

        if (!c->live)
                check_taints(c, AT(AT(NULL, "metadata"), "taints"), get(spec, "taints"));
        for (size_t i = 0; i < 2; i++)
                for (EACH_MEMBER(m, get(get(c->object, "status"), amounts[i])))
                        check_resource_quantity(c, AT_STR(AT_STR(AT(NULL, "status"), str_from(amounts[i])), m->key),
                                                m->key, m->value);
        if (c->live) {
                check_cidrs_kept(c, cidrs, value_path(c->live, "spec", "podCIDRs", NULL));
                check_taints(c, AT(AT(NULL, "metadata"), "taints"), get(spec, "taints"));
                return;
        }
        for (EACH(i, cidrs))
                check_cidr(c, AT_INDEX(AT(AT(NULL, "spec"), "podCIDRs"), i), value_text(item_of(cidrs, i)), NULL);
}

/* --- Event --- */

static void check_event_text(struct check *c, const char *field, size_t max) {
        struct str s = text_of(c->object, field);

        if (!s.n)
                fault_required(c, AT_STR(NULL, str_from(field)), "");
        if (s.n > max)
                fault_invalid_str(c, AT_STR(NULL, str_from(field)), STR(""),
                                  arena_strf(c->a, "can have at most %zu characters", max).p);
}

/* The old rules: an Event lives beside what it is about. `regards` and `reporter` are named by the version. */
static void check_event_as(struct check *c, const char *regards, const char *reporter) {
        struct str mine = text_of(get(c->object, "metadata"), "namespace");
        struct str theirs = text_of(get(c->object, regards), "namespace");
        bool timed = get(c->object, "eventTime") != NULL, fits;

        if (theirs.n && !timed)
                fits = str_eq(mine, theirs);
        else
                fits = theirs.n || str_eqc(mine, "default") || !mine.n || (timed && str_eqc(mine, "kube-system"));
        if (!fits)
                fault_invalid_str(c, AT(AT(NULL, "involvedObject"), "namespace"), theirs,
                                  "does not match event.namespace");
        if (!timed)
                return;
        if (!text_of(c->object, reporter).n)
                fault_required(c, AT_STR(NULL, str_from(reporter)), "");
        check_text(c, AT_STR(NULL, str_from(reporter)), TEXT_LABEL_KEY, text_of(c->object, reporter));
        check_event_text(c, "reportingInstance", 128);
        check_event_text(c, "action", 128);
        check_event_text(c, "reason", 128);
}

void check_event(struct check *c) {
        check_event_as(c, "involvedObject", "reportingComponent");
}

void check_events_event(struct check *c) {
        static const struct meta_rules rules = { .name = TEXT_DNS_SUBDOMAIN, .namespaced = true };
        struct str type = text_of(c->object, "type");

        check_event_as(c, "regarding", "reportingController");
        if (c->live)
                return;
        check_meta(c, get(c->object, "metadata"), &rules, AT(NULL, "metadata"));
        if (!get(c->object, "eventTime"))
                fault_required(c, AT(NULL, "eventTime"), "");
        if (!str_eqc(type, "Normal") && !str_eqc(type, "Warning"))
                fault_invalid_str(c, AT(NULL, "type"), STR(""),
                                  arena_strf(c->a, "has invalid value: %.*s", STR_FMT(type)).p);
}
