// Package validation says what is wrong with a JobSet, by the path of the field and in words that say what would be right. It is
// pure. The webhook refuses with it what a request brings in; the controller reports with it what was there before its rules.
package validation
