// Package webhook is asked about pods that are created where rescheduling is in use, and tells the scheduler which nodes to keep
// them away from. It reads caches, apart from owners that are too new for them, and lets every pod through: what it cannot find out
// in time it leaves out.
package webhook
