// Command manager runs the AppWrapper controller.
package main

import (
	"os"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/app"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

func main() { os.Exit(bootstrap.Main("appwrapper", app.NewOptions(), os.Args[1:])) }
