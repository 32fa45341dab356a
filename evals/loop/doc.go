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
//   - ours repairs and validates the arguments of each call by the tool's schema, decides whether
//     the call is allowed, bounds its time, its silence and its result, and takes a panic for an
//     error. Each step of the run is a record, from which its state is folded, also without a
//     store. It emits an event for each step. Calls run side by side, results are in their order;
//     functions that end within microseconds share a goroutine. The tool says that it only reads,
//     and its server is believed: calls that may write would be sent one after the other, a rule
//     that no peer has.
//   - eino decodes the arguments into the Go type, or passes them on to the MCP server as they are,
//     and validates neither. It makes the JSON of a whole MCP result the tool message. It has no
//     bound on a call. An error of a tool ends the run. Calls run side by side without a bound, the
//     first on the loop's goroutine. It emits an event for each message, and runs a graph with
//     callbacks, which are unused.
//   - langchaingo validates nothing, and passes the arguments as text to the tool. It renders its prompt from templates
//     and rebuilds the history in each turn. Calls run one after the other. It has no events, no MCP client and no
//     sessions.
//
// # Targets
//
// CPU time of our agent is at most half of the best peer's with a native tool, and at most 0.7 of it with an MCP tool.
// With eight and 64 native calls in a turn it is at most 0.8 of it: most of what the peers pay, they pay once for a
// turn. With a store CPU time is at most three times that without, because each record is then encoded as JSON.
//
// The share of a model call is how much it costs more because of a history: at most 30 µs with 1,000 messages and
// 200 µs with 10,000. It is the mean of the eleven calls of a run; the first one takes in the whole history.
package main
