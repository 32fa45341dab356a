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

func recalls(t *testing.T, s *Files, key Key) (allowed, found bool) {
	t.Helper()
	d, found, err := s.Recall(t.Context(), key)
	check.Must(t, err)
	return d.Allow, found
}

func TestStore(t *testing.T) {
	s := NewFiles(filepath.Join(t.TempDir(), "kept"))
	a, b, other := sameTool("s", "a"), sameTool("s", "b"), sameTool("t", "a")
	changed := a
	changed.Fingerprint = "g"
	for key, allow := range map[Key]bool{a: true, b: false, other: true} {
		check.Must(t, s.Remember(t.Context(), key, Decision{Allow: allow, Reason: "so"}))
	}
	if allowed, found := recalls(t, s, a); !allowed || !found {
		t.Errorf("got %t, %t, want what was allowed", allowed, found)
	}
	if d, found, err := s.Recall(t.Context(), b); d.Allow || d.Reason != "so" || !found || err != nil {
		t.Errorf("got %v, %t, %v, want what was denied, and why", d, found, err)
	}
	if _, found := recalls(t, s, changed); found {
		t.Error("got a decision about another definition")
	}
	check.Must(t, s.Remember(t.Context(), a, Decision{}))
	if allowed, found := recalls(t, s, a); allowed || !found {
		t.Errorf("got %t, %t, want the later decision", allowed, found)
	}
	check.Must(t, s.Forget(t.Context(), "", "s"))
	_, left := recalls(t, s, a)
	if _, found := recalls(t, s, other); left || !found {
		t.Errorf("got %t and %t, want one server forgotten", left, found)
	}
	check.Must(t, s.Forget(t.Context(), "", ""))
	if _, found := recalls(t, s, other); found {
		t.Error("got a decision after all were forgotten")
	}
}

func TestFilesAreBounded(t *testing.T) {
	s := NewFiles(t.TempDir())
	check.Must(t, os.Chmod(s.dir, 0o700))
	for i := range maxDecisions {
		path, err := s.path(sameTool("s", fmt.Sprint(i)))
		check.Must(t, err)
		check.Must(t, os.WriteFile(path, nil, 0o600))
	}
	check.Is(t, s.Remember(t.Context(), sameTool("s", "one more"), Decision{}), errFull, "no room")
	check.NoError(t, s.Remember(t.Context(), sameTool("s", "0"), Decision{}), "what is there replaced")
}

// List returns the oldest decision first, and Drop removes one.
func TestListAndDrop(t *testing.T) {
	s := NewFiles(filepath.Join(t.TempDir(), "kept"))
	if kept, err := s.List(t.Context()); err != nil || len(kept) != 0 {
		t.Errorf("got %v, %v, want nothing", kept, err)
	}
	check.NoError(t, s.Drop(t.Context(), sameTool("s", "a")), "for nothing to drop")
	keys := []Key{sameTool("s", "a"), sameTool("s", "b")}
	for i, key := range keys {
		check.Must(t, s.Remember(t.Context(), key, Decision{Allow: i == 0}))
		path, err := s.path(key)
		check.Must(t, err)
		check.Must(t, os.Chtimes(path, time.Time{}, time.Unix(int64(i+1), 0)))
	}
	kept, err := s.List(t.Context())
	if err != nil || len(kept) != 2 {
		t.Fatalf("got %v, %v, want both", kept, err)
	}
	for i, k := range kept {
		if k.Key != keys[i] || k.Decision.Allow != (i == 0) || k.Stored.Unix() != int64(i+1) {
			t.Errorf("got %+v", k)
		}
	}
	check.Must(t, s.Drop(t.Context(), keys[0]))
	if kept, err := s.List(t.Context()); err != nil || len(kept) != 1 || kept[0].Key != keys[1] {
		t.Errorf("got %v, %v, want the other one", kept, err)
	}
}

// A file under another name decides nothing, and so it is not in the list.
func TestListWithoutCopies(t *testing.T) {
	s, key := NewFiles(filepath.Join(t.TempDir(), "kept")), sameTool("s", "a")
	check.Must(t, s.Remember(t.Context(), key, Decision{Allow: true}))
	path, err := s.path(key)
	check.Must(t, err)
	raw, err := os.ReadFile(path)
	check.Must(t, err)
	check.Must(t, os.WriteFile(filepath.Join(s.dir, "copy"+decisionSuffix), raw, 0o600))
	if kept, err := s.List(t.Context()); err != nil || len(kept) != 1 {
		t.Errorf("got %v, %v, want one decision", kept, err)
	}
	check.Must(t, s.Drop(t.Context(), key))
	if kept, err := s.List(t.Context()); err != nil || len(kept) != 0 {
		t.Errorf("got %v, %v, want none", kept, err)
	}
}

// A decision that cannot be read now may belong to another user.
func TestForgetLeavesUnreadableDecisions(t *testing.T) {
	s := NewFiles(filepath.Join(t.TempDir(), "kept"))
	ada, bob := sameTool("s", "a"), sameTool("s", "a")
	ada.User, bob.User = "ada", "bob"
	for _, key := range []Key{ada, bob} {
		check.Must(t, s.Remember(t.Context(), key, Decision{}))
	}
	path, err := s.path(bob)
	check.Must(t, err)
	check.Must(t, os.Chmod(path, 0))
	_, unreadable := os.ReadFile(path) // nil for root and on Windows
	check.Equal(t, "an error", s.Forget(t.Context(), "ada", "s") != nil, unreadable != nil)
	check.Must(t, os.Chmod(path, 0o600))
	for key, want := range map[Key]bool{ada: false, bob: true} {
		_, found := recalls(t, s, key)
		check.Equal(t, key.User, found, want)
	}
}

// The file of such a key would be that of another key.
func TestKeysAreUTF8(t *testing.T) {
	s, key := NewFiles(filepath.Join(t.TempDir(), "kept")), sameTool("s", "a")
	key.User = "jos\xe9"
	check.Text(t, s.Remember(t.Context(), key, Decision{Allow: true}), "key is not valid UTF-8")
	_, _, err := s.Recall(t.Context(), key)
	check.Text(t, err, "key is not valid UTF-8")
	key.User = "jos\ufffd"
	if _, found := recalls(t, s, key); found {
		t.Error("got the decision of another user")
	}
}

// A directory or file that others can write to allows nothing.
func TestFilesWhereOthersWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	dir := filepath.Join(t.TempDir(), "kept")
	s, key := NewFiles(dir), sameTool("s", "a")
	check.Must(t, s.Remember(t.Context(), key, Decision{Allow: true}))
	path, err := s.path(key)
	check.Must(t, err)
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o644: false, 0o620: true, 0o602: true, 0o666: true} {
		check.Must(t, os.Chmod(path, mode))
		if _, found, err := s.Recall(t.Context(), key); found == refused || (err != nil) != refused {
			t.Errorf("file %#o: got %t, %v", mode, found, err)
		}
	}
	if err := s.Remember(t.Context(), key, Decision{Allow: true}); err != nil {
		t.Fatalf("got %v, want the file replaced by a good one", err)
	}
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o770: true, 0o777: true} {
		check.Must(t, os.Chmod(dir, mode))
		_, found, err := s.Recall(t.Context(), key)
		if found == refused || (err != nil) != refused {
			t.Errorf("%#o: got %t, %v", mode, found, err)
		}
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
		if _, found, err := s.Recall(t.Context(), key); found || err == nil {
			t.Errorf("%s: got %t, %v from a directory behind a link", name, found, err)
		}
		check.Text(t, s.Remember(t.Context(), sameTool("s", "b"), Decision{}), "", name, "remembered behind a link")
	}
	path, err := kept.path(key)
	check.Must(t, err)
	other := filepath.Join(dir, "file")
	check.Must(t, errors.Join(os.Rename(path, other), os.Symlink(other, path)))
	if _, found, err := kept.Recall(t.Context(), key); found || err == nil {
		t.Errorf("got %t, %v from a file behind a link", found, err)
	}
	check.Must(t, kept.Remember(t.Context(), key, Decision{}))
	if f, err := readDecision(other); err != nil || !f.Allow {
		t.Errorf("got %+v, %v, want the file behind the link unchanged", f, err)
	}
	if allowed, found := recalls(t, kept, key); allowed || !found {
		t.Errorf("got %t, %t, want the later decision instead of the link", allowed, found)
	}
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
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != left {
			t.Errorf("%s: got %v, want it left: %t", name, err, left)
		}
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
				if allowed, found := recalls(t, s, sameTool("s", "same")); !allowed || !found {
					t.Errorf("got %t, %t, want a decision that is whole", allowed, found)
				}
			}
		})
	}
	wg.Wait()
	if all, err := NewFiles(dir).paths(); err != nil || len(all) != 81 {
		t.Errorf("got %d files, %v, want 81", len(all), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 81 {
		t.Errorf("got %d entries, %v, want nothing left over", len(entries), err)
	}
}

func TestConstantsInWords(t *testing.T) {
	for want, constant := range map[string]fmt.Stringer{
		"this call": ScopeCall, "same arguments": ScopeArguments, "same tool": ScopeTool, "same server": ScopeServer, "Scope(-1)": Scope(-1),
	} {
		check.Equal(t, "", constant.String(), want)
	}
}

// A file with another key allows nothing.
func TestFilesThatWereTamperedWith(t *testing.T) {
	s := NewFiles(t.TempDir())
	key := sameTool("s", "a")
	path, err := s.path(key)
	check.Must(t, err)
	for content, want := range map[string]string{
		`{`: "unexpected end",
		`{"key":{"scope":2,"server":"t","tool":"a","fingerprint":"f"},"allow":true}`: "about another call",
		`{"allow":"` + strings.Repeat("x", maxDecisionFile) + `"}`:                   "over 65536 bytes",
	} {
		check.Must(t, os.WriteFile(path, []byte(content), 0o600))
		if _, found, err := s.Recall(t.Context(), key); found || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %t, %v, want nothing, and %q", found, err, want)
		}
	}
}
