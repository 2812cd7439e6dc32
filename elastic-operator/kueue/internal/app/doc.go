// Package app wires the integration: its flags, its cache and its one controller.
package app
