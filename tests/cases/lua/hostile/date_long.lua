-- timeout or limit or returns: a date format of megabytes
return #os.date(string.rep("%c", 2000000)) > 0
