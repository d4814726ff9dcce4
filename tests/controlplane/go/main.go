// Command controlplane is etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler in one binary, because linking them together takes a third of
// the time and space of four programs. The name that it is called by, or else
// the first argument, says which part to be; each part is a process of its own,
// so that a test can stop, pause or restart it alone.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// parts maps the name of each part to its main function, which returns the exit code.
var parts = map[string]func() int{
	"etcd": func() int {
		etcdmain.Main(os.Args) // exits by itself when it fails
		return 0
	},
	"kube-apiserver":          func() int { return run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return run(scheduler.NewSchedulerCommand()) },
}

func run(command *cobra.Command) int {
	return cli.Run(command)
}

func main() {
	args := os.Args
	name := filepath.Base(args[0])
	if _, known := parts[name]; !known && len(args) > 1 {
		args = args[1:]
		name = args[0]
	}
	part, known := parts[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]")
		os.Exit(2)
	}
	// Each part takes its own name from here: for --version, logs and its user agent.
	os.Args = append([]string{name}, args[1:]...)
	os.Exit(part())
}
