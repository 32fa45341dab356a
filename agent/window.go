package agent

import (
	"slices"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// WindowUse is what fills the model's window in one call, in tokens. The parts are estimates
// ([model.Tokens]). If the model has counted its input, they are scaled to that sum.
type WindowUse struct {
	Size         int64         `json:"size,omitempty"`      // the window's size, 0 if unknown
	Instructions int64         `json:"instructions"`        // the system prompt, which has servers' instructions, and what the model's provider adds for tools
	Servers      []ServerTools `json:"servers,omitempty"`   // the definitions of tools
	History      int64         `json:"history"`             // the messages, without the results of tools
	Results      int64         `json:"results"`             // the results of tools
	Input        int64         `json:"input"`               // the sum of Instructions, Servers, History and Results
	Cached       int64         `json:"cached,omitempty"`    // part of Input: read from a cache, as counted by the model
	Estimated    bool          `json:"estimated,omitempty"` // Input is an estimate
}

// ServerTools is the size of a server's definitions in each model call.
type ServerTools struct {
	Server string `json:"server"` // the host's label, or what takes its place
	Tools  int    `json:"tools"`
	Tokens int64  `json:"tokens"`
}

// window caches what was counted for earlier calls. A history that only grows is counted once.
type window struct {
	messages         int   // number of messages of the history that were counted
	history, results int64 // tokens of those messages

	key      toolsKey // of the tools for which the following fields were counted
	tools    int      // number of tools in the request
	servers  []ServerTools
	overhead int64 // tokens that the host adds if there are tools

	system       string
	systemTokens int64
}

// windowUse estimates what fills the window in a call. If a BeforeModel hook may have changed the
// request, all is counted again.
func (d *dialog) windowUse(q *model.Request) *WindowUse {
	w, info := &d.tally.window, &d.agent.info
	use := &WindowUse{Size: d.agent.learnt.window.Load(), Estimated: true}
	if q.System != w.system {
		w.system = q.System
		w.systemTokens = model.Tokens(&model.Request{System: q.System}, info)
	}
	use.Instructions = w.systemTokens
	if hooks(d.agent.opts.Hooks).at(hasBeforeModel) {
		*w = window{system: w.system, systemTokens: w.systemTokens} // a hook may have changed anything
	}
	n := min(len(q.Messages), len(d.rec.state.History))
	if w.messages > n {
		w.messages, w.history, w.results = 0, 0, 0
	}
	history, results := countTokens(q.Messages[w.messages:n], info)
	w.messages, w.history, w.results = n, w.history+history, w.results+results
	history, results = countTokens(q.Messages[n:], info) // reminders, which are sent once
	use.History, use.Results = w.history+history, w.results+results
	if key := d.toolsKey(); w.servers == nil || w.key != key || w.tools != len(q.Tools) {
		w.key, w.tools = key, len(q.Tools)
		w.servers, w.overhead = d.serverTools(q.Tools)
	}
	use.Instructions += w.overhead
	use.Servers = slices.Clone(w.servers)
	use.Input = use.Instructions + use.History + use.Results
	for _, s := range use.Servers {
		use.Input += s.Tokens
	}
	return use
}

// countTokens estimates messages, separately the results of tools among them.
func countTokens(messages []run.Message, info *model.Info) (history, results int64) {
	for i := range messages {
		n := model.Tokens(&model.Request{Messages: messages[i : i+1]}, info)
		if messages[i].Role == run.RoleTool {
			results += n
		} else {
			history += n
		}
	}
	return history, results
}

// serverTools estimates the tools of a request by server, in the order of their first tools.
// overhead is what the host adds once.
func (d *dialog) serverTools(tools []model.Tool) (servers []ServerTools, overhead int64) {
	tokens := func(tools ...model.Tool) int64 {
		return model.Tokens(&model.Request{Tools: tools}, &d.agent.info)
	}
	servers = []ServerTools{}
	if len(tools) > 0 {
		// the overhead counts twice in two requests of one tool, and once in a request of two
		overhead = max(0, 2*tokens(tools[0])-tokens(tools[0], tools[0]))
	}
	for i := range tools {
		server := "hook" // a BeforeModel hook added it
		if t, _, _ := d.resolveName(tools[i].Name, ""); t != nil {
			server = t.Server()
		} else if tools[i].Name == callTool && d.rec.state.Discovery == ledger.DiscoveryCall {
			server = searchServer // call_tool belongs to no adapter.Tool
		}
		at := slices.IndexFunc(servers, func(s ServerTools) bool { return s.Server == server })
		if at < 0 {
			at = len(servers)
			servers = append(servers, ServerTools{Server: server})
		}
		servers[at].Tools++
		servers[at].Tokens += tokens(tools[i]) - overhead
	}
	return servers, overhead
}

// scale scales the parts so that their sum is what the model has counted; the largest part takes what
// rounding leaves. Without a count they stay estimates.
func (u *WindowUse) scale(usage *run.Usage, estimated bool) {
	if estimated || usage.Input <= 0 || u.Input <= 0 {
		return
	}
	parts := []*int64{&u.Instructions, &u.History, &u.Results}
	for i := range u.Servers {
		parts = append(parts, &u.Servers[i].Tokens)
	}
	share := float64(usage.Input) / float64(u.Input)
	rest := usage.Input
	largest := parts[0]
	for _, n := range parts {
		*n = int64(float64(*n) * share)
		rest -= *n
		if *n > *largest {
			largest = n
		}
	}
	*largest += rest
	u.Input, u.Cached, u.Estimated = usage.Input, usage.Cached, false
}
