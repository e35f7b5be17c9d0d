-- error: no debug library
-- says: attempt to index a nil value (global 'debug')
debug.sethook()
