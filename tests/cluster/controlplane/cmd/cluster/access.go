// SPDX-License-Identifier: Apache-2.0

// Who may enter and with what: identities, tokens, kubeconfigs, RBAC, and the
// little of the API that the cluster tool calls itself.
package main

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Names with rights by RBAC get them in grantRights. Those in system:masters
// stand outside of RBAC.
var identities = []struct{ name, user, group string }{
	{"admin", "admin", "system:masters"},
	{"truce", "truce", ""},
	{"person", "person", ""},
	{"operator", "operator", ""},
	{"controller-manager", "system:kube-controller-manager", "system:masters"},
	{"podsim", "podsim", "system:masters"},
}

// The agent's requests are logged with their bodies. Without RequestReceived
// there is one line per request, two for a watch; audit.go counts them.
const auditPolicy = `# SPDX-License-Identifier: Apache-2.0
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  users: [truce]
- level: Request
  userGroups: ["system:serviceaccounts:truce", "system:serviceaccounts:truce-system"]
- level: Metadata
`

func newTokens() map[string]string {
	tokens := map[string]string{}
	for _, identity := range identities {
		random := make([]byte, 16)
		crand.Read(random)
		tokens[identity.name] = hex.EncodeToString(random)
	}
	return tokens
}

// writeCredentials writes what the API server needs before it starts.
func (c *cluster) writeCredentials() error {
	files, err := newPKI()
	if err != nil {
		return err
	}
	files["tokens.csv"] = c.tokenTable()
	files["../audit-policy.yaml"] = []byte(auditPolicy)
	for name, text := range files {
		if err := os.WriteFile(c.path(filepath.Join("pki", name)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tokenTable has lines of token,user,uid and, where there is one, group.
func (c *cluster) tokenTable() []byte {
	var table bytes.Buffer
	for _, identity := range identities {
		fmt.Fprintf(&table, "%s,%s,%s", c.state.Tokens[identity.name], identity.user, identity.name)
		if identity.group != "" {
			fmt.Fprintf(&table, ",%q", identity.group)
		}
		table.WriteByte('\n')
	}
	return table.Bytes()
}

func (c *cluster) caFile() string { return c.path("pki/ca.crt") }

func (c *cluster) writeKubeconfigs() error {
	for _, identity := range identities {
		if err := c.writeKubeconfig(identity.name, c.state.Tokens[identity.name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) writeKubeconfig(name, token string) error {
	ca, err := os.ReadFile(c.caFile())
	if err != nil {
		return err
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: %s
    certificate-authority-data: %s
contexts:
- name: test
  context:
    cluster: test
    user: %s
users:
- name: %s
  user:
    token: %s
`, c.serverURL(), base64.StdEncoding.EncodeToString(ca), name, name, token)
	return os.WriteFile(c.kubeconfigPath(name), []byte(text), 0o600)
}

// kubeconfig is the path for an identity, or for NAMESPACE/SERVICEACCOUNT with
// a token issued now.
func (c *cluster) kubeconfig(ctx context.Context, user string) (string, error) {
	if err := c.load(); err != nil {
		return "", err
	}
	if _, ok := c.state.Tokens[user]; ok {
		return c.kubeconfigPath(user), nil
	}
	namespace, account, ok := strings.Cut(user, "/")
	if !ok {
		return "", fmt.Errorf("unknown user %q (admin, truce, person, operator or NAMESPACE/SERVICEACCOUNT)", user)
	}
	token, err := c.requestToken(ctx, namespace, account)
	if err != nil {
		return "", err
	}
	name := namespace + "." + account
	return c.kubeconfigPath(name), c.writeKubeconfig(name, token)
}

func (c *cluster) requestToken(ctx context.Context, namespace, account string) (string, error) {
	client, err := c.httpClient()
	if err != nil {
		return "", err
	}
	body := `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":86400}}`
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/serviceaccounts/%s/token", c.serverURL(), namespace, account)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+c.state.Tokens["admin"])
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", err
	}
	var answer struct {
		Message string
		Status  json.RawMessage // an object here, a word in an error
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", fmt.Errorf("token of %s/%s: %s", namespace, account, response.Status)
	}
	if response.StatusCode/100 != 2 {
		return "", fmt.Errorf("token of %s/%s: %s", namespace, account, answer.Message)
	}
	var status struct{ Token string }
	err = json.Unmarshal(answer.Status, &status)
	return status.Token, err
}

func (c *cluster) httpClient() (*http.Client, error) {
	ca, err := os.ReadFile(c.caFile())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true},
	}, nil
}

// apiOK says whether a GET as admin is answered 200.
func (c *cluster) apiOK(ctx context.Context, path string) bool {
	client, err := c.httpClient()
	return err == nil && httpOK(ctx, client, c.serverURL()+path, c.state.Tokens["admin"])
}

func httpOK(ctx context.Context, client *http.Client, url, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// grantRights gives truce what deploy/rbac.yaml gives the agent, so that tests
// meet a missing rule; before that file exists, everything.
func (c *cluster) grantRights(ctx context.Context) error {
	source := os.Getenv("TRUCE_CLUSTER_SOURCE")
	manifests := filepath.Join(source, "manifests")
	deploy := filepath.Join(source, "..", "..", "deploy")

	files := []string{filepath.Join(manifests, "identities.yaml")}
	if c.state.Options.HPA {
		files = append(files, filepath.Join(manifests, "podmetrics-crd.yaml"))
	}
	rbac := filepath.Join(deploy, "rbac.yaml")
	hasRBAC := isFile(rbac)
	if hasRBAC {
		if namespace := filepath.Join(deploy, "namespace.yaml"); isFile(namespace) {
			files = append(files, namespace)
		}
		files = append(files, rbac)
	} else {
		files = append(files, filepath.Join(manifests, "truce-everything.yaml"))
	}

	args := []string{"apply", "--server-side", "--field-manager=cluster-setup"}
	for _, file := range files {
		args = append(args, "--filename="+file)
	}
	if _, err := c.kubectl(ctx, nil, args...); err != nil {
		return err
	}
	if hasRBAC {
		return c.bindTruce(ctx, rbac)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

type object map[string]any

// bindTruce repeats each binding of a manifest for the user truce, beside the
// service account that it names.
func (c *cluster) bindTruce(ctx context.Context, manifest string) error {
	text, err := c.kubectl(ctx, nil, "get", "--filename="+manifest, "--output=json")
	if err != nil {
		return err
	}
	var got struct{ Items []object }
	if err := json.Unmarshal(text, &got); err != nil {
		return err
	}
	if got.Items == nil { // a single object comes without a list
		var one object
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		got.Items = []object{one}
	}

	var bindings []object
	for _, item := range got.Items {
		kind, _ := item["kind"].(string)
		if kind != "RoleBinding" && kind != "ClusterRoleBinding" {
			continue
		}
		metadata := item["metadata"].(map[string]any)
		name := object{"name": fmt.Sprint(metadata["name"], "-user-truce")}
		if namespace, ok := metadata["namespace"]; ok {
			name["namespace"] = namespace
		}
		bindings = append(bindings, object{
			"apiVersion": item["apiVersion"], "kind": kind, "metadata": name, "roleRef": item["roleRef"],
			"subjects": []object{{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "truce"}},
		})
	}
	if len(bindings) == 0 {
		return fmt.Errorf("%s has no role binding", manifest)
	}
	list, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": bindings})
	if err != nil {
		return err
	}
	_, err = c.kubectl(ctx, list, "apply", "--server-side", "--field-manager=cluster-setup", "--filename=-")
	return err
}

func (c *cluster) kubectl(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program("kubectl"), append([]string{"--kubeconfig=" + c.kubeconfigPath("admin")}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+c.path("kubectl-cache"))
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return stdout, nil
}

// printEnv writes what tests in any language need, as export lines.
func (c *cluster) printEnv() error {
	if err := c.load(); err != nil {
		return err
	}
	export := func(name, value string) {
		fmt.Printf("export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	export("TRUCE_CLUSTER_DIR", c.dir)
	export("KUBECONFIG", c.kubeconfigPath("admin"))
	export("KUBECACHEDIR", c.path("kubectl-cache"))
	export("TRUCE_TEST_KUBECTL", c.program("kubectl"))
	export("TRUCE_TEST_SERVER", c.serverURL())
	export("TRUCE_TEST_CA", c.caFile())
	export("TRUCE_TEST_AUDIT_LOG", c.auditLog())
	export("TRUCE_TEST_KUBECONFIG", c.kubeconfigPath("admin"))
	export("TRUCE_TEST_TOKEN", c.state.Tokens["admin"])
	for _, name := range []string{"truce", "person", "operator"} {
		export("TRUCE_TEST_KUBECONFIG_"+strings.ToUpper(name), c.kubeconfigPath(name))
		export("TRUCE_TEST_TOKEN_"+strings.ToUpper(name), c.state.Tokens[name])
	}
	return nil
}
