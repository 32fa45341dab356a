package testenv

import (
	"flag"
	"testing"
)

var soak = declareSoak()

func declareSoak() *bool {
	if !testing.Testing() {
		return new(bool)
	}
	return flag.Bool("soak", false, "try every case: each seed, each boundary, each run")
}

// Soak reports whether the flag -soak is set. Call it in a test, after flags are parsed.
func Soak() bool { return *soak }

// Step returns the distance between the cases that a test tries: 1 with the flag -soak, else n, and more with the race
// detector, which is slow and finds its races in most cases.
func Step(n int) int {
	switch {
	case Soak():
		return 1
	case racing:
		return 2*n + 1 // odd, for cases of two or three kinds in turn
	}
	return n
}

// Pick returns all with the flag -soak, and few otherwise.
func Pick[T any](few, all T) T {
	if Soak() {
		return all
	}
	return few
}
