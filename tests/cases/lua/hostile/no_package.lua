-- error: no packages
-- says: attempt to index a nil value (global 'package')
return package.loadlib("libc.so.6", "*")
