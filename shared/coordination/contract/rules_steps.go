package contract

// stepRules are those of groups that form in steps, with barriers and workers that are held when they have finished.
var stepRules = map[string]string{
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
}
