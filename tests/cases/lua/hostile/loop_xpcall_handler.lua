-- timeout: an error handler that never returns
xpcall(error, function() while true do end end)
