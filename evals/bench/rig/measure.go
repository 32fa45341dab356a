package rig

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Subject is a program in one cell, ready to be measured. Either Do or Weigh is set.
type Subject struct {
	// Do does n operations. What happens between Start and Stop of the meter counts.
	Do    func(ctx context.Context, n int, m *Meter) error
	Parts int // of an operation: figures are for one part; 0 is 1
	Least int // operations in a sample

	// Weigh takes the only sample, of memory.
	Weigh func(context.Context) (Sample, error)

	Close func() error
}

// cellTimeout ends a cell whose subject hangs.
const cellTimeout = 5 * time.Minute

// Measure compares the subjects in one cell.
func (c *Comparison) Measure(ctx context.Context, s *Settings, name string) (_ *Cell, err error) {
	ctx, cancel := context.WithTimeout(ctx, cellTimeout)
	defer cancel()
	cell := NewCell(name)
	var timed []*entrant
	defer func() {
		for _, e := range timed {
			err = errors.Join(err, e.Close())
		}
	}()
	for _, subject := range s.Subjects {
		e := &entrant{name: subject}
		if e.Subject, err = c.Open(ctx, name, subject); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, subject, err)
		}
		switch {
		case e.Subject == nil:
			continue
		case e.Weigh != nil:
			sample, err := e.Weigh(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, subject, err)
			}
			cell.Add(subject, sample)
			continue
		}
		timed = append(timed, e)
		if err := e.calibrate(ctx, s.Length); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, subject, err)
		}
	}
	// The order rotates, so that no subject always follows the same one.
	for round := 0; len(timed) > 0 && (round < s.Samples || round < s.most && !decided(c.Targets, cell)); round++ {
		for i := range timed {
			e := timed[(i+round)%len(timed)]
			sample, err := e.sample(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, e.name, err)
			}
			cell.Add(e.name, sample)
		}
	}
	return cell, nil
}

// entrant is a subject with its name.
type entrant struct {
	name string
	*Subject
	count int // operations in one sample
}

// run does n operations, after a garbage collection.
func (e *entrant) run(ctx context.Context, n int) (*Meter, error) {
	runtime.GC()
	m := &Meter{}
	return m, e.Do(ctx, n, m)
}

func (e *entrant) sample(ctx context.Context) (Sample, error) {
	m, err := e.run(ctx, e.count)
	for figure := range m.Totals {
		m.Totals[figure] /= float64(e.count * max(e.Parts, 1))
	}
	return m.Totals, err
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
	Totals Sample // for all operations together

	began  time.Time
	cpu    time.Duration
	memory runtime.MemStats
}

// Start begins to measure.
func (m *Meter) Start() {
	runtime.ReadMemStats(&m.memory)
	m.cpu, m.began = CPUTime(), time.Now()
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
