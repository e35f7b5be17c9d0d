-- error: the collector is not to be stopped
-- says: invalid option
collectgarbage("stop")
