package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/replace"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// place is a slot of the group and what the cache knows of its pods.
type place struct {
	slot  string
	job   *batchv1.Job
	index int
	pods  []*corev1.Pod
}

// replace makes the pods of slots that have lost theirs, so that nobody waits for the back-off of a Job. It is level-based: it
// looks at what is there, not at what was seen to go, so a new leader goes on where the one before has stopped.
func (r *Reconciler) replace(ctx context.Context, s *scope) error {
	if !s.replaces() {
		s.state.made = roundPods{}
		return nil
	}
	places, err := r.places(ctx, s)
	if err != nil {
		return err
	}
	lost, err := r.lost(ctx, s, places)
	errs := []error{err}
	var made []replaced
	turn := r.turn()
	for chunk := range slices.Chunk(lost, callsAtATime) {
		if !s.replaces() || turn.over(s) {
			break
		}
		filled, err := r.replaceChunk(ctx, s, chunk)
		made, errs = append(made, filled...), append(errs, err)
	}
	r.reportReplaced(s, made)
	return errors.Join(errs...)
}

// replaceChunk confirms slots in parallel, takes the lost pods out of them one after the other, and creates the new ones in parallel. The store
// is asked once whether this process still leads.
func (r *Reconciler) replaceChunk(ctx context.Context, s *scope, lost []*place) ([]replaced, error) {
	vacancies, err := r.vacancies(ctx, s, lost)
	if len(vacancies) == 0 {
		return nil, err
	}
	errs := []error{err}
	if err := r.confirmLead(ctx, s); err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	var pods []*newPod
	for _, v := range vacancies {
		if !s.replaces() {
			break
		}
		pod, err := r.vacate(ctx, s, v)
		if errs = append(errs, err); pod != nil {
			pods = append(pods, pod)
		}
	}
	made := make([]*replaced, len(pods))
	errs = append(errs, inParallel(len(pods), func(i int) (err error) {
		made[i], err = r.makePod(ctx, s, pods[i])
		return err
	}))
	var list []replaced
	for _, one := range made {
		if one != nil {
			list = append(list, *one)
		}
	}
	return list, errors.Join(errs...)
}

// vacancies are those of the lost slots that need a pod.
func (r *Reconciler) vacancies(ctx context.Context, s *scope, lost []*place) ([]*vacancy, error) {
	all := make([]*vacancy, len(lost))
	err := inParallel(len(lost), func(i int) (err error) {
		all[i], err = r.confirm(ctx, s, lost[i])
		return err
	})
	var list []*vacancy
	for _, v := range all {
		switch {
		case v == nil:
		case v.refused:
			s.lookIn(lookAtJobs)
		default:
			list = append(list, v)
		}
	}
	return list, err
}

// lost are the slots that have lost their pods and are due for new ones. The nodes of pods that end are checked.
func (r *Reconciler) lost(ctx context.Context, s *scope, places []place) (lost []*place, err error) {
	var errs []error
	for i := range places {
		if len(lost) == repairsPerLook || !s.replaces() {
			break
		}
		switch p := &places[i]; replace.StateOf(p.pods) {
		case replace.Lost:
			if s.dueForPod(p) {
				lost = append(lost, p)
			}
		case replace.Ending:
			errs = append(errs, r.checkNodes(ctx, s, p))
		}
	}
	return lost, errors.Join(errs...)
}

// dueForPod reports whether a slot's pod is to be made now.
func (s *scope) dueForPod(p *place) bool {
	if replace.Refusal(p.job, p.index) != "" {
		s.lookIn(lookAtJobs) // what becomes of the Job is not watched
		return false         // a finished worker whose pod was cleaned up is no reason to ask the API server each time
	}
	wait := s.state.made.wait(s, p.slot)
	if wait > 0 {
		s.lookIn(wait)
	}
	return wait <= 0
}

// replaces tells whether the group needs all of its workers now. One that forms for the first time has no clock, so that nothing
// would end a row of pods that fail as soon as they start; the Job controller's back-off does.
func (s *scope) replaces() bool {
	if s.wanted == nil || s.wanted.Suspended || s.group == nil || s.group.Generation != int64(s.epoch.Epoch) {
		return false
	}
	return s.group.Phase == coordination.Running || s.group.Phase == coordination.Restarting
}

// places are the slots whose step has entered, with their pods. Those lost this moment are known though the cache has them no more.
func (r *Reconciler) places(ctx context.Context, s *scope) ([]place, error) {
	list, err := r.listPods(ctx, s)
	if err != nil {
		return nil, err
	}
	pods := map[string][]*corev1.Pod{}
	for i := range list {
		slot := inplace.SlotOf(&list[i])
		pods[slot] = append(pods[slot], &list[i])
	}
	var places []place
	for _, job := range s.currentJobs() {
		for index := range s.indexes(job) {
			slot := job.Name + "-" + strconv.Itoa(index)
			places = append(places, place{slot, job, index, pods[slot]})
		}
	}
	return places, nil
}

// listPods are the pods of the JobSet that the cache knows, read once in a look.
func (r *Reconciler) listPods(ctx context.Context, s *scope) ([]corev1.Pod, error) {
	if s.listed != nil {
		return s.listed.Items, nil
	}
	list := &corev1.PodList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.js.Namespace),
		client.MatchingFields{PodsOfJobSet: string(s.js.UID)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	s.listed = list
	return list.Items, nil
}

// indexes is how many workers of a Job the group needs; none of a stage that is not counted, still forms or has left, nor of a Job
// whose pods could not be found again.
func (s *scope) indexes(job *batchv1.Job) int {
	if job.Spec.Template.Labels[v1alpha2.JobKey] == "" {
		return 0
	}
	prefix := s.js.Name + "-" + job.Labels[v1alpha2.ReplicatedJobNameKey]
	for _, stage := range s.group.Stages {
		if stage.Prefix == prefix && s.group.HasEntered(stage) {
			return int(stage.Pods)
		}
	}
	return 0
}

// replaced is a slot and the pod that was made for it.
type replaced struct{ slot, pod string }

// vacancy is a slot that needs a pod, as the API server has it now: the cache may not show yet what the Job controller or another leader
// has done.
type vacancy struct {
	*place
	job     *batchv1.Job
	live    []corev1.Pod
	refused bool // the slot is left to its Job for now
}

// newPod is a pod that is to be made in place of lost ones.
type newPod struct {
	*place
	pod  *corev1.Pod
	lost []string
}

// vacate takes the lost pods out of the slot. Nothing is made if the group does not need the worker any more.
func (r *Reconciler) vacate(ctx context.Context, s *scope, v *vacancy) (*newPod, error) {
	lost, err := r.fence(ctx, s, v.live)
	if err != nil || !s.replaces() {
		return nil, err
	}
	// The group may have moved on by the eviction: this is the round that the pod is for.
	round := []string{strconv.FormatInt(s.group.Generation, 10), strconv.FormatInt(s.group.Round, 10)}
	s.state.made.note(s, v.slot)
	s.lookIn(s.state.made.wait(s, v.slot))
	return &newPod{v.place, replace.Pod(v.job, v.index, append(round, lost...)...), lost}, nil
}

func (r *Reconciler) makePod(ctx context.Context, s *scope, n *newPod) (*replaced, error) {
	if err := r.Client.Create(ctx, n.pod, client.FieldOwner(FieldManager)); err != nil {
		return nil, r.notMade(ctx, s, n.place, err)
	}
	log.FromContext(ctx).Info("made a new pod for a slot", "slot", n.slot, "pod", n.pod.Name, "uid", n.pod.UID, "lost", n.lost)
	if gave, err := r.giveWay(ctx, n.place, n.pod); gave || err != nil {
		return nil, err
	}
	return &replaced{n.slot, n.pod.Name}, nil
}

// lookAtJobs is how soon a slot without a pod is looked at again that is left to its Job for now.
const lookAtJobs = time.Second

// confirm reads past the cache whether the Job still needs the pod, and the slot's pods; nil if it does not. The two are read at
// the same time: an API server that hears of a whole group's restart takes its time for each. Of the pods it is enough that all is in
// the list that is known here already: a pod that the Job controller made this moment may be missed by any list, and giveWay sees it.
func (r *Reconciler) confirm(ctx context.Context, s *scope, p *place) (*vacancy, error) {
	v := &vacancy{place: p, job: &batchv1.Job{}}
	reads, limited := errgroup.WithContext(ctx)
	reads.Go(func() error { return r.Live.Get(limited, client.ObjectKeyFromObject(p.job), v.job) })
	reads.Go(func() (err error) {
		v.live, err = r.livePods(limited, p, s.knownOf(p)...)
		return err
	})
	if err := reads.Wait(); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if why := replace.Refusal(v.job, p.index); v.job.UID != p.job.UID || why != "" {
		log.FromContext(ctx).V(1).Info("left a slot to its Job", "slot", p.slot, "why", why)
		v.refused = true
		return v, nil
	}
	if replace.StateOf(pointers(v.live)) != replace.Lost {
		return nil, nil
	}
	return v, nil
}

// livePods are a slot's pods as the API server has them now, by the labels that both the controller and the Job give them.
func (r *Reconciler) livePods(ctx context.Context, p *place, options ...client.ListOption) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Live.List(ctx, &list, append(options, client.InNamespace(p.job.Namespace), client.MatchingLabels{
		v1alpha2.JobKey:                      p.job.Spec.Template.Labels[v1alpha2.JobKey],
		batchv1.JobCompletionIndexAnnotation: strconv.Itoa(p.index),
	})...); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", p.slot, err)
	}
	return list.Items, nil
}

// fence takes the lost pods out of the slot, so that what may still run of them moves the group no more. It returns the UIDs of those that are
// left.
func (r *Reconciler) fence(ctx context.Context, s *scope, live []corev1.Pod) ([]string, error) {
	var lost []string
	for i := range live {
		if err := r.evict(ctx, s, &live[i]); err != nil || s.group == nil {
			return nil, err
		}
		lost = append(lost, string(live[i].UID))
	}
	slices.Sort(lost)
	return lost, nil
}

// notMade leaves a slot to its Job when the API server refuses the pod, as for a quota. A pod of the same name was made for the
// same reason.
func (r *Reconciler) notMade(ctx context.Context, s *scope, p *place, err error) error {
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		log.FromContext(ctx).Error(err, "making a new pod", "slot", p.slot)
		if s.state.made.first(s, p.slot) {
			r.event(s, corev1.EventTypeWarning, eventNotReplaced, "worker %s has no pod, and the API server refuses a new one (%v); "+
				"left to its Job, which waits out its back-off", p.slot, err)
		}
		return nil
	}
	return fmt.Errorf("making a pod for %s: %w", p.slot, err)
}

// giveWay deletes the pod that was just made if the Job controller has made one in the same moment that has come further or is older. Of two
// pods of one index it keeps that one, and deletes the other itself as soon as it looks; so ours goes only as it was made, or both might.
func (r *Reconciler) giveWay(ctx context.Context, p *place, pod *corev1.Pod) (bool, error) {
	pods, err := r.livePods(ctx, p, since(pod.ResourceVersion))
	if err != nil {
		return false, err
	}
	for i := range pods {
		if other := &pods[i]; other.UID == pod.UID || !replace.Outranks(other, pod) {
			continue
		}
		gave, err := r.delete(ctx, pod, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}, client.GracePeriodSeconds(0))
		if apierrors.IsConflict(err) {
			return false, nil // it has a node by now: the Job controller says which one stays
		}
		if gave {
			log.FromContext(ctx).Info("the Job controller made a pod for the slot too; gave way", "slot", p.slot, "pod", pod.Name)
		}
		return gave, err
	}
	return false, nil
}

// since reads from the API server's own cache, as of some change or later: a list past that cache may cost it a look at all pods of
// the namespace, which takes seconds where there are thousands.
func since(resourceVersion string) client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: resourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}}
}

// knownOf reads a slot's pods as of the last change of them that was heard; as of now if none was.
func (s *scope) knownOf(p *place) []client.ListOption {
	last := ""
	note := func(pod *corev1.Pod) {
		if order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, last); last == "" || err == nil && order > 0 {
			last = pod.ResourceVersion
		}
	}
	for _, pod := range p.pods {
		note(pod)
	}
	for _, lost := range s.losses {
		if inplace.SlotOf(lost.pod) == p.slot {
			note(lost.pod)
		}
	}
	if last == "" {
		return nil
	}
	return []client.ListOption{since(last)}
}

func pointers(pods []corev1.Pod) []*corev1.Pod {
	list := make([]*corev1.Pod, len(pods))
	for i := range pods {
		list[i] = &pods[i]
	}
	return list
}

// lookIn asks for another look though nothing may be heard.
func (s *scope) lookIn(d time.Duration) {
	if s.soon == 0 || d < s.soon {
		s.soon = max(d, time.Millisecond)
	}
}

// endOf is when a pod that is being deleted was asked to go, and when its time is over.
func endOf(pod *corev1.Pod) (asked, due time.Time) {
	due = pod.DeletionTimestamp.Time
	return due.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second), due
}
