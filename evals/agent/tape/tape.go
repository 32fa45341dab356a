// Package tape records and plays the replies of the model of a trial.
//
// A cassette is a directory: cassette.json describes it, and each trial has a file of JSON lines, its tape. Playing is
// strict: each request must equal the recorded one, except for secrets, which are never recorded, and for the times of
// messages.
package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

// ErrMiss matches errors of a tape that lacks a needed line.
var ErrMiss = errors.New("the cassette lacks it")

// line is a line of a tape.
type line struct {
	Reply *Reply `json:"model,omitempty"`
}

// Reply is a model's reply to a request.
type Reply struct {
	Turn    int             `json:"turn"` // starts at 1
	Request json.RawMessage `json:"request"`
	Reply   json.RawMessage `json:"reply"`
}

// Tape holds the replies of one trial. Its methods may be called concurrently.
type Tape struct {
	task   string
	file   string
	filter *Filter

	mu      sync.Mutex // guards the following fields
	replies []*Reply   // those to play, without those that were played
	miss    error      // the first miss
}

// Recorder returns a tape that appends to a file.
func Recorder(task, file string, filter *Filter) *Tape {
	return &Tape{task: task, file: file, filter: filter}
}

// Player returns a tape that plays a file.
func Player(task, file string, filter *Filter) (*Tape, error) {
	t := &Tape{task: task, file: file, filter: filter}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: task %q: there is no file %s", ErrMiss, task, file)
	}
	if err != nil {
		return nil, err
	}
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if l.Reply != nil {
			t.replies = append(t.replies, l.Reply)
		}
	}
	return t, nil
}

// Err returns the first miss.
func (t *Tape) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.miss
}

// Keep appends a reply to the file, without secrets.
func (t *Tape) Keep(r *Reply) error {
	data, err := json.Marshal(line{r})
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
	for i, r := range t.replies {
		if r.Turn != turn {
			continue
		}
		if sameJSON(r.Request, asked) {
			t.replies = slices.Delete(t.replies, i, i+1)
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
	xs, ys := strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")
	for i := range max(len(xs), len(ys)) {
		x, y := "nothing", "nothing"
		if i < len(xs) {
			x = strings.TrimSpace(xs[i])
		}
		if i < len(ys) {
			y = strings.TrimSpace(ys[i])
		}
		if x != y {
			return fmt.Sprintf("line %d of the request: recorded %.300s, asked %.300s", i+1, x, y)
		}
	}
	return "the request differs in white space"
}
