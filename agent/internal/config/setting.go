package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// setting is one flag. Its value stays a string until check.go parses it, so that all problems are found together.
type setting struct {
	flag    string
	env     string // variable that gives the default; named in messages
	initial string // default without flag and variable
	usage   string
	fix     string // what to do if it is missing or invalid
	value   string
}

// settings holds settings by flag name.
type settings map[string]*setting

// fromEnv returns the value that the environment gives, or the default.
func (s *setting) fromEnv(getenv func(string) string) string {
	names := strings.Split(s.env, ", ")
	values := make([]string, len(names))
	some := false
	for i, name := range names {
		values[i] = getenv(name)
		some = some || values[i] != ""
	}
	if !some {
		return s.initial
	}
	return strings.Join(values, "-")
}

// parse reads the arguments. It records invalid arguments and continues.
func (s settings) parse(args []string, title string, p *problems) error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, one := range s {
		flags.StringVar(&one.value, one.flag, one.value, fmt.Sprintf("%s (environment: %s)", one.usage, one.env))
	}
	for len(args) > 0 {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			return Help(usage(title, flags))
		case err != nil:
			p.add("%v", err)
			args = flags.Args()
		case flags.NArg() > 0:
			p.add("unexpected argument %q: every setting is a flag --name=value", flags.Arg(0))
			args = flags.Args()[1:]
		default:
			args = nil
		}
	}
	return nil
}

func usage(title string, f *flag.FlagSet) string {
	var out strings.Builder
	out.WriteString(title + "\n\n")
	f.SetOutput(&out)
	f.PrintDefaults()
	return out.String()
}
