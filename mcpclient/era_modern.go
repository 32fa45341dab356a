package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// modernEra is 2026-07-28: no handshake and no session. Every request carries
// who we are and what we can do, and a server that needs input answers with
// input_required instead of asking by a request of its own.
type modernEra struct{ *modernWords }

// modernWords are what the requests of a client have in common.
type modernWords struct {
	name         string // of the revision
	meta         string // the constant entries of _meta but for the capabilities, each with a comma after it
	capabilities string // that entry
	forTasks     string // it on requests whose result may be a task
}

func (c *Client) modernEra(revision string) modernEra {
	const capabilities = `"` + mcp.MetaPrefix + `clientCapabilities":`
	var buf [1 << 10]byte
	b := append(append(buf[:0], `"`+mcp.MetaPrefix+`protocolVersion":"`...), revision...)
	b = append(append(b, `","`+mcp.MetaPrefix+`clientInfo":`...), c.introduction...)
	b = append(b, ',')
	first := len(b)
	b = append(c.offers.appendTo(append(b, capabilities...), "{}"), ',')
	second := len(b)
	b = append(c.offers.appendTo(append(b, capabilities...), "{}", tasksExtension), ',')
	all := string(b)
	return modernEra{&modernWords{revision, all[:first], all[first:second], all[second:]}}
}

func (e modernEra) revision() string { return e.name }

var (
	// errNotDiscovered marks a result of server/discover that is none.
	errNotDiscovered = errors.New("not a result of server/discover")

	// errIncomplete marks one that is, of a type that it cannot have.
	errIncomplete = errors.New("its resultType is not complete")
)

// handshake asks the server who it is. It leaves the choice among the server's
// revisions to the caller, who finds them in a [*RevisionError] when ours is
// not among them.
func (e modernEra) handshake(ctx context.Context, c *Client) (*mcp.Server, error) {
	got, err := c.direct(ctx, &request{method: "server/discover"}, new(callOptions))
	if err != nil {
		return nil, fmt.Errorf("server/discover: %w", c.link.Load().doubted(err))
	}
	raw := got.result
	g := mcp.Greeting{Modern: true}
	if err := jsonrpc.DecodeResult(raw, &g); err != nil || len(g.Revisions) == 0 {
		return nil, fmt.Errorf("server/discover: %w: %w: %s", mcp.ErrInvalidResult, errNotDiscovered, c.quote(raw))
	}
	if len(g.ResultType) > 0 && string(g.ResultType) != `"complete"` {
		return nil, fmt.Errorf("server/discover: %w: %w: %s", mcp.ErrInvalidResult, errIncomplete, c.quoteJSON(g.ResultType))
	}
	if !slices.Contains(g.Revisions, e.revision()) {
		return nil, &RevisionError{Client: c.spokenBy(Revisions()), Server: g.Revisions}
	}
	g.Server.Revision = e.revision()
	return g.Server, nil
}

func (e modernEra) started(context.Context, *Client) error { return nil }

func (e modernEra) heed(context.Context, *Client) {}

func (e modernEra) encode(b []byte, id int64, r *request, o *callOptions) []byte {
	b = append(jsonrpc.AppendRequest(b, id, r.method), `,"params":{`...)
	b = jsonrpc.AppendMembers(b, r.params)
	b = append(b, r.answers...)
	b = append(b, `"_meta":{`...)
	words := e.modernWords
	b = append(b, words.meta...)
	if r.task {
		b = append(b, words.forTasks...)
	} else {
		b = append(b, words.capabilities...)
	}
	if o.logLevel != "" {
		b = append(b, `"`+mcp.MetaPrefix+`logLevel":"`+string(o.logLevel)+`",`...)
	}
	return append(jsonrpc.CloseObject(appendMeta(b, id, o)), "}}"...)
}

func (e modernEra) room(r *request) int {
	words := e.modernWords
	return envelope + len(r.method) + len(r.params) + len(r.answers) + len(words.meta) + len(words.forTasks)
}

func (e modernEra) header(h fields, r *request) fields {
	h = append(h, versionField(e.revision()))
	if r == nil {
		return h
	}
	if r.words[0] == "" { // headers that have them may still be read
		r.words = [...]string{r.method, headerValue(r.target)}
	}
	h = append(h, field{"Mcp-Method", r.words[:1:1]})
	if targetMember(r.method) != "" {
		h = append(h, field{"Mcp-Name", r.words[1:]})
	}
	return append(h, r.header...)
}

// inputRequired looks at resultType, which decides what the rest of a result means.
func (e modernEra) inputRequired(c *Client, r *request, raw json.RawMessage) (*inputRound, error) {
	var resultType, questions, state json.RawMessage
	err := jsonrpc.Members(raw, func(key, value []byte) {
		switch string(key) {
		case "resultType":
			resultType = value
		case "inputRequests":
			if string(value) != "null" {
				questions = value
			}
		case "requestState":
			if string(value) != "null" {
				state = value
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, c.quote(raw))
	}
	switch string(resultType) {
	case "", `"complete"`:
		return nil, nil
	case `"input_required"`:
	case `"task"`:
		if r.task && (r.method == "tools/call" || r.method == "tasks/get") { // some servers repeat it there
			return nil, nil
		}
		fallthrough
	default:
		return nil, fmt.Errorf("%w: resultType %s is not known", mcp.ErrInvalidResult, c.quoteJSON(resultType))
	}
	switch {
	case r.method != "tools/call" && r.method != "prompts/get" && r.method != "resources/read":
		return nil, fmt.Errorf("%w: input_required is not allowed for %s", mcp.ErrInvalidResult, r.method)
	case questions == nil && state == nil:
		return nil, fmt.Errorf("%w: input_required with neither inputRequests nor requestState", mcp.ErrInvalidResult)
	case state != nil && state[0] != '"':
		return nil, fmt.Errorf("%w: requestState is not a string", mcp.ErrInvalidResult)
	}
	return &inputRound{questions, state}, nil
}

// cancel sends a notice on shared connections; over HTTP the end of the
// exchange is the notice.
func (e modernEra) cancel(c *Client, l *link, call *jsonrpc.Call, reason string) {
	if l.exchange == nil {
		tellCancelled(c, l, call, reason)
	}
}

func (e modernEra) pingMethod() string { return "server/discover" }

func (e modernEra) mirrors() bool { return true }

func (e modernEra) answers() bool { return false }

func (e modernEra) severalBlocks() bool { return true }

func (e modernEra) has(f feature) bool {
	switch f {
	case completionCapability, completionContext, audioContent, cacheHints:
		return true
	}
	return false
}
