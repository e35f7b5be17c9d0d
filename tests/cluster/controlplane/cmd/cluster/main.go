// SPDX-License-Identifier: Apache-2.0

// Command cluster runs control planes for tests: real processes, each cluster
// in one folder. It uses the standard library only, so it builds in a second
// and starts at once; the components come from the controlplane binary.
// ../../../cluster is the way to call it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: cluster COMMAND DIR [ARGUMENT…]

  up DIR [--no-podsim] [--podsim-delay D] [--hpa] [--owner PID]
         [--apiserver-arg=A]… [--controller-manager-arg=A]… [--podsim-arg=A]…
                              start a cluster in DIR; with --owner it is taken
                              down when that process ends
  down DIR [--keep]           stop everything and remove DIR (--keep: logs stay)
  stop DIR COMPONENT [--kill] stop one: etcd apiserver controller-manager podsim
  start DIR COMPONENT         start it again, with the same port
  status DIR                  one line per component; exit 1 unless all run
  kubeconfig DIR USER         print the path for admin, truce, person, operator
                              or NAMESPACE/SERVICEACCOUNT (a fresh token)
  env DIR                     print export lines for a shell
  compact DIR [--restart]     drop etcd's history; --restart drops the API
                              server's watch cache too (see README.md)
  audit DIR                   print the path of the audit log
  audit DIR --mark            print a position for --since
  audit DIR --count|--lines|--by F,F [--user U] [--verb V,V] [--resource R]
        [--namespace N] [--name N] [--code C] [--agent PREFIX] [--since MARK]
`

// A command gets its positional arguments (DIR first) after its flags were
// parsed; flags may stand anywhere.
type command struct {
	arguments int // beside DIR
	setup     func(flags *flag.FlagSet) func(ctx context.Context, c *cluster, args []string) error
}

var commands = map[string]command{
	"up":         {0, setupUp},
	"down":       {0, setupDown},
	"stop":       {1, setupStop},
	"start":      {1, setupStart},
	"status":     {0, setupStatus},
	"kubeconfig": {1, setupKubeconfig},
	"env":        {0, setupEnv},
	"compact":    {0, setupCompact},
	"audit":      {0, setupAudit},
	"guard":      {1, setupGuard},
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("no command given")
	}
	if args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		fmt.Print(usage)
		return nil
	}
	cmd, ok := commands[args[0]]
	if !ok {
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("unknown command %q", args[0])
	}

	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	act := cmd.setup(flags)
	positional, err := parseAnywhere(flags, args[1:])
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if len(positional) != 1+cmd.arguments {
		return fmt.Errorf("%s: want DIR and %d more arguments, got %d arguments", args[0], cmd.arguments, len(positional))
	}
	dir, err := filepath.Abs(positional[0])
	if err != nil {
		return err
	}
	return act(ctx, &cluster{dir: dir}, positional[1:])
}

func parseAnywhere(flags *flag.FlagSet, args []string) ([]string, error) {
	var positional []string
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return positional, nil
		}
		positional = append(positional, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

// listFlag collects every use of a flag.
type listFlag []string

func (l *listFlag) String() string     { return strings.Join(*l, " ") }
func (l *listFlag) Set(s string) error { *l = append(*l, s); return nil }

func setupUp(flags *flag.FlagSet) func(context.Context, *cluster, []string) error {
	options := &options{}
	noPodsim := flags.Bool("no-podsim", false, "")
	owner := flags.Int("owner", 0, "")
	flags.DurationVar(&options.PodsimDelay, "podsim-delay", 200*time.Millisecond, "")
	flags.BoolVar(&options.HPA, "hpa", false, "")
	flags.Var((*listFlag)(&options.APIServerArgs), "apiserver-arg", "")
	flags.Var((*listFlag)(&options.ControllerManagerArgs), "controller-manager-arg", "")
	flags.Var((*listFlag)(&options.PodsimArgs), "podsim-arg", "")
	return func(ctx context.Context, c *cluster, _ []string) error {
		options.Podsim = !*noPodsim
		return c.up(ctx, *options, *owner)
	}
}

func setupDown(flags *flag.FlagSet) func(context.Context, *cluster, []string) error {
	keep := flags.Bool("keep", false, "")
	return func(_ context.Context, c *cluster, _ []string) error {
		return c.locked(func() error { return c.down(*keep) })
	}
}

func setupStop(flags *flag.FlagSet) func(context.Context, *cluster, []string) error {
	kill := flags.Bool("kill", false, "")
	return func(_ context.Context, c *cluster, args []string) error {
		component, err := findComponent(args[0])
		if err != nil {
			return err
		}
		return c.locked(func() error { return c.stop(component, *kill) })
	}
}

func setupStart(*flag.FlagSet) func(context.Context, *cluster, []string) error {
	return func(ctx context.Context, c *cluster, args []string) error {
		component, err := findComponent(args[0])
		if err != nil {
			return err
		}
		return c.locked(func() error { return c.start(ctx, component) })
	}
}

func setupStatus(*flag.FlagSet) func(context.Context, *cluster, []string) error {
	return func(_ context.Context, c *cluster, _ []string) error { return c.status() }
}

func setupKubeconfig(*flag.FlagSet) func(context.Context, *cluster, []string) error {
	return func(ctx context.Context, c *cluster, args []string) error {
		path, err := c.kubeconfig(ctx, args[0])
		if err != nil {
			return err
		}
		fmt.Println(path)
		return nil
	}
}

func setupEnv(*flag.FlagSet) func(context.Context, *cluster, []string) error {
	return func(_ context.Context, c *cluster, _ []string) error { return c.printEnv() }
}

func setupCompact(flags *flag.FlagSet) func(context.Context, *cluster, []string) error {
	restart := flags.Bool("restart", false, "")
	return func(ctx context.Context, c *cluster, _ []string) error {
		return c.locked(func() error { return c.compact(ctx, *restart) })
	}
}

func setupAudit(flags *flag.FlagSet) func(context.Context, *cluster, []string) error {
	query := &auditQuery{}
	mark := flags.Bool("mark", false, "")
	count := flags.Bool("count", false, "")
	lines := flags.Bool("lines", false, "")
	by := flags.String("by", "", "")
	flags.Int64Var(&query.since, "since", 0, "")
	for name, want := range query.filters() {
		flags.Var(want, name, "")
	}
	return func(_ context.Context, c *cluster, _ []string) error {
		path := c.auditLog()
		switch {
		case *mark:
			return printAuditMark(path)
		case *count:
			return query.printCount(path)
		case *lines:
			return query.printLines(path)
		case *by != "":
			return query.printTable(path, strings.Split(*by, ","))
		}
		fmt.Println(path)
		return nil
	}
}

func setupGuard(*flag.FlagSet) func(context.Context, *cluster, []string) error {
	return func(ctx context.Context, c *cluster, args []string) error { return c.guard(ctx, args[0]) }
}
