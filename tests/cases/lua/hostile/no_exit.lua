-- error: no way to end the program
-- says: attempt to call a nil value (field 'exit')
return os.exit(1)
