package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/private"
)

const (
	maxEntries = 1000
	maxEntry   = 16 << 10 // bytes; a longer entry is not written to the file
)

// history has the questions that were entered before, also in earlier programs. A question that cannot be written to
// its file stays until the end of the program; the person gets no note about that.
type history struct {
	path    string   // the path of the file; "": none
	entries []string // the oldest first
	index   int      // index of the shown entry; len(entries) is the draft
	draft   string   // what the person was writing
}

// openHistory reads a file that has one JSON string on each line. A file of more than 2*maxEntries lines is shortened.
func openHistory(path string) *history {
	h := &history{path: path}
	raw, err := os.ReadFile(path)
	lines := bytes.SplitAfter(raw, []byte("\n"))
	if most := 2 * maxEntries; err == nil && len(lines) > most {
		lines = lines[len(lines)-maxEntries:]
		shorten(path, bytes.Join(lines, nil))
	}
	for _, line := range lines[max(0, len(lines)-maxEntries):] {
		var text string
		if json.Unmarshal(line, &text) == nil && text != "" {
			h.entries = append(h.entries, screen.CleanInput(text))
		}
	}
	h.reset()
	return h
}

// shorten replaces the file. If it cannot write all of it, the file stays. Another program may lose what it adds meanwhile.
func shorten(path string, text []byte) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		_ = private.WriteFile(target, text)
	}
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

// write appends an entry to the file.
func (h *history) write(text string) error {
	line, err := json.Marshal(text)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// reset returns to an empty draft.
func (h *history) reset() { h.index, h.draft = len(h.entries), "" }

// showsDraft reports whether the draft is shown, rather than an entry.
func (h *history) showsDraft() bool { return h.index == len(h.entries) }

// older returns the entry before the one shown, false if that is the oldest. If the draft is shown, shown is its text,
// which history stores.
func (h *history) older(shown string) (string, bool) {
	if h.index == 0 {
		return "", false
	}
	if h.showsDraft() {
		h.draft = shown
	}
	h.index--
	return h.entries[h.index], true
}

// newer returns the entry after the one shown, or the draft; false if the draft is shown.
func (h *history) newer() (string, bool) {
	if h.showsDraft() {
		return "", false
	}
	if h.index++; h.showsDraft() {
		return h.draft, true
	}
	return h.entries[h.index], true
}
