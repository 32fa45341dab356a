package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // mcp-go logs the end of every pipe
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	err := compare(ctx, os.Args[1:], os.Stdout)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "loop:", err)
	os.Exit(1)
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
