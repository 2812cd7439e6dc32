// Package tcpstore reads and writes the messages of torch's TCPStore, the store behind the c10d rendezvous. It does no I/O but on
// the reader that it is given.
//
// A message is an operation (one byte), then its arguments. All numbers are little-endian; a string or a value is its length
// (8 bytes), then its bytes; a list is its length (8 bytes), then its items. Nothing separates messages, so a message that cannot be
// read ends the connection.
//
// There are two dialects that are served, and the first bytes of a connection tell them apart:
//
//	Classic    torch 1.13 and its neighbours: no greeting, operations are counted from SET = 0
//	Validated  torch 2.2 and later: the byte 0 and a magic number first, operations are counted from VALIDATE = 0
//
// The end-to-end tests prove Classic with torch 1.13.1 and Validated with torch 2.6.0.
package tcpstore
