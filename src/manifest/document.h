/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of one file → desired objects. Pure: no I/O, the result depends on the bytes alone, so it can be cached by blob.
 *
 * YAML: any number of documents; empty and comment-only ones are skipped. JSON: exactly one object (RFC 8259, strictly).
 * In both a list (kind ends in "List", `items` is a list or null, no `spec` and no `status`) is replaced by its items;
 * items without apiVersion and kind take them from a typed list ("ConfigMapList" → ConfigMap). A kind such as NotAList,
 * or one with a spec, is an object like any other.
 *
 * A YAML file that holds no object is irrelevant, not an error, when no document has a top-level apiVersion or kind and
 * the text does not hold all of `apiVersion:`, `kind:` and `metadata:` (Argo CD's rule; text that does not even parse is
 * irrelevant only when no line begins with one of the three, so that a broken manifest is never passed over).
 * The marker `+argocd:skip-file-rendering` anywhere in the text makes the file irrelevant as a whole.
 *
 * Checks of each object: apiVersion, kind, metadata.name (strings; name and namespace legal as path segments),
 * generateName alone refused, labels and annotations maps of strings (null is taken as absent, the error names the key),
 * ownerReferences complete, Secret data strings in base64, annotations that ask for something truce does not do (hooks,
 * waves, sync options of sync_options.h). Values of Secrets never occur in a message.
 *
 * A problem does not stop the rest of the file, except where the text does not parse from some line on.
 *
 * Thread rule: reentrant.
 */
#ifndef TRUCE_MANIFEST_DOCUMENT_H
#define TRUCE_MANIFEST_DOCUMENT_H

#include "manifest/object.h"

#define MANIFEST_MAX_LIST_NESTING 8

enum manifest_format { MANIFEST_YAML, MANIFEST_JSON };

/* Something to tell a person. Text has no file name in it: that is `file`, empty where the parser does not know it. */
struct manifest_problem {
        enum err_code code;       /* ERR_OK for a warning */
        struct str file;
        uint32_t line;            /* 0: the file as a whole */
        struct str object;        /* title of the object, empty when there is none */
        struct str message;
};

/* An object that must not be applied, though Git asks for it: `object.id` and its key are as good as in any other. */
struct manifest_parsed {
        const struct manifest_object *objects;  /* in the order of the text; `file` is empty */
        size_t object_count;
        const struct manifest_object *refused;  /* known by key, yet not to be applied: counts as desired */
        size_t refused_count;
        const struct manifest_problem *errors;
        size_t error_count;
        const struct manifest_problem *warnings;
        size_t warning_count;
        bool complete;   /* false: some document could not be read so far that its key is known */
        bool irrelevant; /* not a manifest, or marked to be skipped */
};

/* Never fails: problems are content. Everything lives in the arena; `text` is not kept. */
void manifest_parse(struct str text, enum manifest_format format, struct arena *a, struct manifest_parsed *ret);

/* "file:line: object: message" without the parts that are missing. */
void manifest_problem_print(const struct manifest_problem *p, struct buf *out);

#endif
