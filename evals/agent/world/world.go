// Package world provides the servers of a trial, which live in this process, and a ledger of the calls to them.
//
//	files   a directory: read_file, write_file, edit_file, list_directory, move_file, delete_file, search_files
//	people  questions: ask_name, ask_order, visit_page, ask_model
//	bank    accounts: balance, list_accounts, transfer, open_account, close_account
//	many    look-ups by subject, as many as the suite wants, up to 1,000
//	stub    the tools of its seed, with description, inputSchema and result; each successful call is an effect
//
// The servers are made with the official Go SDK. Their state is in files below the trial's
// directory, and the ledger of [World] has each call that reached them.
package world

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Entry is a call that reached a server.
type Entry struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Effect    bool            `json:"effect,omitempty"` // it changed something
	Failed    bool            `json:"failed,omitempty"`
}

// World holds the servers of a trial. Its methods may be called concurrently.
type World struct {
	dir    string
	closed chan struct{} // closed by Close

	mu     sync.Mutex // guards the following fields, and the state of the servers
	ledger []Entry
	roots  []*os.Root // of the servers files
}

// New returns the world of a trial in its directory.
func New(dir string) *World {
	return &World{dir: dir, closed: make(chan struct{})}
}

// Close ends waiting calls, and closes the directories of files. It must be called once.
func (w *World) Close() {
	close(w.closed)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, root := range w.roots {
		_ = root.Close() // nothing is written when it is closed
	}
}

// Ledger returns the calls that have reached the servers so far.
func (w *World) Ledger() []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ledger)
}

// Pipe starts a server of the world, and connects to it. close ends the connection.
func (w *World) Pipe(label string, s *suite.Server) (t mcpclient.Transport, close func() error, err error) {
	server, err := w.newServer(label, s)
	if err != nil {
		return nil, nil, err
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	session, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: fromClient, Writer: toClient, MaxLineLength: -1}, nil)
	if err != nil {
		return nil, nil, err
	}
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}, session.Close, nil
}

// newServer creates the server with a label, with its seed.
func (w *World) newServer(label string, s *suite.Server) (*sdk.Server, error) {
	build, ok := builders[s.InProcess]
	if !ok {
		return nil, fmt.Errorf("there is no server %q", s.InProcess)
	}
	tools, err := build(&stateFolder{w: w, dir: filepath.Join(w.dir, label)}, s)
	if err != nil {
		return nil, err
	}
	server := sdk.NewServer(&sdk.Implementation{Name: s.InProcess, Version: "1"}, &sdk.ServerOptions{PageSize: 50})
	f := &faultyServer{w: w, label: label, faults: s.Faults, server: server, calls: map[string]int{}}
	for _, t := range tools {
		f.add(t, t.schema)
	}
	return server, nil
}

// builders create the servers by name.
var builders = map[string]func(*stateFolder, *suite.Server) ([]tool, error){
	"files": files, "people": people, "bank": bank, "many": many, "stub": stub,
}

// stateFolder is where a server keeps its state: below dir, or in dir.json.
type stateFolder struct {
	w   *World
	dir string
}

// store writes a value as JSON to the server's file. The caller holds the lock of the world, unless no tool runs yet.
func (f *stateFolder) store(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.dir+".json", data, 0o600)
}

// tool defines a tool of a server. The lock of the world is held during run, and not during ask.
type tool struct {
	name, about string
	schema      string // schema of the arguments
	writes      bool   // a call that succeeds is an effect
	run         func(*call) (string, error)

	// ask replaces run. If its result has questions, the tool is called again with their answers.
	ask asker
}

// asker runs a tool that asks people or a model.
type asker func(*sdk.CallToolRequest) (*sdk.CallToolResult, error)

// call holds the arguments of a call of a tool.
type call struct{ args map[string]any }

func (c *call) text(name string) string {
	s, _ := c.args[name].(string)
	return s
}

// object returns the schema of an object that has exactly these properties: strings, and numbers by names after a #.
func object(names ...string) string {
	properties, required := map[string]any{}, []string{}
	for _, n := range names {
		kind := "string"
		if n[0] == '#' {
			n, kind = n[1:], "number"
		}
		properties[n] = map[string]string{"type": kind}
		required = append(required, n)
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	data, _ := json.Marshal(schema) // strings always marshal
	return string(data)
}

// The tools of the server many have a verb and a subject each.
var (
	verbs    = []string{"find", "count", "rank", "compare", "describe", "price", "date", "locate", "classify", "translate"}
	subjects = []string{"rivers", "lakes", "mountains", "islands", "bridges", "towers", "museums", "theatres", "stations", "harbours",
		"coins", "stamps", "maps", "books", "songs", "films", "paintings", "statues", "recipes", "wines"}
)

// many returns look-ups that differ by subject.
func many(_ *stateFolder, s *suite.Server) ([]tool, error) {
	all := make([]tool, min(s.Tools, 1000))
	for i := range all {
		verb, subject := verbs[i%len(verbs)], subjects[i/len(verbs)%len(subjects)]
		name := verb + "_" + subject
		if i >= len(verbs)*len(subjects) {
			name = fmt.Sprintf("%s_%d", name, i)
		}
		all[i] = tool{
			name: name, about: fmt.Sprintf("Can %s the %s of a country.", verb, subject), schema: object("country"),
			run: func(c *call) (string, error) { return fmt.Sprintf("%s of %s: %d", name, c.text("country"), i), nil },
		}
	}
	return all, nil
}

// stub returns the tools of its seed, which return the results in the seed.
func stub(_ *stateFolder, s *suite.Server) (all []tool, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.Seed)) {
		var t struct {
			Description, Result string
			InputSchema         json.RawMessage
		}
		if err := json.Unmarshal(s.Seed[name], &t); err != nil {
			return nil, err
		}
		all = append(all, tool{
			name: name, about: t.Description, schema: string(t.InputSchema), writes: true,
			run: func(*call) (string, error) { return t.Result, nil },
		})
	}
	return all, nil
}
