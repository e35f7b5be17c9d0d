-- error: what is returned is no data
-- says: which is no data
return {status = print}
