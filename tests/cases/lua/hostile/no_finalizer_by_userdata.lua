-- returns: buffers of the libraries have none that a script sees
return getmetatable(string.gmatch("", "")) == nil and getmetatable(print) == nil and getmetatable(1) == nil
