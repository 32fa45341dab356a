// Package rig compares programs: it measures them side by side, round by round, and says how certain the figures are.
package rig

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Comparison is a program that measures subjects in cells and judges the figures by targets. C is a cell, and S a subject.
type Comparison[C, S fmt.Stringer] struct {
	Name     string // name of the command
	Subjects []S    // what is compared
	Base     string // the subject that the CPU time of the others is divided by
	Cells    []C
	Columns  []Column // columns beside the CPU time, the wall time and the allocations
	Targets  []Target

	// Open prepares a subject for a cell. It returns nil if the subject has no part in the cell.
	Open func(ctx context.Context, cell C, subject S) (*Subject, error)

	// Judge adds verdicts that no Target has. It may be nil.
	Judge func(cells []*Cell, v *Verdicts)
}

// Settings are the flags of a comparison.
type Settings struct {
	Samples int           // samples of each subject in each cell
	Length  time.Duration // length of a sample; 0: each has one operation

	cells      *regexp.Regexp
	subjects   []string // nil: all
	maxSamples int      // of each subject in each cell, while the verdict would be chance
	check      bool
}

const (
	// maxFactor bounds the samples of a cell, as a multiple of the requested number.
	maxFactor = 4

	// ballast is the live heap beside the measured one, as a program has one. With a small heap the
	// collector runs so often that subjects with many allocations look worse than they are.
	ballast = 64 << 20
)

// Main runs a program until it ends or is interrupted, and ends the process.
func Main(name string, program func(ctx context.Context, args []string, out io.Writer) error) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // mcp-go logs the end of each pipe
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := program(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Run measures the cells that the arguments choose and prints each one at its end, then the
// verdicts. With -check a missed target is an error.
func (c *Comparison[C, S]) Run(ctx context.Context, args []string, out io.Writer) error {
	s, err := c.parse(args)
	if err != nil {
		return err
	}
	for _, t := range c.Targets {
		if !slices.ContainsFunc(names(c.Cells), t.Cells.MatchString) {
			return fmt.Errorf("no cell matches the target %s (%s)", t.Cells, t.What)
		}
	}
	heap := make([]byte, ballast)
	defer runtime.KeepAlive(heap)
	var cells []*Cell
	for _, at := range c.Cells {
		if !s.cells.MatchString(at.String()) {
			continue
		}
		cell, err := c.Measure(ctx, s, at)
		if err != nil {
			return err
		}
		c.printCell(out, cell)
		cells = append(cells, cell)
	}
	fmt.Fprintln(out, "targets")
	v := NewVerdicts(out)
	for _, cell := range cells {
		v.targets(c.Targets, cell)
	}
	if c.Judge != nil {
		c.Judge(cells, v)
	}
	if s.check {
		return v.err()
	}
	return nil
}

// parse reads the flags. -samples and -time after -quick change its values.
func (c *Comparison[C, S]) parse(args []string) (*Settings, error) {
	s := &Settings{cells: regexp.MustCompile("")}
	times, subjects := maxFactor, names(c.Subjects)
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.BoolFunc("quick", "3 samples of 20ms, and no more where a verdict would be chance: a first look", func(string) error {
		s.Samples, s.Length, times = 3, 20*time.Millisecond, 1
		return nil
	})
	flags.IntVar(&s.Samples, "samples", 15, "samples of each subject in each cell, up to four times as many where a verdict would be chance")
	flags.DurationVar(&s.Length, "time", 50*time.Millisecond, "length of a sample, which has at least one operation")
	flags.BoolVar(&s.check, "check", false, "fail if a target is missed")
	flags.Func("run", "measure the cells whose names match this `regexp`", func(v string) (err error) {
		s.cells, err = regexp.Compile(v)
		return err
	})
	flags.Func("only", "compare these `subjects`, separated by commas: "+strings.Join(subjects, ","), func(v string) error {
		s.subjects = strings.Split(v, ",")
		for _, name := range s.subjects {
			if !slices.Contains(subjects, name) {
				return fmt.Errorf("unknown subject %q", name)
			}
		}
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	s.maxSamples = times * s.Samples
	if flags.NArg() > 0 || s.Samples < 1 || s.Length <= 0 {
		return nil, errors.New("want flags only, and a positive number for -samples and -time")
	}
	return s, nil
}

func names[T fmt.Stringer](all []T) (names []string) {
	for _, one := range all {
		names = append(names, one.String())
	}
	return names
}
