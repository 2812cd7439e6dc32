// Package app wires the elastic operator: its flags, its file, its cache and what runs in it.
package app
