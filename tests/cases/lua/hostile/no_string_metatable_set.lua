-- error: nor to be set
-- says: table expected
setmetatable("", {})
