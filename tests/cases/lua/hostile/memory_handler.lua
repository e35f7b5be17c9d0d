-- limit: nor does a handler
xpcall(function() local t = {} while true do t[#t + 1] = {} end end, function() return "caught" end)
return true
