/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of files, as people have them: documents, Lists (also a DeploymentList, whose items say no kind), folders
 * with all below, standard input.
 */
#ifndef TRUCE_CLI_OBJECTS_H
#define TRUCE_CLI_OBJECTS_H

#include "base/yaml.h"

struct objects {
        struct arena *arena; /* set before */
        struct objects_item {
                const struct value *value; /* whatever the document is: nothing is checked */
                struct str file;
        } * items;
        size_t count, cap;
};

/*
 * Adds those of a file, of standard input ("-"), or of all .yaml, .yml and .json files of a folder and those below, in
 * the order of their paths. Errors name file and line.
 */
int objects_read(struct objects *o, struct str path, struct err *err);
/* Frees what is outside of the arena. */
void objects_done(struct objects *o);

/* The same of one file: its text, at most YAML_MAX_DOCUMENT_BYTES, and its documents. */
int objects_read_text(const char *path, struct arena *a, struct str *ret_text, struct err *err);
int objects_read_documents(const char *path, struct arena *a, const struct yaml_document **ret_docs, size_t *ret_count,
                           struct err *err);

#endif
