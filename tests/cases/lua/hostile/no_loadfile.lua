-- error: nor to be loaded
-- says: attempt to call a nil value (global 'loadfile')
return loadfile("/etc/passwd")
