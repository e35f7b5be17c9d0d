-- SPDX-License-Identifier: Apache-2.0
-- A package: Installed, then Healthy decide.
return require("crossplane").package(obj)
