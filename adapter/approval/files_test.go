package approval

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

func sameTool(server, tool string) Key {
	return Key{Scope: ScopeTool, Server: server, Tool: tool, Fingerprint: "f"}
}

// wantRecall checks what was decided: "allowed", "denied", or "" for nothing.
func wantRecall(t *testing.T, s *Files, key Key, want string) {
	t.Helper()
	d, found, err := s.Recall(t.Context(), key)
	check.Must(t, err)
	got := ""
	if found {
		got = map[bool]string{true: "allowed", false: "denied"}[d.Allow]
	}
	check.Equal(t, key, got, want)
}

// pathOf returns the file of a decision.
func pathOf(t *testing.T, s *Files, key Key) string {
	t.Helper()
	return check.Value(s.path(key))(t)
}

// wantList checks the keys of the stored decisions.
func wantList(t *testing.T, s *Files, want ...Key) []StoredDecision {
	t.Helper()
	kept := check.Value(s.List(t.Context()))(t)
	var keys []Key
	for _, k := range kept {
		keys = append(keys, k.Key)
	}
	check.Same(t, "keys", keys, want)
	return kept
}

func TestStore(t *testing.T) {
	s := NewFiles(filepath.Join(t.TempDir(), "kept"))
	a, b, other := sameTool("s", "a"), sameTool("s", "b"), sameTool("t", "a")
	changed := a
	changed.Fingerprint = "g"
	for key, allow := range map[Key]bool{a: true, b: false, other: true} {
		check.Must(t, s.Remember(t.Context(), key, Decision{Allow: allow, Reason: "so"}))
	}
	wantRecall(t, s, a, "allowed")
	d, found, err := s.Recall(t.Context(), b)
	check.That(t, !d.Allow && d.Reason == "so" && found && err == nil, "got %v, %t, %v, want what was denied, and why", d, found, err)
	wantRecall(t, s, changed, "")
	check.Must(t, s.Remember(t.Context(), a, Decision{}))
	wantRecall(t, s, a, "denied")
	check.Must(t, s.Forget(t.Context(), "", "s"))
	wantRecall(t, s, a, "")
	wantRecall(t, s, other, "allowed")
	check.Must(t, s.Forget(t.Context(), "", ""))
	wantRecall(t, s, other, "")
}

func TestFilesAreBounded(t *testing.T) {
	s := NewFiles(t.TempDir())
	check.Must(t, os.Chmod(s.dir, 0o700))
	for i := range maxDecisions {
		check.Must(t, os.WriteFile(pathOf(t, s, sameTool("s", fmt.Sprint(i))), nil, 0o600))
	}
	check.Is(t, s.Remember(t.Context(), sameTool("s", "one more"), Decision{}), errFull, "no room")
	check.NoError(t, s.Remember(t.Context(), sameTool("s", "0"), Decision{}), "what is there replaced")
}

// List returns the oldest decision first, and Drop removes one.
func TestListAndDrop(t *testing.T) {
	s := NewFiles(filepath.Join(t.TempDir(), "kept"))
	wantList(t, s)
	check.NoError(t, s.Drop(t.Context(), sameTool("s", "a")), "for nothing to drop")
	keys := []Key{sameTool("s", "a"), sameTool("s", "b")}
	for i, key := range keys {
		check.Must(t, s.Remember(t.Context(), key, Decision{Allow: i == 0}))
		check.Must(t, os.Chtimes(pathOf(t, s, key), time.Time{}, time.Unix(int64(i+1), 0)))
	}
	for i, k := range wantList(t, s, keys...) {
		check.That(t, k.Decision.Allow == (i == 0) && k.Stored.Unix() == int64(i+1), "got %+v", k)
	}
	check.Must(t, s.Drop(t.Context(), keys[0]))
	wantList(t, s, keys[1])
}

// A file under another name decides nothing, and so it is not in the list.
func TestListWithoutCopies(t *testing.T) {
	s, key := NewFiles(filepath.Join(t.TempDir(), "kept")), sameTool("s", "a")
	check.Must(t, s.Remember(t.Context(), key, Decision{Allow: true}))
	raw := check.Value(os.ReadFile(pathOf(t, s, key)))(t)
	check.Must(t, os.WriteFile(filepath.Join(s.dir, "copy"+decisionSuffix), raw, 0o600))
	wantList(t, s, key)
	check.Must(t, s.Drop(t.Context(), key))
	wantList(t, s)
}

// A decision that cannot be read now may belong to another user.
func TestForgetLeavesUnreadableDecisions(t *testing.T) {
	s := NewFiles(filepath.Join(t.TempDir(), "kept"))
	ada, bob := sameTool("s", "a"), sameTool("s", "a")
	ada.User, bob.User = "ada", "bob"
	for _, key := range []Key{ada, bob} {
		check.Must(t, s.Remember(t.Context(), key, Decision{}))
	}
	path := pathOf(t, s, bob)
	check.Must(t, os.Chmod(path, 0))
	_, unreadable := os.ReadFile(path) // nil for root and on Windows
	check.Equal(t, "an error", s.Forget(t.Context(), "ada", "s") != nil, unreadable != nil)
	check.Must(t, os.Chmod(path, 0o600))
	wantRecall(t, s, ada, "")
	wantRecall(t, s, bob, "denied")
}

// The file of such a key would be that of another key.
func TestKeysAreUTF8(t *testing.T) {
	s, key := NewFiles(filepath.Join(t.TempDir(), "kept")), sameTool("s", "a")
	key.User = "jos\xe9"
	check.Text(t, s.Remember(t.Context(), key, Decision{Allow: true}), "key is not valid UTF-8")
	_, _, err := s.Recall(t.Context(), key)
	check.Text(t, err, "key is not valid UTF-8")
	key.User = "jos\ufffd"
	wantRecall(t, s, key, "")
}

// A directory or file that others can write to allows nothing.
func TestFilesWhereOthersWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	dir := filepath.Join(t.TempDir(), "kept")
	s, key := NewFiles(dir), sameTool("s", "a")
	check.Must(t, s.Remember(t.Context(), key, Decision{Allow: true}))
	path := pathOf(t, s, key)
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o644: false, 0o620: true, 0o602: true, 0o666: true} {
		check.Must(t, os.Chmod(path, mode))
		_, found, err := s.Recall(t.Context(), key)
		check.That(t, found != refused && (err != nil) == refused, "file %#o: got %t, %v", mode, found, err)
	}
	check.Must(t, s.Remember(t.Context(), key, Decision{Allow: true})) // replaces the file by a good one
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o770: true, 0o777: true} {
		check.Must(t, os.Chmod(dir, mode))
		_, found, err := s.Recall(t.Context(), key)
		check.That(t, found != refused && (err != nil) == refused, "%#o: got %t, %v", mode, found, err)
		check.Equal(t, mode, s.Remember(t.Context(), key, Decision{Allow: true}) != nil, refused)
		check.Equal(t, mode, s.Forget(t.Context(), "", "another server") != nil, refused)
	}
}

// A symbolic link allows nothing, and nothing is written through it.
func TestFilesBehindLinks(t *testing.T) {
	dir, key := t.TempDir(), sameTool("s", "a")
	kept := NewFiles(filepath.Join(dir, "kept"))
	check.Must(t, kept.Remember(t.Context(), key, Decision{Allow: true}))
	link := filepath.Join(dir, "link")
	if err := os.Symlink(kept.dir, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("this user may not make symbolic links:", err)
		}
		t.Fatal(err)
	}
	for _, name := range []string{link, link + string(filepath.Separator)} {
		s := NewFiles(name)
		_, found, err := s.Recall(t.Context(), key)
		check.That(t, !found && err != nil, "%s: got %t, %v from a directory behind a link", name, found, err)
		check.Text(t, s.Remember(t.Context(), sameTool("s", "b"), Decision{}), "", name, "remembered behind a link")
	}
	path, other := pathOf(t, kept, key), filepath.Join(dir, "file")
	check.Must(t, errors.Join(os.Rename(path, other), os.Symlink(other, path)))
	_, found, err := kept.Recall(t.Context(), key)
	check.That(t, !found && err != nil, "got %t, %v from a file behind a link", found, err)
	check.Must(t, kept.Remember(t.Context(), key, Decision{}))
	check.Contains(t, "the file behind the link", string(check.Value(os.ReadFile(other))(t)), `"allow":true`)
	wantRecall(t, kept, key, "denied") // the later decision, instead of the link
}

// Temporary files of ended processes are removed after some time.
func TestFilesThatWereAbandoned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	check.Must(t, os.Mkdir(dir, 0o700))
	for name, age := range map[string]time.Duration{"new-old": 2 * time.Hour, "new-young": 0, "else": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		check.Must(t, os.WriteFile(path, nil, 0o600))
		check.Must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	check.Must(t, NewFiles(dir).Remember(t.Context(), sameTool("s", "a"), Decision{}))
	for name, left := range map[string]bool{"new-old": false, "new-young": true, "else": true} {
		_, err := os.Stat(filepath.Join(dir, name))
		check.That(t, (err == nil) == left, "%s: got %v, want it left: %t", name, err, left)
	}
}

func TestFilesConcurrently(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		s := NewFiles(dir) // as in a process of its own
		wg.Go(func() {
			for j := range 10 {
				check.NoError(t, s.Remember(t.Context(), sameTool("s", "same"), Decision{Allow: true}))
				check.NoError(t, s.Remember(t.Context(), sameTool("s", fmt.Sprint(i, j)), Decision{Allow: true}))
				wantRecall(t, s, sameTool("s", "same"), "allowed")
			}
		})
	}
	wg.Wait()
	check.Equal(t, "files", len(check.Value(NewFiles(dir).paths())(t)), 81)
	entries := check.Value(os.ReadDir(dir))(t)
	check.Equal(t, "entries, with nothing left over", len(entries), 81)
}

// A file with another key allows nothing.
func TestFilesThatWereTamperedWith(t *testing.T) {
	s, key := NewFiles(t.TempDir()), sameTool("s", "a")
	path := pathOf(t, s, key)
	for content, want := range map[string]string{
		`{`: "unexpected end",
		`{"key":{"scope":2,"server":"t","tool":"a","fingerprint":"f"},"allow":true}`: "about another call",
		`{"allow":"` + strings.Repeat("x", maxDecisionFile) + `"}`:                   "over 65536 bytes",
	} {
		check.Must(t, os.WriteFile(path, []byte(content), 0o600))
		_, found, err := s.Recall(t.Context(), key)
		check.That(t, !found && err != nil && strings.Contains(err.Error(), want), "got %t, %v, want nothing, and %q", found, err, want)
	}
}

func TestMemory(t *testing.T) {
	s := NewMemory().(*memory)
	for i := range maxDecisions {
		check.Must(t, s.Remember(t.Context(), sameTool("s", fmt.Sprint(i)), Decision{Allow: true}))
	}
	check.Is(t, s.Remember(t.Context(), sameTool("t", "one more"), Decision{}), errFull, "no room")
	check.NoError(t, s.Remember(t.Context(), sameTool("s", "0"), Decision{}), "what is there replaced")
	for tool, allowed := range map[string]bool{"0": false, "1": true} {
		d, found, err := s.Recall(t.Context(), sameTool("s", tool))
		check.That(t, d.Allow == allowed && found && err == nil, "%s: got %v, %t, %v, want the latest decision", tool, d, found, err)
	}
	check.NoError(t, s.Forget(t.Context(), "", "s"))
	check.Equal(t, "decisions", len(s.decisions), 0)
}
