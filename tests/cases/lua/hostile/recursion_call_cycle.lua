-- limit or error: a table that is called by calling itself
local t = {} setmetatable(t, {__call = t})
return t()
