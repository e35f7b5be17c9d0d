-- error: collecting weak tables is quadratic
-- says: __mode is not allowed
setmetatable({}, {__mode = "k"})
