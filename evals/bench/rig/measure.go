package rig

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Subject is a program in one cell, ready to be measured. Either Do or Memory is set.
type Subject struct {
	// Do does n operations. What happens between Start and Stop of the meter counts.
	Do    func(ctx context.Context, n int, m *Meter) error
	Parts int // number of parts of an operation, to which the figures apply; 0: 1
	Least int // minimum number of operations in a sample

	// Memory returns the only sample, of memory.
	Memory func(context.Context) (Sample, error)

	Close func() error
}

// cellTimeout ends a cell whose subject hangs.
const cellTimeout = 5 * time.Minute

// Measure compares the subjects in one cell.
func (c *Comparison[C, S]) Measure(ctx context.Context, s *Settings, at C) (_ *Cell, err error) {
	ctx, cancel := context.WithTimeout(ctx, cellTimeout)
	defer cancel()
	cell := NewCell(at.String())
	var timed []*entrant
	defer func() {
		for _, e := range timed {
			err = errors.Join(err, e.nameError(e.Close()))
		}
	}()
	for _, subject := range c.Subjects {
		e := &entrant{cell: cell.Name, name: subject.String()}
		if s.subjects != nil && !slices.Contains(s.subjects, e.name) {
			continue
		}
		if e.Subject, err = c.Open(ctx, at, subject); err != nil {
			return nil, e.nameError(err)
		}
		switch {
		case e.Subject == nil: // it has no part in the cell
		case e.Memory != nil:
			sample, err := e.Memory(ctx)
			if err != nil {
				return nil, e.nameError(err)
			}
			cell.Add(e.name, sample)
		default:
			timed = append(timed, e)
			if err := e.calibrate(ctx, s.Length); err != nil {
				return nil, err
			}
		}
	}
	// The order rotates, so that no subject always follows the same one.
	for round := 0; len(timed) > 0 && (round < s.Samples || round < s.maxSamples && !isDecided(c.Targets, cell)); round++ {
		for i := range timed {
			e := timed[(i+round)%len(timed)]
			sample, err := e.sample(ctx, e.count)
			if err != nil {
				return nil, err
			}
			cell.Add(e.name, sample)
		}
	}
	return cell, nil
}

// entrant is a subject with its name.
type entrant struct {
	cell, name string
	*Subject
	count int // operations in one sample
}

// nameError names the cell and the subject in an error.
func (e *entrant) nameError(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %s: %w", e.cell, e.name, err)
	}
	return nil
}

// run does n operations, after a garbage collection.
func (e *entrant) run(ctx context.Context, n int) (*Meter, error) {
	runtime.GC()
	m := &Meter{}
	return m, e.nameError(e.Do(ctx, n, m))
}

func (e *entrant) sample(ctx context.Context, n int) (Sample, error) {
	m, err := e.run(ctx, n)
	if err != nil {
		return nil, err
	}
	for figure := range m.Totals {
		m.Totals[figure] /= float64(n * max(e.Parts, 1))
	}
	return m.Totals, nil
}

// calibrate finds the number of operations for a sample of about that length.
func (e *entrant) calibrate(ctx context.Context, length time.Duration) error {
	e.count = 1
	if length == 0 {
		return nil
	}
	for n := 1; ; {
		m, err := e.run(ctx, n)
		if err != nil {
			return err
		}
		wall := time.Duration(m.Totals[Wall])
		want := max(int(length/max(wall/time.Duration(n), 1)), 1)
		if want <= 2*n || wall > length/4 {
			e.count = max(want, e.Least)
			return nil
		}
		n = min(want, 32*n) // a first operation says little about the next ones
	}
}

// Meter measures from Start to Stop.
type Meter struct {
	// Totals are the costs, for all operations together. A subject may add figures of its own.
	Totals Sample

	began  time.Time
	cpu    time.Duration
	memory runtime.MemStats
}

// Start begins to measure.
func (m *Meter) Start() {
	runtime.ReadMemStats(&m.memory)
	m.cpu = CPUTime()
	m.began = time.Now()
}

// Stop sets the totals since Start.
func (m *Meter) Stop() {
	wall := time.Since(m.began)
	cpu := CPUTime() - m.cpu
	before := m.memory
	runtime.ReadMemStats(&m.memory)
	m.Totals = Sample{
		CPU:    float64(cpu),
		Wall:   float64(wall),
		Bytes:  float64(m.memory.TotalAlloc - before.TotalAlloc),
		Allocs: float64(m.memory.Mallocs - before.Mallocs),
	}
}
