// SPDX-License-Identifier: Apache-2.0

// A cluster is a folder:
//
//	cluster.json   ports, tokens and options; fixed by "up"
//	bin/           links to the controlplane binary, one per program (bin/kubectl too)
//	pki/           service-account key, tokens, the API server's own certificate
//	kubeconfig/    one file per identity
//	etcd/          data          log/  one log per component, audit.log
//	run/           pid files     lock  held by commands that change something
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	portAttempts = 3
	// Below what Linux gives to outgoing connections (32768 and up), so that a
	// stopped component finds its port free when it starts again.
	firstPort, lastPort = 20000, 32000
)

type options struct {
	Podsim                bool
	PodsimDelay           time.Duration
	HPA                   bool
	APIServerArgs         []string
	ControllerManagerArgs []string
	PodsimArgs            []string
}

type state struct {
	EtcdPort      int
	APIServerPort int
	Tokens        map[string]string // by identity
	Options       options
}

type cluster struct {
	dir   string
	state state
}

func (c *cluster) path(name string) string    { return filepath.Join(c.dir, name) }
func (c *cluster) program(name string) string { return c.path(filepath.Join("bin", name)) }
func (c *cluster) auditLog() string           { return c.path("log/audit.log") }
func (c *cluster) etcdURL() string            { return fmt.Sprintf("http://127.0.0.1:%d", c.state.EtcdPort) }
func (c *cluster) serverURL() string {
	return fmt.Sprintf("https://127.0.0.1:%d", c.state.APIServerPort)
}
func (c *cluster) guardFile() string              { return c.path("run/guard.pid") }
func (c *cluster) kubeconfigPath(n string) string { return c.path("kubeconfig/" + n + ".kubeconfig") }

func (c *cluster) load() error {
	text, err := os.ReadFile(c.path("cluster.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no cluster in %s", c.dir)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &c.state)
}

func (c *cluster) save() error {
	text, err := json.MarshalIndent(&c.state, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("cluster.json"), text, 0o600)
}

// locked lets one command at a time change the cluster.
func (c *cluster) locked(act func() error) error {
	lock, err := os.OpenFile(c.path("lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no cluster in %s", c.dir)
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if err := c.load(); err != nil {
		return err
	}
	return act()
}

func (c *cluster) up(ctx context.Context, options options, owner int) error {
	if err := c.prepare(options); err != nil {
		return err
	}
	return c.locked(func() error {
		err := c.startAll(ctx, owner)
		if err != nil {
			if downErr := c.down(true); downErr != nil {
				err = errors.Join(err, downErr)
			}
		}
		return err
	})
}

// prepare makes the folder; afterwards "down" is able to clean up whatever follows.
func (c *cluster) prepare(options options) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty (a former cluster goes with: cluster down %s)", c.dir, c.dir)
	}
	binary := os.Getenv("TRUCE_CONTROLPLANE")
	if binary == "" {
		return errors.New("TRUCE_CONTROLPLANE does not name the control plane binary")
	}
	for _, name := range []string{"bin", "pki", "kubeconfig", "log", "run", "etcd"} {
		if err := os.MkdirAll(c.path(name), 0o700); err != nil {
			return err
		}
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "podsim", "compact"} {
		if err := os.Symlink(binary, c.program(name)); err != nil {
			return err
		}
	}
	c.state = state{Tokens: newTokens(), Options: options}
	if err := c.save(); err != nil {
		return err
	}
	return os.WriteFile(c.path("lock"), nil, 0o600)
}

func (c *cluster) startAll(ctx context.Context, owner int) error {
	if err := c.writeCredentials(); err != nil {
		return err
	}
	if owner != 0 {
		if err := c.startGuard(owner); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		err := c.startStorage(ctx)
		if err == nil {
			break
		}
		if attempt == portAttempts || !strings.Contains(err.Error(), "address already in use") {
			return err
		}
		if err := errors.Join(c.stopAll(), os.RemoveAll(c.path("etcd"))); err != nil {
			return err
		}
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	return c.startControllers(ctx)
}

func (c *cluster) startStorage(ctx context.Context) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	c.state.EtcdPort, c.state.APIServerPort = ports[0], ports[1]
	if err := c.save(); err != nil {
		return err
	}
	for _, component := range components[:2] {
		if err := c.startOne(ctx, component); err != nil {
			return err
		}
	}
	return nil
}

// startControllers gives the controllers their first seconds while the
// identities get their rights.
func (c *cluster) startControllers(ctx context.Context) error {
	var started []*component
	for _, component := range components[2:] {
		if component.name == "podsim" && !c.state.Options.Podsim {
			continue
		}
		if err := c.launch(component); err != nil {
			return err
		}
		started = append(started, component)
	}
	if err := c.grantRights(ctx); err != nil {
		return err
	}
	for _, component := range started {
		if err := c.waitReady(ctx, component); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) startOne(ctx context.Context, component *component) error {
	if err := c.launch(component); err != nil {
		return err
	}
	return c.waitReady(ctx, component)
}

func (c *cluster) start(ctx context.Context, component *component) error {
	return c.startOne(ctx, component)
}

func (c *cluster) stop(component *component, kill bool) error {
	p, alive := readProcess(c.pidFile(component))
	if !alive {
		return nil
	}
	deadline := component.deadline
	_, etcdIsAlive := readProcess(c.pidFile(components[0]))
	if kill || (component.name == "apiserver" && !etcdIsAlive) {
		deadline = 0
	}
	if err := p.terminate(deadline); err != nil {
		return fmt.Errorf("%s: %w", component.name, err)
	}
	return nil
}

func (c *cluster) stopAll() error {
	var errs []error
	for i := len(components) - 1; i >= 0; i-- {
		errs = append(errs, c.stop(components[i], false))
	}
	return errors.Join(errs...)
}

func (c *cluster) down(keep bool) error {
	if err := c.stopAll(); err != nil {
		return err
	}
	if guard, alive := readProcess(c.guardFile()); alive && guard.pid != os.Getpid() {
		if err := guard.terminate(time.Second); err != nil {
			return err
		}
	}
	if keep {
		return os.RemoveAll(c.path("etcd"))
	}
	return os.RemoveAll(c.dir)
}

func (c *cluster) status() error {
	if err := c.load(); err != nil {
		return err
	}
	allRun := true
	for _, component := range components {
		if component.name == "podsim" && !c.state.Options.Podsim {
			continue
		}
		p, alive := readProcess(c.pidFile(component))
		if alive {
			fmt.Printf("%s\trunning\t%d\n", component.name, p.pid)
		} else {
			fmt.Printf("%s\tstopped\n", component.name)
			allRun = false
		}
	}
	if !allRun {
		return errors.New("not all components run")
	}
	return nil
}

func (c *cluster) compact(ctx context.Context, restart bool) error {
	cmd := exec.CommandContext(ctx, c.program("compact"), "--etcd="+c.etcdURL())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	if !restart {
		return nil
	}
	apiserver := components[1]
	if err := c.stop(apiserver, false); err != nil {
		return err
	}
	return c.start(ctx, apiserver)
}

// A guard is a process that takes the cluster down when its owner, usually a
// test script, ends without doing so itself (killed at a time-out).
func (c *cluster) startGuard(owner int) error {
	p, err := processOf(owner)
	if err != nil {
		return fmt.Errorf("owner: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = spawn(self, []string{"guard", c.dir, p.String()}, c.path("log/guard.log"), c.guardFile())
	return err
}

func (c *cluster) guard(ctx context.Context, ownerRecord string) error {
	owner, err := parseProcess(ownerRecord)
	if err != nil {
		return err
	}
	for owner.isAlive() {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(300 * time.Millisecond):
		}
	}
	return c.locked(func() error { return c.down(false) })
}

// freePorts finds ports that nobody listens on. Another process may take one
// before we do: then the start fails and is tried again with others.
func freePorts(count int) ([]int, error) {
	var ports []int
	for attempt := 0; len(ports) < count; attempt++ {
		if attempt == 1000 {
			return nil, fmt.Errorf("no free port between %d and %d", firstPort, lastPort)
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer listener.Close() // all at the end, so that no port comes twice
		ports = append(ports, port)
	}
	return ports, nil
}
