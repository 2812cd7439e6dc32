// Command manager runs the rescheduler: the controller and the webhook.
package main

import (
	"os"

	"github.com/holdfast-project/holdfast/rescheduler/internal/app"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

func main() { os.Exit(bootstrap.Main("rescheduler", app.NewOptions(), os.Args[1:])) }
