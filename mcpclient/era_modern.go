package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/internal/paramheader"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// modernEra is the era of revision 2026-07-28: no handshake and no session. Every request has the
// revision and the client's name and capabilities. A server that needs input returns
// input_required and sends no requests. The fields are constant parts of requests; each entry of
// _meta ends with a comma.
type modernEra struct {
	revision         string
	version          []string // the revision, as the value of a header
	meta             string   // entries of _meta, except capabilities
	capabilities     string   // entry with the client's capabilities
	taskCapabilities string   // the same for requests whose result may be a task
}

func newModernEra(revision, introduction string, declared *offers) *modernEra {
	const entry = `"` + metakey.Prefix + `clientCapabilities":`
	return &modernEra{
		revision:         revision,
		version:          []string{revision},
		meta:             `"` + metakey.Prefix + `protocolVersion":"` + revision + `","` + metakey.Prefix + `clientInfo":` + introduction + ",",
		capabilities:     entry + string(declared.encode("{}", false)) + ",",
		taskCapabilities: entry + string(declared.encode("{}", true)) + ",",
	}
}

func (e *modernEra) name() string { return e.revision }

func (e *modernEra) encode(b []byte, id int64, r *request, o *callOptions) []byte {
	b = append(jsonrpc.AppendRequest(b, id, r.method), `,"params":{`...)
	b = jsonrpc.AppendMembers(b, r.params)
	b = append(b, r.answers...)
	b = append(b, `"_meta":{`...)
	b = append(b, e.meta...)
	if r.task {
		b = append(b, e.taskCapabilities...)
	} else {
		b = append(b, e.capabilities...)
	}
	if o.logLevel != "" {
		b = append(b, `"`+metakey.Prefix+`logLevel":"`+string(o.logLevel)+`",`...)
	}
	return append(jsonrpc.CloseObject(appendMeta(b, id, o)), "}}"...)
}

func (e *modernEra) header(r *request) http.Header {
	h := http.Header{versionHeader: e.version}
	if r == nil {
		return h
	}
	h["Mcp-Method"] = []string{r.method}
	if targetMember(r.method) != "" {
		h["Mcp-Name"] = []string{paramheader.Value(r.target)}
	}
	maps.Copy(h, r.header)
	return h
}

// inputRequired decodes resultType, which determines the meaning of a result: absent it means
// complete, and an unknown one is an error. Null counts as absent.
func (e *modernEra) inputRequired(r *request, raw json.RawMessage, quote func([]byte) string) (*inputRound, error) {
	var resultType json.RawMessage
	var found inputRound
	err := jsonrpc.Members(raw, func(key, value []byte) {
		switch string(key) {
		case "resultType":
			resultType = notNull(value)
		case "inputRequests":
			found.questions = notNull(value)
		case "requestState":
			found.state = notNull(value)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, quote(raw))
	}
	if resultType == nil {
		return nil, nil
	}
	switch string(jsonrpc.Plain(resultType)) {
	case "complete":
		return nil, nil
	case "input_required":
		round := found // only a round takes an allocation
		return &round, round.check(r.method)
	case "task":
		if r.task && (r.method == "tools/call" || r.method == "tasks/get") { // some servers repeat it in tasks/get
			return nil, nil
		}
		return nil, fmt.Errorf("%w: the server made %s a task, and only a tool call WithTask may become one", mcp.ErrInvalidResult, r.method)
	}
	return nil, fmt.Errorf("%w: resultType %s is not known", mcp.ErrInvalidResult, quote(resultType))
}

// notNull returns nil for the JSON value null, and other values unchanged.
func notNull(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

// check returns an error if a server may not ask during this method, or if the round has nothing to
// answer or an invalid state.
func (i *inputRound) check(method string) error {
	switch {
	case !mayAsk(method):
		return fmt.Errorf("%w: input_required is not allowed for %s", mcp.ErrInvalidResult, method)
	case i.questions == nil && i.state == nil:
		return fmt.Errorf("%w: input_required with neither inputRequests nor requestState", mcp.ErrInvalidResult)
	case i.state != nil && i.state[0] != '"':
		return fmt.Errorf("%w: requestState is not a string", mcp.ErrInvalidResult)
	}
	return nil
}

// mayAsk reports whether a server may return input_required for a method.
func mayAsk(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// hasCancelNotice reports whether to notify the server: over HTTP the end of the exchange cancels the request.
func (e *modernEra) hasCancelNotice(_ *request, overHTTP bool) bool { return !overHTTP }

func (e *modernEra) pingMethod() string { return "server/discover" }

func (e *modernEra) has(f feature) bool {
	switch f {
	case listenStreams, paramHeaders, completionCapability, completionContext, audioContent, severalBlocks, cacheHints:
		return true
	}
	return false
}

func (e *modernEra) checkTask(_ *mcp.Tool, ours *offers, server *mcp.ServerCapabilities, undeclared bool) error {
	if !ours.tasks && !undeclared {
		return errors.New("Options.Protocol.Capabilities does not declare the extension " + metakey.Tasks)
	}
	if _, ok := server.Extensions[metakey.Tasks]; !ok && !undeclared {
		err := error(&undeclaredError{"the extension " + metakey.Tasks})
		if server.Tasks != nil {
			err = fmt.Errorf("%w (it has the tasks of revision %s, see Options.Protocol.Revision)", err, mcp.Revision20251125)
		}
		return err
	}
	return nil
}

func (e *modernEra) taskRequest(r *request, _ time.Duration) *request { return r }

func (e *modernEra) decodeCreated(raw json.RawMessage) (mcp.TaskState, bool, error) {
	var result struct {
		ResultType string `json:"resultType"`
	}
	if err := jsonrpc.Unmarshal(raw, &result); err != nil || result.ResultType != "task" {
		return mcp.TaskState{}, false, err
	}
	task, err := e.decodePolled(raw)
	return task.state, true, err
}

func (e *modernEra) decodePolled(raw json.RawMessage) (task polledTask, err error) {
	if err = jsonrpc.Unmarshal(raw, &task); err == nil {
		err = jsonrpc.Unmarshal(raw, &task.state)
	}
	task.Input, task.Result, task.Error = notNull(task.Input), notNull(task.Result), notNull(task.Error)
	return task, err
}
