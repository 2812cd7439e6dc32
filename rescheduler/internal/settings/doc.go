// Package settings is the part of the configuration file that is about rescheduling: its keys, defaults and bounds. It is pure.
package settings
