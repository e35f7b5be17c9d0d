/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's configuration as a scenario gives it: `agent` has the keys of an Agent document's spec, `apps` is a list of
 * applications; `documents` are Argo CD's (Application, the ConfigMap argocd-cm …). Without an application there is "shop":
 * path app of branch main, namespace shop, with prune and self-heal.
 */
#ifndef TRUCE_SIM_CONFIG_OF_H
#define TRUCE_SIM_CONFIG_OF_H

#include "agent/config.h"

/* `agent` instead of the scenario's own, after a restart; may be NULL. NULL and *err for a key that is not known. */
struct config *config_of(const struct value *scenario, const struct value *agent, struct err *err);

#endif
