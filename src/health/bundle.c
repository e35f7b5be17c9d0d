/* SPDX-License-Identifier: Apache-2.0 */
#include "health/bundle.h"

#include "base/macro.h"

#define TEXT(literal)                                                                                                  \
        { literal, sizeof(literal) - 1 }

/* A last row, so that there always is one. */
#define RULE(group, kind, name, file, text) { TEXT(group), TEXT(kind), name, file, TEXT(text) },
#define RULE_END                                                                                                       \
        {                                                                                                              \
                { NULL, 0 }, { NULL, 0 }, NULL, NULL, {                                                                \
                        NULL, 0                                                                                        \
                }                                                                                                      \
        }
#define MODULE(name, file, text) { name, file, TEXT(text) },
#define MODULE_END                                                                                                     \
        {                                                                                                              \
                NULL, NULL, {                                                                                          \
                        NULL, 0                                                                                        \
                }                                                                                                      \
        }

#include "health/bundle.inc"

size_t bundle_rules(const struct bundle_rule **ret_rules) {
        *ret_rules = rules;
        return ARRAY_LEN(rules) - 1;
}

size_t bundle_modules(const struct bundle_module **ret_modules) {
        *ret_modules = modules;
        return ARRAY_LEN(modules) - 1;
}
