package adapter

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// A merged catalog has the tools of all its sources. Each tool keeps the rules of its source.
func TestMerge(t *testing.T) {
	var asked []string
	source := func(server, tool string) *Toolset {
		return open(t, &Options{Approve: allowing(func(a *approval.Request) { asked = append(asked, server+" "+a.Name) })},
			Server{Name: server, Transport: newPeer().tool(tool, object, answer(server)).transport(t)})
	}
	a, b, c := source("a", "read"), source("b", "READ"), source("c", "write")
	merged := Merge(a, nil, b, c)
	catalog := merged.Catalog(profile.Plain)
	check.Equal(t, "another catalog of the same tools", merged.Catalog(profile.Plain), catalog)
	check.Equal(t, "another catalog than that of the only source", Merge(a).Catalog(profile.OpenAI), a.Catalog(profile.OpenAI))
	var names []string
	for i, def := range catalog.Definitions() {
		names = append(names, def.Function.Name)
		r := catalog.Call(t.Context(), call("1", def.Function.Name, ""))
		check.Equal(t, def.Function.Name, r.Text+" of "+r.Tool.Server(), []string{"a of a", "b of b", "c of c"}[i])
	}
	check.Require(t, len(names) == 3 && strings.HasPrefix(names[0], "read_") && strings.HasPrefix(names[1], "READ_") && names[2] == "write",
		"got the names %q, want two with a suffix", names)
	check.Same(t, "the approvals", asked, []string{"a " + names[0], "b " + names[1], "c write"})
	check.Must(t, c.Remove("c"))
	check.Equal(t, "tools", len(merged.Catalog(profile.Plain).Tools()), 2)
}

// Tools of different sources with the same server label get different names, and Find refuses to choose between them.
func TestMergeOfTheSame(t *testing.T) {
	long := strings.Repeat("a long line\n", 100)
	source := func(text string) *Toolset {
		p := newPeer().tool("read", object, answer(text))
		return open(t, &Options{KeepResults: 1 << 20, Policy: Policy{MaxResult: 512}}, Server{Name: "s", Transport: p.transport(t)})
	}
	catalog := Merge(source("1"+long), source("2"+long)).Catalog(profile.Gemini)
	tools := catalog.Tools()
	check.Require(t, len(tools) == 4, "got the tools %q, want 4", namesOf(tools))
	for i, tool := range []*Tool{tools[0], tools[2]} {
		_, after, _ := strings.Cut(catalog.Call(t.Context(), call("1", tool.Name(), "")).Text, "call ")
		reader, rest, _ := strings.Cut(after, " with ")
		input, _, _ := strings.Cut(rest, " to read")
		got := catalog.Call(t.Context(), call("2", reader, input))
		check.That(t, !got.IsError && strings.Contains(got.Text, "a long line") && reader == tools[2*i+1].Name(), "read on with %s: got %q", reader, got.Text)
	}
	staleFor(t, check.Err(catalog.LookupStored("s", "read", tools[0].Fingerprint())), &staleToolError{tool: "read", server: "s", reason: toolAmbiguous})
}

// A server cannot choose names whose hashes would be those of other tools.
func TestMergeOfHostileNames(t *testing.T) {
	source := func(name string) Source {
		return Func(name, "", func(context.Context, struct{}) (string, error) { return "", nil }, nil)
	}
	long := strings.Repeat("2_", 50)
	a, b := source(long), source("2\x00"+long)
	check.Equal(t, "names", len(Merge(a, a, b, b).Catalog(profile.Plain).byName), 4)
}

// The stored parts of a call are enough to continue it in another process.
func TestFind(t *testing.T) {
	const edited = `{"city":"Oslo"}`
	asked := 0
	process := func(schema string) *Catalog {
		p := newPeer().tool("asks", schema, echo)
		return open(t, &Options{Approve: counted(&asked, approval.Decision{Allow: true})},
			Server{Name: "p", Transport: p.transport(t)}).Catalog(profile.Plain)
	}
	const wrapped = `{"type":"object","properties":{"city":{"type":"string"}},"anyOf":[{"required":["city"]}]}`
	was := check.Value(process(wrapped).Prepare(call("1", "asks", `{"city":"Rome"}`)))(t)
	now := process(wrapped)
	tool := check.Value(now.LookupStored("p", "asks", was.Tool().Fingerprint()))(t)
	// The call of a model that was offered the schema inside of a property.
	p, err := tool.Prepare(call("1", "other name", `{"input":{"city":"Rome"}}`), true)
	check.Must(t, err)
	check.Equal(t, "the arguments of the property", string(p.Arguments()), `{"city":"Rome"}`)
	p, err = p.Decide(t.Context(), approval.Decision{Allow: true, Remember: approval.ScopeTool})
	check.Must(t, err)
	check.Equal(t, "as it was decided", p.Run(t.Context()).Text, `{"city":"Rome"}`)
	check.Equal(t, "by the same decision", now.Call(t.Context(), call("2", "asks", edited)).Text, edited)
	denied := now.ErrorResult(t.Context(), call("1", "other name", ""), check.Err(p.Decide(t.Context(), approval.Decision{Reason: "no"})))
	check.Equal(t, "by another name", denied.Text, "Error: the call of asks was denied: no. Nothing was done.")
	check.Is(t, denied.Err, apps.ErrDenied)
	p = check.Value(tool.Restore(call("1", "asks", `{"city":"Rome"}`), json.RawMessage(edited), true))(t)
	check.Equal(t, "", p.Run(t.Context()).Text, "[the user changed the arguments to "+edited+"]\n"+edited)
	check.Equal(t, "questions", asked, 0)
	check.Text(t, check.Err(tool.Restore(call("1", "asks", ""), json.RawMessage(`{"city":7}`), false)), "", "no error for arguments that do not fit")
	staleFor(t, check.Err(process(object).LookupStored("p", "asks", tool.Fingerprint())), &staleToolError{tool: "asks", server: "p", reason: toolChanged})
	same, err := now.LookupStored("p", "asks", "")
	check.That(t, err == nil && same == tool, "got %v, %v, want the tool by its name", same, err)
	staleFor(t, check.Err(now.LookupStored("q", "asks", tool.Fingerprint())), &staleToolError{tool: "asks", server: "q", reason: toolGone})
}

// TestFromConfig checks that each setting of a file is kept, and that a mistake leaves out only its server.
func TestFromConfig(t *testing.T) {
	const file = `{"mcpServers": {
		"good": {"command": "x", "timeout": "90s", "revision": "2025-11-25", "includeTools": ["a*"], "excludeTools": ["ab"]},
		"off": {"command": "x", "disabled": true},
		"mistyped": {"comand": "x"},
		"odd": {"command": "x", "timeout": 2000}
	}}`
	cfg := check.Value((&config.Loader{AllowFilters: true}).LoadData(t.Context(), "mcp.json", []byte(file)))(t)
	servers, left := FromConfig(cfg)
	want := []Server{{
		Name: "good", Transport: cfg[0].Transport, Revision: "2025-11-25", Policy: Policy{IdleTimeout: 90 * time.Second},
		Allow: []string{"a*"}, Deny: []string{"ab"},
	}}
	check.Same(t, "", servers, want)
	reasons := []string{`mcp.json:4: server "mistyped": comand: unknown key; did you mean "command"?`, `mcp.json:5: server "odd": timeout: milliseconds in some programs`}
	check.Require(t, len(left) == len(reasons), "got %v, want the servers with mistakes", left)
	for i, want := range reasons {
		got := left[i].Err.Error()
		check.That(t, strings.HasPrefix(got, want), "got %s, want %s", got, want)
	}
}

// A server's policy overrides the toolset's field by field, also with "no limit".
func TestPolicyOfAServer(t *testing.T) {
	common := &Options{Policy: Policy{CallTimeout: time.Minute, MaxResult: 1000, Trust: TrustFull, Start: StartAvailable}}
	got := newServerState(common.withDefaults(), &Server{Policy: Policy{CallTimeout: -1, ConnectTimeout: -1, MaxResult: -1, Trust: TrustNone}}).policy
	check.Same(t, "policy", got, Policy{CallTimeout: -1, MaxResult: math.MaxInt, Trust: TrustNone, Start: StartAvailable, ConnectTimeout: math.MaxInt64})
}
