package contract

// podRules are those of pods that are replaced, fenced or evicted.
var podRules = map[string]string{
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
	"all reports of fenced pods are refused": `
		open
		join 0a 1a 2a
		join 1a@2
		join 1b                 => !fenced
		down 1a code=1          => !fenced
		ask 1a kind=gap         => !fenced
		join 0b@1 2b
		open epoch=2
		join 0b epoch=1 round=1 => !fenced`,
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
}
