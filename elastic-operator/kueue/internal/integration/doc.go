// Package integration tells Kueue what an ElasticJob is. It is the only importer of Kueue's jobframework.
package integration
