/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies in Kubernetes' protobuf (application/vnd.kubernetes.protobuf), which kubectl sends for built-in kinds since
 * its typed clients prefer it: read against the kind's type and turned into JSON. Answers are always JSON, which those
 * clients accept.
 *
 * A body is "k8s\0" and a message runtime.Unknown: {1: {1: apiVersion, 2: kind}, 2: the object's message}. What Go's
 * zero values stand for on the wire becomes JSON with those values; decoding drops them as it does for JSON.
 *
 * Source: apimachinery's pkg/runtime/serializer/protobuf, the modules' generated.proto.
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_PROTOBUF_H
#define TRUCE_SANDBOX_PROTOBUF_H

#include "sandbox/types.h"

#define PROTOBUF_MAX_DEPTH 64

/*
 * The object as a value in the arena. PARSE: no such body, or bytes that do not fit the type; UNSUPPORTED: a kind
 * without a type, or a field that protobuf writes in a way of its own (parts of CustomResourceDefinitions); LIMIT: too
 * deep.
 */
int protobuf_read(struct str body, struct type_table *types, struct arena *a, const struct value **ret_object,
                  struct err *err);

#endif
