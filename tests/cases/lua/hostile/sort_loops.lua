-- timeout: a comparison that never returns
table.sort({1, 2}, function() while true do end end)
