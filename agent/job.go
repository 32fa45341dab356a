package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/internal/media"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// job is a call that this process runs.
type job struct {
	eventCall Call              // the call as events describe it
	call      *adapter.Prepared // nil: it cannot run, because of err
	err       error
	asked     llms.ToolCall     // as the model wrote it
	function  llms.FunctionCall // asked points to it

	result  *run.Part // for observers, once there is one
	failure error     // why there is no result from the tool, or nil
}

// tool returns the tool of the call, nil if there is none.
func (j *job) tool() *adapter.Tool {
	if j.call == nil {
		return nil
	}
	return j.call.Tool()
}

// isNative reports whether the tool is a function of this program.
func (j *job) isNative() bool { return j.call != nil && j.call.Tool().Local() }

// setCall sets the call that will run, if there is one, and describes it in eventCall.
func (j *job) setCall(call *adapter.Prepared) {
	if call == nil {
		return
	}
	j.call = call
	j.eventCall.Name = call.Tool().Name()
	if arguments := call.Arguments(); string(arguments) != j.eventCall.Arguments {
		j.eventCall.Arguments = string(arguments)
	}
}

// errorResult returns the result of a call to which no server returned one.
func (j *job) errorResult(text string, err error) *adapter.Result {
	return &adapter.Result{Call: j.asked, Tool: j.tool(), Text: text, IsError: true, Err: err}
}

// tools finds the tools of a turn's calls, and prepares the calls.
type tools struct {
	shared
	results *results

	mu   sync.Mutex // guards the following field
	jobs map[string]*job
}

// known returns the job of a call, nil if nobody has asked for it.
func (t *tools) known(c *ledger.Call) *job {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobs[c.ID]
}

// job returns the call as this process runs it: the tool that the model was offered, with the
// arguments that were decided on.
func (t *tools) job(c *ledger.Call) *job {
	if j := t.known(c); j != nil {
		return j
	}
	j := &job{
		asked:     llms.ToolCall{ID: c.ID, Type: "function"},
		function:  llms.FunctionCall{Name: c.Name, Arguments: c.Asked},
		eventCall: describe(t.rec.state.Turn, c),
	}
	j.asked.FunctionCall = &j.function
	j.call, j.err = t.prepare(c, j.asked)
	j.setCall(j.call)
	t.mu.Lock()
	t.jobs[c.ID] = j
	t.mu.Unlock()
	return j
}

// prepare prepares a call of the tool that the model was offered, with the arguments that the model
// wrote or, once they are decided on, with those. A tool that has changed since is an error, and so
// are a name that the model was not offered and arguments that do not fit.
func (t *tools) prepare(c *ledger.Call, asked llms.ToolCall) (*adapter.Prepared, error) {
	catalog := t.offered()
	switch {
	case c.Tool == "" && t.rec.state.Discovery != ledger.DiscoveryNone:
		return nil, fmt.Errorf("you have no tool %.100q; find it by %s first", c.Name, searchTool) // the model has not seen it
	case c.Tool == "":
		return catalog.Prepare(asked) // its error says what is wrong with the name
	}
	tool, err := catalog.LookupStored(c.Server, c.Tool, c.Def)
	for _, own := range []*adapter.Tool{t.agent.search.tool, t.agent.reader.tool} {
		if isCallOf(c, own) {
			tool, err = own, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if t.mayRefer(c) {
		tool = tool.WithReferences(t.results.fill)
	}
	var call *adapter.Prepared
	if c.Args == nil {
		call, err = tool.Prepare(asked, c.Wrapped)
	} else {
		call, err = tool.Restore(asked, c.Args, c.Edited)
	}
	if err != nil {
		return nil, err
	}
	return call.WithIdempotencyKey(c.Key), nil
}

// mayRefer reports whether the arguments of a call may refer to stored results. The agent's own tools
// accept no references.
func (t *tools) mayRefer(c *ledger.Call) bool {
	isOwn := c.Server == keptServer || c.Server == searchServer || t.agent.subAgent(c) != nil
	return !isOwn && !c.Wrapped && kept.Refers(cmp.Or(string(c.Args), c.Asked))
}

// recordedCall returns the call as it is recorded.
func (t *tools) recordedCall(j *job) (c Call) {
	t.rec.read(func(s *ledger.State) { c = eventCall(s, j.eventCall.ID) })
	return c
}

// eventCall returns a call of the current turn as events describe it, both live and in a replay.
func eventCall(s *ledger.State, id string) Call { return describe(s.Turn, s.Call(id)) }

// describe returns a call as events describe it: with the arguments that were decided on, or else as the
// model wrote them.
func describe(turn int, c *ledger.Call) Call {
	described := Call{Turn: turn, ID: c.ID, Name: c.Name, Arguments: c.Asked, Server: c.Server, Tool: c.Tool}
	if c.Args != nil && string(c.Args) != c.Asked {
		described.Arguments = string(c.Args)
	}
	return described
}

// part returns a result as a part of the history. The part of a search names the tools that the search
// has added.
func (t *tools) part(j *job, r *adapter.Result) run.Part {
	p := run.Part{
		Type:    run.PartResult,
		ID:      j.eventCall.ID,
		Name:    t.calledName(j),
		Text:    r.Text,
		IsError: r.IsError,
	}
	if r.Raw != nil {
		p.Structured, p.Meta = r.Raw.StructuredContent, r.Raw.Meta
	}
	if r.Tool == t.agent.search.tool {
		var names []string
		_ = json.Unmarshal(p.Structured, &names) // written by runSearch
		p.Tools, p.Structured = names, nil
	}
	for _, m := range r.Media {
		if binary, ok := m.(llms.BinaryContent); ok {
			p.Media = append(p.Media, run.Part{Type: media.PartType(binary.MIMEType), MIMEType: binary.MIMEType, Data: binary.Data})
		}
	}
	return p
}

// calledName returns the name that the model called, which differs from the tool's if it calls
// through call_tool.
func (t *tools) calledName(j *job) (name string) {
	name = j.asked.FunctionCall.Name
	t.rec.read(func(s *ledger.State) {
		if s.Discovery == ledger.DiscoveryCall {
			name = s.CalledAs(j.eventCall.ID, name)
		}
	})
	return name
}

// callKeys returns the idempotency keys for the calls of the model's next reply. If a run is
// restored from a backup and repeats a call, the call gets the same key, so that a server that
// honours keys recognizes it.
//
// A key depends on the run (its tenant, id and creation time), the number of the reply, and the
// call's place in it, name and arguments: if the model says something else after the restore,
// that is another call. It does not depend on the number of the record, because a process that
// takes over a run adds records.
func (r *recorder) callKeys(asked []run.Part) []string {
	var subject []string
	var replies int
	r.read(func(s *ledger.State) {
		replies = s.Spent.Turns
		if r.parent == nil {
			subject = []string{"run", s.Tenant, s.ID, s.Created.UTC().Format(time.RFC3339Nano)}
		} else {
			subject = []string{"call", r.parent.state.Call(r.call).Key}
		}
	})
	text := appendPrefixed(nil, subject...)
	prefix := len(text)
	keys := make([]string, len(asked))
	for i := range asked {
		text = appendPrefixed(text[:prefix], asked[i].Name, asked[i].Arguments)
		text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(replies)), uint64(i))
		sum := sha256.Sum256(text)
		keys[i] = hex.EncodeToString(sum[:16])
	}
	return keys
}

// appendPrefixed appends texts, each preceded by its length.
func appendPrefixed(to []byte, texts ...string) []byte {
	for _, t := range texts {
		to = append(binary.AppendUvarint(to, uint64(len(t))), t...)
	}
	return to
}
