-- error: an error that is a table
-- says: raised a table
error({status = "Healthy"})
