// Package settings defines the key rescheduling of the configuration file: its fields, defaults and limits. It does no I/O.
package settings
