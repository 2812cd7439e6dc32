// Package members runs thousands of members of one group in a process, against a real server: the cores and the store
// client that are shipped, with workers that die and start at once. What is left is the protocol's own cost.
//
//	worker dies -> report -> order reaches the last member -> all have joined -> the round is known to run everywhere
//
// A member has what an agent has: one connection for calls and one subscription. Where a machine does not allow so many
// files, several members share a connection for calls (Options.Share); the subscriptions are always their own.
package members
