/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Argo CD's sync options ("Prune=false"): on an Application (spec.syncPolicy.syncOptions) and on an object (annotation
 * argocd.argoproj.io/sync-options, a list with commas), and its compare options. A table says what truce does about each.
 *
 * Thread rule: constant tables.
 */
#ifndef TRUCE_MANIFEST_SYNC_OPTIONS_H
#define TRUCE_MANIFEST_SYNC_OPTIONS_H

#include "base/str.h"

enum sync_option_level { SYNC_OPTION_OBJECT = 1, SYNC_OPTION_APPLICATION = 2 };

/* The four classes of a setting, design §2. */
enum setting_class {
        SETTING_USED,       /* implemented, or what truce does anyway */
        SETTING_IRRELEVANT, /* has no meaning here */
        SETTING_LATER,      /* changes what a sync does, not implemented: refused */
        SETTING_UNKNOWN,    /* no such thing */
};

/*
 * The class of "Name=value" (blanks around it trimmed) at one level. ret_reason is one clause for a person, "" for USED;
 * for UNKNOWN it is the nearest known name or "". The strings are constants.
 */
enum setting_class sync_option_class(struct str option, enum sync_option_level level, const char **ret_reason);

/*
 * The same of argocd.argoproj.io/compare-options ("IgnoreExtraneous", "ServerSideDiff=true"), a list with commas on either.
 * Of an object UNKNOWN is also what only an Application may say.
 */
enum setting_class compare_option_class(struct str option, enum sync_option_level level, const char **ret_reason);

/* Is "name=value" among the options of the annotation text? */
bool sync_options_have(struct str annotation, const char *option);

#endif
