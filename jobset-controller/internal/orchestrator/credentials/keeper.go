// Package credentials gives the agents of each JobSet their own user of the store: a generated password, a Secret that delivers it
// to the pods, and an access rule for the JobSet's group and nothing else.
//
// The orchestrator reads no Secrets. An annotation of the JobSet keeps what it needs later, the hashes of the passwords. A hash of
// 256 random bits reveals nothing about the password.
//
//	next password       annotation: hashes [new, old], pending     durable before anyone uses it
//	                    store: both are valid
//	                    Secret: new                                agents read the file on each connection
//	                    annotation: no longer pending
//	after the overlap   annotation: hashes [new]; store: only the new one
//
// A step that fails is retried with the same password. A leader may also die after any step. The next leader finds the annotation,
// and either continues or, if it needs the password itself, starts over with another one. However often that happens, two passwords
// stay valid: the one last known to be in the Secret, and the last one that the previous leader generated.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
)

// Users is what the keeper needs of the store. A user is identified by its group, which is the UID of the group's owner. Passwords
// are given as hashes.
type Users interface {
	SetUsers(ctx context.Context, hashes map[string][]string) error
	Users(ctx context.Context) (map[string][]string, error)
	DropUser(ctx context.Context, group string) error
	Tidy(ctx context.Context) (map[string]int64, error)
	Drop(ctx context.Context, group string) error
}

// Keeper manages the credentials of all groups. It is safe for concurrent use.
type Keeper struct {
	Client client.Client
	Live   client.Reader // reads from the API server instead of the cache
	Users  Users
	CAFile string // certificates that Secrets contain in addition to the password; empty if the store does not use TLS
	Ages   Ages
	// Owners lists the owners whose groups have users; nil means JobSets.
	Owners   *owners.Lister
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	mu    sync.Mutex
	known map[types.UID]user
}

// user is what a keeper knows about a group's user in addition to its record.
type user struct {
	applied string    // digest of the passwords last set in the store; empty if unknown
	looked  time.Time // when the Secret was last known to exist
	begun   string    // password that is being written into the Secret; empty if none
}

func (k *Keeper) user(uid types.UID) user {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[uid]
}

func (k *Keeper) update(uid types.UID, change func(*user)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[types.UID]user{}
	}
	u := k.known[uid]
	change(&u)
	k.known[uid] = u
}

func (k *Keeper) forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, uid)
}

// StoreError means that a request to the store failed.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return e.Err.Error() }

func (e *StoreError) Unwrap() error { return e.Err }

// Save writes a record to the annotation of an owner, in one compare-and-set.
type Save func(Record) error

// Keep performs the next step for the credentials of a group, given its owner, and updates the store. The first Secret does not
// wait for the store, because pods wait for it. But a password that replaces another is not written to the Secret before the store
// has it.
//
// It returns a StoreError or an error of the API server, possibly a conflict.
func (k *Keeper) Keep(ctx context.Context, owner client.Object, save Save) error {
	record, now := Of(owner.GetAnnotations()), k.Clock.Now()
	request := owner.GetAnnotations()[RotateAnnotation]
	step := Next(record, request, now, k.Ages)
	if step == Keep && record.Revoked == "" {
		missing, err := k.isMissing(ctx, owner, now)
		if err != nil {
			return err
		}
		if missing {
			step = Renew
		}
	}
	switch step {
	case Renew:
		return k.renew(ctx, owner, record, request, save)
	case Retire:
		next := record.retired()
		if err := save(next); err != nil {
			return err
		}
		record = &next
	}
	return k.apply(ctx, owner.GetUID(), record)
}

// renew delivers a new password to the pods. A failure is retried with the same password, because each abandoned password takes one
// of the few places in the record. The keeper forgets the password once the record says that the Secret has it.
func (k *Keeper) renew(ctx context.Context, owner client.Object, record *Record, request string, save Save) error {
	uid := owner.GetUID()
	password, next := k.user(uid).begun, ptr.Deref(record, Record{})
	if password != "" && record.waitsFor(password) {
		next.Request = request
	} else {
		password = newPassword()
		next = record.with(hashOf(password), request, k.Clock.Now())
	}
	if record == nil || next.Format() != record.Format() {
		if err := save(next); err != nil {
			return err
		}
	}
	k.update(uid, func(u *user) { u.begun = password })
	applied := k.apply(ctx, uid, &next)
	if applied != nil && len(next.Hashes) > 1 {
		return applied
	}
	if err := k.writeSecret(ctx, owner, password); err != nil {
		return err
	}
	if err := save(next.written(k.Clock.Now())); err != nil {
		return errors.Join(err, applied)
	}
	k.update(uid, func(u *user) { u.begun = "" })
	return applied
}

// writeSecret creates or overwrites the Secret without reading it. An existing Secret of that name belongs to a deleted owner of
// the same name.
func (k *Keeper) writeSecret(ctx context.Context, owner client.Object, password string) error {
	var ca []byte
	var err error
	if k.CAFile != "" {
		if ca, err = os.ReadFile(k.CAFile); err != nil {
			return fmt.Errorf("reading the store's CA for the agents: %w", err)
		}
	}
	err = k.Client.Create(ctx, secret(owner, password, ca))
	if apierrors.IsAlreadyExists(err) {
		err = k.Client.Update(ctx, secret(owner, password, ca))
	}
	if err != nil {
		return fmt.Errorf("writing the Secret with the store's password: %w", err)
	}
	k.update(owner.GetUID(), func(u *user) { u.looked = k.Clock.Now() })
	return nil
}

// lookEvery is how often the keeper checks that a Secret exists. Without the Secret no new pod starts.
const lookEvery = 5 * time.Minute

// isMissing checks for the Secret by a dry-run creation, which needs no permission to read. If the API server rejects the request
// earlier, for example because a quota is used up, the answer is unknown. The Secret then counts as existing, because it could not
// be created either.
func (k *Keeper) isMissing(ctx context.Context, owner client.Object, now time.Time) (bool, error) {
	if now.Sub(k.user(owner.GetUID()).looked) < lookEvery {
		return false, nil
	}
	err := k.Client.Create(ctx, secret(owner, "", nil), client.DryRunAll)
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		k.update(owner.GetUID(), func(u *user) { u.looked = now })
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking whether the Secret with the store's password is there: %w", err)
	}
	return true, nil
}

// apply sets the passwords of a record in the store, unless they are already set.
func (k *Keeper) apply(ctx context.Context, uid types.UID, record *Record) error {
	valid := record.Valid()
	if k.user(uid).applied == digest(valid) {
		return nil
	}
	return k.setUser(ctx, uid, valid)
}

func (k *Keeper) setUser(ctx context.Context, uid types.UID, valid []string) error {
	var err error
	if len(valid) == 0 {
		err = k.Users.DropUser(ctx, string(uid))
	} else {
		err = k.Users.SetUsers(ctx, map[string][]string{string(uid): valid})
	}
	if err != nil {
		return &StoreError{err}
	}
	k.update(uid, func(u *user) { u.applied = digest(valid) })
	return nil
}

// digest returns a digest of a user's passwords. It is not empty even if there are none.
func digest(hashes []string) string {
	return fmt.Sprint(slices.Sorted(slices.Values(hashes)))
}
