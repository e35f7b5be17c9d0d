-- timeout: errors without an end
while true do pcall(error, setmetatable({}, {__tostring = error})) end
