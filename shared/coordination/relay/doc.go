// Package relay is the core of relays. In a large group, some members relay for about a hundred others: they pass on the published
// levels, and collect joins into one call of the store. A member whose relay is silent uses the store itself, so a relay is an
// optimization and never a dependency. Deaths and all other calls go to the store directly. The package does no I/O: package tcp
// and the simulation execute its decisions.
package relay
