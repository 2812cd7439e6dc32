package simulation

import (
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// wrote checks S7 and, for epochs, S9 after a write to the JobSet.
func (t *truth) wrote(who string, before, after jobSet) {
	d := t.rounds[roundKey{after.uid, int64(after.epoch.Epoch)}]
	switch {
	case after.charged < before.charged:
		t.fail("S7", "%s lowers inplace-restarts from %d to %d", who, before.charged, after.charged)
	case after.epoch.Epoch < before.epoch.Epoch || after.epoch.Base < before.epoch.Base:
		t.fail("S9", "%s resets the epoch from %s to %s", who, before.epoch.Format(), after.epoch.Format())
	case after.charged > max(before.charged, restart.Charged(restart.Charged(after.epoch.Base, d), int64(t.extra(after)))) && t.losses == 0:
		t.fail("S7", "%s charges %d, with a base of %d and %d rounds", who, after.charged, after.epoch.Base, d)
	case after.charged > t.shape.Budget+1 && t.losses == 0:
		t.fail("S7", "%s charges %d of %d", who, after.charged, t.shape.Budget)
	}
	if after.epoch.Epoch > before.epoch.Epoch {
		t.checkEpoch(who, before, after)
	}
	if after.charged > before.charged && (before.suspended || before.deleted || before.finished()) {
		t.fail("S7", "%s charges a JobSet that is suspended, deleted or finished", who)
	}
	t.failedInPeace = t.failedInPeace || after.state == failed && before.state == "" && t.calm
	if after.state == failed && before.state == "" && after.charged <= t.shape.Budget && len(t.excuses) == 0 {
		t.fail("S7", "the JobSet has failed with %d of %d restarts", after.charged, t.shape.Budget)
	}
}

// extra returns how many restarts may be charged in addition to the rounds. It is one after in-place restarts have ended, or if
// the budget was used up while the group was forming.
func (t *truth) extra(js jobSet) int32 {
	v := t.store.first.view(js.uid)
	formsNoMore := v != nil && v.Phase == coordination.Forming && js.charged > t.shape.Budget
	if formsNoMore || t.ended[roundKey{js.uid, int64(js.epoch.Epoch)}] {
		return 1
	}
	return 0
}

// checkEpoch checks that the base of a new epoch includes all restarts charged before it, and the recreation that opens it.
func (t *truth) checkEpoch(who string, before, after jobSet) {
	least := before.charged
	if after.epoch.Recreate > before.epoch.Recreate {
		least++
		if t.shape.InPlace {
			t.fail("L2", "%s recreates the Jobs although all workers could restart in place: %s", who, after.epoch.Cause)
		}
	}
	if after.epoch.Base < least {
		t.fail("S7", "%s opens epoch %d with a base of %d, but %d restarts were charged", who, after.epoch.Epoch, after.epoch.Base, least)
	}
	if after.epoch.Recreate > before.epoch.Recreate && t.losses == 0 && !t.forged { // a member can forge any round and then undo the forgery
		if d := t.rounds[roundKey{after.uid, int64(before.epoch.Epoch)}]; after.epoch.Base < before.epoch.Base+int32(d)+1 {
			t.fail("S7", "%s recreates with a base of %d after %d restarts in epoch %d", who, after.epoch.Base, d, before.epoch.Epoch)
		}
	}
}

// leftBehind checks the deletion of a Job in a full recreation: only Jobs of this JobSet are deleted, and only after the epoch
// was written. If the user deletes the JobSet before the leader acts, the epoch is gone, but so are the Jobs.
func (t *truth) leftBehind(uid string, j *job) {
	js := t.api.current
	switch {
	case j.owner != uid:
		t.fail("S9", "%s of JobSet %s is deleted for the full recreation of %s", j.name, j.owner, uid)
	case js != nil && js.uid == uid && !js.epoch.Stale(j.epoch):
		t.fail("S9", "%s is deleted for a full recreation before the epoch is written: %s", j.name, js.epoch.Format())
	}
}

// deleted checks S10 for the deletion of a Job by any program.
func (t *truth) deleted(j *job, why string) {
	js := t.api.current
	if js != nil && js.uid == j.owner && js.state == completed && j.complete() && !js.deleted {
		t.fail("S10", "%s is deleted (%s) although it has completed", j.name, why)
	}
}

// suspended checks that the epoch is written before a Job is stopped.
func (t *truth) suspended(j *job) {
	if js := t.api.current; js != nil && js.uid == j.owner && js.epoch.Epoch <= j.epoch {
		t.fail("S9", "%s of epoch %d is stopped before the next epoch is written: %s", j.name, j.epoch, js.epoch.Format())
	}
}
