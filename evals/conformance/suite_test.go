package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// suite is the installed suite.
type suite struct{ *testenv.NPM }

func install(t *testing.T) suite {
	t.Helper()
	return suite{testenv.InstallNPM(t, os.DirFS("testdata/npm"))}
}

func (s suite) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Node(), append([]string{s.Module("@modelcontextprotocol/conformance/dist/index.js")}, args...)...)
	cmd.Env = append(os.Environ(), testenv.Role(asClient)) // its clients are this program again
	cmd.WaitDelay = 5 * time.Second                        // for them
	return cmd
}

// scenarios asks the suite for its client scenarios, by revision; scenarios
// without a revision are under "extension".
func (s suite) scenarios(t *testing.T) map[string][]string {
	out, err := s.command(t.Context(), "list", "--client").Output()
	check.Must(t, err)
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		name, revisions, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), "]"), " [")
		if !ok {
			continue
		}
		for revision := range strings.SplitSeq(revisions, ",") {
			found[revision] = append(found[revision], strings.TrimPrefix(name, "- "))
		}
	}
	return found
}

// required asks the suite for the client scenarios that a revision demands.
func (s suite) required(t *testing.T, revision string) []string {
	out, err := s.command(t.Context(), "list", "--requirements", revision).Output()
	check.Must(t, err)
	_, list, _ := strings.Cut(string(out), "Client scenarios (test against a client):\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var names []string
	for line := range strings.Lines(list) {
		names = append(names, strings.TrimPrefix(strings.TrimSpace(line), "- "))
	}
	return names
}

// observation is a check of the suite.
type observation struct {
	ID, Name, Status, ErrorMessage string
}

// outcome is the result of one scenario.
type outcome struct {
	passed []string // the ids of the checks
	wrong  []string // failures and warnings
	stderr string   // of the client
}

var startTime = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[0-9-]+Z$`)

// run makes the suite run the scenarios of args concurrently. The error is the suite's own verdict.
func (s suite) run(ctx context.Context, client, results string, args ...string) (map[string]*outcome, error) {
	args = append([]string{"client", "--timeout", "120000", "--command", client, "-o", results}, args...) // the machine may be slow
	out, verdict := s.command(ctx, args...).CombinedOutput()
	if verdict != nil {
		verdict = fmt.Errorf("%w\n%s", verdict, out[max(0, len(out)-4<<10):])
	}
	outcomes := map[string]*outcome{}
	files := os.DirFS(results)
	err := fs.WalkDir(files, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Base(file) != "checks.json" {
			return err
		}
		o, err := readOutcome(files, path.Dir(file))
		outcomes[startTime.ReplaceAllString(path.Dir(file), "")] = o
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return outcomes, verdict
}

func readOutcome(files fs.FS, dir string) (*outcome, error) {
	data, err := fs.ReadFile(files, path.Join(dir, "checks.json"))
	if err != nil {
		return nil, err
	}
	var checks []observation
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	stderr, err := fs.ReadFile(files, path.Join(dir, "stderr.txt"))
	if err != nil {
		return nil, err
	}
	o := &outcome{stderr: string(stderr)}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			o.passed = append(o.passed, c.ID)
		case "FAILURE", "WARNING":
			o.wrong = append(o.wrong, fmt.Sprintf("%s %s (%s): %s", c.Status, c.ID, c.Name, c.ErrorMessage))
		}
	}
	return o, nil
}

// verify fails the test unless all checks passed, and the checks in want were made.
func (o *outcome) verify(t *testing.T, want ...string) {
	t.Helper()
	for _, wrong := range o.wrong {
		t.Error(wrong)
	}
	check.That(t, len(o.passed) != 0, "no check was made")
	for _, id := range want {
		check.That(t, slices.Contains(o.passed, id), "got the checks %q passed, want %s among them", o.passed, id)
	}
	if t.Failed() {
		t.Logf("the client's stderr:\n%s", o.stderr)
	}
}
