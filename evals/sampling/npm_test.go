package sampling

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/proctest"
)

func install(t *testing.T) *proctest.NPM {
	t.Helper()
	return proctest.InstallNPM(t, os.DirFS("testdata/npm"))
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// aimock starts an OpenAI-compatible server by other authors, and returns its
// base URL. It answers by testdata/answers.json, and other requests with an
// error.
func aimock(t *testing.T) string {
	t.Helper()
	set := install(t)
	cmd := exec.CommandContext(t.Context(), set.Node(), set.Module("@copilotkit/aimock/dist/cli.js"), "--port", "0", "--fixtures", "testdata/answers.json",
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
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // ends the lines
	defer late.Stop()
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
