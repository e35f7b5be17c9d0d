-- timeout: brackets that never close
return string.find(string.rep("(", 1000000), "%b()")
