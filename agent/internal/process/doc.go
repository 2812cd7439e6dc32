// Package process runs a program as a tree of processes of its own, and ends that tree as a whole.
//
// The program is the leader of a session and of a process group of its own. What descends from it belongs to the tree,
// wherever it has moved to: another group, another session (a daemon), another parent. A tree is gone when none of its
// processes lives; a zombie does not live, unless threads of it still run.
//
// A leader that has exited stays a zombie until the tree is gone. So its number, which names the group and the session,
// cannot be given to anybody else as long as signals are sent to it.
package process
