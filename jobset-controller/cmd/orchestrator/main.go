// Command orchestrator leads in-place restarts (seed 000): beside the JobSet manager in its pod, or alone.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/app"
)

func main() {
	var o app.Options
	o.Flags(pflag.CommandLine)
	pflag.Parse()
	if err := o.Validate(); err != nil {
		fail(2, err)
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.Zap)))
	if err := app.Run(ctrl.SetupSignalHandler(), o); err != nil {
		fail(1, err)
	}
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "orchestrator:", err)
	os.Exit(code)
}
