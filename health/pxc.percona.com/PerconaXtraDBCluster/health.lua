-- SPDX-License-Identifier: Apache-2.0
-- status.state decides, once status.observedGeneration has caught up.
return require("percona").database(obj)
