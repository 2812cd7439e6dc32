// Command manager runs the elastic operator.
package main

import (
	"os"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/app"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

func main() { os.Exit(bootstrap.Main("elastic-operator", app.NewOptions(), os.Args[1:])) }
