// Package app wires the rescheduler's manager: its flags, its file, its caches and what runs in it.
package app
