package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rules are scripts, see Step. What is expected after a line: Phase(round) joined/size, !error, and facts (see facts).
// An error that is not expected fails the test.
var rules = map[string]string{
	"a group forms, runs, restarts and runs again": `
		open                    => Forming(0) 0/3 epoch=1 gen=0
		join 0a 1a              => Forming(0) 2/3 reply=0
		join 2a                 => Running(0) 3/3 reply=0 history=1
		down 1a code=137        => Restarting(1) 0/3 reply=-1 cause=exit/js-w-0-1/137
		down 0a code=143 ordered
		join 1b                 => Restarting(1) 1/3 reply=1
		down 2a code=143 ordered
		join 0b 2b              => Running(1) 3/3 history=2 downs=3 ups=3 coalesced=0`,
	"a cause names the pod, the node and how the worker ended": `
		open
		join 0a 1a@2 2a
		down 1a@2 code=137 signal=9 reason=OOMKilled => Restarting(1) 0/3 cause=exit/js-w-0-1/137 on=w-0-1-w/node2 how=9/OOMKilled
		join 0b 1b@2 2b         => Running(1) 3/3
		down 2b code=137 signal=9 ended=hang reason=30s => Restarting(2) 0/3 cause=hang/js-w-0-2/137 on=w-0-2-v/node1 how=9/30s`,
	"an instance that takes the place of another blames the pod before it": `
		open
		join 0a 1a 2a
		join 1b                 => cause=replaced/js-w-0-1/0 on=w-0-1-v/node1
		join 0b 2b              => Running(1) 3/3
		join 2a@2               => Restarting(2) 1/3 cause=pod/js-w-0-2/0 on=w-0-2-v/node1`,
	"an instance that is behind the slot's learns when that one was born": `
		open
		join 0b 1a 2a           => Running(0) 3/3 newest=0
		join 0a                 => Running(0) 3/3 reply=-1 newest=102
		down 0a code=1          => Running(0) 3/3 reply=-1 newest=102
		join 0b                 => reply=0 newest=0
		down 0b code=1          => Restarting(1) 0/3 newest=0
		join 0b                 => reply=-1 newest=0
		join 0a                 => Restarting(1) 0/3 reply=-1 newest=102
		join 0c                 => Restarting(1) 1/3 reply=1 newest=0
		open suspended          => Closed(1)
		join 0a                 => Closed(1) reply=-1 newest=0`,
	"no round runs with an instance at a barrier of which only the death was seen": `
		open stages=w:1x1
		join 0a barrier         => Running(0) 1/1 seq=2
		down 0b code=1 barrier  => Restarting(1) 0/1 seq=3 coalesced=1 cause=replaced/js-w-0-0/0
		join 0c barrier         => Running(1) 1/1 history=2`,
	"without a barrier it ran": `
		open stages=w:1x1
		join 0a                 => Running(0) 1/1 seq=2
		down 0b code=1          => Restarting(2) 0/1 cause=exit/js-w-0-0/1 history=2`,
	"nor does a group form with one": `
		open
		join 0a 1a barrier
		down 2a code=1 barrier  => Forming(0) 2/3 coalesced=1
		join 2b barrier         => Running(0) 3/3 history=1`,
	"a pod that is evicted is the one that is blamed": `
		open
		join 0a 1a@2 2a
		evict 1a@2              => Restarting(1) 0/3 cause=pod/js-w-0-1/0 on=w-0-1-w/node2`,
	"a delayed cause keeps all that is known of it": `
		open
		join 0a 1a 2a
		down 0a code=1
		join 0b@1
		down 0b code=137 signal=9 reason=OOMKilled
		join 0c 1b 2b           => Restarting(2) 0/3 cause=exit/js-w-0-0/137 on=w-0-0-v/node1 how=9/OOMKilled history=2`,
	"a way to end that is none": `
		open
		join 0a 1a 2a
		down 1a code=1 ended=gap => !foreign Running(0) 3/3
		down 1a code=1 signal=65 => !foreign Running(0) 3/3
		down 1a code=1 signal=-1 => !foreign Running(0) 3/3
		join 1a for=-1          => !foreign Running(0) 3/3`,
	"workers at a barrier say when they began to run": `
		open
		join 0a 1a 2a barrier   => Running(0) 3/3 ups=3 starts=0
		join 0a barrier for=5   => starts=1 seq=2 history=1
		join 0a barrier for=9   => starts=1
		join 1a 2a barrier for=5 => starts=3
		down 1a code=1 barrier
		join 0b 1b 2b barrier   => Running(1) 3/3 starts=0
		join 0b barrier         => starts=0
		join 1b barrier for=7   => starts=1 history=2`,
	"a worker that is not waited for any more says nothing of use": `
		open
		join 0a 1a 2a barrier
		down 1a code=1 barrier
		join 0a barrier for=5   => Restarting(1) 0/3 starts=0
		join 0b 1b 2b barrier
		join 0a barrier for=5   => starts=0`,
	"without a barrier a worker that joins runs": `
		open
		join 0a 1a 2a           => Running(0) 3/3 starts=3
		down 1a code=1
		join 0b                 => Restarting(1) 1/3 ups=1 starts=1`,
	"a restart that another one follows is kept": `
		open
		join 0a 1a 2a           => history=1
		down 0a code=1
		join 0b
		down 0b code=1
		join 0c 1b 2b           => Restarting(2) 0/3 history=2
		join 0d 1c 2c           => Running(2) 3/3 history=3`,
	"simultaneous failures are one restart": `
		open
		join 0a 1a 2a
		down 1a code=1          => Restarting(1) 0/3
		down 2a code=1          => Restarting(1) 0/3 coalesced=1
		join 2b 1b 0b           => Running(1) 3/3`,
	"an ordered death is not a failure": `
		open
		join 0a 1a 2a
		down 1a code=1
		down 2a code=1 ordered  => Restarting(1) 0/3 coalesced=0 downs=2`,
	"a death in the round in progress opens one more when all have joined": `
		open
		join 0a 1a 2a
		down 0a code=1
		join 0b
		down 0b code=1          => Restarting(1) 0/3 dirty
		join 0c 1b              => Restarting(1) 2/3 dirty
		join 2b                 => Restarting(2) 0/3 clean cause=exit/js-w-0-0/1
		join 0d 1c 2c           => Running(2) 3/3 history=3`,
	"a replaced instance in the round in progress counts as its death": `
		open
		join 0a 1a 2a
		down 0a code=1
		join 0b 0c              => Restarting(1) 1/3 dirty coalesced=1
		join 1b 2b              => Restarting(2) 0/3 cause=replaced/js-w-0-0/0`,
	"a death while forming is not forgotten": `
		open
		join 0a
		down 0a code=1          => Forming(0) 0/3 dirty
		join 0b 1a 2a           => Restarting(1) 0/3`,
	"an unreported death is seen by the next instance": `
		open
		join 0a 1a 2a
		join 2b                 => Restarting(1) 1/3 reply=1 cause=replaced/js-w-0-2/0 downs=1 ups=1`,
	"a death that nobody saw alive counts as a join and a death": `
		open
		join 0a 1a 2a
		down 2b code=1          => Restarting(1) 0/3 dirty reply=-1`,
	"repeated and late reports change nothing": `
		open
		join 0a 1a 2a           => seq=2
		join 0a 1a 2a           => seq=2 Running(0) 3/3 reply=0
		down 1a code=1          => seq=3
		down 1a code=1          => seq=3 coalesced=0
		join 1b
		join 1a 1b              => seq=3 Restarting(1) 1/3
		down 1a code=1          => seq=3 Restarting(1) 1/3 clean`,
	"the failure after the last restart is terminal and kills nobody": `
		open limit=1
		join 0a 1a 2a
		down 0a code=1
		join 0b 1b 2b           => Running(1) 3/3
		down 2b code=9          => Terminal(1) 2/3 history=3 cause=exit/js-w-0-2/9
		join 2c                 => Terminal(1) 3/3
		down 1b code=1          => Terminal(1) 2/3 history=3`,
	"without a budget the first failure is terminal": `
		open limit=0
		join 0a 1a 2a
		down 0a code=1          => Terminal(0) 2/3`,
	"a dirty round without budget is terminal": `
		open limit=0
		join 0a
		down 0a code=1
		join 0b 1a 2a           => Terminal(0) 3/3`,
	"exit 0 is the end of a worker, not a death": `
		open
		join 0a 1a 2a
		down 0a code=0          => Running(0) 3/3 done=1
		down 0a code=0          => Running(0) 3/3 done=1
		down 1a code=0
		down 2a code=0          => Completed(0) 0/0 done=3 steps=x reply=-1 released`,
	"a worker that finishes while the group forms has joined": `
		open
		join 0a
		down 0a code=0          => Forming(0) 1/3 done=1
		join 1a 2a              => Running(0) 3/3`,
	"exit 0 on an order is a death": `
		open
		join 0a 1a 2a
		down 0a code=1
		down 1a code=0 ordered  => Restarting(1) 0/3 done=0
		join 0b 1b 2b
		down 0b code=0 ordered  => Restarting(2) 0/3 done=0`,
	"a finished worker cannot run again": `
		open
		join 0a 1a 2a
		down 0a code=0
		down 1a code=1          => Recreating(0) 2/3 cause=finished/js-w-0-1/1 history=2`,
	"a finished group without budget is terminal": `
		open limit=0
		join 0a 1a 2a
		down 0a code=0
		down 1a code=1          => Terminal(0) 2/3`,
	"a new pod opens a round and fences the old one": `
		open
		join 0a 1a 2a
		join 1a@2               => Restarting(1) 1/3 cause=pod/js-w-0-1/0
		join 1b                 => !fenced Restarting(1) 1/3
		down 1a code=1          => !fenced
		ask 1a kind=gap         => !fenced`,
	"what a clock cannot show is refused and changes nothing": `
		open
		join 0a 1a ahead=pod    => !foreign Forming(0) 0/3
		join 0a 1a ahead=instance => !foreign Forming(0) 0/3
		join 0a 1a 2a           => Running(0) 3/3
		down 1a code=1 ahead=failed => !foreign Running(0) 3/3
		down 1a code=1 ahead=detected => !foreign Running(0) 3/3
		down 1a code=1          => Restarting(1) 0/3`,
	"reports of fenced pods are counted": `
		open
		join 0a 1a 2a           => rejects=0
		join 1a@2               => rejects=0
		join 1b                 => !fenced rejects=1
		down 1a code=1          => !fenced rejects=2
		ask 1a kind=gap         => !fenced rejects=3
		join 0b@1 2b            => rejects=3
		open epoch=2            => rejects=3
		join 0b epoch=1 round=1 => !fenced rejects=4`,
	"an older pod is fenced": `
		open
		join 1a@2               => Forming(0) 1/3
		join 1a                 => !fenced Forming(0) 1/3
		join 1a@3               => Forming(0) 1/3 dirty
		join 1a@2               => !fenced`,
	"a new pod in a finished slot is finished no more": `
		open
		join 0a 1a 2a
		down 1a code=0          => done=1
		join 1a@2               => Restarting(1) 1/3 done=0 cause=pod/js-w-0-1/0`,
	"an older instance of the same pod is stale": `
		open
		join 1b                 => Forming(0) 1/3
		join 1a                 => Forming(0) 1/3 reply=-1 clean
		down 1a code=1          => Forming(0) 1/3 clean`,
	"who asks for recreation gets it while running or restarting": `
		open
		join 0a 1a 2a
		ask 1a kind=unkilled    => Recreating(0) 3/3 cause=unkilled/js-w-0-1/0 history=2 reply=0
		ask 1a kind=gap         => Recreating(0) 3/3 cause=unkilled/js-w-0-1/0 history=2`,
	"who asks while forming, or without a slot, asks in vain": `
		open
		join 0a 1a
		ask 1a kind=gap         => Forming(0) 2/3
		ask 2a kind=gap         => Forming(0) 2/3 reply=-1
		ask 1a@2 kind=gap       => Forming(0) 2/3
		join 2a
		ask 1a@2 kind=gap       => Running(0) 3/3`,
	"the leader gives up the round it means, and no other": `
		open
		join 0a 1a 2a
		recreate epoch=1 round=0 kind=timeout => Running(0) 3/3
		down 1a code=7
		recreate epoch=1 round=2 kind=timeout => Restarting(1) 0/3
		recreate epoch=2 round=1 kind=timeout => Restarting(1) 0/3
		recreate epoch=1 round=1 kind=timeout => Recreating(1) 0/3 cause=timeout/js-w-0-1/7 history=2
		recreate epoch=1 round=1 kind=gap     => Recreating(1) 0/3 cause=timeout/js-w-0-1/7 history=2`,
	"a leader with an older token changes nothing": `
		open token=2.5
		join 0a 1a 2a
		down 1a code=1
		recreate epoch=1 round=1 kind=timeout token=2.4 => !staleleader Restarting(1) 0/3 token=2.5
		open token=1.9 epoch=2  => !staleleader Restarting(1) 0/3
		open token=1.9 reset inc=B => !staleleader Restarting(1) 0/3 inc=A
		drop token=1.9          => !staleleader Restarting(1) 0/3
		open token=3.0          => Restarting(1) 0/3 token=3.0
		recreate epoch=1 round=9 kind=timeout token=3.1 => Restarting(1) 0/3 token=3.1`,
	"an earlier epoch is refused": `
		open epoch=4
		open epoch=3            => !staleepoch Forming(0) 0/3 epoch=4`,
	"a later epoch starts at zero and fences every pod": `
		open
		join 0a 1a 2a
		down 1a code=1
		open epoch=2 limit=3    => Forming(0) 0/3 epoch=2 limit=3 gen=0
		join 0b                 => !fenced
		join 0a@2 1a@2 2a@2     => Running(0) 3/3
		join 0a@3 epoch=1 round=1 => !fenced Running(0) 3/3`,
	"what a pod saw in an earlier epoch fences it, unless it holds the slot": `
		open epoch=2
		join 0a
		join 0a epoch=1 round=4 => Forming(0) 1/3
		join 1a epoch=1 round=4 => !fenced
		join 1a                 => !fenced`,
	"what a pod saw in a later epoch means that the data are old": `
		open
		join 0a epoch=2 round=0 => !nogroup Forming(0) 0/3`,
	"opening again changes nothing": `
		open
		join 0a 1a 2a           => seq=2
		open                    => seq=2 Running(0) 3/3
		open inc=B recover      => seq=2 Running(0) 3/3 inc=A
		open limit=9            => seq=2 limit=9`,
	"a suspended group takes no reports, and asks the agents when it resumes within its epoch": `
		open
		join 0a 1a 2a
		down 1a code=1
		open suspended          => Closed(1)
		open suspended          => Closed(1)
		down 0a code=1          => Closed(1)
		join 1b                 => Closed(1)
		open                    => Recovering(1) 0/3
		join 0a@2 1a@2 2a@2     => Running(1) 3/3`,
	"a suspend that is taken back before a pod was stopped stops nobody": `
		open
		join 0a 1a 2a           => Running(0)
		open suspended          => Closed(0)
		open                    => Recovering(0) 0/3
		join 0a epoch=1 round=0 holds running instances=1
		join 1a epoch=1 round=0 holds running instances=1
		join 2a epoch=1 round=0 holds running instances=1 => Running(0) 3/3`,
	"finished slots are counted while a group forms": `
		open done=0             => Forming(0) 1/3 done=1
		join 1a                 => Forming(0) 2/3
		open done=0,2           => Running(0) 3/3 done=2`,
	"a stage whose Jobs are complete leaves, whatever the store has heard": `
		open stages=w:1x2,x:1x1
		join 0a 1a x0a          => Running(0) 3/3
		open stages=w:1x2,x:1x1 done=0,0 => Running(0) 3/3 done=0
		down x0a code=1         => Restarting(1)
		join x0b                => Restarting(1) 1/3
		open stages=w:1x2,x:1x1 done=0,1 => Running(1) 1/1 done=2 steps=0!0
		join 0b                 => Running(1) released`,
	"but not after the last restart": `
		open limit=0 stages=w:1x2,x:1x1
		join 0a 1a x0a
		down x0a code=1         => Terminal(0)
		open limit=0 stages=w:1x2,x:1x1 done=0,1 => Terminal(0) 2/3 done=0`,
	"a slot with a living worker is not finished": `
		open
		join 0a 1a
		open done=0             => Forming(0) 2/3 done=0`,
	"a recovery with a death in it can be given up": `
		open recover
		join 0a epoch=1 round=0 instances=1 running => dirty Recovering(0) 1/3
		recreate round=0 kind=timeout => Recreating(0)`,
	"a group may begin suspended": `
		open suspended          => Closed(0)
		join 0a                 => Closed(0) reply=-1
		open                    => Forming(0) 0/3`,
	"a later epoch may begin suspended": `
		open
		join 0a
		open epoch=2 suspended  => Closed(0) epoch=2
		open epoch=2            => Forming(0) 0/3`,
	"a smaller group runs on": `
		open
		join 0a 1a 2a
		open stages=w:1x2       => Recovering(0) 0/2 gen=1
		join 2a                 => !unknownslot
		join 0a epoch=1 round=0 holds running instances=1
		join 1a epoch=1 round=0 holds running instances=1 => Running(0) 2/2 reply=0`,
	"a larger group restarts, because a worker is new": `
		open stages=w:1x2
		join 0a 1a
		open                    => Recovering(0) 0/3
		join 0a epoch=1 round=0 holds running instances=1
		join 1a epoch=1 round=0 holds running instances=1
		join 2a                 => Restarting(1) 1/3 reply=1`,
	"a finished worker keeps its place when the size changes": `
		open
		join 0a 1a 2a
		down 0a code=0
		open stages=w:1x2       => Recovering(0) 1/2 done=1
		join 1a epoch=1 round=0 holds running instances=1 => Running(0) 2/2`,
	"a group of several stages counts all of them": `
		open stages=w:1x2,x:1x1 => Forming(0) 0/3
		join 0a 1a              => Forming(0) 2/3
		join x0a                => Running(0) 3/3
		join x1a                => !unknownslot
		down x0a code=1         => Restarting(1) 0/3 cause=exit/js-x-0-0/1`,
	"lost data: equal rounds run on untouched": `
		open recover            => Recovering(0) 0/3 gen=1
		join 0a 1a epoch=1 round=4 holds running instances=1
		join 2a epoch=1 round=4 holds running instances=1 => Running(4) 3/3 reply=4 cause=recovery//0`,
	"lost data: nobody knows a round": `
		open recover
		join 0a 1a 2a           => Running(0) 3/3 reply=0`,
	"lost data: merely unequal rounds go on to the highest": `
		open recover
		join 0a epoch=1 round=3 holds running instances=1
		join 1a 2a epoch=1 round=4 holds entered instances=1 => Restarting(4) 2/3 reply=4
		join 0b                 => Running(4) 3/3`,
	"lost data: a worker that died meanwhile is one more round": `
		open recover
		join 0a 2a epoch=1 round=4 holds running instances=1
		join 1b epoch=1 round=4 running instances=1 => Restarting(5) 1/3 reply=5`,
	"lost data: a new pod among workers that were running is one more round": `
		open recover
		join 0a 2a epoch=1 round=4 holds running instances=1
		join 1a@2               => Restarting(5) 1/3 cause=recovery//0`,
	"lost data: a second instance of a round that never ran is one more round": `
		open recover
		join 0a 2a epoch=1 round=4 holds entered instances=1
		join 1b epoch=1 round=4 holds entered instances=2 => Restarting(5) 0/3 cause=replaced/js-w-0-1/0`,
	"lost data: a second instance of a round that ran is no news": `
		open recover
		join 0a 1b 2a epoch=1 round=4 holds running instances=2 => Running(4) 3/3`,
	"lost data: a death while recovering is one more round": `
		open recover
		join 0a epoch=1 round=1 holds running instances=1
		down 0a code=3 epoch=1 round=1 holds running instances=1 => Recovering(0) 0/3
		join 0b 1a 2a epoch=1 round=1 running instances=2        => Running(2) 3/3 reply=2 cause=exit/js-w-0-0/3`,
	"lost data: a replaced instance while recovering is one more round": `
		open recover
		join 0a epoch=1 round=1 holds running instances=1
		join 0b                 => Recovering(0) 1/3
		join 1a 2a epoch=1 round=1 holds running instances=1     => Restarting(2) 1/3 cause=replaced/js-w-0-0/0`,
	"lost data: beyond the budget is terminal": `
		open recover limit=4
		join 0a 2a epoch=1 round=4 holds running instances=1
		join 1b epoch=1 round=4 running instances=1 => Terminal(4) 3/3`,
	"lost data: the finished ones are known to the leader": `
		open recover done=0,1,7 => Recovering(0) 2/3 done=2
		join 2a epoch=1 round=2 holds running instances=1 => Running(2) 3/3 done=2`,
	"lost data: all have finished": `
		open recover done=0,1,2 => Completed(0) 0/0 done=3`,
	"a step forms by itself, and a death leaves it alone": `
		open stages=a:1x2,b:1x2/1 => Forming(0) 0/4 steps=-,-
		join b0a                => Forming(0) 1/4 missing=a-0-0,a-0-1,b-0-1 reply=0
		join a0a a1a            => Running(0) 2/2 steps=0,- missing= seq=2
		down a1a code=1         => Restarting(1) 0/2 steps=0,-
		join b0a                => Restarting(1) 0/2 reply=0
		join b1a                => Restarting(1) 2/4 steps=0,1 reply=1
		join a0b a1b            => Running(1) 4/4 steps=0,1 downs=2 ups=2`,
	"a later step never enters first": `
		open stages=a:1x1,b:1x1/1
		join b0a                => Forming(0) 1/2 steps=-,-
		join a0a                => Running(0) 2/2 steps=0,0`,
	"a death in a forming step is answered when it enters": `
		open stages=a:1x1,b:1x2/1
		join a0a b0a
		down b0a code=7         => Running(0) 1/1 dirty steps=0,- coalesced=0
		join b0b b1a            => Restarting(1) 0/3 clean steps=0,0 cause=exit/js-b-0-0/7`,
	"a forming step that becomes dirty while the others restart adds a round": `
		open stages=a:1x1,b:1x2/1
		join a0a b0a
		join b0b                => Running(0) 1/1 dirty
		down a0a code=1         => Restarting(1) 0/1 dirty
		join b1a                => Restarting(1) 2/3 dirty steps=0,1
		join a0b                => Restarting(2) 0/3 clean cause=replaced/js-b-0-0/0`,
	"at a barrier a death in the round in progress just joins again": `
		open
		join 0a 1a barrier
		down 0a barrier code=1  => Forming(0) 1/3 clean coalesced=1
		join 0b 2a barrier      => Running(0) 3/3
		down 0b barrier code=1
		join 1b 1c barrier      => Restarting(1) 1/3 clean
		down 1c barrier code=1  => Restarting(1) 0/3 clean
		join 0c 1d 2b barrier   => Running(1) 3/3`,
	"at a barrier a death in a forming step is none": `
		open stages=a:1x1,b:1x2/1
		join a0a b0a barrier
		down b0a barrier code=1 => Running(0) 1/1 clean
		evict a0a               => Restarting(1)
		join b0b b1a a0a@2 barrier => Running(1) 3/3 steps=0,1`,
	"a held worker runs again": `
		open
		join 0a 1a 2a barrier
		down 0a barrier code=0  => Running(0) 3/3 done=1 kept reply=-1
		join 0a barrier         => Running(0) 3/3 done=1 kept
		down 1a barrier code=1  => Restarting(1) 0/3 done=0
		join 0b 1b 2b barrier   => Running(1) 3/3
		down 0b 1b 2b barrier code=0 => Completed(1) done=3 released steps=x
		down 2b barrier code=0  => Completed(1) released`,
	"a held worker that is evicted has not finished": `
		open
		join 0a 1a 2a barrier
		down 0a barrier code=0  => done=1
		evict 0a                => Restarting(1) 0/3 done=0
		join 0a                 => !fenced`,
	"a held worker that has not run yet is not evicted": `
		open
		join 0a 1a 2a barrier
		down 0a barrier code=0
		down 1a barrier code=1
		evict 0a                => Restarting(1) 0/3 clean downs=1
		join 0b barrier         => Restarting(1) 1/3`,
	"a new pod of a held worker is a restart": `
		open
		join 0a 1a 2a barrier
		down 0a barrier code=0  => done=1
		join 0a@2 barrier       => Restarting(1) 1/3 done=0`,
	"a free worker is not held": `
		open stages=w:1x3/0/free
		join 0a 1a 2a barrier
		down 0a barrier code=0  => Running(0) 3/3 done=1 released
		down 1a barrier code=1  => Recreating(0) 2/3 cause=finished/js-w-0-1/1`,
	"a free worker that is at work keeps the others for a restart": `
		open stages=d:1x1/0/free,w:1x2
		join d0a 0a 1a barrier
		down 0a 1a barrier code=0 => Running(0) 3/3 done=2 kept
		down d0a barrier code=1 => Restarting(1) 0/3 done=0
		join d0b 0b 1b barrier  => Running(1) 3/3
		down 0b 1b d0b barrier code=0 => Completed(1) done=3 released`,
	"what is needed decides when all is done": `
		open stages=n:1x1/0/needed,w:1x2
		join n0a 0a 1a barrier
		down 0a barrier code=0  => Running(0) 3/3 kept
		down n0a barrier code=0 => Completed(0) 2/2 done=2 released steps=0!0
		join 0a@2 barrier       => Completed(0) released
		down 1a barrier code=1  => Completed(0)
		evict 1a                => Completed(0)
		ask 1a kind=gap         => Completed(0)
		open stages=n:1x1/0/needed,w:1x3 => Completed(0)
		open epoch=2 stages=n:1x1/0/needed,w:1x2 => Forming(0) 0/3 done=0 steps=-`,
	"a gate leaves with its stage": `
		open stages=g:1x2/0/gate,w:1x1,x:1x1/1
		join g0a g1a w0a barrier => Running(0) 3/3
		down g0a barrier code=0 => Running(0) 3/3 kept
		down g1a barrier code=0 => Running(0) 1/1 released steps=0!0,- seq=3
		evict g1a               => Running(0) 1/1 seq=3
		down w0a barrier code=1 => Restarting(1) 0/1
		join w0b x0a barrier    => Running(1) 2/2 steps=0!0,1`,
	"a step that has left is no reason to recreate": `
		open stages=g:1x1,x:1x2/1
		join g0a
		down g0a code=0         => Running(0) 0/2 done=1 steps=x,- released missing=x-0-0,x-0-1
		join g0a@2              => Running(0) done=1 reply=-1 released
		down g0a@3 code=1       => Running(0) done=1 released
		join x0a x1a            => Running(0) 2/2 steps=x,0 kept
		down x0a code=1         => Restarting(1) 0/2 done=1
		join x0b x1b            => Running(1) 2/2
		down x0b x1b code=0     => Completed(1) steps=x,x`,
	"a stage that has left stays so when another changes its size": `
		open stages=g:1x1,x:1x2/1
		join g0a x0a x1a
		down g0a code=0         => Running(0) 2/2 steps=x,0
		open stages=g:1x1,x:1x1/1 => Recovering(0) 0/1 steps=x,- gen=1 done=1
		join x0a epoch=1 round=0 holds running entered instances=1 => Running(0) 1/1 steps=x,0`,
	"what is terminal stays so at any size": `
		open limit=0
		join 0a 1a 2a
		down 0a code=1          => Terminal(0) 2/3
		open limit=0 stages=w:1x4,x:1x1/1 => Terminal(0) 2/4 steps=0,-
		join 0b x0a             => Terminal(0) 3/4`,
	"resumed: what has finished does not come back": `
		open epoch=2 stages=w:1x2,x:1x1/1 done=0,1 => Forming(0) 0/1 done=2 steps=x,-
		join x0a                => Running(0) 1/1 steps=x,0`,
	"slots that have finished count for the step that forms": `
		open stages=x:1x1,w:1x2/1
		join x0a 0a             => Running(0) 1/1 done=0
		open stages=x:1x1,w:1x2/1 done=1 => Running(0) 3/3 done=1 steps=0,0`,
	"lost data: a step that was forming is not waited for": `
		open recover stages=a:1x1,b:1x2/1 => Recovering(0) 0/3
		join b0a barrier epoch=1 round=3 holds instances=1 => Recovering(0) 1/3
		join a0a barrier epoch=1 round=3 holds running entered instances=1 => Running(3) 1/1 steps=0,-
		join b1a barrier        => Running(3) 3/3 steps=0,3 reply=3`,
	"lost data: a step that had entered is": `
		open recover stages=a:1x1,b:1x2/1
		join b0a barrier epoch=1 round=3 holds entered instances=1 => Recovering(0) 1/2
		join a0a barrier epoch=1 round=3 holds entered instances=1 => Recovering(0) 2/3
		join b1a barrier epoch=1 round=2 holds running entered instances=1 => Restarting(3) 2/3 steps=0,0 reply=2
		join b1b barrier        => Running(3) 3/3`,
	"lost data: who knows that its step had entered makes the store ask again": `
		open recover stages=a:1x1,b:1x1/1
		join a0a barrier epoch=1 round=3 holds running entered instances=1 => Running(3) 1/1 gen=1
		join b0a barrier epoch=1 round=3 holds running entered instances=1 => Recovering(3) 1/2 gen=2 steps=-,-
		join a0a barrier epoch=1 round=3 holds running entered instances=1 => Running(3) 2/2 steps=0,0`,
	"lost data: a death at a barrier in a round that never ran is no cause": `
		open recover
		join 0a 2a barrier epoch=1 round=4 holds entered instances=1
		join 1b barrier epoch=1 round=4 entered instances=1 => Running(4) 3/3 reply=4`,
	"lost data: nor while others still run the round before": `
		open recover
		join 0a barrier epoch=1 round=3 holds running entered instances=1
		join 2a barrier epoch=1 round=4 holds entered instances=1
		join 1b barrier epoch=1 round=4 entered instances=1 => Restarting(4) 2/3 reply=4`,
	"lost data: a death at a barrier among those that were let run is": `
		open recover
		join 0a 2a barrier epoch=1 round=4 holds running entered instances=1
		join 1b barrier epoch=1 round=4 entered instances=1 => Restarting(5) 1/3 cause=replaced/js-w-0-1/0`,
	"lost data: a death at a barrier is told before the others": `
		open recover
		join 1a barrier epoch=1 round=4 holds entered instances=1
		down 1a barrier code=9 epoch=1 round=4 holds entered instances=1 => Recovering(0) 0/3 clean
		join 0a 1b barrier epoch=1 round=4 holds running entered instances=1 => dirty Recovering(0) 2/3
		join 2a barrier epoch=1 round=4 holds running entered instances=1 => Restarting(5) 0/3 cause=exit/js-w-0-1/9`,
	"lost data: a held worker says again that it has finished": `
		open recover
		down 0a barrier code=0 epoch=1 round=4 holds running entered instances=1 => Recovering(0) 1/3 done=1
		join 1a 2a barrier epoch=1 round=4 holds running entered instances=1 => Running(4) 3/3 done=1
		open suspended
		open                    => Recovering(4) 0/3 done=0
		down 0a barrier code=0 epoch=1 round=4 holds running entered instances=1 => Recovering(4) 1/3 done=1
		down 0a barrier code=0 epoch=1 round=4 holds running entered instances=1 => Recovering(4) 1/3 done=1
		join 1a 2a barrier epoch=1 round=4 holds running entered instances=1 => Running(4) 3/3 done=1`,
	"lost data: a held worker that missed a round runs it": `
		open recover
		down 0a barrier code=0 epoch=1 round=3 holds running entered instances=1
		join 1a 2a barrier epoch=1 round=4 holds entered instances=1 => Restarting(4) 2/3 done=0
		join 0b barrier         => Running(4) 3/3`,
	"a store that went back into a recovery asks once more": `
		open recover
		join 0a epoch=1 round=1 holds running entered instances=1
		join 1b barrier epoch=1 round=1 running entered instances=1 => Recovering(0) 2/3 reply=-1
		save
		join 2b barrier epoch=1 round=1 running entered instances=1 => Restarting(2) 2/3
		restore                 => Recovering(0) 2/3 gen=1
		join 1b barrier epoch=1 round=2 holds entered instances=1 => Recovering(0) 1/3 gen=2 reply=2
		join 0a epoch=1 round=1 holds running entered instances=1
		join 2b barrier epoch=1 round=2 holds entered instances=1 => Restarting(2) 2/3`,
	"who was given another round than the store says makes it ask again": `
		open recover
		join 1b barrier epoch=1 round=1 running entered instances=1
		save
		join 0a 2a barrier epoch=1 round=1 holds running entered instances=1 => Restarting(2) 1/3
		restore
		join 0b 2b barrier epoch=1 round=2 running entered instances=1 => Running(3) 3/3
		join 1b barrier epoch=1 round=2 holds entered running instances=1 => Recovering(3)`,
	"finished slots count for a recovery, whoever was alive before": `
		open
		join 0a 1a 2a
		open suspended
		open                    => Recovering(0) 0/3
		open done=2             => Recovering(0) 1/3 done=1
		join 2a epoch=1 round=0 holds running entered instances=1 => Recovering(0) 1/3 done=1
		join 0a 1a epoch=1 round=0 holds running entered instances=1 => Running(0) 3/3 done=1`,
	"a round that a suspend interrupted goes on": `
		open
		join 0a 1a 2a
		down 0a code=1
		open suspended
		open                    => Recovering(1) 0/3
		join 0b 1a 2a epoch=1 round=0 holds entered instances=1 => Restarting(1) 0/3`,
	"a new instance is not told the round of the one before, while reports change nothing": `
		open
		join 0a 1a 2a
		down 0a code=1          => Restarting(1)
		open suspended
		down 1a code=143 ordered
		join 1b epoch=1 round=0 running entered instances=1 => Closed(1) reply=-1
		join 2a epoch=1 round=0 holds running entered instances=1 => Closed(1) reply=0`,
	"an agent that lost its file while it is asked is told by the store": `
		open
		join 0a 1a 2a
		open suspended
		open                    => Recovering(0) 0/3
		join 0a 1a epoch=1 round=0 holds running entered instances=1
		join 2a                 => Running(0) 3/3 reply=0`,
	"an agent that lost its file knows the round that its step entered at": `
		open stages=w:1x2,x:1x2/1
		join 0a 1a x0a          => Running(0) 2/2
		down 0a code=1
		join 0b 1b              => Running(1) 2/2
		join x1a                => Running(1) 4/4 steps=0,1
		open suspended stages=w:1x2,x:1x2/1
		open stages=w:1x2,x:1x2/1 => Recovering(1)
		join 0b 1b x1a epoch=1 round=1 holds running entered instances=1
		join x0a                => Running(1) 4/4 reply=1`,
	"an older copy of the data gives no instance a lower round": `
		open
		join 0a 1a 2a
		down 0a code=1
		save
		join 1b                 => Restarting(1) reply=1
		restore
		join 1a epoch=1 round=1 holds entered instances=1 => Recovering(1) 1/3 reply=1`,
	"a store that lost its data has no group until the leader opens it": `
		open
		join 0a 1a 2a
		lose                    => none
		join 0a                 => !nogroup none
		down 0a code=1          => !nogroup none
		ask 0a kind=gap         => !nogroup none
		recreate epoch=1 round=0 kind=gap => !nogroup none
		open recover inc=B      => Recovering(0) 0/3 inc=B`,
	"a store that went back collects anew": `
		open
		join 0a 1a 2a
		save
		down 0a code=1
		join 0b 1b 2b           => Running(1) 3/3
		restore                 => Running(0) 3/3
		join 0b epoch=1 round=1 holds running instances=1 => Recovering(0) 1/3 gen=1
		join 1b 2b epoch=1 round=1 holds running instances=1 => Running(1) 3/3`,
	"a store that went back into an unfinished round collects anew": `
		open
		join 0a 1a 2a
		down 0a code=1
		join 0b 1b
		save
		join 2b                 => Running(1) 3/3
		restore                 => Restarting(1) 2/3
		join 0b epoch=1 round=1 holds running instances=1 => Recovering(1) 1/3
		join 1b 2b epoch=1 round=1 holds running instances=1 => Running(1) 3/3`,
	"a store that went back an epoch waits for its leader": `
		open
		save
		open epoch=2
		join 0a
		restore                 => Forming(0) 0/3 epoch=1
		join 0a epoch=2 round=0 => !nogroup
		open epoch=2            => Forming(0) 0/3 epoch=2`,
	"a budget lowered below the round does not make the agents foreign": `
		open
		join 0a 1a 2a
		down 0a code=1
		join 0b 1b 2b
		open limit=0            => Running(1) 3/3
		join 0b epoch=1 round=1 holds running instances=1 => Running(1) 3/3
		down 0b code=1 epoch=1 round=1 running instances=1 => Terminal(1) 2/3`,
	"a reset starts over, once": `
		open
		join 0a 1a 2a
		open reset recover inc=B => Recovering(0) 0/3 inc=B history=0
		join 0a epoch=1 round=0 holds running instances=1
		open reset recover inc=B => Recovering(0) 1/3 inc=B`,
	"a dropped group is gone, with its fences": `
		open
		join 1a@2
		join 1a                 => !fenced
		drop                    => none
		drop                    => none
		open
		join 1a                 => Forming(0) 1/3`,
	"the leader knows who is missing": `
		open stages=w:1x2,x:1x2 => missing=w-0-0,w-0-1,x-0-0,x-0-1
		join 1a x0a             => missing=w-0-0,x-0-1
		down 1a code=0          => missing=w-0-0,x-0-1
		join 0a x1a             => Running(0) missing=
		down 0a code=1          => Recreating(0) missing=w-0-0`,
	"everybody is missing from a round that has just begun": `
		open
		join 0a 1a 2a           => missing=
		down 1a code=1          => missing=w-0-0,w-0-1,w-0-2
		join 2b                 => missing=w-0-0,w-0-1`,
	"an evicted pod is a death, and speaks no more": `
		open
		join 0a 1a 2a
		evict 1a                => Restarting(1) 0/3 cause=pod/js-w-0-1/0 downs=1
		join 1b                 => !fenced
		down 1a code=143        => !fenced Restarting(1) 0/3
		join 1a@2 0b 2b         => Running(1) 3/3 clean`,
	"who does not hold the slot, or is dead, is not evicted": `
		open
		join 0a 1a@2 2a
		evict 1a                => Running(0) 3/3
		evict 1a@3              => Running(0) 3/3
		down 1a@2 code=1        => seq=3
		evict 1a@2              => seq=3 Restarting(1) 0/3 coalesced=0
		join 1b@2               => Restarting(1) 1/3`,
	"evicting a slot that was never taken changes nothing": `
		open
		evict 1a                => Forming(0) 0/3 clean
		join 1a                 => Forming(0) 1/3`,
	"evicting an instance of the round in progress makes it dirty": `
		open
		join 0a 1a 2a
		down 0a code=1
		join 1b
		evict 1b                => Restarting(1) 0/3 dirty coalesced=1
		evict 2a                => Restarting(1) 0/3 downs=3 coalesced=2
		join 0b 1a@2 2a@2       => Restarting(2) 0/3 cause=pod/js-w-0-1/0`,
	"a worker that exited 0 because its pod was deleted has not finished": `
		open
		join 0a 1a 2a
		down 1a code=0          => Running(0) 3/3 done=1
		evict 1a                => Restarting(1) 0/3 done=0
		join 0b 1a@2 2b         => Running(1) 3/3`,
	"evicting while recovering hurts": `
		open recover
		join 0a epoch=1 round=2 holds running instances=1
		evict 0a                => Recovering(0) 0/3
		join 0a@2 1a 2a epoch=1 round=2 holds running instances=1 => Restarting(3) 0/3 cause=pod/js-w-0-0/0`,
	"a suspended group evicts nobody": `
		open
		join 0a 1a 2a
		open suspended
		evict 1a                => Closed(0)
		join 1a                 => Closed(0)`,
	"without budget an eviction is terminal": `
		open limit=0
		join 0a 1a 2a
		evict 1a                => Terminal(0) 2/3`,
	"unknown slots are not evicted, and old leaders evict nobody": `
		open token=2.5
		join 0a 1a 2a
		evict x0a token=2.5     => !unknownslot
		evict 0a token=2.4      => !staleleader Running(0) 3/3
		lose
		evict 0a token=2.5      => !nogroup none`,
	"unknown slots are refused": `
		open stages=w:1x2
		join 2a                 => !unknownslot
		down 2a code=1          => !unknownslot
		ask 2a kind=gap         => !unknownslot Forming(0) 0/2`,
}

func testRules(t *testing.T, newStore func(t *testing.T) Harness) {
	for name, script := range rules {
		t.Run(name, func(t *testing.T) { runScript(t, newStore(t), script) })
	}
}

func runScript(t *testing.T, h Harness, script string) {
	t.Helper()
	r := runner{Harness: h}
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		line = strings.TrimSpace(line)
		steps, want, err := parseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range steps {
			got = facts(r.run(s))
		}
		if missing := missingFrom(got, want); len(missing) > 0 {
			t.Fatalf("%s\nis not so: %v\nbut: %v", line, missing, got)
		}
	}
}

// missingFrom returns what is wanted and not there. An error has to be wanted.
func missingFrom(got, want []string) []string {
	var missing []string
	for _, w := range want {
		if !slices.Contains(got, w) {
			missing = append(missing, w)
		}
	}
	for _, g := range got {
		if strings.HasPrefix(g, "!") && !slices.Contains(want, g) {
			missing = append(missing, "no "+g)
		}
	}
	return missing
}

// facts are what a script can expect after a step.
func facts(o Outcome) []string {
	var f []string
	if o.Err != "" {
		f = append(f, "!"+o.Err)
	}
	if !o.Exists {
		return append(f, "none")
	}
	s, rec := o.Summary, o.Summary.Record
	dirty := map[bool]string{true: "dirty", false: "clean"}[s.Dirty]
	return append(f, dirty, "missing="+strings.ReplaceAll(strings.Join(o.Missing, ","), prefix, ""),
		fmt.Sprintf("%s(%d)", s.Phase, s.Round), fmt.Sprintf("%d/%d", s.Joined, s.Size),
		fmt.Sprint("epoch=", s.Epoch), fmt.Sprint("gen=", s.Generation), fmt.Sprint("seq=", s.Seq), "inc="+s.Incarnation,
		fmt.Sprint("done=", s.Done), fmt.Sprint("limit=", s.Limit), "token="+tokenText(s.Token),
		fmt.Sprint("reply=", o.Reply.Round), fmt.Sprint("newest=", o.Reply.Newest), "steps="+s.Level.Steps, map[bool]string{true: "released", false: "kept"}[o.Reply.Released], fmt.Sprint("history=", len(o.History)),
		fmt.Sprintf("cause=%s/%s/%d", rec.Cause.Kind, rec.Cause.Slot, rec.Cause.ExitCode),
		fmt.Sprintf("on=%s/%s", strings.TrimPrefix(rec.Cause.PodName, prefix), rec.Cause.Node), fmt.Sprintf("how=%d/%s", rec.Cause.Signal, rec.Cause.Reason),
		fmt.Sprint("rejects=", o.Rejects), fmt.Sprint("starts=", rec.Starts), fmt.Sprint("downs=", rec.Downs), fmt.Sprint("ups=", rec.Ups), fmt.Sprint("coalesced=", rec.Coalesced),
	)
}
