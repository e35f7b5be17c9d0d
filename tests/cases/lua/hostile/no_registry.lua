-- returns: nor by require
for _, name in ipairs {"debug", "io", "package", "ffi", "jit", "socket", "lfs", "posix", "truce.secret", "../x", "/etc/passwd", ""} do
  if pcall(require, name) then return name end
end
return true
