-- SPDX-License-Identifier: Apache-2.0
-- Installed, then Healthy decide. They carry no generation: a package that is named but not yet taken up is told from
-- status.currentIdentifier (an ImageConfig may have rewritten it). Unpacking without a message is under way.
local t = require("truce")

local status, package = t.status(obj), t.text(t.get(obj, "spec", "package"))
local current, resolved = t.text(status.currentIdentifier), t.text(status.resolvedPackage)
local installed = t.condition(obj, "Installed")

if installed and installed.status == "False" then
  if installed.reason == "InactivePackageRevision" then
    return t.suspended(t.says(installed) .. " (waiting for somebody to activate the revision)")
  end
  if installed.reason == "UnpackingPackage" and not t.text(installed.message) then
    return t.progressing(t.says(installed))
  end
  return t.degraded(t.says(installed))
end
if not installed or installed.status ~= "True" then
  return t.progressing(installed and t.says(installed) or "waiting for condition Installed")
end
if package and current and current ~= package and current ~= resolved then
  return t.progressing("waiting for " .. package .. ", " .. current .. " is installed")
end
return t.deciding(obj, "Healthy", { on_false = "Degraded" })
