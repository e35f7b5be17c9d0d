-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides: Completed, PartiallyFailed, Failed and FailedValidation are its ends.
return require("velero").run(obj)
