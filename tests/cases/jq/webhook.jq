.webhooks[].clientConfig.caBundle
.webhooks[]?.clientConfig.caBundle
.webhooks[] | select(.clientConfig.caBundle) | .clientConfig.caBundle
.webhooks[] | select(.clientConfig.service.name == "gate") | .clientConfig
.webhooks[] | select(.name | test("^jobs\\."))
.webhooks[].namespaceSelector.matchExpressions[]? | select(.key == "gate")
.webhooks[].rules[].operations | select(length == 1)
.webhooks[].rules[].resources[-1]
.webhooks[].rules[0].operations[0:1]
.webhooks | .[1].failurePolicy, .[0].timeoutSeconds
.webhooks[] | .failurePolicy | select(. == "Fail")
.webhooks[].timeoutSeconds // empty
.. | .caBundle? // empty
.. | .caBundle?
.metadata.annotations["cert-manager.io/inject-ca-from"]
.webhooks[] | with_entries(.)
(.webhooks[] | select(.failurePolicy == "Ignore")).rules
.webhooks[.webhooks | length - 1]
.webhooks[(.webhooks | map(.name) | index("jobs.gate.example.com"))]
.webhooks | to_entries[] | select(.value.failurePolicy == "Fail") | .value
.webhooks | first, last
.webhooks | .[:1][], .[1:][]
delpaths([["webhooks"]])
