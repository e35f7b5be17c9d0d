-- error: no scripts of others
-- says: attempt to call a nil value (global 'dofile')
return dofile("/etc/passwd")
