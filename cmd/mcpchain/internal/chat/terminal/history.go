package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/private"
)

const (
	maxEntries = 1000
	maxEntry   = 16 << 10    // bytes; a longer entry is not written to the file
	lockWait   = time.Second // after which an entry is not written to the file
)

// history has the questions that were entered before, also in earlier programs. A question that cannot be written to
// its file stays until the end of the program; the person gets no note about that.
type history struct {
	path    string   // the path of the file; "": none
	entries []string // the oldest first
	index   int      // index of the shown entry; len(entries) is the draft
	draft   string   // what the person was writing
}

// openHistory reads a file that has one JSON string on each line. A symbolic link stays one: its
// target is replaced.
func openHistory(path string) *history {
	if target, err := filepath.EvalSymlinks(path); path != "" && err == nil { // otherwise there is no file yet
		path = target
	}
	entries, _ := readEntries(path) // if it cannot be read, there is nothing to go back to
	return &history{path: path, entries: entries, index: len(entries)}
}

// readEntries returns the newest maxEntries entries of a file, none if there is no file. Lines that
// are not JSON strings are left out.
func readEntries(path string) (entries []string, err error) {
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(raw) {
		var text string
		if json.Unmarshal(line, &text) == nil && text != "" {
			entries = append(entries, screen.CleanInput(text))
		}
	}
	return entries[max(0, len(entries)-maxEntries):], nil
}

// add adds an entry, unless it is empty or repeats the last one.
func (h *history) add(text string) {
	defer h.reset()
	if text == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == text {
		return
	}
	h.entries = append(h.entries, text)
	if h.path != "" && len(text) <= maxEntry {
		_ = h.write(text)
	}
}

// write adds an entry to the file, which is read again: another program may have added some.
func (h *history) write(text string) error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := private.Lock(ctx, h.path+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	entries, err := readEntries(h.path)
	if err != nil {
		return err // the file is not replaced by one entry
	}
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for _, entry := range append(entries, text) {
		if err := lines.Encode(entry); err != nil {
			return err
		}
	}
	return private.WriteFile(h.path, b.Bytes())
}

// reset returns to an empty draft.
func (h *history) reset() { h.index, h.draft = len(h.entries), "" }

// older returns the entry before the one shown, false if that is the oldest. If the draft is shown, shown is its text,
// which history stores.
func (h *history) older(shown string) (string, bool) {
	if h.index == 0 {
		return "", false
	}
	if h.index == len(h.entries) {
		h.draft = shown
	}
	h.index--
	return h.entries[h.index], true
}

// newer returns the entry after the one shown, or the draft; false if the draft is shown.
func (h *history) newer() (string, bool) {
	if h.index >= len(h.entries) {
		return "", false
	}
	if h.index++; h.index == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.index], true
}
