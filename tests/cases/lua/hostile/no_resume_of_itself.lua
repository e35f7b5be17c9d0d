-- returns: a coroutine that resumes itself or its parent
local co
co = coroutine.create(function(main)
  local a = coroutine.resume(co)
  local b = coroutine.resume(main)
  return a or b
end)
local ok, any = coroutine.resume(co, (coroutine.running()))
return ok and not any
