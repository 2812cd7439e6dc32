// Package tcp runs relays (package relay) over TLS connections between the members of a group. Members implements rounds.Members: it
// uses the store or a relay, or acts as a relay itself. A relay writes its address, the fingerprint of its certificate and a token
// to the store, where only its group can read them. Members therefore need no credentials other than those for the store.
//
// Messages are lines of tab-separated fields. The first field is one of the kinds in wire.go.
package tcp
