-- SPDX-License-Identifier: Apache-2.0
-- Succeeded decides: a run ends as True or False and does not start again.
return require("tekton").run(obj)
