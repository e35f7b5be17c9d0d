-- error: a date format that C does not define
-- says: invalid conversion specifier
return os.date("%Ez")
