// SPDX-License-Identifier: Apache-2.0

// Command controlplane is a Kubernetes control plane in one file, for tests:
// the program to be is chosen by the base name of argv[0] or by the first
// argument, so each component still is a process of its own that can be
// stopped, killed and started again.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// programs maps a program's name to what runs it with os.Args set; the int is
// its exit status.
var programs = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          cobraProgram(apiserver.NewAPIServerCommand),
	"kube-controller-manager": cobraProgram(controllermanager.NewControllerManagerCommand),
	"kubectl":                 runKubectl,
	"podsim":                  ownProgram(runPodsim),
	"compact":                 ownProgram(runCompact),
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

// runKubectl leaves the wording of errors to kubectl, as its own main does.
func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

func cobraProgram(newCommand func() *cobra.Command) func() int {
	return func() int { return cli.Run(newCommand()) }
}

// ownProgram wraps a tool of ours: one line on stderr and status 1 on failure.
func ownProgram(run func(args []string) error) func() int {
	return func() int {
		if err := run(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
			return 1
		}
		return 0
	}
}

func main() {
	run, ok := programs[filepath.Base(os.Args[0])]
	if !ok && len(os.Args) > 1 {
		if run, ok = programs[os.Args[1]]; ok {
			os.Args = os.Args[1:]
		}
	}
	if !ok {
		fmt.Fprintf(os.Stderr, "usage: %s PROGRAM [ARGUMENT…]\nprograms: %s\n",
			filepath.Base(os.Args[0]), strings.Join(programNames(), " "))
		os.Exit(2)
	}
	os.Exit(run())
}

func programNames() []string {
	names := make([]string, 0, len(programs))
	for name := range programs {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
