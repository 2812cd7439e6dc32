package member

import "testing"

// TestStories are transcripts of one agent: what `kubectl logs` tells, and what was done.
func TestStories(t *testing.T) {
	cases := map[string]struct {
		memory  Memory
		moments []moment
		want    string
	}{
		"a worker starts, its peer dies, all restart": {
			memory: Fresh(),
			moments: []moment{
				look(), read("A/0 1.0 Forming #1"), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2"),
				cast("A/0 1.1 Restarting #3"), look("a@10=143"), stopped("a"), reply(-1, "A/0 1.1 Restarting #3"),
				look("a@10=143", "b@20"), reply(1, "A/0 1.1 Restarting #3"), cast("A/0 1.1 Running #4"),
			},
			want: `
				save  unseen
				log group phase=Forming epoch=1 round=0
				round 1.0
				join a unseen
				log joined instance=a epoch=1 round=0 phase=Forming
				save a 1.0 x1 holds
				log group phase=Running epoch=1 round=0
				log in sync epoch=1 round=0
				save a 1.0 x1 holds running
				log group phase=Restarting epoch=1 round=1
				round 1.1
				log ordered to restart instance=a round=0 desired=1 grace=10s
				save a 1.0 x1 holds running
				stop a 10s
				log worker exited instance=a exitCode=143 ordered=true round=0 failedAt=1000000 detectedAfterMs=0
				down a code=143 ordered=true
				log stopped instance=a tookMs=70
				log death reported instance=a level=1 A 0 1 1 Restarting 3 0 0
				join b 1.0 x1 running
				log joined instance=b epoch=1 round=1 phase=Restarting
				save b 1.1 x1 holds entered
				log group phase=Running epoch=1 round=1
				log in sync epoch=1 round=1
				save b 1.1 x1 holds running`,
		},
		"a worker dies while the store is away, and the store comes back empty": {
			memory: remembered,
			moments: []moment{
				look("a@10"), reply(1, "A/0 1.1 Running #5"), lost(errAway), look("a@10=1"), fails(errAway), look("a@10=1", "b@20"),
				read("B/1 1.0 Recovering #1"), reply(-1, "B/1 1.0 Recovering #1"), reply(-1, "B/1 1.0 Recovering #1"),
				cast("B/1 1.2 Restarting #2"), reply(2, "B/1 1.2 Running #3"),
			},
			want: `
				join a 1.1 x1 holds running
				log group phase=Running epoch=1 round=1
				log joined instance=a epoch=1 round=1 phase=Running
				round 1.1
				log the store is unreachable: the worker runs on, reports wait error=connection refused
				log worker exited instance=a exitCode=1 ordered=false round=1 failedAt=1000000 detectedAfterMs=0
				round 1.2
				down a code=1 ordered=false
				log the store lost data: joining again level=1 B 1 1 0 Recovering 1 0 0 known=1 A 0 1 1 Running 5 0 0
				log group phase=Recovering epoch=1 round=0
				down a code=1 ordered=false
				log the store answers again
				log death reported instance=a level=1 B 1 1 0 Recovering 1 0 0
				join b 1.1 x1 running
				log joined instance=b epoch=1 round=-1 phase=Recovering
				log group phase=Restarting epoch=1 round=2
				join b 1.1 x1 running
				log group phase=Running epoch=1 round=2
				log joined instance=b epoch=1 round=2 phase=Running
				log in sync epoch=1 round=2
				save b 1.2 x1 holds running`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, play(newState(tc.memory), true, tc.moments...), tc.want)
		})
	}
}
