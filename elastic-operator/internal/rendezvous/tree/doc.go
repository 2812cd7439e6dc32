// Package tree is the store behind etcd's v2 API, as far as torch uses it: folders, times to live, an index that counts changes,
// compare-and-swap on values and indexes, and watches from an index on. Pure: time comes in as an argument, and it takes one goroutine at a time.
//
// Every operation expires first what is due. Whoever keeps a Tree also calls Expire at NextExpiry, so that watchers learn of what expires
// while nobody asks.
package tree
