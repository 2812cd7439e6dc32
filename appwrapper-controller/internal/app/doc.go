// Package app wires the AppWrapper manager: its flags, its file, its caches and what runs in it.
package app
