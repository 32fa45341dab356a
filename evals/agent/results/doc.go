// Package results has the results of trials: lines of JSON in a file, and the scores of a suite.
//
// A file gets a line for each trial when that has ended. A program that is started again skips
// trials that have a line.
package results
