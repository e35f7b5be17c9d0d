-- timeout: a callback that never returns
string.gsub("x", "x", function() while true do end end)
