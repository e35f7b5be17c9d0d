/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to manifest/: one key, one object.
 */
#ifndef TRUCE_MANIFEST_DUPLICATES_IMPL_H
#define TRUCE_MANIFEST_DUPLICATES_IMPL_H

#include "manifest/document_impl.h"

/*
 * Finds objects of one key (group, kind, namespace, name) in both lists together; an unbound object without a namespace
 * counts as in `default_ns`.
 *  - Of several sources (manifest_object.source) only the last one's count, as in Argo CD (RepeatedResourceWarning); each
 *    of the others leaves its list with a warning that names both places.
 *  - Of one source all of them leave `objects`; the first by file and line stays, in `refused`; each of the others makes
 *    an error that names both places.
 */
void settle_duplicates(struct object_list *objects, struct object_list *refused, struct str default_ns,
                       struct problem_list *errors, struct problem_list *warnings, struct arena *a);

#endif
