// Package agenteval runs suites of tasks with an agent, and keeps the result of each trial.
//
//	o := &agenteval.Options{Model: agenteval.Model{Mode: results.Scripted}, Results: file}
//	err := agenteval.Run(ctx, []*suite.Suite{s}, o)
package agenteval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// Options configure [Run].
type Options struct {
	Model Model

	// Dir is the directory in which a trial creates its own, which is kept if Keep is set.
	// Default: the system's temporary directory.
	Dir  string
	Keep bool

	Patience time.Duration // minimum time limit of a trial, whatever the task says
	Prices   *price.Table  // prices of models; default: unknown

	Trials   int // trials of each task; default 1
	Parallel int // trials at one time; default twice the number of processors

	Tasks func(suite, task string) bool // selects tasks; default all

	// Results has the lines of trials that are done, and gets the lines of the others.
	Results *results.File

	// OnLine gets each line after it is stored, one at a time, with the number of trials that have a line, and of all.
	// Default: none.
	OnLine func(l *results.Line, done, all int)
}

// Run runs the trials that have no line yet, or a void one, and returns when all have ended. Their results are in their
// lines. The error says that the suites or the model cannot be used, that a line could not be stored, or that the
// context has ended. Trials that were running at that time have no line.
func Run(ctx context.Context, suites []*suite.Suite, o *Options) error {
	all, err := o.plan(suites)
	if err != nil {
		return err
	}
	total := len(all)
	all = slices.DeleteFunc(all, func(t *trial) bool { return o.Results.Has(t.newLine().Key()) })
	parallel := o.Parallel
	if parallel < 1 {
		parallel = 2 * runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex // held while a line is stored and shown
	finished := total - len(all)
	record := func(l *results.Line) error {
		mu.Lock()
		defer mu.Unlock()
		if err := o.Results.Add(l); err != nil {
			return err
		}
		finished++
		if o.OnLine != nil {
			o.OnLine(l, finished, total)
		}
		return nil
	}
	workers, within := errgroup.WithContext(ctx)
	workers.SetLimit(parallel)
	for _, t := range all {
		if within.Err() != nil {
			break
		}
		workers.Go(func() error {
			if l := t.run(within); l != nil {
				return record(l)
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Lines runs trials like [Run], and returns all lines, also with an error. It ignores o.Results: the lines are in the
// file results.jsonl of o.Dir.
func Lines(ctx context.Context, suites []*suite.Suite, o Options) ([]*results.Line, error) {
	file, err := results.Open(filepath.Join(o.Dir, "results.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	o.Results = file
	err = Run(ctx, suites, &o)
	return file.Lines(), err
}

// plan returns the trials of suites, with the parts that they share. It opens the model.
func (o *Options) plan(suites []*suite.Suite) (all []*trial, err error) {
	if err := o.check(suites); err != nil {
		return nil, err
	}
	program, err := Program()
	if err != nil {
		return nil, err
	}
	m, err := o.Model.Open(suites)
	if err != nil {
		return nil, err
	}
	if _, ok := cost.PriceOf(o.Prices, m.Endpoint.Name); o.Prices != nil && !ok {
		return nil, fmt.Errorf("the prices of %s have none of the model %s: it has no column of costs", o.Prices.Date, m)
	}
	opened := *o
	opened.Model = m
	for _, s := range suites {
		for _, t := range s.Tasks {
			if o.Tasks != nil && !o.Tasks(s.Name, t.ID) {
				continue
			}
			for i := range max(o.Trials, 1) {
				all = append(all, &trial{Options: &opened, suite: s, task: t, n: i, program: program})
			}
		}
	}
	return all, nil
}

// check returns the first mistake in the model or the suites, or in how they go together.
func (o *Options) check(suites []*suite.Suite) error {
	if err := o.Model.check(); err != nil {
		return err
	}
	for _, s := range suites {
		if err := s.Check(); err != nil {
			return fmt.Errorf("suite %q: %w", s.Name, err)
		}
		for label, server := range s.Servers {
			if o.Model.Servers && server.URL != "" {
				return fmt.Errorf("suite %q: server %q has a URL: such servers are not recorded", s.Name, label)
			}
		}
	}
	return nil
}

// Program returns the hash of this program: trials of another version are run again.
var Program = sync.OnceValues(func() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)[:6]), err
})
