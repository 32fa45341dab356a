// Package soak lets a test try a few of its cases, or all of them with the flag -soak.
package soak

import "flag"

var whole = flag.Bool("soak", false, "try every case: each seed, each boundary, each run")

// Whole reports whether the flag -soak is set. Call it in a test, after flags are parsed.
func Whole() bool { return *whole }

// Pick returns all with the flag -soak, and few otherwise.
func Pick[T any](few, all T) T {
	if Whole() {
		return all
	}
	return few
}
