package sampling

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

//go:embed testdata/npm/package.json
var npmPackage []byte

//go:embed testdata/npm/package-lock.json
var npmLock []byte

// npmPath returns the path of a package that the lock file pins, having
// installed it into the user's cache the first time. A machine without Node
// skips the test; CI, which sets CI=true, must have it.
func npmPath(t *testing.T, name string) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI needs Node and npm for this test")
		}
		t.Skip("needs Node and npm in PATH")
	}
	dir, err := npmInstall()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node_modules", filepath.FromSlash(name))
}

var npmInstall = sync.OnceValues(func() (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "mcpchain", fmt.Sprintf("npm-%x", sha256.Sum256(npmLock))[:20])
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for file, data := range map[string][]byte{"package.json": npmPackage, "package-lock.json": npmLock} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644)
})

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// aimock starts an OpenAI-compatible server that others wrote, and returns its
// base URL. It answers by testdata/answers.json, and what is not in there with
// an error.
func aimock(t *testing.T) string {
	t.Helper()
	program := filepath.Join(npmPath(t, "@copilotkit/aimock"), "dist", "cli.js")
	cmd := exec.CommandContext(t.Context(), "node", program, "--port", "0", "--fixtures", "testdata/answers.json",
		"--strict", "--validate-on-load", "--log-level", "info")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // killed by then: t.Context has ended
	var said []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, lines.Text())
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			go func() {
				for lines.Scan() { // it must not block on a full pipe
				}
			}()
			return found[1] + "/v1"
		}
	}
	t.Fatalf("the host did not start: %q", said)
	return ""
}
