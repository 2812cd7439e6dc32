// Command manager runs the JobSet controller.
package main

import (
	"os"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/app"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

func main() { os.Exit(bootstrap.Main("jobset", app.NewOptions(), os.Args[1:])) }
