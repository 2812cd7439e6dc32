// Package app wires the JobSet manager: its flags, its caches and what runs in it.
package app
