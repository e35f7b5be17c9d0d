/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest/sync_options.h"

#include "base/option.h"

#define OBJ SYNC_OPTION_OBJECT
#define APP SYNC_OPTION_APPLICATION
#define BOTH (OBJ | APP)

struct row {
        const char *name;
        const char *value; /* NULL: any */
        unsigned levels;
        enum setting_class class;
        const char *reason;
};

/* The first row that fits counts. */
static const struct row rows[] = {
        { "Prune", "true", BOTH, SETTING_USED, "" },
        { "Prune", "false", BOTH, SETTING_USED, "" },
        /* There is nobody to ask yet; never pruning is the half of it that is safe. */
        { "Prune", "confirm", OBJ, SETTING_USED, "" },
        { "Prune", "confirm", APP, SETTING_LATER, "confirmation of prunes is not implemented" },
        { "Delete", "true", BOTH, SETTING_USED, "" },
        { "Delete", "false", BOTH, SETTING_USED, "" },
        { "Delete", "confirm", BOTH, SETTING_USED, "" },
        { "PruneLast", "false", BOTH, SETTING_USED, "" },
        { "PruneLast", NULL, BOTH, SETTING_LATER, "waves are not implemented" },
        { "PrunePropagationPolicy", "background", APP, SETTING_USED, "" },
        { "PrunePropagationPolicy", "foreground", APP, SETTING_USED, "" },
        { "PrunePropagationPolicy", "orphan", APP, SETTING_USED, "" },
        { "PrunePropagationPolicy", NULL, APP, SETTING_LATER, "it is one of background, foreground and orphan" },
        { "Replace", "false", BOTH, SETTING_USED, "" },
        { "Replace", NULL, BOTH, SETTING_LATER, "truce only applies server-side" },
        { "Force", "false", BOTH, SETTING_USED, "" },
        { "Force", NULL, BOTH, SETTING_LATER, "truce does not delete and re-create" },
        { "ServerSideApply", "true", BOTH, SETTING_USED, "" },
        { "ServerSideApply", NULL, BOTH, SETTING_LATER, "truce only applies server-side" },
        { "ClientSideApplyMigration", NULL, BOTH, SETTING_IRRELEVANT, "fields are taken over one by one" },
        { "ApplyOutOfSyncOnly", NULL, BOTH, SETTING_USED, "" },
        { "FailOnSharedResource", "true", APP, SETTING_USED, "" },
        { "FailOnSharedResource", NULL, APP, SETTING_IRRELEVANT, "shared objects are always refused" },
        { "Validate", NULL, BOTH, SETTING_IRRELEVANT, "the API server validates" },
        { "SkipDryRunOnMissingResource", NULL, BOTH, SETTING_USED, "" },
        { "CreateNamespace", NULL, APP, SETTING_USED, "" },
        { "RespectIgnoreDifferences", NULL, APP, SETTING_USED, "" },
};

static const struct row compare_rows[] = {
        { "IgnoreExtraneous", "", OBJ, SETTING_USED, "" },
        { "ServerSideDiff", "true", APP, SETTING_USED, "" },
        { "ServerSideDiff", "false", APP, SETTING_IRRELEVANT, "truce always compares by server-side apply" },
        { "IncludeMutationWebhook", "false", APP, SETTING_USED, "" },
        { "IncludeMutationWebhook", "true", APP, SETTING_IRRELEVANT, "what admission plug-ins add is named, and no difference" },
};

static const char *nearest_name(struct str name, const struct row *all, size_t count) {
        const char *names[ARRAY_LEN(rows)];
        const char *near;

        for (size_t i = 0; i < count; i++)
                names[i] = all[i].name;
        near = option_nearest(name, names, count);
        return near ? near : "";
}

static enum setting_class class_of(struct str option, enum sync_option_level level, const struct row *all, size_t count,
                                   const char **ret_reason) {
        struct str trimmed = str_trim(option);
        ptrdiff_t eq = str_find(trimmed, '=', 0);
        struct str name = str_trim(str_sub(trimmed, 0, eq >= 0 ? (size_t)eq : trimmed.n));
        struct str value = str_trim(str_sub(trimmed, eq >= 0 ? (size_t)eq + 1 : trimmed.n, trimmed.n));

        for (size_t i = 0; i < count; i++) {
                const struct row *r = &all[i];

                if ((r->levels & level) && str_eqc(name, r->name) && (!r->value ? eq >= 0 : str_eqc(value, r->value))) {
                        *ret_reason = r->reason;
                        return r->class;
                }
        }
        *ret_reason = nearest_name(name, all, count);
        return SETTING_UNKNOWN;
}

enum setting_class sync_option_class(struct str option, enum sync_option_level level, const char **ret_reason) {
        return class_of(option, level, rows, ARRAY_LEN(rows), ret_reason);
}

enum setting_class compare_option_class(struct str option, enum sync_option_level level, const char **ret_reason) {
        return class_of(option, level, compare_rows, ARRAY_LEN(compare_rows), ret_reason);
}

bool sync_options_have(struct str annotation, const char *option) {
        struct str part;

        while (str_next(&annotation, ',', &part))
                if (str_eqc(str_trim(part), option))
                        return true;
        return false;
}
