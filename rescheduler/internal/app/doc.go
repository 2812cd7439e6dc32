// Package app builds the rescheduler's manager: its flags, configuration file, caches, controllers and webhook.
package app
