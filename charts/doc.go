// Package charts contains the Helm charts, one per directory, and tests that compare them with the programs that they install.
package charts
