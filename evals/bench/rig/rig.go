package rig

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Settings are the flags of a comparison.
type Settings struct {
	Samples int
	Most    int           // samples, where they decide nothing
	Length  time.Duration // of a sample
	Run     *regexp.Regexp
	Quick   bool
	Check   bool
	Full    bool // no flag changes its length

	ballast     int // in MiB
	cpu, memory string
}

// Longest bounds the samples of a cell that decide nothing, in times the requested ones.
const Longest = 4

// Parse reads the flags of a comparison of subjects, and what more adds. An operation is what a sample has at least one of.
func (s *Settings) Parse(args []string, name, subject, operation, cell string, more func(*flag.FlagSet)) error {
	s.Run = regexp.MustCompile("")
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.BoolVar(&s.Quick, "quick", false, "3 samples of 20ms: for a first look")
	flags.IntVar(&s.Samples, "samples", 15, "samples of each "+subject+" in each cell, up to four times as many where they decide nothing")
	flags.DurationVar(&s.Length, "time", 50*time.Millisecond, "length of a sample, in which there is one "+operation+" at least")
	flags.IntVar(&s.ballast, "ballast", 64, "live heap beside what is measured, in MiB")
	flags.BoolVar(&s.Check, "check", false, "fail when a target is missed")
	flags.StringVar(&s.cpu, "cpuprofile", "", "write a CPU profile, labelled by "+subject+", to this `file`")
	flags.StringVar(&s.memory, "memprofile", "", "write a profile of allocations to this `file`")
	flags.Func("run", "measure the cells whose names match this `regexp`, as in '"+cell+"'", func(v string) (err error) {
		s.Run, err = regexp.Compile(v)
		return err
	})
	more(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.Full = true
	flags.Visit(func(f *flag.Flag) {
		if slices.Contains([]string{"quick", "samples", "time", "run", subject + "s"}, f.Name) {
			s.Full = false
		}
	})
	s.Most = Longest * s.Samples
	if s.Quick {
		s.Samples, s.Most, s.Length = 3, 3, 20*time.Millisecond
	}
	if flags.NArg() > 0 || s.Samples < 1 || s.Length <= 0 || s.ballast < 0 {
		return errors.New("want only flags; -samples and -time must be positive, -ballast not negative")
	}
	return nil
}

// Named finds those of all that are in a list with commas.
func Named[T any](list, what string, all []T, name func(T) string) (found []T, err error) {
	for want := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(one T) bool { return name(one) == want })
		if i < 0 {
			return nil, fmt.Errorf("no %s is named %q", what, want)
		}
		found = append(found, all[i])
	}
	return found, nil
}

// Beside runs a comparison with the ballast and the profiles.
func (s *Settings) Beside(compare func() error) error {
	ballast := make([]byte, s.ballast<<20)
	defer runtime.KeepAlive(ballast)
	stop, err := Profile(s.cpu, s.memory)
	if err != nil {
		return err
	}
	err = compare()
	return errors.Join(err, stop())
}

// Rounds takes a sample of each of n subjects, round by round, until there are enough and they decide. The order rotates
// from round to round, so that no subject always follows the same one.
func (s *Settings) Rounds(ctx context.Context, n int, take func(context.Context, int) error, decided func() bool) error {
	for round := 0; round < s.Samples || round < s.Most && !decided(); round++ {
		for i := range n {
			if err := take(ctx, (i+round)%n); err != nil {
				return err
			}
		}
	}
	return nil
}

// Cost is what operations took.
type Cost struct {
	CPU, Wall     time.Duration
	Bytes, Allocs uint64
}

// Meter measures from Start to Stop.
type Meter struct {
	Cost
	memory runtime.MemStats
	began  time.Time
}

// Start begins.
func (m *Meter) Start() {
	runtime.ReadMemStats(&m.memory)
	m.CPU, m.began = CPUTime(), time.Now()
}

// Stop has the cost since Start.
func (m *Meter) Stop() {
	m.Wall = time.Since(m.began)
	m.CPU = CPUTime() - m.CPU
	before := m.memory
	runtime.ReadMemStats(&m.memory)
	m.Bytes = m.memory.TotalAlloc - before.TotalAlloc
	m.Allocs = m.memory.Mallocs - before.Mallocs
}

// Calibrate finds the number of operations for a sample of about that length. The function says how long n take.
func Calibrate(length time.Duration, sample func(n int) (time.Duration, error)) (int, error) {
	n := 1
	for {
		wall, err := sample(n)
		if err != nil {
			return 0, err
		}
		per := max(wall/time.Duration(n), time.Nanosecond)
		want := max(int(length/per), 1)
		if want <= 2*n || wall > length/4 {
			return want, nil
		}
		n = min(want, 32*n)
	}
}
