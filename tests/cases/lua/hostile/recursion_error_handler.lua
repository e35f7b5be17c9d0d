-- returns: a handler that raises in a handler
local function h(e) error(e) end
local ok = xpcall(error, h, "x")
return not ok
