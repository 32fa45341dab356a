package testenv

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/mcpchain/mcpchain/internal/check"
)

// greeter is a set without a need for the network: its one package lies beside it.
func greeter() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"package.json": `{"name":"set","private":true,"dependencies":{"greeter":"file:greeter"}}`,
		"package-lock.json": `{"name":"set","lockfileVersion":3,"requires":true,"packages":{
			"":{"name":"set","dependencies":{"greeter":"file:greeter"}},
			"greeter":{"version":"1.0.0"},
			"node_modules/greeter":{"resolved":"greeter","link":true}}}`,
		"greeter/package.json": `{"name":"greeter","version":"1.0.0","type":"module","exports":"./index.js","scripts":{"postinstall":"node -e 'process.exit(1)'"}}`,
		"greeter/index.js":     `export const greeting = 'hello';`,
		"program.mjs":          `import { greeting } from 'greeter'; console.log(greeting);`,
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// installed installs in a cache of the test's own.
func installed(t *testing.T, cache string, files fs.FS) (*NPM, error) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "" {
			t.Skip(err)
		}
	}
	return installNPM(t.Context(), cache, files)
}

func TestInstall(t *testing.T) {
	cache := t.TempDir()
	first := check.Value(installed(t, cache, greeter()))(t)
	out, err := exec.CommandContext(t.Context(), first.Node(), first.Path("program.mjs")).CombinedOutput()
	check.That(t, err == nil && string(out) == "hello\n", "got %q, %v, want hello", out, err)
	check.NoError(t, check.Err(os.Stat(first.Module("greeter/index.js"))))
	before := check.Value(os.Stat(first.dir))(t)
	second, err := installed(t, cache, greeter())
	check.Require(t, err == nil && *second == *first, "got %+v, %v, want %+v", second, err, first)
	after, err := os.Stat(second.dir)
	check.That(t, err == nil && os.SameFile(before, after), "the set was installed again: %v", err)
	changed := greeter()
	changed["program.mjs"] = &fstest.MapFile{Data: []byte("")}
	third, err := installed(t, cache, changed)
	check.That(t, err == nil && third.dir != first.dir, "got %+v, %v, want a set of its own for other files", third, err)
}

// TestInstallAtOnce installs a set several times at once; all must return the same set, and nothing else may be left.
func TestInstallAtOnce(t *testing.T) {
	cache := t.TempDir()
	var wg sync.WaitGroup
	sets, errs := make([]*NPM, 2), make([]error, 2)
	for i := range sets {
		wg.Go(func() { sets[i], errs[i] = installed(t, cache, greeter()) })
	}
	wg.Wait()
	check.Must(t, errors.Join(errs...))
	wantOnly(t, cache, filepath.Base(sets[0].dir))
	for _, s := range sets {
		check.That(t, *s == *sets[0], "got %+v, want %+v", s, sets[0])
	}
}

func wantOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries := check.Value(os.ReadDir(dir))(t)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	check.That(t, slices.Equal(got, want), "got %q in the cache, want %q", got, want)
}

func TestInstallFails(t *testing.T) {
	cache, unlocked := t.TempDir(), greeter()
	delete(unlocked, "package-lock.json")
	check.Text(t, check.Err(installed(t, cache, unlocked)), "package-lock")
	wantOnly(t, cache)
}

// watcher records the end of a test.
type watcher struct {
	testing.TB
	skipped, failed bool
}

func (w *watcher) Skipf(string, ...any) {
	w.skipped = true
	runtime.Goexit()
}

func (w *watcher) Fatalf(string, ...any) {
	w.failed = true
	runtime.Goexit()
}

func (w *watcher) Fatal(...any) { w.Fatalf("") }

// TestMissing checks that a machine without npm skips the test, and that CI never does.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		w := &watcher{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			InstallNPM(w, fstest.MapFS{"package.json": {Data: []byte("of nobody")}})
		}()
		<-done
		check.That(t, w.skipped == (ci == "") && w.failed == (ci != ""), "CI=%q: got skipped %v, failed %v", ci, w.skipped, w.failed)
	}
}
