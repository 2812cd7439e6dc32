// Package relay is the core of relays. In a large group, some members each act as a relay for about a hundred others: they forward
// the published levels, and combine joins into one store call. If its relay does not respond, a member uses the store directly, so
// a relay is an optimization and never a dependency. Deaths and all other calls go to the store directly. The package does no I/O:
// package tcp and the simulation execute its decisions.
package relay
