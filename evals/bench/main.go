package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func main() {
	runRole(os.Args)
	rig.Main("bench", bench)
}

// bench is the program.
func bench(ctx context.Context, args []string, out io.Writer) (err error) {
	c, err := startChild()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	l, err := newLab(c.address)
	if err != nil {
		return err
	}
	return comparison(l).Run(ctx, args, out)
}

// Figures beside the ones of a meter.
const (
	connections  rig.Figure = "conns" // new HTTP connections
	sessionBytes rig.Figure = "B/session"
	goroutines   rig.Figure = "goroutines" // goroutines of a session
	kept         rig.Figure = "kept"       // memory that a session keeps after listing all tools
	copies       rig.Figure = "copies"     // copies of a result that are alive
)

// comparison returns the comparison of all clients in all cells.
func comparison(l *lab) *rig.Comparison {
	c := &rig.Comparison{
		Name:    "bench",
		Base:    baseline,
		Targets: targets,
		Columns: []rig.Column{
			{Figure: connections, Show: rig.Ratio},
			{Figure: sessionBytes, Show: rig.Size},
			{Figure: goroutines, Show: rig.Ratio},
			{Figure: kept, Show: rig.Size},
			{Figure: copies, Show: rig.Ratio},
		},
		Open:    l.open,
		Summary: summary,
		Judge:   judgePeers,
	}
	for _, client := range clients {
		c.Subjects = append(c.Subjects, client.name)
	}
	for _, at := range cells() {
		c.Cells = append(c.Cells, at.String())
	}
	return c
}

// summary returns the CPU time of a client as a share of the floor's, or the memory of a cell that is weighed.
func summary(c *rig.Cell, client string) string {
	if r := c.Ratios(client, baseline); len(r) > 0 {
		return rig.Ratio(rig.Median(r))
	}
	for _, p := range comparisons {
		if v := c.Of(client, p.figure); len(v) > 0 {
			return p.show(rig.Median(v))
		}
	}
	return ""
}
