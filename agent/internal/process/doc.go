// Package process runs a program as a tree of processes, and ends that tree as a whole.
//
// The program is the leader of its own session and process group. All its descendants belong to the tree, even if they
// have moved to another group, another session (a daemon) or another parent. A tree is gone when none of its processes
// is alive. A zombie is not alive unless it still has running threads.
//
// A leader that has exited stays a zombie until the tree is gone. Its PID, which also identifies the group and the
// session, therefore cannot be reused while signals are still sent to it.
package process
