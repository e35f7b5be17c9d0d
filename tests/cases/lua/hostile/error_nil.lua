-- error: an error that is nothing
-- says: raised a nil
error(nil)
