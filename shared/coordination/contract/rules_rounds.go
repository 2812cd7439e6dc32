package contract

// roundRules are those of joining, running, failing and finishing, and of what is told as the cause.
var roundRules = map[string]string{
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
}
