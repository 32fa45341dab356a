package mcpclient

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// legacyEra is the era of revisions 2024-11-05 to 2025-11-25: initialize, then requests in both
// directions within a session.
type legacyEra struct {
	revision string      // the requested one; in negotiatedLegacy the negotiated one
	version  http.Header // the header of requests after the handshake, nil before 2025-06-18
}

// negotiatedLegacy has the era of each revision after the handshake. They are shared: an era has no state.
var negotiatedLegacy = func() map[string]*eraBox {
	all := make(map[string]*eraBox, len(legacyRevisions))
	for _, r := range legacyRevisions {
		e := &legacyEra{revision: r}
		if r >= mcp.Revision20250618 {
			e.version = http.Header{versionHeader: {r}}
		}
		all[r] = &eraBox{e}
	}
	return all
}()

func (e *legacyEra) name() string { return e.revision }

func (e *legacyEra) encode(b []byte, id int64, r *request, o *callOptions) []byte {
	b = jsonrpc.AppendRequest(b, id, r.method)
	meta := o.token || len(o.meta) > 0
	if !meta && len(r.answers) == 0 { // nothing is added to the params
		if len(r.params) > 0 {
			b = append(append(b, `,"params":`...), r.params...)
		}
		return append(b, '}')
	}
	b = append(b, `,"params":{`...)
	b = jsonrpc.AppendMembers(b, r.params)
	b = append(b, r.answers...)
	if meta {
		b = jsonrpc.CloseObject(appendMeta(append(b, `"_meta":{`...), id, o))
	}
	return append(jsonrpc.CloseObject(b), '}')
}

func (e *legacyEra) header(r *request) http.Header {
	if r != nil && r.method == "initialize" {
		return nil
	}
	return e.version
}

// inputRequired also decodes the rounds of a server of both eras that was slow to start: if it reads the server/discover that
// was given up after initialize, it takes the session for a modern one.
func (e *legacyEra) inputRequired(r *request, raw json.RawMessage, quote func([]byte) string) (*inputRound, error) {
	if !mayAsk(r.method) || !bytes.Contains(raw, []byte(`"input_required"`)) {
		return nil, nil
	}
	return new(modernEra).inputRequired(r, raw, quote)
}

// hasCancelNotice reports true on every transport, because "disconnection SHOULD NOT be interpreted
// as the client cancelling its request", except for tool calls as tasks: "For task-augmented
// requests, requestors MUST use tasks/cancel instead of notifications/cancelled."
func (e *legacyEra) hasCancelNotice(r *request, _ bool) bool {
	return !r.task || r.method != "tools/call"
}

func (e *legacyEra) pingMethod() string { return "ping" }

func (e *legacyEra) has(f feature) bool {
	switch f {
	case serverRequests, standaloneStreams, sessionLevel, sessionCursors:
		return true
	case completionCapability, audioContent:
		return e.revision >= mcp.Revision20250326
	case completionContext:
		return e.revision >= mcp.Revision20250618
	case urlElicitationErrors, coreTasks, severalBlocks:
		return e.revision == mcp.Revision20251125
	}
	return false
}

// checkTask refuses tasks that the client must not request: "clients MUST NOT attempt to use
// task augmentation" unless the server declares it and the tool allows it.
func (e *legacyEra) checkTask(tool *mcp.Tool, _ *offers, server *mcp.ServerCapabilities, undeclared bool) error {
	tasks := server.Tasks
	if !e.has(coreTasks) || !undeclared && (tasks == nil || tasks.Requests.Tools.Call == nil) {
		return &undeclaredError{"tasks"}
	}
	var execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	if len(tool.Execution) > 0 {
		_ = json.Unmarshal(tool.Execution, &execution) // other values count as absent
	}
	if execution.TaskSupport != "optional" && execution.TaskSupport != "required" {
		return &undeclaredError{"this tool as a task"}
	}
	return nil
}

// taskRequest rounds ttl up to milliseconds.
func (e *legacyEra) taskRequest(r *request, ttl time.Duration) *request {
	task := []byte("{}")
	if ttl > 0 {
		ms := ttl.Milliseconds()
		if ttl%time.Millisecond != 0 {
			ms++
		}
		task = append(strconv.AppendInt([]byte(`{"ttl":`), ms, 10), '}')
	}
	r.params = jsonrpc.CloseObject(jsonrpc.AppendMember(jsonrpc.AppendMembers([]byte{'{'}, r.params), "task", task))
	return r
}

func (e *legacyEra) decodeCreated(raw json.RawMessage) (mcp.TaskState, bool, error) {
	var result struct {
		Task *mcp.TaskState `json:"task"`
	}
	if err := jsonrpc.Unmarshal(raw, &result); err != nil || result.Task == nil {
		return mcp.TaskState{}, false, err
	}
	return *result.Task, true, nil
}

func (e *legacyEra) decodePolled(raw json.RawMessage) (task polledTask, err error) {
	err = jsonrpc.Unmarshal(raw, &task.state)
	return task, err
}
