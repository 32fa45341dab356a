package main

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// cell is a workload over a transport in an era.
type cell struct {
	transport string // pipe, stdio, json, sse; the last two also with ownClientSuffix
	revision  string
	*workload
}

func (c cell) String() string {
	era := "legacy"
	if c.revision == modern {
		era = "modern"
	}
	return c.transport + "/" + c.name + "/" + era
}

// overHTTP reports whether a transport of a cell is HTTP.
func overHTTP(transport string) bool { return transport != "pipe" && transport != "stdio" }

// workload is what happens in a cell. Either do or memory is set.
type workload struct {
	name     string
	bothEras bool
	defaults bool // the workload runs with each client's own HTTP client, too

	do       func(context.Context, *subject) error // one operation
	together int                                   // concurrent operations; 0 is one after the other

	memory func(context.Context, *subject) (rig.Sample, error) // measures memory
}

var workloads = []workload{
	{name: "small", bothEras: true, do: callTool(smallTool)},
	{name: "64", bothEras: true, defaults: true, do: callTool(smallTool), together: 64},
	{name: "512", bothEras: true, defaults: true, do: callTool(smallTool), together: 512},
	{name: "1mib", do: callTool(mibTool)},
	{name: "10mib", do: callTool(mib10Tool)},
	{name: "tools", do: listTools},
	{name: "connect", bothEras: true, do: connectAndClose},
	{name: "idle", bothEras: true, memory: idleMemory},
	{name: "kept", memory: keptMemory},
	{name: "alive", memory: aliveMemory},
}

// cells returns all cells.
func cells() (all []cell) {
	for _, transport := range []string{"pipe", "stdio", "json", "sse"} {
		for i := range workloads {
			w := &workloads[i]
			names := []string{transport}
			if w.defaults && overHTTP(transport) {
				names = append(names, transport+ownClientSuffix)
			}
			for _, name := range names {
				all = append(all, cell{name, legacy, w})
				if w.bothEras {
					all = append(all, cell{name, modern, w})
				}
			}
		}
	}
	return all
}

// callTool calls a tool and checks the result.
func callTool(tool string) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		text, err := s.call(ctx, tool)
		if want := textLength[tool]; err == nil && len(text) != want {
			err = fmt.Errorf("a text of %d bytes, want %d", len(text), want)
		}
		return err
	}
}

// listTools lists all tools and checks their number.
func listTools(ctx context.Context, s *subject) error {
	n, err := s.list(ctx)
	if err == nil && n != toolCount {
		err = fmt.Errorf("%d tools, want %d", n, toolCount)
	}
	return err
}

// connectAndClose opens another session and closes it.
func connectAndClose(ctx context.Context, s *subject) error {
	c, err := s.another(ctx)
	if err != nil {
		return err
	}
	return c.close()
}
