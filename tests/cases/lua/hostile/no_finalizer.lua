-- error: finalizers run where no hook does
-- says: __gc is not allowed
setmetatable({}, {__gc = function() while true do end end})
