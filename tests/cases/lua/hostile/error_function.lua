-- error: an error that is a function
-- says: raised a function
error(print)
