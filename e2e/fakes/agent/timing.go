package agent

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Range is a time drawn evenly between two bounds.
type Range struct{ Least, Most time.Duration }

// Draw takes one.
func (r Range) Draw() time.Duration {
	return r.Least + time.Duration(rand.Float64()*float64(r.Most-r.Least))
}

// String is such as 65-130 ms.
func (r Range) String() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%g", float64(d)/float64(time.Millisecond)) }
	if r.Least == r.Most {
		return ms(r.Least) + " ms"
	}
	return ms(r.Least) + "-" + ms(r.Most) + " ms"
}

// Timing is what the machines of the workers take.
type Timing struct {
	// Dies is from the signal until the process is gone.
	Dies Range
	// Reaped is from the end of a process until its supervisor knows: exec driver.
	Reaped Range
	// Execs is from the lift of the barrier until the program runs: exec driver.
	Execs Range
	// Told is from the end of a process until the container runtime says that its container exited, which kubelet and sidecar
	// depend on.
	Told Range
	// Event is how long the runtime's event of a start is on its way to the sidecar.
	Event Range
	// Removed is from the order to remove the record of a container until it is gone.
	Removed Range
}

// Measured on a real node, Debian 12, containerd 2.2, with processes without devices. A StopContainer call was answered after
// 65-130 ms, of which the process took 14-20 ms to end.
func Measured() Timing {
	ms := func(least, most float64) Range {
		return Range{time.Duration(least * float64(time.Millisecond)), time.Duration(most * float64(time.Millisecond))}
	}
	return Timing{
		Dies:    ms(1.3, 7),
		Reaped:  ms(0.2, 0.8),
		Execs:   ms(2.6, 4.9),
		Told:    ms(50, 110),
		Event:   ms(0.3, 5),
		Removed: ms(20, 50),
	}
}
