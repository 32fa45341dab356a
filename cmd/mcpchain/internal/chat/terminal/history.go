package terminal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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

// history has the questions that were entered before, also in earlier programs. If its file cannot be used, it lasts
// until the end of the program.
type history struct {
	path    string // of the file; "": none
	entries []string
	at      int    // index of the shown entry; len(entries) is the draft
	draft   string // what the person was writing
}

// openHistory reads a file that has one JSON string on each line.
func openHistory(path string) *history {
	h := &history{path: path, entries: readEntries(path)}
	if len(h.entries) > maxEntries {
		h.trim()
	}
	h.entries = newest(h.entries)
	h.at = len(h.entries)
	return h
}

func readEntries(path string) (entries []string) {
	raw, err := os.ReadFile(path)
	if path == "" || err != nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 8*maxEntry)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			entries = append(entries, screen.CleanInput(text))
		}
	}
	return entries
}

func newest(entries []string) []string { return entries[max(0, len(entries)-maxEntries):] }

// lock keeps the other programs of the person from writing to the file.
func (h *history) lock() (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	return private.Lock(ctx, h.path+".lock")
}

// add adds an entry, unless it is empty or repeats the last one.
func (h *history) add(text string) {
	defer h.leave()
	if text == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == text {
		return
	}
	h.entries = append(h.entries, text)
	line, err := json.Marshal(text)
	if err != nil || h.path == "" || len(text) > maxEntry {
		return
	}
	if os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	unlock, err := h.lock()
	if err != nil {
		return
	}
	defer func() { _ = unlock() }()
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}

// trim removes old entries from the file, which is read again: another program may have added some.
func (h *history) trim() {
	unlock, err := h.lock()
	if err != nil {
		return
	}
	defer func() { _ = unlock() }()
	var b bytes.Buffer
	for _, text := range newest(readEntries(h.path)) {
		if line, err := json.Marshal(text); err == nil {
			b.Write(append(line, '\n'))
		}
	}
	_ = private.WriteFile(h.path, b.Bytes())
}

// leave returns to an empty draft.
func (h *history) leave() { h.at, h.draft = len(h.entries), "" }

// before returns the entry before the one shown.
func (h *history) before(shown string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = shown
	}
	h.at--
	return h.entries[h.at], true
}

// after returns the entry after the one shown, or the draft.
func (h *history) after() (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	if h.at++; h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}
