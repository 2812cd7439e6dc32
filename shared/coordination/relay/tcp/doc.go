// Package tcp runs relays (package relay) over TLS connections between the members of a group. Members implements rounds.Members: it
// uses the store, a relay, or is one. A relay writes its address, the fingerprint of its certificate and a token into the store,
// where only its group can read them. So the credentials for the store are all that anybody needs.
//
// Messages are lines of fields with tabs in between. The first field is one of the kinds in wire.go.
package tcp
