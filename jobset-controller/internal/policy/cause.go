package policy

import "fmt"

// SuspendCause is the idempotency key of the epoch that a suspend opens.
func SuspendCause(generation int64) string { return fmt.Sprintf("suspend/%d", generation) }

// RestartCause is the idempotency key of the epoch that a restart of the failure policy opens. restarts is status.restarts as
// it will be after it.
func RestartCause(restarts int32) string { return fmt.Sprintf("%s%d", RestartCausePrefix, restarts) }

// RestartCausePrefix begins all such causes.
const RestartCausePrefix = "recreate/"
