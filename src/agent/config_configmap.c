/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Argo CD's ConfigMaps. Their settings are not read yet: those that have no meaning here are passed over with the common
 * notice, those that would change what a sync does are errors, since they concern every application.
 */
#include "agent/config_impl.h"

/* argocd-cm, by prefix; the longest that fits counts. */
static const struct config_key prefixes[] = {
        { "accounts.", SETTING_IRRELEVANT, NULL },
        { "admin.", SETTING_IRRELEVANT, NULL },
        { "application.allowedNodeLabels", SETTING_IRRELEVANT, NULL },
        { "application.instanceLabelKey", SETTING_IRRELEVANT, NULL },
        { "application.links", SETTING_IRRELEVANT, NULL },
        { "application.resourceTrackingMethod", SETTING_IRRELEVANT, NULL },
        { "application.sync.impersonation.enabled", SETTING_LATER, "impersonation is not implemented yet" },
        { "cluster.inClusterEnabled", SETTING_IRRELEVANT, NULL },
        { "configManagementPlugins", SETTING_LATER, "plug-ins are not implemented yet" },
        { "controller.", SETTING_IRRELEVANT, NULL },
        { "dex.config", SETTING_IRRELEVANT, NULL },
        { "exec.", SETTING_IRRELEVANT, NULL },
        { "extension.config", SETTING_IRRELEVANT, NULL },
        { "ga.", SETTING_IRRELEVANT, NULL },
        { "globalProjects", SETTING_LATER, "global projects are not implemented yet" },
        { "helm.", SETTING_IRRELEVANT, NULL },
        { "help.", SETTING_IRRELEVANT, NULL },
        { "installationID", SETTING_IRRELEVANT, NULL },
        { "jsonnet.", SETTING_IRRELEVANT, NULL },
        { "kustomize.", SETTING_IRRELEVANT, NULL },
        { "oidc.", SETTING_IRRELEVANT, NULL },
        { "passwordPattern", SETTING_IRRELEVANT, NULL },
        { "project.links", SETTING_IRRELEVANT, NULL },
        { "resource.compareoptions", SETTING_LATER, "compare options are not implemented yet" },
        { "resource.customLabels", SETTING_IRRELEVANT, NULL },
        { "resource.customizations", SETTING_LATER, "resource customizations are not implemented yet" },
        { "resource.customizations.actions.", SETTING_IRRELEVANT, NULL },
        { "resource.customizations.health.", SETTING_IRRELEVANT, NULL },
        { "resource.customizations.ignoreResourceUpdates.", SETTING_IRRELEVANT, NULL },
        { "resource.customizations.useOpenLibs.", SETTING_IRRELEVANT, NULL },
        { "resource.exclusions", SETTING_LATER, "exclusions are not implemented yet" },
        { "resource.ignoreResourceUpdatesEnabled", SETTING_IRRELEVANT, NULL },
        { "resource.inclusions", SETTING_LATER, "inclusions are not implemented yet" },
        { "resource.includeEventLabelKeys", SETTING_IRRELEVANT, NULL },
        { "resource.excludeEventLabelKeys", SETTING_IRRELEVANT, NULL },
        { "resource.links", SETTING_IRRELEVANT, NULL },
        { "resource.respectRBAC", SETTING_IRRELEVANT, NULL },
        { "resource.sensitive.mask.annotations", SETTING_LATER, "masked annotations are not implemented yet" },
        { "server.", SETTING_IRRELEVANT, NULL },
        { "statusbadge.", SETTING_IRRELEVANT, NULL },
        { "timeout.", SETTING_IRRELEVANT, NULL },
        { "ui.", SETTING_IRRELEVANT, NULL },
        { "url", SETTING_IRRELEVANT, NULL },
        { "users.", SETTING_IRRELEVANT, NULL },
        { "webhook.", SETTING_IRRELEVANT, NULL },
};

static const struct config_key *find_prefix(struct str key) {
        const struct config_key *best = NULL;

        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
                struct str p = str_from(prefixes[i].path);

                if (str_starts(key, p) && (!best || p.n > strlen(best->path)))
                        best = &prefixes[i];
        }
        return best;
}

static void read_setting(struct reader *r, const struct value_member *m) {
        const struct config_key *key = find_prefix(m->key);
        const char *names[ARRAY_LEN(prefixes)], *near;

        if (key && key->class == SETTING_LATER && value_text(m->value).n > 0)
                reader_error(r, m->line, "%.*s: %s", STR_FMT(m->key), key->reason);
        if (key && key->class == SETTING_IRRELEVANT && r->irrelevant++ == 0)
                r->first_irrelevant = m->key;
        if (key)
                return;
        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
                names[i] = prefixes[i].path;
        near = option_nearest(m->key, names, ARRAY_LEN(prefixes));
        reader_error(r, m->line, "unknown key data.%.*s%s%s%s", STR_FMT(m->key), near ? ", did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

void config_read_configmap(struct reader *r) {
        static const char *const passed_over[] = { "argocd-cmd-params-cm", "argocd-rbac-cm", "argocd-gpg-keys-cm",
                                                   "argocd-notifications-cm", "argocd-ssh-known-hosts-cm" };
        const struct value *data = value_getc(r->o->value, "data");

        for (size_t i = 0; i < ARRAY_LEN(passed_over); i++)
                if (str_eqc(r->o->name, passed_over[i])) {
                        reader_notice(r, r->o->line, "ConfigMap %s has no meaning here: left out", passed_over[i]);
                        return;
                }
        if (str_eqc(r->o->name, "argocd-tls-certs-cm") && value_count(data) == 0)
                return;
        if (!str_eqc(r->o->name, "argocd-cm")) {
                reader_error(r, r->o->line, "ConfigMap %.*s is nothing that truce reads", STR_FMT(r->o->name));
                return;
        }
        for (size_t i = 0; value_is(data, VALUE_MAP) && i < data->map.count; i++)
                read_setting(r, &data->map.members[i]);
}
