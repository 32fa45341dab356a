// Package grade scores the outcome of a trial.
package grade
