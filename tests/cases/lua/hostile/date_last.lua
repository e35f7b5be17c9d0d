-- returns: the last year that there is a date of
return os.date("*t", 67768036191676799).year == 2 ^ 31 - 1 + 1900
