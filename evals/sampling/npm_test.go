package sampling

import (
	"os"
	"regexp"
	"testing"

	"github.com/mcpchain/mcpchain/internal/testenv"
)

func install(t *testing.T) *testenv.NPM {
	t.Helper()
	return testenv.InstallNPM(t, os.DirFS("testdata/npm"))
}

// aimock starts an OpenAI-compatible server by other authors, and returns its base URL. It answers
// by testdata/answers.json, and other requests with an error.
func aimock(t *testing.T) string {
	t.Helper()
	set := install(t)
	return set.Listen(t, regexp.MustCompile(`listening on (http://\S+)`), set.Module("@copilotkit/aimock/dist/cli.js"),
		"--port", "0", "--fixtures", "testdata/answers.json", "--strict", "--validate-on-load", "--log-level", "info") + "/v1"
}
