-- SPDX-License-Identifier: Apache-2.0
-- Reconciled, then Available decide; the latter must be missing for 10 minutes to be an error.
return require("prometheus_operator").workload(obj)
