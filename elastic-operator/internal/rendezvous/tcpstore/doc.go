// Package tcpstore encodes and decodes the messages of torch's TCPStore, the store behind the c10d rendezvous. It does no I/O except on the
// given reader.
//
// A message is an operation (one byte) and its arguments. Numbers are little-endian. A string or value is its length (8 bytes) and its
// bytes. A list is its length (8 bytes) and its items. Messages have no delimiter, so a malformed message ends the connection.
//
// Two dialects are supported. The first bytes of a connection identify the dialect:
//
//	Classic    torch 1.13 and similar versions: no greeting, operations are numbered from SET = 0
//	Validated  torch 2.3 and later: a greeting of the byte 0 and a magic number, operations are numbered from VALIDATE = 0
//
// The end-to-end tests run torch 1.13.1 (Classic) and torch 2.6.0 (Validated).
package tcpstore
