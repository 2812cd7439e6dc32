// Package settings is what operators and users may set: the parameters of the retry loop, with their defaults, annotations and
// ceilings, and the operator's file. It is pure.
package settings
