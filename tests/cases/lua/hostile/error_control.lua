-- error: an error that would paint the terminal
-- says: [31mred
error("\27[31mred\7\r\n\8\0end")
