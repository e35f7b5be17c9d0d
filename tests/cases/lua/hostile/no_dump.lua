-- error: nothing is dumped
-- says: attempt to call a nil value
return string.dump(function() end)
