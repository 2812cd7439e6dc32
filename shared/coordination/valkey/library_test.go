package valkey

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// earlier is a library of this protocol version with different code.
const earlier = "#!lua name=holdfast" + rounds.Version + "\nredis.register_function('hf" + rounds.Version + "_old', function() return 1 end)"

func TestLibraryIsLoadedOnceAndReplacedIfItDiffers(t *testing.T) {
	server := newServer(t)
	server.do("FUNCTION", "LOAD", "#!lua name=holdfast_of_others\nredis.register_function('theirs', function() return 1 end)")
	server.do("CONFIG", "RESETSTAT")
	store := server.store(t)
	for range 3 {
		if err := store.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := server.calls("function|load"); n != 1 {
		t.Errorf("loaded %d times, want 1", n)
	}
	server.do("FUNCTION", "LOAD", "REPLACE", earlier)
	if err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, store)
}

func TestLeaderLoadsItsFunctionsOnConnect(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := newServer(t)
	server.do("FUNCTION", "LOAD", earlier)
	connected, ended := make(chan string, 8), make(chan struct{})
	store := server.store(t)
	go func() {
		defer close(ended)
		store.WatchAll(ctx, func(group string) { connected <- group })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	if group := <-connected; group != "" {
		t.Fatalf("the first notification is for %q, want the one for the connection", group)
	}
	if code := server.admin.FunctionList(ctx, redis.FunctionListQuery{WithCode: true}).Val()[0].Code; code != rounds.Library {
		t.Error("the previous leader's functions are still loaded")
	}
}

func TestOtherLibrariesAreKept(t *testing.T) {
	server := newServer(t)
	server.do("FUNCTION", "LOAD", "#!lua name=other\nredis.register_function('other', function() return 1 end)")
	mustOpen(t, server.store(t))
	if got := server.do("FCALL", "other", 0); got != int64(1) {
		t.Errorf("the other function returns %v, want 1", got)
	}
}

func TestLibraryWorksWithBothProtocols(t *testing.T) {
	server := newServer(t)
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: server.address, Protocol: protocol})
		defer client.Close()
		server.do("FLUSHALL")
		if err := client.FunctionLoadReplace(t.Context(), rounds.Library).Err(); err != nil {
			t.Fatalf("RESP%d: %v", protocol, err)
		}
		store := server.store(t)
		store.client = client
		mustOpen(t, store)
		mustJoin(t, store)
		mustCall(t, store, aDeath(0))
	}
}

func TestMissingFunctionMeansAnEmptyStoreToAgents(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	for _, call := range memberCalls() {
		if _, _, err := store.Call(t.Context(), uid, call); !errors.Is(err, coordination.ErrNoGroup) {
			t.Errorf("%s: %v, want %v", call.Function, err, coordination.ErrNoGroup)
		}
	}
	if n := server.calls("function|load"); n != 0 {
		t.Errorf("an agent loaded the library")
	}
	mustOpen(t, store)
	if n := server.calls("function|load"); n != 1 {
		t.Errorf("the leader loaded the library %d times, want 1", n)
	}
}

// memberCalls returns one call of each kind, in an order in which each of them changes a running group.
func memberCalls() []rounds.Call {
	return []rounds.Call{
		aJoin(0), aJoin(1), aDeath(0), rounds.Lost("A", 0, slotOf(0), 2, 1), rounds.Finish("A", 0, slotOf(0), memberOf(0).ID, false),
		rounds.Ask("A", 0, slotOf(0), coordination.KindGap),
	}
}
