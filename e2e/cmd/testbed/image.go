package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-project/holdfast/e2e/testbed/image"
)

func imageCommand() *cobra.Command {
	var wanted image.Image
	var files []string
	command := &cobra.Command{
		Use:     "image ARCHIVE.tar",
		Short:   "Build an image archive from static programs",
		Example: "  testbed image agent.tar --name localhost/agent:1 --file /agent=bin/agent --entrypoint /agent",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			wanted.Files = map[string]string{}
			for _, file := range files {
				path, source, found := strings.Cut(file, "=")
				if !found {
					return fmt.Errorf("--file %q is not of the form PATH=SOURCE", file)
				}
				wanted.Files[path] = source
			}
			return wanted.Write(args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&wanted.Name, "name", "", "full name with a tag")
	flags.StringArrayVar(&files, "file", nil, "a file, as PATH=SOURCE; may be repeated")
	flags.StringSliceVar(&wanted.Entrypoint, "entrypoint", nil, "program and arguments, separated by commas")
	flags.StringVar(&wanted.User, "user", "", "user, preferably a numeric ID")
	_ = command.MarkFlagRequired("name")
	_ = command.MarkFlagRequired("file")
	return command
}
