package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// The history is kept in a file for this user, without repetitions.
func TestHistoryOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "history")
	h := openHistory(path)
	for _, text := range []string{"first", "two\nlines", "two\nlines", "", "first", strings.Repeat("x", maxEntry+1)} {
		h.add(text)
	}
	check.Equal(t, "entries", len(h.entries), 4)
	again := openHistory(path)
	check.Equal(t, "entries on the disk", fmt.Sprintf("%q", again.entries), `["first" "two\nlines" "first"]`)
	shown, ok := again.older("draft")
	check.That(t, ok && shown == "first", "got %q, want the newest", shown)
	if shown, ok = again.newer(); !ok || shown != "draft" {
		t.Errorf("got %q, want what was being written", shown)
	}
	info, err := os.Stat(path)
	check.Must(t, err)
	mode := info.Mode().Perm()
	check.That(t, mode == 0o600 || runtime.GOOS == "windows", "got the mode %o", mode)
}

// The newest entries are kept in memory and in the file. Malformed lines and control characters are removed.
func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	b.WriteString("no JSON\n\"\"\n")
	for i := range maxEntries + 5 {
		fmt.Fprintf(&b, "\"%d\\u001b\"\n", i)
	}
	check.Must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	h := openHistory(path)
	got := len(h.entries)
	check.That(t, got == maxEntries && h.entries[0] == "5", "got %d entries from %q on", got, h.entries[0])
	h.add("new")
	raw, err := os.ReadFile(path)
	check.Must(t, err)
	if got := strings.Count(string(raw), "\n"); got != maxEntries+1 || !strings.HasPrefix(string(raw), "\"5\"\n") {
		t.Errorf("got %d lines on disk, from %.10q on", got, raw)
	}
}

// Two programs that add to the file and shorten it lose no new entries.
func TestHistoryOfTwoPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	const added = 200
	var old strings.Builder
	for i := range maxEntries + added {
		fmt.Fprintf(&old, "%q\n", fmt.Sprint("old ", i))
	}
	check.Must(t, os.WriteFile(path, []byte(old.String()), 0o600))
	first := openHistory(path)
	var other sync.WaitGroup
	other.Go(func() {
		for i := range added {
			first.add(fmt.Sprint("new ", i))
		}
	})
	for range 50 {
		check.Equal(t, "entries", len(openHistory(path).entries), maxEntries)
	}
	other.Wait()
	entries := openHistory(path).entries
	if len(entries) != maxEntries || entries[maxEntries-added] != "new 0" || entries[maxEntries-1] != fmt.Sprint("new ", added-1) {
		t.Errorf("got %d entries, from %q to %q", len(entries), entries[max(0, len(entries)-added)], entries[len(entries)-1])
	}
}

func TestHistoryWithoutAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	h := openHistory("")
	h.add("first")
	check.Equal(t, "entries", fmt.Sprint(h.entries), "[first]")
	left, err := os.ReadDir(".")
	check.Must(t, err)
	check.Equal(t, "files", fmt.Sprint(left), "[]")
}
