/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSONPaths of a CRD's additionalPrinterColumns: fields (a dot in a name is escaped), ["name"], indices from either
 * end, slices, unions, wildcards, ".." and filters such as [?(@.type=="Ready")]. A column shows the first result.
 *
 * Source: k8s.io/client-go/util/jsonpath, apiextensions-apiserver pkg/registry/customresource/tableconvertor.
 *
 * Thread rule: plain functions.
 */
#ifndef TRUCE_SANDBOX_COLUMN_H
#define TRUCE_SANDBOX_COLUMN_H

#include "base/value.h"

/* Borrowed from `root`; NULL for no result, also of a path that cannot be read. `a` is scratch. */
const struct value *column_value(const struct value *root, struct str path, struct arena *a);

#endif
