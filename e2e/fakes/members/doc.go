// Package members runs thousands of members of one group in a process, against a real server. It uses the shipped cores
// and store client, with workers that die and start immediately. What remains is the cost of the protocol itself.
//
//	worker dies -> report -> order reaches the last member -> all have joined -> the round is known to run everywhere
//
// Like an agent, a member has one connection for calls and one subscription. Where the limit on open files is too low
// for that, several members share a connection for calls (Options.Share). Subscriptions are never shared.
package members
