-- returns: nothing else of os
for _, f in ipairs {"getenv", "remove", "rename", "tmpname", "setlocale", "clock", "execute", "exit"} do
  if os[f] or require("os")[f] then return f end
end
return true
