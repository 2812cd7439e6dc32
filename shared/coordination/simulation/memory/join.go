package memory

import "github.com/holdfast-project/holdfast/shared/coordination/rounds"

// JoinAll makes a call with the joins of several members, and returns a reply for each.
func (s *Server) JoinAll(group string, c rounds.Call, members int) (replies []string, now rounds.Level, err error) {
	reply, err := s.call(group, c)
	if err != nil {
		return nil, now, err
	}
	switch reply := reply.(type) {
	case []string:
		replies = reply
	case string: // one reply for all
		for range members {
			replies = append(replies, reply)
		}
	}
	now, err = s.Level(group)
	return replies, now, err
}
