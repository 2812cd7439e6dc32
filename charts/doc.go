// Package charts has the Helm charts, one in each folder, and the tests that tie them to the programs they install.
package charts
