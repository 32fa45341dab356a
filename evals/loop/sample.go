package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

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
