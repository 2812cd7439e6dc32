package credentials

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

var errDown = errors.New("the store is down")

// fakeUsers simulates only the store's users and the sizes of its groups.
type fakeUsers struct {
	users map[string][]string
	sizes map[string]int64
	calls int
	down  bool
}

func (f *fakeUsers) do(act func()) error {
	f.calls++
	if f.down {
		return errDown
	}
	act()
	return nil
}

func (f *fakeUsers) SetUsers(_ context.Context, hashes map[string][]string) error {
	return f.do(func() {
		for group, list := range hashes {
			f.users[group] = slices.Sorted(slices.Values(list))
		}
	})
}

func (f *fakeUsers) Users(context.Context) (users map[string][]string, err error) {
	err = f.do(func() { users = maps.Clone(f.users) })
	return users, err
}

func (f *fakeUsers) DropUser(_ context.Context, group string) error {
	return f.do(func() { delete(f.users, group) })
}

func (f *fakeUsers) Tidy(context.Context) (map[string]int64, error) {
	return f.sizes, f.do(func() {})
}

func (f *fakeUsers) Drop(_ context.Context, group string) error {
	return f.do(func() { delete(f.sizes, group) })
}

// rig is a JobSet, an API server whose Secrets the keeper cannot read, and a store.
type rig struct {
	*testing.T
	users  *fakeUsers
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder
	all    client.Client // client with all permissions
	keeper *Keeper
}

func newRig(t *testing.T) *rig {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha2.AddToScheme, clientgoscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	g := &rig{
		T: t, users: &fakeUsers{users: map[string][]string{}, sizes: map[string]int64{}},
		clock: clocktesting.NewFakePassiveClock(then), events: events.NewFakeRecorder(10),
	}
	all := fake.NewClientBuilder().WithScheme(scheme).WithObjects(jobSet()).Build()
	g.all = all
	forbidden := func(obj any) error {
		if _, is := obj.(*corev1.Secret); is {
			t.Error("the keeper reads a Secret")
		}
		return nil
	}
	blind := interceptor.NewClient(all, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return errors.Join(forbidden(obj), c.Get(ctx, key, obj, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if len(opts) == 0 {
				return c.Create(ctx, obj, opts...)
			}
			err := all.Get(ctx, client.ObjectKeyFromObject(obj), &corev1.Secret{}) // in a dry run, the API server only checks whether the name exists
			if err == nil {
				return apierrors.NewAlreadyExists(corev1.Resource("secrets"), obj.GetName())
			}
			return client.IgnoreNotFound(err)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			return errors.Join(forbidden(obj), c.Patch(ctx, obj, p, opts...))
		},
	})
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, []byte("the CA"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.keeper = &Keeper{Client: blind, Live: blind, Users: g.users, MaxAge: maxAge, Recorder: g.events, Clock: g.clock, CAFile: ca}
	return g
}

func jobSet() *v1alpha2.JobSet {
	return &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "js", UID: "uid-1"},
		Spec: v1alpha2.JobSetSpec{ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: "w", Replicas: 2, Template: batchv1.JobTemplateSpec{
			Spec: batchv1.JobSpec{Parallelism: ptr.To(int32(4))},
		}}}},
	}
}

func (g *rig) jobSet() *v1alpha2.JobSet {
	g.Helper()
	js := &v1alpha2.JobSet{}
	if err := g.all.Get(g.Context(), types.NamespacedName{Namespace: "ns", Name: "js"}, js); err != nil {
		g.Fatal(err)
	}
	return js
}

func (g *rig) record() *Record {
	g.Helper()
	return Of(g.jobSet().Annotations)
}

func (g *rig) save(r Record) error {
	js := g.jobSet()
	metav1.SetMetaDataAnnotation(&js.ObjectMeta, Annotation, r.Format())
	return g.all.Update(g.Context(), js)
}

func (g *rig) ask(request string) {
	g.Helper()
	js := g.jobSet()
	metav1.SetMetaDataAnnotation(&js.ObjectMeta, RotateAnnotation, request)
	if err := g.all.Update(g.Context(), js); err != nil {
		g.Fatal(err)
	}
}

func (g *rig) keep() error { return g.keeper.Keep(g.Context(), g.jobSet(), g.save) }

func (g *rig) mustKeep() {
	g.Helper()
	if err := g.keep(); err != nil {
		g.Fatal(err)
	}
}

func (g *rig) mustSweep() {
	g.Helper()
	if err := g.keeper.Sweep(g.Context()); err != nil {
		g.Fatal(err)
	}
}

// secret returns the Secret that pods mount, or nil if there is none.
func (g *rig) secret() *corev1.Secret {
	g.Helper()
	s := &corev1.Secret{}
	err := g.all.Get(g.Context(), types.NamespacedName{Namespace: "ns", Name: "holdfast-store-js"}, s)
	if client.IgnoreNotFound(err) != nil {
		g.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return s
}

// opens reports whether the password in the Secret is valid in the store.
func (g *rig) opens(password []byte) bool {
	return slices.Contains(g.users.users["uid-1"], hashOf(string(password)))
}

// Agents check the store's certificate against the CA in their Secret.
func TestNewCAReachesTheSecret(t *testing.T) {
	g := newRig(t)
	g.mustKeep()
	before := g.secret()
	g.mustKeep()
	if now := g.secret(); now.ResourceVersion != before.ResourceVersion {
		t.Error("the Secret was written again")
	}
	if err := os.WriteFile(g.keeper.CAFile, []byte("another CA"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.mustKeep()
	if now := g.secret(); string(now.Data["ca.crt"]) != "another CA" || !g.opens(now.Data["password"]) || !g.opens(before.Data["password"]) {
		t.Errorf("Secret %+v, users %v", now, g.users.users)
	}
}

func TestJobSetGetsASecretAndAUser(t *testing.T) {
	g := newRig(t)
	g.mustKeep()
	s := g.secret()
	if s == nil || string(s.Data["username"]) != "holdfast:uid-1" || string(s.Data["ca.crt"]) != "the CA" || !g.opens(s.Data["password"]) {
		t.Fatalf("Secret %+v, users %v", s, g.users.users)
	}
	owner := s.OwnerReferences[0]
	if owner.UID != "uid-1" || owner.Kind != "JobSet" || owner.APIVersion != "jobset.x-k8s.io/v1alpha2" {
		t.Errorf("owned by %+v", owner)
	}
	if strings.Contains(g.record().Format(), string(s.Data["password"])) {
		t.Error("the annotation holds the password")
	}
	calls, before := g.users.calls, g.jobSet().ResourceVersion
	for range 3 {
		g.mustKeep()
	}
	if g.users.calls != calls || g.jobSet().ResourceVersion != before {
		t.Error("unchanged credentials are written again")
	}
}

func TestTwoJobSetsHaveTwoPasswords(t *testing.T) {
	if a, b := newPassword(), newPassword(); a == b || len(a) != 52 {
		t.Errorf("%q and %q", a, b)
	}
}

// The Secret of an earlier JobSet with the same name exists until the garbage collector deletes it.
func TestSecretOfAnEarlierJobSetIsReplaced(t *testing.T) {
	g := newRig(t)
	former := jobSet()
	former.UID = "uid-0"
	if err := g.all.Create(t.Context(), secret(former, "former", nil)); err != nil {
		t.Fatal(err)
	}
	g.mustKeep()
	if s := g.secret(); s.OwnerReferences[0].UID != "uid-1" || !g.opens(s.Data["password"]) {
		t.Errorf("Secret %+v", s)
	}
}

func TestRotation(t *testing.T) {
	for name, begin := range map[string]func(*rig){
		"by age":     func(g *rig) { g.clock.SetTime(then.Add(maxAge)) },
		"on request": func(g *rig) { g.ask("please") },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.mustKeep()
			before := g.secret().Data["password"]
			begin(g)
			g.mustKeep()
			after := g.secret().Data["password"]
			if string(after) == string(before) || !g.opens(before) || !g.opens(after) {
				t.Errorf("right after the rotation: %q and %q are valid: %v, %v", before, after, g.opens(before), g.opens(after))
			}
			g.clock.SetTime(g.clock.Now().Add(Overlap))
			g.mustKeep()
			if g.opens(before) || !g.opens(after) || string(g.secret().Data["password"]) != string(after) {
				t.Errorf("after the overlap: the old password is valid: %v, the new one: %v", g.opens(before), g.opens(after))
			}
		})
	}
}

// While the store is unreachable, pods still get their first Secret. A password that replaces another one must wait.
func TestStoreIsUnreachable(t *testing.T) {
	g := newRig(t)
	g.users.down = true
	if err := g.keep(); !errors.Is(err, ErrStore) {
		t.Fatalf("error %v", err)
	}
	first := g.secret()
	if first == nil {
		t.Fatal("new pods wait for the store")
	}
	g.users.down = false
	g.mustKeep()
	if !g.opens(first.Data["password"]) {
		t.Error("the store does not accept the password of the pods")
	}
	g.users.down = true
	g.ask("please")
	if err := g.keep(); !errors.Is(err, ErrStore) {
		t.Fatalf("error %v", err)
	}
	if string(g.secret().Data["password"]) != string(first.Data["password"]) {
		t.Error("pods get a password that the store does not accept")
	}
	g.users.down = false
	g.mustKeep()
	if !g.opens(first.Data["password"]) || !g.opens(g.secret().Data["password"]) {
		t.Error("the old and the new password are not both valid")
	}
}

// The test stops the first leader before each of its writes, both at creation and during a rotation, and lets a second
// leader continue. The password that the pods have must always be valid.
func TestLeaderDiesBeforeAnyWrite(t *testing.T) {
	for _, rotating := range []bool{false, true} {
		for stop := range 5 {
			t.Run(fmt.Sprintf("rotating %v, before write %d", rotating, stop), func(t *testing.T) {
				g := newRig(t)
				var held [][]byte // passwords that pods may have read
				if rotating {
					g.mustKeep()
					held = append(held, g.secret().Data["password"])
					g.ask("please")
				}
				g.dieBefore(stop)
				if s := g.secret(); s != nil {
					held = append(held, s.Data["password"])
				}
				g.nextLeader()
				g.mustKeep()
				g.mustKeep()
				for _, password := range append(held, g.secret().Data["password"]) {
					if !g.opens(password) {
						t.Errorf("%q is not valid in the store", password)
					}
				}
				if g.record().Pending {
					t.Error("the password is still pending")
				}
			})
		}
	}
}

var errDead = errors.New("the leader is dead")

// dieBefore runs reconciles of a leader that dies before its nth write.
func (g *rig) dieBefore(nth int) {
	g.Helper()
	writes := 0
	may := func() error {
		if writes++; writes > nth {
			return errDead
		}
		return nil
	}
	k := &Keeper{Live: g.all, MaxAge: maxAge, Recorder: g.events, Clock: g.clock, CAFile: g.keeper.CAFile, Users: mortal{g.users, may}}
	k.Client = interceptor.NewClient(g.all.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if len(opts) == 0 {
				if err := may(); err != nil {
					return err
				}
			}
			return c.Create(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if err := may(); err != nil {
				return err
			}
			return c.Update(ctx, obj, opts...)
		},
	})
	err := k.Keep(g.Context(), g.jobSet(), func(r Record) error {
		if err := may(); err != nil {
			return err
		}
		return g.save(r)
	})
	if err != nil && !errors.Is(err, errDead) {
		g.Fatal(err)
	}
}

// mortal is the store as used by a leader that dies.
type mortal struct {
	*fakeUsers
	may func() error
}

func (m mortal) SetUsers(ctx context.Context, hashes map[string][]string) error {
	if err := m.may(); err != nil {
		return err
	}
	return m.fakeUsers.SetUsers(ctx, hashes)
}

// nextLeader starts another process, which does not know the previous one's attempts.
func (g *rig) nextLeader() {
	g.keeper = &Keeper{
		Client: g.keeper.Client, Live: g.keeper.Live, Users: g.users, MaxAge: maxAge, Recorder: g.events, Clock: g.clock, CAFile: g.keeper.CAFile,
	}
}

// loseStore and refuseSecrets make every rotation fail until mend is called.
func (g *rig) loseStore() (mend func()) {
	g.users.down = true
	return func() { g.users.down = false }
}

func (g *rig) refuseSecrets() (mend func()) {
	before := g.keeper.Client
	g.keeper.Client = interceptor.NewClient(before.(client.WithWatch), interceptor.Funcs{
		Update: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.UpdateOption) error {
			return apierrors.NewForbidden(corev1.Resource("secrets"), obj.GetName(), errors.New("rejected by a webhook"))
		},
	})
	return func() { g.keeper.Client = before }
}

// The pods' password stays valid regardless of how often a rotation fails. Once the store is reachable again, it gets
// the passwords that are in the record at that time.
func TestPasswordOfPodsStaysValidThroughFailures(t *testing.T) {
	again := func(*rig, int) {}
	anotherLeader := func(g *rig, _ int) { g.nextLeader() }
	askedAnew := func(g *rig, n int) { g.ask(fmt.Sprint("anew ", n)) }
	for name, c := range map[string]struct {
		fail    func(*rig) (mend func())
		between func(g *rig, n int)
		before  int // number of recent rotations whose passwords are still valid
	}{
		"the store is unreachable":                                    {(*rig).loseStore, again, 0},
		"the store is unreachable, and leaders change":                {(*rig).loseStore, anotherLeader, 0},
		"the store is unreachable, and another rotation is requested": {(*rig).loseStore, askedAnew, 0},
		"the store is unreachable right after a rotation":             {(*rig).loseStore, anotherLeader, 1},
		"the store is unreachable right after many rotations":         {(*rig).loseStore, anotherLeader, 5},
		"the Secret is refused":                                       {(*rig).refuseSecrets, again, 0},
		"the Secret is refused, and leaders change":                   {(*rig).refuseSecrets, anotherLeader, 0},
		"the Secret is refused right after rotations":                 {(*rig).refuseSecrets, anotherLeader, 2},
		"the Secret is refused, and another rotation is requested":    {(*rig).refuseSecrets, askedAnew, 1},
		"the store is unreachable after a leader died before its last write": {func(g *rig) func() {
			g.dieBefore(4) // the Secret has the new password
			g.nextLeader()
			return g.loseStore()
		}, again, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.mustKeep()
			for n := range c.before {
				g.ask(fmt.Sprint("before ", n))
				g.mustKeep()
			}
			g.ask("please")
			held := [][]byte{g.secret().Data["password"]}
			mend := c.fail(g)
			held = append(held, g.secret().Data["password"])
			for n := range 5 {
				if err := g.keep(); err == nil {
					t.Fatal("it did not fail")
				}
				c.between(g, n)
			}
			mend()
			if err := g.keeper.Restore(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, password := range held {
				if !g.opens(password) {
					t.Errorf("the password of the pods is not valid in the store: %+v", g.record())
				}
			}
			g.mustKeep()
			if r := g.record(); r.Pending || !g.opens(held[1]) || !g.opens(g.secret().Data["password"]) {
				t.Errorf("after the last rotation: %+v", r)
			}
		})
	}
}

// While one leader retries, no further password is added to the record. Otherwise the retries of one leader would leave
// no room for the passwords of other leaders.
func TestRetriesUseTheSamePassword(t *testing.T) {
	g := newRig(t)
	g.mustKeep()
	g.ask("please")
	mend := g.refuseSecrets()
	if err := g.keep(); err == nil {
		t.Fatal("it did not fail")
	}
	first, version := g.record(), g.jobSet().ResourceVersion
	for range 3 {
		if err := g.keep(); err == nil {
			t.Fatal("it did not fail")
		}
	}
	if g.jobSet().ResourceVersion != version {
		t.Errorf("the record was %+v and is %+v", first, g.record())
	}
	mend()
	g.mustKeep()
	if got := hashOf(string(g.secret().Data["password"])); got != first.Hashes[0] || g.record().Pending || g.keeper.user(g.jobSet().UID).begun != "" {
		t.Errorf("the Secret has %s, want the first attempt %s; %+v", got, first.Hashes[0], g.record())
	}
}

func TestDeletedSecretIsRecreated(t *testing.T) {
	g := newRig(t)
	g.mustKeep()
	held := g.secret().Data["password"]
	if err := g.all.Delete(t.Context(), g.secret()); err != nil {
		t.Fatal(err)
	}
	g.clock.SetTime(then.Add(lookEvery))
	g.mustKeep()
	if s := g.secret(); s == nil || !g.opens(s.Data["password"]) || !g.opens(held) {
		t.Errorf("Secret %+v; the password of the pods is valid: %v", s, g.opens(held))
	}
}

// The API server checks quotas before it checks whether the name exists.
func TestSecretCountsAsExistingIfUnknown(t *testing.T) {
	secrets := corev1.Resource("secrets")
	for name, c := range map[string]struct {
		answer error
		fails  bool
		asked  int // number of dry-run requests in two reconciles
	}{
		"the quota is used up":  {apierrors.NewForbidden(secrets, "s", errors.New("exceeded quota")), false, 1},
		"a policy rejects it":   {apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), "s", nil), false, 1},
		"the request times out": {apierrors.NewTimeoutError("too slow", 1), true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.mustKeep()
			before, asked := g.jobSet().ResourceVersion, 0
			g.keeper.Client = interceptor.NewClient(g.keeper.Client.(client.WithWatch), interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					asked++
					return c.answer
				},
			})
			g.clock.SetTime(then.Add(lookEvery))
			for range 2 {
				if err := g.keep(); (err != nil) != c.fails {
					t.Errorf("error %v", err)
				}
			}
			if asked != c.asked || g.jobSet().ResourceVersion != before {
				t.Errorf("asked %d times, want %d; the record is %+v", asked, c.asked, g.record())
			}
		})
	}
}

func TestUsersAreRestored(t *testing.T) {
	for name, back := range map[string]func(*rig){
		"on a new connection": func(g *rig) {
			if err := g.keeper.Restore(g.Context()); err != nil {
				g.Fatal(err)
			}
		},
		"at the next sweep": func(g *rig) { g.mustSweep() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.mustKeep()
			clear(g.users.users)
			back(g)
			if !g.opens(g.secret().Data["password"]) {
				t.Error("the password is not valid")
			}
			calls := g.users.calls
			g.mustKeep()
			if g.users.calls != calls {
				t.Error("the store is updated again")
			}
		})
	}
}

func TestSweepRestoresChangedUsers(t *testing.T) {
	g := newRig(t)
	g.mustKeep()
	g.users.users["uid-1"] = append(g.users.users["uid-1"], hashOf("a back door"))
	g.mustSweep()
	if g.opens([]byte("a back door")) {
		t.Error("the back door is still valid")
	}
}

func TestUsersAreDeletedWithTheirJobSets(t *testing.T) {
	g := newRig(t)
	g.mustKeep()
	g.users.users["uid-gone"] = []string{old}
	g.mustSweep()
	if len(g.users.users) != 1 || !g.opens(g.secret().Data["password"]) {
		t.Errorf("users %v", g.users.users)
	}
	if err := g.all.Delete(t.Context(), g.jobSet()); err != nil {
		t.Fatal(err)
	}
	g.mustSweep()
	if len(g.users.users) != 0 {
		t.Errorf("users %v", g.users.users)
	}
}

// The cache does not contain the newest JobSets yet. The sweep must not delete their users.
func TestSweepReadsOwnersLive(t *testing.T) {
	g := newRig(t)
	g.mustKeep()
	live := g.keeper.Live
	g.keeper.Client = interceptor.NewClient(g.all.(client.WithWatch), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
	})
	g.keeper.Live = live
	g.mustSweep()
	if !g.opens(g.secret().Data["password"]) {
		t.Error("the user of a new JobSet is gone")
	}
}

func TestGroupThatOutgrowsItsShareLosesItsUser(t *testing.T) {
	g := newRig(t)
	g.mustKeep()
	g.users.sizes["uid-1"] = share(g.jobSet())
	g.mustSweep()
	if g.record().Revoked != "" {
		t.Fatal("the user is revoked at its limit")
	}
	g.users.sizes["uid-1"]++
	g.mustSweep()
	if len(g.users.users) != 0 || len(g.users.sizes) != 0 || !strings.Contains(g.record().Revoked, "bytes") {
		t.Fatalf("users %v, sizes %v, record %+v", g.users.users, g.users.sizes, g.record())
	}
	if e := <-g.events.Events; !strings.Contains(e, eventRevoked) || !strings.Contains(e, RotateAnnotation) {
		t.Errorf("event %q", e)
	}
	g.clock.SetTime(then.Add(2 * maxAge))
	g.mustKeep()
	g.mustSweep()
	if len(g.users.users) != 0 {
		t.Error("the user was restored without a request")
	}
	g.ask("again")
	g.mustKeep()
	if !g.opens(g.secret().Data["password"]) || g.record().Revoked != "" {
		t.Errorf("the user was not restored on request: %+v", g.record())
	}
}
