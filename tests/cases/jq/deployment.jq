# One expression a line, evaluated on the object of the same name.
.
.spec.replicas
.spec["replicas"]
."spec"."replicas"
.metadata.labels["app.kubernetes.io/name"]
.metadata.annotations."note"
.spec.template.spec.containers
.spec.template.spec.containers[]
.spec.template.spec.containers[0]
.spec.template.spec.containers[-1]
.spec.template.spec.containers[-3].env[-1].name
.spec.template.spec.containers[-9]
.spec.template.spec.containers[17].image
.spec.template.spec.containers[1:]
.spec.template.spec.containers[:2]
.spec.template.spec.containers[-2:].[0]?
.spec.template.spec.containers[-2:] | .[].image
.spec.template.spec.containers[1:3][0].name
.spec.template.spec.containers[1:][1:]
.spec.template.spec.containers[1:][-1].image
.spec.template.spec.containers[2:1]
.spec.template.spec.containers[:99]
.spec.template.spec.containers[-99:1]
.spec.template.spec.containers[0:1][5]
.spec.nothing.here[1:2]
.spec.nothing.here[0]
.spec.nothing.here[-1]
.spec.nothing.here[]?
.spec.template.spec.containers[] | select(.name == "mesh-proxy")
.spec.template.spec.containers[] | select(.name == "nobody")
.spec.template.spec.containers[] | select(.name | startswith("mesh-"))
.spec.template.spec.containers[] | select(.name | test("^(mesh|log)-"))
.spec.template.spec.containers[] | select(.name | test("^MESH"; "i")) | .image
.spec.template.spec.containers[] | select(.image | endswith(":1.9")) | .resources
.spec.template.spec.containers[] | select(.name == "mesh-proxy" and (.args | length) == 4)
.spec.template.spec.containers[] | select(.name == "till" or .name == "log-shipper") | .env
.spec.template.spec.containers[] | select(has("args"))
.spec.template.spec.containers[] | select(has("args") | not) | .name
.spec.template.spec.containers[] | select(.ports[]?.name == "http")
.spec.template.spec.containers[] | select([.env[]?.name] | index("MESH_ID"))
.spec.template.spec.containers[] | select(any(.env[]?; .name == "LEVEL"))
.spec.template.spec.containers[] | select(all(.env[]?; .name != "LEVEL")) | .image
.spec.template.spec.containers[].env[] | select(.name == "MESH_ID")
.spec.template.spec.containers[].env[]? | select(.name == "MESH_ID") | .value
.spec.template.spec.containers[] | .env[] | select(.valueFrom.secretKeyRef.name == "store")
.spec.template.spec.containers[].resources.limits.cpu
.spec.template.spec.containers[].resources | .requests, .limits
.spec.template.spec.containers[].ports[0].containerPort
.spec.template.spec.containers[].volumeMounts[]? | select(.readOnly) | .mountPath
.spec.template.spec.initContainers[] | select(.name == "mesh-init")
.spec.template.spec.initContainers[]?.image
.spec.template.spec.ephemeralContainers[]?
.spec.template.spec.ephemeralContainers[]
.spec.template.spec.ephemeralContainers[0].name
.spec.template.spec.tolerations[] | select(.key == "node.kubernetes.io/not-ready")
.spec.template.spec.tolerations[] | select(.tolerationSeconds > 100) | .tolerationSeconds
.spec.template.spec.tolerations[] | select(.effect | IN("NoExecute", "PreferNoSchedule"))
.spec.template.spec.volumes[] | select(.secret != null) | .secret.defaultMode
.spec.template.spec.volumes[] | select(.name | contains("certs"))
.spec.template.spec | .containers[0].image, .initContainers[0].image
.spec.template.spec | (.containers, .initContainers)[] | .image
.spec.template.spec.nodeSelector | .["kubernetes.io/arch"]
.spec.replicas, .spec.paused
.spec | .replicas, .nothing, .paused
.spec.replicas?
.spec.replicas.foo
.spec.replicas.foo?
.spec.replicas[0]
.spec["a" + "b"]
.spec[("replicas", "paused")]
.metadata.annotations | to_entries
.metadata.annotations | to_entries[] | select(.key | startswith("example.com/")) | .value
.metadata.annotations | keys
.metadata.annotations | keys[]
.metadata.annotations | with_entries(select(.key != "note"))
.metadata.annotations | .[keys[] | select(startswith("example.com/"))]
.metadata.annotations[(.metadata.annotations | keys[] | select(startswith("example.com/")))]
. as $o | .metadata.annotations[$o.metadata.annotations | keys[] | select(startswith("example.com/"))]
.metadata.labels | .team // .nothing
.metadata.labels | .nothing // .team
.metadata.labels.nothing // .metadata.annotations.nothing
.spec.paused // .spec.replicas
..
.. | objects
.. | objects | .name
.. | objects | select(has("image")) | .image
.. | .image?
.. | select(type == "string") | select(test("^mesh/"))
.. | strings | select(startswith("till-"))
.. | .env? | arrays | .[] | select(.name == "MESH_ID")
..|.defaultMode? | numbers
.. | booleans
recurse | .secretName? | strings
recurse(.spec?; type == "object") | .replicas?
recurse(.[]?; type == "object") | .replicas?
first(.spec.template.spec.containers[])
first(.spec.template.spec.containers[] | select(.name != "till")).image
last(.spec.template.spec.containers[])
limit(2; .spec.template.spec.containers[])
nth(1; .spec.template.spec.containers[])
first(.spec.nothing[]?)
until(type != "object"; .spec)
if .spec.replicas > 3 then .spec.replicas else empty end
if .kind == "StatefulSet" then .spec.serviceName else .spec.strategy end
if .spec.paused then .spec elif .spec.replicas == 4 then .spec.selector else .metadata end
.spec.template.spec.containers[] | if .name == "till" then .env[] else .image end
getpath(["spec", "replicas"])
getpath(["spec", "template", "spec", "containers", 0, "image"])
getpath(["spec", "nothing", "more"])
getpath(["spec", "replicas", "more"])
getpath(paths(type == "number"))
paths
paths(type == "number")
[paths(type == "number")]
leaf_paths
path(.spec.replicas)
reduce .spec.template.spec.containers[] as $c (.; .spec)
reduce ("template", "spec", "volumes") as $k (.spec; .[$k])
foreach (1, 2) as $i (.; .; .spec)
.spec.template.spec.containers | map(.name)
.spec.template.spec.containers | map(select(.name == "till"))
.spec.template.spec.containers | .[] | .name |= "x"
.spec.template.spec.containers | length
.spec.template.spec.containers[] as $c | .metadata.labels.team
.spec.template.spec.containers | .[range(0; 2)]
.spec.template.spec.containers[range(0; 3; 2)].name
.spec.template.spec.containers[1.7].name
.spec.template.spec.containers[-0.5]
.spec.template.spec.containers["till"]
.spec.template.spec.containers.name
.spec.template.spec.containers[null]
.spec.template.spec.containers[[{"name": "till"}]]
.spec.template.spec.containers[0.5:1.5]
.spec.template.spec.containers[null:1]
.metadata.name[0:2]
.metadata.name[0]
empty
null
1
"text"
error
error("on purpose")
error(null)
(.spec.replicas, error("late"))
try error("x") catch .
try error("x")
.spec.replicas as $n | .spec.template.spec.containers[] | select($n > 3) | .image
.spec.replicas | . as $n | select($n == 4)
.spec.template.spec.containers[] | select(.name as $n | ["till", "mesh-proxy"] | index($n))
def mesh: select(.name | test("mesh")); .spec.template.spec | (.containers[], .initContainers[]) | mesh
def deep(f): .spec.template.spec | f; deep(.containers[0].image, .volumes)
label $done | .spec.template.spec.containers[] | if .name == "mesh-proxy" then ., break $done else . end
.status
.status.conditions[] | select(.type == "Progressing" and .status == "False")
.status.conditions[] | select(.lastUpdateTime) | .lastUpdateTime
.status.conditions[] | select(.reason? | not)
.status | del(.conditions)
.status | .replicas = 1
.metadata.generation |= . + 1
to_entries
tostream
input_line_number
$__loc__
.metadata.annotations["note"] | select(contains("€"))
.spec.template.spec.containers[].name | select(ascii_downcase == "till")
.spec.template.spec.containers[] | select(.name | split("-") | length > 1)
.spec.template.spec.containers[] | select(.image | capture(":(?<tag>.*)$").tag | startswith("2."))
.spec.template.spec.containers[] | select(.image | match("proxy").offset > 0)
.spec.template.spec.containers[] | select(.env | length == 0)
.spec.template.spec.containers[] | select(.resources == {})
.spec.template.spec.containers[] | select(.args | . and contains(["warn"])) | .args[1]
.spec.template.spec.containers[] | select(.env[]? | .name == "CURRENCY", .name == "MESH_ID")
.spec |
.spec[
.spec..replicas
spec.replicas
.spec.replicas)
.spec | nosuch
.spec | nosuch(1; 2)
.spec.$x
$nosuch
"unfinished
if .spec then .spec
.spec replicas
%%%
.spec # the whole of it
