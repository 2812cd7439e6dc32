// Command orchestrator manages in-place restarts (JobSet KEP-876). It runs in the pod of the JobSet manager, or in a
// Deployment of its own.
package main

import (
	"os"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/app"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

func main() { os.Exit(bootstrap.Main("orchestrator", app.NewOptions(), os.Args[1:])) }
