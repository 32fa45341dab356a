package agenteval

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// aimock starts an OpenAI-compatible server by other authors, which answers by testdata/answers.json, and
// returns its base URL.
func aimock(t *testing.T) string {
	t.Helper()
	set := testenv.InstallNPM(t, os.DirFS("../sampling/testdata/npm"))
	return set.Listen(t, regexp.MustCompile(`listening on (http://\S+)`), set.Module("@copilotkit/aimock/dist/cli.js"),
		"--port", "0", "--fixtures", "testdata/answers.json", "--strict", "--validate-on-load", "--log-level", "info") + "/v1"
}

// A model behind a server by other authors is recorded, and played with the same results, byte for byte.
func TestRecordedNPM(t *testing.T) {
	const asked = `
name: asked
servers: {bank: {inprocess: bank, seed: {Ada: 100}}}
tasks:
  - {id: balance, prompt: How much does Ada have?, expect: {answer: {contains: ["100"]}, calls: [{tool: balance, args: {owner: Ada}}], effects: {}}}
`
	live := model.Spec{Mode: results.Live, Endpoint: models.Model{Name: "gpt-4o", API: "chat", BaseURL: aimock(t), Key: theKey}, Cassette: t.TempDir(), Record: true}
	recorded, played := run(t, asked, live)["balance"], run(t, asked, play(live.Cassette))["balance"]
	if recorded.Outcome != results.Pass || !recorded.Reported {
		t.Errorf("got %s: %s", recorded.Outcome, recorded.Reason)
	}
	if diff := cmp.Diff(same(t, recorded), same(t, played)); diff != "" {
		t.Errorf("recorded, and played:\n%s", diff)
	}
}
