package sampling

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sashabaranov/go-openai"
	"golang.org/x/tools/txtar"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

var update = flag.Bool("update", false, "write the requests to the host and the answers to the server to testdata/wire")

// A row is a file of testdata/wire: a request of a server and the host's answer, then the requests
// to each kind of host and the answers to a server of each revision.
type row struct {
	path          string
	file          *txtar.Archive
	since         string // the first revision with the row's feature
	model, params string
	status        int
	host          string // its answer

	asked    map[string]map[string]bool // JSON of a request to its hosts
	answered map[string]map[string]bool // JSON of an answer to its revisions
}

func readRow(t *testing.T, path string) *row {
	t.Helper()
	file := check.Value(txtar.ParseFile(path))(t)
	text := map[string]string{"since": mcp.Revision20241105, "model": "gpt-4.1", "status": "200", "host": plainAnswer}
	for _, f := range file.Files {
		text[f.Name] = strings.TrimSpace(string(f.Data))
	}
	status := check.Value(strconv.Atoi(text["status"]))(t)
	check.That(t, text["params"] != "", "%s has no params", path)
	return &row{path: path, file: file, since: text["since"], model: text["model"], params: text["params"], status: status, host: text["host"],
		asked: map[string]map[string]bool{}, answered: map[string]map[string]bool{}}
}

// check compares the requests and answers with the file, or updates the file.
func (r *row) check(t *testing.T) {
	t.Helper()
	input := slices.DeleteFunc(slices.Clone(r.file.Files), func(f txtar.File) bool { return strings.Contains(f.Name, ":") })
	want := &txtar.Archive{Comment: r.file.Comment, Files: slices.Concat(input, sections("asked", r.asked), sections("answered", r.answered))}
	got := txtar.Format(want)
	if *update {
		check.Must(t, os.WriteFile(r.path, got, 0o644))
		return
	}
	check.Same(t, r.path+" (-update accepts it)", string(got), string(txtar.Format(r.file)))
}

// sections returns a section for each text, which names all that it was seen by.
func sections(kind string, seen map[string]map[string]bool) []txtar.File {
	var files []txtar.File
	for text, by := range seen {
		files = append(files, txtar.File{Name: kind + ": " + strings.Join(slices.Sorted(maps.Keys(by)), " "), Data: []byte(text + "\n")})
	}
	slices.SortFunc(files, func(a, b txtar.File) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), bytes.Compare(a.Data, b.Data))
	})
	return files
}

func note(seen map[string]map[string]bool, text, by string) {
	if seen[text] == nil {
		seen[text] = map[string]bool{}
	}
	seen[text][by] = true
}

// TestWire checks every row with every kind of host and every revision of the protocol, over a
// real HTTP server and a connection of the client.
func TestWire(t *testing.T) {
	paths, err := filepath.Glob("testdata/wire/*.txtar")
	check.Require(t, err == nil && len(paths) >= 40, "got %d rows, %v", len(paths), err)
	byModel := map[string][]*row{}
	for _, path := range paths {
		r := readRow(t, path)
		byModel[r.model] = append(byModel[r.model], r)
	}
	host := newWireHost(t)
	for model, rows := range byModel {
		for _, kind := range chat.Hosts() {
			for _, revision := range []string{mcp.Revision20241105, mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
				p := newWirePeer(t, revision, host.sampler(t, kind, model))
				for _, r := range rows {
					if revision >= r.since {
						host.play(t, p, r, kind, revision)
					}
				}
			}
		}
	}
	for _, rows := range byModel {
		for _, r := range rows {
			r.check(t)
		}
	}
}

// wireHost is a model's host on a real network.
type wireHost struct {
	*httptest.Server
	mu   sync.Mutex
	row  *row
	last []byte // nil if there was no request
}

func newWireHost(t *testing.T) *wireHost {
	h := &wireHost{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check.NoError(t, err, "read request")
		h.mu.Lock()
		defer h.mu.Unlock()
		h.last = body
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(h.row.status)
		io.WriteString(w, h.row.host)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *wireHost) sampler(t *testing.T, kind, model string) *Sampler {
	t.Helper()
	cfg := openai.DefaultConfig(testKey)
	cfg.BaseURL = h.URL + "/v1"
	opts := &Options{Host: kind, Retries: -1, Limits: Limits{Total: Budget{Requests: 1000}}}
	if slices.Contains([]string{"compatible", "openrouter", "mistral"}, kind) {
		opts.Metadata = []string{"user"}
	}
	return check.Value(New(cfg, model, opts))(t)
}

var newID = regexp.MustCompile(`call_[A-Z2-7]{20}`)

// play makes a server send the row's request.
func (h *wireHost) play(t *testing.T, p *wirePeer, r *row, kind, revision string) {
	t.Helper()
	h.mu.Lock()
	h.row, h.last = r, nil
	h.mu.Unlock()
	answer := p.ask(t, r.params)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last != nil {
		note(r.asked, indented(t, h.last), kind)
	} else {
		note(r.asked, "nothing", kind)
	}
	note(r.answered, newID.ReplaceAllString(indented(t, answer), "call_NEW"), revision)
}

func indented(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	err := json.Unmarshal(raw, &v)
	check.Require(t, err == nil, "%v: %s", err, raw)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	check.Must(t, enc.Encode(v))
	return strings.TrimSpace(out.String())
}

// wirePeer is a server that asks for a completion in a call of its only tool.
type wirePeer struct {
	client  *mcpclient.Client
	modern  bool
	params  chan string
	answers chan json.RawMessage
}

func newWirePeer(t *testing.T, revision string, s *Sampler) *wirePeer {
	t.Helper()
	p := &wirePeer{modern: revision >= mcp.Revision20260728, params: make(chan string, 1), answers: make(chan json.RawMessage, 1)}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.serve(t, revision, json.NewDecoder(fromClient), toClient)
		toClient.Close()
	}()
	client := check.Value(mcpclient.Connect(t.Context(), &mcpclient.IO{Reader: fromServer, Writer: toServer},
		&mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}, Sampling: s}))(t)
	p.client = client
	t.Cleanup(func() { client.Close(); fromClient.Close(); <-done })
	return p
}

type wireMessage struct {
	ID, Result, Error json.RawMessage
	Method            string
	Params            struct{ InputResponses map[string]json.RawMessage }
}

// serve is the server's side of the protocol.
func (p *wirePeer) serve(t *testing.T, revision string, in *json.Decoder, out io.Writer) {
	send := func(format string, args ...any) {
		var line bytes.Buffer
		check.NoError(t, json.Compact(&line, fmt.Appendf(nil, format, args...)), "the server's message is not JSON")
		line.WriteByte('\n')
		_, _ = out.Write(line.Bytes()) // the next read reports a lost client
	}
	const done = `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[]}}`
	var call json.RawMessage
	for {
		var m wireMessage
		if in.Decode(&m) != nil {
			return
		}
		switch {
		case m.Method == "server/discover":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":[%q],"capabilities":{"tools":{}}}}`, m.ID, revision)
		case m.Method == "initialize":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}}}`, m.ID, revision)
		case m.Method == "tools/call" && m.Params.InputResponses != nil:
			p.answers <- m.Params.InputResponses["q"]
			send(done, m.ID)
		case m.Method == "tools/call" && p.modern:
			send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":%s}}}}`, m.ID, <-p.params)
		case m.Method == "tools/call":
			call = m.ID
			send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":%s}`, <-p.params)
		case string(m.ID) == `"q"` && m.Error != nil:
			p.answers <- json.RawMessage(`{"error":` + string(m.Error) + `}`)
			send(done, call)
		case string(m.ID) == `"q"`:
			p.answers <- m.Result
			send(done, call)
		}
	}
}

// ask sends the server's request and returns the answer. In the modern era a
// failure of the model has no answer: the call ends instead.
func (p *wirePeer) ask(t *testing.T, params string) json.RawMessage {
	t.Helper()
	p.params <- params
	_, err := p.client.CallTool(t.Context(), "ask", nil)
	select {
	case answer := <-p.answers:
		check.Must(t, err)
		return answer
	default:
		check.Require(t, err != nil, "the server got no answer, and the call no error")
		return encodeJSON(map[string]string{"the call ends": err.Error()})
	}
}
