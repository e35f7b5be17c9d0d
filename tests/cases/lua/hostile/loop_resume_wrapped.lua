-- timeout: the same by an iterator
for _ in coroutine.wrap(function() while true do coroutine.yield(1) end end) do end
