package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
	shown, ok = again.newer()
	check.That(t, ok && shown == "draft", "got %q, want what was being written", shown)
	mode := check.Value(os.Stat(path))(t).Mode().Perm()
	check.That(t, mode == 0o600 || runtime.GOOS == "windows", "got the mode %o", mode)
}

// The newest entries are kept in memory, and twice as many in the file. Malformed lines and control characters are removed.
// Another file, for this user, replaces a file that is too long: if it cannot be written, nothing is lost.
func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 2*maxEntries + 5 {
		fmt.Fprintf(&b, "\"%d\\u001b\"\n", i)
	}
	b.WriteString("no JSON\n\"\"\n")
	check.Must(t, os.WriteFile(path, []byte(b.String()), 0o644))
	before := check.Value(os.Stat(path))(t)
	h := openHistory(path)
	after := check.Value(os.Stat(path))(t)
	check.That(t, !os.SameFile(before, after), "the file itself was written")
	check.That(t, after.Mode().Perm() == 0o600 || runtime.GOOS == "windows", "got the mode %o", after.Mode().Perm())
	got := len(h.entries)
	check.That(t, got == maxEntries-3 && h.entries[got-1] == "2004", "got %d entries up to %q", got, h.entries[got-1])
	h.add("new")
	raw := check.Value(os.ReadFile(path))(t)
	lines := strings.Count(string(raw), "\n")
	check.That(t, lines == maxEntries && strings.HasSuffix(string(raw), "\n\"new\"\n"), "got %d lines on disk, with the end %.20q", lines, raw[len(raw)-20:])
}

func TestHistoryWithoutAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	h := openHistory("")
	h.add("first")
	check.Equal(t, "entries", fmt.Sprint(h.entries), "[first]")
	check.Equal(t, "files", fmt.Sprint(check.Value(os.ReadDir("."))(t)), "[]")
}
