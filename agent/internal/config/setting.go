package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/grace"
)

// setting is one flag. Its value stays a string until all arguments are read, so that all problems are found together.
type setting struct {
	flag     string
	env      string // environment variables whose values, joined by dashes, are the default; named in messages
	initial  string // default if neither the flag nor the variable is set
	usage    string // what it means and where its value comes from; part of errors
	optional bool   // may be empty, in which case it is not parsed
	parse    func(value string) error
	value    string
}

// newSetting returns a setting that must not be empty.
func newSetting(flag, env string, parse func(string) error, usage string) *setting {
	return &setting{flag: flag, env: env, parse: parse, usage: usage}
}

func (s *setting) orNone() *setting {
	s.optional = true
	return s
}

// or sets the default.
func (s *setting) or(initial string) *setting {
	s.initial = initial
	return s
}

// reader reads a program's settings. A flag takes precedence over its environment variable, which takes precedence over
// the default.
type reader struct {
	title    string
	settings []*setting
	problems Problems
}

// read reads all settings. It records problems and continues. The only error that it returns is a Help.
func (r *reader) read(args []string, getenv func(string) string) error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, s := range r.settings {
		flags.StringVar(&s.value, s.flag, s.fromEnv(getenv), fmt.Sprintf("%s (environment: %s)", s.usage, s.env))
	}
	for len(args) > 0 {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			return Help(usage(r.title, flags))
		case err != nil:
			r.add("%v", err)
			args = flags.Args()
		case flags.NArg() > 0:
			r.add("unexpected argument %q: every setting is a flag --name=value", flags.Arg(0))
			args = flags.Args()[1:]
		default:
			args = nil
		}
	}
	for _, s := range r.settings {
		if err := s.check(); err != nil {
			r.bad(s.flag, err.Error())
		}
	}
	return nil
}

func (r *reader) add(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// bad records what is wrong with a setting, what it means, and where it is set.
func (r *reader) bad(name, what string) {
	i := slices.IndexFunc(r.settings, func(s *setting) bool { return s.flag == name })
	r.add("--%s (%s; environment: %s) %s", name, r.settings[i].usage, r.settings[i].env, what)
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.problems
}

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

var unexpanded = regexp.MustCompile(`\$\([A-Za-z_][A-Za-z0-9_.-]*\)`)

// check parses the value. Kubernetes leaves $(NAME) unexpanded if the variable is not defined before it.
func (s *setting) check() error {
	if left := unexpanded.FindAllString(s.value, -1); left != nil {
		return fmt.Errorf("is %q: %s was not expanded, because the container defines no such variable", s.value, strings.Join(left, ", "))
	}
	switch {
	case s.value != "":
		return s.parse(s.value)
	case !s.optional:
		return errors.New("is missing")
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

func text(into *string) func(string) error {
	return func(v string) error {
		*into = v
		return nil
	}
}

// matching accepts values that are valid. what describes the expected value in the error for any other value, such as "a
// name".
func matching(into *string, valid func(string) bool, what string) func(string) error {
	return func(v string) error {
		if !valid(v) {
			return fmt.Errorf("is %q, not %s", v, what)
		}
		*into = v
		return nil
	}
}

// number accepts whole numbers greater than or equal to least.
func number[N int | int64](into *N, least int64) func(string) error {
	return func(v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < least {
			return fmt.Errorf("is %q, not a number of at least %d", v, least)
		}
		*into = N(n)
		return nil
	}
}

func flagValue(into *bool) func(string) error {
	return func(v string) (err error) {
		if *into, err = strconv.ParseBool(v); err != nil {
			return fmt.Errorf("is %q, neither true nor false", v)
		}
		return nil
	}
}

func duration(into *time.Duration, least time.Duration) func(string) error {
	return func(v string) (err error) {
		if *into, err = (grace.Rule{Name: "duration", Minimum: least}).Parse(v); err != nil {
			return fmt.Errorf("is invalid: %w", err)
		}
		return nil
	}
}

// period accepts 0s, and durations of a second or more.
func period(into *time.Duration) func(string) error {
	return func(v string) error {
		if v == "0s" {
			return nil
		}
		return duration(into, time.Second)(v)
	}
}

func level(into *slog.Level) func(string) error {
	return func(v string) error {
		if into.UnmarshalText([]byte(v)) != nil {
			return fmt.Errorf("is %q, not debug, info, warn or error", v)
		}
		return nil
	}
}

// socket accepts an absolute path, with or without unix://.
func socket(into *string) func(string) error {
	return func(v string) error {
		if *into = strings.TrimPrefix(v, "unix://"); !filepath.IsAbs(*into) {
			return fmt.Errorf("is %q, not an absolute path", v)
		}
		return nil
	}
}

func isAddress(v string) bool {
	host, port, err := net.SplitHostPort(v)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n > 0 && host != ""
}

// file accepts the path of a readable file.
func file(into *string) func(string) error {
	return func(v string) error {
		*into = v
		f, err := os.Open(v)
		if err != nil {
			return fmt.Errorf("cannot be read: %w", err)
		}
		return f.Close()
	}
}

// folder accepts the path of a writable directory.
func folder(into *string) func(string) error {
	return func(v string) error {
		*into = v
		temp, err := os.CreateTemp(v, ".probe.*")
		if err != nil {
			return fmt.Errorf("cannot be written to: %w", err)
		}
		return errors.Join(temp.Close(), os.Remove(temp.Name()))
	}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variables accepts names of environment variables, separated by commas.
func variables(into *[]string) func(string) error {
	return func(v string) error {
		list := strings.Split(v, ",")
		if slices.ContainsFunc(list, func(name string) bool { return !variableName.MatchString(name) }) {
			return fmt.Errorf("is %q, not names of variables, separated by commas", v)
		}
		*into = list
		return nil
	}
}
