package oauth

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

func stores(t *testing.T) map[string]Store {
	t.Helper()
	file := check.Value(NewFileStore(filepath.Join(t.TempDir(), "tokens")))(t)
	return map[string]Store{"memory": NewMemoryStore(), "file": file}
}

func TestStore(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			a, b := Key{Resource: serverURL, Issuer: issuerOne}, Key{Resource: serverURL, Issuer: issuerTwo}
			if got, err := s.Load(t.Context(), a); got != nil || err != nil {
				t.Errorf("got %q, %v, want nothing", got, err)
			}
			put := func(k Key, v string) {
				err := s.Update(t.Context(), k, func(context.Context, []byte) ([]byte, error) { return []byte(v), nil })
				check.NoError(t, err)
			}
			put(a, `"one"`)
			put(b, `"two"`)
			if got, err := s.Load(t.Context(), a); string(got) != `"one"` || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			broken := errors.New("broken")
			err := s.Update(t.Context(), a, func(_ context.Context, old []byte) ([]byte, error) { return []byte(`"x"`), broken })
			got, _ := s.Load(t.Context(), a)
			check.That(t, errors.Is(err, broken) && string(got) == `"one"`, "got %v, %q, want the error and no change", err, got)
			err = s.Update(t.Context(), a, func(context.Context, []byte) ([]byte, error) { return nil, nil })
			got, _ = s.Load(t.Context(), a)
			check.That(t, err == nil && got == nil, "got %v, %q, want it deleted", err, got)
			got, _ = s.Load(t.Context(), b)
			check.That(t, string(got) == `"two"`, "got %q of another key", got)
		})
	}
}

// TestMemoryStoreShrinks: a deleted entry leaves nothing behind.
func TestMemoryStoreShrinks(t *testing.T) {
	s := NewMemoryStore().(*memoryStore)
	for _, v := range []any{1, nil} {
		check.Must(t, save(t.Context(), s, Key{Resource: "a"}, v))
	}
	check.Equal(t, "entries", len(s.values)+len(s.updates), 0)
}

func TestUpdatesOfOneKeyTakeTurns(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			key, other := Key{Resource: "a"}, Key{Resource: "b"}
			inside, leave := make(chan struct{}), make(chan struct{})
			done := make(chan error, 1)
			go func() {
				done <- s.Update(t.Context(), key, func(context.Context, []byte) ([]byte, error) {
					close(inside)
					<-leave
					return []byte("1"), nil
				})
			}()
			<-inside
			check.NoError(t, s.Update(t.Context(), other, func(context.Context, []byte) ([]byte, error) { return []byte("1"), nil }), "another key waits")
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			err := s.Update(ended, key, func(context.Context, []byte) ([]byte, error) {
				t.Error("two are inside")
				return nil, nil
			})
			check.Is(t, err, context.Canceled)
			close(leave)
			check.NoError(t, <-done)
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					err := s.Update(t.Context(), key, func(_ context.Context, old []byte) ([]byte, error) {
						var n int
						if err := json.Unmarshal(old, &n); err != nil {
							return nil, err
						}
						return json.Marshal(n + 1)
					})
					check.NoError(t, err)
				})
			}
			all.Wait()
			got, _ := s.Load(t.Context(), key)
			check.That(t, string(got) == "21", "got %s, want 21", got)
		})
	}
}

func TestFileStoreOnDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the permissions are those of Unix")
	}
	dir := filepath.Join(t.TempDir(), "a", "tokens")
	s := check.Value(NewFileStore(dir))(t)
	check.Must(t, save(t.Context(), s, Key{Resource: serverURL, Issuer: issuerOne}, &token{Access: "x"}))
	files, err := os.ReadDir(dir)
	check.Require(t, err == nil && len(files) == 2, "got %v, %v, want the entry and its lock", files, err)
	for _, f := range files {
		info, err := f.Info()
		check.That(t, err == nil && info.Mode().Perm() == 0o600, "%s: got mode %v, %v, want 0600", f.Name(), info.Mode(), err)
	}
	info, err := os.Stat(dir)
	check.That(t, err == nil && info.Mode().Perm() == 0o700, "got mode %v, %v of the directory, want 0700", info.Mode(), err)
}

// TestFileStoreRefuses: files that others may have read or written are refused.
func TestFileStoreRefuses(t *testing.T) {
	key := Key{Resource: serverURL, Issuer: issuerOne}
	for name, tt := range map[string]struct {
		arrange func(dir, path string) error
		want    string // part of the error
		onUnix  bool
		dir     bool // the directory is refused, too
	}{
		"read by the group":    {func(_, path string) error { return os.Chmod(path, 0o640) }, "0600", true, false},
		"directory of a group": {func(dir, _ string) error { return os.Chmod(dir, 0o770) }, "0700", true, true},
		"too large":            {func(_, path string) error { return os.Truncate(path, maxEntry+1) }, "over 1048576 bytes", false, false},
		"directory": {func(_, path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}, "not a regular file", false, false},
		"link": {func(_, path string) error {
			return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path))
		}, "not a regular file", false, false},
		"link to the directory": {func(dir, _ string) error {
			return errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir))
		}, "symbolic link", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.onUnix && runtime.GOOS == "windows" {
				t.Skip("Windows has no permissions of Unix")
			}
			dir := filepath.Join(t.TempDir(), "tokens")
			s := check.Value(NewFileStore(dir))(t)
			check.Must(t, save(t.Context(), s, key, &token{Access: "x"}))
			err := tt.arrange(dir, s.(*fileStore).path(key))
			if _, links := errors.AsType[*os.LinkError](err); links && runtime.GOOS == "windows" {
				t.Skip("this user may not make symbolic links:", err)
			}
			check.Must(t, err)
			if got, err := s.Load(t.Context(), key); got != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("load: got %q, %v, want %q", got, err, tt.want)
			}
			err = s.Update(t.Context(), key, func(context.Context, []byte) ([]byte, error) {
				t.Error("an update saw the entry")
				return nil, nil
			})
			check.Text(t, err, tt.want, "update")
			before := check.Value(os.ReadDir(dir))(t)
			err = s.Update(t.Context(), Key{Resource: "new"}, func(context.Context, []byte) ([]byte, error) { return nil, nil })
			if after, _ := os.ReadDir(dir); (err != nil) != tt.dir || tt.dir && len(after) != len(before) {
				t.Errorf("update of a new entry: got %v and %v, want the directory refused: %t", err, after, tt.dir)
			}
			_, err = NewFileStore(dir)
			check.That(t, (err != nil) == tt.dir, "FileStore: got %v, want the directory refused: %t", err, tt.dir)
		})
	}
}

// TestFileStoreOfOtherContent: a damaged file, or one with another key's name, gives no token.
func TestFileStoreOfOtherContent(t *testing.T) {
	s := stores(t)["file"]
	path := s.(*fileStore).path
	one, two := Key{Resource: serverURL, Issuer: issuerOne}, Key{Resource: serverURL, Issuer: issuerTwo}
	check.Must(t, save(t.Context(), s, one, &token{Access: "x"}))
	entry := check.Value(os.ReadFile(path(one)))(t)
	for _, content := range []string{string(entry), `{"key":`, ""} {
		check.Must(t, os.WriteFile(path(two), []byte(content), 0o600))
		got, err := s.Load(t.Context(), two)
		check.That(t, got == nil && err == nil, "%s: got %q, %v, want nothing", content, got, err)
	}
}

// TestFileStoreSweeps: unfinished files of a dead process hold tokens and are removed.
func TestFileStoreSweeps(t *testing.T) {
	s := stores(t)["file"]
	left := filepath.Join(s.(*fileStore).dir, "new-1")
	old := time.Now().Add(-2 * time.Hour)
	check.Must(t, errors.Join(os.WriteFile(left, nil, 0o600), os.Chtimes(left, old, old)))
	check.Must(t, save(t.Context(), s, Key{Resource: "a"}, &token{}))
	check.Is(t, check.Err(os.Stat(left)), os.ErrNotExist)
}

// TestReadersSeeWholeFiles: also while files are replaced.
func TestReadersSeeWholeFiles(t *testing.T) {
	s := stores(t)["file"]
	key := Key{Resource: "a"}
	value := func(i int) *token { return &token{Access: strings.Repeat(fmt.Sprint(i), 50_000)} }
	check.Must(t, save(t.Context(), s, key, value(0)))
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := range 10 {
			check.NoError(t, save(t.Context(), s, key, value(i%10)))
		}
	})
	for range 200 {
		tok := new(token)
		ok, err := load(t.Context(), s, key, tok)
		check.Require(t, ok && err == nil && len(tok.Access) == 50_000, "got %v, %v, %d bytes", ok, err, len(tok.Access))
	}
	writers.Wait()
}

// TestMain makes the test binary the other process of a test.
func TestMain(m *testing.M) {
	if dir := os.Getenv("OAUTH_TEST_STORE"); dir != "" {
		if err := otherProcess(dir, os.Getenv("OAUTH_TEST_SERVER")); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// otherProcess calls the server on command.
func otherProcess(dir, server string) error {
	store, err := NewFileStore(dir)
	if err != nil {
		return err
	}
	grant := &AuthorizationCode{Receiver: Paste(func(context.Context, string) (string, error) {
		return "", errors.New("a person was asked")
	})}
	auth, err := New(server, &Options{Grant: grant, Store: store})
	if err != nil {
		return err
	}
	defer func() { _ = auth.Close() }()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	if err := callAs(ctx, auth, "POST", server); err != nil {
		return err
	}
	fmt.Println("worked with", auth.sessions.get().token.Access)
	return nil
}

// TestProcessesRefreshAtOnce: processes share a store and an expired token, and the server accepts each refresh token once.
func TestProcessesRefreshAtOnce(t *testing.T) {
	w := newWorld(t)
	peer := httptest.NewServer(w.onLoopback())
	defer peer.Close()
	server, dir := peer.URL+"/mcp", t.TempDir()
	store := check.Value(NewFileStore(dir))(t)
	w.set(func() { w.refreshes["refresh-secret-0"] = &issued{issuer: peer.URL, resource: server} })
	old := &token{Access: "old", Type: "Bearer", Refresh: "refresh-secret-0", Expiry: time.Now().Add(-time.Minute), ClientID: "c"}
	for key, value := range map[Key]any{
		{Resource: server}:                   &link{Resource: server, Issuer: peer.URL},
		{Resource: server, Issuer: peer.URL}: old,
		{Issuer: peer.URL}:                   &registration{ID: "c", RedirectURI: "http://127.0.0.1/callback"},
	} {
		check.Must(t, save(t.Context(), store, key, value))
	}
	const processes = 3
	results := make(chan string, processes)
	var ready sync.WaitGroup
	ready.Add(processes)
	start := make(chan struct{})
	for range processes {
		go func() { results <- runOther(t, dir, server, &ready, start) }()
	}
	ready.Wait()
	close(start)
	for range processes {
		check.Contains(t, "end of a process", <-results, "worked with access-secret-1")
	}
	check.Same(t, "token requests", w.grants(), []string{"refresh_token"})
}

// runOther runs this test binary as another process, and returns its last output.
func runOther(t *testing.T, dir, server string, ready *sync.WaitGroup, start <-chan struct{}) string {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "OAUTH_TEST_STORE="+dir, "OAUTH_TEST_SERVER="+server)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		ready.Done()
		return err.Error()
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	ready.Done()
	if err != nil {
		return first + err.Error()
	}
	<-start
	if _, err := in.Write([]byte("go\n")); err != nil {
		return err.Error()
	}
	last, _ := lines.ReadString('\n')
	if err := cmd.Wait(); err != nil {
		return last + err.Error()
	}
	return last
}
