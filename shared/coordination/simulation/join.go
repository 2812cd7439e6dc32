package simulation

import "github.com/holdfast-project/holdfast/shared/coordination/rounds"

// joinAll makes one call with the joins of several members of a relay.
func (s *server) joinAll(who []*joining, c rounds.Call) ([]reply, error) {
	if len(who) == 1 {
		r, err := s.call(who[0].pod, c)
		return []reply{r}, err
	}
	uid := who[0].pod.job.owner
	if _, err := s.level(uid); err != nil {
		return nil, err
	}
	before := s.view(uid)
	s.writes++
	texts, now, err := s.functions.JoinAll(uid, c, len(who))
	if err != nil {
		texts = make([]string, len(who))
	}
	replies, did := make([]reply, len(who)), make([]step, len(who))
	for i, j := range who {
		replies[i], did[i] = reply{texts[i], now}, step{call: j.call, pod: j.pod, reply: texts[i], others: len(who) - 1, err: err}
	}
	s.checked(uid, did[0], before, did[1:]...)
	return replies, err
}
