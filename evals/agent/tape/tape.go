// Package tape records and plays the messages of the model and the servers of a trial.
//
// A cassette is a directory: cassette.json describes it, and each trial has a file of JSON lines, its tape. Playing is
// strict: each request must equal the recorded one, except for secrets, which are never recorded, and for what differs
// each time: ids, keys and tokens of calls, and times of messages. Pings and notifications to a server are not
// compared.
package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
)

// ErrMiss matches errors of a tape that lacks a needed line.
var ErrMiss = errors.New("the cassette lacks it")

// Line is a line of a tape: exactly one of its fields is set.
type Line struct {
	Reply   *Reply            `json:"model,omitempty"`
	Message *Message          `json:"server,omitempty"`
	Files   map[string]string `json:"files,omitempty"` // files of the servers, at the end

	played bool // guarded by the lock of the tape
}

// Reply is a model's reply to a request.
type Reply struct {
	Turn    int             `json:"turn"` // starts at 1
	Request json.RawMessage `json:"request"`
	Reply   json.RawMessage `json:"reply"`
}

// Message is a message between the client and a server, or the end of their connection.
type Message struct {
	Server     string          `json:"label"`
	Connection int             `json:"connection"` // starts at 1
	Sent       bool            `json:"sent,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"`
	End        string          `json:"end,omitempty"` // error of a connection that the client did not close
}

// Tape holds the messages and replies of one trial. Its methods may be called concurrently.
type Tape struct {
	task   string
	file   string
	filter *Filter

	mu          sync.Mutex     // guards the following fields
	lines       []*Line        // lines to play
	connections map[string]int // number so far, by server
	miss        error          // the first miss
}

// Recorder returns a tape that appends to a file.
func Recorder(task, file string, filter *Filter) *Tape {
	return &Tape{task: task, file: file, filter: filter, connections: map[string]int{}}
}

// Player returns a tape that plays a file.
func Player(task, file string, filter *Filter) (*Tape, error) {
	t := Recorder(task, file, filter)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: task %q: there is no file %s", ErrMiss, task, file)
	}
	if err != nil {
		return nil, err
	}
	for text := range bytes.Lines(data) {
		l := &Line{}
		if err := json.Unmarshal(text, l); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		t.lines = append(t.lines, l)
	}
	return t, nil
}

// Err returns the first miss.
func (t *Tape) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.miss
}

// Keep appends a line to the file, without secrets.
func (t *Tape) Keep(l Line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(t.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(t.filter.JSON(data), '\n')) // in one write: other calls append to the file, too
	return errors.Join(err, f.Close())
}

// Replay returns the recorded reply to a request. Each reply is returned once.
func (t *Tape) Replay(turn int, request json.RawMessage) (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := t.filter.JSON(request)
	var similar json.RawMessage
	for _, l := range t.lines {
		r := l.Reply
		if r == nil || r.Turn != turn || l.played {
			continue
		}
		if sameJSON(r.Request, asked) {
			l.played = true
			return r.Reply, nil
		}
		similar = r.Request
	}
	return nil, t.missErrorLocked(fmt.Sprintf("turn %d", turn), similar, asked)
}

// missErrorLocked returns the error of a request that is not recorded, and keeps the first error. similar is a
// recorded request that is like it, and the error then shows what differs; nil: there is none.
func (t *Tape) missErrorLocked(place string, similar, asked json.RawMessage) error {
	err := fmt.Errorf("%w: task %q, %s: nothing is recorded for %.300s", ErrMiss, t.task, place, asked)
	if similar != nil {
		err = fmt.Errorf("%w: task %q, %s: %s", ErrMiss, t.task, place, difference(similar, asked))
	}
	if t.miss == nil {
		t.miss = err
	}
	return err
}

// Files returns the files of the servers at the end. It is a miss if a recorded tool call was not made.
func (t *Tape) Files() (map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	files := map[string]string{}
	for _, l := range t.lines {
		if l.Files != nil {
			files = l.Files
		}
		if m := l.Message; m != nil && m.Sent && envelopeOf(m.Body).Method == "tools/call" && !l.played {
			return nil, t.missErrorLocked("server "+strconv.Quote(m.Server)+": a recorded call was not made", m.Body, json.RawMessage("null"))
		}
	}
	return files, nil
}

// sameJSON reports whether two texts are the same JSON apart from white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// difference returns the first line in which two requests differ.
func difference(recorded, asked json.RawMessage) string {
	var a, b bytes.Buffer
	if json.Indent(&a, recorded, "", " ") != nil || json.Indent(&b, asked, "", " ") != nil {
		return "the request differs"
	}
	const end = "\nnothing"
	xs, ys := strings.Split(a.String()+end, "\n"), strings.Split(b.String()+end, "\n")
	for i := range min(len(xs), len(ys)) {
		if x, y := strings.TrimSpace(xs[i]), strings.TrimSpace(ys[i]); x != y {
			return fmt.Sprintf("line %d of the request: recorded %.300s, asked %.300s", i+1, x, y)
		}
	}
	return "the request differs in white space"
}

// envelope holds the members that tell requests, notifications and answers apart.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func envelopeOf(message []byte) (e envelope) {
	_ = json.Unmarshal(message, &e) // without an error: other text has neither member
	return e
}

// comparableRequest returns a request without what differs in each connection: its id, and the tokens and keys of a
// call. An answer keeps the id, which the server assigned.
func comparableRequest(message json.RawMessage) json.RawMessage {
	m := decode(message)
	if m["method"] != nil {
		delete(m, "id")
	}
	if params, ok := m["params"].(map[string]any); ok {
		if meta, ok := params["_meta"].(map[string]any); ok {
			for _, name := range []string{"progressToken", adapter.IdempotencyKeyMeta, "traceparent"} {
				delete(meta, name)
			}
			if len(meta) == 0 {
				delete(params, "_meta")
			}
		}
	}
	return encode(m)
}

// decode decodes an object and keeps the text of its numbers. It returns nil for other text.
func decode(object []byte) (m map[string]any) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	_ = d.Decode(&m)
	return m
}

// encode encodes an object that was decoded.
func encode(object any) []byte {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return data
}
