package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func main() {
	rig.Main("loop", func(ctx context.Context, args []string, out io.Writer) error { return comparison().Run(ctx, args, out) })
}

func comparison() *rig.Comparison {
	c := &rig.Comparison{
		Name:    "loop",
		Base:    oursName,
		Targets: targets,
		Open:    open,
		Summary: func(c *rig.Cell, framework string) string {
			µs := rig.Median(c.Of(framework, rig.CPU)) / 1e3
			return fmt.Sprintf("%s µs (%s)", rig.Count(µs), rig.Count(rig.Median(c.Of(framework, rig.Allocs))))
		},
	}
	for _, f := range frameworks {
		c.Subjects = append(c.Subjects, f.name)
	}
	for _, at := range cells() {
		c.Cells = append(c.Cells, at.String())
	}
	return c
}

// open prepares a framework for a cell.
func open(ctx context.Context, cellName, frameworkName string) (*rig.Subject, error) {
	f := frameworks[slices.IndexFunc(frameworks, func(f framework) bool { return f.name == frameworkName })]
	all := cells()
	at := all[slices.IndexFunc(all, func(c cell) bool { return c.String() == cellName })]
	if !f.can(at) {
		return nil, nil
	}
	s, err := newSubject(ctx, f, at)
	if err != nil {
		return nil, err
	}
	return &rig.Subject{Do: s.measure, Parts: max(at.turns, 1), Close: s.close}, nil
}
