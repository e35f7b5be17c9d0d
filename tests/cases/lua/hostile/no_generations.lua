-- error: nor to be tuned
-- says: invalid option
collectgarbage("generational")
