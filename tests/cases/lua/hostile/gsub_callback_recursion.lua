-- error: gsub in gsub in gsub
-- says: stack overflow
local function f(s) return (string.gsub(s, ".", f)) end
return f("x")
