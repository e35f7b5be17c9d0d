/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec of a pod or a volume as the API server's own Go structs would print: refusals of updates quote such texts.
 * The layouts are in go_struct_table.inc, printed out of the server's sources.
 *
 * Source: k8s.io/apimachinery pkg/util/diff (indented JSON of both structs, a unified diff of the lines),
 * k8s.io/kubernetes pkg/apis/core/types.go.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_GO_STRUCT_H
#define TRUCE_SANDBOX_GO_STRUCT_H

#include "base/value.h"

/* `type` is a name in the table, such as "core.PodSpec"; a value that is absent (NULL) has all fields at zero. */
struct str go_struct_json(const char *type, const struct value *v, struct arena *a);
/* Go's semantic equality: empty and absent lists and maps are one, absent structs behind pointers and empty ones two.
 */
bool go_struct_same(const char *type, const struct value *a, const struct value *b, struct arena *arena);
/* What changed from `before` to `after`, with three lines around; empty when nothing did. */
struct str go_struct_diff(const char *type, const struct value *before, const struct value *after, struct arena *a);

#endif
