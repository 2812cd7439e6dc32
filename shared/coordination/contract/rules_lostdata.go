package contract

// lostDataRules are those of a store that lost data, all or the newest.
var lostDataRules = map[string]string{
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
}
