/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to manifest/: what the parts of document.h share while one file is turned into objects.
 */
#ifndef TRUCE_MANIFEST_DOCUMENT_IMPL_H
#define TRUCE_MANIFEST_DOCUMENT_IMPL_H

#include "manifest/document.h"

/* Grows on the heap; making_end() moves it into the arena. */
struct problem_list {
        struct manifest_problem *items;
        size_t count, cap;
};
struct object_list {
        struct manifest_object *items;
        size_t count, cap;
};

void problem_list_add(struct problem_list *l, struct manifest_problem p);
void object_list_add(struct object_list *l, const struct manifest_object *o);

struct making {
        struct arena *a;
        struct object_list objects, refused;
        struct problem_list errors, warnings;
        bool incomplete;
        /* The object at hand. */
        struct manifest_object o;
        struct str title;    /* empty until the key is known */
        bool bad;            /* it has an error */
};

/* An error or warning about the object at hand; line 0 means the object's own. */
void making_error(struct making *m, enum err_code code, uint32_t line, const char *fmt, ...) PRINTF_LIKE(4, 5);
void making_warning(struct making *m, uint32_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* check.c: reads apiVersion, kind and metadata.{name,namespace} of `v` into m->o; false when the key is not known. */
bool check_key(struct making *m, const struct value *v);
/* check.c: everything else that can be wrong with it, and the flags from annotations. */
void check_object(struct making *m, const struct value *v);

/* clean.c: what remains of `v` once it is cleaned as object.h says. Errors for Secret data. */
const struct value *clean_object(struct making *m, const struct value *v);

/* object.c: the text, but for case and blanks around it? */
bool annotation_is_word(struct str text, const char *word);

/* Text in quotes for a message, escaped, cut to 80 bytes. In the arena. */
struct str manifest_quoted(struct arena *a, struct str s);

#endif
