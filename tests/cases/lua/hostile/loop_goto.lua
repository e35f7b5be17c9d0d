-- timeout: without a loop statement
::again:: goto again
