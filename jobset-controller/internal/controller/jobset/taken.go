package jobset

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"
)

// errForeign: the name belongs to an object of another owner.
var errForeign = errors.New("exists and does not belong to this JobSet")

// takenNames collects the Jobs whose names others hold: that is no error to retry at once.
type takenNames struct {
	mu    sync.Mutex
	names []string
}

func (t *takenNames) unlessForeign(name string, err error) error {
	if !errors.Is(err, errForeign) {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = append(t.names, name)
	return nil
}

// reportTaken warns of names that belong to others, once, and has them tried again later.
func (r *Reconciler) reportTaken(s *scope, names []string) ctrl.Result {
	if len(names) == 0 {
		return ctrl.Result{}
	}
	slices.Sort(names)
	message := fmt.Sprintf("job %s %s", names[0], errForeign)
	if more := len(names) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	r.report.warnOnce(s.jobSet, jobCreationFailed, names[0], message+"; delete it or rename the JobSet")
	return ctrl.Result{RequeueAfter: foreignRetry}
}
