// Command rendezvous is the managed rendezvous server of an ElasticJob, for torch agents with the c10d backend.
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
	context.AfterFunc(ctx, stop) // a second signal terminates the process
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
		o.server.Log.Error("server failed", "error", err)
		return exitFailed
	}
	return exitOK
}

type options struct {
	flags   *pflag.FlagSet
	listen  string
	metrics string
	server  server.Config
}

func newOptions() *options {
	o := &options{flags: pflag.NewFlagSet("rendezvous", pflag.ContinueOnError), server: server.Defaults()}
	c, f := &o.server, o.flags
	f.StringVar(&c.RunID, "run-id", "", "Rendezvous ID of the job (required). Requests for keys of other jobs are rejected.")
	f.StringVar(&o.listen, "listen", ":29400", "Listen address for workers.")
	f.StringVar(&o.metrics, "metrics", ":8080", "Listen address for /status, /healthz and /metrics.")
	return o
}

func (o *options) parse(args []string) error {
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	if o.flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", o.flags.Arg(0))
	}
	c := &o.server
	if c.RunID == "" {
		return errors.New("--run-id is required")
	}
	c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	return nil
}

func serve(ctx context.Context, o *options) error {
	s := server.New(o.server)
	workers, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening for workers: %w", err)
	}
	metrics, err := net.Listen("tcp", o.metrics)
	if err != nil {
		return errors.Join(fmt.Errorf("listening for metrics and probes: %w", err), workers.Close())
	}
	web := &http.Server{Handler: s.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() { _ = web.Serve(metrics) }()
	defer web.Close()
	o.server.Log.Info("serving", "run", o.server.RunID, "workers", workers.Addr().String(), "metrics", metrics.Addr().String())
	return s.Serve(ctx, workers)
}
