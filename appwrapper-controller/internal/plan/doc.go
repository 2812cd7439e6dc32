// Package plan builds the objects of an AppWrapper as they are to be created. It is pure.
package plan
