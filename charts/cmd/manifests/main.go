// Command manifests writes plain manifests of the charts, for those who do not use Helm. It runs in the folder of the charts.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/holdfast-project/holdfast/charts/internal/plain"
)

func main() {
	output := flag.String("output", "", "folder of the manifests")
	flag.Parse()
	if err := plain.Write(".", *output); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}
