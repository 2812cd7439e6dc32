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

func main() {
	config := server.Defaults()
	flags := pflag.NewFlagSet("rendezvous", pflag.ExitOnError)
	flags.StringVar(&config.RunID, "run-id", "", "Rendezvous ID of the job (required). Requests for keys of other jobs are rejected.")
	listen := flags.String("listen", ":29400", "Listen address for workers.")
	metrics := flags.String("metrics", ":8080", "Listen address for /status, /healthz and /metrics.")
	_ = flags.Parse(os.Args[1:]) // exits on errors
	if flags.NArg() > 0 || config.RunID == "" {
		fmt.Fprintln(os.Stderr, "rendezvous: --run-id is required, and all arguments must be flags")
		os.Exit(2)
	}
	config.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal terminates the process
	if err := serve(ctx, config, *listen, *metrics); err != nil {
		config.Log.Error("server failed", "error", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, config server.Config, listen, metricsAddress string) error {
	s := server.New(config)
	workers, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listening for workers: %w", err)
	}
	metrics, err := net.Listen("tcp", metricsAddress)
	if err != nil {
		return errors.Join(fmt.Errorf("listening for metrics and probes: %w", err), workers.Close())
	}
	web := &http.Server{Handler: s.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() { _ = web.Serve(metrics) }()
	defer web.Close()
	config.Log.Info("serving", "run", config.RunID, "workers", workers.Addr().String(), "metrics", metrics.Addr().String())
	return s.Serve(ctx, workers)
}
