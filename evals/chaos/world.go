// Package chaos kills processes of agents again and again, and counts the effects of their tools: its tests do with each
// store of runs, and those of evals/temporal with workers of Temporal.
//
//	go test -v ./evals/chaos -run TestChaos/file -runs 50 -kills 500
//
// Runs of several turns with parallel calls are driven by worker processes, which are killed (SIGKILL) and started again.
// The tools belong to servers in the process of the test: one recognizes a call by its key, one runs calls as tasks, and one
// does neither. At the end each call of each run is compared with its effects, see [Counts].
package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
)

// The kinds of servers: one recognizes a call by its key, one runs calls as tasks, and one does neither.
const (
	Keys  = "keys"
	Tasks = "tasks"
	Plain = "plain"
)

// World serves the tools and counts their effects. It outlives the workers. The path of its URL
// is the kind of the server.
type World struct {
	tools []string
	slow  time.Duration

	mu      sync.Mutex
	effects map[string]int    // number of effects by call
	results map[string]string // results of server "keys", by key
	tasks   map[string]string // results of tasks by id, "" while a task works
}

// New returns a world whose calls take up to twice the duration slow. The tool "form" asks for a note first.
func New(slow time.Duration, tools ...string) *World {
	return &World{
		tools:   tools,
		slow:    slow,
		effects: map[string]int{},
		results: map[string]string{},
		tasks:   map[string]string{},
	}
}

// request holds the parts of a client's request that matter here.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Call string `json:"call"`
		} `json:"arguments"`
		Answers map[string]json.RawMessage `json:"inputResponses"`
		TaskID  string                     `json:"taskId"`
		Meta    map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

// ServeHTTP serves the server of the kind in the path. A call continues if its client dies.
func (w *World) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.ID == nil {
		out.WriteHeader(http.StatusAccepted)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`, q.ID, w.answer(r.URL.Path[1:], &q))
}

const tool = `{"name":%q,"description":"Has an effect.","inputSchema":{"type":"object","properties":{"call":{"type":"string"}},"required":["call"]}}`

// answer returns the result or the error of a request, as a member of a JSON object.
func (w *World) answer(kind string, q *request) string {
	switch q.Method {
	case "server/discover":
		extensions := ""
		if kind == Tasks {
			extensions = `,"extensions":{"io.modelcontextprotocol/tasks":{}}`
		}
		return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"serverInfo":{"name":"world","version":"1"},"capabilities":{"tools":{}` + extensions + `}}`
	case "tools/list":
		var tools []string
		for _, name := range w.tools {
			tools = append(tools, fmt.Sprintf(tool, name))
		}
		return `"result":{"resultType":"complete","ttlMs":600000,"cacheScope":"private","tools":[` + strings.Join(tools, ",") + `]}`
	case "tools/call":
		return `"result":` + w.call(kind, q)
	case "tasks/get":
		return `"result":` + w.task(q.Params.TaskID)
	case "tasks/cancel":
		return `"result":{"resultType":"complete"}`
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}

const question = `{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{` +
	`"message":"What note?","requestedSchema":{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}}}}}`

// call counts the effect of a call after a while, and responds after another while.
func (w *World) call(kind string, q *request) string {
	call := q.Params.Arguments.Call
	switch {
	case kind == Tasks:
		return w.begin(call)
	case q.Params.Name == "form" && len(q.Params.Answers) == 0:
		return question
	}
	key := string(q.Params.Meta[adapter.IdempotencyKeyMeta])
	w.wait()
	w.mu.Lock()
	known, again := w.results[key]
	if kind != Keys || !again {
		w.effects[call]++
		known = result(call)
		w.results[key] = known
	}
	w.mu.Unlock()
	w.wait()
	return known
}

func (w *World) wait() { time.Sleep(rand.N(w.slow)) }

func result(call string) string {
	return fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%q}]}`, did+call)
}

// did begins the result of a call that had its effect.
const did = "did "

// begin runs a call as a task.
func (w *World) begin(call string) string {
	w.mu.Lock()
	id := fmt.Sprint("task ", len(w.tasks))
	w.tasks[id] = ""
	w.mu.Unlock()
	go func() {
		w.wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.effects[call]++
		w.tasks[id] = result(call)
	}()
	w.wait()
	return `{"resultType":"task",` + state(id, "working") + `}`
}

// task returns the state of a task, with its result if it is complete.
func (w *World) task(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch result, ok := w.tasks[id]; {
	case !ok:
		return `{"resultType":"complete",` + state(id, "failed") + `,"error":{"code":-32602,"message":"no such task"}}`
	case result == "":
		return `{"resultType":"complete",` + state(id, "working") + `}`
	default:
		return `{"resultType":"complete",` + state(id, "completed") + `,"result":` + result + `}`
	}
}

func state(id, status string) string {
	const at = "2026-01-01T00:00:00Z"
	return fmt.Sprintf(`"taskId":%q,"status":%q,"createdAt":%q,"lastUpdatedAt":%q,"ttlMs":null,"pollIntervalMs":10`, id, status, at, at)
}

// Count returns how often a call had its effect.
func (w *World) Count(call string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effects[call]
}
