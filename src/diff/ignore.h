/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ignore rules: which paths of one object may differ from Git, and which are left out of what is applied as well.
 *
 * A rule names paths by JSON pointers and by jq programs, as Argo CD's `ignoreDifferences` does, or as ownership rules do
 * (own/path_read.h), and is evaluated on Git's object and on the live one each by itself: what names nothing is silent.
 * What is found is turned into the path that field ownership knows (own/path.h): an item of a keyed list is that item
 * wherever it stands, so `/spec/template/spec/containers/0/image` means the container that is the first one there, and
 * one item can be ignored without freezing its list. In a list without keys an item is its place, unless a path says
 * which keys it has.
 *
 * Selecting the rules that speak of an object, and running jq, is the caller's: a verdict comes in as what the program
 * found. Never ignored, whatever a rule says: apiVersion, kind, metadata as a whole, its name and namespace, and
 * what the caller keeps; of a path that holds such a one the other members are.
 *
 * Limits: IGNORE_MAX_PATHS paths of one object; what is beyond is counted in `left_out`.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_DIFF_IGNORE_H
#define TRUCE_DIFF_IGNORE_H

#include "base/pointer.h"
#include "own/tolerate.h"

#define IGNORE_MAX_PATHS 2000
#define IGNORE_MAX_LISTED 200

/* What is in force of one rule for one object. */
struct ignore_rule {
        const char *name;               /* for people; never NULL */
        const char *place;              /* "argocd-cm.yaml:12"; NULL: built in */
        bool at_sync;
        const struct pointer *pointers;
        size_t pointer_count;
        size_t program_count;
        const struct field_path *patterns; /* paths as people write them: `.spec.containers[name="proxy"]` */
        size_t pattern_count;
};

/* What one program found: lists of names and places, `["spec","containers",0]`; NULL: nothing, or it was not asked. */
struct ignore_finding {
        const struct value *in_git;
        const struct value *in_live;
};

struct ignore_input {
        const struct value *desired; /* as Git says it */
        const struct value *live;    /* NULL: it does not exist */
        const struct schema *type;   /* NULL: unknown; then lists have no keys */
        const struct ignore_rule *rules;
        size_t rule_count;
        const struct ignore_finding *findings; /* of all programs, in the order of their rules */
        const struct field_path *kept; /* never ignored, where Git has it: fields of maps */
        size_t kept_count;
};

struct ignore_result {
        const struct ignored_path *paths; /* each once; at_sync wins */
        size_t count;
        size_t left_out;
        const size_t *found; /* for each rule, how many paths it named in either object */
        const char *const *advice; /* for each rule: what it freezes without need, and how to write it; NULL: nothing */
};

/* Everything lives in the arena or is borrowed. */
struct ignore_result ignore_paths(const struct ignore_input *in, struct arena *a);

/*
 * Reads a JSON pointer of a rule. INVAL, with what to write instead where that can be told: no leading "/", a bad
 * escape, the whole object, or what is never ignored.
 */
int ignore_pointer_read(struct str text, struct arena *a, struct pointer *ret_pointer, struct err *err);

/* Reads a path of a rule as field_path_read() does. INVAL also for an item that goes by its place, and what is never ignored. */
int ignore_path_read(struct str text, struct arena *a, struct field_path *ret_path, struct err *err);

/*
 * Reads several, one a line or with commas between: of the annotation `truce.dev/ignore`. Errors as above; LIMIT for more
 * than IGNORE_MAX_LISTED.
 */
int ignore_paths_read(struct str text, struct arena *a, const struct field_path **ret_paths, size_t *ret_count,
                      struct err *err);

#endif
