package mcpclient

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/internal/paramheader"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// modernEra is the era of revision 2026-07-28: no handshake and no session. Every request has
// the client's name and capabilities. A server that needs input returns input_required and
// sends no requests.
type modernEra struct{ *modernWords }

// modernWords are the constant parts of a client's requests.
type modernWords struct {
	revision     string
	version      []string // the revision, for headers
	meta         string   // the constant entries of _meta except capabilities, each followed by a comma
	capabilities string   // that entry
	forTasks     string   // the same for requests whose result may be a task
}

func newModernEra(revision, introduction string, declared *offers) modernEra {
	const capabilities = `"` + metakey.Prefix + `clientCapabilities":`
	var buf [1 << 10]byte
	b := append(append(buf[:0], `"`+metakey.Prefix+`protocolVersion":"`...), revision...)
	b = append(append(b, `","`+metakey.Prefix+`clientInfo":`...), introduction...)
	b = append(b, ',')
	first := len(b)
	b = append(declared.appendTo(append(b, capabilities...), "{}"), ',')
	second := len(b)
	b = append(declared.appendTo(append(b, capabilities...), "{}", metakey.Tasks), ',')
	all := string(b)
	return modernEra{&modernWords{revision, []string{revision}, all[:first], all[first:second], all[second:]}}
}

func (e modernEra) name() string { return e.revision }

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
		b = append(b, `"`+metakey.Prefix+`logLevel":"`+string(o.logLevel)+`",`...)
	}
	return append(jsonrpc.CloseObject(appendMeta(b, id, o)), "}}"...)
}

func (e modernEra) room(r *request) int {
	words := e.modernWords
	return envelope + len(r.method) + len(r.params) + len(r.answers) + len(words.meta) + len(words.forTasks)
}

func (e modernEra) header(r *request) http.Header {
	h := http.Header{versionHeader: e.version}
	if r == nil {
		return h
	}
	if r.words[0] == "" { // set once: a header of an earlier attempt may still refer to it
		r.words = [...]string{r.method, paramheader.Value(r.target)}
	}
	h["Mcp-Method"] = r.words[:1:1]
	if targetMember(r.method) != "" {
		h["Mcp-Name"] = r.words[1:]
	}
	maps.Copy(h, r.header)
	return h
}

// inputRequired decodes resultType, which determines the meaning of a result.
func (e modernEra) inputRequired(r *request, raw json.RawMessage, quote func([]byte) string) (*inputRound, error) {
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
		return nil, fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, quote(raw))
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
		if text, ok := jsonrpc.String(resultType); ok {
			resultType = []byte(text)
		}
		return nil, fmt.Errorf("%w: resultType %s is not known", mcp.ErrInvalidResult, quote(resultType))
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

// cancels reports whether to notify the server: over HTTP the end of the exchange cancels the
// request.
func (e modernEra) cancels(_ *request, overHTTP bool) bool { return !overHTTP }

func (e modernEra) pingMethod() string { return "server/discover" }

func (e modernEra) mirrors() bool { return true }

func (e modernEra) answers() bool { return false }

func (e modernEra) severalBlocks() bool { return true }

func (e modernEra) has(f feature) bool {
	switch f {
	case listenStreams, completionCapability, completionContext, audioContent, cacheHints:
		return true
	}
	return false
}
