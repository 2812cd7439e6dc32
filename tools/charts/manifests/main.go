// Command manifests renders the charts to plain manifests, for users without Helm. It runs in the root of the
// repository.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/holdfast-project/holdfast/tools/charts/plain"
)

func main() {
	output := flag.String("output", "", "output directory for the manifests")
	registry := flag.String("registry", "", "image registry, with an optional path")
	tag := flag.String("tag", "", "image tag")
	flag.Parse()
	if err := write(*output, *registry, *tag); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func write(output, registry, tag string) error {
	if registry == "" || tag == "" {
		return errors.New("the images need a registry and a tag: make manifests REGISTRY=registry.example/holdfast IMAGE_TAG=v0.1.0")
	}
	return plain.Write("charts", output, registry, tag)
}
