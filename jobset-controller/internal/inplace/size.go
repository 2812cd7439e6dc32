package inplace

import (
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
)

// maxSlots limits the memory of one group in the store.
const maxSlots = 1 << 20

// TooLarge returns why stages are too large for a group, or "" if they are not.
func TooLarge(stages []coordination.Stage) string {
	var n int64
	for _, stage := range stages {
		n += stage.Slots()
	}
	if n > maxSlots {
		return fmt.Sprintf("%d workers are more than the %d that a group can have", n, maxSlots)
	}
	if err := group.Fits(stages); err != nil {
		return err.Error()
	}
	return ""
}
