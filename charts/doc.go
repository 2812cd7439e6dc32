// Package charts contains the Helm charts, one in each folder, and the tests that compare them with the programs that they install.
package charts
