package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func main() {
	rig.Main("bench", func(ctx context.Context, args []string, out, notes io.Writer) error {
		child(os.Args)
		return bench(ctx, args, out, notes)
	})
}

// settings are the flags.
type settings struct {
	rig.Settings
	clients []client
	json    bool
}

func parse(args []string) (settings, error) {
	s := settings{clients: clients}
	err := s.Parse(args, "bench", "client", "operation", "pipe/small", func(flags *flag.FlagSet) {
		flags.BoolVar(&s.json, "json", false, "print the results as JSON, one a line, instead of tables")
		flags.Func("clients", "compare these `names` only, separated by commas", func(v string) (err error) {
			s.clients, err = named(v)
			return err
		})
	})
	return s, err
}

// named finds clients by their names.
func named(list string) ([]client, error) {
	return rig.Named(list, "client", clients, func(c client) string { return c.name })
}

// bench is the program. Results go to out, other texts to notes.
func bench(ctx context.Context, args []string, out, notes io.Writer) (err error) {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.Full {
		fmt.Fprintln(notes, "bench: this takes about 10 minutes; -quick is a first look, in under a minute")
	}
	l, err := newLab()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if l.sessions = 99; s.Quick {
		l.sessions = 20
	}
	var results []result
	err = s.Beside(func() (err error) {
		results, err = runAll(ctx, l, s, out)
		return err
	})
	if err != nil {
		return err
	}
	if s.json {
		out = io.Discard
	}
	printSummary(out, results, s.clients)
	if v := printTargets(out, results); s.Check {
		return v.Err()
	}
	return nil
}

// runAll measures the wanted cells and prints each cell at its end.
func runAll(ctx context.Context, l *lab, s settings, out io.Writer) (all []result, err error) {
	for _, at := range cells() {
		if !s.Run.MatchString(at.String()) {
			continue
		}
		results, err := measure(ctx, l, s, at)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
		if !s.json {
			printCell(out, results)
			continue
		}
		for _, r := range results {
			if err := json.NewEncoder(out).Encode(r); err != nil {
				return nil, err
			}
		}
	}
	if all == nil {
		return nil, errors.New("no cell matches -run")
	}
	return all, nil
}
