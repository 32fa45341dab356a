package main

import (
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestFlags refuses flags with which the program would divide by zero or wait forever.
func TestFlags(t *testing.T) {
	good := options{runs: 1, workers: 1, every: time.Second, Lease: time.Second}
	check.NoError(t, good.check())
	for name, change := range map[string]func(*options){
		"-runs": func(o *options) { o.runs = 0 }, "-workers": func(o *options) { o.workers = 0 },
		"-every": func(o *options) { o.every = 0 }, "-lease": func(o *options) { o.Lease = 0 },
		"-time": func(o *options) { o.length = -1 },
	} {
		o := good
		change(&o)
		check.That(t, o.check() != nil, "%s: got no error", name)
	}
}
