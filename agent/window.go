package agent

import (
	"slices"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// WindowUse says what fills the window of a model in one call, in tokens. The parts are estimates ([model.Tokens]); if the model has counted
// its input, they are scaled so that they make up that.
type WindowUse struct {
	Size         int64         `json:"size,omitempty"`      // of the window; 0: unknown
	Instructions int64         `json:"instructions"`        // the system prompt, with the directory of tools and what servers say of their use
	Servers      []ServerTools `json:"servers,omitempty"`   // the definitions of tools
	History      int64         `json:"history"`             // without the results of tools
	Results      int64         `json:"results"`             // of tools
	Input        int64         `json:"input"`               // all of it
	Cached       int64         `json:"cached,omitempty"`    // of Input: read from a cache, by the model's count
	Estimated    bool          `json:"estimated,omitempty"` // the model has not counted Input
}

// ServerTools is what the tools of a server take in each call of the model.
type ServerTools struct {
	Server string `json:"server"` // the host's label, or what stands for it
	Tools  int    `json:"tools"`
	Tokens int64  `json:"tokens"`
}

// window keeps what was counted for the calls before. A history that only grows is counted once.
type window struct {
	messages         int // of the history that were counted
	history, results int64

	catalog *adapter.Catalog // with the next two: of what servers is
	by      ledger.Discovery
	offered int
	tools   int // of the request
	servers []ServerTools
	about   int64 // what the host adds if there are tools

	system string
	said   int64 // by it
}

// fills says what fills the window in a call.
func (d *dialog) fills(q *model.Request) *WindowUse {
	w, info := &d.counted.window, &d.engine.agent.info
	use := &WindowUse{Size: d.engine.agent.window.Load(), Estimated: true}
	if q.System != w.system {
		w.system, w.said = q.System, model.Tokens(&model.Request{System: q.System}, info)
	}
	use.Instructions = w.said
	if slices.ContainsFunc(d.engine.agent.opts.Hooks, func(h Hook) bool { return h.BeforeModel != nil }) {
		*w = window{system: w.system, said: w.said} // it may have changed anything
	}
	kept := min(len(q.Messages), len(d.rec.state.History))
	if w.messages > kept {
		w.messages, w.history, w.results = 0, 0, 0
	}
	history, results := tokensOf(q.Messages[w.messages:kept], info)
	w.messages, w.history, w.results = kept, w.history+history, w.results+results
	history, results = tokensOf(q.Messages[kept:], info) // reminders, which do not stay
	use.History, use.Results = w.history+history, w.results+results
	if s := d.rec.state; w.servers == nil || w.catalog != d.engine.catalog || w.by != s.Discovery || w.offered != len(s.Offered) || w.tools != len(q.Tools) {
		w.catalog, w.by, w.offered, w.tools, w.servers = d.engine.catalog, s.Discovery, len(s.Offered), len(q.Tools), nil
		w.servers, w.about = d.serverTools(q.Tools)
	}
	use.Instructions += w.about
	use.Servers = slices.Clone(w.servers)
	use.Input = use.Instructions + use.History + use.Results
	for _, s := range use.Servers {
		use.Input += s.Tokens
	}
	return use
}

// tokensOf estimates messages, and the results of tools among them apart.
func tokensOf(messages []run.Message, info *model.Info) (history, results int64) {
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

// serverTools estimates the tools of a request by their servers, in the order of their first tools. about is what the host adds once.
func (d *dialog) serverTools(tools []model.Tool) (servers []ServerTools, about int64) {
	tokens := func(tools ...model.Tool) int64 {
		return model.Tokens(&model.Request{Tools: tools}, &d.engine.agent.info)
	}
	servers = []ServerTools{}
	if len(tools) > 0 {
		about = max(0, 2*tokens(tools[0])-tokens(tools[0], tools[0]))
	}
	for i := range tools {
		server := searchServer // call_tool has no tool of its own
		if t, _, _ := d.meant(tools[i].Name, ""); t != nil {
			server = t.Server()
		}
		at := slices.IndexFunc(servers, func(s ServerTools) bool { return s.Server == server })
		if at < 0 {
			at = len(servers)
			servers = append(servers, ServerTools{Server: server})
		}
		servers[at].Tools++
		servers[at].Tokens += tokens(tools[i]) - about
	}
	return servers, about
}

// counted scales the parts to what the model has counted.
func (u *WindowUse) counted(usage *run.Spent, estimated bool) {
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
		if *n > *largest {
			largest = n
		}
		*n = int64(float64(*n) * share)
		rest -= *n
	}
	*largest += rest
	u.Input, u.Cached, u.Estimated = usage.Input, usage.Cached, false
}
