-- SPDX-License-Identifier: Apache-2.0
-- status.readyToUse decides, then status.error.
return require("snapshot").judge(obj)
