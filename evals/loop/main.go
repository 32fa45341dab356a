package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func main() {
	rig.Main("loop", func(ctx context.Context, args []string, out, _ io.Writer) error { return compare(ctx, args, out) })
}

// settings are the flags.
type settings struct {
	rig.Settings
	frameworks []framework
}

func parse(args []string) (settings, error) {
	s := settings{frameworks: frameworks}
	err := s.Parse(args, "loop", "framework", "run", "native/1", func(flags *flag.FlagSet) {
		flags.Func("frameworks", "compare these `names` only, separated by commas", func(v string) (err error) {
			s.frameworks, err = rig.Named(v, "framework", frameworks, func(f framework) string { return f.name })
			return err
		})
	})
	return s, err
}

// compare is the program.
func compare(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	var all []*measured
	err = s.Beside(func() error {
		for _, at := range cells() {
			if !s.Run.MatchString(at.String()) {
				continue
			}
			m, err := measure(ctx, s, at)
			if err != nil {
				return err
			}
			printCell(out, m)
			all = append(all, m)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(all) > 0 {
		printSummary(out, all, s.frameworks)
	}
	return conclude(ctx, out, s, all)
}

// conclude prints the targets. With -check it fails if one is missed.
func conclude(ctx context.Context, out io.Writer, s settings, all []*measured) error {
	fmt.Fprintln(out, "targets")
	v := newVerdicts(out)
	for _, m := range all {
		v.cell(m)
	}
	if err := v.commits(ctx, s); err != nil || !s.Check {
		return err
	}
	return v.Err()
}
