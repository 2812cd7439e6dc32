package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
)

// storeInfo reads the store's counters.
type storeInfo struct{ client *redis.Client }

func newStoreInfo(address string) *storeInfo {
	return &storeInfo{redis.NewClient(&redis.Options{Addr: address, Protocol: 2})}
}

func (s *storeInfo) Close() error { return s.client.Close() }

func (s *storeInfo) read(ctx context.Context, u *results.Usage) error {
	text, err := s.client.Info(ctx, "everything").Result()
	if err != nil {
		return fmt.Errorf("reading the counters of the store: %w", err)
	}
	u.Store = outside(commandsIn(text))
	u.Inside = fieldIn(text, "total_commands_processed")
	u.StoreMiB = fieldIn(text, "used_memory") / (1 << 20)
	u.StoreConnections = fieldIn(text, "connected_clients")
	return nil
}

// asked are the commands that come from outside. All others are called by functions.
var asked = []string{"fcall", "fcall_ro", "ping", "subscribe", "psubscribe", "function|load", "function|list", "hello", "client|setname"}

func outside(all map[string]float64) map[string]float64 {
	some := map[string]float64{}
	for _, name := range asked {
		if n := all[name]; n > 0 {
			some[name] = n
		}
	}
	return some
}

// commandsIn parses the lines cmdstat_NAME:calls=N,... of INFO.
func commandsIn(info string) map[string]float64 {
	calls := map[string]float64{}
	for line := range strings.Lines(info) {
		name, rest, found := strings.Cut(line, ":calls=")
		if !found || !strings.HasPrefix(name, "cmdstat_") {
			continue
		}
		number, _, _ := strings.Cut(rest, ",")
		if n, err := strconv.ParseFloat(number, 64); err == nil {
			calls[strings.TrimPrefix(name, "cmdstat_")] = n
		}
	}
	return calls
}

// fieldIn returns one number from INFO, or 0 if it is absent.
func fieldIn(info, name string) float64 {
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			n, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return n
		}
	}
	return 0
}
