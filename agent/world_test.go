package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
)

// worlds are the worlds of several runs, by the first part of the path.
type worlds struct {
	url string

	mu  sync.Mutex // guards the field below
	all map[string]*world
}

// newWorlds serves worlds until the test ends.
func newWorlds(t *testing.T) *worlds {
	all := &worlds{all: map[string]*world{}}
	server := httptest.NewServer(all)
	t.Cleanup(server.Close)
	all.url = server.URL
	return all
}

func (s *worlds) of(name string) *world {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name] == nil {
		s.all[name] = &world{effects: map[string]int{}, results: map[string]string{}, asked: map[string]string{}, forms: map[string]chan string{}}
	}
	return s.all[name]
}

// world is what outlives the processes of a run: what the servers have done, and what the person was asked.
type world struct {
	mu      sync.Mutex             // guards the fields below
	effects map[string]int         // by the "n" of a call's arguments
	results map[string]string      // of the servers that honour keys: by key, and by the id of a task
	asked   map[string]string      // ids of questions, by what they are about
	doubted int                    // questions about doubts
	put     int                    // how often a server has asked in a round
	signed  bool                   // the person has signed in at the server "locked"
	forms   map[string]chan string // that the server "legacy" waits for
	wrong   []string
}

// request is what a client sends to a server, and a process that tells of a question.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name           string
		Arguments      json.RawMessage
		TaskID         string
		InputResponses map[string]json.RawMessage
		EventInfo      map[string]json.RawMessage `json:"_meta"`
	}
	Result     struct{ Action string } // of the person's answer to a form of the server "legacy"
	About, Ask string
}

// ServeHTTP serves the servers "plain", "keyed", "locked" and "legacy", and "asked", of each world.
func (s *worlds) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	name, server, _ := strings.Cut(r.URL.Path[1:], "/")
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		out.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w := s.of(name)
	if server == "legacy" && q.Method == "tools/call" {
		w.quiz(out, r, &q)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case server == "asked":
		w.ask(q.About, q.Ask)
		fmt.Fprint(out, w.effects[q.About])
	case q.Method == "":
		w.forms[string(q.ID)] <- q.Result.Action
		out.WriteHeader(http.StatusAccepted)
	case q.ID == nil:
		out.WriteHeader(http.StatusAccepted)
	case server == "locked" && q.Method == "tools/call" && !w.signed:
		out.WriteHeader(http.StatusUnauthorized)
	default:
		out.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`, q.ID, w.answer(server, &q))
	}
}

// ask notes a question. One about the same call is put once, unless it is a doubt: that is
// about the "n" of a call, and comes again if the next sending ends in the same way.
func (w *world) ask(about, id string) {
	if id == "" {
		w.doubted++
		return
	}
	w.signed = w.signed || strings.Contains(about, "sign_in")
	if known := w.asked[about]; known != "" && known != id {
		w.wrong = append(w.wrong, fmt.Sprintf("%s is asked as %s and as %s", about, known, id))
	}
	w.asked[about] = id
}

// The tools of the servers.
var tools = map[string][]string{
	"plain": {"note"}, "office": {"form"}, "keyed": {"write", "form", "url", "sample", "review", "task"}, "locked": {"enter"}, "legacy": {"quiz"},
}

func (w *world) answer(server string, q *request) string {
	switch q.Method {
	case "initialize":
		return `"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"world","version":"1"},"capabilities":{"tools":{}}}`
	case "server/discover":
		if server == "legacy" {
			break
		}
		return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"serverInfo":{"name":"world","version":"1"},` +
			`"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	case "tools/list":
		var list []string
		for _, name := range tools[server] {
			list = append(list, fmt.Sprintf(`{"name":%q,"description":%[1]q,"inputSchema":{"type":"object"}}`, name))
		}
		return `"result":{"resultType":"complete","ttlMs":600000,"cacheScope":"private","tools":[` + strings.Join(list, ",") + `]}`
	case "tools/call":
		return `"result":` + w.call(server, q)
	case "tasks/get":
		return `"result":{"resultType":"complete",` + taskState(q.Params.TaskID, "completed") + `,"result":` + w.results[q.Params.TaskID] + `}`
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}

// call does what is asked: at the server that honours keys, once for each key.
func (w *world) call(server string, q *request) string {
	n := number(q.Params.Arguments)
	if q.Params.Name == "note" {
		w.effects[n]++
		return complete(noted)
	}
	if round := rounds[q.Params.Name]; round != "" && q.Params.InputResponses == nil {
		w.put++
		return `{"resultType":"input_required","requestState":"s","inputRequests":{` + round + `}}`
	}
	key := string(q.Params.EventInfo[adapter.IdempotencyKeyMeta])
	if key == "" {
		w.wrong = append(w.wrong, "a call has no key")
	}
	if w.results[key] == "" {
		w.effects[n]++
		w.results[key] = complete(fmt.Sprintf("did %s for %s", q.Params.Arguments, q.Params.InputResponses))
	}
	if q.Params.Name == "task" {
		id := "task of " + n
		w.results[id] = w.results[key]
		return `{"resultType":"task",` + taskState(id, "working") + `}`
	}
	return w.results[key]
}

// quiz asks for a form in its open call, and does something if the person accepts: once for each key.
func (w *world) quiz(out http.ResponseWriter, r *http.Request, q *request) {
	key := string(q.Params.EventInfo[adapter.IdempotencyKeyMeta])
	w.mu.Lock()
	form, filled := fmt.Sprintf(`"form %d"`, len(w.forms)), make(chan string, 1)
	w.forms[form] = filled
	result := w.results[key]
	w.mu.Unlock()
	out.Header().Set("Content-Type", "text/event-stream")
	if result == "" {
		fmt.Fprintf(out, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"elicitation/create\",\"params\":%s}\n\n", form, whoAreYou)
		out.(http.Flusher).Flush()
		select {
		case action := <-filled:
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, "quiz: "+action)
			if action == "accept" {
				w.mu.Lock()
				w.effects[number(q.Params.Arguments)]++
				w.results[key] = result
				w.mu.Unlock()
			}
		case <-r.Context().Done():
			return
		}
	}
	fmt.Fprintf(out, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", q.ID, result)
}

const whoAreYou = `{"mode":"form","message":"who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

// rounds are what tools ask for.
var rounds = map[string]string{
	"form":   `"name":{"method":"elicitation/create","params":` + whoAreYou + `}`,
	"url":    `"pay":{"method":"elicitation/create","params":{"mode":"url","message":"pay","url":"https://example.com/pay"}}`,
	"review": `"poem":{"method":"sampling/createMessage","params":{"maxTokens":9,"systemPrompt":"review","messages":[{"role":"user","content":{"type":"text","text":"a poem"}}]}}`,
	"sample": `"poem":{"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"a poem"}}]}}`,
}

func complete(text string) string {
	return fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%q}]}`, text)
}

func taskState(id, status string) string {
	const at = "2026-01-01T00:00:00Z"
	return fmt.Sprintf(`"taskId":%q,"status":%q,"createdAt":%q,"lastUpdatedAt":%q,"ttlMs":null,"pollIntervalMs":1`, id, status, at, at)
}

func number(arguments json.RawMessage) string {
	var args struct{ N string }
	_ = json.Unmarshal(arguments, &args)
	return args.N
}

// The result of a call of "note", and what stands in its place if the call is in doubt.
const noted = "noted"
const unknown = "It is unknown whether the call ran: the work on it ended before its result came. Check before you repeat it."
