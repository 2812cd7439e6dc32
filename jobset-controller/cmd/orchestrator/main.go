// Command orchestrator leads in-place restarts (seed 000): beside the JobSet manager in its pod, or in its own deployment.
package main

import (
	"os"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/app"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

func main() { os.Exit(bootstrap.Main("orchestrator", app.NewOptions(), os.Args[1:])) }
