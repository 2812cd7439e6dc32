// Package supervisor is the exec driver: it runs the worker as a tree of processes below this one, and restarts that
// instead of a container. An instance of the worker begins at a barrier, without a process:
//
//	Prepare         Start                   the leader exits, or Stop
//	-----> WAITING ------> RUNNING process ---------------------------> DEAD
//	          |                                                           ^
//	          +--------------------- Stop --------------------------------+
//
// A leader that fails is reported at once, because its peers are to restart; one that exits 0 or is stopped is reported when nothing of its
// tree lives. The core asks for the next instance. There is one only when nothing of the one before is left, so that no programs of
// two rounds run at a time.
package supervisor
