// SPDX-License-Identifier: Apache-2.0

// The components: how each is started, when it is ready, and how long it may
// take to end. Order matters: they start from first to last and stop from last
// to first. An API server whose etcd went first hangs in its graceful shutdown
// and keeps the port, hence a deadline for each.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

type component struct {
	name     string
	program  string
	deadline time.Duration // from SIGTERM to SIGKILL
	args     func(c *cluster) []string
	isReady  func(ctx context.Context, c *cluster) bool
}

var components = []*component{
	{"etcd", "etcd", 5 * time.Second, etcdArgs, etcdIsReady},
	{"apiserver", "kube-apiserver", 10 * time.Second, apiserverArgs, apiserverIsReady},
	{"controller-manager", "kube-controller-manager", 3 * time.Second, controllerManagerArgs, controllerManagerIsReady},
	{"podsim", "podsim", 3 * time.Second, podsimArgs, podsimIsReady},
}

const readyTimeout = 60 * time.Second

func findComponent(name string) (*component, error) {
	for _, component := range components {
		if component.name == name || component.program == name {
			return component, nil
		}
	}
	return nil, fmt.Errorf("unknown component %q (etcd, apiserver, controller-manager, podsim)", name)
}

func etcdArgs(c *cluster) []string {
	client := c.etcdURL()
	const peer = "http://127.0.0.1:0" // there are no peers: any port will do
	return []string{
		"--name=truce-test",
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=truce-test=" + peer,
		"--unsafe-no-fsync",
		"--quota-backend-bytes=4294967296",
		"--log-level=error",
	}
}

func etcdIsReady(ctx context.Context, c *cluster) bool {
	return httpOK(ctx, http.DefaultClient, c.etcdURL()+"/health", "")
}

func apiserverArgs(c *cluster) []string {
	args := []string{
		"--etcd-servers=" + c.etcdURL(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.state.APIServerPort),
		"--tls-cert-file=" + c.path("pki/server.crt"),
		"--tls-private-key-file=" + c.path("pki/server.key"),
		// No address of this host is offered to others, so none has to exist.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path("pki/sa.pub"),
		"--service-account-signing-key-file=" + c.path("pki/sa.key"),
		// Pods need no token of their own where no pod is executed.
		"--disable-admission-plugins=ServiceAccount",
		"--token-auth-file=" + c.path("pki/tokens.csv"),
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--audit-policy-file=" + c.path("audit-policy.yaml"),
		"--audit-log-path=" + c.auditLog(),
		"--audit-log-maxsize=100000", // MB; a rotated log would miscount
		"--profiling=false",
	}
	return append(args, c.state.Options.APIServerArgs...)
}

func apiserverIsReady(ctx context.Context, c *cluster) bool {
	return c.apiOK(ctx, "/readyz")
}

func controllerManagerArgs(c *cluster) []string {
	args := []string{
		"--kubeconfig=" + c.kubeconfigPath("controller-manager"),
		"--service-account-private-key-file=" + c.path("pki/sa.key"),
		"--leader-elect=false",
		"--secure-port=0",
		"--use-service-account-credentials=false",
		"--controllers=*,-node-ipam-controller",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
	if c.state.Options.HPA {
		args = append(args,
			"--horizontal-pod-autoscaler-sync-period=1s",
			"--horizontal-pod-autoscaler-downscale-stabilization=5s",
			"--horizontal-pod-autoscaler-initial-readiness-delay=1s",
			"--horizontal-pod-autoscaler-cpu-initialization-period=1s",
			// The metrics come from a CRD, which does not speak protobuf.
			"--kube-api-content-type=application/json")
	}
	return append(args, c.state.Options.ControllerManagerArgs...)
}

// It has no port to ask. Its first visible work is the default service
// account, and after a restart there is nothing to see: then alive is ready.
func controllerManagerIsReady(ctx context.Context, c *cluster) bool {
	return c.apiOK(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
}

func podsimArgs(c *cluster) []string {
	args := []string{
		"--kubeconfig=" + c.kubeconfigPath("podsim"),
		"--delay=" + c.state.Options.PodsimDelay.String(),
		"--ready-file=" + c.podsimReadyFile(),
	}
	return append(args, c.state.Options.PodsimArgs...)
}

func podsimIsReady(_ context.Context, c *cluster) bool {
	_, err := os.Stat(c.podsimReadyFile())
	return err == nil
}

func (c *cluster) podsimReadyFile() string { return c.path("run/podsim.ready") }

func (c *cluster) pidFile(component *component) string {
	return c.path(filepath.Join("run", component.name+".pid"))
}

func (c *cluster) logFile(component *component) string {
	return c.path(filepath.Join("log", component.name+".log"))
}

// launch starts a component and does not wait; a running one is left alone.
func (c *cluster) launch(component *component) error {
	if _, alive := readProcess(c.pidFile(component)); alive {
		return nil
	}
	if component.name == "podsim" {
		os.Remove(c.podsimReadyFile())
	}
	_, err := spawn(c.program(component.program), component.args(c), c.logFile(component), c.pidFile(component))
	return err
}

func (c *cluster) waitReady(ctx context.Context, component *component) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		if _, alive := readProcess(c.pidFile(component)); !alive {
			return c.failure(component, "ended while it started")
		}
		if component.isReady(ctx, c) {
			return nil
		}
		select {
		case <-ctx.Done():
			return c.failure(component, "is not ready: "+ctx.Err().Error())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// failure is an error that shows the end of the component's log.
func (c *cluster) failure(component *component, what string) error {
	return fmt.Errorf("%s %s; the end of its log:\n%s", component.name, what, tail(c.logFile(component), 4096))
}

func tail(path string, limit int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-limit):])
}
