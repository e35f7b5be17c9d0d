-- timeout: handlers that raise, again and again
while true do xpcall(error, function(e) error(e) end) end
