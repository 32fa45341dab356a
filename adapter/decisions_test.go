package adapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

func sameTool(server, tool string) DecisionKey {
	return DecisionKey{Scope: ScopeTool, Server: server, Tool: tool, Fingerprint: "f"}
}

// stores are the stores of this package.
func stores(t *testing.T) map[string]DecisionStore {
	return map[string]DecisionStore{"memory": &decisions{}, "file": NewFileDecisions(filepath.Join(t.TempDir(), "kept"))}
}

func recalls(t *testing.T, s DecisionStore, key DecisionKey) (allowed, found bool) {
	t.Helper()
	d, found, err := s.Recall(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return d.Allow, found
}

func TestDecisionStores(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			a, b, other := sameTool("s", "a"), sameTool("s", "b"), sameTool("t", "a")
			changed := a
			changed.Fingerprint = "g"
			for key, allow := range map[DecisionKey]bool{a: true, b: false, other: true} {
				if err := s.Remember(t.Context(), key, Decision{Allow: allow, Reason: "so"}); err != nil {
					t.Fatal(err)
				}
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
			if err := s.Remember(t.Context(), a, Decision{}); err != nil {
				t.Fatal(err)
			}
			if allowed, found := recalls(t, s, a); allowed || !found {
				t.Errorf("got %t, %t, want the later decision", allowed, found)
			}
			if err := s.Forget(t.Context(), "", "s"); err != nil {
				t.Fatal(err)
			}
			_, left := recalls(t, s, a)
			if _, found := recalls(t, s, other); left || !found {
				t.Errorf("got %t and %t, want one server forgotten", left, found)
			}
			if err := s.Forget(t.Context(), "", ""); err != nil {
				t.Fatal(err)
			}
			if _, found := recalls(t, s, other); found {
				t.Error("got a decision after all were forgotten")
			}
		})
	}
}

func TestDecisionsAreBounded(t *testing.T) {
	for name, s := range stores(t) {
		if f, ok := s.(*FileDecisions); ok {
			if err := os.Mkdir(f.dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for i := range maxRemembered {
			key := sameTool("s", fmt.Sprint(i))
			if f, ok := s.(*FileDecisions); ok {
				path, err := f.path(key)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := s.Remember(t.Context(), key, Decision{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Remember(t.Context(), sameTool("s", "one more"), Decision{}); !errors.Is(err, errTooManyDecisions) {
			t.Errorf("%s: got %v, want no room", name, err)
		}
		if err := s.Remember(t.Context(), sameTool("s", "0"), Decision{}); err != nil {
			t.Errorf("%s: got %v, want what is there replaced", name, err)
		}
	}
}

// known is a transport of the host with an identity.
type known struct {
	transportFunc
	identity string
}

func (k known) Identity() string { return k.identity }

// What was allowed under a label is not allowed to another server under it.
func TestDecisionsEndWithTheServer(t *testing.T) {
	command := mcpclient.Command{Path: "server", Args: []string{"-a", "b"}}
	key := func(transport mcpclient.Transport) DecisionKey {
		tool := &Tool{policy: newPolicy(new(Options).withDefaults(), &Server{Name: "s", Transport: transport})}
		return keyOf(ScopeServer, "", tool, nil)
	}
	seen := map[DecisionKey]bool{}
	for _, transport := range []mcpclient.Transport{
		&command,
		&mcpclient.Command{Path: "other", Args: command.Args},
		&mcpclient.Command{Path: "server", Args: []string{"-ab"}},
		&mcpclient.Command{Path: "server", Args: command.Args, Dir: "/elsewhere"},
		&mcpclient.HTTP{URL: "https://a.example/mcp"},
		&mcpclient.HTTP{URL: "https://b.example/mcp"},
		&mcpclient.SSE{URL: "https://a.example/mcp"},
		transportFunc(unreachable),
		known{transportFunc(unreachable), "one"},
		known{transportFunc(unreachable), "two"},
	} {
		k := key(transport)
		if seen[k] {
			t.Errorf("%+v: got the decisions of another server", transport)
		}
		seen[k] = true
	}
	again := command
	again.Env = []string{"TOKEN=new"}
	if key(&command) != key(&again) || key(&mcpclient.HTTP{URL: "https://a.example/mcp"}) != key(&mcpclient.HTTP{URL: "https://me:new@a.example/mcp"}) {
		t.Error("got decisions forgotten with a new token, want them kept")
	}
}

// What was allowed in one folder is not allowed in another.
func TestDecisionsEndWithTheFolder(t *testing.T) {
	key := func() DecisionKey {
		t.Chdir(t.TempDir())
		server := &Server{Name: "s", Transport: &mcpclient.Command{Path: "python3", Args: []string{"server.py"}}}
		return keyOf(ScopeServer, "", &Tool{policy: newPolicy(new(Options).withDefaults(), server)}, nil)
	}
	if a, b := key(), key(); a.Origin == b.Origin {
		t.Errorf("got the origin %s in two folders", a.Origin)
	}
}

// A person sees what is kept, without what may be secret, and takes it back one by one.
func TestKeptDecisions(t *testing.T) {
	s := NewFileDecisions(filepath.Join(t.TempDir(), "kept"))
	if kept, err := s.List(t.Context()); err != nil || len(kept) != 0 {
		t.Errorf("got %v, %v, want nothing", kept, err)
	}
	if err := s.Drop(t.Context(), sameTool("s", "a")); err != nil {
		t.Errorf("got %v for nothing to drop", err)
	}
	dir := t.TempDir()
	var keys []DecisionKey
	for _, server := range []Server{
		{Name: "c", Transport: &mcpclient.Command{Path: "serve", Args: []string{"--token=hidden"}, Dir: dir}},
		{Name: "h", Transport: &mcpclient.HTTP{URL: "https://me:hidden@a.example/mcp?key=hidden"}},
	} {
		tool := &Tool{policy: newPolicy(new(Options).withDefaults(), &server)}
		key := keyOf(ScopeServer, "", tool, nil)
		keys = append(keys, key)
		if err := s.Remember(t.Context(), key, Decision{Allow: server.Name == "c"}); err != nil {
			t.Fatal(err)
		}
		path, err := s.path(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(int64(len(keys)), 0)); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := s.List(t.Context())
	if err != nil || len(kept) != 2 {
		t.Fatalf("got %v, %v, want both", kept, err)
	}
	for i, want := range []string{"serve in " + dir, "https://a.example/mcp"} {
		if k := kept[i]; k.Key != keys[i] || k.Key.Place != want || k.Decision.Allow != (i == 0) || k.Since.Unix() != int64(i+1) {
			t.Errorf("got %+v, want %q", k, want)
		}
	}
	if err := s.Drop(t.Context(), keys[0]); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.List(t.Context()); err != nil || len(kept) != 1 || kept[0].Key != keys[1] {
		t.Errorf("got %v, %v, want the other one", kept, err)
	}
}

// Nothing is allowed by a directory or a file that others can write to.
func TestFileDecisionsWhereOthersWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	dir := filepath.Join(t.TempDir(), "kept")
	s, key := NewFileDecisions(dir), sameTool("s", "a")
	if err := s.Remember(t.Context(), key, Decision{Allow: true}); err != nil {
		t.Fatal(err)
	}
	path, err := s.path(key)
	if err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o644: false, 0o620: true, 0o602: true, 0o666: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, found, err := s.Recall(t.Context(), key); found == refused || (err != nil) != refused {
			t.Errorf("file %#o: got %t, %v", mode, found, err)
		}
	}
	if err := s.Remember(t.Context(), key, Decision{Allow: true}); err != nil {
		t.Fatalf("got %v, want the file replaced by a good one", err)
	}
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o770: true, 0o777: true} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, found, err := s.Recall(t.Context(), key)
		if found == refused || (err != nil) != refused {
			t.Errorf("%#o: got %t, %v", mode, found, err)
		}
		if err := s.Remember(t.Context(), key, Decision{Allow: true}); (err != nil) != refused {
			t.Errorf("%#o: got %v", mode, err)
		}
		if err := s.Forget(t.Context(), "", "another server"); (err != nil) != refused {
			t.Errorf("%#o: got %v", mode, err)
		}
	}
}

// Nothing is allowed by way of a symbolic link, and nothing is written there.
func TestFileDecisionsBehindLinks(t *testing.T) {
	dir, key := t.TempDir(), sameTool("s", "a")
	kept := NewFileDecisions(filepath.Join(dir, "kept"))
	if err := kept.Remember(t.Context(), key, Decision{Allow: true}); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(kept.dir, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("this user may not make symbolic links:", err)
		}
		t.Fatal(err)
	}
	for _, name := range []string{link, link + string(filepath.Separator)} {
		s := NewFileDecisions(name)
		if _, found, err := s.Recall(t.Context(), key); found || err == nil {
			t.Errorf("%s: got %t, %v from a directory behind a link", name, found, err)
		}
		if err := s.Remember(t.Context(), sameTool("s", "b"), Decision{}); err == nil {
			t.Errorf("%s: remembered behind a link", name)
		}
	}
	path, err := kept.path(key)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "file")
	if err := errors.Join(os.Rename(path, other), os.Symlink(other, path)); err != nil {
		t.Fatal(err)
	}
	if _, found, err := kept.Recall(t.Context(), key); found || err == nil {
		t.Errorf("got %t, %v from a file behind a link", found, err)
	}
	if err := kept.Remember(t.Context(), key, Decision{}); err != nil {
		t.Fatal(err)
	}
	if f, err := readDecision(other); err != nil || !f.Allow {
		t.Errorf("got %+v, %v, want the file behind the link unchanged", f, err)
	}
	if allowed, found := recalls(t, kept, key); allowed || !found {
		t.Errorf("got %t, %t, want the later decision instead of the link", allowed, found)
	}
}

// What a process left behind when it ended is removed in time.
func TestFileDecisionsThatWereAbandoned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"new-old": 2 * time.Hour, "new-young": 0, "else": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := NewFileDecisions(dir).Remember(t.Context(), sameTool("s", "a"), Decision{}); err != nil {
		t.Fatal(err)
	}
	for name, left := range map[string]bool{"new-old": false, "new-young": true, "else": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != left {
			t.Errorf("%s: got %v, want it left: %t", name, err, left)
		}
	}
}

// Toolsets that share a directory know each other's decisions.
func TestDecisionsOutliveTheToolset(t *testing.T) {
	dir := t.TempDir()
	asked := 0
	for range 2 {
		ts := open(t, &Options{Decisions: NewFileDecisions(dir), Approve: func(context.Context, *Approval) (Decision, error) {
			asked++
			return Decision{Allow: true, Remember: ScopeTool}, nil
		}}, Server{Name: "p", Transport: annotated().transport(t)})
		for _, city := range []string{"Rome", "Oslo"} {
			if r := ts.Catalog(ProfilePlain).Call(t.Context(), call("1", "write", `{"city":"`+city+`"}`)); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		_ = ts.Close()
	}
	if asked != 1 {
		t.Errorf("got %d questions, want 1 in two toolsets", asked)
	}
}

// A decision under a fingerprint that has no visibility holds for a tool that all may call. For another tool
// the person is asked again, and the calls continue.
func TestDecisionsByOlderFingerprints(t *testing.T) {
	dir := t.TempDir()
	asked := map[string]int{}
	var log bytes.Buffer
	ts := open(t, &Options{
		Decisions: NewFileDecisions(dir), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Approve: func(_ context.Context, a *Approval) (Decision, error) {
			asked[a.Definition.Name]++
			return Decision{Allow: true, Remember: ScopeTool}, nil
		},
	}, Server{Name: "p", Transport: viewPeer().transport(t)})
	catalog := ts.Catalog(ProfilePlain)
	older := map[string]string{
		"both_tool":  "c53942dce9f8426a279a373d286221172f2c941157d3b98a91a799a3f403faac",
		"model_tool": "d18d327d0a4ed13d5812a1bce660cad8d8d4554d29fe98dcdafd4b683fa13372",
	}
	for name, fingerprint := range older {
		tool, ok := catalog.Lookup(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		key := keyOf(ScopeTool, "", tool, nil)
		key.Fingerprint = fingerprint
		if err := NewFileDecisions(dir).Remember(t.Context(), key, Allow()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if r := catalog.Call(t.Context(), call("1", name, "{}")); r.Err != nil {
				t.Errorf("%s: %v", name, r.Err)
			}
		}
	}
	if asked["both_tool"] != 0 || asked["model_tool"] != 1 || strings.Contains(log.String(), "decision") {
		t.Errorf("got the questions %v and the log %q, want one question about model_tool", asked, &log)
	}
}

func TestFileDecisionsConcurrently(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		s := NewFileDecisions(dir) // as in a process of its own
		wg.Go(func() {
			for j := range 10 {
				if err := s.Remember(t.Context(), sameTool("s", "same"), Decision{Allow: true}); err != nil {
					t.Error(err)
				}
				if err := s.Remember(t.Context(), sameTool("s", fmt.Sprint(i, j)), Decision{Allow: true}); err != nil {
					t.Error(err)
				}
				if allowed, found := recalls(t, s, sameTool("s", "same")); !allowed || !found {
					t.Errorf("got %t, %t, want a decision that is whole", allowed, found)
				}
			}
		})
	}
	wg.Wait()
	if all, err := NewFileDecisions(dir).files(); err != nil || len(all) != 81 {
		t.Errorf("got %d files, %v, want 81", len(all), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 81 {
		t.Errorf("got %d entries, %v, want nothing left over", len(entries), err)
	}
}

// A file that does not belong to its key allows nothing.
func TestFileDecisionsThatWereTamperedWith(t *testing.T) {
	s := NewFileDecisions(t.TempDir())
	key := sameTool("s", "a")
	path, err := s.path(key)
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		`{`: "unexpected end",
		`{"key":{"scope":2,"server":"t","tool":"a","fingerprint":"f"},"allow":true}`: "about another call",
		`{"allow":"` + strings.Repeat("x", maxDecisionFile) + `"}`:                   "over 65536 bytes",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, found, err := s.Recall(t.Context(), key); found || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %t, %v, want nothing, and %q", found, err, want)
		}
	}
}

// failingDecisions is a store that cannot be used.
type failingDecisions struct{}

func (failingDecisions) Recall(context.Context, DecisionKey) (Decision, bool, error) {
	return Decision{Allow: true}, true, errors.New("disk gone")
}
func (failingDecisions) Remember(context.Context, DecisionKey, Decision) error { panic("disk gone") }
func (failingDecisions) Forget(context.Context, string, string) error          { return errors.New("disk gone") }

func TestDecisionsThatCannotBeKept(t *testing.T) {
	var log bytes.Buffer
	asked := 0
	ts := open(t, &Options{
		Decisions: failingDecisions{},
		Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		Approve: func(context.Context, *Approval) (Decision, error) {
			asked++
			return Decision{Allow: true, Remember: ScopeTool}, nil
		},
	}, Server{Name: "p", Transport: annotated().transport(t)})
	for range 2 {
		if r := ts.Catalog(ProfilePlain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`)); r.Err != nil {
			t.Error(r.Err)
		}
	}
	if asked != 2 || !strings.Contains(log.String(), "cannot be recalled") || !strings.Contains(log.String(), "is not remembered") {
		t.Errorf("got %d questions and the log %s, want every call asked about, and why", asked, log.String())
	}
	if err := ts.Forget(t.Context(), ""); err == nil {
		t.Error("got no error from a store that cannot forget")
	}
}
