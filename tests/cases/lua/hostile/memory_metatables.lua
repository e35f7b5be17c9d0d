-- limit or timeout: metatables
local t = {} while true do t[#t + 1] = setmetatable({}, {}) end
