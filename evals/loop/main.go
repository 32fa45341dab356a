package main

import (
	"context"
	"errors"
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

// subject is one framework in one cell. Its agent lives while the cell is measured.
type subject struct {
	*place
	loop loop
}

func newSubject(ctx context.Context, f framework, c cell) (*subject, error) {
	p := newPlace(c)
	l, err := f.open(ctx, p)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return &subject{p, l}, nil
}

func (s *subject) close() error { return errors.Join(s.loop.close(), s.place.close()) }

// measure makes n runs, and checks the answers and that all tool calls have run.
func (s *subject) measure(ctx context.Context, n int, m *rig.Meter) error {
	before := s.ran.Load()
	m.Start()
	for range n {
		text, err := s.loop.run(ctx)
		if err != nil {
			return err
		}
		if text != answer {
			return fmt.Errorf("got the answer %q, want %q", text, answer)
		}
	}
	m.Stop()
	if ran, want := int(s.ran.Load()-before), n*s.turns*s.calls; ran != want {
		return fmt.Errorf("the tool ran %d times in %d runs, want %d", ran, n, want)
	}
	return nil
}
