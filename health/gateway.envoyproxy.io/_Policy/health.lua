-- SPDX-License-Identifier: Apache-2.0
-- Every gateway in status.ancestors must have taken it: Accepted, ResolvedRefs and Programmed decide.
return require("gateway").policy(obj)
