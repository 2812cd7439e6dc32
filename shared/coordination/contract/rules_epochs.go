package contract

// epochRules are those of giving up, beginning again, suspending and changing the size.
var epochRules = map[string]string{
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
	"unknown slots are refused": `
		open stages=w:1x2
		join 2a                 => !unknownslot
		down 2a code=1          => !unknownslot
		ask 2a kind=gap         => !unknownslot Forming(0) 0/2`,
}
