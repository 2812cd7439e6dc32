// Command manager runs the integration of ElasticJobs with Kueue.
package main

import (
	"os"

	"github.com/holdfast-project/holdfast/elastic-operator/kueue/internal/app"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

func main() { os.Exit(bootstrap.Main("elastic-kueue", app.NewOptions(), os.Args[1:])) }
