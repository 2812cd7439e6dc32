// Package supervisor is the exec driver. It runs the worker as a tree of child processes, and restarts that tree
// instead of the container. An instance of the worker starts at a barrier, without a process:
//
//	Prepare         Start                   the leader exits, or Stop
//	-----> WAITING ------> RUNNING process ---------------------------> DEAD
//	          |                                                           ^
//	          +--------------------- Stop --------------------------------+
//
// A leader that fails is reported immediately, because its peers must restart. A leader that exits 0 or is stopped is
// reported once its whole tree is gone. The core asks for the next instance. It starts only when nothing of the
// previous one is left, so that programs of two rounds never run at the same time.
package supervisor
