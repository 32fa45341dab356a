// Loop compares the agent loops of frameworks in Go, in one run:
//
//	cd evals/loop
//	go run .                  # everything, about a minute
//	go run . -quick           # a first look, in ten seconds
//	go run . -check           # fails if a target is missed
//	go run . -run 'native/' -only ours,eino
//
// It is a module of its own: programs with our agent do not need the other frameworks.
//
// # Frameworks
//
// This module's agent (ours), the ChatModelAgent of Eino's ADK (eino), and langchaingo's executor with its agent for
// functions (langchaingo). go.mod has the versions. Each has an instant model of its own type, which builds the same
// replies: in each of ten turns one call of echo {"x":1}, or eight, or 64, and then the answer. The tool returns "ok".
// Each run is a new session, in memory, without tracing. After each sample the calls of the tool are counted, so that
// failures are not measured.
//
// "ours-stored" is our agent with the store of [record.NewMemory], from which each run is deleted at its end.
// "ours-fresh" is our agent without the history of the cell.
//
// # Cells
//
// The name of a cell is tool/calls: where the tool is, and the calls of a turn.
//
//   - native: a Go function, in the form of each framework's own helper that takes the schema from a type. langchaingo
//     has none: its tool gets text.
//   - static: an MCP server at a pipe that answers with prepared bytes. It speaks 2025-11-25. eino
//     has the MCP component of eino-ext, with the newest mcp-go; ours is mcpclient.
//   - history: a run of ten turns, one native call in each, after that many messages: text, calls and results in turn.
//   - answer: a run of one model call after that many messages.
//
// # Figures
//
// The figure is CPU time for a turn, measured as in evals/bench, so tools and servers are part of it. A turn is a tenth
// of a run, with a tenth of its last model call, and of its beginning and end. With answer it is the whole run.
//
// # Differences
//
// The frameworks do different things in a turn, and each has its own defaults:
//
//   - ours repairs and validates arguments, decides whether a call is allowed, bounds it, records each step of the run,
//     and emits an event for it. Calls run side by side, results are in their order. The tool says that it only reads,
//     and its server is believed: calls that may write would be sent one after the other, a rule that no peer has.
//   - eino decodes the arguments into the Go type, or passes them on to the MCP server, and validates neither. It makes
//     the JSON of a whole MCP result the tool message. It has no bound on a call. An error of a tool ends the run. Calls
//     run side by side without a bound. It emits an event for each message.
//   - langchaingo passes the arguments as text to the tool, and rebuilds the history in each turn. Calls run one after
//     the other. It has no events, no MCP client and no sessions.
//
// # Targets
//
// The targets are in this file. The share of a model call is how much it costs more because of a history. It is the mean of
// the eleven calls of a run; the first one takes in the whole history.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func main() {
	rig.Main("loop", func(ctx context.Context, args []string, out io.Writer) error { return comparison().Run(ctx, args, out) })
}

func comparison() *rig.Comparison[cell, framework] {
	return &rig.Comparison[cell, framework]{
		Name:     "loop",
		Subjects: frameworks,
		Base:     oursName,
		Cells:    cells(),
		Targets:  targets,
		Open:     open,
	}
}

// open prepares a framework for a cell.
func open(ctx context.Context, at cell, f framework) (*rig.Subject, error) {
	if !f.can(at) {
		return nil, nil
	}
	s, err := newSubject(ctx, f, at)
	if err != nil {
		return nil, err
	}
	return &rig.Subject{Do: s.measure, Parts: max(at.turns, 1), Close: s.close}, nil
}

// measure makes n runs, and checks the answers and that all tool calls have run.
func (s *subject) measure(ctx context.Context, n int, m *rig.Meter) error {
	before := s.ran.Load()
	m.Start()
	for range n {
		text, err := s.run(ctx)
		if err != nil {
			return err
		}
		if text != answer {
			return fmt.Errorf("got the answer %q, want %q", text, answer)
		}
	}
	m.Stop()
	if ran, want := int(s.ran.Load()-before), n*s.turns*s.calls; ran != want {
		return fmt.Errorf("the tool ran %d times in %d runs, want %d", ran, n, want)
	}
	return nil
}

var targets = []rig.Target{
	rig.Bound(`^native/1$`, "CPU ÷ the best peer's", beside, 0.5, rig.Ratio),

	// Functions that end within microseconds have one goroutine, as moving calls and their data between
	// two processors takes 15 µs for eight, and 60 µs for 64.
	//
	// With 64 it is missed: ours takes 0.6 to 0.75 of what eino takes, and 0.93 to 1.12 of what langchaingo takes, which
	// keeps no records and passes text to its tools one after the other. Of 167 µs, 45 are in the adapter (13 read the
	// arguments), 28 record outcomes, 25 find and check tools and decide, 15 propose calls and make their keys, 14 ask the
	// model and count tokens, 8 record intents, and 20 are the collector's.
	rig.Bound(`^native/(8|64)$`, "CPU ÷ the best peer's", beside, 0.8, rig.Ratio),

	rig.Bound(`^static/`, "CPU ÷ the best peer's", beside, 0.7, rig.Ratio),
	// Most of what a store in memory adds is the JSON of the records, about 1 µs each.
	rig.Bound(`^(native|static)/`, "CPU with a store ÷ without", stored, 3, rig.Ratio),
	rig.Bound(`^history/1000$`, "share of a model call", share, 30e3, rig.Duration),
	rig.Bound(`^history/10000$`, "share of a model call", share, 200e3, rig.Duration),
}

// bestPeer returns the CPU time of the fastest peer, nil if there is none.
func bestPeer(c *rig.Cell) (best []float64) {
	for _, name := range []string{einoName, langchaingoName} {
		if cpu := c.Of(name, rig.CPU); len(cpu) > 0 && (best == nil || rig.Median(cpu) < rig.Median(best)) {
			best = cpu
		}
	}
	return best
}

// beside is our CPU time as a share of the best peer's.
func beside(c *rig.Cell) []float64 {
	return rig.ByRound(c.Of(oursName, rig.CPU), bestPeer(c), rig.Over)
}

// stored is our CPU time with a store as a share of that without.
func stored(c *rig.Cell) []float64 { return c.Ratios(storedName, oursName) }

// share is how much more a model call costs because of the history. Figures are for a turn, and a run calls the model
// once more than it has turns.
func share(c *rig.Cell) []float64 {
	return rig.ByRound(c.Of(oursName, rig.CPU), c.Of(freshName, rig.CPU), func(ours, fresh float64) float64 {
		return (ours - fresh) * turns / (turns + 1)
	})
}
