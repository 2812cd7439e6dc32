package orchestrator

import (
	"context"
	"fmt"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Lease reads the leader's token from the Lease that it holds. The token increases with every change of leader, and with every new
// Lease object, so the store can reject a leader that does not know that it was replaced. A process that loses its Lease exits, so
// the token is read once.
type Lease struct {
	Live     client.Reader
	Key      types.NamespacedName
	Identity string

	mu    sync.Mutex
	token *coordination.Token
}

// Token returns the token of this leader. It returns an error while this process does not hold the Lease.
func (l *Lease) Token(ctx context.Context) (coordination.Token, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != nil {
		return *l.token, nil
	}
	var lease coordinationv1.Lease
	if err := l.Live.Get(ctx, l.Key, &lease); err != nil {
		return coordination.Token{}, fmt.Errorf("reading Lease %s: %w", l.Key, err)
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != l.Identity {
		return coordination.Token{}, fmt.Errorf("the leader is %q, not this process (%q): Lease %s", holder, l.Identity, l.Key)
	}
	l.token = &coordination.Token{
		LeaseCreated: lease.CreationTimestamp.Unix(),
		Transitions:  int64(ptr.Deref(lease.Spec.LeaseTransitions, 0)),
	}
	return *l.token, nil
}

// Tokens returns the token of the leader; see Lease.
type Tokens interface {
	Token(ctx context.Context) (coordination.Token, error)
}
