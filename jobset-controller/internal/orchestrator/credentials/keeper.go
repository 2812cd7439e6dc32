package credentials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Users is the store as the keeper of its users needs it. Users go by their group, the UID of a JobSet; their passwords are
// given as hashes.
type Users interface {
	SetUsers(ctx context.Context, hashes map[string][]string) error
	Users(ctx context.Context) (map[string][]string, error)
	DropUser(ctx context.Context, group string) error
	Usage(ctx context.Context, groups []string) (map[string]int64, error)
	Erase(ctx context.Context, group string) error
}

// Keeper keeps the credentials of all JobSets. It is safe for concurrent use.
type Keeper struct {
	Client client.Client
	Live   client.Reader // reads past the cache
	Users  Users
	// CA returns what goes into Secrets beside the password, for a store that speaks TLS; nil without.
	CA       func() ([]byte, error)
	Ages     Ages
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	mu      sync.Mutex
	applied map[types.UID]string    // what the store was told last
	looked  map[types.UID]time.Time // when the Secret was last seen to be there
}

// StoreError marks that the store did not do what it was asked.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return e.Err.Error() }
func (e *StoreError) Unwrap() error { return e.Err }

// Save writes a record into the annotation of a JobSet, in one compare-and-set.
type Save func(Record) error

// Keep brings the credentials of a JobSet one step on, and the store up to them. The Secret does not wait for the store, for
// pods wait for it; but a password that replaces another is given to nobody before the store knows it.
//
// Errors: StoreError, those of the API server, a conflict among them.
func (k *Keeper) Keep(ctx context.Context, js *v1alpha2.JobSet, save Save) error {
	record, now := Of(js.Annotations), k.Clock.Now()
	request := js.Annotations[RotateAnnotation]
	step := Next(record, request, now, k.Ages)
	if step == Keep && record.Revoked == "" {
		missing, err := k.isMissing(ctx, js, now)
		if err != nil {
			return err
		}
		if missing {
			step = Renew
		}
	}
	switch step {
	case Renew:
		return k.renew(ctx, js, record, request, save)
	case Retire:
		next := record.retired()
		if err := save(next); err != nil {
			return err
		}
		record = &next
	}
	return k.apply(ctx, js.UID, record)
}

func (k *Keeper) renew(ctx context.Context, js *v1alpha2.JobSet, record *Record, request string, save Save) error {
	password := newPassword()
	next := record.with(hashOf(password), request, k.Clock.Now())
	if err := save(next); err != nil {
		return err
	}
	applied := k.apply(ctx, js.UID, &next)
	if applied != nil && len(next.Hashes) > 1 {
		return applied
	}
	if err := k.writeSecret(ctx, js, password); err != nil {
		return err
	}
	return errors.Join(save(next.written(k.Clock.Now())), applied)
}

// writeSecret replaces whatever has the Secret's name: one of a JobSet of the same name that was there before. It reads
// nothing.
func (k *Keeper) writeSecret(ctx context.Context, js *v1alpha2.JobSet, password string) error {
	ca, err := k.ca()
	if err != nil {
		return err
	}
	err = k.Client.Create(ctx, secret(js, password, ca))
	if apierrors.IsAlreadyExists(err) {
		err = k.Client.Update(ctx, secret(js, password, ca))
	}
	if err != nil {
		return fmt.Errorf("writing the Secret with the store's password: %w", err)
	}
	k.sawSecret(js.UID, k.Clock.Now())
	return nil
}

func (k *Keeper) ca() ([]byte, error) {
	if k.CA == nil {
		return nil, nil
	}
	return k.CA()
}

// lookEvery is how often it is asked whether a Secret is still there: without it no new pod starts.
const lookEvery = 5 * time.Minute

// isMissing asks by a creation that creates nothing, which needs no right to read.
func (k *Keeper) isMissing(ctx context.Context, js *v1alpha2.JobSet, now time.Time) (bool, error) {
	k.mu.Lock()
	due := now.Sub(k.looked[js.UID]) >= lookEvery
	k.mu.Unlock()
	if !due {
		return false, nil
	}
	err := k.Client.Create(ctx, secret(js, "", nil), client.DryRunAll)
	switch {
	case apierrors.IsAlreadyExists(err):
		k.sawSecret(js.UID, now)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking whether the Secret with the store's password is there: %w", err)
	}
	return true, nil
}

func (k *Keeper) sawSecret(uid types.UID, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.looked == nil {
		k.looked = map[types.UID]time.Time{}
	}
	k.looked[uid] = at
}

// apply tells the store what a record says, unless it was told so already.
func (k *Keeper) apply(ctx context.Context, uid types.UID, record *Record) error {
	valid := record.Valid()
	if k.knows(uid, valid) {
		return nil
	}
	return k.tell(ctx, uid, valid)
}

func (k *Keeper) tell(ctx context.Context, uid types.UID, valid []string) error {
	var err error
	if len(valid) == 0 {
		err = k.Users.DropUser(ctx, string(uid))
	} else {
		err = k.Users.SetUsers(ctx, map[string][]string{string(uid): valid})
	}
	if err != nil {
		return &StoreError{err}
	}
	k.told(uid, valid)
	return nil
}

func (k *Keeper) knows(uid types.UID, valid []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	told, ok := k.applied[uid]
	return ok && told == digest(valid)
}

func (k *Keeper) told(uid types.UID, valid []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.applied == nil {
		k.applied = map[types.UID]string{}
	}
	k.applied[uid] = digest(valid)
}

// forget what the store was told, of one JobSet.
func (k *Keeper) forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.applied, uid)
	delete(k.looked, uid)
}

func digest(hashes []string) string {
	return strings.Join(slices.Sorted(slices.Values(hashes)), " ")
}
