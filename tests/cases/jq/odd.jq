."a b"
."a b"["c.d"][0][1:]
."a b"["c.d"][0][-1]
."a b"["c.d"][][]
."a b"["c.d"][1][1][0:1]
."a b"["c.d"][1:][0][1][1]
."a b"["c.d"][0:2][][0]
."a b"["c.d"][1:] | .[0][1:] | .[0][0]
."a b"["c.d"][2][0]
."a b"["c.d"][2][:]?
."a b"[""]
."a b"["é€𝄞"].x
."a b" | .["é€𝄞", ""]
."quote\"back\\slash\n"
.["quote\"back\\slash\n"]["tab\t"]
."quote\"back\\slash\n" | .[]
.numbers[] | select(. == 9007199254740992)
.numbers[] | select(. > 1000)
.numbers[] | select(. == 0)
.numbers[3:][]
.null
.null.deeper
.null[3]
.null[-3]
.null[1:2]
.null[]
.null[]?
.false // .null
.false // .null // .list
.list[]
.list[] | select(.)
.list[] | select(. | not)
.list[] // "other"
.list | .[] | nulls
.list | .[] | iterables
.list | .[] | scalars
.list | .[] | values
.list[4].deeper
.list[5][0]
.list[3].deeper?
.and.or
.and."if"
.env
.env.PAGER
.input
.list[infinite]
.list[1e10]
.list[-1e10]
.list[infinite:]
.["a b", "list"] | .[]?
.[]
.[]?
.[][]?
.[] | objects | .[]
.[] | arrays | .[0]
.["numbers"][1:3] | .[1:]
paths(..)
any
all
add
.. | select(. == null)
.. | numbers
getpath(["a b", "c.d", -1])
getpath(["list", {"start": 1, "end": 3}])
getpath(["list", {"start": 1, "end": 3}, 1])
getpath(["list", {"begin": 1}])
getpath(["list", {}])
getpath(["null", {}])
getpath(["list", [1]])
getpath([null])
getpath(["numbers", true])
getpath(1)
