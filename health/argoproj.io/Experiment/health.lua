-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides. It runs once; an inconclusive result is for a person to judge.
return require("rollouts").measured(obj)
