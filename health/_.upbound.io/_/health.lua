-- SPDX-License-Identifier: Apache-2.0
-- Managed resources, claims and composites: Synced, LastAsyncOperation, then Ready decide.
return require("crossplane").resource(obj)
