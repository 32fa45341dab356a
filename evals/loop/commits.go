package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// counted is a store that counts its commits.
type counted struct {
	record.Store
	commits atomic.Int64
}

func (c *counted) Create(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
	c.commits.Add(1)
	return c.Store.Create(ctx, h, head, records)
}

func (c *counted) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, answers ...run.Reply) error {
	c.commits.Add(1)
	return c.Store.Append(ctx, l, head, records, answers...)
}

// mostCommits is the target for the commits of a turn.
const mostCommits = 3

// fanOuts are the numbers of calls in a turn for which commits are counted.
var fanOuts = []int{1, 8, 64}

// judgeCommits counts the commits of a turn, once for each tool and fan-out.
func judgeCommits(ctx context.Context, s *rig.Settings, _ []*rig.Cell, v *rig.Verdicts) error {
	if !slices.Contains(s.Subjects, storedName) {
		return nil
	}
	for _, k := range []kind{native, static} {
		for _, calls := range fanOuts {
			name := fmt.Sprintf("commits/%s/%d", k, calls)
			if !s.Cells.MatchString(name) {
				continue
			}
			n, err := commitsOfTurn(ctx, k, calls)
			if err != nil {
				return err
			}
			v.Add(name, "commits of a turn", fmt.Sprintf("%.1f", n), fmt.Sprint(mostCommits), n <= mostCommits)
		}
	}
	return nil
}

// commitsOfTurn returns how many commits a turn adds to those of a run without turns.
func commitsOfTurn(ctx context.Context, k kind, calls int) (float64, error) {
	all, err := commitsOf(ctx, cell{kind: k, calls: calls, turns: turns})
	if err != nil {
		return 0, err
	}
	none, err := commitsOf(ctx, cell{kind: k, calls: calls})
	return float64(all-none) / turns, err
}

// commitsOf counts the commits of a run.
func commitsOf(ctx context.Context, at cell) (n int64, err error) {
	store := &counted{Store: record.NewMemory()}
	s, err := newSubject(ctx, framework{name: storedName, open: func(ctx context.Context, p *place) (loop, error) {
		return openOurs(ctx, p, 0, store)
	}}, at)
	if err != nil {
		return 0, err
	}
	err = s.measure(ctx, 1, &rig.Meter{})
	return store.commits.Load(), errors.Join(err, s.close())
}
