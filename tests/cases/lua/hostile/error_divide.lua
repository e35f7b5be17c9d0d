-- error: an integer divided by nothing
-- says: attempt to divide by zero
return 1 // 0
