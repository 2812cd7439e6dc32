package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const (
	storeProgram = "valkey-server"
	// spareConnections is the number of connections for the orchestrator, for spares, and for pods that end while their successors start.
	spareConnections = 500
)

// startStore starts a store with the chart's settings: TLS, an append-only file, and users for which the orchestrator issues
// passwords. The environment then reads groups from it.
func (b *benchmark) startStore(ctx context.Context) (err error) {
	if b.store, err = members.StartDurableServer(ctx, storeProgram, connections(b.workers)+spareConnections); err != nil {
		return err
	}
	_ = b.env.Store.Close()
	b.env.Store, err = valkey.New(b.store.Options)
	return err
}

// reach returns the options that a JobSet's agents use to connect to the store. The user and the password come from the JobSet's Secret.
func (b *benchmark) reach(pod *corev1.Pod) (valkey.Options, error) {
	ctx, cancel := context.WithTimeout(context.Background(), secretPatience)
	defer cancel()
	var secret corev1.Secret
	key := types.NamespacedName{Namespace: pod.Namespace, Name: "holdfast-store-" + pod.Annotations[v1alpha2.JobSetNameKey]}
	if err := until(ctx, "the Secret exists", interval, func(ctx context.Context) error { return b.env.Client.Get(ctx, key, &secret) }); err != nil {
		return valkey.Options{}, err
	}
	o := b.store.Options
	o.Username, o.PasswordFile = string(secret.Data["username"]), filepath.Join(b.folder, string(secret.UID))
	return o, os.WriteFile(o.PasswordFile, secret.Data["password"], 0o600)
}

// secretPatience is how long agents wait for the Secret of their JobSet.
const secretPatience = time.Minute

func (b *benchmark) countStore(ctx context.Context, u *results.Usage) error {
	text, err := b.store.Info(ctx)
	if err != nil {
		return err
	}
	u.Store = outside(commandsIn(text))
	u.Inside = fieldIn(text, "total_commands_processed")
	u.StoreMiB = fieldIn(text, "used_memory") / (1 << 20)
	u.StoreConnections = fieldIn(text, "connected_clients")
	return nil
}

// asked lists the commands that clients send. All others are called by functions.
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
