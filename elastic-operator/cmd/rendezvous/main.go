// Command rendezvous is the managed rendezvous of ElasticJobs: where torch's agents meet, over the backends c10d, etcd and etcd-v2, all on one port.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/jobs"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/server"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal has its default effect again
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	o := newOptions()
	err := o.parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintf(os.Stderr, "rendezvous: %v\n", err)
		return exitUsage
	}
	if err := serve(ctx, o); err != nil {
		o.server.Log.Error("the server has failed", "error", err)
		return exitFailed
	}
	return exitOK
}

type options struct {
	flags   *pflag.FlagSet
	jobs    []string
	listen  string
	metrics string
	server  server.Config
}

func newOptions() *options {
	o := &options{flags: pflag.NewFlagSet("rendezvous", pflag.ContinueOnError), server: server.Defaults()}
	c, f := &o.server, o.flags
	f.StringSliceVar(&o.jobs, "jobs", nil, "The jobs that are served, <namespace>/<name>=<run id> each, or <namespace>/<name> for one whose run id is its name. Keys of others are refused.")
	f.StringVar(&o.listen, "listen", ":29400", "The address for workers. What they speak, TCPStore or etcd's v2 API, is told by their first bytes.")
	f.StringVar(&o.metrics, "metrics", ":8080", "The address for /status, /healthz and /metrics.")
	f.IntVar(&c.Quota.Keys, "max-keys", c.Quota.Keys, "How many keys a job may keep, per protocol.")
	f.Int64Var(&c.Quota.Bytes, "max-bytes", c.Quota.Bytes, "How many bytes a job may keep, per protocol.")
	f.IntVar(&c.Value, "max-value", c.Value, "How many bytes a value may have.")
	f.IntVar(&c.Connections, "max-connections", c.Connections, "How many connections there may be at a time.")
	f.DurationVar(&c.Patience, "client-timeout", c.Patience, "How long a client may take to finish a message that it has begun, or to take a reply.")
	f.DurationVar(&c.Healing.Grace, "close-grace", c.Healing.Grace, "How long a rendezvous stays closed whose agents have all come to their end.")
	f.DurationVar(&c.Healing.Gap, "open-gap", c.Healing.Gap, "The least time between two times that a rendezvous is opened again.")
	return o
}

func (o *options) parse(args []string) error {
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	if o.flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", o.flags.Arg(0))
	}
	table, err := jobs.Parse(o.jobs)
	if err != nil {
		return fmt.Errorf("--jobs: %w", err)
	}
	c := &o.server
	for name, positive := range map[string]bool{
		"max-keys": c.Quota.Keys > 0, "max-bytes": c.Quota.Bytes > 0, "max-value": c.Value > 0, "max-connections": c.Connections > 0,
		"client-timeout": c.Patience > 0, "close-grace": c.Healing.Grace >= 0, "open-gap": c.Healing.Gap >= 0,
	} {
		if !positive {
			return fmt.Errorf("--%s: must be positive", name)
		}
	}
	c.Jobs = table
	c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	return nil
}

func serve(ctx context.Context, o *options) error {
	s, err := server.New(o.server)
	if err != nil {
		return err
	}
	workers, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening for workers: %w", err)
	}
	people, err := net.Listen("tcp", o.metrics)
	if err != nil {
		return errors.Join(fmt.Errorf("listening for probes: %w", err), workers.Close())
	}
	side := &http.Server{Handler: s.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() { _ = side.Serve(people) }()
	defer side.Close()
	o.server.Log.Info("serving", "jobs", o.server.Jobs.Names(), "workers", workers.Addr().String(), "metrics", people.Addr().String())
	return s.Serve(ctx, workers)
}
