-- error: a number that is none
-- says: a number that is none
return {0 / 0}
