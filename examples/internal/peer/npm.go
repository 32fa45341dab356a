// Package peer runs, for tests, the programs that authorization is tried
// against: an authorization server and the official conformance suite. Both
// come from npm, pinned by a lock file.
package peer

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed npm/package.json
var npmPackage []byte

//go:embed npm/package-lock.json
var npmLock []byte

// oldestNode is the oldest major version of Node.js that the programs run with.
const oldestNode = 22

// Node returns a Node.js that is new enough, and the folder of the packages,
// having installed them into the user's cache the first time. A machine without
// npm skips the test; CI, which sets CI=true, must have it.
func Node(t testing.TB) (node, modules string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI needs Node.js and npm for this test")
		}
		t.Skip("needs Node.js and npm in PATH")
	}
	dir, err := install()
	if err != nil {
		t.Fatal(err)
	}
	modules = filepath.Join(dir, "node_modules")
	if node, err = findNode(modules); err != nil {
		t.Fatal(err)
	}
	return node, modules
}

var install = sync.OnceValues(func() (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "mcpchain", fmt.Sprintf("npm-%x", sha256.Sum256(npmLock))[:20])
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir, nil
	}
	// Tests of several packages may get here at once: each installs into a
	// folder of its own, and the first to finish wins.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	own, err := os.MkdirTemp(filepath.Dir(dir), "npm-*.tmp")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(own) }()
	for file, data := range map[string][]byte{"package.json": npmPackage, "package-lock.json": npmLock, "complete": nil} {
		if err := os.WriteFile(filepath.Join(own, file), data, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = own
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(own, dir); err != nil {
		if _, done := os.Stat(filepath.Join(dir, "complete")); done != nil {
			return "", err
		}
	}
	return dir, nil
})

// findNode prefers the Node.js of the machine to the one from npm.
func findNode(modules string) (string, error) {
	found, _ := filepath.Glob(filepath.Join(modules, "node-*", "bin", "node"))
	if path, err := exec.LookPath("node"); err == nil {
		found = append([]string{path}, found...)
	}
	for _, node := range found {
		if major, err := nodeVersion(node); err == nil && major >= oldestNode {
			return node, nil
		}
	}
	return "", errors.New("needs Node.js " + strconv.Itoa(oldestNode) + " or newer in PATH")
}

func nodeVersion(node string) (major int, err error) {
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		return 0, err
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	return strconv.Atoi(text)
}
