-- SPDX-License-Identifier: Apache-2.0
-- Ready decides (older: status.ready).
return require("kyverno").policy(obj)
