-- timeout: source that never comes
return load(function() while true do end end)
